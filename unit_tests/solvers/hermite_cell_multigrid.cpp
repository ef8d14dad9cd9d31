// SPDX-License-Identifier: BSD-3-Clause
// Local multigrid in cell-wise storage: the cycle of the vertex-wise one, and its solves.
#include "brickwork/solvers/hermite_cell_multigrid.hpp"

#include "brickwork/operators/hermite_fields.hpp"
#include "brickwork/operators/manufactured_solution.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"
#include "brickwork/solvers/hermite_solver.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_cycles.hpp"
#include "support/hermite_grids.hpp"
#include "support/hermite_leaves.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

/// One cycle on the same functional in both storages.
template <class Space, int Dim>
void check_cycle(AdaptiveGrid<Space, Dim> const& grid, HermiteCycleOptions const& cycle, HermiteForm const& form,
                 PlateBoundary<Dim> const& boundary) {
  using Mem = typename Space::memory_space;
  Space const space;
  HermiteOperator<Space, Dim> const a(space, grid, form, boundary);
  HermiteLeafOperator<Space, Dim> const leaf_a(space, grid, form, boundary);
  HermiteMultigrid<Space, double, Dim> const vertex_wise(space, a, cycle);
  HermiteCellMultigrid<Space, Dim> const cell_wise(space, leaf_a, cycle);
  REQUIRE(cell_wise.coarsest_level() == vertex_wise.coarsest_level());
  HermiteDual<double, Mem, Dim> const r(space, grid, "r");
  LeafDual<Mem, Dim> const leaf_r(space, grid, "leaf_r");
  set_values(r, random_values(r.size(), 4));
  a.constrain(space, r);
  leaf_a.distribute(space, r, leaf_r);
  vertex_wise.apply(space, r);
  HermiteField<Space, Dim> const found(space, grid, "found");
  for (int repeat = 0; repeat < 2; ++repeat) {  // what a cycle leaves behind does not enter the next
    cell_wise.apply(space, leaf_r);
    leaf_a.collect(space, cell_wise.correction(), found);
  }
  auto const expected = host_values(vertex_wise.correction()), values = host_values(found);
  double largest = 0, difference = 0;
  index_t offset = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const level = host_level(grid.level(l));
    if (level.leaf_count == 0) continue;
    for (index_t i = 0; i < level.vertex_count << Dim; ++i) {
      if (level.vertex_leaves(i % level.vertex_count) == 0) continue;
      auto const at = static_cast<std::size_t>(offset + i);
      largest = std::max(largest, std::abs(expected[at]));
      difference = std::max(difference, std::abs(values[at] - expected[at]));
    }
    offset += level.vertex_count << Dim;
  }
  REQUIRE(largest > 0);
  REQUIRE(difference <= 1e-10 * largest);
}

template <class Space, int Dim>
void check_cycles() {
  Space const space;
  using Kind = typename RefinementRegion<Dim>::Kind;
  std::array<index_t, Dim> odd{}, thin{};
  for (std::size_t d = 0; d < Dim; ++d) {
    odd[d] = d == 1 ? 2 : 3;
    thin[d] = d == 0 ? 1 : 3;
  }
  HermiteForm const mass{3, 0.5, 0.01};
  check_cycle(AdaptiveGrid<Space, Dim>(space, box<Dim>(thin), 2), {}, mass, mixed_boundary<Dim>());
  check_cycle(AdaptiveGrid<Space, Dim>(space, unit_cube<Dim>(), 3), patch(), HermiteForm{}, PlateBoundary<Dim>{});
  for (auto const kind : {Kind::box, Kind::ball, Kind::ring}) {
    auto const grid = refined(space, box<Dim>(odd), 1, kind, 2);
    check_cycle(grid, {}, HermiteForm{}, PlateBoundary<Dim>{});
    check_cycle(grid, {}, HermiteForm{}, mixed_boundary<Dim>());
    check_cycle(grid, patch(), HermiteForm{}, PlateBoundary<Dim>{});
    check_cycle(grid, patch(false), mass, PlateBoundary<Dim>{});
  }
}

template <class Space>
void check_solves() {
  using Mem = typename Space::memory_space;
  Space const space;
  using Kind = RefinementRegion<3>::Kind;
  using Solver = HermiteSolver<HermiteCellMultigrid<Space, 3>>;
  for (int depth : {0, 1}) {
    auto const grid = refined(space, unit_cube<3>(), 3, Kind::ball, depth);
    ManufacturedSolution<3> const solution(grid.base(), PlateBoundary<3>{});
    HermiteOperator<Space, 3> const a(space, grid, HermiteForm{}, PlateBoundary<3>{});
    HermiteField<Space, 3> const x(space, grid, "x");
    HermiteDual<double, Mem, 3> const b(space, grid, "b");
    add_load(space, grid, ManufacturedLoad<3>{solution, HermiteForm{}}, b);
    HermiteSolver<HermiteMultigrid<Space, double, 3>> reference(space, a, {});
    auto const expected = reference.solve(space, b, x, {});
    double const error = hermite_errors<Space, 3>(space, grid, x, solution).l2;
    REQUIRE(expected.converged());
    for (auto const evaluation :
         {HermiteEvaluation::automatic, HermiteEvaluation::even_odd_2, HermiteEvaluation::fdm}) {
      HermiteLeafOperator<Space, 3> const leaf_a(space, grid, HermiteForm{}, PlateBoundary<3>{}, evaluation);
      LeafPrimal<Mem, 3> const leaf_x(space, grid, "x");
      LeafDual<Mem, 3> const leaf_b(space, grid, "b");
      leaf_a.distribute(space, b, leaf_b);
      Solver solver(space, leaf_a, {});
      auto const result = solver.solve(space, leaf_b, leaf_x, {});
      REQUIRE(result.converged());
      REQUIRE(result.true_relative_residual <= 1.001e-8);
      REQUIRE(result.iterations == expected.iterations);
      Kokkos::deep_copy(x.values(), 0.0);
      leaf_a.collect(space, leaf_x, x);
      REQUIRE(hermite_errors<Space, 3>(space, grid, x, solution).l2 == Approx(error).epsilon(1e-6));
    }
    // Stationary, and with patches.
    HermiteLeafOperator<Space, 3> const leaf_a(space, grid, HermiteForm{}, PlateBoundary<3>{});
    LeafPrimal<Mem, 3> const leaf_x(space, grid, "x");
    LeafDual<Mem, 3> const leaf_b(space, grid, "b");
    leaf_a.distribute(space, b, leaf_b);
    HermiteSolveOptions options;
    options.method = HermiteMethod::stationary;
    Solver forward(space, leaf_a, patch(false));
    auto const result = forward.solve(space, leaf_b, leaf_x, options);
    REQUIRE(result.converged());
    HermiteSolver<HermiteMultigrid<Space, double, 3>> vertex_wise(space, a, patch(false));
    Kokkos::deep_copy(x.values(), 0.0);
    REQUIRE(result.iterations == vertex_wise.solve(space, b, x, options).iterations);
  }
}

template <class Space>
void refusals() {
  Space const space;
  AdaptiveGrid<Space, 2> const grid(space, BaseGrid<2>{{2, 2}, {1, 1}}, 1), one(space, BaseGrid<2>{{1, 1}, {1, 1}}, 0);
  HermiteLeafOperator<Space, 2> const a(space, grid, HermiteForm{}, PlateBoundary<2>{}),
      supported(space, grid, HermiteForm{}, mixed_boundary<2>()),
      nothing(space, one, HermiteForm{}, PlateBoundary<2>{});
  using Multigrid = HermiteCellMultigrid<Space, 2>;
  REQUIRE_THROWS_AS(Multigrid(space, nothing, {}), InputError);
  REQUIRE_THROWS_AS(Multigrid(space, supported, patch()), InputError);
  HermiteCycleOptions cycle;
  cycle.coarsest_stages = 0;
  REQUIRE_THROWS_AS(Multigrid(space, a, cycle), InputError);
  REQUIRE_THROWS_AS((HermiteLeafOperator<Space, 2>(space, grid, HermiteForm{0, 0, 0}, PlateBoundary<2>{})), InputError);
  REQUIRE_THROWS_AS(
      (HermiteLeafOperator<Space, 2>(space, grid, HermiteForm{}, PlateBoundary<2>{}, HermiteEvaluation::even_odd_3)),
      InputError);
}

}  // namespace

TEMPLATE_TEST_CASE("a cell-wise V-cycle is the vertex-wise one", "", BRICKWORK_TEST_SPACES) {
  check_cycles<TestType, 2>();
  check_cycles<TestType, 3>();
}

TEMPLATE_TEST_CASE("cell-wise solves take the iterations of vertex-wise ones", "", BRICKWORK_TEST_SPACES) {
  check_solves<TestType>();
}

TEMPLATE_TEST_CASE("the cell-wise multigrid refuses what cannot be meant", "", BRICKWORK_TEST_SPACES) {
  refusals<TestType>();
}
