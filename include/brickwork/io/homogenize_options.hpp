// SPDX-License-Identifier: BSD-3-Clause
// The command line of brickwork-homogenize. Free of Kokkos.
#pragma once

#include <iosfwd>
#include <string>

#include "brickwork/io/run_settings.hpp"

namespace brickwork {

/// `config` may be empty for the command tensor.
struct HomogenizeOptions : ProgramOptions {
  enum class Command { tensor, design };
  Command command = Command::design;
  std::string image;  ///< tensor: path of the image; empty where the configuration names it
};

/// Parses the command line; never exits. Arguments that begin with --kokkos- are left to Kokkos::initialize.
HomogenizeOptions parse_homogenize_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace brickwork
