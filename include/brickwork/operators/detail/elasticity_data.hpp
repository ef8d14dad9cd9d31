// SPDX-License-Identifier: BSD-3-Clause
// What every elasticity kernel reads: the grid's extents, the moduli, the constraint mask and the element stiffness.
#pragma once

#include <Kokkos_Core.hpp>

#include "brickwork/core/types.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork::detail {

/// Raw operands of w = K u on the local box of a grid.
///
/// Cell (i, j, k) has index i + nx (j + ny k). Node (i, j, k) has index i + mx (j + my k), with m = n + 1 on an
/// ordinary axis and m = n on a periodic one (node n is node 0). Vectors hold component d of node a at [a + d *
/// component_stride]. Corner n of a cell has offsets (n & 1, (n >> 1) & 1, n >> 2).
template <class Scalar>
struct ElasticityData {
  index_t nx, ny, nz;          ///< cells per axis
  index_t mx, my, mz;          ///< nodes per axis
  bool periodic[3];            ///< axis wraps
  Scalar const* moduli;        ///< [nx ny nz], Young's modulus of each cell (K0 is for E = 1)
  std::uint8_t const* mask;    ///< [mx my mz] bit d set = component d constrained; null = no constraints
  index_t const* constrained;  ///< [constrained_count] nodes with a bit set, for kernels that restore w = u there
  index_t constrained_count;
  /// Even-odd form. parity[s][a][b]: block s in 0..7 (bit x = 1, y = 2, z = 4) couples, for components a and b, the
  /// modes u^_{s xor 2^a, a} and u^_{s xor 2^b, b}; the factor 1/64 of K~ = T K T^T / 64 is included. Symmetric; the
  /// entries that touch a translation mode (s xor 2^a = 0) are exactly zero.
  Scalar parity[8][3][3];
  Scalar stiffness[24][24];  ///< full element matrix for E = 1, row 3 n + d
};

template <class Scalar>
void copy_blocks(ParityBlocks const& from, Scalar (&to)[8][3][3]) {
  for (int s = 0; s < 8; ++s)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) to[s][a][b] = static_cast<Scalar>(from[s][a][b]);
}

/// The operands of a grid and an element matrix; moduli and mask stay null.
template <class Scalar>
ElasticityData<Scalar> elasticity_data(BoxGrid const& grid, Hex8Matrix const& stiffness, ParityBlocks const& blocks) {
  ElasticityData<Scalar> data{};
  Index3 const n = grid.cells();
  Index3 const m = grid.nodes();
  data.nx = n[0], data.ny = n[1], data.nz = n[2];
  data.mx = m[0], data.my = m[1], data.mz = m[2];
  for (int axis = 0; axis < 3; ++axis) data.periodic[axis] = grid.periodic()[axis];
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) data.stiffness[row][col] = static_cast<Scalar>(stiffness[row][col]);
  copy_blocks(blocks, data.parity);
  return data;
}

}  // namespace brickwork::detail
