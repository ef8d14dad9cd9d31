// SPDX-License-Identifier: BSD-3-Clause
// Local multigrid for Hermite operators: symmetric and positive, exact against a dense solve on adaptive grids, the
// iteration counts and orders of the source text, plates with known deflections, and what it refuses.
#include "brickwork/solvers/hermite_solver.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "brickwork/operators/hermite_fields.hpp"
#include "brickwork/operators/manufactured_solution.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_cycles.hpp"
#include "support/hermite_grids.hpp"
#include "support/hermite_leaves.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

template <class Space, int Dim>
using Primal = HermitePrimal<double, typename Space::memory_space, Dim>;
template <class Space, int Dim>
using Dual = HermiteDual<double, typename Space::memory_space, Dim>;

/// The unknowns of the composite space, each with its basis function as a consistent field.
template <class Space, int Dim>
std::vector<std::vector<double>> basis_of(Space const& space, AdaptiveGrid<Space, Dim> const& grid,
                                          HermiteBoundary<Dim> const& boundary) {
  std::vector<std::vector<double>> basis;
  Primal<Space, Dim> const field(space, grid, "field");
  index_t offset = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const level = host_level(grid.level(l));
    if (level.leaf_count == 0) continue;
    for (index_t vertex = 0; vertex < level.vertex_count; ++vertex) {
      if (level.vertex_leaves(vertex) == 0) continue;
      auto const p = level.vertex_position(vertex);
      bool whole = true;
      for (int n = 0; n < (1 << Dim); ++n) {
        auto cell = p;
        bool inside = true;
        for (int d = 0; d < Dim; ++d) {
          cell[d] += ((n >> d) & 1) - 1;
          inside = inside && cell[d] >= 0 && cell[d] < level.domain_cells[d];
        }
        whole = whole && (!inside || level.find_cell(cell) >= 0);
      }
      int const fixed = boundary.fixed(p.data(), level.domain_cells.data());
      for (int m = 0; m < (1 << Dim); ++m) {
        if (!whole || ((fixed >> m) & 1)) continue;
        std::vector<double> values(static_cast<std::size_t>(field.size()), 0.0);
        values[static_cast<std::size_t>(offset + vertex + m * level.vertex_count)] = 1;
        set_values(field, values);
        prescribe_edges<Space, Dim>(space, grid, field);
        basis.push_back(host_values(field));
      }
    }
    offset += level.vertex_count << Dim;
  }
  return basis;
}

/// The operator as a matrix over its unknowns, the cycle's symmetry, and the solution against a dense one.
template <class Space, int Dim>
void check_against_dense(AdaptiveGrid<Space, Dim> const& grid, HermiteForm const& form,
                         PlateBoundary<Dim> const& boundary) {
  Space const space;
  HermiteOperator<Space, Dim> const a(space, grid, form, boundary);
  auto const basis = basis_of(space, grid, HermiteBoundary<Dim>(boundary));
  auto const n = static_cast<Eigen::Index>(basis.size());
  REQUIRE(a.unknown_count() == n);
  Primal<Space, Dim> const x(space, grid, "x");
  Dual<Space, Dim> const y(space, grid, "y"), b(space, grid, "b");
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    set_values(x, basis[j]);
    a.apply(space, x, y);
    auto const column = host_values(y);
    for (Eigen::Index i = 0; i < n; ++i) matrix(i, j) = pairing(column, basis[i]);
  }
  REQUIRE((matrix - matrix.transpose()).norm() <= 1e-12 * matrix.norm());
  set_values(b, random_values(b.size(), 3));
  a.constrain(space, b);
  auto const load = host_values(b);
  Eigen::VectorXd right(n);
  for (Eigen::Index i = 0; i < n; ++i) right[i] = pairing(load, basis[i]);
  Eigen::LLT<Eigen::MatrixXd> const factor(matrix);
  REQUIRE(factor.info() == Eigen::Success);
  Eigen::VectorXd const solution = factor.solve(right);
  std::vector<double> expected(static_cast<std::size_t>(x.size()), 0.0);
  for (Eigen::Index i = 0; i < n; ++i)
    for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += solution[i] * basis[i][k];
  double const scale = std::sqrt(pairing(expected, expected));

  // What finer cells cover is no part of the solution.
  auto const compare = [&](double tolerance) {
    auto const found = host_values(x);
    index_t offset = 0;
    double difference = 0;
    for (int l = 0; l < grid.level_count(); ++l) {
      auto const level = host_level(grid.level(l));
      if (level.leaf_count == 0) continue;
      for (index_t i = 0; i < level.vertex_count << Dim; ++i)
        if (level.vertex_leaves(i % level.vertex_count) != 0)
          difference = std::max(difference, std::abs(found[offset + i] - expected[offset + i]));
      offset += level.vertex_count << Dim;
    }
    REQUIRE(difference <= tolerance * scale);
  };
  HermiteSolveOptions options;
  options.tolerance = 1e-11;
  for (auto const& cycle : {HermiteCycleOptions{}, patch()}) {
    HermiteSolver<HermiteMultigrid<Space, double, Dim>> solver(space, a, cycle);
    set_values(x, std::vector<double>(expected.size(), 0.0));
    auto const result = solver.solve(space, b, x, options);
    REQUIRE(result.converged());
    REQUIRE(result.true_relative_residual <= 1.001e-11);
    compare(1e-8);
  }
}

/// <M r, s> = <r, M s> and <M r, r> > 0 for functionals r, s of the composite space.
template <class Space, class Scalar, int Dim>
void check_symmetry(AdaptiveGrid<Space, Dim> const& grid, HermiteCycleOptions const& cycle) {
  Space const space;
  PlateBoundary<Dim> const boundary = mixed_boundary<Dim>();
  HermiteOperator<Space, Dim> const a(space, grid, HermiteForm{}, boundary);
  HermiteMultigrid<Space, Scalar, Dim> const multigrid(space, a, cycle);
  // Functionals as the operator makes them: zero at vertices without leaves.
  Primal<Space, Dim> const x(space, grid, "x");
  std::vector<Dual<Space, Dim>> r;
  std::vector<std::vector<double>> functional, correction;
  for (unsigned s = 0; s < 2; ++s) {
    r.emplace_back(space, grid, "r");
    set_values(x, random_values(x.size(), s + 1));
    a.apply(space, x, r.back());
    a.constrain(space, r.back());
    multigrid.apply(space, r.back());
    functional.push_back(host_values(r.back()));
    auto const z = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), multigrid.correction().values());
    correction.emplace_back(z.data(), z.data() + z.extent(0));
  }
  double const norm = std::sqrt(pairing(functional[0], correction[0]) * pairing(functional[1], correction[1]));
  REQUIRE(pairing(functional[0], correction[0]) > 0);
  REQUIRE(pairing(functional[1], correction[1]) > 0);
  double const rounding = std::is_same_v<Scalar, float> ? 2e-5 : 1e-12;
  double const gap = std::abs(pairing(functional[0], correction[1]) - pairing(functional[1], correction[0]));
  if (cycle.symmetric) {
    REQUIRE(gap <= rounding * norm);
  } else {
    REQUIRE(gap > 1e-6 * norm);
  }
}

template <class Space>
void check_symmetries() {
  Space const space;
  using Kind = RefinementRegion<3>::Kind;
  HermiteCycleOptions even;
  even.stages = 2;
  for (auto const kind : {Kind::box, Kind::ball, Kind::ring}) {
    auto const grid = refined(space, box<3>({3, 2, 3}), 1, kind, 2);
    check_symmetry<Space, double>(grid, {});
    check_symmetry<Space, double>(grid, even);
    check_symmetry<Space, double>(grid, patch());
    check_symmetry<Space, float>(grid, {});
  }
  check_symmetry<Space, double>(refined(space, unit_cube<3>(), 3, Kind::box, 0), patch(false));
  check_symmetry<Space, double>(refined(space, box<2>({7, 3}), 2, RefinementRegion<2>::Kind::ball, 1), {});
}

template <class Space, class Scalar, int Dim>
struct Run {
  HermiteSolveResult result;
  HermiteErrors errors;
};

template <class Scalar, class Space, int Dim>
Run<Space, Scalar, Dim> run(AdaptiveGrid<Space, Dim> const& grid, HermiteCycleOptions const& cycle = {},
                            HermiteMethod method = HermiteMethod::conjugate_gradient, HermiteForm const& form = {},
                            PlateBoundary<Dim> const& boundary = {}) {
  Space const space;
  ManufacturedSolution<Dim> const solution(grid.base(), boundary);
  HermiteOperator<Space, Dim> const a(space, grid, form, boundary);
  Primal<Space, Dim> const x(space, grid, "x");
  Dual<Space, Dim> const b(space, grid, "b");
  add_load(space, grid, ManufacturedLoad<Dim>{solution, form}, b);
  HermiteSolver<HermiteMultigrid<Space, Scalar, Dim>> solver(space, a, cycle);
  HermiteSolveOptions options;
  options.method = method;
  Run<Space, Scalar, Dim> run;
  run.result = solver.solve(space, b, x, options);
  REQUIRE(run.result.converged());
  REQUIRE(run.result.true_relative_residual <= 1.001e-8);
  REQUIRE(run.result.residuals.size() == static_cast<std::size_t>(run.result.iterations) + 1);
  run.errors = hermite_errors<Space, Dim>(space, grid, x, solution);
  return run;
}

template <class Space>
void uniform_counts() {
  Space const space;
  double last = 0;
  for (int l = 3; l <= 5; ++l) {
    AdaptiveGrid<Space, 3> const grid(space, unit_cube<3>(), l);
    auto const chebyshev = run<double>(grid);
    REQUIRE(chebyshev.result.iterations >= 5);
    REQUIRE(chebyshev.result.iterations <= 6);
    if (l > 3) {
      double const order = std::log2(last / chebyshev.errors.l2);
      REQUIRE(order > 3.965);
      REQUIRE(order < 4.005);
    }
    last = chebyshev.errors.l2;
    auto const mixed = run<float>(grid);
    REQUIRE(mixed.result.iterations == chebyshev.result.iterations);
    REQUIRE(mixed.errors.l2 == Approx(chebyshev.errors.l2).epsilon(1e-4));
    auto const symmetric = run<double>(grid, patch(), HermiteMethod::stationary);
    REQUIRE(symmetric.result.iterations <= 11);
    auto const forward = run<double>(grid, patch(false), HermiteMethod::stationary);
    REQUIRE(forward.result.iterations <= 8);
    auto const accelerated = run<double>(grid, patch());
    REQUIRE(accelerated.result.iterations <= 7);
    REQUIRE(accelerated.result.iterations <= symmetric.result.iterations);
  }
}

template <class Space>
void adaptive_counts() {
  Space const space;
  using Kind = RefinementRegion<3>::Kind;
  double const uniform = run<double>(AdaptiveGrid<Space, 3>(space, unit_cube<3>(), 4)).errors.l2;
  struct {
    Kind kind;
    int most;
  } const cases[] = {{Kind::box, 9}, {Kind::ball, 13}, {Kind::ring, 18}};
  for (auto const& c : cases) {
    AdaptiveGrid<Space, 3> grid(space, unit_cube<3>(), 4);
    auto where = region(unit_cube<3>(), c.kind);
    where.radius = 0.25;
    int first = 0;
    for (int depth = 1; depth <= 2; ++depth) {
      grid.refine(space, where);
      auto const chebyshev = run<double>(grid);
      auto const patches = run<double>(grid, patch());
      REQUIRE(chebyshev.result.iterations <= c.most);
      REQUIRE(std::abs(chebyshev.result.iterations - patches.result.iterations) <= 2);
      auto const mixed = run<float>(grid);
      REQUIRE(mixed.result.iterations <= chebyshev.result.iterations + 1);
      REQUIRE(mixed.errors.l2 == Approx(chebyshev.errors.l2).epsilon(1e-4));
      if (depth == 1) REQUIRE(run<float>(grid, patch()).result.iterations <= patches.result.iterations + 1);
      REQUIRE(chebyshev.errors.l2 <= uniform);
      if (depth == 1) first = chebyshev.result.iterations;
      REQUIRE(chebyshev.result.iterations <= first + 1);
    }
  }
}

/// Order four in L2 with supported faces, anisotropic cells and lower-order terms, in two and three dimensions.
template <class Space, int Dim>
void orders(BaseGrid<Dim> const& base, int first, HermiteForm const& form, PlateBoundary<Dim> const& boundary) {
  Space const space;
  double last = 0;
  for (int l = first; l < first + 2; ++l) {
    AdaptiveGrid<Space, Dim> const grid(space, base, l);
    auto const result = run<double>(grid, {}, HermiteMethod::conjugate_gradient, form, boundary);
    if (last > 0) REQUIRE(std::log2(last / result.errors.l2) > 3.8);
    last = result.errors.l2;
    REQUIRE(result.result.iterations <= 30);
  }
}

template <class Space>
void plates() {
  Space const space;
  BaseGrid<2> square;
  square.cells = {2, 2};
  square.lengths = {1, 1};
  AdaptiveGrid<Space, 2> const grid(space, square, 4);
  Kokkos::View<double* [2], Kokkos::LayoutLeft, typename Space::memory_space> const points("points", 1);
  Kokkos::deep_copy(points, 0.5);
  HermiteJets<Space, 2> const jets("jets", 1);
  auto const centre = [&](bool point_load, PlateBoundary<2> const& boundary) {
    HermiteOperator<Space, 2> const a(space, grid, HermiteForm{}, boundary);
    Primal<Space, 2> const x(space, grid, "x");
    Dual<Space, 2> const b(space, grid, "b");
    if (point_load) {
      add_point_load<Space, 2>(space, grid, 1.0, {0.5, 0.5}, b);
    } else {
      add_constant_load(space, grid, 1.0, b);
    }
    HermiteSolver<HermiteMultigrid<Space, double, 2>> solver(space, a, {});
    REQUIRE(solver.solve(space, b, x, {}).converged());
    evaluate<Space, 2>(space, grid, x, points, jets);
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), jets)(0).value;
  };
  PlateBoundary<2> supported;
  supported.fill(PlateEdge::simply_supported);
  REQUIRE(centre(false, {}) == Approx(0.00126532).epsilon(1e-5));
  REQUIRE(centre(true, {}) == Approx(0.00560).epsilon(3e-3));             // Timoshenko and Woinowsky-Krieger, table 37
  REQUIRE(centre(false, supported) == Approx(0.00406235).epsilon(1e-5));  // Navier's series
  REQUIRE(centre(true, supported) == Approx(0.01160).epsilon(1e-3));
}

template <class Space>
void estimated_interval() {
  Space const space;
  HermiteCycleOptions cycle;
  cycle.interval = HermiteInterval::estimated;
  AdaptiveGrid<Space, 3> const grid(space, unit_cube<3>(), 4);
  HermiteOperator<Space, 3> const a(space, grid, HermiteForm{}, PlateBoundary<3>{});
  HermiteMultigrid<Space, double, 3> const multigrid(space, a, cycle);
  // The assembled operator's largest eigenvalue of D^-1 A: 1.84 on 4^3 cells, 2.04 on 8^3, 2.09 on 16^3.
  REQUIRE(multigrid.upper_bound(2) == Approx(1.05 * 1.84).epsilon(0.01));
  REQUIRE(multigrid.upper_bound(3) == Approx(1.05 * 2.04).epsilon(0.02));
  REQUIRE(multigrid.upper_bound(4) == Approx(1.05 * 2.09).epsilon(0.03));
  REQUIRE(run<double>(grid, cycle).result.iterations <= 7);
}

template <class Space>
void refusals() {
  Space const space;
  AdaptiveGrid<Space, 2> const grid(space, BaseGrid<2>{{2, 2}, {1, 1}}, 2),
      other(space, BaseGrid<2>{{2, 2}, {1, 1}}, 1), one(space, BaseGrid<2>{{1, 1}, {1, 1}}, 0);
  HermiteOperator<Space, 2> const a(space, grid, HermiteForm{}, PlateBoundary<2>{}),
      nothing(space, one, HermiteForm{}, PlateBoundary<2>{});
  using Solver = HermiteSolver<HermiteMultigrid<Space, double, 2>>;
  REQUIRE_THROWS_AS(Solver(space, nothing, {}), InputError);
  HermiteCycleOptions cycle;
  cycle.stages = 0;
  REQUIRE_THROWS_AS(Solver(space, a, cycle), InputError);
  cycle = {};
  cycle.lower = 3;
  REQUIRE_THROWS_AS(Solver(space, a, cycle), InputError);
  cycle.lower = std::nan("");
  REQUIRE_THROWS_AS(Solver(space, a, cycle), InputError);
  REQUIRE_THROWS_AS((HermiteOperator<Space, 2>(space, grid, HermiteForm{0, 0, 0}, PlateBoundary<2>{})), InputError);
  REQUIRE_THROWS_AS((HermiteOperator<Space, 2>(space, grid, HermiteForm{-1, 0, 1}, PlateBoundary<2>{})), InputError);

  Primal<Space, 2> const x(space, grid, "x"), x_other(space, other, "x");
  Dual<Space, 2> const b(space, grid, "b");
  Solver solver(space, a, {});
  HermiteSolveOptions options;
  REQUIRE_THROWS_AS(solver.solve(space, b, x, options), InputError);  // zero
  add_constant_load(space, grid, 1.0, b);
  REQUIRE_THROWS_AS(solver.solve(space, b, x_other, options), InputError);
  options.tolerance = 0;
  REQUIRE_THROWS_AS(solver.solve(space, b, x, options), InputError);
  options.tolerance = 1e-8;
  options.max_iterations = 0;
  REQUIRE_THROWS_AS(solver.solve(space, b, x, options), InputError);
  options.max_iterations = 2;
  REQUIRE(solver.solve(space, b, x, options).status == SolveStatus::capped);
  int calls = 0;
  options.max_iterations = 100;
  options.progress = [&](int, double) { return ++calls < 1; };
  Kokkos::deep_copy(x.values(), 0.0);
  REQUIRE(solver.solve(space, b, x, options).status == SolveStatus::capped);
  REQUIRE(calls == 1);
  options.progress = nullptr;
  // From the solution on there is nothing to do that rounding would allow: a solve from it starts anew and ends well.
  REQUIRE(solver.solve(space, b, x, options).converged());
  Kokkos::deep_copy(b.values(), std::nan(""));
  REQUIRE_THROWS_AS(solver.solve(space, b, x, options), InputError);
  Solver forward(space, a, patch(false));
  REQUIRE_THROWS_AS(forward.solve(space, b, x, options), InputError);
}

template <class P, class D, class = void>
struct Mixes : std::false_type {};
template <class P, class D>
struct Mixes<P, D,
             std::void_t<decltype(std::declval<HermiteOperator<Kokkos::DefaultExecutionSpace, 3> const&>().apply(
                 Kokkos::DefaultExecutionSpace(), std::declval<P const&>(), std::declval<D const&>()))>>
    : std::true_type {};

}  // namespace

TEMPLATE_TEST_CASE("local multigrid solves what a dense factorization solves", "", BRICKWORK_TEST_SPACES) {
  TestType const space;
  using Kind = RefinementRegion<2>::Kind;
  check_against_dense(refined(space, box<2>({2, 3}), 1, Kind::box, 2), HermiteForm{}, PlateBoundary<2>{});
  check_against_dense(refined(space, box<2>({3, 2}), 1, Kind::ball, 1), HermiteForm{2, 0.5, 0.01}, mixed_boundary<2>());
  check_against_dense(refined(space, box<2>({2, 2}), 2, Kind::ring, 1), HermiteForm{}, mixed_boundary<2>());
  check_against_dense(refined(space, box<3>({2, 1, 2}), 1, RefinementRegion<3>::Kind::box, 1), HermiteForm{},
                      PlateBoundary<3>{});
}

TEMPLATE_TEST_CASE("the local V-cycle is symmetric and positive", "", BRICKWORK_TEST_SPACES) {
  check_symmetries<TestType>();
}

TEMPLATE_TEST_CASE("uniform biharmonic solves take the iterations of the text", "", BRICKWORK_TEST_SPACES) {
  uniform_counts<TestType>();
}

TEMPLATE_TEST_CASE("adaptive biharmonic solves take the iterations of the text", "", BRICKWORK_TEST_SPACES) {
  adaptive_counts<TestType>();
}

TEMPLATE_TEST_CASE("Hermite solutions are of fourth order with any boundary and form", "", BRICKWORK_TEST_SPACES) {
  orders<TestType, 2>(box<2>({3, 2}), 2, HermiteForm{}, mixed_boundary<2>());
  orders<TestType, 2>(box<2>({1, 3}), 3, HermiteForm{1, 1, 0.1}, PlateBoundary<2>{});
  orders<TestType, 3>(box<3>({1, 2, 1}), 2, HermiteForm{5, 0, 0.01}, mixed_boundary<3>());
}

TEMPLATE_TEST_CASE("square plates deflect as the tables say", "", BRICKWORK_TEST_SPACES) { plates<TestType>(); }

TEMPLATE_TEST_CASE("the smoother's interval is estimated", "", BRICKWORK_TEST_SPACES) {
  estimated_interval<TestType>();
}

TEMPLATE_TEST_CASE("the Hermite solver refuses what cannot be meant", "", BRICKWORK_TEST_SPACES) {
  refusals<TestType>();
}

TEST_CASE("primal and dual vectors do not mix") {
  using Memory = Kokkos::DefaultExecutionSpace::memory_space;
  using P = HermitePrimal<double, Memory, 3>;
  using D = HermiteDual<double, Memory, 3>;
  STATIC_REQUIRE(Mixes<P, D>::value);
  STATIC_REQUIRE_FALSE(Mixes<D, P>::value);
  STATIC_REQUIRE_FALSE(Mixes<P, P>::value);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<P, D>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<P&, D>);
}
