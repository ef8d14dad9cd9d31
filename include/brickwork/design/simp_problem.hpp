// SPDX-License-Identifier: BSD-3-Clause
// What a SIMP run is: domain, material, supports, loads, passive regions, continuation schedule and solver settings, as
// plain data in global lengths. Free of Kokkos: configuration readers fill it, SimpOptimizer runs it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "brickwork/core/types.hpp"
#include "brickwork/mesh/regions.hpp"
#include "brickwork/solvers/smoother.hpp"

namespace brickwork {

/// Fixes displacement components (true = fixed to zero) of the nodes in a region.
struct Support {
  std::string name;
  Region region;
  std::array<bool, 3> fixed{true, true, true};
};

/// Load on the nodes of a region.
///
/// `total`: `force` is the resultant, split equally over the selected nodes, so it does not depend on the mesh.
/// `traction`: `force` is a force per area; the region must be a plane (or a box without thickness on one axis), and
/// every node takes its consistent share of the area.
struct Load {
  enum class Kind { total, traction };
  std::string name;
  Region region;
  Kind kind = Kind::total;
  Vec3 force{};
  int load_case = 0;
};

/// Cells that the optimizer does not touch: solid (density 1) or void (density 0).
struct PassiveRegion {
  std::string name;
  Region region;
  bool solid = true;
};

/// One row of a continuation schedule; steps count from 1, bounds included.
struct ScheduleStage {
  int first_step = 1;
  int last_step = 1;
  double penalization = 3.0;  ///< SIMP exponent p
  double beta = 1.0;          ///< sharpness of the Heaviside projection
  double move = 0.2;          ///< move limit of the optimality criteria
  double radius = 1.5;        ///< filter radius (SimpProblem::radius_in_lengths says in which unit)
};

/// Continuation schedule with the rules that belong to it.
struct Schedule {
  std::string name;
  std::vector<ScheduleStage> stages;
  int steps = 0;                      ///< number of design steps
  double density_lower_bound = 1e-3;  ///< lower bound of the design variable
  bool select_best = true;            ///< report the best valid iterate instead of the last
  double best_min_penalization = 3.0;
  double best_max_grayness = 0.25;
  double restart_ratio = 1.12;  ///< restart from the best iterate when c exceeds this multiple of the best; 0 = never
  bool floor_sensitivities = true;  ///< dc <= -1e-12, dv >= 1e-12
  bool final_solve = false;         ///< solve once more on the final density for the reported compliance
};

/// Protocol A of specs: the 120 steps of the fused-kernel text, as its code executes them.
Schedule protocol_a();
/// Protocol B: 76 continuation steps of the published large-scale records.
Schedule protocol_b();
/// Constant parameters for `steps` steps.
Schedule constant_schedule(int steps, double penalization, double beta, double move, double radius);

/// The stage that holds at a step, counted from 1. \throws InputError where there is none
ScheduleStage const& stage_of(Schedule const& schedule, int step);

/// The schedule cut to its first `steps` steps.
/// \throws InputError where `steps` is below 1 or above what the schedule has
Schedule shorten(Schedule schedule, int steps);

enum class StiffnessScale {
  physical,       ///< cells have their physical sides
  reference_cube  ///< every cell is a cube of side 2 (the scale of the source text and of published records)
};
enum class Precision { fp64, fp32, mixed };
enum class FreeModes { error, project };
enum class SolverMethod {
  automatic,  ///< multigrid where it can run, else jacobi
  multigrid,  ///< conjugate gradients preconditioned by multigrid; precision mixed, kernel parity
  jacobi      ///< conjugate gradients preconditioned by the diagonal
};

struct SolverSettings {
  SolverMethod method = SolverMethod::automatic;
  Precision precision = Precision::mixed;
  std::string kernel = "automatic";  ///< a name of ElasticityKernel
  double tolerance = 1e-5;           ///< on the true relative residual
  int max_iterations = 20000;        ///< per solve
  bool warm_start = true;
  Smoother smoother = Smoother::chebyshev;  ///< multigrid
  int smoother_degree = 2;                  ///< multigrid: degree or sweeps of the smoother, 1 .. 8
  int krylov_levels = -1;      ///< multigrid: coarse levels with a K-cycle; -1 = one, or all where a solve is hard
  bool half_stencils = false;  ///< multigrid: coarse blocks rounded to 16 bits, for comparison
};

struct SimpProblem {
  std::string name;
  Index3 cells{};
  Vec3 lengths{};
  double young = 1.0;             ///< E0
  double young_min_ratio = 1e-9;  ///< Emin / E0
  double poisson = 0.3;
  StiffnessScale stiffness = StiffnessScale::physical;
  double volume_fraction = 0.3;
  double projection_eta = 0.5;
  bool radius_in_lengths = false;  ///< filter radius in lengths instead of cells
  std::vector<Support> supports;
  std::vector<Load> loads;
  std::vector<double> load_case_weights;  ///< empty: 1 for every load case
  std::vector<PassiveRegion> passive;
  FreeModes free_modes = FreeModes::error;
  Schedule schedule;
  SolverSettings solver;
};

/// Names of the built-in problems: cantilever, torsion, mbb, mbb_supported, bridge (protocol A of specs) and
/// cantilever_b, torsion_b, bridge_b (protocol B).
std::vector<std::string> simp_preset_names();

/// A built-in problem on `cells`; all-zero cells take the preset's own grid.
/// \throws InputError for an unknown name (with the known ones).
SimpProblem simp_preset(std::string const& name, Index3 cells = {0, 0, 0});

/// Rejects a problem that cannot be meant: sizes, ranges, non-finite numbers, a volume that the passive regions
/// exclude. Needs no grid-sized memory. Returns warnings, one line each.
///
/// \throws InputError with one line that says what is wrong and what would be right.
std::vector<std::string> validate(SimpProblem const& problem);

}  // namespace brickwork
