// SPDX-License-Identifier: BSD-3-Clause
// Kernels of HermiteCellOperator on the blocked layout: w = A u, or w = f - A u, for every cell by itself.
//
// A thread has one cell (on the host a pack of adjacent cells, so that the same body is vector code) and keeps all its
// 4^Dim values in registers. A warp is a block of the layout, so that each value is one access to 256 adjacent bytes.
// Per cell 2 x 8 x 4^Dim bytes (1024 for Dim = 3; 1536 for a residual). No sums across threads: bitwise repeatable.
//
// The bodies get `load(i)` and `store(i, value)`:
//   TableProduct   rows from a table in memory, the same for all threads
//   EvenOdd        butterflies in place, then the blocks (symmetric: the upper triangles), then butterflies back. The
//                  coefficients are members of the functor at addresses known to the compiler: on a GPU operands of the
//                  multiply-adds themselves, from constant memory. A table in memory would have to write 32 copies of
//                  each coefficient into registers, which alone takes longer than moving u and w.
//   Dense          EvenOdd's coefficients without a split axis; four rows at a time
//   Diagonalized   one part after the other, six contractions in place each. The second part reads u again and adds to
//                  what the first wrote, both out of the caches: two sets of values would not fit the registers.
//   TensorCores    see hermite_tensor_cuda.hpp
//
// Operations: hermite_operations(). Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", section
// 4 (its kernels run on tensor cores).
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/core/simd.hpp"
#include "brickwork/core/unroll.hpp"
#include "brickwork/fem/hermite_parity.hpp"

namespace brickwork::detail {

/// Cells of a block of the layout.
inline constexpr int cell_block = 32;

/// The values of one cell, or of adjacent ones: unknown i stands cell_block values after unknown i - 1.
struct CellSource {
  double const* KOKKOS_RESTRICT from;
  KOKKOS_FORCEINLINE_FUNCTION Pack<double> operator()(int i) const { return load_pack(from + i * cell_block); }
  /// The same values, which a compiler for devices has to read again: it would keep them all in registers otherwise.
  KOKKOS_FORCEINLINE_FUNCTION CellSource again() const {
    CellSource source = *this;
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(source.from));
#endif
    return source;
  }
};
struct ProductSink {
  double* to;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(int i, Pack<double> const& value) const {
    store_pack(to + i * cell_block, value);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(int i, Pack<double> const& value) const {
    store_pack(to + i * cell_block, load_pack(to + i * cell_block) + value);
  }
};
struct ResidualSink {
  double const* minuend;
  double* to;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(int i, Pack<double> const& value) const {
    store_pack(to + i * cell_block, load_pack(minuend + i * cell_block) - value);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(int i, Pack<double> const& value) const {
    store_pack(to + i * cell_block, load_pack(to + i * cell_block) - value);
  }
};

template <int Dim>
struct TableProduct {
  static constexpr int unknowns = 1 << 2 * Dim;
  double const* table;

  template <class Source, class Sink>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Source const& load, Sink const& store) const {
    Pack<double> u[unknowns];
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) u[i] = load(i);
    for (int row = 0; row < unknowns; ++row) {
      double const* const a = table + row * unknowns;
      Pack<double> even = a[0] * u[0], odd = a[1] * u[1];
      BRICKWORK_UNROLL_ALL
      for (int j = 2; j < unknowns; j += 2) {
        even += a[j] * u[j];
        odd += a[j + 1] * u[j + 1];
      }
      store(row, even + odd);
    }
  }
};

/// Place of entry (i, j) of a symmetric matrix among its upper triangle's.
KOKKOS_FORCEINLINE_FUNCTION constexpr int triangle(int i, int j) {
  return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

/// The upper triangles of the blocks.
template <int Dim, unsigned axes>
struct SectorCoefficients {
  static constexpr int unknowns = 1 << 2 * Dim;
  static constexpr int count = 1 << ((axes & 1) + ((axes >> 1) & 1) + ((axes >> 2) & 1));
  static constexpr int size = unknowns / count;
  double value[count][size * (size + 1) / 2];

  explicit SectorCoefficients(std::vector<double> const& element) {
    auto const sectors = hermite_sectors<Dim>(element, axes);
    for (int s = 0; s < count; ++s)
      for (int j = 0; j < size; ++j)
        for (int i = 0; i <= j; ++i) value[s][triangle(i, j)] = sectors(s, i, j);
  }
};

template <int Dim, unsigned axes>
struct EvenOdd {
  SectorCoefficients<Dim, axes> coefficients;

  template <class Source, class Sink>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Source const& load, Sink const& store) const {
    using Sectors = SectorCoefficients<Dim, axes>;
    Pack<double> u[Sectors::unknowns];
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < Sectors::unknowns; ++i) u[i] = load(i);
    hermite_butterfly<Dim, axes, false>(u);
    BRICKWORK_UNROLL_ALL
    for (int s = 0; s < Sectors::count; ++s) {
      Pack<double> sum[Sectors::size];
      BRICKWORK_UNROLL_ALL
      for (int j = 0; j < Sectors::size; ++j) {
        Pack<double> const in = u[hermite_sector_slot<Dim>(axes, s, j)];
        BRICKWORK_UNROLL_ALL
        for (int i = 0; i < Sectors::size; ++i) {
          double const a = coefficients.value[s][triangle(i, j)];
          sum[i] = j == 0 ? a * in : sum[i] + a * in;
        }
      }
      BRICKWORK_UNROLL_ALL
      for (int i = 0; i < Sectors::size; ++i) u[hermite_sector_slot<Dim>(axes, s, i)] = sum[i];
    }
    hermite_butterfly<Dim, axes, true>(u);
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < Sectors::unknowns; ++i) store(i, u[i]);
  }
};

template <int Dim>
struct Dense {
  SectorCoefficients<Dim, 0> coefficients;

  template <class Source, class Sink>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Source const& load, Sink const& store) const {
    constexpr int unknowns = 1 << 2 * Dim, rows = 4;
    Pack<double> u[unknowns];
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) u[i] = load(i);
    BRICKWORK_UNROLL_ALL
    for (int first = 0; first < unknowns; first += rows) {
      Pack<double> sum[rows];
      BRICKWORK_UNROLL_ALL
      for (int j = 0; j < unknowns; ++j) {
        BRICKWORK_UNROLL_ALL
        for (int r = 0; r < rows; ++r) {
          double const a = coefficients.value[0][triangle(first + r, j)];
          sum[r] = j == 0 ? a * u[j] : sum[r] + a * u[j];
        }
      }
      BRICKWORK_UNROLL_ALL
      for (int r = 0; r < rows; ++r) store(first + r, sum[r]);
    }
  }
};

template <int Dim>
struct Diagonalized {
  static constexpr int unknowns = 1 << 2 * Dim;
  double transform[2][Dim][4][4];
  double diagonal[2][unknowns];

  explicit Diagonalized(HermiteDiagonalization<Dim> const& split) {
    int part = 0;
    for (auto const* from : {&split.gradient, &split.bending}) {
      for (int d = 0; d < Dim; ++d)
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) transform[part][d][i][j] = from->transform[d][i][j];
      for (int i = 0; i < unknowns; ++i) diagonal[part][i] = from->diagonal[i];
      ++part;
    }
  }

  /// F or F^T of one axis, in place.
  template <bool transposed>
  KOKKOS_FORCEINLINE_FUNCTION static void contract(double const (&f)[4][4], int axis, Pack<double> (&p)[unknowns]) {
    BRICKWORK_UNROLL_ALL
    for (int first = 0; first < unknowns; ++first) {
      int const stride = 1 << 2 * axis;
      if ((first / stride) % 4 != 0) continue;
      Pack<double> in[4];
      BRICKWORK_UNROLL_ALL
      for (int j = 0; j < 4; ++j) in[j] = p[first + j * stride];
      BRICKWORK_UNROLL_ALL
      for (int i = 0; i < 4; ++i) {
        Pack<double> sum = (transposed ? f[0][i] : f[i][0]) * in[0];
        BRICKWORK_UNROLL_ALL
        for (int j = 1; j < 4; ++j) sum += (transposed ? f[j][i] : f[i][j]) * in[j];
        p[first + i * stride] = sum;
      }
    }
  }

  template <int part, class Source>
  KOKKOS_FORCEINLINE_FUNCTION void product(Source const& load, Pack<double> (&p)[unknowns]) const {
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) p[i] = load(i);
    BRICKWORK_UNROLL_ALL
    for (int axis = 0; axis < Dim; ++axis) contract<false>(transform[part][axis], axis, p);
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) p[i] *= diagonal[part][i];
    BRICKWORK_UNROLL_ALL
    for (int axis = 0; axis < Dim; ++axis) contract<true>(transform[part][axis], axis, p);
  }

  template <class Source, class Sink>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Source const& load, Sink const& store) const {
    Pack<double> p[unknowns];
    product<0>(load, p);
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) store(i, p[i]);
    product<1>(load.again(), p);
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) store.add(i, p[i]);
  }
};

/// A body on every cell of a vector, pack by pack. f = nullptr where residual is false.
template <int Dim, class Body, bool residual>
struct CellKernel {
  Body body;
  double const* u;
  double const* f;
  double* w;

  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const cell = index * pack_width<double>;
    index_t const offset = cell / cell_block * cell_block * (1 << 2 * Dim) + cell % cell_block;
    if constexpr (residual) {
      body(CellSource{u + offset}, ResidualSink{f + offset, w + offset});
    } else {
      body(CellSource{u + offset}, ProductSink{w + offset});
    }
  }
};

template <int Dim, class ExecutionSpace, class Body>
void launch_cells(char const* label, ExecutionSpace const& space, Body const& body, index_t blocks, double const* u,
                  double const* f, double* w) {
  // 128 threads, two of such blocks on a processor: up to 255 registers each.
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<index_t>, Kokkos::LaunchBounds<128, 2>>;
  Policy const policy(space, index_t(0), blocks * (cell_block / pack_width<double>));
  if (f == nullptr) {
    Kokkos::parallel_for(label, policy, CellKernel<Dim, Body, false>{body, u, f, w});
  } else {
    Kokkos::parallel_for(label, policy, CellKernel<Dim, Body, true>{body, u, f, w});
  }
}

}  // namespace brickwork::detail
