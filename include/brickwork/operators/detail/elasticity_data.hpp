// SPDX-License-Identifier: BSD-3-Clause
// What every elasticity kernel reads: the grid's extents, the moduli, the constraint mask and the element stiffness.
#pragma once

#include <Kokkos_Core.hpp>

#include "brickwork/core/types.hpp"

namespace brickwork::detail {

/// Raw operands of w = K u on the local box of a grid.
///
/// Cell (i, j, k) has index i + nx (j + ny k). Node (i, j, k) has index i + mx (j + my k), with m = n + 1 on an
/// ordinary axis and m = n on a periodic one (node n is node 0). Vectors hold component d of node a at [a + d *
/// component_stride]. Corner n of a cell has offsets (n & 1, (n >> 1) & 1, n >> 2).
template <class Scalar>
struct ElasticityData {
  index_t nx, ny, nz;        ///< cells per axis
  index_t mx, my, mz;        ///< nodes per axis
  bool periodic[3];          ///< axis wraps
  Scalar const* moduli;      ///< [nx ny nz], Young's modulus of each cell (K0 is for E = 1)
  std::uint8_t const* mask;  ///< [mx my mz] bit d set = component d constrained; null = no constraints
  /// Even-odd form. parity[s][a][b]: block s in 0..7 (bit x = 1, y = 2, z = 4) couples, for components a and b, the
  /// modes u^_{s xor 2^a, a} and u^_{s xor 2^b, b}; the factor 1/64 of K~ = T K T^T / 64 is included. Symmetric; the
  /// entries that touch a translation mode (s xor 2^a = 0) are exactly zero.
  Scalar parity[8][3][3];
  Scalar stiffness[24][24];  ///< full element matrix for E = 1, row 3 n + d
};

}  // namespace brickwork::detail
