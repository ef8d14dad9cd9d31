// SPDX-License-Identifier: BSD-3-Clause
// `assembled`: the operator as a matrix in compressed rows, built on the device and applied by Kokkos Kernels.
//
// A = P K P + (I - P) with K = sum_e E_e G_e^T K0 G_e; P zeroes the constrained components. Its graph is the 27-node
// stencil of the box times 3 x 3 components and depends on the grid alone: what constraints remove is stored as zero,
// so that new moduli or constraints (update()) need new values only. Periodic axes wrap; where such an axis has one or
// two cells, several neighbours are one node and its entries are summed.
//
// Layout. Row and column number: node + d * nodes, as vectors are component-major; columns ascend within a row. A node
// with c = cx cy cz distinct neighbours, itself included, has 3 rows of 3 c entries: block b holds component b of the
// neighbours in the order of their numbers. c separates by axes, so row offsets have a closed form and no scan is
// needed. Rows of 3 x 3 blocks (BSR) are not used: with component-major vectors a node's three values are not adjacent,
// and a product would need an interleaved copy of u and w each time.
//
// Column numbers are 32-bit (3 nodes < 2^31), row offsets 64-bit. Per node, so nearly per cell: 3 rows of 81 entries,
// 243 (4 + 8) + 24 = 2940 bytes in FP64, 1968 in FP32, all read in each product; 243 multiply-adds. Assembly: one
// thread per row gathers from up to eight cells, each entry is written once, no atomics. Bitwise repeatable; so is the
// product with Kokkos Kernels' own kernels, whose sums have a fixed order. Source: what a user would do without this
// library; the product is KokkosSparse::spmv with its default parameters (src/operators/elasticity_assembled.cpp).
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/operators/detail/elasticity_node_gather.hpp"

namespace brickwork::detail {

/// The 27-node stencil of a box grid, axis by axis.
struct BoxStencil {
  index_t nodes[3];
  bool periodic[3];

  /// Distinct nodes among x - 1, x, x + 1.
  KOKKOS_FUNCTION index_t count(int axis, index_t x) const {
    if (periodic[axis]) return nodes[axis] < 3 ? nodes[axis] : 3;
    return 3 - (x == 0 ? 1 : 0) - (x == nodes[axis] - 1 ? 1 : 0);
  }
  /// Sum of count() over the nodes before x; x = nodes[axis] gives all.
  KOKKOS_FUNCTION index_t before(int axis, index_t x) const {
    if (periodic[axis]) return count(axis, 0) * x;
    return 3 * x - (x > 0 ? 1 : 0) - (x == nodes[axis] ? 1 : 0);
  }
  /// Node x + offset; -1 beyond the end of an ordinary axis.
  KOKKOS_FUNCTION index_t neighbour(int axis, index_t x, int offset) const {
    index_t const y = x + offset;
    if (y >= 0 && y < nodes[axis]) return y;
    if (!periodic[axis]) return -1;
    return y < 0 ? y + nodes[axis] : y - nodes[axis];
  }
  /// The count(axis, x) distinct neighbours, ascending.
  KOKKOS_FUNCTION int neighbours(int axis, index_t x, index_t (&sorted)[3]) const {
    int size = 0;
    for (int offset = -1; offset <= 1; ++offset) {
      index_t const y = neighbour(axis, x, offset);
      int at = 0;
      while (at < size && sorted[at] < y) ++at;
      if (y < 0 || (at < size && sorted[at] == y)) continue;
      for (int move = size; move > at; --move) sorted[move] = sorted[move - 1];
      sorted[at] = y;
      ++size;
    }
    return size;
  }

  KOKKOS_FUNCTION index_t node_count() const { return nodes[0] * nodes[1] * nodes[2]; }
  KOKKOS_FUNCTION void position(index_t node, index_t (&x)[3]) const {
    x[0] = node % nodes[0];
    index_t const rest = node / nodes[0];
    x[1] = rest % nodes[1];
    x[2] = rest / nodes[1];
  }
  /// Pairs of neighbours in the grid, each node paired with itself included.
  KOKKOS_FUNCTION index_t pairs() const { return before(0, nodes[0]) * before(1, nodes[1]) * before(2, nodes[2]); }
  KOKKOS_FUNCTION index_t nonzeros() const { return 9 * pairs(); }
  /// First entry of row node + d * nodes.
  KOKKOS_FUNCTION index_t row_begin(index_t node, int d) const {
    index_t x[3];
    position(node, x);
    index_t const line = before(0, nodes[0]);
    index_t const plane = line * before(1, nodes[1]);
    index_t const lines = before(1, x[1]) * line + count(1, x[1]) * before(0, x[0]);
    return 3 * (d * pairs() + before(2, x[2]) * plane + count(2, x[2]) * lines);
  }
};

template <class Scalar>
BoxStencil box_stencil(ElasticityData<Scalar> const& data) {
  return {{data.mx, data.my, data.mz}, {data.periodic[0], data.periodic[1], data.periodic[2]}};
}

/// Offset and columns of one row per call.
template <class Offset>
struct AssembledGraph {
  BoxStencil stencil;
  Offset* row_map;        // [3 nodes + 1]
  std::int32_t* columns;  // [nonzeros]

  KOKKOS_FUNCTION void operator()(index_t row) const {
    index_t const nodes = stencil.node_count();
    auto const d = static_cast<int>(row / nodes);
    index_t const node = row - d * nodes;
    index_t entry = stencil.row_begin(node, d);
    row_map[row] = static_cast<Offset>(entry);
    if (row == 3 * nodes - 1) row_map[row + 1] = static_cast<Offset>(stencil.nonzeros());
    index_t x[3], near[3][3];
    int size[3];
    stencil.position(node, x);
    for (int axis = 0; axis < 3; ++axis) size[axis] = stencil.neighbours(axis, x[axis], near[axis]);
    for (int b = 0; b < 3; ++b)
      for (int k = 0; k < size[2]; ++k)
        for (int j = 0; j < size[1]; ++j)
          for (int i = 0; i < size[0]; ++i) {
            index_t const other = near[0][i] + stencil.nodes[0] * (near[1][j] + stencil.nodes[1] * near[2][k]);
            columns[entry++] = static_cast<std::int32_t>(other + b * nodes);
          }
  }
};

/// Values of one row per call, in the order of AssembledGraph.
template <class Scalar, bool Masked>
struct AssembledValues {
  ElasticityData<Scalar> data;
  BoxStencil stencil;
  Scalar* values;

  // Entries of the three components of the neighbour at an offset: the cells that hold both nodes, in a fixed order.
  KOKKOS_FUNCTION void add(Scalar const (&modulus)[8], int d, int const (&offset)[3], Scalar (&sum)[3]) const {
    for (int n = 0; n < 8; ++n) {
      int const cx = (n & 1) + offset[0], cy = ((n >> 1) & 1) + offset[1], cz = (n >> 2) + offset[2];
      if (cx < 0 || cx > 1 || cy < 0 || cy > 1 || cz < 0 || cz > 1) continue;
      int const m = cx + 2 * cy + 4 * cz;
      for (int b = 0; b < 3; ++b) sum[b] += modulus[n] * data.stiffness[3 * n + d][3 * m + b];
    }
  }

  KOKKOS_FUNCTION void operator()(index_t row) const {
    index_t const nodes = stencil.node_count();
    auto const d = static_cast<int>(row / nodes);
    index_t const node = row - d * nodes;
    bool const fixed = Masked && ((data.mask[node] >> d) & 1);
    Scalar modulus[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // by the node's corner in the cell
    for_cells_around(data, node, [&](index_t i, index_t j, index_t k, int n) {
      modulus[n] = data.moduli[i + data.nx * (j + data.ny * k)];
    });
    index_t x[3], near[3][3];
    int size[3];
    stencil.position(node, x);
    for (int axis = 0; axis < 3; ++axis) size[axis] = stencil.neighbours(axis, x[axis], near[axis]);
    index_t const block = static_cast<index_t>(size[0]) * size[1] * size[2];
    index_t entry = stencil.row_begin(node, d);
    for (int k = 0; k < size[2]; ++k)
      for (int j = 0; j < size[1]; ++j)
        for (int i = 0; i < size[0]; ++i, ++entry) {
          Scalar sum[3] = {0, 0, 0};
          int offset[3];
          for (offset[2] = -1; offset[2] <= 1; ++offset[2]) {
            if (stencil.neighbour(2, x[2], offset[2]) != near[2][k]) continue;
            for (offset[1] = -1; offset[1] <= 1; ++offset[1]) {
              if (stencil.neighbour(1, x[1], offset[1]) != near[1][j]) continue;
              for (offset[0] = -1; offset[0] <= 1; ++offset[0]) {
                if (stencil.neighbour(0, x[0], offset[0]) == near[0][i]) add(modulus, d, offset, sum);
              }
            }
          }
          index_t const other = near[0][i] + stencil.nodes[0] * (near[1][j] + stencil.nodes[1] * near[2][k]);
          int const other_fixed = Masked ? data.mask[other] : 0;
          for (int b = 0; b < 3; ++b) {
            if (fixed || ((other_fixed >> b) & 1)) sum[b] = fixed && other == node && b == d ? Scalar(1) : Scalar(0);
            values[entry + b * block] = sum[b];
          }
        }
  }
};

/// \param row_map [3 nodes + 1], \param columns [box_stencil(data).nonzeros()]
template <class ExecutionSpace, class Scalar, class Offset>
void fill_assembled_graph(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Offset* row_map,
                          std::int32_t* columns) {
  BoxStencil const stencil = box_stencil(data);
  Kokkos::parallel_for("brickwork::ElasticityOperator::assembled::graph", range(space, 3 * stencil.node_count()),
                       AssembledGraph<Offset>{stencil, row_map, columns});
}

/// Values of P K P + (I - P) for data's moduli, mask and element matrix. \param values [box_stencil(data).nonzeros()]
template <class ExecutionSpace, class Scalar>
void fill_assembled_values(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Scalar* values) {
  BoxStencil const stencil = box_stencil(data);
  auto const rows = range(space, 3 * stencil.node_count());
  if (data.mask == nullptr) {
    Kokkos::parallel_for("brickwork::ElasticityOperator::assembled::values", rows,
                         AssembledValues<Scalar, false>{data, stencil, values});
  } else {
    Kokkos::parallel_for("brickwork::ElasticityOperator::assembled::values", rows,
                         AssembledValues<Scalar, true>{data, stencil, values});
  }
}

}  // namespace brickwork::detail
