// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_optimizer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/design/detail/simp_kernels.hpp"

namespace brickwork {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

ScheduleStage const& stage_of(Schedule const& schedule, int step) {
  for (auto const& stage : schedule.stages) {
    if (step >= stage.first_step && step <= stage.last_step) return stage;
  }
  throw InputError("schedule '" + schedule.name + "' has no stage for step " + std::to_string(step));
}

SolveStatus worse(SolveStatus a, SolveStatus b) { return static_cast<int>(a) > static_cast<int>(b) ? a : b; }

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

index_t simp_bytes(SimpProblem const& problem) {
  BoxGrid const grid = simp_grid(problem);
  index_t const fields = problem.schedule.select_best ? 7 : 6;
  index_t const per_cell = 8 * fields + (problem.passive.empty() ? 0 : 1);
  Hex8Matrix const stiffness = simp_stiffness(problem, grid);
  return per_cell * grid.cell_count() + state_solver_bytes<Kokkos::DefaultExecutionSpace>(
                                            grid, load_case_count(problem), state_method(stiffness, problem.solver),
                                            problem.solver, state_kernels(stiffness, problem.solver));
}

ElasticityKernel simp_kernel(SimpProblem const& problem) {
  return state_kernels(simp_stiffness(problem, simp_grid(problem)), problem.solver).inner;
}

template <class ExecutionSpace>
SimpOptimizer<ExecutionSpace>::SimpOptimizer(ExecutionSpace const& space, SimpProblem const& problem,
                                             BoundaryConditions const* conditions)
    : space_(space),
      problem_(problem),
      warnings_(validate(problem)),
      grid_(simp_grid(problem)),
      conditions_(conditions ? *conditions : boundary_conditions(problem, grid_)),
      filter_(grid_) {
  warnings_.insert(warnings_.end(), conditions_.warnings.begin(), conditions_.warnings.end());
  weights_ = problem.load_case_weights;
  if (weights_.empty()) weights_.assign(conditions_.load_cases.size(), 1.0);
  BRICKWORK_REQUIRE(weights_.size() == conditions_.load_cases.size(), "problem: ", weights_.size(),
                    " load-case weights for ", conditions_.load_cases.size(), " load cases");
  index_t const cells = grid_.cell_count();
  auto const new_field = [&](char const* name) {
    return allocate<field_type>(space_, std::string("brickwork::SimpOptimizer::") + name, cells);
  };

  if (!problem.passive.empty()) mark_passive_cells();
  design_ = new_field("design");
  candidate_ = new_field("candidate");
  physical_ = new_field("physical_density");
  filtered_ = new_field("filtered_density");
  compliance_slope_ = new_field("compliance_slope");
  volume_slope_ = new_field("volume_slope");
  if (problem.schedule.select_best) best_ = new_field("best_density");
  solver_ = make_state_solver(space_, grid_, simp_stiffness(problem, grid_), conditions_, problem.solver);
  Kokkos::parallel_for("brickwork::SimpOptimizer::start", range(space_, cells),
                       detail::SetDesign{passive_.data(), nullptr, problem.volume_fraction, design_.data()});
  fence(space_, "brickwork::SimpOptimizer::SimpOptimizer");
}

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::mark_passive_cells() {
  index_t const cells = grid_.cell_count();
  passive_ = allocate<Kokkos::View<std::uint8_t*, memory_space>>(space_, "brickwork::SimpOptimizer::passive", cells);
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
    mark.marks = passive_.data();
    index_t count = 0;
    Kokkos::parallel_reduce("brickwork::SimpOptimizer::passive", range(space_, cells), mark, count);
    BRICKWORK_REQUIRE(count > 0, "passive region ",
                      region.name.empty() ? std::to_string(p + 1) : "'" + region.name + "'",
                      " selects no cell: ", describe(region.region));
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, passive_);
  std::vector<std::uint8_t> const marks(host.data(), host.data() + host.extent(0));
  auto const solid = static_cast<double>(std::count(marks.begin(), marks.end(), 1));
  auto const empty = static_cast<double>(std::count(marks.begin(), marks.end(), 2));
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
  check_loads_on_void(marks);
}

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::check_loads_on_void(std::vector<std::uint8_t> const& marks) {
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
        material = material || marks[static_cast<std::size_t>(grid_.cell_index(i, j, k))] != 2;
      }
      in_void += material ? 0 : 1;
    }
    std::string const what = "load case " + std::to_string(c) + " acts on " + std::to_string(in_void) + " of " +
                             std::to_string(loads.size()) + " nodes inside passive void";
    BRICKWORK_REQUIRE(in_void < loads.size(), what, ", so nothing can carry it; move the load or the void");
    if (in_void > 0) warnings_.push_back(what);
  }
}

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::set_design(CellField<double const, memory_space> const& design) {
  BRICKWORK_REQUIRE(static_cast<index_t>(design.extent(0)) == grid_.cell_count(),
                    "SimpOptimizer::set_design: ", design.extent(0), " values; the grid has ", grid_.cell_count(),
                    " cells");
  Kokkos::parallel_for("brickwork::SimpOptimizer::set_design", range(space_, grid_.cell_count()),
                       detail::SetDesign{passive_.data(), design.data(), 0, design_.data()});
  cold_next_ = true;
}

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::analyse_density(ScheduleStage const& parameters) {
  filter_.set_radius(space_, parameters.radius, problem_.radius_in_lengths);
  double sums[2] = {0, 0};
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host_sums(sums, 2);
  Kokkos::parallel_reduce(
      "brickwork::SimpOptimizer::filter_and_project", range(space_, grid_.cell_count()),
      detail::FilterAndProject{2, filter_.stencil(), detail::Projection(parameters.beta, problem_.projection_eta),
                               passive_.data(), design_.data(), filtered_.data(), physical_.data()},
      host_sums);
  fence(space_, "brickwork::SimpOptimizer::analyse_density");
  Communicator{}.sum(sums, 2);
  result_.volume = mean_sum(grid_, sums[0]);
  result_.grayness = 4 * mean_sum(grid_, sums[1]);
}

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::solve_states(SimpStep& record, ScheduleStage const& parameters, bool cold) {
  SimpInterpolation const interpolation{problem_.young, problem_.young * problem_.young_min_ratio,
                                        parameters.penalization};
  solver_->set_density(space_, physical_, interpolation);
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

template <class ExecutionSpace>
void SimpOptimizer<ExecutionSpace>::sensitivities(ScheduleStage const& parameters, bool floored) {
  // candidate_ and compliance_slope_ serve as the two fields before the transposed filter.
  for (int c = 0; c < solver_->load_cases(); ++c) {
    solver_->cell_energies(space_, c, weights_[static_cast<std::size_t>(c)], c > 0, candidate_);
  }
  double const cap = floored && problem_.schedule.floor_sensitivities
                         ? -sensitivity_floor * compliance_unit(problem_, conditions_, grid_)
                         : 0.0;
  auto const cells = range(space_, grid_.cell_count());
  Kokkos::parallel_for("brickwork::SimpOptimizer::sensitivity", cells,
                       detail::PhysicalSensitivity{
                           detail::Projection(parameters.beta, problem_.projection_eta), passive_.data(),
                           filtered_.data(), physical_.data(), parameters.penalization,
                           problem_.young * (1 - problem_.young_min_ratio), 1.0, candidate_.data(), filtered_.data()});
  Kokkos::parallel_for("brickwork::SimpOptimizer::transposed_filter", cells,
                       detail::TransposeBoth{filter_.stencil(), passive_.data(), candidate_.data(), filtered_.data(),
                                             compliance_slope_.data(), volume_slope_.data(), cap, sensitivity_floor});
}

template <class ExecutionSpace>
double SimpOptimizer<ExecutionSpace>::update_design(ScheduleStage const& parameters) {
  auto const cells = range(space_, grid_.cell_count());
  double const target = problem_.volume_fraction;
  // A volume below the schedule's lower bound must stay reachable.
  double const lower = std::min(problem_.schedule.density_lower_bound, target);
  detail::OcCandidate candidate{passive_.data(), design_.data(), compliance_slope_.data(), volume_slope_.data(), 1.0,
                                parameters.move, lower,          candidate_.data()};
  detail::CandidateVolume const volume_of{filter_.stencil(),
                                          detail::Projection(parameters.beta, problem_.projection_eta), passive_.data(),
                                          candidate_.data()};
  // Volume of the candidate for a multiplier given by its logarithm: monotone, decreasing.
  auto const excess = [&](double log_multiplier) {
    candidate.multiplier = std::exp(log_multiplier);
    Kokkos::parallel_for("brickwork::SimpOptimizer::update::candidate", cells, candidate);
    double sum = 0;
    Kokkos::parallel_reduce("brickwork::SimpOptimizer::update::volume", cells, volume_of, sum);
    Communicator{}.sum(&sum, 1);
    return mean_sum(grid_, sum) - target;
  };
  if (!(multiplier_ > 0)) {
    double sums[2] = {0, 0};
    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host_sums(sums, 2);
    Kokkos::parallel_reduce("brickwork::SimpOptimizer::update::slopes", cells,
                            detail::SlopeSums{2, compliance_slope_.data(), volume_slope_.data()}, host_sums);
    fence(space_, "brickwork::SimpOptimizer::update");
    Communicator{}.sum(sums, 2);
    multiplier_ = sums[0] > 0 && sums[1] > 0 ? sums[0] / sums[1] : 1.0;
  }

  // Bracket in log space from the last multiplier, then the Illinois variant of false position with bisection as a
  // guard.
  constexpr double volume_tolerance = 1e-9;
  double low = std::log(multiplier_), high = low;
  double f_low = excess(low), f_high = f_low;
  double step = std::log(1.2);
  constexpr double widest = 200;                        // e^200: beyond it every cell sits at a bound
  while (f_low < -volume_tolerance && step < widest) {  // too little material: a smaller multiplier
    high = low, f_high = f_low;
    low -= step, step *= 3;
    f_low = excess(low);
  }
  step = std::log(1.2);
  while (f_high > volume_tolerance && step < widest) {
    low = high, f_low = f_high;
    high += step, step *= 3;
    f_high = excess(high);
  }
  double root = std::abs(f_low) < std::abs(f_high) ? low : high;
  double f_root = std::abs(f_low) < std::abs(f_high) ? f_low : f_high;
  if (f_low > 0 && f_high < 0) {
    for (int evaluation = 0; evaluation < 60 && std::abs(f_root) > volume_tolerance && high - low > 1e-14;
         ++evaluation) {
      root = evaluation % 3 == 2 ? 0.5 * (low + high) : (low * f_high - high * f_low) / (f_high - f_low);
      double const before = f_root;
      f_root = excess(root);
      if (f_root > 0) {
        low = root, f_low = f_root;
        if (before > 0) f_high *= 0.5;
      } else {
        high = root, f_high = f_root;
        if (before < 0) f_low *= 0.5;
      }
    }
  }
  excess(root);
  multiplier_ = std::exp(std::clamp(root, -600.0, 600.0));
  double change = 0;
  Kokkos::parallel_reduce("brickwork::SimpOptimizer::update::change", cells,
                          detail::LargestChange{design_.data(), candidate_.data()}, Kokkos::Max<double>(change));
  Communicator{}.max(&change, 1);
  std::swap(design_, candidate_);
  return change;
}

template <class ExecutionSpace>
SimpStep SimpOptimizer<ExecutionSpace>::step() {
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
  if (schedule.select_best && valid && (best_result_.step == 0 || record.compliance < best_result_.compliance)) {
    Kokkos::deep_copy(space_, best_, physical_);
    best_result_ = result_;
  }
  bool const lost = schedule.select_best && schedule.restart_ratio > 0 && best_result_.step > 0 &&
                    record.compliance > schedule.restart_ratio * best_result_.compliance;
  if (lost) {
    Kokkos::deep_copy(space_, design_, best_);
    cold_next_ = true;
    record.restarted = true;
  } else {
    sensitivities(stage, true);
    record.change = update_design(stage);
  }
  fence(space_, "brickwork::SimpOptimizer::step");
  record.seconds_update = seconds_since(update_start);
  previous_ = stage;
  ++done_;
  record.seconds = seconds_since(start);
  return record;
}

template <class ExecutionSpace>
SimpResult SimpOptimizer<ExecutionSpace>::result() {
  if (report_best()) return best_result_;
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
    final_solved_ = true;
  }
  return result_;
}

template <class ExecutionSpace>
double SimpOptimizer<ExecutionSpace>::evaluate(ScheduleStage const& parameters, field_type const& derivative,
                                               field_type const& volume_derivative) {
  analyse_density(parameters);
  SimpStep record;
  solve_states(record, parameters, false);
  sensitivities(parameters, false);
  Kokkos::deep_copy(space_, derivative, compliance_slope_);
  Kokkos::deep_copy(space_, volume_derivative, volume_slope_);
  fence(space_, "brickwork::SimpOptimizer::evaluate");
  return record.compliance;
}

#define BRICKWORK_INSTANTIATE(SPACE) template class SimpOptimizer<SPACE>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
