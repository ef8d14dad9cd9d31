// SPDX-License-Identifier: BSD-3-Clause
// What homogenization runs report: history.csv, C.csv, summary.json and console lines. Free of Kokkos.
// docs/homogenization.md describes every file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/design/tensor_objective.hpp"
#include "brickwork/fem/elastic_tensor.hpp"
#include "brickwork/io/run_directory.hpp"

namespace brickwork {

/// One design step, as history.csv and the console show it. Times are in seconds.
struct CellHistoryRow {
  int step = 0;  ///< counts from 1
  double objective = 0;
  double volume = 0;      ///< mean of the physical density
  double grayness = 0;    ///< 4/N sum rho (1 - rho), 0 to 1
  double change = 0;      ///< largest change of a design variable in this step
  double constraint = 0;  ///< the largest g, where g <= 0 are the constraints beside the volume; 0 where there are none
  double bulk = 0;        ///< (C11 + C22 + C33 + 2 (C12 + C13 + C23)) / 9
  Tensor6 tensor{};
  TensorEntries known{};     ///< i <= j; entries that no solve gave are written as nan
  index_t iterations = 0;    ///< of all solves in this step
  double true_residual = 0;  ///< |f - K u| / |f|, the worst of the step's solves
  bool capped = false;       ///< some solve hit its iteration limit
  double penalization = 0, beta = 0, move = 0, radius = 0;
  double seconds_filter = 0;       ///< filter, projection and symmetry, there and back
  double seconds_solve = 0;        ///< the cell problems
  double seconds_sensitivity = 0;  ///< tensor and its derivative
  double seconds_update = 0;
  double seconds = 0;  ///< the whole step
};

/// Header and line of history.csv, each with its line end.
std::string cell_history_header();
std::string to_csv(CellHistoryRow const& row);

/// Titles and line of a step for the console, without line ends.
std::string cell_step_titles();
std::string cell_step_line(CellHistoryRow const& row);

/// C.csv: the tensor twice, in the orders xx, yy, zz, yz, xz, xy (Voigt's, and everywhere in Brickwork) and xx, yy, zz,
/// xy, yz, xz (that of ANSYS, for example), each block under a comment that names its order.
std::string tensor_csv(Tensor6 const& tensor);

/// What a run was and gave.
struct CellSummary : RunFacts {
  Tensor6 tensor{};
  Vec3 lengths{};
  double young = 1;  ///< of the solid, for the Hashin-Shtrikman bounds
  double poisson = 0.3;
  std::vector<PhaseShare> phases;  ///< of labels; their bounds stand instead of those of a porous solid
  double volume = 0;               ///< solid fraction, or mean density
  std::string method;              ///< of the solver: multigrid or jacobi
  std::string storage;             ///< of the fields between steps

  // Of design runs; `objective_name` is empty for tensor runs.
  std::string objective_name;
  double objective = 0;
  double constraint = 0;  ///< the largest g of g <= 0
  double grayness = 0;
  int steps = 0;
  std::string stopped_by;  ///< change, steps or interrupt
  std::string symmetry;
  std::string start;
  std::uint64_t seed = 0;
};

/// summary.json's text. A tensor that has no compliance (a cell that carries nothing) has null for what needs it.
std::string to_json(CellSummary const& summary);

/// Lines for the console: the tensor, Young's, shear and bulk moduli, Poisson's ratios, the Zener ratio and the bounds.
std::string describe(CellSummary const& summary);

}  // namespace brickwork
