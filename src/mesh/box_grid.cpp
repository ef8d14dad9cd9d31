// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/box_grid.hpp"

#include <cmath>

namespace brickwork {

BoxGrid::BoxGrid(Index3 cells, Vec3 lengths, std::array<bool, 3> periodic, Vec3 origin)
    : global_cells_(cells), lengths_(lengths), origin_(origin), periodic_(periodic) {
  double dofs = 3;
  for (int axis = 0; axis < 3; ++axis) {
    char const name = "xyz"[axis];
    BRICKWORK_REQUIRE(cells[axis] >= 1, "grid: ", cells[axis], " cells along ", name, "; at least 1 is needed");
    BRICKWORK_REQUIRE(!periodic[axis] || cells[axis] >= 2, "grid: a periodic axis needs at least 2 cells, ", name,
                      " has ", cells[axis]);
    BRICKWORK_REQUIRE(std::isfinite(lengths[axis]) && lengths[axis] > 0, "grid: length ", lengths[axis], " along ",
                      name, "; a positive, finite length is needed");
    BRICKWORK_REQUIRE(std::isfinite(origin[axis]), "grid: origin is not finite along ", name);
    dofs *= static_cast<double>(cells[axis]) + 1.0;
  }
  BRICKWORK_REQUIRE(dofs < 4.6e18, "grid: ", cells[0], " x ", cells[1], " x ", cells[2],
                    " cells have more degrees of freedom than 64-bit indices number");
  owned_ = held_ = CellBox{{0, 0, 0}, cells};
}

Index3 BoxGrid::cells() const {
  return {held_.end[0] - held_.begin[0], held_.end[1] - held_.begin[1], held_.end[2] - held_.begin[2]};
}

Index3 BoxGrid::nodes() const {
  Index3 n = cells();
  for (int axis = 0; axis < 3; ++axis) n[axis] += periodic_[axis] ? 0 : 1;
  return n;
}

index_t BoxGrid::cell_count() const {
  Index3 const n = cells();
  return n[0] * n[1] * n[2];
}

index_t BoxGrid::node_count() const {
  Index3 const m = nodes();
  return m[0] * m[1] * m[2];
}

Vec3 BoxGrid::spacing() const {
  return {lengths_[0] / static_cast<double>(global_cells_[0]), lengths_[1] / static_cast<double>(global_cells_[1]),
          lengths_[2] / static_cast<double>(global_cells_[2])};
}

}  // namespace brickwork
