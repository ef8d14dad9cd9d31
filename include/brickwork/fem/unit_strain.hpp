// SPDX-License-Identifier: BSD-3-Clause
// Cells under a constant strain. Free of Kokkos.
#pragma once

#include <array>

#include "brickwork/fem/elastic_tensor.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"

namespace brickwork {

/// 1 at one of xx, yy, zz, yz, xz, xy, else 0.
inline Vector6 unit_strain(std::size_t s) {
  Vector6 strain{};
  strain[s] = 1;
  return strain;
}

/// The displacement of a constant strain at a position relative to the cell's own corner, without rotation: of xx
/// (x, 0, 0), of yz (0, z / 2, y / 2), and so on. Coordinates of the whole box would lose digits.
Vec3 strain_displacement(Vector6 const& strain, Vec3 const& position);

/// Displacements of the eight corners of a cell under a strain, relative to corner 0.
std::array<Vec3, 8> strain_displacements(Vector6 const& strain, Vec3 const& spacing);

/// K0 chi: the nodal forces that a cell of modulus 1 resists the strain with, unit of stress times area.
/// \param stiffness element matrix of a cell with these sides
std::array<Vec3, 8> strain_forces(Hex8Matrix const& stiffness, Vec3 const& spacing, Vector6 const& strain);

}  // namespace brickwork
