// SPDX-License-Identifier: BSD-3-Clause
// What the configurations of all drivers share: output settings and what a command line changes. Free of Kokkos.
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

/// What the command line changes of a configuration file.
struct ConfigOverrides {
  std::vector<std::string> set;  ///< "section.key=value"; the value is TOML, or a bare word that is taken as a string
  std::optional<Index3> grid;    ///< the number of cells
  std::optional<int> steps;      ///< the first N steps of the schedule
  std::optional<std::string> output;
  std::optional<int> threads;
  std::optional<int> device;
  bool quiet = false;
};

/// What every program takes from its command line.
struct ProgramOptions {
  std::string config;  ///< path of the configuration
  ConfigOverrides overrides;
  bool print_config = false;  ///< print the resolved configuration and stop
  bool force = false;         ///< overwrite the results in an existing output directory

  /// Set where the program has nothing left to do: 0 after --help and --version (their text went to `out`), 2 after
  /// wrong usage (one line went to `err`).
  std::optional<int> exit_code;
};

std::string to_string(Precision precision);  ///< mixed, fp64, fp32
std::string to_string(SolverMethod method);  ///< automatic, multigrid, jacobi
std::string to_string(FieldType type);       ///< float32, uint8

}  // namespace brickwork
