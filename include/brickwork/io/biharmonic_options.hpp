// SPDX-License-Identifier: BSD-3-Clause
// The command line of brickwork-biharmonic. Free of Kokkos.
#pragma once

#include <iosfwd>

#include "brickwork/io/run_settings.hpp"

namespace brickwork {

using BiharmonicOptions = ProgramOptions;

/// Parses the command line; never exits. Arguments that begin with --kokkos- are left to Kokkos::initialize.
BiharmonicOptions parse_biharmonic_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace brickwork
