// SPDX-License-Identifier: BSD-3-Clause
// The command line of brickwork-biharmonic. Free of Kokkos.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "brickwork/io/run_settings.hpp"

namespace brickwork {

struct BiharmonicOptions {
  std::string config;  ///< path of the configuration
  ConfigOverrides overrides;
  bool print_config = false;  ///< print the resolved configuration and stop
  bool force = false;         ///< overwrite the results in an existing output directory

  /// Set where the program has nothing left to do: 0 after --help and --version (their text went to `out`), 2 after
  /// wrong usage (one line went to `err`).
  std::optional<int> exit_code;
};

/// Parses the command line; never exits. Arguments that begin with --kokkos- are left to Kokkos::initialize.
BiharmonicOptions parse_biharmonic_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace brickwork
