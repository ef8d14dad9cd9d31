// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/grid_hierarchy.hpp"

#include <algorithm>
#include <limits>

namespace brickwork {

namespace {

bool can_halve(BoxGrid const& grid, std::size_t axis) {
  index_t const n = grid.cells()[axis];
  return n >= (grid.periodic()[axis] ? 4 : 2);
}

std::array<int, 3> coarsening(BoxGrid const& grid) {
  Vec3 const h = grid.spacing();
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (can_halve(grid, axis)) shortest = std::min(shortest, h[axis]);
  }
  std::array<int, 3> factor{1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // Slightly below two: cells of one to two become two to two, not one to four.
    if (can_halve(grid, axis) && h[axis] < 1.9 * shortest) factor[axis] = 2;
  }
  return factor;
}

BoxGrid coarsened(BoxGrid const& grid, std::array<int, 3> const& factor) {
  Index3 cells = grid.cells();
  Vec3 lengths = grid.lengths();
  Vec3 const h = grid.spacing();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (factor[axis] == 1) continue;
    cells[axis] = (cells[axis] + 1) / 2;
    lengths[axis] = 2 * h[axis] * static_cast<double>(cells[axis]);
  }
  return BoxGrid(cells, lengths, grid.periodic(), grid.origin());
}

}  // namespace

GridHierarchy::GridHierarchy(BoxGrid const& grid, index_t coarsest_dofs) {
  levels_.push_back({grid, {1, 1, 1}});
  while (levels_.back().grid.dof_count() > coarsest_dofs) {
    auto const factor = coarsening(levels_.back().grid);
    if (factor == std::array<int, 3>{1, 1, 1}) break;
    levels_.back().factor = factor;
    levels_.push_back({coarsened(levels_.back().grid, factor), {1, 1, 1}});
  }
}

}  // namespace brickwork
