// SPDX-License-Identifier: BSD-3-Clause
// The coarsest level of a multigrid hierarchy: its stencil as a dense matrix and the inverse of that, on the device.
//
// The matrix is scaled to a unit diagonal and inverted in place by Gauss-Jordan elimination over blocks of 32 in FP64;
// a pivot that cancels to less than 1e-6 (a free rigid motion, a component without stiffness) is left out, which gives
// an inverse on the rest. The inverse is kept in FP32: 4 n^2 bytes for n degrees of freedom.
#pragma once

#include <vector>

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

inline constexpr int dense_block = 32;

/// The diagonal is raised by this much: rounding of the stencil leaves free rigid motions, and islands in void, pivots
/// of either sign up to some 1e-6, whose inverses would be noise or negative.
inline constexpr double dense_lift = 1e-5;

/// The scaled matrix; row d nodes + i is component d of node i.
struct DenseFromStencil {
  StencilData stencil;
  double* matrix;  // [n][n]
  int n;           // padded to whole blocks

  KOKKOS_FUNCTION double scale(std::uint32_t node, int d) const {
    double const value = stencil.diagonal[static_cast<index_t>(d) * stencil.nodes + node];
    return value > 0 ? 1 / ::sqrt(value) : 0;
  }
  KOKKOS_FUNCTION void add(std::uint32_t row, std::uint32_t column, double const (&a)[9], bool mirrored) const {
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e) {
        double const value = scale(row, d) * scale(column, e) * a[3 * d + e];
        auto const i = static_cast<index_t>(d * stencil.nodes + row);
        auto const j = static_cast<index_t>(e * stencil.nodes + column);
        matrix[i * n + j] += value;
        if (mirrored) matrix[j * n + i] += value;
      }
  }
  KOKKOS_FUNCTION void block(std::uint32_t node, int position) const {
    double a[9];
    if (position == center_position) {
      float d[6];
      for (int e = 0; e < 6; ++e) d[e] = stencil.diagonal[static_cast<index_t>(e) * stencil.nodes + node];
      a[0] = (1 + dense_lift) * d[0], a[4] = (1 + dense_lift) * d[1], a[8] = (1 + dense_lift) * d[2];
      a[5] = a[7] = d[3], a[2] = a[6] = d[4], a[1] = a[3] = d[5];
      add(node, node, a, false);
      return;
    }
    int p[3];
    stencil.box.position(node, p);
    int i = p[0] + position % 3 - 1, j = p[1] + position / 3 % 3 - 1, k = p[2] + position / 9 - 1;
    bool const inside = stencil.box.wrap(0, i) && stencil.box.wrap(1, j) && stencil.box.wrap(2, k);
    if (!inside) return;
    float entries[9];
    std::uint32_t const neighbour = stencil.box.index(i, j, k);
    stencil.load(position, node, neighbour, entries);
    for (int e = 0; e < 9; ++e) a[e] = static_cast<double>(entries[e]);
    add(node, neighbour, a, true);
  }
  /// Index: node, then position from the centre on; nodes of a periodic grid meet each other more than once, so there
  /// one index does all (count()).
  KOKKOS_FUNCTION void operator()(index_t index) const {
    if (count() == 1) {
      for (std::uint32_t node = 0; node < stencil.nodes; ++node)
        for (int position = center_position; position < 27; ++position) block(node, position);
    } else {
      block(static_cast<std::uint32_t>(index % stencil.nodes),
            center_position + static_cast<int>(index / stencil.nodes));
    }
  }
  KOKKOS_FUNCTION index_t count() const {
    bool const periodic = stencil.box.periodic[0] || stencil.box.periodic[1] || stencil.box.periodic[2];
    return periodic ? 1 : 14 * static_cast<index_t>(stencil.nodes);
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

struct StoreInverse {
  DenseFromStencil dense;
  float* inverse;  // [dofs][n]
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const row = index / dense.n, column = index % dense.n;
    auto const nodes = static_cast<index_t>(dense.stencil.nodes);
    double value = 0;
    if (column < 3 * nodes)
      value = dense.matrix[index] *
              dense.scale(static_cast<std::uint32_t>(row % nodes), static_cast<int>(row / nodes)) *
              dense.scale(static_cast<std::uint32_t>(column % nodes), static_cast<int>(column / nodes));
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
  DenseInverse(ExecutionSpace const& space, StencilData const& stencil) : stencil_(stencil), n_(padded(stencil.nodes)) {
    auto const n = static_cast<index_t>(n_);
    matrix_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::DenseInverse::matrix", n * n);
    panels_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::DenseInverse::panels",
                                                            2 * n * dense_block + dense_block * dense_block);
    inverse_ =
        allocate<Kokkos::View<float*, memory_space>>(space, "brickwork::DenseInverse::inverse", 3 * stencil.nodes * n);
  }

  static index_t bytes(index_t nodes) {
    index_t const n = padded(static_cast<std::uint32_t>(nodes));
    return 8 * n * n + 8 * (2 * n * dense_block + dense_block * dense_block) + 4 * 3 * nodes * n;
  }

  /// Inverts the stencil's present matrix. Asynchronous.
  void update(ExecutionSpace const& space) {
    Kokkos::deep_copy(space, matrix_, 0.0);
    DenseFromStencil const dense{stencil_, matrix_.data(), n_};
    Kokkos::parallel_for("brickwork::DenseInverse::assemble", range(space, dense.count()), dense);
    int const blocks = n_ / dense_block;
    constexpr int threads = on_host ? 1 : 256;
    double* const pivot = panels_.data();
    double* const rows = pivot + dense_block * dense_block;
    double* const columns = rows + static_cast<index_t>(n_) * dense_block;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
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
    Kokkos::parallel_for("brickwork::DenseInverse::store", range(space, static_cast<index_t>(3) * stencil_.nodes * n_),
                         StoreInverse{dense, inverse_.data()});
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
  int n_ = 0;
  Kokkos::View<double*, memory_space> matrix_, panels_;
  Kokkos::View<float*, memory_space> inverse_;
};

}  // namespace brickwork::detail
