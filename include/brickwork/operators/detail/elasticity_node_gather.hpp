// SPDX-License-Identifier: BSD-3-Clause
// `node_gather`: one thread per node sums its rows over the (up to) eight cells around it.
//
// w_a = sum_e E_e sum_m K0[n(e, a), m] (u_m - u_a). Subtracting the node's own value changes nothing in exact
// arithmetic (a rigid translation gives no force) and keeps FP32 from losing small strains under a large translation.
// Per node: 576 multiply-adds, 24 neighbours (cached), 8 moduli, one write of 3 values. No atomics, fixed order:
// bitwise repeatable. Source: the nodal-assembly report (one thread per node), with a true element stiffness.
#pragma once

#include "brickwork/core/for_each.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"

namespace brickwork::detail {

/// Corner offsets and wrapping shared by the per-node and per-cell kernels.
template <class Scalar>
struct CellGather {
  /// Node of corner n of cell (i, j, k); periodic axes wrap.
  KOKKOS_FORCEINLINE_FUNCTION static index_t node(ElasticityData<Scalar> const& data, index_t i, index_t j, index_t k,
                                                  int n) {
    index_t x = i + (n & 1);
    index_t y = j + ((n >> 1) & 1);
    index_t z = k + (n >> 2);
    if (x == data.mx) x = 0;  // happens on a periodic axis only
    if (y == data.my) y = 0;
    if (z == data.mz) z = 0;
    return x + data.mx * (y + data.my * z);
  }

  KOKKOS_FORCEINLINE_FUNCTION static void cell_position(ElasticityData<Scalar> const& data, index_t cell, index_t& i,
                                                        index_t& j, index_t& k) {
    i = cell % data.nx;
    index_t const rest = cell / data.nx;
    j = rest % data.ny;
    k = rest / data.ny;
  }
};

/// Calls body(cell, corner of the node in it) for the cells around a node, in a fixed order.
template <class Scalar, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_cells_around(ElasticityData<Scalar> const& data, index_t node, Body const& body) {
  index_t const x = node % data.mx;
  index_t const rest = node / data.mx;
  index_t const y = rest % data.my;
  index_t const z = rest / data.my;
  for (int n = 7; n >= 0; --n) {  // corner of the node in the cell
    index_t i = x - (n & 1);
    index_t j = y - ((n >> 1) & 1);
    index_t k = z - (n >> 2);
    if (i < 0 && data.periodic[0]) i += data.nx;
    if (j < 0 && data.periodic[1]) j += data.ny;
    if (k < 0 && data.periodic[2]) k += data.nz;
    if (i < 0 || j < 0 || k < 0 || i >= data.nx || j >= data.ny || k >= data.nz) continue;
    body(i, j, k, n);
  }
}

template <class Scalar, bool Masked>
struct ElasticityNodeGather {
  ElasticityData<Scalar> data;
  Scalar const* u;
  Scalar* w;
  index_t stride_u;
  index_t stride_w;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    int const fixed = Masked ? data.mask[node] : 0;
    Scalar own[3];
    Scalar sum[3] = {0, 0, 0};
    for (int d = 0; d < 3; ++d) own[d] = ((fixed >> d) & 1) ? Scalar(0) : u[node + d * stride_u];
    for_cells_around(data, node, [&](index_t i, index_t j, index_t k, int n) {
      Scalar part[3] = {0, 0, 0};
      for (int m = 0; m < 8; ++m) {
        index_t const other = CellGather<Scalar>::node(data, i, j, k, m);
        int const other_fixed = Masked ? data.mask[other] : 0;
        for (int b = 0; b < 3; ++b) {
          Scalar const difference = (((other_fixed >> b) & 1) ? Scalar(0) : u[other + b * stride_u]) - own[b];
          for (int a = 0; a < 3; ++a) part[a] += data.stiffness[3 * n + a][3 * m + b] * difference;
        }
      }
      Scalar const modulus = data.moduli[i + data.nx * (j + data.ny * k)];
      for (int a = 0; a < 3; ++a) sum[a] += modulus * part[a];
    });
    for (int d = 0; d < 3; ++d) {
      w[node + d * stride_w] = ((fixed >> d) & 1) ? u[node + d * stride_u] : sum[d];
    }
  }
};

/// Restores w = u on constrained components; one call per entry of data.constrained.
template <class Scalar>
struct CopyConstrained {
  ElasticityData<Scalar> data;
  Scalar const* u;
  Scalar* w;
  index_t stride_u;
  index_t stride_w;
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const node = data.constrained[index];
    int const fixed = data.mask[node];
    for (int d = 0; d < 3; ++d) {
      if ((fixed >> d) & 1) w[node + d * stride_w] = u[node + d * stride_u];
    }
  }
};

template <class Scalar>
struct ZeroNodes {
  Scalar* w;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) w[node + d * stride] = 0;
  }
};

/// w = 0 on the nodes of the grid; what lies between the components is not touched.
template <class ExecutionSpace, class Scalar>
void clear_components(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t stride, Scalar* w) {
  for_each("brickwork::ElasticityOperator::apply::clear", space, data.mx * data.my * data.mz,
           ZeroNodes<Scalar>{w, stride});
}

/// w = u on the constrained components.
template <class ExecutionSpace, class Scalar>
void restore_constrained(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t stride_u,
                         index_t stride_w, Scalar const* u, Scalar* w) {
  if (data.mask == nullptr || data.constrained_count == 0) return;
  Kokkos::parallel_for("brickwork::ElasticityOperator::apply::constrained", range(space, data.constrained_count),
                       CopyConstrained<Scalar>{data, u, w, stride_u, stride_w});
}

}  // namespace brickwork::detail
