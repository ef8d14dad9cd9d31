// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_optimizer.hpp"

#include <Eigen/Dense>

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

SimpProblem small_cantilever(Index3 cells = {6, 4, 3}) {
  SimpProblem problem = simp_preset("cantilever", cells);
  problem.schedule = constant_schedule(5, 3.0, 1.0, 0.2, 1.5);
  problem.solver.precision = Precision::fp64;
  problem.solver.tolerance = 1e-11;
  return problem;
}

// Central differences of the compliance and of the volume in single design variables.
template <class Space>
void finite_differences() {
  using field = CellField<double, typename Space::memory_space>;
  Space const space;
  SimpProblem problem = small_cantilever({5, 4, 3});
  problem.volume_fraction = 0.6;
  problem.passive.push_back({"bolt", BoxRegion{{0, 0, 0}, {0.4, 0.25, 0.2}}, true});
  problem.passive.push_back({"hole", BoxRegion{{0.8, 0.5, 0}, {1.2, 0.75, 0.2}}, false});
  problem.loads.push_back({"second", PointRegion{{2, 1, 0.5}}, Load::Kind::total, {0.3, 0, 0.2}, 1});
  problem.load_case_weights = {1.0, 0.5};
  SimpOptimizer<Space> optimizer(space, problem);
  index_t const cells = optimizer.grid().cell_count();
  auto design = random_values(cells, 41, 0.2, 0.9);
  ScheduleStage const stage{1, 1, 3.5, 4.0, 0.2, 1.5};
  auto const dc = allocate<field>(space, "dc", cells), dv = allocate<field>(space, "dv", cells);
  auto const scratch_c = allocate<field>(space, "c", cells), scratch_v = allocate<field>(space, "v", cells);
  auto const evaluate = [&](std::vector<double> const& values, field const& c, field const& v) {
    optimizer.set_design(to_device<field>(space, values, cells));
    return optimizer.evaluate(stage, c, v);
  };
  evaluate(design, dc, dv);
  auto const slopes = to_host(dc);
  double const step = 1e-5;
  for (index_t cell = 0; cell < cells; cell += 7) {
    auto moved = design;
    moved[cell] = design[cell] + step;
    double const up = evaluate(moved, scratch_c, scratch_v);
    moved[cell] = design[cell] - step;
    double const down = evaluate(moved, scratch_c, scratch_v);
    INFO("cell " << cell);
    CHECK(slopes[cell] == Approx((up - down) / (2 * step)).epsilon(2e-5).margin(1e-7 * max_abs(slopes)));
  }
}

template <class Space>
void steps_keep_bounds() {
  Space const space;
  SimpProblem problem = small_cantilever({12, 8, 5});
  problem.passive.push_back({"bolt", SphereRegion{{0.3, 0.5, 0.25}, 0.15}, true});
  problem.passive.push_back({"hole", CylinderRegion{{1.0, 0.5, 0}, 0.2, 2, 0, 0.5}, false});
  SimpOptimizer<Space> optimizer(space, problem);
  double first = 0, last = 0;
  for (int i = 0; i < 5; ++i) {
    SimpStep const step = optimizer.step();
    CHECK(step.status == SolveStatus::converged);
    CHECK(step.true_residual <= 1e-11);
    CHECK(step.change <= 0.2 + 1e-12);
    if (i > 0) CHECK(step.volume == Approx(0.3).margin(1e-6));
    if (i == 1) first = step.compliance;
    last = step.compliance;
  }
  CHECK(last < first);
  optimizer.result();
  auto const density = to_host(optimizer.density());
  bool within = true;
  for (double rho : density) within = within && rho >= 0 && rho <= 1;
  CHECK(within);
  BoxGrid const& grid = optimizer.grid();
  CHECK(density[grid.cell_index(1, 3, 2)] == 1.0);  // in the bolt
  CHECK(density[grid.cell_index(6, 4, 2)] == 0.0);  // in the hole
  CHECK_THROWS_AS(optimizer.step(), InputError);
}

template <class Space>
void units_do_not_matter() {
  Space const space;
  SimpProblem problem = small_cantilever({10, 6, 4});
  problem.solver.tolerance = 1e-10;
  auto const run = [&](double young, double force) {
    problem.young = young;
    problem.loads[0].force = {0, -force, 0};
    SimpOptimizer<Space> optimizer(space, problem);
    SimpStep step;
    while (!optimizer.finished()) step = optimizer.step();
    return std::make_pair(step.compliance, to_host(optimizer.density()));
  };
  auto const one = run(1, 1);
  for (auto const& [young, force] : {std::pair<double, double>{210e9, 1}, {1, 1e6}, {1e-6, 1e-3}}) {
    // The source's floor dc <= -1e-12 is absolute, so a schedule that keeps it is not unit-free; constant_schedule has
    // none.
    auto const other = run(young, force);
    CHECK(other.first == Approx(one.first * force * force / young).epsilon(1e-7));
    CHECK(max_difference(other.second, one.second) < 1e-6);
  }
}

// The density that is reported belongs to the result that is reported, whatever has passed through the shared memory.
template <class Space>
void density_belongs_to_result(SimpProblem problem) {
  SimpOptimizer<Space> optimizer(Space{}, problem);
  auto const check = [&] {
    SimpResult const result = optimizer.result();
    auto const density = to_host(optimizer.density());
    double volume = 0, grayness = 0;
    for (double rho : density) volume += rho, grayness += 4 * rho * (1 - rho);
    INFO("step " << optimizer.steps_done() << ", reported " << result.step);
    if (result.step > 0) {
      CHECK(volume / double(density.size()) == Approx(result.volume).epsilon(1e-12));
      CHECK(grayness / double(density.size()) == Approx(result.grayness).epsilon(1e-12));
    } else {
      CHECK(max_difference(density, std::vector<double>(density.size(), density[0])) < 1e-15);  // the uniform start
      CHECK(density[0] > 0);
    }
    return result;
  };
  check();
  while (!optimizer.finished()) {
    optimizer.step();
    check();
  }
  SimpResult const last = check();
  CHECK(last.step == (problem.schedule.final_solve ? problem.schedule.steps + 1 : last.step));
}

template <class Space>
void restarts_from_best() {
  // The exponent jumps after step 3, so that the compliance of step 4 exceeds the best one.
  SimpProblem problem = small_cantilever({8, 6, 4});
  problem.schedule = constant_schedule(6, 3.0, 1.0, 0.2, 1.5);
  problem.schedule.stages = {{1, 3, 3.0, 1.0, 0.2, 1.5}, {4, 6, 6.0, 1.0, 0.2, 1.5}};
  problem.schedule.select_best = true;
  problem.schedule.best_max_grayness = 1;
  problem.schedule.restart_ratio = 1.12;
  SimpOptimizer<Space> optimizer(Space{}, problem);
  for (int i = 0; i < 3; ++i) CHECK(!optimizer.step().restarted);
  SimpResult const best = optimizer.result();
  auto const density = to_host(optimizer.density());
  SimpStep const lost = optimizer.step();
  CHECK(lost.restarted);
  CHECK(lost.change == 0);
  CHECK(optimizer.result().step == best.step);
  CHECK(max_difference(to_host(optimizer.density()), density) == 0);
  // Restarting makes the best density the design: what is analysed next is its projection.
  SimpStep const next = optimizer.step();
  ConeFilter<Space> filter(optimizer.grid());
  using field = CellField<double, typename Space::memory_space>;
  auto const filtered = allocate<field>(Space{}, "filtered", optimizer.grid().cell_count());
  filter.set_radius(Space{}, 1.5);
  filter.apply(Space{}, to_device<field>(Space{}, density, optimizer.grid().cell_count()), filtered);
  double volume = 0;
  for (double rho : to_host(filtered))
    volume += (std::tanh(0.5) + std::tanh(rho - 0.5)) / (2 * std::tanh(0.5)) / double(density.size());
  CHECK(next.volume == Approx(volume).epsilon(1e-12));
}

template <class Space>
void float_follows_double() {
  SimpProblem problem = small_cantilever({12, 8, 5});
  problem.passive.push_back({"bolt", SphereRegion{{0.3, 0.5, 0.25}, 0.15}, true});
  SimpOptimizer<Space, double> two(Space{}, problem);
  SimpOptimizer<Space, float> one(Space{}, problem);
  while (!two.finished()) {
    SimpStep const expected = two.step(), step = one.step();
    CHECK(step.compliance == Approx(expected.compliance).epsilon(1e-5));
    CHECK(step.volume == Approx(expected.volume).epsilon(1e-6));
    CHECK(step.grayness == Approx(expected.grayness).epsilon(1e-5));
    CHECK(step.change == Approx(expected.change).epsilon(1e-5));
  }
  two.result();
  one.result();
  CHECK(max_difference(to_host(one.density()), to_host(two.density())) < 1e-4);
}

template <class Space>
SimpStep uniform_solve(Index3 cells, Precision precision, char const* kernel) {
  SimpProblem problem = simp_preset("cantilever", cells);
  problem.volume_fraction = 0.5;  // the projection keeps 0.5
  problem.schedule = constant_schedule(1, 3.0, 1.0, 0.2, 1.5);
  problem.solver.precision = precision;
  problem.solver.kernel = kernel;
  SimpOptimizer<Space> optimizer(Space{}, problem);
  return optimizer.step();
}

}  // namespace

using Space = Kokkos::DefaultExecutionSpace;

TEMPLATE_TEST_CASE("sensitivities equal finite differences", "", BRICKWORK_TEST_SPACES) {
  finite_differences<TestType>();
}
TEMPLATE_TEST_CASE("steps meet the volume, the bounds and the passive cells", "", BRICKWORK_TEST_SPACES) {
  steps_keep_bounds<TestType>();
}
TEST_CASE("the reported density belongs to the reported result") {
  SimpProblem problem = small_cantilever({8, 6, 4});
  density_belongs_to_result<Space>(problem);
  problem.schedule.final_solve = true;
  density_belongs_to_result<Space>(problem);
  problem.schedule.final_solve = false;
  problem.schedule.select_best = true;
  problem.schedule.best_max_grayness = 0.7;  // met after the first steps only
  density_belongs_to_result<Space>(problem);
}
TEST_CASE("a lost design goes back to the best density") { restarts_from_best<Space>(); }
TEMPLATE_TEST_CASE("cell fields in float follow those in double", "", BRICKWORK_TEST_SPACES) {
  float_follows_double<TestType>();
}
TEST_CASE("the design does not depend on units") { units_do_not_matter<Space>(); }

TEST_CASE("protocol A, uniform density: compliance and iterations of the 64k cantilever") {
  SimpStep const fp64 = uniform_solve<Space>({80, 40, 20}, Precision::fp64, "parity");
  CHECK(fp64.compliance == Approx(13.423231).epsilon(1e-6));
  CHECK(std::abs(fp64.iterations - 344) <= 2);
  CHECK(fp64.true_residual <= 1e-5);
  // FP32 in the even-odd form loses nothing to rigid translation.
  SimpStep const fp32 = uniform_solve<Space>({80, 40, 20}, Precision::fp32, "parity");
  CHECK(fp32.compliance == Approx(fp64.compliance).epsilon(1e-6));
  SimpStep const mixed = uniform_solve<Space>({80, 40, 20}, Precision::mixed, "parity");
  CHECK(mixed.compliance == Approx(fp64.compliance).epsilon(1e-6));
  CHECK(mixed.true_residual <= 1e-5);
}

TEST_CASE("protocol A, uniform density: compliance of the 216k cantilever") {
  CHECK(uniform_solve<Space>({120, 60, 30}, Precision::mixed, "parity").compliance == Approx(11.010329).epsilon(1e-6));
}

TEST_CASE("protocol B: first step at k = 80") {
  SimpProblem problem = simp_preset("cantilever_b");
  SimpOptimizer<Space> optimizer(Space{}, problem);
  SimpStep const first = optimizer.step();
  // A solve to 1e-8 gives 1.83700121; the published 1.836999 lies 1.2e-6 below it, the error of its own tolerance.
  CHECK(first.compliance == Approx(1.8370012).epsilon(1e-6));
  CHECK(first.compliance == Approx(1.836999).epsilon(2e-6));
  CHECK(first.volume == Approx(0.286445).epsilon(1e-5));
}

TEST_CASE("a physical box under tension has the compliance of a bar") {
  // Poisson's ratio 0 makes the uniaxial state exact: c = F^2 L / (E A).
  SimpProblem problem;
  problem.name = "bar";
  problem.cells = {7, 3, 2};
  problem.lengths = {10, 2, 3};
  problem.young = 5;
  problem.poisson = 0;
  problem.volume_fraction = 1;
  problem.supports = {{"wall", PlaneRegion{0, 0}, {true, true, true}}};
  problem.loads = {{"pull", PlaneRegion{0, 10}, Load::Kind::traction, {0.5, 0, 0}, 0}};
  problem.schedule = constant_schedule(1, 3.0, 1.0, 0.2, 1.5);
  problem.schedule.density_lower_bound = 0;
  problem.solver.precision = Precision::fp64;
  problem.solver.tolerance = 1e-12;
  SimpOptimizer<Space> optimizer(Space{}, problem);
  double const force = 0.5 * 2 * 3;
  CHECK(optimizer.step().compliance == Approx(force * force * 10 / (5 * 2 * 3)).epsilon(1e-10));
}

TEST_CASE("problems that cannot be meant are refused, with what is wrong") {
  auto const refused = [](SimpProblem const& problem, char const* part) {
    CHECK_THROWS_WITH(SimpOptimizer<Space>(Space{}, problem), Catch::Matchers::Contains(part));
  };
  SimpProblem problem = small_cantilever();
  problem.supports[0].fixed = {false, false, true};
  refused(problem, "translation along x");
  problem = small_cantilever();
  problem.supports[0].region = PointRegion{{0, 0, 0}};
  refused(problem, "rotation about the line along");
  problem = small_cantilever();
  problem.loads[0].region = PlaneRegion{0, 0};
  refused(problem, "fixed degrees of freedom only");
  problem = small_cantilever();
  problem.passive.push_back({"bolt", BoxRegion{{0, 0, 0}, {2, 1, 0.25}}, true});
  refused(problem, "passive regions");
  problem = small_cantilever();
  problem.passive.push_back({"speck", SphereRegion{{0, 0, 0}, 1e-3}, true});
  refused(problem, "selects nothing");
  problem = small_cantilever({12, 8, 5});
  problem.passive.push_back({"hole", BoxRegion{{1.8, 0.25, 0}, {2, 0.75, 0.5}}, false});
  refused(problem, "inside passive void");
  problem = small_cantilever();
  problem.poisson = 0.5;
  refused(problem, "0.5");
  // The source's mbb is singular as stated, but in balance: projecting gives a solution, and completing the supports
  // the same.
  problem = simp_preset("mbb", {12, 4, 2});
  problem.free_modes = FreeModes::error;
  refused(problem, "translation along z");
}

TEST_CASE("projecting free modes gives the compliance of completed supports") {
  // Two more fixed components hold the two free modes without holding anything else: reactions there are zero.
  auto const compliance = [](bool completed) {
    SimpProblem problem = simp_preset("mbb", {12, 4, 2});
    problem.free_modes = completed ? FreeModes::error : FreeModes::project;
    if (completed) {
      problem.supports.push_back({"z", PointRegion{{3, 0, 0.25}}, {false, false, true}});
      problem.supports.push_back({"roll", PointRegion{{0, 1, 0.25}}, {false, false, true}});
    }
    problem.schedule = constant_schedule(1, 3.0, 1.0, 0.2, 1.5);
    problem.solver.precision = Precision::fp64;
    problem.solver.tolerance = 1e-10;
    SimpOptimizer<Space> optimizer(Space{}, problem);
    SimpStep const step = optimizer.step();
    CHECK(step.status == SolveStatus::converged);
    return step.compliance;
  };
  CHECK(compliance(false) == Approx(compliance(true)).epsilon(1e-8));
}

TEST_CASE("memory is predicted before it is allocated") {
  SimpProblem problem = simp_preset("cantilever", {4000, 4000, 4000});
  CHECK(simp_memory(problem).total() > index_t(64) * 4000 * 4000 * 4000);
  // Halving the cell fields saves 4 bytes for the design, the best density and whatever the solver lends.
  index_t const lent = StateSolver<Space, float>::scratch_fields;
  CHECK(simp_memory(problem, 8).total() - simp_memory(problem, 4).total() <=
        4 * (2 + lent) * index_t(4000) * 4000 * 4000);
  CHECK(simp_memory(problem, 8).total() - simp_memory(problem, 4).total() >= 4 * 2 * index_t(4000) * 4000 * 4000);
}
