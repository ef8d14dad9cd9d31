// SPDX-License-Identifier: BSD-3-Clause
// Rigid motions, and those that a set of supports leaves free. Free of Kokkos.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

/// u(x) = translation + rotation x (x - center); small rotations.
struct RigidMotion {
  Vec3 translation{};
  Vec3 rotation{};
  Vec3 center{};
};

/// The motion's displacement at x.
Vec3 displacement(RigidMotion const& motion, Vec3 const& x);

/// "translation along z", "rotation about the line along x through (0, 1, 0.25)", ...
std::string describe(RigidMotion const& motion);

/// A basis of the rigid motions that vanish on every constrained component; empty where the body is held.
/// \param constraints (local node, bits) with bit d set where component d is fixed
std::vector<RigidMotion> free_rigid_motions(BoxGrid const& grid,
                                            std::vector<std::pair<index_t, std::uint8_t>> const& constraints);

}  // namespace brickwork
