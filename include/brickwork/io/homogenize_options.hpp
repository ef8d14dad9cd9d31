// SPDX-License-Identifier: BSD-3-Clause
// The command line of brickwork-homogenize. Free of Kokkos.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "brickwork/io/run_settings.hpp"

namespace brickwork {

struct HomogenizeOptions {
  enum class Command { tensor, design };
  Command command = Command::design;
  std::string config;  ///< path of the configuration; may be empty for tensor
  std::string image;   ///< tensor: path of the image; empty where the configuration names it
  ConfigOverrides overrides;
  bool print_config = false;  ///< print the resolved configuration and stop
  bool force = false;         ///< overwrite the results in an existing output directory

  /// Set where the program has nothing left to do: 0 after --help and --version (their text went to `out`), 2 after
  /// wrong usage (one line went to `err`).
  std::optional<int> exit_code;
};

/// Parses the command line; never exits. Arguments that begin with --kokkos- are left to Kokkos::initialize.
HomogenizeOptions parse_homogenize_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace brickwork
