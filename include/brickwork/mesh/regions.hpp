// SPDX-License-Identifier: BSD-3-Clause
// Regions of a box, stated in global lengths, so that they mean the same on every grid and on every rank. Free of
// Kokkos.
//
// Nodes are selected with snapping: a point takes the nearest node, a plane the nearest node plane, and an axis on
// which a box has no thickness the nearest node plane. Cells are selected by their centres.
#pragma once

#include <string>
#include <variant>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// Axis-aligned box, bounds included. An axis with lower == upper snaps to the nearest node plane.
struct BoxRegion {
  Vec3 lower{};
  Vec3 upper{};
};

struct SphereRegion {
  Vec3 center{};
  double radius = 0;
};

/// Cylinder about an axis-parallel line through `center`; it extends over [lower, upper] along `axis`.
struct CylinderRegion {
  Vec3 center{};
  double radius = 0;
  int axis = 2;
  double lower = 0;
  double upper = 0;
};

/// The node plane nearest to coordinate `position` along `axis`.
struct PlaneRegion {
  int axis = 0;
  double position = 0;
};

/// The node nearest to `position`.
struct PointRegion {
  Vec3 position{};
};

using Region = std::variant<BoxRegion, SphereRegion, CylinderRegion, PlaneRegion, PointRegion>;

/// One line that names a region and its lengths, for messages.
std::string describe(Region const& region);

}  // namespace brickwork
