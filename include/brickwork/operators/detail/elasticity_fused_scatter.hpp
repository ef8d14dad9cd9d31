// SPDX-License-Identifier: BSD-3-Clause
// `fused_scatter` and `fused_scatter_table`: one thread per cell gathers 24 values, multiplies them by the 24 x 24
// stiffness and adds the result to w atomically.
//
// w[dofs_e] += E_e K0 (u[dofs_e] - mean): the cell's mean displacement is subtracted before the product, which changes
// nothing in exact arithmetic (a translation gives no force) and keeps FP32 from losing small strains under a large
// translation. Local number j = 3 n + d is component d of corner n.
//
// Layout and traffic. u and w are component-major. The two kernels are one body over two ways to find a cell's values:
// GridDofs computes them (nothing read; two divisions per cell), TableDofs reads 24 integers, [cells][24] (96 bytes per
// cell, the source text's mapping). Per cell: 24 loads and 24 atomic additions, which consecutive cells share in the
// caches, so that memory moves about 3 values of u and 3 of w (read and written), 1 modulus and the table.
// Operations: 576 multiply-adds, 24 products with the modulus, 48 for the mean.
//
// On a GPU the product is unrolled whole: K0 travels with the functor, in the constant bank at addresses known to the
// compiler, and reaches the multiply-adds through uniform registers; the 24 values stay in registers, none spills. A
// rolled loop puts them in local memory and reaches a third of the throughput (7.9 of 23 Gcells/s in FP32 on an H200).
//
// The order of the additions is not fixed: not bitwise repeatable. w is to be zeroed before (clear_components) and the
// constrained components restored after (restore_constrained). Source: the fused-kernel text, Algorithm 1 and sections
// 3.2-3.3 (128 threads per block, one per element).
#pragma once

#include <type_traits>

#include "brickwork/core/fields.hpp"
#include "brickwork/operators/detail/as_argument.hpp"
#include "brickwork/operators/detail/elasticity_dofs.hpp"

#if defined(__CUDACC__)
#define BRICKWORK_UNROLL _Pragma("unroll")
#else
#define BRICKWORK_UNROLL
#endif

namespace brickwork::detail {

/// Where a cell's values stand in u and in w, resolved once per cell; one specialization per kind of dofs. A pair holds
/// no more than it needs, because it is an argument of the kernel beside K0. Its Cell gives the indices u(j) and w(j),
/// and node(n), whose constraint bits count.
template <class Dofs>
struct DofPair;

template <class Scalar>
struct DofPair<GridDofs<Scalar>> {
  index_t nx, ny, mx, my, mz;
  index_t stride_u, stride_w;

  struct Cell {
    index_t corner[8];
    index_t stride_u, stride_w;
    KOKKOS_FORCEINLINE_FUNCTION index_t node(int n) const { return corner[n]; }
    KOKKOS_FORCEINLINE_FUNCTION index_t u(int j) const { return corner[j / 3] + (j % 3) * stride_u; }
    KOKKOS_FORCEINLINE_FUNCTION index_t w(int j) const { return corner[j / 3] + (j % 3) * stride_w; }
  };

  DofPair(GridDofs<Scalar> const& dofs_u, GridDofs<Scalar> const& dofs_w)
      : nx(dofs_u.data.nx),
        ny(dofs_u.data.ny),
        mx(dofs_u.data.mx),
        my(dofs_u.data.my),
        mz(dofs_u.data.mz),
        stride_u(dofs_u.stride),
        stride_w(dofs_w.stride) {}

  KOKKOS_FORCEINLINE_FUNCTION Cell cell(index_t e) const {
    index_t i, j, k;
    if (static_cast<std::uint64_t>(e) >> 32 ==
        0) {  // GPUs have no 64-bit division; it would cost as much as the product
      auto const narrow = static_cast<std::uint32_t>(e);
      auto const width = static_cast<std::uint32_t>(nx);
      auto const height = static_cast<std::uint32_t>(ny);
      std::uint32_t const rest = narrow / width;
      std::uint32_t const layer = rest / height;
      i = narrow - rest * width;
      j = rest - layer * height;
      k = layer;
    } else {
      index_t const rest = e / nx;
      k = rest / ny;
      i = e - rest * nx;
      j = rest - k * ny;
    }
    index_t const x[2] = {i, i + 1 == mx ? 0 : i + 1};  // equal on a periodic axis only
    index_t const y[2] = {j, j + 1 == my ? 0 : j + 1};
    index_t const z[2] = {k, k + 1 == mz ? 0 : k + 1};
    Cell c;
    c.stride_u = stride_u;
    c.stride_w = stride_w;
    BRICKWORK_UNROLL
    for (int n = 0; n < 8; ++n) c.corner[n] = x[n & 1] + mx * (y[(n >> 1) & 1] + my * z[n >> 2]);
    return c;
  }
};

template <>
struct DofPair<TableDofs> {
  std::int32_t const* table;

  struct Cell {
    std::int32_t dof[24];
    KOKKOS_FORCEINLINE_FUNCTION index_t node(int n) const { return dof[3 * n]; }
    KOKKOS_FORCEINLINE_FUNCTION index_t u(int j) const { return dof[j]; }
    KOKKOS_FORCEINLINE_FUNCTION index_t w(int j) const { return dof[j]; }
  };
  struct alignas(16) Quad {
    std::int32_t dof[4];
  };

  /// One table serves both vectors, as in the source text.
  DofPair(TableDofs const& dofs_u, TableDofs const& dofs_w) : table(dofs_u.table) {
    BRICKWORK_REQUIRE(dofs_u.table == dofs_w.table, "one connectivity table serves u and w; two were given");
    BRICKWORK_REQUIRE(reinterpret_cast<std::uintptr_t>(table) % sizeof(Quad) == 0,
                      "the connectivity table must be aligned to ", sizeof(Quad), " bytes");
  }

  // A row is 96 bytes: single integers, 96 bytes apart between threads, would keep the cache busy four times as long.
  KOKKOS_FORCEINLINE_FUNCTION Cell cell(index_t e) const {
    Quad const* row = reinterpret_cast<Quad const*>(table + 24 * e);
    Cell c;
    BRICKWORK_UNROLL
    for (int q = 0; q < 6; ++q) {
      Quad const four = row[q];
      BRICKWORK_UNROLL
      for (int r = 0; r < 4; ++r) c.dof[4 * q + r] = four.dof[r];
    }
    return c;
  }
};

/// K0 by columns: a host loop over the rows of a column is a vector operation, and a GPU does not care.
template <class Scalar>
struct CellMatrix {
  Scalar column[24][24];

  explicit CellMatrix(ElasticityData<Scalar> const& data) {
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) column[col][row] = data.stiffness[row][col];
  }

  // Rows at a time. On the host all rows are one block of vector registers. On a GPU a few independent chains of
  // multiply-adds; an even number, because the constant bank is read in pairs (288 reads for 576 values in FP32), and
  // the one that ptxas 13.0 turns into few registers for sm_90: FP32 64 (with constraints 72), so 28 to 32 warps; FP64
  // 121 to 127 (with constraints up to 140), so 12 to 16. Forcing fewer by launch bounds spills.
#if defined(__CUDA_ARCH__)
  static constexpr int rows = sizeof(Scalar) == 4 ? 8 : 2;
#else
  static constexpr int rows = 24;
#endif

  /// Calls result(row, modulus (K0 in)[row]) for each row.
  template <class Result>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(Scalar modulus, Scalar const (&in)[24], Result const& result) const {
    BRICKWORK_UNROLL
    for (int first = 0; first < 24; first += rows) {
      Scalar sum[rows] = {};
      BRICKWORK_UNROLL
      for (int m = 0; m < 24; ++m) {
        BRICKWORK_UNROLL
        for (int r = 0; r < rows; ++r) sum[r] += column[m][first + r] * in[m];
      }
      BRICKWORK_UNROLL
      for (int r = 0; r < rows; ++r) result(first + r, modulus * sum[r]);
    }
  }
};

/// The 24 values of a cell; constrained components count as zero.
template <bool Masked, class Cell, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void gather_cell(Cell const& cell, std::uint8_t const* mask, Scalar const* u,
                                             Scalar (&in)[24]) {
  BRICKWORK_UNROLL
  for (int n = 0; n < 8; ++n) {
    int const fixed = Masked ? mask[cell.node(n)] : 0;
    BRICKWORK_UNROLL
    for (int d = 0; d < 3; ++d) in[3 * n + d] = ((fixed >> d) & 1) ? Scalar(0) : u[cell.u(3 * n + d)];
  }
}

/// Adds a row's result to w.
template <class Cell, class Scalar>
struct AtomicResult {
  Cell const& cell;
  Scalar* w;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(int row, Scalar value) const {
    Kokkos::atomic_add(&w[cell.w(row)], value);
  }
};

template <class Scalar, class Dofs, bool Masked>
struct ElasticityFusedScatter {
  CellMatrix<Scalar> matrix;
  DofPair<Dofs> dofs;
  Scalar const* moduli;
  std::uint8_t const* mask;
  Scalar const* u;
  Scalar* w;

  KOKKOS_FUNCTION void operator()(index_t e) const {
    using Cell = typename DofPair<Dofs>::Cell;
    Cell const cell = dofs.cell(e);
    Scalar in[24];
    gather_cell<Masked>(cell, mask, u, in);
    BRICKWORK_UNROLL
    for (int d = 0; d < 3; ++d) {
      Scalar mean = 0;
      BRICKWORK_UNROLL
      for (int n = 0; n < 8; ++n) mean += in[3 * n + d];
      mean *= Scalar(0.125);
      BRICKWORK_UNROLL
      for (int n = 0; n < 8; ++n) in[3 * n + d] -= mean;
    }
    matrix.multiply(moduli[e], in, AtomicResult<Cell, Scalar>{cell, w});
  }
};

/// A body per cell in blocks of 128 threads, as the source text launches it. Kokkos would choose the smallest block of
/// equal occupancy for a range.
template <class ExecutionSpace, class Body>
struct CellBlocks {
  static constexpr int threads = 128;
  Body body;
  index_t cells;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<ExecutionSpace>::member_type const& member) const {
    index_t const cell = static_cast<index_t>(member.league_rank()) * threads + member.team_rank();
    if (cell < cells) body(cell);
  }
};

#if defined(KOKKOS_ENABLE_CUDA)
template <class ExecutionSpace>
inline constexpr bool runs_in_blocks = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
template <class ExecutionSpace>
inline constexpr bool runs_in_blocks = false;
#endif

/// body(cell) for each cell.
template <class ExecutionSpace, class Body>
void for_each_cell(char const* label, ExecutionSpace const& space, index_t cells, Body const& body) {
  if constexpr (runs_in_blocks<ExecutionSpace>) {
    using Blocks = CellBlocks<ExecutionSpace, Body>;
    auto const blocks = static_cast<int>((cells + Blocks::threads - 1) / Blocks::threads);
    Kokkos::TeamPolicy<ExecutionSpace> const policy(space, blocks, int(Blocks::threads));
    Kokkos::parallel_for(label, as_argument<Blocks>(policy), Blocks{body, cells});
  } else {
    Kokkos::parallel_for(label, range(space, cells), body);
  }
}

/// w += K u over `cells` cells, constrained components of u (data.mask, for Masked) counting as zero. Neither clears w
/// nor restores w = u on constrained components. Asynchronous on `space`, no allocation.
/// \param data moduli [cells], mask and element matrix; GridDofs brings the extents
template <bool Masked, class ExecutionSpace, class Scalar, class Dofs>
void apply_fused_scatter(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Dofs dofs_u, Dofs dofs_w,
                         index_t cells, Scalar const* u, Scalar* w) {
  for_each_cell("brickwork::ElasticityOperator::apply::fused_scatter", space, cells,
                ElasticityFusedScatter<Scalar, Dofs, Masked>{CellMatrix<Scalar>(data), DofPair<Dofs>(dofs_u, dofs_w),
                                                             data.moduli, data.mask, u, w});
}

template <class Scalar>
struct FillDofTable {
  DofPair<GridDofs<Scalar>> dofs;
  std::int32_t* table;
  KOKKOS_FUNCTION void operator()(index_t e) const {
    auto const cell = dofs.cell(e);
    for (int j = 0; j < 24; ++j) table[24 * e + j] = static_cast<std::int32_t>(cell.u(j));
  }
};

/// The connectivity table [cells][24] of a grid for vectors of the given component stride; 3 strides must stay below
/// 2^31.
template <class ExecutionSpace, class Scalar>
void fill_dof_table(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t stride,
                    std::int32_t* table) {
  GridDofs<Scalar> const dofs{data, stride};
  Kokkos::parallel_for("brickwork::ElasticityOperator::dof_table", range(space, data.nx * data.ny * data.nz),
                       FillDofTable<Scalar>{DofPair<GridDofs<Scalar>>(dofs, dofs), table});
}

}  // namespace brickwork::detail
