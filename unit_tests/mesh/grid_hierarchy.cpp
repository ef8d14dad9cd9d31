// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/grid_hierarchy.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace brickwork;

namespace {

std::vector<Index3> sizes(GridHierarchy const& hierarchy) {
  std::vector<Index3> cells;
  for (int l = 0; l < hierarchy.size(); ++l) cells.push_back(hierarchy[l].grid.cells());
  return cells;
}

// What holds between any two levels.
void check_levels(GridHierarchy const& hierarchy, index_t coarsest_dofs) {
  for (int l = 0; l + 1 < hierarchy.size(); ++l) {
    BoxGrid const& fine = hierarchy[l].grid;
    BoxGrid const& coarse = hierarchy[l + 1].grid;
    CAPTURE(l, fine.cells()[0], fine.cells()[1], fine.cells()[2]);
    CHECK(fine.dof_count() > coarsest_dofs);
    CHECK(coarse.node_count() < fine.node_count());
    CHECK(coarse.periodic() == fine.periodic());
    CHECK(coarse.origin() == fine.origin());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      int const factor = hierarchy[l].factor[axis];
      CHECK((factor == 1 || factor == 2));
      CHECK(coarse.cells()[axis] == (fine.cells()[axis] + factor - 1) / factor);
      // Coarse nodes lie on fine ones.
      CHECK(coarse.spacing()[axis] == Approx(factor * fine.spacing()[axis]).epsilon(1e-14));
    }
  }
  CHECK(hierarchy.coarsest().factor == std::array<int, 3>{1, 1, 1});
  CHECK(hierarchy.coarsest().grid.cells() == hierarchy[hierarchy.size() - 1].grid.cells());
}

}  // namespace

TEST_CASE("levels halve a cube until few degrees of freedom are left") {
  GridHierarchy const hierarchy(BoxGrid({16, 16, 16}, {1, 1, 1}), 400);
  CHECK(sizes(hierarchy) == std::vector<Index3>{{16, 16, 16}, {8, 8, 8}, {4, 4, 4}});
  check_levels(hierarchy, 400);
  // 5^3 nodes have 375 degrees of freedom: the limit itself suffices.
  CHECK(GridHierarchy(BoxGrid({16, 16, 16}, {1, 1, 1}), 375).size() == 3);
  CHECK(GridHierarchy(BoxGrid({16, 16, 16}, {1, 1, 1}), 374).size() == 4);
  // A grid below the limit stays alone.
  GridHierarchy const single(BoxGrid({3, 2, 1}, {3, 2, 1}), 400);
  CHECK(single.size() == 1);
  check_levels(single, 400);
}

TEST_CASE("odd numbers of cells are halved upwards") {
  GridHierarchy const hierarchy(BoxGrid({17, 9, 13}, {17, 9, 13}, {false, false, false}, {1, -2, 3}), 100);
  CHECK(sizes(hierarchy) == std::vector<Index3>{{17, 9, 13}, {9, 5, 7}, {5, 3, 4}, {3, 2, 2}, {2, 1, 1}});
  check_levels(hierarchy, 100);
  CHECK(hierarchy[1].grid.lengths()[0] == Approx(18));  // one fine cell beyond the box
}

TEST_CASE("thin and long boxes are halved where they can be") {
  GridHierarchy const thin(BoxGrid({2, 4000, 1}, {2, 4000, 1}), 400);
  check_levels(thin, 400);
  CHECK(thin[1].grid.cells() == Index3{1, 2000, 1});
  CHECK(thin[1].factor == std::array<int, 3>{1, 2, 1});
  CHECK(thin.coarsest().grid.dof_count() <= 400);

  GridHierarchy const bar(BoxGrid({64, 1, 1}, {64, 1, 1}), 0);
  CHECK(sizes(bar) ==
        std::vector<Index3>{{64, 1, 1}, {32, 1, 1}, {16, 1, 1}, {8, 1, 1}, {4, 1, 1}, {2, 1, 1}, {1, 1, 1}});
  check_levels(bar, 0);

  GridHierarchy const long_box(BoxGrid({64, 64, 1}, {64, 64, 1}), 0);
  CHECK(long_box.size() == 7);
  CHECK(long_box.coarsest().grid.cells() == Index3{1, 1, 1});
  check_levels(long_box, 0);

  GridHierarchy const one(BoxGrid({1, 1, 1}, {1, 1, 1}), 0);
  CHECK(one.size() == 1);

  // 64 : 1 with cubes: the short axis is used up first, the long one goes on.
  GridHierarchy const ratio(BoxGrid({256, 8, 4}, {256, 8, 4}), 0);
  CHECK(sizes(ratio) ==
        std::vector<Index3>{
            {256, 8, 4}, {128, 4, 2}, {64, 2, 1}, {32, 1, 1}, {16, 1, 1}, {8, 1, 1}, {4, 1, 1}, {2, 1, 1}, {1, 1, 1}});
  check_levels(ratio, 0);

  GridHierarchy const huge(BoxGrid({1024, 1024, 1024}, {1, 1, 1}), 1536);
  CHECK(huge.coarsest().grid.cells() == Index3{4, 4, 4});
  check_levels(huge, 1536);
  CHECK(GridHierarchy(BoxGrid({2, index_t(1) << 30, 1}, {2, 1e9, 1}), 400).coarsest().grid.cells() == Index3{1, 32, 1});
}

TEST_CASE("stretched cells are coarsened along their short sides until they are cubes") {
  // Cells of 8 x 1 x 2: y, then y and z, then all.
  GridHierarchy const hierarchy(BoxGrid({16, 64, 32}, {128, 64, 64}), 0);
  CHECK(hierarchy[0].factor == std::array<int, 3>{1, 2, 1});
  CHECK(hierarchy[1].factor == std::array<int, 3>{1, 2, 2});
  CHECK(hierarchy[2].factor == std::array<int, 3>{1, 2, 2});
  CHECK(hierarchy[3].factor == std::array<int, 3>{2, 2, 2});
  CHECK(hierarchy[3].grid.cells() == Index3{16, 8, 8});
  check_levels(hierarchy, 0);

  // 64 : 1 within a cell.
  GridHierarchy const flat(BoxGrid({8, 8, 512}, {8, 8, 8}), 0);
  for (int l = 0; l < 6; ++l) CHECK(flat[l].factor == std::array<int, 3>{1, 1, 2});
  CHECK(flat[6].factor == std::array<int, 3>{2, 2, 2});
  check_levels(flat, 0);

  // Wherever all axes can still be halved, no spacing exceeds twice the shortest once they have met.
  for (Vec3 const& h : {Vec3{1, 1.5, 1}, Vec3{1, 3, 1.2}, Vec3{0.3, 1, 0.7}}) {
    GridHierarchy const some(BoxGrid({64, 64, 64}, {64 * h[0], 64 * h[1], 64 * h[2]}), 3000);
    check_levels(some, 3000);
    Vec3 const last = some.coarsest().grid.spacing();
    double const longest = std::max({last[0], last[1], last[2]}), shortest = std::min({last[0], last[1], last[2]});
    CHECK(longest < 2 * shortest);
  }
}

TEST_CASE("periodic axes are halved while they have four cells") {
  std::array<bool, 3> const all{true, true, true};
  GridHierarchy const even(BoxGrid({16, 16, 16}, {1, 1, 1}, all), 0);
  CHECK(sizes(even) == std::vector<Index3>{{16, 16, 16}, {8, 8, 8}, {4, 4, 4}, {2, 2, 2}});
  check_levels(even, 0);
  GridHierarchy const mixed(BoxGrid({12, 7, 2}, {12, 7, 2}, all), 0);
  CHECK(sizes(mixed) == std::vector<Index3>{{12, 7, 2}, {6, 4, 2}, {3, 2, 2}});
  check_levels(mixed, 0);
  GridHierarchy const odd(BoxGrid({65, 63, 33}, {65, 63, 33}, all), 0);
  CHECK(sizes(odd) == std::vector<Index3>{{65, 63, 33}, {33, 32, 17}, {17, 16, 9}, {9, 8, 5}, {5, 4, 3}, {3, 2, 3}});
  check_levels(odd, 0);
  GridHierarchy const one_axis(BoxGrid({8, 5, 6}, {8, 5, 6}, {true, false, false}), 0);
  CHECK(one_axis.coarsest().grid.cells() == Index3{2, 1, 1});
  check_levels(one_axis, 0);
  // Any size comes down to what a dense inverse can hold.
  for (index_t n = 2; n < 1100; n += n < 40 ? 1 : 37) {
    CAPTURE(n);
    CHECK(GridHierarchy(BoxGrid({n, n, n}, {1, 1, 1}, all), 400).coarsest().grid.dof_count() <= 400);
  }
}
