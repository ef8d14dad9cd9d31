// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <ostream>
#include <vector>

#include "brickwork/core/config.hpp"

namespace brickwork {

namespace {

// "80,40,20" or "80x40x20".
bool parse_grid(std::string const& text, Index3& cells) {
  char const* next = text.data();
  char const* const end = text.data() + text.size();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis > 0 && (next == end || (*next != ',' && *next != 'x') || ++next == end)) return false;
    auto const [stop, error] = std::from_chars(next, end, cells[axis]);
    if (error != std::errc() || cells[axis] < 1) return false;
    next = stop;
  }
  return next == end;
}

}  // namespace

SimpOptions parse_simp_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  SimpOptions options;
  CLI::App app("Density topology optimization (SIMP) of a box of brick cells.", "brickwork-simp");
  app.set_version_flag("--version", std::string("brickwork-simp ") + BRICKWORK_VERSION);
  app.footer(
      "Exit codes: 0 finished, 1 failed, 2 bad input, 3 finished but a solve hit its iteration limit, 4 out of "
      "memory.\n"
      "Configuration files: examples/*.toml and docs/configuration.md.");

  std::string grid, output;
  int steps = 0, threads = 0, device = 0;
  app.add_option("config", options.config, "configuration file (TOML)")->type_name("CONFIG.toml")->required();
  auto* grid_option = app.add_option("--grid", grid, "cells per axis, in place of grid.cells")->type_name("NX,NY,NZ");
  auto* steps_option = app.add_option("--steps", steps, "run the first N steps of the schedule")
                           ->type_name("N")
                           ->check(CLI::PositiveNumber);
  auto* output_option =
      app.add_option("--output", output, "output directory, in place of output.directory")->type_name("DIR");
  app.add_option("--set", options.overrides.set, "set a key of the configuration; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_flag("--print-config", options.print_config, "print the resolved configuration and stop");
  auto* threads_option =
      app.add_option("--threads", threads, "host threads (0: all)")->type_name("N")->check(CLI::NonNegativeNumber);
  auto* device_option =
      app.add_option("--device", device, "number of the GPU to run on")->type_name("N")->check(CLI::NonNegativeNumber);
  app.add_flag("--quiet", options.overrides.quiet, "print warnings and the result only");
  app.add_flag("--force", options.force, "overwrite the results in an existing output directory");

  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string const argument = argv[i];
    if (argument.rfind("--kokkos-", 0) != 0) arguments.push_back(argument);
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
    if (grid_option->count() > 0) {
      Index3 cells{};
      if (!parse_grid(grid, cells)) {
        throw CLI::ValidationError("--grid", "'" + grid + "' must be three positive integers NX,NY,NZ");
      }
      options.overrides.grid = cells;
    }
    if (output_option->count() > 0 && output.empty()) throw CLI::ValidationError("--output", "is empty");
  } catch (CLI::CallForHelp const&) {
    out << app.help();
    options.exit_code = 0;
    return options;
  } catch (CLI::CallForVersion const& version) {
    out << version.what() << '\n';
    options.exit_code = 0;
    return options;
  } catch (CLI::ParseError const& error) {
    err << "brickwork-simp: " << error.what() << " (see brickwork-simp --help)\n";
    options.exit_code = 2;
    return options;
  }
  if (steps_option->count() > 0) options.overrides.steps = steps;
  if (output_option->count() > 0) options.overrides.output = output;
  if (threads_option->count() > 0) options.overrides.threads = threads;
  if (device_option->count() > 0) options.overrides.device = device;
  return options;
}

}  // namespace brickwork
