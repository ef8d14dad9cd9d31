// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/state_solver.hpp"

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// Two load cases on a cantilever of odd size.
SimpProblem problem_for(SolverMethod method) {
  SimpProblem problem = simp_preset("cantilever", {17, 9, 6});
  problem.loads.push_back({"second", PointRegion{{2, 1, 0.5}}, Load::Kind::total, {0.3, 0, 0.2}, 1});
  problem.load_case_weights = {1.0, 0.5};
  problem.solver.method = method;
  problem.solver.tolerance = 1e-9;
  return problem;
}

template <class Space, class Real>
struct States {
  using field = CellField<Real, typename Space::memory_space>;
  Space space;
  SimpProblem problem;
  BoxGrid grid;
  Hex8Matrix stiffness;
  std::unique_ptr<StateSolver<Space, Real>> solver;

  explicit States(SimpProblem const& of)
      : problem(of),
        grid(of.cells, of.lengths),
        stiffness(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, of.poisson}), grid.spacing())) {
    solver = make_state_solver<Space, Real>(space, grid, stiffness, boundary_conditions(problem, grid), problem.solver);
  }

  void set_density(std::vector<double> const& density, double penalization) {
    solver->set_density(space, to_device<field>(space, density, grid.cell_count()), {1.0, 1e-9, penalization});
    space.fence();
  }
  SolveResult solve(int load_case, bool cold = false) {
    return solver->solve(space, load_case, {problem.solver.tolerance, 20000}, cold);
  }
  std::vector<double> energies() const {
    auto const sum = allocate<field>(space, "energies", grid.cell_count());
    for (int c = 0; c < solver->load_cases(); ++c) solver->cell_energies(space, c, 1.0 + c, c > 0, sum);
    return to_host(sum);
  }
};

// Densities with void, solid and what is between, as an optimization has them.
std::vector<double> density_of(BoxGrid const& grid, unsigned seed) {
  auto density = random_values(grid.cell_count(), seed, -0.3, 1.3);
  for (double& rho : density) rho = std::min(1.0, std::max(0.0, rho));
  return density;
}

template <class Space, class Real>
void agrees_with_jacobi() {
  States<Space, Real> multigrid(problem_for(SolverMethod::multigrid)), jacobi(problem_for(SolverMethod::jacobi));
  CHECK(multigrid.solver->method() == SolverMethod::multigrid);
  CHECK(jacobi.solver->method() == SolverMethod::jacobi);
  REQUIRE(multigrid.solver->load_cases() == 2);
  for (unsigned const seed : {51u, 52u}) {
    auto const density = density_of(multigrid.grid, seed);
    multigrid.set_density(density, 3.0);
    jacobi.set_density(density, 3.0);
    for (int c = 0; c < 2; ++c) {
      CAPTURE(seed, c);
      CHECK(multigrid.solve(c).converged());
      CHECK(jacobi.solve(c).converged());
      double const expected = jacobi.solver->compliance(jacobi.space, c);
      CHECK(multigrid.solver->compliance(multigrid.space, c) == Approx(expected).epsilon(1e-6));
      // A warm start has nothing to do; a cold one does the same again.
      CHECK(multigrid.solve(c).iterations == 0);
      CHECK(multigrid.solve(c, true).iterations > 0);
      CHECK(multigrid.solver->compliance(multigrid.space, c) == Approx(expected).epsilon(1e-6));
    }
    // Energies weigh E: compare where there is stiffness.
    auto const one = multigrid.energies(), other = jacobi.energies();
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      double const modulus = 1e-9 + std::pow(density[i], 3);
      worst = std::max(worst, modulus * std::abs(one[i] - other[i]));
      largest = std::max(largest, modulus * other[i]);
    }
    CHECK(largest > 0);
    CHECK(worst <= 1e-5 * largest);
  }
}

// The sum of modulus x energy is the compliance.
template <class Space>
void energies_add_up() {
  States<Space, double> states(problem_for(SolverMethod::multigrid));
  auto const density = density_of(states.grid, 53);
  states.set_density(density, 3.0);
  double expected = 0;
  for (int c = 0; c < 2; ++c) {
    REQUIRE(states.solve(c).converged());
    expected += (1.0 + c) * states.solver->compliance(states.space, c);
  }
  auto const energies = states.energies();
  double sum = 0;
  for (std::size_t i = 0; i < energies.size(); ++i) sum += (1e-9 + (1 - 1e-9) * std::pow(density[i], 3)) * energies[i];
  CHECK(sum == Approx(expected).epsilon(1e-6));
}

// The fields that the solver lends lie apart, keep their values while nothing is solved, and do no harm to the next
// solve, whatever they hold.
template <class Space, class Real>
void scratch_fields(SolverMethod method) {
  CAPTURE(static_cast<int>(method), sizeof(Real));
  States<Space, Real> states(problem_for(method));
  auto& solver = *states.solver;
  auto const density = density_of(states.grid, 54);
  states.set_density(density, 3.0);
  REQUIRE(states.solve(0).converged());
  REQUIRE(states.solve(1).converged());
  double const expected = solver.compliance(states.space, 0);
  constexpr int count = StateSolver<Space, Real>::scratch_fields;
  auto const holds = [&](int i, double value) {
    auto const values = to_host(solver.scratch(i));
    bool same = static_cast<index_t>(values.size()) == states.grid.cell_count();
    for (double v : values) same = same && v == value;
    return same;
  };
  for (int i = 0; i < count; ++i) Kokkos::deep_copy(states.space, solver.scratch(i), Real(i + 1));
  for (int i = 0; i < count; ++i) CHECK(holds(i, i + 1));
  // Compliance, energies and the next density leave them alone.
  CHECK(solver.compliance(states.space, 0) == expected);
  states.energies();
  states.set_density(density, 3.5);
  for (int i = 0; i < count; ++i) CHECK(holds(i, i + 1));
  // Energies may go into one of them.
  solver.cell_energies(states.space, 0, 1.0, false, solver.scratch(1));
  CHECK_FALSE(holds(1, 2));
  CHECK(holds(0, 1));
  CHECK(holds(2, 3));
  for (int i = 0; i < count; ++i)
    Kokkos::deep_copy(states.space, solver.scratch(i), std::numeric_limits<Real>::quiet_NaN());
  states.set_density(density, 3.0);
  CHECK(states.solve(0, true).converged());
  CHECK(solver.compliance(states.space, 0) == Approx(expected).epsilon(1e-6));
}

// A state solver knows nothing of the density that another one has.
template <class Space>
void repeatable() {
  auto const run = [] {
    States<Space, double> states(problem_for(SolverMethod::multigrid));
    states.set_density(density_of(states.grid, 55), 3.0);
    states.solve(0);
    return states.solver->compliance(states.space, 0);
  };
  CHECK(run() == run());
}

}  // namespace

TEMPLATE_TEST_CASE("states by multigrid and by Jacobi agree", "[state]", BRICKWORK_TEST_SPACES) {
  agrees_with_jacobi<TestType, double>();
  agrees_with_jacobi<TestType, float>();
}
TEMPLATE_TEST_CASE("cell energies add up to the compliance", "[state]", BRICKWORK_TEST_SPACES) {
  energies_add_up<TestType>();
}
TEMPLATE_TEST_CASE("scratch fields lie apart and last between solves", "[state]", BRICKWORK_TEST_SPACES) {
  for (auto const method : {SolverMethod::multigrid, SolverMethod::jacobi}) {
    scratch_fields<TestType, double>(method);
    scratch_fields<TestType, float>(method);
  }
}
TEMPLATE_TEST_CASE("states by multigrid are bitwise repeatable", "[state]", BRICKWORK_TEST_SPACES) {
  repeatable<TestType>();
}

TEST_CASE("the solver's method is multigrid where that can run", "[state]") {
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  SolverSettings settings;
  CHECK(state_method(stiffness, settings) == SolverMethod::multigrid);
  settings.kernel = "parity";
  CHECK(state_method(stiffness, settings) == SolverMethod::multigrid);
  settings.method = SolverMethod::multigrid;
  CHECK(state_method(stiffness, settings) == SolverMethod::multigrid);
  settings.kernel = "node_gather";
  CHECK_THROWS_AS(state_method(stiffness, settings), InputError);
  settings.method = SolverMethod::automatic;
  CHECK(state_method(stiffness, settings) == SolverMethod::jacobi);
  settings.kernel = "automatic";
  for (auto const precision : {Precision::fp64, Precision::fp32}) {
    settings.precision = precision;
    settings.method = SolverMethod::automatic;
    CHECK(state_method(stiffness, settings) == SolverMethod::jacobi);
    settings.method = SolverMethod::multigrid;
    CHECK_THROWS_WITH(state_method(stiffness, settings), Catch::Matchers::Contains("mixed"));
  }
  settings.precision = Precision::mixed;
  settings.method = SolverMethod::jacobi;
  CHECK(state_method(stiffness, settings) == SolverMethod::jacobi);
  settings.method = SolverMethod::automatic;
  settings.kernel = "no_such_kernel";
  CHECK_THROWS_AS(state_method(stiffness, settings), InputError);
  // A matrix without reflection symmetry
  auto skew = stiffness;
  skew[0][4] += 0.1;
  skew[4][0] += 0.1;
  settings.kernel = "automatic";
  CHECK(state_method(skew, settings) == SolverMethod::jacobi);
  settings.method = SolverMethod::multigrid;
  CHECK_THROWS_AS(state_method(skew, settings), InputError);

  settings.smoother_degree = 5;
  settings.krylov_levels = 3;
  CHECK(multigrid_settings(settings).degree == 5);
  CHECK(multigrid_settings(settings).krylov_levels == 3);
}

TEST_CASE("the smoother of the settings reaches the multigrid, and bf16 is refused where cells are not cubes") {
  auto const stiffness = [](Vec3 const& sides) {
    return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), sides);
  };
  SolverSettings settings;
  settings.smoother = Smoother::bf16;
  CHECK(multigrid_settings(settings).smoother == Smoother::bf16);
  CHECK(state_method(stiffness({1, 1, 1}), settings) == SolverMethod::multigrid);
  CHECK_THROWS_AS(state_method(stiffness({1, 1, 2}), settings), InputError);
  try {
    state_method(stiffness({1, 1, 2}), settings);
  } catch (InputError const& error) {
    CHECK(std::string(error.what()).find("solver.smoother = \"bf16\": ") == 0);
  }
  settings.smoother = Smoother::block_jacobi;
  CHECK(state_method(stiffness({1, 1, 2}), settings) == SolverMethod::multigrid);
  settings.smoother = Smoother::bf16;
  settings.method = SolverMethod::jacobi;
  CHECK(state_method(stiffness({1, 1, 2}), settings) == SolverMethod::jacobi);
}
