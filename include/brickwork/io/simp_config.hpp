// SPDX-License-Identifier: BSD-3-Clause
// The configuration of brickwork-simp: TOML in, a resolved SimpConfig out, and back. Free of Kokkos.
// docs/configuration.md documents every key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brickwork/core/types.hpp"
#include "brickwork/design/simp_problem.hpp"

namespace brickwork {

enum class FieldType {
  float32,
  uint8  ///< round(255 rho)
};

/// What is written, and where.
struct OutputSettings {
  std::string directory;  ///< relative to the working directory
  int every = 10;         ///< steps between frames of the time series; 0 = the last design only
  bool vti = true;        ///< density.vti
  bool vtkhdf = true;     ///< density.vtkhdf.series
  int deflate = 0;        ///< compression of its frames, 0 (none) to 9
  FieldType field_type = FieldType::float32;
};

/// A whole run.
struct SimpConfig {
  SimpProblem problem;
  OutputSettings output;
  int threads = 0;  ///< host threads; 0 = all
  int device = -1;  ///< GPU number; -1 = Kokkos chooses
  bool quiet = false;
  std::vector<std::string> warnings;  ///< what validate() remarked; not part of the TOML
};

/// What the command line changes of a configuration file.
struct SimpOverrides {
  std::vector<std::string> set;  ///< "section.key=value"; the value is TOML, or a bare word that is taken as a string
  std::optional<Index3> grid;    ///< grid.cells
  std::optional<int> steps;      ///< the first N steps of the schedule
  std::optional<std::string> output;
  std::optional<int> threads;
  std::optional<int> device;
  bool quiet = false;
};

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

/// The schedule cut to its first `steps` steps.
/// \throws InputError where `steps` is below 1 or above what the schedule has
Schedule shorten(Schedule schedule, int steps);

std::string to_string(StiffnessScale scale);  ///< physical, reference_cube
std::string to_string(Precision precision);   ///< mixed, fp64, fp32
std::string to_string(SolverMethod method);   ///< automatic, multigrid, jacobi
std::string to_string(FreeModes modes);       ///< error, project
std::string to_string(FieldType type);        ///< float32, uint8

}  // namespace brickwork
