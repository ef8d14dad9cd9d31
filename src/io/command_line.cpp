// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <ostream>
#include <vector>

namespace brickwork::detail {

char const* const exit_codes_help =
    "Exit codes: 0 finished, 1 failed, 2 bad input, 3 finished but a solve hit its iteration limit, 4 out of "
    "memory.\n";

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

// CLI11's own bounds print the largest double.
CLI::Validator at_least(int least) {
  return CLI::Validator(
      [least](std::string& text) {
        int value = 0;
        auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool const good = error == std::errc() && stop == text.data() + text.size() && value >= least;
        return good ? std::string() : "'" + text + "' must be an integer of at least " + std::to_string(least);
      },
      "");
}

}  // namespace

void CommonArguments::add_to(CLI::App& app, std::string const& grid_key) {
  grid_option_ = app.add_option("--grid", grid_, "cells per axis, in place of " + grid_key)->type_name("NX,NY,NZ");
  output_option_ =
      app.add_option("--output", output_, "output directory, in place of output.directory")->type_name("DIR");
  app.add_option("--set", overrides_.set, "set a key of the configuration; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_flag("--print-config", print_config_, "print the resolved configuration and stop");
  threads_option_ = app.add_option("--threads", threads_, "host threads (0: all)")->type_name("N")->check(at_least(0));
  device_option_ =
      app.add_option("--device", device_, "number of the GPU to run on")->type_name("N")->check(at_least(0));
  app.add_flag("--quiet", overrides_.quiet, "print warnings and the result only");
  app.add_flag("--force", force_, "overwrite the results in an existing output directory");
}

void CommonArguments::add_steps(CLI::App& app) {
  steps_option_ =
      app.add_option("--steps", steps_, "run the first N steps of the schedule")->type_name("N")->check(at_least(1));
}

void CommonArguments::store(ProgramOptions& options) const {
  options.overrides = overrides();
  options.print_config = print_config_;
  options.force = force_;
}

ConfigOverrides CommonArguments::overrides() const {
  ConfigOverrides overrides = overrides_;
  if (grid_option_->count() > 0) {
    Index3 cells{};
    if (!parse_grid(grid_, cells)) {
      throw CLI::ValidationError("--grid", "'" + grid_ + "' must be three positive integers NX,NY,NZ");
    }
    overrides.grid = cells;
  }
  if (output_option_->count() > 0) {
    if (output_.empty()) throw CLI::ValidationError("--output", "is empty");
    overrides.output = output_;
  }
  if (steps_option_ != nullptr && steps_option_->count() > 0) overrides.steps = steps_;
  if (threads_option_->count() > 0) overrides.threads = threads_;
  if (device_option_->count() > 0) overrides.device = device_;
  return overrides;
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char const* const* argv, std::ostream& out,
                                      std::ostream& err, std::function<void()> const& finish) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string const argument = argv[i];
    if (argument.rfind("--kokkos-", 0) != 0) arguments.push_back(argument);
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  std::string const program = app.get_name();
  try {
    app.parse(arguments);
    finish();
  } catch (CLI::CallForHelp const&) {
    out << app.help();
    return 0;
  } catch (CLI::CallForVersion const& version) {
    out << version.what() << '\n';
    return 0;
  } catch (CLI::ParseError const& error) {
    err << program << ": " << error.what() << " (see " << program << " --help)\n";
    return 2;
  }
  return std::nullopt;
}

}  // namespace brickwork::detail
