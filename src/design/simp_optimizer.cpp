// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/design/detail/simp_kernels.hpp"

namespace brickwork {

namespace {

int load_case_count(SimpProblem const& problem) {
  int cases = 1;
  for (auto const& load : problem.loads) cases = std::max(cases, load.load_case + 1);
  return cases;
}

Hex8Matrix simp_stiffness(SimpProblem const& problem, BoxGrid const& grid) {
  bool const cube = problem.stiffness == StiffnessScale::reference_cube;
  return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, problem.poisson}),
                        cube ? Vec3{2, 2, 2} : grid.spacing());
}

double mean_sum(BoxGrid const& grid, double sum) { return sum / static_cast<double>(grid.cell_count()); }

// The sensitivity floors of the source's code; they decide how void design variables drift. The source's numbers belong
// to unit force, modulus 1 and cells of side 2; compliance goes with force^2 / (modulus x side), and so does its floor.
constexpr double sensitivity_floor = 1e-12;

double compliance_unit(SimpProblem const& problem, BoundaryConditions const& conditions, BoxGrid const& grid) {
  double force = 0;
  for (auto const& load_case : conditions.load_cases) {
    double total = 0;
    for (auto const& load : load_case) total += std::hypot(load.force[0], load.force[1], load.force[2]);
    force = std::max(force, total);
  }
  Vec3 const h = grid.spacing();
  double const side = problem.stiffness == StiffnessScale::reference_cube ? 2.0 : std::cbrt(h[0] * h[1] * h[2]);
  return force * force / (problem.young * side / 2);
}

}  // namespace

BoxGrid simp_grid(SimpProblem const& problem) { return BoxGrid(problem.cells, problem.lengths); }

BoxGrid simp_solver_grid(SimpProblem const& problem) {
  BoxGrid const grid = simp_grid(problem);
  if (problem.stiffness != StiffnessScale::reference_cube) return grid;
  Vec3 const h = grid.spacing();
  double const side = std::cbrt(h[0] * h[1] * h[2]);
  Vec3 lengths;
  for (std::size_t axis = 0; axis < 3; ++axis) lengths[axis] = side * static_cast<double>(problem.cells[axis]);
  return BoxGrid(problem.cells, lengths);
}

SimpMemory simp_memory(SimpProblem const& problem, int real_bytes) {
  BoxGrid const grid = simp_solver_grid(problem);
  Hex8Matrix const stiffness = simp_stiffness(problem, grid);
  SolverSettings const& solver = problem.solver;
  index_t const fields = problem.schedule.select_best ? 2 : 1;
  SimpMemory memory;
  memory.fields = (fields * real_bytes + (problem.passive.empty() ? 0 : 1)) * grid.cell_count();
  memory.solver = state_solver_bytes<Kokkos::DefaultExecutionSpace>(
      grid, load_case_count(problem), state_method(stiffness, solver), solver, real_bytes);
  memory.kernels = state_kernel_bytes(grid, solver, state_kernels(stiffness, solver));
  return memory;
}

ElasticityKernel simp_kernel(SimpProblem const& problem) {
  return state_kernels(simp_stiffness(problem, simp_grid(problem)), problem.solver).inner;
}

template <class ExecutionSpace, class Real>
SimpOptimizer<ExecutionSpace, Real>::SimpOptimizer(ExecutionSpace const& space, SimpProblem const& problem,
                                                   BoundaryConditions const* conditions)
    : space_(space),
      problem_(problem),
      warnings_(validate(problem)),
      grid_(simp_grid(problem)),
      conditions_(conditions ? *conditions : boundary_conditions(problem, grid_)),
      design_(space_, grid_, design_settings(problem_), passive_cells()) {
  warnings_.insert(warnings_.end(), conditions_.warnings.begin(), conditions_.warnings.end());
  weights_ = problem.load_case_weights;
  if (weights_.empty()) weights_.assign(conditions_.load_cases.size(), 1.0);
  BRICKWORK_REQUIRE(weights_.size() == conditions_.load_cases.size(), "problem: ", weights_.size(),
                    " load-case weights for ", conditions_.load_cases.size(), " load cases");
  if (problem.schedule.select_best)
    best_ = allocate<field_type>(space_, "brickwork::SimpOptimizer::best_density", grid_.cell_count());
  solver_ = make_state_solver<ExecutionSpace, Real>(space_, simp_solver_grid(problem), simp_stiffness(problem, grid_),
                                                    conditions_, problem.solver);
  fence(space_, "brickwork::SimpOptimizer::SimpOptimizer");
}

template <class ExecutionSpace, class Real>
auto SimpOptimizer<ExecutionSpace, Real>::passive_cells() -> marks_type {
  if (problem_.passive.empty()) return {};
  index_t const cells = grid_.cell_count();
  auto const marks = allocate<marks_type>(space_, "brickwork::SimpOptimizer::passive", cells);
  for (std::size_t p = 0; p < problem_.passive.size(); ++p) {
    PassiveRegion const& region = problem_.passive[p];
    detail::MarkRegion mark;
    mark.shape = region_shape(region.region);
    for (int axis = 0; axis < 3; ++axis) {
      mark.origin[axis] = grid_.origin()[axis];
      mark.spacing[axis] = grid_.spacing()[axis];
    }
    mark.nx = grid_.cells()[0];
    mark.ny = grid_.cells()[1];
    mark.mark = region.solid ? 1 : 2;
    mark.marks = marks.data();
    index_t count = 0;
    Kokkos::parallel_reduce("brickwork::SimpOptimizer::passive", range(space_, cells), mark, count);
    BRICKWORK_REQUIRE(count > 0, "passive region ",
                      region.name.empty() ? std::to_string(p + 1) : "'" + region.name + "'",
                      " selects no cell: ", describe(region.region));
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, marks);
  auto const solid = static_cast<double>(std::count(host.data(), host.data() + cells, 1));
  auto const empty = static_cast<double>(std::count(host.data(), host.data() + cells, 2));
  double const least = mean_sum(grid_, solid);
  double const most = 1 - mean_sum(grid_, empty);
  BRICKWORK_REQUIRE(problem_.volume_fraction >= least, "design: volume_fraction ", problem_.volume_fraction,
                    " is below the share of the passive solid cells; it must lie in [", least, ", ", most, "]");
  BRICKWORK_REQUIRE(least < 1 && most > 0 && solid + empty < static_cast<double>(cells),
                    "design: the passive regions leave no cell to design");
  if (problem_.volume_fraction > most) {
    warnings_.push_back("the passive void leaves a volume of at most " + std::to_string(most) +
                        ", so the volume constraint is inactive");
  }
  check_loads_on_void(host.data());
  return marks;
}

template <class ExecutionSpace, class Real>
void SimpOptimizer<ExecutionSpace, Real>::check_loads_on_void(std::uint8_t const* marks) {
  Index3 const n = grid_.cells();
  for (std::size_t c = 0; c < conditions_.load_cases.size(); ++c) {
    auto const& loads = conditions_.load_cases[c];
    std::size_t in_void = 0;
    for (auto const& load : loads) {
      auto const [x, y, z] = grid_.node_indices(load.node);
      bool material = false;
      for (int corner = 0; corner < 8; ++corner) {
        index_t const i = x - (corner & 1), j = y - ((corner >> 1) & 1), k = z - (corner >> 2);
        if (i < 0 || j < 0 || k < 0 || i >= n[0] || j >= n[1] || k >= n[2]) continue;
        material = material || marks[grid_.cell_index(i, j, k)] != 2;
      }
      in_void += material ? 0 : 1;
    }
    std::string const what = "load case " + std::to_string(c) + " acts on " + std::to_string(in_void) + " of " +
                             std::to_string(loads.size()) + " nodes inside passive void";
    BRICKWORK_REQUIRE(in_void < loads.size(), what, ", so nothing can carry it; move the load or the void");
    if (in_void > 0) warnings_.push_back(what);
  }
}

template <class ExecutionSpace, class Real>
void SimpOptimizer<ExecutionSpace, Real>::set_design(const_field_type const& design) {
  design_.set(space_, design);
  cold_next_ = true;
}

template <class ExecutionSpace, class Real>
void SimpOptimizer<ExecutionSpace, Real>::analyse_density(ScheduleStage const& parameters) {
  design_.set_stage(space_, parameters);
  DensityMeasures const measures = design_.project(space_, physical());
  result_.volume = measures.volume;
  result_.grayness = measures.grayness;
}

template <class ExecutionSpace, class Real>
void SimpOptimizer<ExecutionSpace, Real>::solve_states(SimpStep& record, ScheduleStage const& parameters, bool cold) {
  SimpInterpolation const interpolation{problem_.young, problem_.young * problem_.young_min_ratio,
                                        parameters.penalization};
  solver_->set_density(space_, physical(), interpolation);
  SolveOptions const options{problem_.solver.tolerance, problem_.solver.max_iterations};
  record.compliance = 0;
  for (int c = 0; c < solver_->load_cases(); ++c) {
    SolveResult const solve = solver_->solve(space_, c, options, cold);
    record.iterations += solve.iterations;
    record.true_residual = std::max(record.true_residual, solve.true_relative_residual);
    record.status = worse(record.status, solve.status);
    record.compliance += weights_[static_cast<std::size_t>(c)] * solver_->compliance(space_, c);
  }
}

// Slopes with respect to the filtered density, and the physical density that the solve has destroyed. Compliances are
// in units of the mean per cell, which any precision can hold whatever the units of the problem; returned is that unit.
template <class ExecutionSpace, class Real>
double SimpOptimizer<ExecutionSpace, Real>::sensitivities(double compliance) {
  double const unit = compliance > 0 ? mean_sum(grid_, compliance) : 1.0;
  double const scale = problem_.young * (1 - problem_.young_min_ratio) / unit;
  for (int c = 0; c < solver_->load_cases(); ++c) {
    solver_->cell_energies(space_, c, scale * weights_[static_cast<std::size_t>(c)], c > 0, compliance_slope());
  }
  design_.sensitivities(space_, physical(), compliance_slope(), volume_slope());
  return unit;
}

template <class ExecutionSpace, class Real>
SimpStep SimpOptimizer<ExecutionSpace, Real>::step() {
  BRICKWORK_REQUIRE(!finished(), "SimpOptimizer::step: the schedule's ", problem_.schedule.steps, " steps are done");
  ScopedRegion const region("brickwork::SimpOptimizer::step");
  auto const start = std::chrono::steady_clock::now();
  SimpStep record;
  record.step = done_ + 1;
  record.parameters = stage_of(problem_.schedule, record.step);
  ScheduleStage const& stage = record.parameters;
  analyse_density(stage);
  record.volume = result_.volume;
  record.grayness = result_.grayness;
  record.seconds_filter = seconds_since(start);

  auto const solve_start = std::chrono::steady_clock::now();
  bool const jumped =
      done_ > 0 && (std::abs(stage.penalization - previous_.penalization) > 0.5 || stage.radius != previous_.radius);
  solve_states(record, stage, cold_next_ || jumped || !problem_.solver.warm_start);
  cold_next_ = false;
  record.seconds_solve = seconds_since(solve_start);
  result_.compliance = record.compliance;
  result_.step = record.step;

  auto const update_start = std::chrono::steady_clock::now();
  Schedule const& schedule = problem_.schedule;
  bool const valid = record.status == SolveStatus::converged && stage.penalization >= schedule.best_min_penalization &&
                     record.grayness < schedule.best_max_grayness;
  bool const better =
      schedule.select_best && valid && (best_result_.step == 0 || record.compliance < best_result_.compliance);
  if (better) best_result_ = result_;
  bool const lost = schedule.select_best && schedule.restart_ratio > 0 && best_result_.step > 0 &&
                    record.compliance > schedule.restart_ratio * best_result_.compliance;
  if (lost) {
    Kokkos::deep_copy(space_, design_.variable(), best_);
    cold_next_ = true;
    record.restarted = true;
  } else {
    double const unit = sensitivities(record.compliance);
    if (better) Kokkos::deep_copy(space_, best_, physical());
    SensitivityFloor floor;
    if (schedule.floor_sensitivities)
      floor = {-sensitivity_floor * compliance_unit(problem_, conditions_, grid_) / unit, sensitivity_floor};
    record.change = design_.update(space_, compliance_slope(), volume_slope(), floor, solver_->scratch(3)).change;
  }
  fence(space_, "brickwork::SimpOptimizer::step");
  record.seconds_update = seconds_since(update_start);
  previous_ = stage;
  ++done_;
  record.seconds = seconds_since(start);
  return record;
}

template <class ExecutionSpace, class Real>
SimpResult SimpOptimizer<ExecutionSpace, Real>::result() {
  if (report_best()) return best_result_;
  if (done_ == 0) {  // nothing analysed yet: the density of the start
    design_.set_stage(space_, stage_of(problem_.schedule, 1));
    design_.project(space_, physical());
  }
  if (problem_.schedule.final_solve && finished() && !final_solved_ && done_ > 0) {
    auto const start = std::chrono::steady_clock::now();
    analyse_density(previous_);
    final_step_.step = done_ + 1;
    final_step_.parameters = previous_;
    solve_states(final_step_, previous_, !problem_.solver.warm_start);
    final_step_.volume = result_.volume;
    final_step_.grayness = result_.grayness;
    final_step_.seconds_solve = final_step_.seconds = seconds_since(start);
    result_.compliance = final_step_.compliance;
    result_.step = final_step_.step;
    design_.project(space_, physical());
    final_solved_ = true;
  }
  return result_;
}

template <class ExecutionSpace, class Real>
double SimpOptimizer<ExecutionSpace, Real>::evaluate(ScheduleStage const& parameters, field_type const& derivative,
                                                     field_type const& volume_derivative) {
  analyse_density(parameters);
  SimpStep record;
  solve_states(record, parameters, false);
  double const unit = sensitivities(record.compliance);
  design_.chain_rule(space_, compliance_slope(), volume_slope(), unit, 1.0, derivative, volume_derivative);
  fence(space_, "brickwork::SimpOptimizer::evaluate");
  return record.compliance;
}

#define BRICKWORK_INSTANTIATE(SPACE)          \
  template class SimpOptimizer<SPACE, float>; \
  template class SimpOptimizer<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
