// SPDX-License-Identifier: BSD-3-Clause
// Nodes and cells that regions select on a grid. Host-only and free of Kokkos: node sets of supports and loads are
// small. mesh/cell_marks.hpp marks cells on the device.
#pragma once

#include <vector>

#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/mesh/regions.hpp"

namespace brickwork {

/// A region reduced to plain numbers that host and device code evaluate.
struct RegionShape {
  int kind = 0;  ///< 0 box, 1 sphere, 2 cylinder
  Vec3 lower{};  ///< bounding box (every kind)
  Vec3 upper{};
  Vec3 center{};
  double radius = 0;
  int axis = 0;
};

/// The shape of a region that has volume (box, sphere, cylinder).
/// \throws InputError for a plane or a point.
RegionShape region_shape(Region const& region);

/// Nodes with their share of the region's area (0 where the region has no area).
struct NodeSelection {
  std::vector<index_t> nodes;       ///< local node numbers, ascending
  std::vector<double> nodal_areas;  ///< consistent share per node, length^2; empty unless the selection is flat
};

/// Local nodes that a region selects (see regions.hpp for snapping). Bounds are met with a tolerance of 1e-6 cells.
NodeSelection select_nodes(BoxGrid const& grid, Region const& region);

}  // namespace brickwork
