// SPDX-License-Identifier: BSD-3-Clause
// What the command lines of all drivers share. Private to src/io, since it shows CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "brickwork/io/run_settings.hpp"

namespace brickwork::detail {

/// The options that change a configuration, and what to do with it.
class CommonArguments {
 public:
  /// Adds all of them but --steps. This object must outlive the parsing.
  void add_to(CLI::App& app, std::string const& grid_key);
  void add_steps(CLI::App& app);

  /// Hands on what was given, after parsing.
  /// \throws CLI::ValidationError
  void store(ProgramOptions& options) const;

 private:
  ConfigOverrides overrides() const;

  ConfigOverrides overrides_;
  bool print_config_ = false, force_ = false;
  std::string grid_, output_;
  int steps_ = 0, threads_ = 0, device_ = 0;
  CLI::Option* grid_option_ = nullptr;
  CLI::Option* steps_option_ = nullptr;
  CLI::Option* output_option_ = nullptr;
  CLI::Option* threads_option_ = nullptr;
  CLI::Option* device_option_ = nullptr;
};

/// The exit codes, as every driver's help states them.
extern char const* const exit_codes_help;

/// Parses the command line into `app`, without what is Kokkos' (--kokkos-*), and calls `finish`. Returns an exit code
/// where the program has nothing left to do: 0 after --help and --version (text to `out`), 2 after wrong usage (one
/// line to `err`).
std::optional<int> parse_command_line(CLI::App& app, int argc, char const* const* argv, std::ostream& out,
                                      std::ostream& err, std::function<void()> const& finish);

}  // namespace brickwork::detail
