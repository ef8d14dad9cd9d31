// SPDX-License-Identifier: BSD-3-Clause
// Kernels between and beside the operators of a multigrid cycle: transfers, first smoothing step, Krylov coefficients,
// coarse moduli and constraints.
//
// Values per fine node: restriction reads 3, prolongation reads and writes 3 and one mask byte; the coarse side adds an
// eighth of that. Coefficients of recurrences are read from device memory.
#pragma once

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

/// v = 0 on the constrained components of the listed nodes.
template <class Scalar>
struct ClearConstrained {
  index_t const* nodes;
  std::uint8_t const* mask;
  Scalar* v;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    int const fixed = mask[nodes[i]];
    for (int d = 0; d < 3; ++d)
      if ((fixed >> d) & 1) v[nodes[i] + d * stride] = 0;
  }
};

struct GatherBits {
  index_t const* nodes;
  std::uint8_t const* mask;
  std::uint8_t* bits;
  KOKKOS_FUNCTION void operator()(index_t i) const { bits[i] = mask[nodes[i]]; }
};

/// inverse = 0 where every component is constrained.
struct ClearInverse {
  index_t const* nodes;
  std::uint8_t const* mask;
  float* inverse;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    if (mask[nodes[i]] == 7) inverse[nodes[i]] = 0;
  }
};

/// b = P^T t: full weighting, the transpose of trilinear interpolation; zero on constrained components.
struct Restrict {
  NodeBox fine, coarse;
  int factor[3];
  VectorRef t, b;
  std::uint8_t const* coarse_mask;

  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const node = static_cast<std::uint32_t>(index);
    int p[3];
    coarse.position(node, p);
    // Per axis the fine nodes within reach; those outside get weight zero and a valid index, so that all loads are
    // under way at once.
    std::uint32_t at[3][3];
    float weight[3][3];
    for (int axis = 0; axis < 3; ++axis) {
      for (int o = 0; o < 3; ++o) {
        int i = factor[axis] * p[axis] + o - 1;
        // Only odd nodes lie between two coarse ones (an even neighbour: the wrap of a periodic axis of odd length).
        bool const used = fine.wrap(axis, i) && (o == 1 || (factor[axis] == 2 && (i & 1) != 0));
        weight[axis][o] = used ? (o == 1 ? 1.0f : 0.5f) : 0.0f;
        at[axis][o] = used ? static_cast<std::uint32_t>(i) : 0u;
      }
    }
    float sum[3] = {0, 0, 0};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < 3; ++k) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < 3; ++j) {
        float const row_weight = weight[1][j] * weight[2][k];
        float const* const row = t.data + fine.mx * (at[1][j] + fine.my * at[2][k]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int i = 0; i < 3; ++i) {
          float const w = row_weight * weight[0][i];
          for (int d = 0; d < 3; ++d) sum[d] += w * row[at[0][i] + d * t.stride];
        }
      }
    }
    int const fixed = coarse_mask ? coarse_mask[node] : 0;
    for (int d = 0; d < 3; ++d) b.data[node + d * b.stride] = ((fixed >> d) & 1) ? 0.0f : sum[d];
  }
};

/// z += P (c1 first + c2 second); second may be null (then first counts once). Zero on constrained components where a
/// mask is given.
struct Prolong {
  NodeBox fine, coarse;
  int factor[3];
  VectorRef first, second, z;
  float const* coefficients;
  std::uint8_t const* mask;  ///< null: constrained components are not spared

  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const node = static_cast<std::uint32_t>(index);
    int p[3];
    fine.position(node, p);
    // In x always two coarse nodes (twice the same one where the fine node lies on it), so that a warp does not part;
    // in y and z, which whole rows share, only those that are needed.
    int low[3], high[3];
    bool between[3];
    for (int axis = 0; axis < 3; ++axis) {
      between[axis] = factor[axis] == 2 && (p[axis] & 1);
      low[axis] = factor[axis] == 2 ? p[axis] / 2 : p[axis];
      high[axis] = between[axis] ? low[axis] + 1 : low[axis];
      coarse.wrap(axis, high[axis]);
    }
    float const a = second.data ? coefficients[0] : 1.0f;
    float const b = second.data ? coefficients[1] : 0.0f;
    float sum[3] = {0, 0, 0};
    for (int corner = 0; corner < 4; ++corner) {
      if (((corner & 1) && !between[1]) || ((corner & 2) && !between[2])) continue;
      auto const y = static_cast<std::uint32_t>((corner & 1) ? high[1] : low[1]);
      auto const z_row = static_cast<std::uint32_t>((corner & 2) ? high[2] : low[2]);
      std::uint32_t const row = coarse.mx * (y + coarse.my * z_row);
      std::uint32_t const from[2] = {row + static_cast<std::uint32_t>(low[0]),
                                     row + static_cast<std::uint32_t>(high[0])};
      for (int d = 0; d < 3; ++d) {
        sum[d] += a * (first.data[from[0] + d * first.stride] + first.data[from[1] + d * first.stride]);
        if (second.data)
          sum[d] += b * (second.data[from[0] + d * second.stride] + second.data[from[1] + d * second.stride]);
      }
    }
    float const weight = 0.5f * (between[1] ? 0.5f : 1.0f) * (between[2] ? 0.5f : 1.0f);
    int const fixed = mask ? mask[node] : 0;
    for (int d = 0; d < 3; ++d)
      if (((fixed >> d) & 1) == 0) z.data[node + d * z.stride] += weight * sum[d];
  }
};

/// The first step of a smoother from zero, result = b D^-1 r, after (Update) r -= step v.
template <bool Update>
struct SmoothFromZero {
  VectorRef r, v, result;
  float const* step;
  float const* inverse;  ///< per node where `factor` is set, else the six entries of a block per node
  index_t nodes;
  float b;
  float factor[3];
  bool blocks;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    float residual[3], smoothed[3];
    for (int d = 0; d < 3; ++d) {
      residual[d] = r.data[node + d * r.stride];
      if constexpr (Update) {
        residual[d] -= *step * v.data[node + d * v.stride];
        r.data[node + d * r.stride] = residual[d];
      }
    }
    if (blocks) {
      float block[6];
      for (int e = 0; e < 6; ++e) block[e] = inverse[e * nodes + node];
      symmetric_product(block, residual, smoothed);
    } else {
      float const scale = inverse[node];
      for (int d = 0; d < 3; ++d) smoothed[d] = scale * factor[d] * residual[d];
    }
    for (int d = 0; d < 3; ++d) result.data[node + d * result.stride] = b * smoothed[d];
  }
};

struct ClearVector {
  VectorRef v;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) v.data[node + d * v.stride] = 0;
  }
};

struct CopyVector {
  VectorRef from, to;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) to.data[node + d * to.stride] = from.data[node + d * from.stride];
  }
};

/// x . w and x . f
struct TwoDots {
  VectorRef x, w, f;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    float xw = 0, xf = 0;
    for (int d = 0; d < 3; ++d) {
      float const value = x.data[node + d * x.stride];
      xw += value * w.data[node + d * w.stride];
      xf += value * f.data[node + d * f.stride];
    }
    sums[0] += static_cast<double>(xw);
    sums[1] += static_cast<double>(xf);
  }
};

/// x . w, x . v and x . f
struct ThreeDots {
  VectorRef x, w, v, f;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    float xw = 0, xv = 0, xf = 0;
    for (int d = 0; d < 3; ++d) {
      float const value = x.data[node + d * x.stride];
      xw += value * w.data[node + d * w.stride];
      xv += value * v.data[node + d * v.stride];
      xf += value * f.data[node + d * f.stride];
    }
    sums[0] += static_cast<double>(xw);
    sums[1] += static_cast<double>(xv);
    sums[2] += static_cast<double>(xf);
  }
};

/// Two steps of flexible conjugate gradients from zero (Notay and Vassilevski, 2008), as coefficients of the two
/// preconditioned vectors c1 and c2: scalars[0], scalars[1] = those of c1, c2; scalars[2] = step of the first residual
/// update; sums[0], sums[1] = c1 . A c1 and c1 . b, kept for the second step.
struct KrylovScalars {
  float* scalars;
  double* sums;
};

struct FirstKrylovStep {
  KrylovScalars to;
  KOKKOS_FUNCTION void operator()(double const* dots) const {
    double const curvature = dots[0], work = dots[1];
    double const step = curvature > 0 ? work / curvature : 0;
    to.sums[0] = curvature;
    to.sums[1] = work;
    to.scalars[0] = static_cast<float>(step);
    to.scalars[1] = 0;
    to.scalars[2] = static_cast<float>(step);
  }
};

struct SecondKrylovStep {
  KrylovScalars to;
  /// dots: c2 . A c2, c2 . A c1, c2 . r
  KOKKOS_FUNCTION void operator()(double const* dots) const {
    double const first = to.sums[0], mixed = dots[1], work = dots[2];
    if (!(first > 0)) {
      to.scalars[1] = dots[0] > 0 ? static_cast<float>(work / dots[0]) : 0;
      return;
    }
    double const curvature = dots[0] - mixed * mixed / first;
    // c2 parallel to c1 up to rounding: nothing to gain.
    if (!(curvature > 1e-6 * dots[0])) return;
    double const step = work / curvature;
    to.scalars[0] = static_cast<float>(to.sums[1] / first - mixed * step / first);
    to.scalars[1] = static_cast<float>(step);
  }
};

/// Coarse moduli: the mean of the children. Beyond an ordinary end of the box they are void; the last coarse cell of a
/// periodic axis of odd length has one layer of children.
struct MeanModuli {
  float const* fine;
  float* coarse;
  index_t fine_cells[3], coarse_cells[3];
  int factor[3];
  bool periodic[3];
  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const cell = static_cast<std::uint32_t>(index);
    auto const nx = static_cast<std::uint32_t>(coarse_cells[0]), ny = static_cast<std::uint32_t>(coarse_cells[1]);
    std::uint32_t const row = cell / nx;
    index_t const c[3] = {cell - row * nx, row % ny, row / ny};
    int number = 1;
    index_t end[3];
    for (int axis = 0; axis < 3; ++axis) {
      index_t const all = factor[axis] * (c[axis] + 1);
      end[axis] = math::min(all, fine_cells[axis]);
      number *= factor[axis] - (periodic[axis] ? static_cast<int>(all - end[axis]) : 0);
    }
    float sum = 0;
    for (int o = 0; o < 8; ++o) {
      index_t child[3];
      bool real = true;
      for (int axis = 0; axis < 3; ++axis) {
        int const bit = (o >> axis) & 1;
        child[axis] = factor[axis] * c[axis] + bit;
        real = real && bit < factor[axis] && child[axis] < end[axis];
      }
      if (real) sum += fine[child[0] + fine_cells[0] * (child[1] + fine_cells[1] * child[2])];
    }
    coarse[index] = sum / static_cast<float>(number);
  }
};

/// Constraints of a coarse node: those of the fine node at its place (the box's last one where it lies beyond).
struct CoincidentMask {
  NodeBox fine, coarse;
  int factor[3];
  std::uint8_t const* from;
  std::uint8_t* to;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    int p[3];
    coarse.position(static_cast<std::uint32_t>(node), p);
    for (int axis = 0; axis < 3; ++axis) p[axis] = math::min(factor[axis] * p[axis], fine.extent(axis) - 1);
    to[node] = from[fine.index(p[0], p[1], p[2])];
  }
};

/// A constrained component that no coarse node around it has yet goes to the nearest one: a support between coarse
/// nodes must not get lost.
struct NearestMask {
  NodeBox fine, coarse;
  int factor[3];
  std::uint8_t const* from;
  std::uint8_t const* coincident;
  unsigned int* to;  ///< one word per coarse node: bits may meet
  KOKKOS_FUNCTION void operator()(index_t node) const {
    int const bits = from[node];
    if (bits == 0) return;
    int p[3];
    fine.position(static_cast<std::uint32_t>(node), p);
    int known = 0;
    for (int corner = 0; corner < 8; ++corner) {
      int c[3];
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        int const up = (corner >> axis) & 1;
        bool const between = factor[axis] == 2 && (p[axis] & 1);
        c[axis] = p[axis] / factor[axis] + (between ? up : 0);
        exists = exists && coarse.wrap(axis, c[axis]);
      }
      if (exists) known |= coincident[coarse.index(c[0], c[1], c[2])];
    }
    int const lost = bits & ~known;
    if (lost == 0) return;
    Kokkos::atomic_fetch_or(&to[coarse.index(p[0] / factor[0], p[1] / factor[1], p[2] / factor[2])],
                            static_cast<unsigned int>(lost));
  }
};

struct MergeMask {
  unsigned int const* extra;
  std::uint8_t* mask;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    mask[node] = static_cast<std::uint8_t>(mask[node] | extra[node]);
  }
};

/// Coefficients of the Chebyshev iteration of the fourth kind, step k from iterates k and k - 1, with the bound of the
/// spectrum in the inverse diagonal:
///   x_1 = x_0 + 4/3 D^-1 r_0,  x_{k+1} = x_k + (2k-1)/(2k+3) (x_k - x_{k-1}) + (8k+4)/(2k+3) D^-1 r_k
struct FourthKind {
  static float momentum(int k) { return static_cast<float>(2 * k - 1) / static_cast<float>(2 * k + 3); }
  static float weight(int k) {
    return k == 0 ? 4.0f / 3.0f : static_cast<float>(8 * k + 4) / static_cast<float>(2 * k + 3);
  }
};

/// 1 / (bound x sum of the moduli around a node), 0 where there is no stiffness, with a bound of the spectrum that
/// follows the contrast: `uniform` where the eight moduli agree, `single` (that of one cell alone) where one of them
/// is all there is. Between them it goes with ((largest / sum - 1/8) / (7/8))^0.8. Measured over uniform, random, 0/1
/// and patterned moduli, the largest eigenvalue of D^-1 A stays below 1.05 for cubes and nu <= 0.3, and below 1.2 for
/// cells of 1 : 1 : 4 or nu = 0.45 (unit_tests/solvers); degree 2 contracts up to 1.25.
KOKKOS_FORCEINLINE_FUNCTION float bounded_inverse(float const (&around)[8], float uniform, float single) {
  float sum = 0, largest = 0;
  for (int corner = 0; corner < 8; ++corner) {
    sum += around[corner];
    largest = math::max(largest, around[corner]);
  }
  float const share = sum > 0 ? math::max(largest / sum - 0.125f, 0.0f) / 0.875f : 0.0f;
  float const bound = uniform + (single - uniform) * ::powf(share, 0.8f);
  return sum > 0 ? 1 / (bound * sum) : 0.0f;
}

/// bounded_inverse() of every node.
struct BoundedInverse {
  NodeBox box;
  int cells[3];
  float const* moduli;
  float* inverse;
  float uniform, single;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    int p[3];
    box.position(static_cast<std::uint32_t>(node), p);
    float around[8];
    for (int corner = 0; corner < 8; ++corner) around[corner] = modulus_at_corner(box, cells, moduli, p, corner);
    inverse[node] = bounded_inverse(around, uniform, single);
  }
};

/// Scales the block inverses by 1 / (safety largest Ritz value) of the power iteration.
struct ScaleBlocks {
  float* inverse;
  float const* bound;
  KOKKOS_FUNCTION void operator()(index_t i) const { inverse[i] /= *bound; }
};

struct StoreBound {
  float* bound;
  double safety;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    double const quotient = sums[1] > 0 ? sums[0] / sums[1] : 1;
    *bound = static_cast<float>(safety * math::max(quotient, 1.0));
  }
};

/// A start vector for power iterations without structure (Knuth's multiplicative hash), zero where there is no
/// stiffness.
struct RandomStart {
  VectorRef x;
  float const* inverse;
  index_t nodes;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) {
      std::uint32_t h = (static_cast<std::uint32_t>(node) * 3u + static_cast<std::uint32_t>(d) + 1u) * 2654435761u;
      h ^= h >> 15;
      h *= 2246822519u;
      h ^= h >> 13;
      float const value = static_cast<float>(h >> 8) * (1.0f / 8388608.0f) - 1.0f;
      x.data[node + d * x.stride] = inverse[d * nodes + node] > 0 ? value : 0.0f;
    }
  }
};

}  // namespace brickwork::detail
