// SPDX-License-Identifier: BSD-3-Clause
// The command line of brickwork-simp. Free of Kokkos.
#pragma once

#include <iosfwd>

#include "brickwork/io/run_settings.hpp"

namespace brickwork {

using SimpOptions = ProgramOptions;

/// Parses the command line; never exits. Arguments that begin with --kokkos- are left to Kokkos::initialize.
SimpOptions parse_simp_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace brickwork
