// SPDX-License-Identifier: BSD-3-Clause
// Smoothers of a multigrid level beside the fused Chebyshev steps of its operator: 3 x 3 block Jacobi and eight-colour
// block Gauss-Seidel.
//
// The diagonal block of node a is B_a = sum over the eight cells around it of E_e K0[n, n], n the node's corner of the
// cell. K0 of a box is symmetric under reflections, so that its corner blocks differ in signs alone: B_a has the
// entries
//   (d, d)  sum E_e D_d,    (d, e)  sum s_d s_e E_e S_de,    s = -1 where the node is the cell's lower corner, else 1,
// and eight moduli make it; nothing is stored. Constrained components and those without stiffness stay out of it.
//
// Traffic of RelaxNodes, per node: 3 values each of f, product, x, old and result, the inverse and, with blocks, the
// modulus of a cell and a mask byte. A Gauss-Seidel sweep reads 27 neighbours per node, in eight launches of an eighth
// of the nodes each, with stride two along each axis: on matrix-free levels from 8 moduli and K0 (576 multiply-adds per
// node), on stencil levels from 26 blocks. Nodes of one colour do not couple: the result does not depend on their
// order.
#pragma once

#include "brickwork/core/for_each.hpp"
#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

/// Nodal vector v at a node.
KOKKOS_FORCEINLINE_FUNCTION void load_node(VectorRef const& v, index_t node, float (&to)[3]) {
  for (int d = 0; d < 3; ++d) to[d] = v.data[node + d * v.stride];
}

/// x = A^-1 b for a symmetric positive block (entries xx, yy, zz, yz, xz, xy). Components whose bit is set in `out`, or
/// that have no stiffness, stay out of A and get zero.
KOKKOS_FORCEINLINE_FUNCTION void solve_symmetric(float const (&a)[6], int out, float const (&b)[3], float (&x)[3]) {
  bool in[3];
  for (int d = 0; d < 3; ++d) in[d] = ((out >> d) & 1) == 0 && a[d] > 0;
  // L D L^T; a reciprocal of zero takes a component out.
  float const yx = in[0] && in[1] ? a[5] : 0.0f, zx = in[0] && in[2] ? a[4] : 0.0f, zy = in[1] && in[2] ? a[3] : 0.0f;
  float const d0 = in[0] ? 1 / a[0] : 0.0f;
  float const l10 = yx * d0, l20 = zx * d0;
  float const d1 = in[1] ? 1 / (a[1] - l10 * yx) : 0.0f;
  float const m = zy - l20 * yx, l21 = m * d1;
  float const d2 = in[2] ? 1 / (a[2] - l20 * zx - l21 * m) : 0.0f;
  float const y0 = in[0] ? b[0] : 0.0f;
  float const y1 = in[1] ? b[1] - l10 * y0 : 0.0f;
  float const y2 = in[2] ? b[2] - l20 * y0 - l21 * y1 : 0.0f;
  x[2] = d2 * y2;
  x[1] = d1 * y1 - l21 * x[2];
  x[0] = d0 * y0 - l10 * x[1] - l20 * x[2];
}

/// The cells of a matrix-free level and the diagonal blocks that they make.
struct CellBlocks {
  NodeBox box;
  int cells[3];
  float const* moduli;
  std::uint8_t const* mask;  ///< null: no constraints
  float diagonal[3];         ///< D_d
  float shear[3];            ///< S_yz, S_xz, S_xy

  CellBlocks(BoxGrid const& grid, Hex8Matrix const& stiffness, float const* moduli_, std::uint8_t const* mask_)
      : box(grid), moduli(moduli_), mask(mask_) {
    for (std::size_t d = 0; d < 3; ++d) {
      cells[d] = static_cast<int>(grid.cells()[d]);
      diagonal[d] = static_cast<float>(stiffness[d][d]);
    }
    // Corner 0, where both signs are -1.
    shear[0] = static_cast<float>(stiffness[1][2]);
    shear[1] = static_cast<float>(stiffness[0][2]);
    shear[2] = static_cast<float>(stiffness[0][1]);
  }

  KOKKOS_FORCEINLINE_FUNCTION int fixed(index_t node) const { return mask ? mask[node] : 0; }

  KOKKOS_FORCEINLINE_FUNCTION float modulus(int const (&p)[3], int corner) const {
    return modulus_at_corner(box, cells, moduli, p, corner);
  }

  /// The block of a node from the moduli by corner: its sum, and the block over it.
  KOKKOS_FORCEINLINE_FUNCTION void block(float const (&around)[8], float (&a)[6]) const {
    float sum = 0, signed_sum[3] = {0, 0, 0};
    for (int n = 0; n < 8; ++n) {
      bool const x = (n & 1) != 0, y = (n & 2) != 0, z = (n & 4) != 0;
      sum += around[n];
      signed_sum[0] += y == z ? around[n] : -around[n];
      signed_sum[1] += x == z ? around[n] : -around[n];
      signed_sum[2] += x == y ? around[n] : -around[n];
    }
    for (int d = 0; d < 3; ++d) {
      a[d] = sum * diagonal[d];
      a[3 + d] = signed_sum[d] * shear[d];
    }
  }
};

/// A step of a Chebyshev iteration after the product: result = s x + a old + b D^-1 (f - product), with D the point
/// diagonal; result may be any of the vectors.
struct RelaxPoints {
  VectorRef f, product, x, old, result;  ///< old may be null
  float const* inverse;                  ///< per node, of the sum of the moduli times the bound of the spectrum
  float factor[3];
  float s, a, b;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    float const scale = b * inverse[node];
    for (int d = 0; d < 3; ++d) {
      float next = s * x.data[node + d * x.stride] +
                   scale * factor[d] * (f.data[node + d * f.stride] - product.data[node + d * product.stride]);
      if (old.data) next += a * old.data[node + d * old.stride];
      result.data[node + d * result.stride] = next;
    }
  }
};

/// The same with the 3 x 3 blocks. Without x and product it is the first step from zero, result = b D^-1 f. Constrained
/// components of the result are zero.
struct RelaxBlocks {
  CellBlocks blocks;
  VectorRef f, product, x, old, result;  ///< product and x, and old, may be null
  float const* inverse;                  ///< as above
  float s, a, b;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    int p[3];
    blocks.box.position(static_cast<std::uint32_t>(node), p);
    float around[8], block[6], r[3], step[3], sum = 0;
    for (int n = 0; n < 8; ++n) {
      around[n] = blocks.modulus(p, n);
      sum += around[n];
    }
    blocks.block(around, block);
    load_node(f, node, r);
    if (product.data)
      for (int d = 0; d < 3; ++d) r[d] -= product.data[node + d * product.stride];
    int const fixed = blocks.fixed(node);
    solve_symmetric(block, fixed, r, step);
    float const scale = b * sum * inverse[node];
    for (int d = 0; d < 3; ++d) {
      float next = scale * step[d];
      if (x.data) next += s * x.data[node + d * x.stride];
      if (old.data) next += a * old.data[node + d * old.stride];
      result.data[node + d * result.stride] = ((fixed >> d) & 1) ? 0.0f : next;
    }
  }
};

/// r -= step v
struct UpdateResidual {
  VectorRef r, v;
  float const* step;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) r.data[node + d * r.stride] -= *step * v.data[node + d * v.stride];
  }
};

// ---- Gauss-Seidel: x_a += B_a^-1 (f - A x)_a ------------------------------------------------------------------------

/// On a matrix-free level. Differences from the node's own value keep translations out of the sums.
struct CellGaussSeidel {
  CellBlocks blocks;
  float const* stiffness;  ///< [24][24]
  VectorRef f, x;

  KOKKOS_FUNCTION NodeBox const& box() const { return blocks.box; }

  KOKKOS_FUNCTION void operator()(index_t node, int const (&p)[3]) const {
    float own[3], r[3], around[8], block[6], step[3];
    load_node(x, node, own);
    load_node(f, node, r);
    for (int n = 0; n < 8; ++n) {
      around[n] = blocks.modulus(p, n);
      if (around[n] == 0) continue;
      float sum[3] = {0, 0, 0};
      for (int m = 0; m < 8; ++m) {
        if (m == n) continue;
        int q[3];
        for (int axis = 0; axis < 3; ++axis) {
          q[axis] = p[axis] + ((m >> axis) & 1) - ((n >> axis) & 1);
          blocks.box.wrap(axis, q[axis]);
        }
        index_t const other = blocks.box.index(q[0], q[1], q[2]);
        float const* const k = stiffness + 72 * n + 3 * m;
        for (int e = 0; e < 3; ++e) {
          float const difference = x.data[other + e * x.stride] - own[e];
          for (int d = 0; d < 3; ++d) sum[d] += k[24 * d + e] * difference;
        }
      }
      for (int d = 0; d < 3; ++d) r[d] -= around[n] * sum[d];
    }
    blocks.block(around, block);
    solve_symmetric(block, blocks.fixed(node), r, step);
    for (int d = 0; d < 3; ++d) x.data[node + d * x.stride] = own[d] + step[d];
  }
};

/// On a stencil level, whose inverses are those of the blocks (no bound of a spectrum in them).
struct StencilGaussSeidel {
  StencilData stencil;
  VectorRef f, x;

  KOKKOS_FUNCTION NodeBox const& box() const { return stencil.box; }

  KOKKOS_FUNCTION void operator()(index_t node, int const (&p)[3]) const {
    float own[3], r[3], block[6], step[3];
    load_node(x, node, own);
    load_node(f, node, r);
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e) r[d] -= stencil.row_sum[(3 * d + e) * index_t(stencil.nodes) + node] * own[e];
    for (int position = 0; position < 27; ++position) {
      if (position == center_position) continue;
      std::uint32_t other;
      if (!stencil.box.neighbour(p, position, other)) continue;
      float k[9];
      stencil.load(position, node, other, k);
      for (int e = 0; e < 3; ++e) {
        float const difference = x.data[other + e * x.stride] - own[e];
        for (int d = 0; d < 3; ++d) r[d] -= k[3 * d + e] * difference;
      }
    }
    for (int e = 0; e < 6; ++e) block[e] = stencil.inverse[e * index_t(stencil.nodes) + node];
    symmetric_product(block, r, step);
    for (int d = 0; d < 3; ++d) x.data[node + d * x.stride] = own[d] + step[d];
  }
};

/// The nodes of one colour: those whose position has the given parity along each axis.
template <class Update>
struct ColorSweep {
  Update update;
  int parity[3];
  std::uint32_t mx, my;  ///< nodes of the colour along x and y

  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const i = static_cast<std::uint32_t>(index);
    std::uint32_t const rows = i / mx, layer = rows / my;
    int const p[3] = {2 * static_cast<int>(i - rows * mx) + parity[0],
                      2 * static_cast<int>(rows - layer * my) + parity[1], 2 * static_cast<int>(layer) + parity[2]};
    update(update.box().index(p[0], p[1], p[2]), p);
  }
};

/// One sweep over all nodes, colours in ascending order or (backward) in descending order. Asynchronous.
template <class ExecutionSpace, class Update>
void sweep_colors(char const* label, ExecutionSpace const& space, Update const& update, bool backward) {
  NodeBox const& box = update.box();
  for (int i = 0; i < 8; ++i) {
    int const color = backward ? 7 - i : i;
    int count[3];
    for (int axis = 0; axis < 3; ++axis) count[axis] = (box.extent(axis) + 1 - ((color >> axis) & 1)) / 2;
    ColorSweep<Update> const sweep{update,
                                   {color & 1, (color >> 1) & 1, color >> 2},
                                   static_cast<std::uint32_t>(count[0]),
                                   static_cast<std::uint32_t>(count[1])};
    for_each(label, space, static_cast<index_t>(count[0]) * count[1] * count[2], sweep);
  }
}

}  // namespace brickwork::detail
