// SPDX-License-Identifier: BSD-3-Clause
// `fused_scatter`: one thread per cell gathers 24 values, multiplies by the 24 x 24 stiffness and adds the result
// atomically.
//
// The cell's mean displacement is subtracted before the product, which changes nothing in exact arithmetic and keeps
// FP32 from losing small strains under a large translation. Per cell: 576 multiply-adds, 24 atomic additions. The order
// of the additions is not fixed: not bitwise repeatable. Source: the fused-kernel text's gather, product and scatter in
// one pass.
#pragma once

#include "brickwork/operators/detail/elasticity_node_gather.hpp"

namespace brickwork::detail {

template <class Scalar, bool Masked>
struct ElasticityFusedScatter {
  ElasticityData<Scalar> data;
  Scalar const* u;
  Scalar* w;
  index_t stride_u;
  index_t stride_w;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, cell, i, j, k);
    Scalar in[24];
    index_t nodes[8];
    for (int m = 0; m < 8; ++m) {
      nodes[m] = CellGather<Scalar>::node(data, i, j, k, m);
      int const fixed = Masked ? data.mask[nodes[m]] : 0;
      for (int b = 0; b < 3; ++b) in[3 * m + b] = ((fixed >> b) & 1) ? Scalar(0) : u[nodes[m] + b * stride_u];
    }
    for (int b = 0; b < 3; ++b) {
      Scalar mean = 0;
      for (int m = 0; m < 8; ++m) mean += in[3 * m + b];
      mean *= Scalar(0.125);
      for (int m = 0; m < 8; ++m) in[3 * m + b] -= mean;
    }
    Scalar const modulus = data.moduli[cell];
    for (int n = 0; n < 8; ++n) {
      for (int a = 0; a < 3; ++a) {
        Scalar sum = 0;
        for (int m = 0; m < 24; ++m) sum += data.stiffness[3 * n + a][m] * in[m];
        Kokkos::atomic_add(&w[nodes[n] + a * stride_w], modulus * sum);
      }
    }
  }
};

}  // namespace brickwork::detail
