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
#include "brickwork/design/simp_design.hpp"
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

/// Bytes that a run on a problem allocates on the device, by part.
struct SimpMemory {
  index_t fields = 0;   ///< of the design: one value per cell each
  index_t solver = 0;   ///< displacements, the method's vectors, moduli
  index_t kernels = 0;  ///< what the kernels of the operator keep for themselves
  index_t total() const { return fields + solver + kernels; }
};

/// The same before anything is allocated.
/// \param real_bytes size of the type of the cell fields: 4 or 8
SimpMemory simp_memory(SimpProblem const& problem, int real_bytes = 8);

/// The kernel that a run on this problem will use.
/// \throws InputError where the one named cannot run
ElasticityKernel simp_kernel(SimpProblem const& problem);

/// The grid of a problem.
BoxGrid simp_grid(SimpProblem const& problem);

/// The grid that the state problem is solved on: that of the problem, or with StiffnessScale::reference_cube one of
/// cubes, since those are the cells whose stiffness is taken (multigrid coarsens stretched cells one axis at a time).
BoxGrid simp_solver_grid(SimpProblem const& problem);

/// Between steps only the design variable is kept, and the best density where the schedule selects one; every other
/// field lives in memory that the state solver has no use for between solves.
///
/// \tparam Real precision of the cell fields; what the solver computes in is SolverSettings::precision
template <class ExecutionSpace, class Real = double>
class SimpOptimizer {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;

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

  /// Physical density rho~ of the reported design, extent (cells); valid after result(), as long as this object lives
  /// and until the next step() or evaluate().
  const_field_type density() const { return report_best() ? best_ : physical(); }

  /// Replaces the design variable (extent cells, values in [0, 1]); passive cells keep their own.
  void set_design(const_field_type const& design);

  /// Compliance and its derivatives with respect to the design variable at the current design and the given parameters,
  /// before the floors of the schedule. The volume is the sum of rho~, in cells. For tests and for other optimizers.
  double evaluate(ScheduleStage const& parameters, field_type const& derivative, field_type const& volume_derivative);

 private:
  using marks_type = typename SimpDesign<ExecutionSpace, Real>::marks_type;

  marks_type passive_cells();
  void check_loads_on_void(std::uint8_t const* marks);
  bool report_best() const { return problem_.schedule.select_best && best_result_.step > 0; }
  void analyse_density(ScheduleStage const& parameters);
  void solve_states(SimpStep& record, ScheduleStage const& parameters, bool cold);
  double sensitivities(double compliance);

  // Destroyed by solves.
  field_type physical() const { return solver_->scratch(0); }
  field_type compliance_slope() const { return solver_->scratch(1); }
  field_type volume_slope() const { return solver_->scratch(2); }

  ExecutionSpace space_;
  SimpProblem problem_;
  std::vector<std::string> warnings_;  // first: the problem is checked before anything is made of it
  BoxGrid grid_;
  BoundaryConditions conditions_;
  std::vector<double> weights_;
  SimpDesign<ExecutionSpace, Real> design_;
  std::unique_ptr<StateSolver<ExecutionSpace, Real>> solver_;
  field_type best_;
  int done_ = 0;
  bool cold_next_ = true;
  ScheduleStage previous_{};
  SimpResult result_;
  SimpResult best_result_;  // step 0: there is none yet
  bool final_solved_ = false;
  SimpStep final_step_;
};

}  // namespace brickwork
