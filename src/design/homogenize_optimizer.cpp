// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/homogenize_optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/design/detail/interpolation.hpp"
#include "brickwork/design/detail/simp_kernels.hpp"
#include "brickwork/design/start_density.hpp"
#include "brickwork/design/tensor_autodiff.hpp"
#include "brickwork/fem/material.hpp"

namespace brickwork {

namespace detail {

/// rho_j s_j, and the filtered sum over rho_i.
template <class Real>
struct WeightedSensitivity {
  Real const* density;
  Real const* slope;
  template <class Index>
  KOKKOS_FUNCTION void operator()(Index cell, Real* v) const {
    v[0] = density[cell] * slope[cell];
  }
};
template <class Real>
struct StoreSensitivity {
  Real const* density;
  Real* out;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* filtered, double*) const {
    out[cell] = filtered[0] / math::max(density[cell], Real(1e-3));
  }
};

}  // namespace detail

namespace {

BoxGrid cell_grid(PeriodicCell const& cell) { return BoxGrid(cell.cells, cell.lengths, {true, true, true}); }

Hex8Matrix cell_stiffness(PeriodicCell const& cell) {
  return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, cell.poisson}), cell_grid(cell).spacing());
}

// Checked before anything is made of it.
HomogenizeProblem const& checked(HomogenizeProblem const& problem) {
  validate(problem);
  return problem;
}

TensorObjective objective_of(HomogenizeProblem const& problem) {
  if (problem.objective == "expression") return parse_tensor_objective(problem.expression);
  ObjectiveParameters parameters = problem.parameters;
  parameters.young = problem.young;
  return make_tensor_objective(problem.objective, parameters);
}

DesignSettings design_settings(HomogenizeProblem const& problem) {
  DesignSettings settings;
  settings.volume_fraction = problem.volume_fraction;
  settings.lower = problem.lower;
  settings.upper = problem.upper;
  settings.damping = problem.damping;
  settings.projection = problem.projection;
  settings.projection_eta = problem.projection_eta;
  settings.kernel = problem.kernel;
  return settings;
}

// 2 C44 / (C11 - C12), of the means over the axes
AutoDiffScalar zener_ratio(AutoDiffTensor const& c, int) {
  AutoDiffScalar const shear = 2 * (c[3][3] + c[4][4] + c[5][5]);
  AutoDiffScalar const normal = c[0][0] + c[1][1] + c[2][2] - c[0][1] - c[0][2] - c[1][2];
  return shear / normal;
}

TensorEntries zener_entries() {
  TensorEntries entries{};
  for (std::size_t i = 0; i < 3; ++i) {
    entries[i + 3][i + 3] = true;
    for (std::size_t j = i; j < 3; ++j) entries[i][j] = true;
  }
  return entries;
}

TensorEntries known_entries(StrainPlan const& plan) {
  TensorEntries known{};
  if (plan.single) return known;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i; j < 6; ++j) known[i][j] = plan.unit[i].solve >= 0 && plan.unit[j].solve >= 0;
  return known;
}

}  // namespace

template <class ExecutionSpace, class Real>
HomogenizeOptimizer<ExecutionSpace, Real>::HomogenizeOptimizer(ExecutionSpace const& space,
                                                               HomogenizeProblem const& problem,
                                                               TensorObjective const* objective)
    : space_(space),
      problem_(checked(problem)),
      symmetry_(cell_symmetry_from_string(problem.symmetry)),
      grid_(cell_grid(problem.cell)),
      stiffness_(cell_stiffness(problem.cell)),
      objective_(objective ? *objective : objective_of(problem)),
      design_(space_, grid_, design_settings(problem)),
      sensitivity_filter_(grid_) {
  check_symmetry(symmetry_, grid_);
  constraints_ = constraint_functions(problem);
  plan_ = plan_of(objective_, constraints_, is_cubic(symmetry_));
  make_solver(plan_, problem.cell.storage);
  method_ = solver_->method();
  storage_ = solver_->storage();
  if (problem.update == DesignUpdateMethod::moving_asymptotes) {
    for (std::size_t i = 0; i < constraints_.size() + 2; ++i)
      gradients_.push_back(
          allocate<field_type>(space_, "brickwork::HomogenizeOptimizer::gradient", grid_.cell_count()));
    MmaSettings settings;
    settings.move = stage_of(problem_.schedule, 1).move;
    settings.lower = problem.lower;
    settings.upper = problem.upper;
    asymptotes_ = std::make_unique<MovingAsymptotes<ExecutionSpace, Real>>(
        space_, grid_.cell_count(), static_cast<int>(constraints_.size()) + 1, settings);
  }
  StartSettings start;
  start.kind = problem.start == "file" ? StartDensity::uniform : start_density_from_string(problem.start);
  start.seed = problem.seed;
  start.waves = problem.start_waves;
  start.periods = problem.start_periods;
  start.mean = problem.volume_fraction;
  start.lower = std::min(problem.lower, problem.volume_fraction);
  start.upper = problem.upper;
  start.symmetry = symmetry_;
  field_type const density = scratch(0);
  start_density<ExecutionSpace, Real>(space_, grid_, start, density);
  design_.set(space_, density);
  fence(space_, "brickwork::HomogenizeOptimizer::HomogenizeOptimizer");
}

template <class ExecutionSpace, class Real>
index_t HomogenizeOptimizer<ExecutionSpace, Real>::bytes(HomogenizeProblem const& problem) {
  BoxGrid const grid = cell_grid(problem.cell);
  bool const cubic = is_cubic(cell_symmetry_from_string(problem.symmetry));
  index_t total = static_cast<index_t>(sizeof(Real)) * grid.cell_count();
  std::vector<Function> const constraints = constraint_functions(problem);
  if (problem.update == DesignUpdateMethod::moving_asymptotes) {
    auto const gradients = static_cast<index_t>(constraints.size()) + 2;
    total += gradients * static_cast<index_t>(sizeof(Real)) * grid.cell_count() +
             MovingAsymptotes<ExecutionSpace, Real>::bytes(grid.cell_count());
  }
  StrainPlan const plan = plan_of(objective_of(problem), constraints, cubic);
  return total + HomogenizationSolver<ExecutionSpace>::bytes(grid, cell_stiffness(problem.cell), plan,
                                                             problem.cell.solver, problem.cell.storage);
}

template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::make_solver(StrainPlan const& plan, FieldStorage storage) {
  solver_.reset();  // before the next one takes its room
  solver_ = std::make_unique<HomogenizationSolver<ExecutionSpace>>(
      space_, grid_, stiffness_, plan, problem_.cell.solver, storage, problem_.cell.translations);
}

template <class ExecutionSpace, class Real>
auto HomogenizeOptimizer<ExecutionSpace, Real>::constraint_functions(HomogenizeProblem const& problem)
    -> std::vector<Function> {
  std::vector<Function> functions;
  for (auto const& constraint : problem.constraints) {
    double const bound = constraint.bound;
    switch (constraint.kind) {
      case TensorConstraint::Kind::zener: {
        auto const distance = [](AutoDiffTensor const& c, int iteration) -> AutoDiffScalar {
          AutoDiffScalar const off = zener_ratio(c, iteration) - 1.0;
          return off * off;
        };
        functions.push_back({differentiate("zener", distance, zener_entries()), -1, 1 / (bound * bound)});
        break;
      }
      case TensorConstraint::Kind::bulk_at_least:
        functions.push_back({make_tensor_objective("bulk", {}), 1, 1 / bound});
        break;
      case TensorConstraint::Kind::shear_at_least:
        functions.push_back({make_tensor_objective("shear", {}), 1, 1 / bound});
        break;
      case TensorConstraint::Kind::expression_at_most: {
        double const unit = std::abs(bound) > 0 ? std::abs(bound) : 1.0;
        functions.push_back({parse_tensor_objective(constraint.expression), -bound / unit, 1 / unit});
        break;
      }
    }
  }
  return functions;
}

// The strains that objective and constraints need together.
template <class ExecutionSpace, class Real>
StrainPlan HomogenizeOptimizer<ExecutionSpace, Real>::plan_of(TensorObjective const& objective,
                                                              std::vector<Function> const& constraints, bool cubic) {
  Vector6 direction = objective.direction;
  TensorEntries entries = objective.entries;
  for (Function const& constraint : constraints) {
    if (constraint.of.direction != direction) direction = {};
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) entries[i][j] = entries[i][j] || constraint.of.entries[i][j];
  }
  return strain_plan(entries, direction, cubic);
}

template <class ExecutionSpace, class Real>
auto HomogenizeOptimizer<ExecutionSpace, Real>::scratch(int i) const -> field_type {
  auto const cells = static_cast<std::size_t>(grid_.cell_count());
  auto* const data = reinterpret_cast<Real*>(solver_->scratch().data());
  return Kokkos::View<Real*, Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
      data + static_cast<std::size_t>(i) * cells, cells);
}

template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::set_design(std::vector<float> const& design) {
  BRICKWORK_REQUIRE(static_cast<index_t>(design.size()) == grid_.cell_count(),
                    "HomogenizeOptimizer::set_design: ", design.size(), " values; the grid has ", grid_.cell_count(),
                    " cells");
  for (std::size_t cell = 0; cell < design.size(); ++cell)
    BRICKWORK_REQUIRE(design[cell] >= 0 && design[cell] <= 1, "HomogenizeOptimizer::set_design: cell ", cell,
                      " has the value ", design[cell], "; densities lie in [0, 1]");
  BRICKWORK_REQUIRE(std::any_of(design.begin(), design.end(), [](float rho) { return rho > 0; }),
                    "HomogenizeOptimizer::set_design: the cell is empty: every density is 0");
  field_type const field = scratch(0);
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace{}, field);
  std::transform(design.begin(), design.end(), host.data(), [](float rho) { return static_cast<Real>(rho); });
  Kokkos::deep_copy(space_, field, host);
  symmetrize<ExecutionSpace, Real>(space_, grid_, symmetry_, field);
  design_.set(space_, field);
  fence(space_, "brickwork::HomogenizeOptimizer::set_design");
}

template <class ExecutionSpace, class Real>
bool HomogenizeOptimizer<ExecutionSpace, Real>::finished() const {
  return done_ >= std::min(problem_.schedule.steps, problem_.stop.most_steps) || quiet_ >= problem_.stop.times;
}

// The physical density, to scratch 0.
template <class ExecutionSpace, class Real>
DensityMeasures HomogenizeOptimizer<ExecutionSpace, Real>::project(ScheduleStage parameters) {
  if (problem_.filter != DesignFilter::density) parameters.radius = 0;
  design_.set_stage(space_, parameters);
  return design_.project(space_, scratch(0));
}

// The solver for the strains that the objective needs, where final_analysis() has put another in its place.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::restore_solver() {
  if (whole_plan_) make_solver(plan_, problem_.cell.storage);
  whole_plan_ = false;
}

// Density, moduli, fields and tensor of the present design.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::analyse(ScheduleStage const& parameters, HomogenizeStep& record) {
  auto const start = std::chrono::steady_clock::now();
  field_type const physical = scratch(0);
  DensityMeasures const measures = project(parameters);
  record.volume = measures.volume;
  record.grayness = measures.grayness;
  for_each("brickwork::HomogenizeOptimizer::moduli", space_, grid_.cell_count(),
           detail::Interpolate<Real, float, float>{physical.data(),
                                                   solver_->moduli().data(),
                                                   nullptr,
                                                   {1.0, problem_.young_min_ratio, parameters.penalization}});
  solver_->moduli_changed();
  fence(space_, "brickwork::HomogenizeOptimizer::moduli");
  record.seconds_filter += seconds_since(start);

  auto const solve_start = std::chrono::steady_clock::now();
  SolverSettings const& settings = problem_.cell.solver;
  if (!settings.warm_start) solver_->forget_fields();
  HomogenizationReport const report = solver_->solve(space_, {settings.tolerance, settings.max_iterations});
  record.iterations = report.iterations;
  record.true_residual = report.true_residual;
  record.status = report.status;
  record.seconds_solve += seconds_since(solve_start);

  auto const tensor_start = std::chrono::steady_clock::now();
  record.tensor = solver_->tensor(space_);
  for (auto& row : record.tensor)
    for (double& entry : row) entry *= problem_.young;
  record.known = known_entries(solver_->plan());
  bool bulk = true;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = i; j < 3; ++j) bulk = bulk && record.known[i][j];
  bulk = bulk || (plan_.single && plan_.strains[0] == Vector6{1, 1, 1, 0, 0, 0});
  record.bulk = bulk ? bulk_modulus(record.tensor) : std::numeric_limits<double>::quiet_NaN();
  record.seconds_sensitivity += seconds_since(tensor_start);
}

// Slopes with respect to rho^ in scratch 1, of f in units of `unit` per cell, and of the volume in 2; rho~ in 0.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::slopes(Tensor6 const& derivative, double unit) {
  double const factor = -(1 - problem_.young_min_ratio) * problem_.young / unit;
  solver_->template sensitivity<Real>(space_, derivative, factor, scratch(1));
  symmetrize<ExecutionSpace, Real>(space_, grid_, symmetry_, scratch(1));
  design_.sensitivities(space_, scratch(0), scratch(1), scratch(2));
}

template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::filter_sensitivity(field_type const& slope, field_type const& out) {
  Real const* const density = design_.variable().data();
  detail::filter_each<1, false>("brickwork::HomogenizeOptimizer::filter_sensitivity", space_,
                                sensitivity_filter_.stencil(), detail::WeightedSensitivity<Real>{density, slope.data()},
                                detail::StoreSensitivity<Real>{density, out.data()});
}

// Derivatives of f, in units of `unit`, and of the volume, in cells, with respect to the design variable, times
// `factor`.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::gradient(Tensor6 const& derivative, double unit, double factor,
                                                         field_type const& out, field_type const& volume) {
  slopes(derivative, unit);
  design_.chain_rule(space_, scratch(1), scratch(2), factor, factor, out, volume);
}

namespace {

// The change of f per cell when every modulus changes by its own value, or 1.
double sensitivity_unit(Tensor6 const& derivative, Tensor6 const& tensor, BoxGrid const& grid) {
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) sum += std::abs(derivative[i][j] * tensor[i][j]);
  return sum > 0 ? sum / static_cast<double>(grid.cell_count()) : 1.0;
}

// In units of the mean: what the optimality criteria take for a derivative that is not negative.
constexpr double least_slope = 1e-9;

// Whose objectives the stopping rule compares a change with.
constexpr std::size_t recent_steps = 10;

}  // namespace

template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::update(Tensor6 const& derivative, std::vector<double> const& values,
                                                       std::vector<Tensor6> const& derivatives,
                                                       HomogenizeStep& record) {
  ScheduleStage const& parameters = record.parameters;
  bool const sensitivity = problem_.filter == DesignFilter::sensitivity;
  if (sensitivity) sensitivity_filter_.set_radius(space_, parameters.radius, false, problem_.kernel);
  double const unit = sensitivity_unit(derivative, record.tensor, grid_);
  auto const sensitivity_start = std::chrono::steady_clock::now();
  if (!asymptotes_) {
    slopes(derivative, unit);
    fence(space_, "brickwork::HomogenizeOptimizer::slopes");
    record.seconds_sensitivity += seconds_since(sensitivity_start);
    auto const start = std::chrono::steady_clock::now();
    field_type slope = scratch(1);
    if (sensitivity) {
      filter_sensitivity(slope, scratch(4));
      slope = scratch(4);
    }
    record.change = design_.update(space_, slope, scratch(2), {-least_slope, least_slope}, scratch(3)).change;
    symmetrize<ExecutionSpace, Real>(space_, grid_, symmetry_, design_.variable());
    fence(space_, "brickwork::HomogenizeOptimizer::update");
    record.seconds_update = seconds_since(start);
    return;
  }

  // Per cell, so that all count in the same units.
  auto const cells = static_cast<double>(grid_.cell_count());
  auto const into = [&](Tensor6 const& of, double in, field_type const& out, field_type const& volume) {
    gradient(of, in, 1 / cells, out, volume);
    if (!sensitivity) return;
    filter_sensitivity(out, scratch(4));
    Kokkos::deep_copy(space_, out, scratch(4));
  };
  into(derivative, unit, gradients_[0], gradients_[1]);
  std::vector<double> g = values;
  std::vector<const_field_type> slopes_of_constraints;
  for (std::size_t i = 0; i < derivatives.size(); ++i) {
    double const in = sensitivity_unit(derivatives[i], record.tensor, grid_);
    into(derivatives[i], in, gradients_[i + 2], scratch(3));
    g[i] /= in * cells;  // as the gradient
    slopes_of_constraints.push_back(gradients_[i + 2]);
  }
  g.push_back(record.volume - problem_.volume_fraction);
  slopes_of_constraints.push_back(gradients_[1]);
  fence(space_, "brickwork::HomogenizeOptimizer::gradients");
  record.seconds_sensitivity += seconds_since(sensitivity_start);
  auto const start = std::chrono::steady_clock::now();
  record.change = asymptotes_->step(space_, design_.variable(), gradients_[0], g, slopes_of_constraints).change;
  symmetrize<ExecutionSpace, Real>(space_, grid_, symmetry_, design_.variable());
  fence(space_, "brickwork::HomogenizeOptimizer::update");
  record.seconds_update = seconds_since(start);
}

// Objective and constraints at the record's tensor.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::evaluate_functions(HomogenizeStep& record, Tensor6& derivative,
                                                                   std::vector<double>& values,
                                                                   std::vector<Tensor6>& derivatives) const {
  record.objective = objective_.evaluate(record.tensor, record.step, &derivative);
  for (auto const& constraint : constraints_) {
    Tensor6 slope{};
    values.push_back(constraint.offset +
                     constraint.factor * constraint.of.evaluate(record.tensor, record.step, &slope));
    for (auto& row : slope)
      for (double& entry : row) entry *= constraint.factor;
    derivatives.push_back(slope);
    record.constraint = values.size() == 1 ? values[0] : std::max(record.constraint, values.back());
  }
}

template <class ExecutionSpace, class Real>
HomogenizeStep HomogenizeOptimizer<ExecutionSpace, Real>::step() {
  BRICKWORK_REQUIRE(!finished(), "HomogenizeOptimizer::step: the run is finished after ", done_, " steps");
  ScopedRegion const region("brickwork::HomogenizeOptimizer::step");
  auto const start = std::chrono::steady_clock::now();
  restore_solver();
  HomogenizeStep record;
  record.step = done_ + 1;
  record.parameters = stage_of(problem_.schedule, record.step);
  analyse(record.parameters, record);

  Tensor6 derivative{};
  std::vector<double> values;
  std::vector<Tensor6> derivatives;
  evaluate_functions(record, derivative, values, derivatives);
  update(derivative, values, derivatives, record);
  watch(record);
  ++done_;
  record.seconds = seconds_since(start);
  return record;
}

// Relative to the largest objective of the last steps, so that a zero crossing is no large change, and an objective
// that fades (npr) is not taken for one that rests.
template <class ExecutionSpace, class Real>
void HomogenizeOptimizer<ExecutionSpace, Real>::watch(HomogenizeStep const& record) {
  StoppingRule const& rule = problem_.stop;
  double const change = objectives_.empty() ? 0 : std::abs(record.objective - objectives_.back());
  objectives_.push_back(record.objective);
  double size = 0;
  for (std::size_t i = objectives_.size() > recent_steps ? objectives_.size() - recent_steps : 0;
       i < objectives_.size(); ++i)
    size = std::max(size, std::abs(objectives_[i]));
  bool const last_stage = record.step >= problem_.schedule.stages.back().first_step;
  // Variables that move as far as they may are on their way, even where f pauses.
  bool const moving = record.change >= 0.99 * record.parameters.move;
  bool const still = record.step > 1 && !moving && change <= rule.relative_change * size;
  quiet_ = still && last_stage && record.step >= rule.first_step ? quiet_ + 1 : 0;
}

template <class ExecutionSpace, class Real>
auto HomogenizeOptimizer<ExecutionSpace, Real>::density() -> const_field_type {
  project(stage_of(problem_.schedule, std::max(done_, 1)));
  return scratch(0);
}

template <class ExecutionSpace, class Real>
HomogenizeStep HomogenizeOptimizer<ExecutionSpace, Real>::final_analysis() {
  StrainPlan const whole = full_strain_plan(is_cubic(symmetry_));
  if (solver_->plan().strains.size() != whole.strains.size() || solver_->plan().single) {
    try {
      make_solver(whole, problem_.cell.storage == FieldStorage::fp64 ? FieldStorage::automatic : problem_.cell.storage);
    } catch (OutOfMemory const&) {
      make_solver(whole, FieldStorage::int16);
    }
    whole_plan_ = true;
  }
  HomogenizeStep record;
  record.step = std::max(done_, 1);
  record.parameters = stage_of(problem_.schedule, record.step);
  analyse(record.parameters, record);
  Tensor6 derivative{};
  std::vector<double> values;
  std::vector<Tensor6> derivatives;
  evaluate_functions(record, derivative, values, derivatives);
  return record;
}

template <class ExecutionSpace, class Real>
double HomogenizeOptimizer<ExecutionSpace, Real>::evaluate(ScheduleStage const& parameters, int iteration,
                                                           field_type const& derivative) {
  restore_solver();
  HomogenizeStep record;
  record.step = iteration;
  analyse(parameters, record);
  Tensor6 slope{};
  double const f = objective_.evaluate(record.tensor, record.step, &slope);
  gradient(slope, 1.0, 1.0, derivative, scratch(3));
  fence(space_, "brickwork::HomogenizeOptimizer::evaluate");
  return f;
}

#define BRICKWORK_INSTANTIATE(SPACE)                \
  template class HomogenizeOptimizer<SPACE, float>; \
  template class HomogenizeOptimizer<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
