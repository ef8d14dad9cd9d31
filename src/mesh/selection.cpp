// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace brickwork {

namespace {

constexpr double tolerance_in_cells = 1e-6;

struct IndexRange {
  index_t first = 0;
  index_t last = -1;
  bool flat = false;  // snapped to one node plane
};

// Node indices of one axis whose coordinates lie in [lower, upper]; the nearest plane where the interval has no
// thickness.
IndexRange axis_range(BoxGrid const& grid, int axis, double lower, double upper) {
  double const h = grid.spacing()[axis];
  index_t const last_node = grid.nodes()[axis] - 1;
  double const a = (lower - grid.origin()[axis]) / h;
  double const b = (upper - grid.origin()[axis]) / h;
  IndexRange range;
  range.flat = b - a <= 2 * tolerance_in_cells;
  if (range.flat) {
    if (a < -0.5 || a > static_cast<double>(last_node) + 0.5) return range;
    range.first = range.last = std::clamp<index_t>(std::llround(0.5 * (a + b)), 0, last_node);
    return range;
  }
  double const first = std::ceil(a - tolerance_in_cells);
  double const last = std::floor(b + tolerance_in_cells);
  range.first = first <= 0 ? 0 : (first > static_cast<double>(last_node) ? last_node + 1 : static_cast<index_t>(first));
  range.last = last < 0 ? -1 : (last >= static_cast<double>(last_node) ? last_node : static_cast<index_t>(last));
  return range;
}

bool contains(RegionShape const& shape, Vec3 const& x, double slack) {
  if (shape.kind == 0) return true;  // the bounding box is the region
  double squared = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (shape.kind == 2 && axis == shape.axis) continue;
    double const distance = x[axis] - shape.center[axis];
    squared += distance * distance;
  }
  return squared <= (shape.radius + slack) * (shape.radius + slack);
}

RegionShape node_shape(Region const& region) {
  double const infinity = std::numeric_limits<double>::infinity();
  if (auto const* plane = std::get_if<PlaneRegion>(&region)) {
    RegionShape shape;
    shape.lower = {-infinity, -infinity, -infinity};
    shape.upper = {infinity, infinity, infinity};
    shape.lower[plane->axis] = shape.upper[plane->axis] = plane->position;
    return shape;
  }
  if (auto const* point = std::get_if<PointRegion>(&region)) {
    RegionShape shape;
    shape.lower = shape.upper = point->position;
    return shape;
  }
  return region_shape(region);
}

}  // namespace

RegionShape region_shape(Region const& region) {
  RegionShape shape;
  if (auto const* box = std::get_if<BoxRegion>(&region)) {
    shape.lower = box->lower;
    shape.upper = box->upper;
  } else if (auto const* sphere = std::get_if<SphereRegion>(&region)) {
    shape.kind = 1;
    shape.center = sphere->center;
    shape.radius = sphere->radius;
    for (int axis = 0; axis < 3; ++axis) {
      shape.lower[axis] = sphere->center[axis] - sphere->radius;
      shape.upper[axis] = sphere->center[axis] + sphere->radius;
    }
  } else if (auto const* cylinder = std::get_if<CylinderRegion>(&region)) {
    shape.kind = 2;
    shape.center = cylinder->center;
    shape.radius = cylinder->radius;
    shape.axis = cylinder->axis;
    for (int axis = 0; axis < 3; ++axis) {
      bool const along = axis == cylinder->axis;
      shape.lower[axis] = along ? cylinder->lower : cylinder->center[axis] - cylinder->radius;
      shape.upper[axis] = along ? cylinder->upper : cylinder->center[axis] + cylinder->radius;
    }
  } else {
    throw InputError("a region of cells must be a box, a sphere or a cylinder, not a " + describe(region));
  }
  return shape;
}

NodeSelection select_nodes(BoxGrid const& grid, Region const& region) {
  RegionShape const shape = node_shape(region);
  Vec3 const h = grid.spacing();
  IndexRange range[3];
  int flat_axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    range[axis] = axis_range(grid, axis, shape.lower[axis], shape.upper[axis]);
    flat_axes += range[axis].flat ? 1 : 0;
  }
  bool const has_area = shape.kind == 0 && flat_axes == 1;

  // Trapezoidal weight of an index within its range: half a cell at either end.
  auto const weight = [&](int axis, index_t index) {
    if (range[axis].flat) return 1.0;
    double cells = 0;
    if (grid.periodic()[axis]) return h[axis];
    if (index > range[axis].first) cells += 0.5;
    if (index < range[axis].last) cells += 0.5;
    return cells * h[axis];
  };

  NodeSelection selection;
  double const slack = tolerance_in_cells * std::min({h[0], h[1], h[2]});
  for (index_t k = range[2].first; k <= range[2].last; ++k) {
    for (index_t j = range[1].first; j <= range[1].last; ++j) {
      for (index_t i = range[0].first; i <= range[0].last; ++i) {
        Vec3 const x{grid.origin()[0] + h[0] * static_cast<double>(i), grid.origin()[1] + h[1] * static_cast<double>(j),
                     grid.origin()[2] + h[2] * static_cast<double>(k)};
        if (!contains(shape, x, slack)) continue;
        selection.nodes.push_back(grid.node_index(i, j, k));
        if (has_area) selection.nodal_areas.push_back(weight(0, i) * weight(1, j) * weight(2, k));
      }
    }
  }
  return selection;
}

}  // namespace brickwork
