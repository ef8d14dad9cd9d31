// SPDX-License-Identifier: BSD-3-Clause
// Supports and loads of a problem on a grid: node lists, resultants, and the checks that catch a model that cannot
// stand. Free of Kokkos.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/design/simp_problem.hpp"
#include "brickwork/mesh/rigid_motion.hpp"

namespace brickwork {

struct NodalForce {
  index_t node = 0;
  Vec3 force{};
};

struct BoundaryConditions {
  std::vector<std::pair<index_t, std::uint8_t>> constraints;  ///< (node, bits), ascending, bits != 0
  std::vector<std::vector<NodalForce>> load_cases;            ///< forces on free components only
  std::vector<Vec3> resultants;         ///< per load case, as stated (before supports take their part)
  std::vector<RigidMotion> free_modes;  ///< what the supports leave free
  std::vector<std::string> warnings;
};

/// Resolves a problem's supports and loads on its grid.
/// \throws InputError where a region selects nothing, a load acts on fixed components only, free rigid modes are left
/// and
///         the problem does not ask to project them (they are named), or a load works on a projected mode
BoundaryConditions boundary_conditions(SimpProblem const& problem, BoxGrid const& grid);

}  // namespace brickwork
