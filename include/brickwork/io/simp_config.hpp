// SPDX-License-Identifier: BSD-3-Clause
// The configuration of brickwork-simp: TOML in, a resolved SimpConfig out, and back. Free of Kokkos.
// docs/configuration.md documents every key.
#pragma once

#include <string>
#include <vector>

#include "brickwork/design/simp_problem.hpp"
#include "brickwork/io/run_settings.hpp"

namespace brickwork {

/// A whole run.
struct SimpConfig {
  SimpProblem problem;
  OutputSettings output;
  int threads = 0;  ///< host threads; 0 = all
  int device = -1;  ///< GPU number; -1 = Kokkos chooses
  bool quiet = false;
  std::vector<std::string> warnings;  ///< what validate() remarked; not part of the TOML
};

using SimpOverrides = ConfigOverrides;

/// Reads, resolves (preset, schedule, overrides) and validates a configuration.
/// \throws InputError with one line that names file, line, key and what would be right: a file that cannot be read,
/// TOML
///         that does not parse, an unknown key (with the nearest known one), a wrong type, a missing key, or anything
///         that validate() rejects
SimpConfig read_simp_config(std::string const& path, SimpOverrides const& overrides = {});

/// The same for TOML text; `name` stands for the file in messages.
SimpConfig parse_simp_config(std::string const& text, std::string const& name, SimpOverrides const& overrides = {});

/// The resolved configuration, complete and without preset: reading it back gives the same run.
std::string to_toml(SimpConfig const& config);

std::string to_string(StiffnessScale scale);  ///< physical, reference_cube
std::string to_string(FreeModes modes);       ///< error, project

}  // namespace brickwork
