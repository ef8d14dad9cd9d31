// SPDX-License-Identifier: BSD-3-Clause
// The coarsest level of a multigrid hierarchy: its stencil as a dense matrix and the inverse of that, on the device.
//
// The matrix is scaled to a unit diagonal and inverted in place by Gauss-Jordan elimination over blocks of 32 in FP64;
// a pivot that cancels to less than 1e-6 (a component without stiffness) is left out, which gives an inverse on the
// rest. Free translations are given a stiffness for the elimination, and what it makes of them is taken out again: they
// would drown the rest in FP32. The inverse is kept in FP32: 4 n^2 bytes for n degrees of freedom.
#pragma once

#include <array>

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

inline constexpr int dense_block = 32;

/// The diagonal is raised by this much: rounding of the stencil leaves free rotations, and those of islands in void,
/// pivots of either sign up to some 1e-6, whose inverses would be noise or negative.
inline constexpr double dense_lift = 1e-5;

/// The scaled matrix; row d nodes + i is component d of node i.
///
/// The diagonal block is R - the sum of the others, as in the product: in FP64 it leaves translations no stiffness but
/// that of the lift and of StartDense. Nodes of a periodic grid may meet at several positions; one index has all of a
/// row, so that nothing meets in memory.
struct DenseFromStencil {
  StencilData stencil;
  double* matrix;  // [n][n]; added to
  int n;           // padded to whole blocks

  KOKKOS_FUNCTION double scale(std::uint32_t node, int d) const {
    double const value = stencil.diagonal[static_cast<index_t>(d) * stencil.nodes + node];
    return value > 0 ? 1 / ::sqrt(value) : 0;
  }
  KOKKOS_FUNCTION double& entry(int d, std::uint32_t node, int e, std::uint32_t other) const {
    auto const nodes = static_cast<index_t>(stencil.nodes);
    return matrix[(d * nodes + node) * n + e * nodes + other];
  }
  KOKKOS_FUNCTION index_t count() const { return 3 * static_cast<index_t>(stencil.nodes); }
  KOKKOS_FUNCTION void operator()(index_t row) const {
    auto const node = static_cast<std::uint32_t>(row % stencil.nodes);
    auto const d = static_cast<int>(row / stencil.nodes);
    double const own = scale(node, d);
    double center[3];  // symmetric, as products are to rounding only
    for (int e = 0; e < 3; ++e) {
      index_t const forth = 3 * d + e, back = 3 * e + d;
      center[e] = 0.5 * (static_cast<double>(stencil.row_sum[forth * stencil.nodes + node]) +
                         static_cast<double>(stencil.row_sum[back * stencil.nodes + node]));
    }
    center[d] += dense_lift * static_cast<double>(stencil.diagonal[row]);
    int p[3];
    stencil.box.position(node, p);
    for (int position = 0; position < 27; ++position) {
      std::uint32_t other;
      if (position == center_position || !stencil.box.neighbour(p, position, other)) continue;
      float a[9];
      stencil.load(position, node, other, a);
      for (int e = 0; e < 3; ++e) {
        entry(d, node, e, other) += own * scale(other, e) * static_cast<double>(a[3 * d + e]);
        center[e] -= 0.5 * (static_cast<double>(a[3 * d + e]) + static_cast<double>(a[3 * e + d]));
      }
    }
    for (int e = 0; e < 3; ++e) entry(d, node, e, node) += own * scale(node, e) * center[e];
  }
};

/// Inverts the diagonal block k in place and copies it to `pivot`.
template <class ExecutionSpace>
struct InvertPivot {
  using member_type = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  double* matrix;
  double* pivot;  // [32][32]
  int n, k;

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    constexpr int B = dense_block;
    auto* a = static_cast<double*>(team.team_scratch(0).get_shmem(sizeof(double) * 2 * B * B));
    double* next = a + B * B;  // one barrier per step instead of three
    auto const all = Kokkos::TeamThreadRange(team, B * B);
    auto const source = static_cast<index_t>(k) * B * n + static_cast<index_t>(k) * B;
    Kokkos::parallel_for(all, [&](int t) { a[t] = matrix[source + static_cast<index_t>(t / B) * n + t % B]; });
    team.team_barrier();
    for (int s = 0; s < B; ++s) {
      double const value = a[s * B + s];
      double const inverse = value > 1e-6 ? 1 / value : 0;
      Kokkos::parallel_for(all, [&](int t) {
        int const i = t / B, j = t % B;
        if (i == s) {
          next[t] = j == s ? inverse : a[t] * inverse;
        } else {
          double const factor = a[i * B + s] * inverse;
          next[t] = j == s ? -factor : a[t] - factor * a[s * B + j];
        }
      });
      team.team_barrier();
      double* const swapped = a;
      a = next;
      next = swapped;
    }
    Kokkos::parallel_for(all, [&](int t) { pivot[t] = a[t]; });
  }
};

/// rows[32][n] = pivot A[k][:]; columns[n][32] = A[:][k]. One team per block.
template <class ExecutionSpace>
struct PivotPanels {
  using member_type = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  double const* matrix;
  double const* pivot;
  double* rows;
  double* columns;
  int n, k;

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    constexpr int B = dense_block;
    int const block = team.league_rank();
    auto const source = static_cast<index_t>(k) * B * n + static_cast<index_t>(block) * B;
    auto const below = static_cast<index_t>(block) * B * n + static_cast<index_t>(k) * B;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, B * B), [&](int t) {
      int const i = t / B, j = t % B;
      double sum = 0;
      for (int m = 0; m < B; ++m) sum += pivot[i * B + m] * matrix[source + static_cast<index_t>(m) * n + j];
      rows[static_cast<index_t>(i) * n + block * B + j] = sum;
      columns[static_cast<index_t>(block) * B * B + t] = matrix[below + static_cast<index_t>(i) * n + j];
    });
  }
};

/// The elimination of block k from every other block. One team per block.
template <class ExecutionSpace>
struct EliminateBlock {
  using member_type = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  double* matrix;
  double const* pivot;
  double const* rows;
  double const* columns;
  int n, k, blocks;

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    constexpr int B = dense_block;
    int const bi = team.league_rank() / blocks, bj = team.league_rank() % blocks;
    auto* const left = static_cast<double*>(team.team_scratch(0).get_shmem(sizeof(double) * 2 * B * B));
    double* const right = left + B * B;
    auto const all = Kokkos::TeamThreadRange(team, B * B);
    auto const target = static_cast<index_t>(bi) * B * n + static_cast<index_t>(bj) * B;
    if (bi == k) {
      Kokkos::parallel_for(all, [&](int t) {
        matrix[target + static_cast<index_t>(t / B) * n + t % B] =
            bj == k ? pivot[t] : rows[static_cast<index_t>(t / B) * n + bj * B + t % B];
      });
      return;
    }
    Kokkos::parallel_for(all, [&](int t) {
      left[t] = columns[static_cast<index_t>(bi) * B * B + t];
      right[t] = bj == k ? pivot[t] : rows[static_cast<index_t>(t / B) * n + bj * B + t % B];
    });
    team.team_barrier();
    // Four rows of a column share the loads of the right factor.
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, B * B / 4), [&](int t) {
      int const i = t / B, j = t % B;
      double sum[4] = {0, 0, 0, 0};
      for (int m = 0; m < B; ++m) {
        double const factor = right[m * B + j];
        for (int r = 0; r < 4; ++r) sum[r] += left[(i + r * B / 4) * B + m] * factor;
      }
      for (int r = 0; r < 4; ++r) {
        double& entry = matrix[target + static_cast<index_t>(i + r * B / 4) * n + j];
        entry = bj == k ? -sum[r] : entry - sum[r];
      }
    });
  }
};

/// The sum of the diagonal of each component, one team each.
template <class ExecutionSpace>
struct SumDiagonal {
  using member_type = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  StencilData stencil;
  double* sums;  // [3]
  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    float const* const diagonal = stencil.diagonal + static_cast<index_t>(team.league_rank()) * stencil.nodes;
    double sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, static_cast<int>(stencil.nodes)),
        [&](int node, double& all) { all += static_cast<double>(diagonal[node]); }, sum);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { sums[team.league_rank()] = sum; });
  }
};

/// Zero, and D e (D e)^T / (e^T D e) in scaled form where the translation e of a component is free.
struct StartDense {
  DenseFromStencil dense;
  double const* sums;
  bool free[3];
  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const nodes = static_cast<index_t>(dense.stencil.nodes);
    index_t const row = index / dense.n, column = index % dense.n, d = row / nodes;
    double value = 0;
    if (d < 3 && d == column / nodes && free[d]) {
      float const* const diagonal = dense.stencil.diagonal;
      double const product = static_cast<double>(diagonal[row]) * static_cast<double>(diagonal[column]);
      // Components without stiffness stay out.
      if (product > 0) value = ::sqrt(product) / sums[d];
    }
    dense.matrix[index] = value;
  }
};

/// The inverse in FP32. Where the translation e of a component is free, StartDense and the lift have made it
/// (1 + lift) D e, so that the inverse holds e e^T / ((1 + lift) e^T D e), which is taken out: a residual with a mean
/// (rounding, if the load is balanced) gets the displacement of its balanced rest, the excess being taken from each
/// node by its share of the stiffness.
struct StoreInverse {
  DenseFromStencil dense;
  double const* sums;
  float* inverse;  // [dofs][n]
  bool free[3];
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const row = index / dense.n, column = index % dense.n;
    auto const nodes = static_cast<index_t>(dense.stencil.nodes);
    double value = 0;
    if (column < 3 * nodes) {
      auto const d = static_cast<int>(row / nodes), e = static_cast<int>(column / nodes);
      double const scale = dense.scale(static_cast<std::uint32_t>(row % nodes), d) *
                           dense.scale(static_cast<std::uint32_t>(column % nodes), e);
      value = dense.matrix[index] * scale;
      if (d == e && free[d] && scale > 0) value -= 1 / ((1 + dense_lift) * sums[d]);
    }
    inverse[index] = static_cast<float>(value);
  }
};

/// x = A^-1 b, one team per row.
template <class ExecutionSpace>
struct DenseSolve {
  using member_type = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  float const* inverse;
  VectorRef b, x;
  int nodes, n;
  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    int const row = team.league_rank();
    float sum = 0;
    for (int d = 0; d < 3; ++d) {
      float part = 0;
      float const* const entries = inverse + static_cast<index_t>(row) * n + d * nodes;
      float const* const values = b.data + d * b.stride;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, nodes), [&](int i, float& all) { all += entries[i] * values[i]; }, part);
      sum += part;
    }
    Kokkos::single(Kokkos::PerTeam(team), [&]() { x.data[row % nodes + (row / nodes) * x.stride] = sum; });
  }
};

template <class ExecutionSpace>
class DenseInverse {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  static constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;

  DenseInverse() = default;
  /// \param free  components without a constraint anywhere: a translation along them is no deformation
  DenseInverse(ExecutionSpace const& space, StencilData const& stencil, std::array<bool, 3> const& free)
      : stencil_(stencil), free_(free), n_(padded(stencil.nodes)) {
    auto const n = static_cast<index_t>(n_);
    matrix_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::DenseInverse::matrix", n * n);
    panels_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::DenseInverse::panels",
                                                            2 * n * dense_block + dense_block * dense_block);
    sums_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::DenseInverse::sums", 3);
    inverse_ =
        allocate<Kokkos::View<float*, memory_space>>(space, "brickwork::DenseInverse::inverse", 3 * stencil.nodes * n);
  }

  static index_t bytes(index_t nodes) {
    index_t const n = padded(static_cast<std::uint32_t>(nodes));
    return 8 * n * n + 8 * (2 * n * dense_block + dense_block * dense_block + 3) + 4 * 3 * nodes * n;
  }

  /// Inverts the stencil's present matrix. Asynchronous.
  void update(ExecutionSpace const& space) {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    DenseFromStencil const dense{stencil_, matrix_.data(), n_};
    auto const n = static_cast<index_t>(n_);
    Kokkos::parallel_for("brickwork::DenseInverse::sums", Policy(space, 3, on_host ? 1 : 128),
                         SumDiagonal<ExecutionSpace>{stencil_, sums_.data()});
    Kokkos::parallel_for("brickwork::DenseInverse::start", range(space, n * n),
                         StartDense{dense, sums_.data(), {free_[0], free_[1], free_[2]}});
    Kokkos::parallel_for("brickwork::DenseInverse::assemble", range(space, dense.count()), dense);
    int const blocks = n_ / dense_block;
    constexpr int threads = on_host ? 1 : 256;
    double* const pivot = panels_.data();
    double* const rows = pivot + dense_block * dense_block;
    double* const columns = rows + n * dense_block;
    for (int k = 0; k < blocks; ++k) {
      Policy one(space, 1, threads);
      one.set_scratch_size(0, Kokkos::PerTeam(int(sizeof(double)) * 2 * dense_block * dense_block + 8));
      Kokkos::parallel_for("brickwork::DenseInverse::pivot", one,
                           InvertPivot<ExecutionSpace>{matrix_.data(), pivot, n_, k});
      Kokkos::parallel_for("brickwork::DenseInverse::panels", Policy(space, blocks, threads),
                           PivotPanels<ExecutionSpace>{matrix_.data(), pivot, rows, columns, n_, k});
      Policy tiles(space, blocks * blocks, threads);
      tiles.set_scratch_size(0, Kokkos::PerTeam(int(sizeof(double)) * 2 * dense_block * dense_block + 8));
      Kokkos::parallel_for("brickwork::DenseInverse::eliminate", tiles,
                           EliminateBlock<ExecutionSpace>{matrix_.data(), pivot, rows, columns, n_, k, blocks});
    }
    Kokkos::parallel_for("brickwork::DenseInverse::store", range(space, dense.count() * n),
                         StoreInverse{dense, sums_.data(), inverse_.data(), {free_[0], free_[1], free_[2]}});
  }

  void solve(ExecutionSpace const& space, VectorRef b, VectorRef x) const {
    auto const nodes = static_cast<int>(stencil_.nodes);
    Kokkos::parallel_for("brickwork::DenseInverse::solve",
                         Kokkos::TeamPolicy<ExecutionSpace>(space, 3 * nodes, on_host ? 1 : 64),
                         DenseSolve<ExecutionSpace>{inverse_.data(), b, x, nodes, n_});
  }

 private:
  static int padded(std::uint32_t nodes) {
    return (static_cast<int>(3 * nodes) + dense_block - 1) / dense_block * dense_block;
  }

  StencilData stencil_;
  std::array<bool, 3> free_{};
  int n_ = 0;
  Kokkos::View<double*, memory_space> matrix_, panels_, sums_;
  Kokkos::View<float*, memory_space> inverse_;
};

}  // namespace brickwork::detail
