// SPDX-License-Identifier: BSD-3-Clause
// Levels of an adaptive grid against sets of cells kept by hand.
#include "brickwork/mesh/adaptive_grid.hpp"

#include <array>
#include <set>

#include "brickwork/mesh/host_level.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"

using namespace brickwork;

namespace {

template <int Dim>
using Cell = std::array<index_t, Dim>;  // in the order of axes

template <int Dim>
Kokkos::Array<index_t, Dim> position(Cell<Dim> const& cell) {
  Kokkos::Array<index_t, Dim> p{};
  for (int d = 0; d < Dim; ++d) p[d] = cell[d];
  return p;
}

/// The same tree as sets of cells: per level the cells that are refined.
template <int Dim>
struct Tree {
  Cell<Dim> base;
  std::vector<std::set<Cell<Dim>>> refined{{}};

  bool inside(int l, Cell<Dim> const& c) const {
    for (int d = 0; d < Dim; ++d)
      if (c[d] < 0 || c[d] >= base[d] << l) return false;
    return true;
  }
  bool exists(int l, Cell<Dim> const& c) const {
    if (!inside(l, c)) return false;
    if (l == 0) return true;
    Cell<Dim> parent = c;
    for (auto& x : parent) x /= 2;
    return refined[l - 1].count(parent) != 0;
  }
  void refine(int l, Cell<Dim> const& c) {
    if (static_cast<int>(refined.size()) <= l + 1) refined.resize(l + 2);
    if (refined[l].count(c)) return;
    if (l > 0) {  // a neighbour's children would be two levels finer than a leaf
      for (int n = 0; n < (Dim == 3 ? 27 : 9); ++n) {
        Cell<Dim> q = c;
        for (int d = 0, rest = n; d < Dim; ++d, rest /= 3) q[d] += rest % 3 - 1;
        if (inside(l, q) && !exists(l, q)) {
          for (auto& x : q) x /= 2;
          refine(l - 1, q);
        }
      }
    }
    refined[l].insert(c);
  }
};

template <class Space, int Dim>
void check_against(AdaptiveGrid<Space, Dim> const& grid, Tree<Dim> const& tree) {
  index_t leaves = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const level = host_level(grid.level(l));
    index_t count = 0, level_leaves = 0, total = 1;
    for (int d = 0; d < Dim; ++d) {
      REQUIRE(level.domain_cells[d] == tree.base[d] << l);
      total *= level.domain_cells[d];
    }
    std::set<Cell<Dim>> vertices;
    index_t last = -1;
    for (index_t key = 0; key < total; ++key) {
      Cell<Dim> c{};
      index_t rest = key;
      for (int d = 0; d < Dim; ++d) {
        c[d] = rest % level.domain_cells[d];
        rest /= level.domain_cells[d];
      }
      index_t const number = level.find_cell(position<Dim>(c));
      REQUIRE((number >= 0) == tree.exists(l, c));
      if (number < 0) continue;
      REQUIRE(number == last + 1);  // sorted, no gaps
      last = number;
      ++count;
      bool const refined = l < static_cast<int>(tree.refined.size()) && tree.refined[l].count(c) != 0;
      REQUIRE(level.refined(number) == refined);
      level_leaves += refined ? 0 : 1;
      auto const p = level.cell_position(number);
      for (int d = 0; d < Dim; ++d) REQUIRE(p[d] == c[d]);
      for (int n = 0; n < (1 << Dim); ++n) {
        Cell<Dim> v = c;
        for (int d = 0; d < Dim; ++d) v[d] += (n >> d) & 1;
        vertices.insert(v);
        REQUIRE(level.corner(position<Dim>(c), n) == level.find_vertex(position<Dim>(v)));
      }
    }
    REQUIRE(count == level.cell_count);
    REQUIRE(level_leaves == level.leaf_count);
    REQUIRE(static_cast<index_t>(vertices.size()) == level.vertex_count);
    for (auto const& v : vertices) {
      index_t const number = level.find_vertex(position<Dim>(v));
      REQUIRE(number >= 0);
      auto const p = level.vertex_position(number);
      for (int n = 0; n < (1 << Dim); ++n) {
        REQUIRE(p[n % Dim] == v[n % Dim]);
        Cell<Dim> c = v;
        for (int d = 0; d < Dim; ++d) c[d] += ((n >> d) & 1) - 1;
        bool const refined = l < static_cast<int>(tree.refined.size()) && tree.refined[l].count(c) != 0;
        REQUIRE(((level.vertex_cells(number) >> n & 1) != 0) == tree.exists(l, c));
        REQUIRE(((level.vertex_leaves(number) >> n & 1) != 0) == (tree.exists(l, c) && !refined));
      }
    }
    leaves += level_leaves;
  }
  REQUIRE(grid.leaf_count() == leaves);
}

template <int Dim>
Tree<Dim> uniform_tree(Cell<Dim> const& base, int refinements) {
  Tree<Dim> tree{base};
  for (int l = 0; l < refinements; ++l) {
    index_t total = 1;
    for (int d = 0; d < Dim; ++d) total *= base[d] << l;
    for (index_t key = 0; key < total; ++key) {
      Cell<Dim> c{};
      index_t rest = key;
      for (int d = 0; d < Dim; ++d) {
        c[d] = rest % (base[d] << l);
        rest /= base[d] << l;
      }
      tree.refine(l, c);
    }
  }
  return tree;
}

/// Refines pseudo-random leaves of any level, several times.
template <class Space, int Dim>
void refine_at_random(Cell<Dim> const& base, int refinements, int steps, unsigned seed) {
  Space const space;
  BaseGrid<Dim> shape;
  shape.cells = base;
  for (int d = 0; d < Dim; ++d) shape.lengths[d] = 1 + d;
  AdaptiveGrid<Space, Dim> grid(space, shape, refinements);
  auto tree = uniform_tree<Dim>(base, refinements);
  check_against(grid, tree);
  for (int step = 0; step < steps; ++step) {
    auto marks = grid.no_marks(space);
    index_t marked = 0, before = 0, after = 0;
    auto const old = tree;
    for (auto const& level : tree.refined) before += static_cast<index_t>(level.size());
    for (int l = grid.level_count() - 1; l >= 0; --l) {
      auto const level = host_level(grid.level(l));
      auto const mark = Kokkos::create_mirror_view(marks[l]);
      Kokkos::deep_copy(mark, std::uint8_t(0));
      for (index_t cell = 0; cell < level.cell_count; ++cell) {
        seed = seed * 1664525u + 1013904223u;
        if ((seed >> 16) % 13 != 0) continue;
        mark(cell) = 1;
        if (level.refined(cell)) continue;
        auto const p = level.cell_position(cell);
        Cell<Dim> c{};
        for (int d = 0; d < Dim; ++d) c[d] = p[d];
        tree.refine(l, c);
        ++marked;
      }
      Kokkos::deep_copy(marks[l], mark);
    }
    for (auto const& level : tree.refined) after += static_cast<index_t>(level.size());
    auto const count = grid.refine(space, marks);
    REQUIRE(count.marked == marked);
    REQUIRE(count.balanced == after - before - marked);
    check_against(grid, tree);
  }
}

template <class Space>
void nested_regions() {
  Space const space;
  BaseGrid<3> const unit{{1, 1, 1}, {1, 1, 1}};
  using Region = RefinementRegion<3>;
  Region octant;
  octant.upper = {0.5, 0.5, 0.5};
  AdaptiveGrid<Space, 3> grid(space, unit, 3);
  REQUIRE(grid.leaf_count() == 512);
  auto count = grid.refine(space, octant);
  REQUIRE(count.marked == 64);
  REQUIRE(count.balanced == 0);
  REQUIRE(grid.leaf_count() == 512 + 64 * 7);
  REQUIRE(grid.level(4).is_box);
  count = grid.refine(space, octant);
  REQUIRE(count.marked == 512);
  REQUIRE(count.balanced == 125 - 64);  // one layer of cells around the octant
  REQUIRE(grid.level(4).is_box);
  REQUIRE(grid.level(5).is_box);
  REQUIRE(grid.level(5).box_cells[0] == 16);

  Region ball{Region::Kind::ball, {}, {}, {0.5, 0.5, 0.5}, 0.25};
  AdaptiveGrid<Space, 3> with_ball(space, unit, 4);
  count = with_ball.refine(space, ball);
  REQUIRE(count.marked > 0);
  REQUIRE_FALSE(with_ball.level(5).is_box);

  Region ring = ball;
  ring.kind = Region::Kind::ring;
  AdaptiveGrid<Space, 3> with_ring(space, unit, 4);
  auto const first = with_ring.refine(space, ring);
  auto const second = with_ring.refine(space, ring);
  REQUIRE(first.balanced == 0);
  REQUIRE(second.balanced > 0);

  Region nowhere = ball;
  nowhere.centre = {7, 7, 7};
  REQUIRE_THROWS_AS(with_ball.refine(space, nowhere), InputError);
}

template <class Space>
void bad_input() {
  Space const space;
  using Grid = AdaptiveGrid<Space, 2>;
  REQUIRE_THROWS_AS(Grid(space, BaseGrid<2>{{0, 4}, {1, 1}}, 1), InputError);
  REQUIRE_THROWS_AS(Grid(space, BaseGrid<2>{{4, 4}, {1, -1}}, 1), InputError);
  REQUIRE_THROWS_AS(Grid(space, BaseGrid<2>{{4, 4}, {1, std::nan("")}}, 1), InputError);
  REQUIRE_THROWS_AS(Grid(space, BaseGrid<2>{{4, 4}, {1, 1}}, -1), InputError);
  REQUIRE_THROWS_AS(Grid(space, BaseGrid<2>{{4, 4}, {1, 1}}, 20), InputError);
  Grid grid(space, BaseGrid<2>{{4, 4}, {1, 1}}, 1);
  REQUIRE_THROWS_AS(grid.refine(space, std::vector<typename Grid::marks_type>(1)), InputError);
  auto marks = grid.no_marks(space);
  marks[1] = marks[0];
  REQUIRE_THROWS_AS(grid.refine(space, marks), InputError);
  auto const nothing = grid.refine(space, grid.no_marks(space));
  REQUIRE(nothing.marked == 0);
  REQUIRE(grid.level_count() == 2);
}

}  // namespace

TEMPLATE_TEST_CASE("an adaptive grid refined at random is the balanced tree", "", BRICKWORK_TEST_SPACES) {
  refine_at_random<TestType, 2>({3, 5}, 1, 3, 11);
  refine_at_random<TestType, 2>({1, 1}, 2, 4, 5);
  refine_at_random<TestType, 3>({1, 2, 3}, 1, 2, 3);
  refine_at_random<TestType, 3>({1, 1, 1}, 2, 3, 17);
}

TEMPLATE_TEST_CASE("regions refine nested cells, and boxes of cells are recognized", "", BRICKWORK_TEST_SPACES) {
  nested_regions<TestType>();
}

TEMPLATE_TEST_CASE("an adaptive grid refuses what cannot be meant", "", BRICKWORK_TEST_SPACES) {
  bad_input<TestType>();
}
