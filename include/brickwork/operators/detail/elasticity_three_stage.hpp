// SPDX-License-Identifier: BSD-3-Clause
// `three_stage`: gather, batched dense product and scatter in three launches, with the cells' values in memory between.
//
//   1. local_u[j][e] = u[dofs_e(j)]
//   2. local_w[:, e] = E_e K0 local_u[:, e], a product of 24 x 24 by 24 x cells
//   3. w[dofs_e(j)] += local_w[j][e]
//
// Layout. local_u and local_w are [24][cells], so that neighbouring threads read and write neighbouring values in every
// stage. Per cell: 4 x 24 values written and read between the stages (384 bytes in FP32, 768 in FP64: equation 5 of the
// source text), the modulus, and what u and w move; with a table 96 bytes in the first and again in the last stage.
// Workspace 2 x 24 values per cell. Operations: 576 multiply-adds, 24 products with the modulus, 24 atomic additions.
//
// This is the baseline as the source text describes it: u enters the product as it is, without the subtraction of the
// cell's mean displacement that the other kernels do, so in FP32 a translation that is large against the strains costs
// digits. Not bitwise repeatable (atomic additions). Where the source text calls cuBLAS, the product here is the fused
// kernel's, unrolled, which reads and writes each value once.
// Source: the fused-kernel text, section 3.2.
#pragma once

#include "brickwork/operators/detail/elasticity_fused_scatter.hpp"

namespace brickwork::detail {

template <class Scalar, class Dofs, bool Masked>
struct ThreeStageGather {
  DofPair<Dofs> dofs;
  std::uint8_t const* mask;
  index_t cells;
  Scalar const* u;
  Scalar* local_u;

  KOKKOS_FUNCTION void operator()(index_t e) const {
    Scalar in[24];
    gather_cell<Masked>(dofs.cell(e), mask, u, in);
    BRICKWORK_UNROLL
    for (int j = 0; j < 24; ++j) local_u[j * cells + e] = in[j];
  }
};

template <class Scalar>
struct StoreLocal {
  index_t cells;
  Scalar* local;  // of the cell
  KOKKOS_FORCEINLINE_FUNCTION void operator()(int row, Scalar value) const { local[row * cells] = value; }
};

template <class Scalar>
struct ThreeStageProduct {
  CellMatrix<Scalar> matrix;
  Scalar const* moduli;
  index_t cells;
  Scalar const* local_u;
  Scalar* local_w;

  KOKKOS_FUNCTION void operator()(index_t e) const {
    Scalar in[24];
    BRICKWORK_UNROLL
    for (int j = 0; j < 24; ++j) in[j] = local_u[j * cells + e];
    matrix.multiply(moduli[e], in, StoreLocal<Scalar>{cells, local_w + e});
  }
};

template <class Scalar, class Dofs>
struct ThreeStageScatter {
  DofPair<Dofs> dofs;
  index_t cells;
  Scalar const* local_w;
  Scalar* w;

  KOKKOS_FUNCTION void operator()(index_t e) const {
    auto const cell = dofs.cell(e);
    Scalar out[24];  // all loads before the first addition, which the compiler must take for a change of any of them
    BRICKWORK_UNROLL
    for (int j = 0; j < 24; ++j) out[j] = local_w[j * cells + e];
    BRICKWORK_UNROLL
    for (int j = 0; j < 24; ++j) Kokkos::atomic_add(&w[cell.w(j)], out[j]);
  }
};

/// Stage 1. \param local_u [24][cells]
template <bool Masked, class ExecutionSpace, class Scalar, class Dofs>
void three_stage_gather(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Dofs dofs_u, index_t cells,
                        Scalar const* u, Scalar* local_u) {
  for_each_cell("brickwork::ElasticityOperator::apply::three_stage::gather", space, cells,
                ThreeStageGather<Scalar, Dofs, Masked>{DofPair<Dofs>(dofs_u, dofs_u), data.mask, cells, u, local_u});
}

/// Stage 2. \param local_u, local_w [24][cells]
template <class ExecutionSpace, class Scalar>
void three_stage_product(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t cells,
                         Scalar const* local_u, Scalar* local_w) {
  for_each_cell("brickwork::ElasticityOperator::apply::three_stage::product", space, cells,
                ThreeStageProduct<Scalar>{CellMatrix<Scalar>(data), data.moduli, cells, local_u, local_w});
}

/// Stage 3: adds to w, which is to be cleared before (clear_components). \param local_w [24][cells]
template <class ExecutionSpace, class Scalar, class Dofs>
void three_stage_scatter(ExecutionSpace const& space, Dofs dofs_w, index_t cells, Scalar const* local_w, Scalar* w) {
  for_each_cell("brickwork::ElasticityOperator::apply::three_stage::scatter", space, cells,
                ThreeStageScatter<Scalar, Dofs>{DofPair<Dofs>(dofs_w, dofs_w), cells, local_w, w});
}

}  // namespace brickwork::detail
