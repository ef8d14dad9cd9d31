// SPDX-License-Identifier: BSD-3-Clause
// What runs of brickwork-biharmonic report: history.csv, convergence.csv, summary.json and console lines. Free of
// Kokkos. docs/biharmonic.md describes every file.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "brickwork/io/run_directory.hpp"

namespace brickwork {

/// The solution at a point.
struct PointValue {
  Vec3 position{};
  double value = 0;
  Vec3 gradient{};
};

/// One mesh of a run, solved: a line of convergence.csv. What does not apply is nan and stays empty there.
struct MeshRow {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  int refinements = 0;  ///< uniform ones
  int depth = 0;        ///< local ones after them
  int levels = 0;
  index_t cells = 0;  ///< active ones, that is leaves
  index_t unknowns = 0;
  index_t marked = 0;                                ///< leaves that the last local refinement asked for
  index_t balanced = 0;                              ///< further ones refined to keep neighbours within one level
  double largest_spacing = 0, smallest_spacing = 0;  ///< largest side of a leaf of the coarsest and the finest level
  double error_l2 = none, error_h1 = none, error_h2 = none;  ///< of a manufactured solution; seminorms
  double order_l2 = none, order_h1 = none, order_h2 = none;  ///< against the mesh before, by the cells' number
  double estimate = none;                                    ///< of the error in the energy norm, by the indicator
  double work = 0;                                           ///< (f, u): the load's work, the square of the energy norm
  double value = 0;                                          ///< of the solution at the first of the stated points
  double value_jump = 0, slope_jump = 0;                     ///< largest ones over all interfaces of leaves
  int iterations = 0;
  double contraction = 0;            ///< mean factor per iteration; nan where the solve broke down
  double true_residual = 0;          ///< of b - A x in the solver's norm, over its first value
  std::string status = "converged";  ///< or capped (max_iterations), stalled (rounding), breakdown (not positive)
  double seconds_setup = 0;          ///< operator, multigrid and load
  double seconds_solve = 0;
  double rate = 0;  ///< active cells over seconds_solve
};

/// Sets the orders of `row`: log(error before / error now) / log(h before / h now), where h is the number of cells to
/// the power -1/dimension. Left nan where there is no error or the number of cells is the same.
void set_orders(MeshRow& row, MeshRow const& before, int dimension);

/// Header and line of convergence.csv, each with its line end.
std::string mesh_header();
std::string to_csv(MeshRow const& row);

/// Header and line of history.csv: mesh (counts from 1), iteration, residual (<r, z>^(1/2)), relative residual.
std::string residual_header();
std::string residual_line(int mesh, int iteration, double residual, double first);

/// Titles and line of a mesh for the console, without line ends.
std::string mesh_titles();
std::string mesh_line(MeshRow const& row);

/// What a run was and gave; `cells` are those of the base grid, iterations and times of all meshes.
struct BiharmonicSummary : RunFacts {
  int dimension = 3;
  Vec3 lengths{};
  std::string load, region, method, smoother;
  std::vector<MeshRow> meshes;
  std::vector<PointValue> points;  ///< on the last mesh
};

/// summary.json's text.
std::string to_json(BiharmonicSummary const& summary);

/// Lines for the console: the values at the stated points and the errors on the last mesh.
std::string describe(BiharmonicSummary const& summary);

}  // namespace brickwork
