// SPDX-License-Identifier: BSD-3-Clause
// Density-based compliance minimization (SIMP): filter, projection, state problem, sensitivities, optimality criteria,
// schedule.
//
// Per step, with design variable rho:
//   rho^ = H rho (cone filter), rho~ = projection(rho^), E = Emin + (E0 - Emin) rho~^p,
//   K(E) u = f, c = sum of weight f.u, dc/drho~ = -p (E0 - Emin) rho~^(p-1) u_e^T K0 u_e, then the chain rule through
//   projection and H^T, rho <- OC update with move limits, the multiplier such that the mean of rho~ of the new design
//   is the volume fraction.
// Source: the fused-kernel text, sections 2 and 3, and what its code does where the two differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "brickwork/design/boundary_conditions.hpp"
#include "brickwork/design/filter.hpp"
#include "brickwork/design/simp_problem.hpp"
#include "brickwork/design/state_solver.hpp"

namespace brickwork {

/// What one design step did. Compliance, volume and grayness are of the density that was analysed, before its update.
struct SimpStep {
  int step = 0;
  ScheduleStage parameters;
  double compliance = 0;
  double volume = 0;
  double grayness = 0;
  double change = 0;                            ///< largest change of a design variable
  int iterations = 0;                           ///< over all load cases
  double true_residual = 0;                     ///< the worst over the load cases
  SolveStatus status = SolveStatus::converged;  ///< the worst over the load cases
  bool restarted = false;  ///< the design went back to the best valid iterate instead of being updated
  double seconds_filter = 0, seconds_solve = 0, seconds_update = 0, seconds = 0;
};

/// The design that a run reports.
struct SimpResult {
  double compliance = 0;
  double volume = 0;
  double grayness = 0;
  int step = 0;  ///< step at which it was analysed; 0 before the first
};

/// Bytes that a run on this problem allocates on the device, before anything is allocated.
index_t simp_bytes(SimpProblem const& problem);

/// The kernel that a run on this problem will use.
/// \throws InputError where the one named cannot run
ElasticityKernel simp_kernel(SimpProblem const& problem);

/// The grid of a problem.
BoxGrid simp_grid(SimpProblem const& problem);

template <class ExecutionSpace>
class SimpOptimizer {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<double, memory_space>;

  /// Checks the problem, then allocates everything that the run needs; no later call allocates grid-sized memory.
  /// \throws InputError for a problem that cannot be meant (validate(), boundary_conditions(), infeasible volume)
  /// \param conditions what boundary_conditions() gave for this problem, where the caller has it already; null:
  /// resolved here
  SimpOptimizer(ExecutionSpace const& space, SimpProblem const& problem,
                BoundaryConditions const* conditions = nullptr);

  SimpProblem const& problem() const { return problem_; }
  BoxGrid const& grid() const { return grid_; }
  BoundaryConditions const& conditions() const { return conditions_; }
  std::vector<std::string> const& warnings() const { return warnings_; }
  ElasticityKernel kernel() const { return solver_->kernel(); }

  /// Runs the next step of the schedule.
  SimpStep step();

  int steps_done() const { return done_; }
  bool finished() const { return done_ >= problem_.schedule.steps; }

  /// The reported design so far: the best valid iterate where the schedule selects it and there is one, else the last
  /// analysed. With Schedule::final_solve and a finished run, the updated density is solved once more (the step then
  /// counts its iterations).
  SimpResult result();

  /// Iterations, worst residual and status of the extra solve of result(), zero where there was none.
  SimpStep const& final_step() const { return final_step_; }

  /// Physical density rho~ of the reported design, extent (cells); valid after result().
  CellField<double const, memory_space> density() const { return report_best() ? best_ : physical_; }

  /// Replaces the design variable (extent cells, values in [0, 1]); passive cells keep their own.
  void set_design(CellField<double const, memory_space> const& design);

  /// Compliance and its derivative with respect to the design variable at the current design and the given parameters,
  /// before the floors of the schedule. For tests and for other optimizers.
  double evaluate(ScheduleStage const& parameters, field_type const& derivative, field_type const& volume_derivative);

 private:
  void mark_passive_cells();
  void check_loads_on_void(std::vector<std::uint8_t> const& marks);
  bool report_best() const { return problem_.schedule.select_best && best_result_.step > 0; }
  void analyse_density(ScheduleStage const& parameters);
  void solve_states(SimpStep& record, ScheduleStage const& parameters, bool cold);
  void sensitivities(ScheduleStage const& parameters, bool floored);
  double update_design(ScheduleStage const& parameters);

  ExecutionSpace space_;
  SimpProblem problem_;
  std::vector<std::string> warnings_;  // first: the problem is checked before anything is made of it
  BoxGrid grid_;
  BoundaryConditions conditions_;
  std::vector<double> weights_;
  ConeFilter<ExecutionSpace> filter_;
  std::unique_ptr<StateSolver<ExecutionSpace>> solver_;
  field_type design_, candidate_, physical_, filtered_, compliance_slope_, volume_slope_, best_;
  Kokkos::View<std::uint8_t*, memory_space> passive_;  // 0 active, 1 solid, 2 void; empty where there is none
  int done_ = 0;
  bool cold_next_ = true;
  ScheduleStage previous_{};
  double multiplier_ = 0;  // of the last update; 0 before the first
  SimpResult result_;
  SimpResult best_result_;  // step 0: there is none yet
  bool final_solved_ = false;
  SimpStep final_step_;
};

}  // namespace brickwork
