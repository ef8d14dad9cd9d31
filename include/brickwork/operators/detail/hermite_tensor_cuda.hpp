// SPDX-License-Identifier: BSD-3-Clause
// HermiteCellOperator on FP64 tensor cores (mma m8n8k4, compute capability 8.0 and above), blocked layout.
//
// A warp has one block of 32 cells, in two halves of 16; rows of the fragments are cells, columns a sector's eight
// unknowns. Sectors of eight unknowns: all three axes split (Dim = 3, eight sectors), or x alone (Dim = 2, two).
// Lane l has row l / 4, that is cells 2 (l / 4) and 2 (l / 4) + 1 of the half, and of a sector the two unknowns 2 q and
// 2 q + 1 of its quarter q = l % 4. With the unknowns of a sector numbered x fastest, what a quarter has in all sectors
// are
//
//   Dim = 3   the 16 unknowns with derivatives (y, z) of the bits of q: both kinds in x at all eight corners
//   Dim = 2   the 4 unknowns of the line i_y = q
//
// so butterflies stay inside a lane, and since the columns of a product may be numbered freely, a lane gets as results
// what it gave as operands: no exchange between lanes, no shared memory. Each value moves once, 16 bytes (two cells)
// per access, 128 adjacent bytes for the eight rows. A sector costs two mma per eight cells (k = 8 in two steps, step t
// takes unknown 2 q + t), its block two registers of doubles per lane, held for the whole warp.
//
// Per cell 2 x 8 x 4^Dim bytes, 512 multiply-adds on tensor cores and 384 additions for Dim = 3. Bitwise repeatable.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", section 4 (fragments), which stops at two
// axes.
#pragma once

#include "brickwork/core/config.hpp"
#include "brickwork/operators/detail/hermite_cell_kernels.hpp"

/// 1 where FP64 fragments are compiled: nvcc, compute capability 8.0 or more.
#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__) && BRICKWORK_CUDA_ARCH >= 80
#define BRICKWORK_FP64_FRAGMENTS() 1
#else
#define BRICKWORK_FP64_FRAGMENTS() 0
#endif

#if BRICKWORK_FP64_FRAGMENTS()

namespace brickwork::detail {

template <int Dim>
struct TensorSectors {
  static constexpr unsigned axes = Dim == 3 ? 7 : 1;
  static constexpr int count = Dim == 3 ? 8 : 2;
  static constexpr int values = 2 * count;  ///< of a cell that one lane has

  /// Unknown of the cell that is value v of a quarter, and in butterflies over the lane's values, the same with q = 0:
  /// Dim = 3: v = i_x + 4 n_y + 8 n_z, Dim = 2: v = i_x.
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int unknown(int quarter, int v) {
    return Dim == 3 ? (v & 3) + 4 * (2 * ((v >> 2) & 1) + (quarter & 1)) + 16 * (2 * (v >> 3) + (quarter >> 1))
                    : v + 4 * quarter;
  }
};

/// d = a b + c for one 8 x 8 x 4 tile.
KOKKOS_FORCEINLINE_FUNCTION void mma_fp64(double (&sum)[2], double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(sum[0]), "+d"(sum[1])
      : "d"(a), "d"(b));
#else
  (void)sum, (void)a, (void)b;
#endif
}

KOKKOS_FORCEINLINE_FUNCTION void exchange_parities(double& lower, double& upper, bool derivative, bool transposed) {
  double const sum = lower + upper;
  double const difference = derivative && transposed ? upper - lower : lower - upper;
  lower = derivative && !transposed ? difference : sum;
  upper = derivative && !transposed ? sum : difference;
}

/// Butterflies over a lane's values: in x between v and v + 2, in y and z between v and v + 4, v + 8.
template <int Dim, bool transposed>
KOKKOS_FORCEINLINE_FUNCTION void lane_butterfly(double (&u)[TensorSectors<Dim>::values], int quarter) {
  constexpr int values = TensorSectors<Dim>::values;
  BRICKWORK_UNROLL_ALL
  for (int v = 0; v < values; ++v)
    if ((v & 2) == 0) exchange_parities(u[v], u[v + 2], v & 1, transposed);
  if constexpr (Dim == 3) {
    BRICKWORK_UNROLL_ALL
    for (int d = 1; d < 3; ++d) {
      bool const derivative = (quarter >> (d - 1)) & 1;
      BRICKWORK_UNROLL_ALL
      for (int v = 0; v < values; ++v)
        if ((v & (2 << d)) == 0) exchange_parities(u[v], u[v + (2 << d)], derivative, transposed);
    }
  }
}

/// Index = 32 times the block plus the lane: needs whole warps of successive indices.
template <int Dim, bool residual>
struct TensorKernel {
  using Sectors = TensorSectors<Dim>;
  double const* blocks;  ///< of the sectors, row-major
  double const* KOKKOS_RESTRICT u;
  double const* f;  ///< may be w
  double* w;

  KOKKOS_FUNCTION void operator()(index_t index) const {
#if defined(__CUDA_ARCH__)
    int const lane = static_cast<int>(index % 32), row = lane / 4, quarter = lane % 4;
    double b[Sectors::count][2];
    BRICKWORK_UNROLL_ALL
    for (int s = 0; s < Sectors::count; ++s) {
      BRICKWORK_UNROLL_ALL
      for (int t = 0; t < 2; ++t) b[s][t] = blocks[64 * s + 8 * row + 2 * quarter + t];
    }
    for (int half = 0; half < 2; ++half) {
      index_t const first = index / 32 * cell_block * (1 << 2 * Dim) + 16 * half + 2 * row;
      double x[2][Sectors::values];
      BRICKWORK_UNROLL_ALL
      for (int v = 0; v < Sectors::values; ++v) {
        auto const pair = *reinterpret_cast<double2 const*>(u + first + cell_block * Sectors::unknown(quarter, v));
        x[0][v] = pair.x;
        x[1][v] = pair.y;
      }
      BRICKWORK_UNROLL_ALL
      for (int c = 0; c < 2; ++c) {
        lane_butterfly<Dim, false>(x[c], quarter);
        BRICKWORK_UNROLL_ALL
        for (int s = 0; s < Sectors::count; ++s) {
          // Parity p_x of the sector is bit 1 of the place, the others follow it.
          int const place = (s & 1) * 2 + (s >> 1) * 4;
          double sum[2] = {0, 0};
          mma_fp64(sum, x[c][place], b[s][0]);
          mma_fp64(sum, x[c][place + 1], b[s][1]);
          x[c][place] = sum[0];
          x[c][place + 1] = sum[1];
        }
        lane_butterfly<Dim, true>(x[c], quarter);
      }
      BRICKWORK_UNROLL_ALL
      for (int v = 0; v < Sectors::values; ++v) {
        index_t const at = first + cell_block * Sectors::unknown(quarter, v);
        double2 pair = make_double2(x[0][v], x[1][v]);
        if constexpr (residual) {
          auto const minuend = *reinterpret_cast<double2 const*>(f + at);
          pair = make_double2(minuend.x - pair.x, minuend.y - pair.y);
        }
        *reinterpret_cast<double2*>(w + at) = pair;
      }
    }
#else
    (void)index;
#endif
  }
};

/// \param sectors  the blocks of hermite_sectors(element, TensorSectors<Dim>::axes), on the device
template <int Dim>
void launch_tensor_cores(Kokkos::Cuda const& space, double const* sectors, index_t blocks, double const* u,
                         double const* f, double* w) {
  char const* const label = "brickwork::HermiteCellOperator::apply::tensor_core";
  using Policy = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<index_t>, Kokkos::LaunchBounds<128, 3>>;
  Policy const policy(space, index_t(0), 32 * blocks);
  if (f == nullptr) {
    Kokkos::parallel_for(label, policy, TensorKernel<Dim, false>{sectors, u, f, w});
  } else {
    Kokkos::parallel_for(label, policy, TensorKernel<Dim, true>{sectors, u, f, w});
  }
}

}  // namespace brickwork::detail

#endif
