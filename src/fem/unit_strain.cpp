// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/unit_strain.hpp"

namespace brickwork {

Vec3 strain_displacement(Vector6 const& strain, Vec3 const& position) {
  auto const [xx, yy, zz, yz, xz, xy] = strain;
  auto const [x, y, z] = position;
  return {xx * x + 0.5 * (xy * y + xz * z), yy * y + 0.5 * (xy * x + yz * z), zz * z + 0.5 * (xz * x + yz * y)};
}

std::array<Vec3, 8> strain_displacements(Vector6 const& strain, Vec3 const& spacing) {
  std::array<Vec3, 8> corners;
  for (std::size_t n = 0; n < 8; ++n) {
    Vec3 position{};
    for (std::size_t axis = 0; axis < 3; ++axis) position[axis] = (n >> axis) & 1 ? spacing[axis] : 0.0;
    corners[n] = strain_displacement(strain, position);
  }
  return corners;
}

std::array<Vec3, 8> strain_forces(Hex8Matrix const& stiffness, Vec3 const& spacing, Vector6 const& strain) {
  auto const corners = strain_displacements(strain, spacing);
  std::array<Vec3, 8> forces{};
  for (std::size_t row = 0; row < 24; ++row)
    for (std::size_t column = 0; column < 24; ++column)
      forces[row / 3][row % 3] += stiffness[row][column] * corners[column / 3][column % 3];
  return forces;
}

}  // namespace brickwork
