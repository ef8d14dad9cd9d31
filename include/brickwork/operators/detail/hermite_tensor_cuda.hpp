// SPDX-License-Identifier: BSD-3-Clause
// HermiteCellOperator on FP64 tensor cores (mma m8n8k4, compute capability 8.0 and above), blocked layout.
//
// A warp has one block of 32 cells, in two halves of 16; rows of the fragments are cells, columns a sector's unknowns.
// Lane l has row l / 4, that is cells 2 (l / 4) and 2 (l / 4) + 1 of the half, and of every sector the unknowns of its
// quarter q = l % 4:
//
//   three axes split, eight sectors of 8      the 16 unknowns with derivatives (y, z) of the bits of q: both kinds in x
//                                             at all eight corners; two per sector
//   two axes, x and y, four sectors of 16     the 16 unknowns of the layer i_z = q; four per sector
//   Dim = 2: one axis, x, two sectors of 8    the 4 unknowns of the line i_y = q; two per sector
//
// so butterflies stay inside a lane, and since the columns of a product may be numbered freely, a lane gets as results
// what it gave as operands: no exchange between lanes, no shared memory. Each value moves once, 16 bytes (two cells)
// per access, 128 adjacent bytes for the eight rows. With n unknowns per lane and sector, a sector costs n n / 2 mma
// per eight cells (k = 4 n in n steps, step t takes each quarter's unknown t; n / 2 tiles of eight columns), its block
// as many values per lane: held in registers for the whole warp where they are few, else read at each use.
//
// Per cell 2 x 8 x 4^Dim bytes; for Dim = 3 on tensor cores 512 multiply-adds with three axes, 1024 with two, beside
// 384 and 256 additions. Bitwise repeatable.
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

/// Butterflies between values v and v + `distance` of a lane, where that bit of v is not set. \param derivative  of v
template <bool transposed, int distance, int values, class Derivative>
KOKKOS_FORCEINLINE_FUNCTION void lane_butterfly(double (&u)[values], Derivative const& derivative) {
  BRICKWORK_UNROLL_ALL
  for (int v = 0; v < values; ++v)
    if ((v & distance) == 0) exchange_parities(u[v], u[v + distance], derivative(v), transposed);
}

/// What a lane has of the sectors with these axes split (bit d: axis d).
template <int Dim, unsigned axes>
struct TensorSectors;

template <>
struct TensorSectors<3, 7> {
  static constexpr int count = 8;  ///< of sectors
  static constexpr int own = 2;    ///< unknowns of a sector that one lane has
  static constexpr int values = 16;

  /// Unknown of the cell that is value v = i_x + 4 n_y + 8 n_z of a quarter.
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int unknown(int quarter, int v) {
    return (v & 3) + 4 * (2 * ((v >> 2) & 1) + (quarter & 1)) + 16 * (2 * (v >> 3) + (quarter >> 1));
  }
  /// Where a lane's unknown t of a sector stands among its values: the parity in x is bit 1, the others follow it.
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int place(int sector, int t) {
    return (sector & 1) * 2 + (sector >> 1) * 4 + t;
  }
  template <bool transposed>
  static KOKKOS_FORCEINLINE_FUNCTION void butterfly(double (&u)[values], int quarter) {
    lane_butterfly<transposed, 2>(u, [](int v) { return (v & 1) != 0; });
    lane_butterfly<transposed, 4>(u, [quarter](int) { return (quarter & 1) != 0; });
    lane_butterfly<transposed, 8>(u, [quarter](int) { return (quarter >> 1) != 0; });
  }
};

template <>
struct TensorSectors<3, 3> {
  static constexpr int count = 4, own = 4, values = 16;

  /// v = i_x + 4 i_y
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int unknown(int quarter, int v) { return v + 16 * quarter; }
  /// Parities in x and y are bits 1 and 3, the derivatives of unknown t bits 0 and 2.
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int place(int sector, int t) {
    return (sector & 1) * 2 + (sector >> 1) * 8 + (t & 1) + (t >> 1) * 4;
  }
  template <bool transposed>
  static KOKKOS_FORCEINLINE_FUNCTION void butterfly(double (&u)[values], int) {
    lane_butterfly<transposed, 2>(u, [](int v) { return (v & 1) != 0; });
    lane_butterfly<transposed, 8>(u, [](int v) { return (v & 4) != 0; });
  }
};

template <>
struct TensorSectors<2, 1> {
  static constexpr int count = 2, own = 2, values = 4;

  /// v = i_x
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int unknown(int quarter, int v) { return v + 4 * quarter; }
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int place(int sector, int t) { return sector * 2 + t; }
  template <bool transposed>
  static KOKKOS_FORCEINLINE_FUNCTION void butterfly(double (&u)[values], int) {
    lane_butterfly<transposed, 2>(u, [](int v) { return (v & 1) != 0; });
  }
};

/// Index = 32 times the block plus the lane: needs whole warps of successive indices.
template <int Dim, unsigned axes, bool residual>
struct TensorKernel {
  using Sectors = TensorSectors<Dim, axes>;
  static constexpr int own = Sectors::own, size = 4 * own, tiles = own / 2;
  /// Few enough to stay in registers; others come from the first-level cache at each use.
  static constexpr bool held = own == 2;
  double const* KOKKOS_RESTRICT fragments;  ///< fragment_blocks()
  double const* KOKKOS_RESTRICT u;
  double const* f;  ///< may be w
  double* w;

  KOKKOS_FUNCTION void operator()(index_t index) const {
#if defined(__CUDA_ARCH__)
    int const lane = static_cast<int>(index % 32), row = lane / 4, quarter = lane % 4;
    constexpr int fragment_count = Sectors::count * tiles * own;
    double b[held ? fragment_count : 1];
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < fragment_count && held; ++i) b[i] = fragments[32 * i + lane];
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
      for (int c = 0; c < 2; ++c) Sectors::template butterfly<false>(x[c], quarter);
      BRICKWORK_UNROLL_ALL
      for (int s = 0; s < Sectors::count; ++s) {
        double sum[2][tiles][2] = {};
        BRICKWORK_UNROLL_ALL
        for (int n = 0; n < tiles; ++n) {
          BRICKWORK_UNROLL_ALL
          for (int t = 0; t < own; ++t) {
            int const i = (s * tiles + n) * own + t;
            double entry;
            if constexpr (held) {
              entry = b[i];
            } else {
              entry = fragments[32 * i + lane];
            }
            BRICKWORK_UNROLL_ALL
            for (int c = 0; c < 2; ++c) mma_fp64(sum[c][n], x[c][Sectors::place(s, t)], entry);
          }
        }
        BRICKWORK_UNROLL_ALL
        for (int c = 0; c < 2; ++c) {
          BRICKWORK_UNROLL_ALL
          for (int t = 0; t < own; ++t) x[c][Sectors::place(s, t)] = sum[c][t / 2][t % 2];
        }
      }
      BRICKWORK_UNROLL_ALL
      for (int c = 0; c < 2; ++c) Sectors::template butterfly<true>(x[c], quarter);
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

/// The blocks of a matrix' sectors in the order of TensorKernel: entry 32 i + lane is what a lane has of fragment
/// i = (sector, tile n, step t). Columns of tile n are of each quarter the unknowns 2 n and 2 n + 1.
template <int Dim, unsigned axes>
std::vector<double> fragment_blocks(std::vector<double> const& element) {
  auto const sectors = hermite_sectors<Dim>(element, axes);
  constexpr int own = TensorSectors<Dim, axes>::own;
  std::vector<double> entries;
  for (int s = 0; s < TensorSectors<Dim, axes>::count; ++s)
    for (int n = 0; n < own / 2; ++n)
      for (int t = 0; t < own; ++t)
        for (int lane = 0; lane < 32; ++lane)
          entries.push_back(sectors(s, lane / 8 * own + 2 * n + lane / 4 % 2, lane % 4 * own + t));
  return entries;
}

/// \param fragments  fragment_blocks(), on the device
template <int Dim, unsigned axes>
void launch_tensor_cores(char const* label, Kokkos::Cuda const& space, double const* fragments, index_t blocks,
                         double const* u, double const* f, double* w) {
  using Policy = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<index_t>, Kokkos::LaunchBounds<128, 3>>;
  Policy const policy(space, index_t(0), 32 * blocks);
  if (f == nullptr) {
    Kokkos::parallel_for(label, policy, TensorKernel<Dim, axes, false>{fragments, u, f, w});
  } else {
    Kokkos::parallel_for(label, policy, TensorKernel<Dim, axes, true>{fragments, u, f, w});
  }
}

}  // namespace brickwork::detail

#endif
