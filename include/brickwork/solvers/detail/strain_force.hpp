// SPDX-License-Identifier: BSD-3-Clause
// The nodal forces of a StrainLoad. Per node: the moduli of the eight cells around it, each read from memory about
// once.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/fem/unit_strain.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork::detail {

struct StrainForce {
  float const* moduli;
  index_t cells[3], nodes[3];
  bool periodic[3];
  double forces[8][3];  // of a cell of modulus 1, per corner

  StrainForce(float const* values, BoxGrid const& grid, Hex8Matrix const& stiffness, Vector6 const& strain)
      : moduli(values) {
    auto const corner_forces = strain_forces(stiffness, grid.spacing(), strain);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cells[axis] = grid.cells()[axis];
      nodes[axis] = grid.nodes()[axis];
      periodic[axis] = grid.periodic()[axis];
    }
    for (std::size_t n = 0; n < 8; ++n)
      for (std::size_t d = 0; d < 3; ++d) forces[n][d] = corner_forces[n][d];
  }

  /// The node's force.
  /// \return the sum of the squares of what it is made of: forces that cancel to rounding are small beside it
  KOKKOS_FUNCTION double at(index_t node, double (&f)[3]) const {
    index_t const x = node % nodes[0], rest = node / nodes[0];
    index_t const position[3] = {x, rest % nodes[1], rest / nodes[1]};
    f[0] = f[1] = f[2] = 0;
    double size = 0;
    for (int n = 7; n >= 0; --n) {  // the node's corner of the cell
      index_t at[3];
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        at[axis] = position[axis] - ((n >> axis) & 1);
        if (at[axis] < 0 && periodic[axis]) at[axis] += cells[axis];
        inside = inside && at[axis] >= 0 && at[axis] < cells[axis];
      }
      if (!inside) continue;
      auto const modulus = static_cast<double>(moduli[at[0] + cells[0] * (at[1] + cells[1] * at[2])]);
      for (int d = 0; d < 3; ++d) {
        double const part = modulus * forces[n][d];
        f[d] += part;
        size += part * part;
      }
    }
    return size;
  }
};

/// The forces of two element matrices per cell, E_e K0 and E1_e K1.
struct StrainForcePair {
  StrainForce first, second;
  KOKKOS_FUNCTION double at(index_t node, double (&f)[3]) const {
    double added[3];
    double const size = first.at(node, f) + second.at(node, added);
    for (int d = 0; d < 3; ++d) f[d] += added[d];
    return size;
  }
};

/// The sums |f|^2 and of the squares of what f is made of.
template <class Force>
struct StrainForceNorm {
  Force force;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    double f[3];
    sums[1] += force.at(node, f);
    sums[0] += f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
  }
};

/// v = f or v -= f
template <class Scalar, class Force = StrainForce>
struct StrainForceStore {
  Force force;
  Scalar* v;
  index_t stride;
  bool subtract;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    double f[3];
    force.at(node, f);
    for (int d = 0; d < 3; ++d) {
      Scalar& value = v[node + d * stride];
      value = static_cast<Scalar>(subtract ? static_cast<double>(value) - f[d] : f[d]);
    }
  }
};

/// Below this share of what they are made of, forces are the rounding of zero (cells of equal moduli).
inline constexpr double strain_force_rounding = 1e-13;

}  // namespace brickwork::detail
