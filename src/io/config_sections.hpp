// SPDX-License-Identifier: BSD-3-Clause
// Sections that the configurations of several drivers share. Private to src/io.
#pragma once

#include <string>
#include <vector>

#include "brickwork/io/run_settings.hpp"
#include "toml_section.hpp"

namespace brickwork::detail {

/// The parameters of a [[schedule.stage]] beside its steps.
extern std::vector<std::string> const stage_keys;

/// The list [[schedule.stage]] of the section [schedule].
void read_stages(Section const& section, Schedule& schedule, Locations& locations);

/// shorten() with a message that begins with "--steps N: ".
Schedule shorten_to_option(Schedule const& schedule, int steps);

/// [solver]
std::vector<std::string> solver_keys();
void read_solver_settings(Section const& section, SolverSettings& solver);

/// [output]
std::vector<std::string> output_keys();
void read_output_settings(Section const& section, OutputSettings& output);

/// [run], where the configuration has it.
void read_run(Section const& root, int& threads, int& device, bool& quiet);

// The same as TOML: [[schedule.stage]] and [run] with their heads, the others without.
std::string stages_to_toml(Schedule const& schedule);
std::string to_toml(SolverSettings const& solver);
std::string to_toml(OutputSettings const& output);
std::string run_to_toml(int threads, int device, bool quiet);

}  // namespace brickwork::detail
