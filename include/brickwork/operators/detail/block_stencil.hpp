// SPDX-License-Identifier: BSD-3-Clause
// The assembled operator of a coarse multigrid level: 27 blocks of 3 x 3 per node of a box grid.
//
//   (A x)_i = R_i x_i + sum over the 26 neighbours j of A_ij (x_j - x_i),   R_i = sum_j A_ij
//
// In this difference form R vanishes (exactly: it is set to zero) wherever no constraint is near, so that translations
// stay in the null space whatever rounding does to the blocks.
//
// Storage per node, all in FP32: the blocks of the thirteen forward neighbours (468 bytes; those of the backward ones
// are their transposes, so that the operator is symmetric to the bit), R (36), the diagonal block and the scaled
// inverse of it (symmetric, 24 each). The blocks are not rounded to 16 bits: an operator with rounded blocks gives
// rotations an energy of 2^-9 of the stiffness, the same everywhere, beside which the bending of a body of n cells,
// about 1/n^2, vanishes (k = 320, V-cycle: 46 iterations with BF16 blocks). Half of the blocks in FP32 takes no more
// memory than all of them in 16 bits.
//
// Entry-major: neighbouring nodes are neighbours in memory. Blocks that reach outside of the grid are zero, blocks and
// vectors carry zeros before their first node (vectors behind their last, too: stencil_margin()), so that the product
// needs no bounds checks; on periodic axes it wraps indices instead.
//
// Constrained components (mask) and components without stiffness have zero rows, columns and inverses: vectors that
// are zero there stay so.
#pragma once

#include "brickwork/core/sums.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork::detail {

/// A nodal vector in FP32: component d of node a at data[a + d stride].
struct VectorRef {
  float* data = nullptr;
  index_t stride = 0;
};

/// Nodes of a box, small enough for 32-bit indices.
struct NodeBox {
  std::uint32_t mx = 1, my = 1, mz = 1;
  bool periodic[3] = {false, false, false};

  explicit NodeBox(BoxGrid const& grid)
      : mx(static_cast<std::uint32_t>(grid.nodes()[0])),
        my(static_cast<std::uint32_t>(grid.nodes()[1])),
        mz(static_cast<std::uint32_t>(grid.nodes()[2])) {
    for (std::size_t axis = 0; axis < 3; ++axis) periodic[axis] = grid.periodic()[axis];
  }
  NodeBox() = default;

  KOKKOS_FORCEINLINE_FUNCTION void position(std::uint32_t node, int (&p)[3]) const {
    std::uint32_t const rows = node / mx;
    p[0] = static_cast<int>(node - rows * mx);
    p[2] = static_cast<int>(rows / my);
    p[1] = static_cast<int>(rows - static_cast<std::uint32_t>(p[2]) * my);
  }
  KOKKOS_FORCEINLINE_FUNCTION int extent(int axis) const {
    return static_cast<int>(axis == 0 ? mx : (axis == 1 ? my : mz));
  }
  /// Wraps an index that is at most one period off; false where there is no such node.
  KOKKOS_FORCEINLINE_FUNCTION bool wrap(int axis, int& i) const {
    int const m = extent(axis);
    if (i >= 0 && i < m) return true;
    if (!periodic[axis]) return false;
    i += i < 0 ? m : -m;
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t index(int i, int j, int k) const {
    return static_cast<std::uint32_t>(i) + mx * (static_cast<std::uint32_t>(j) + my * static_cast<std::uint32_t>(k));
  }
  /// The node at a position 0 .. 26 around p; false where there is none.
  KOKKOS_FORCEINLINE_FUNCTION bool neighbour(int const (&p)[3], int at, std::uint32_t& node) const {
    int i = p[0] + at % 3 - 1, j = p[1] + at / 3 % 3 - 1, k = p[2] + at / 9 - 1;
    if (!(wrap(0, i) && wrap(1, j) && wrap(2, k))) return false;
    node = index(i, j, k);
    return true;
  }
};

/// The modulus of the cell that has node p as its corner `corner` (bits x, y, z), zero where there is no such cell.
KOKKOS_FORCEINLINE_FUNCTION float modulus_at_corner(NodeBox const& box, int const (&cells)[3], float const* moduli,
                                                    int const (&p)[3], int corner) {
  int c[3];
  bool exists = true;
  for (int axis = 0; axis < 3; ++axis) {
    c[axis] = p[axis] - ((corner >> axis) & 1);
    if (box.periodic[axis] && c[axis] < 0) c[axis] += cells[axis];
    exists = exists && c[axis] >= 0 && c[axis] < cells[axis];
  }
  return exists ? moduli[c[0] + static_cast<index_t>(cells[0]) * (c[1] + static_cast<index_t>(cells[1]) * c[2])] : 0.0f;
}

/// Zeros that a vector of a stencil level needs on either side of each component.
inline index_t stencil_margin(BoxGrid const& grid) {
  Index3 const m = grid.nodes();
  return m[0] * m[1] + m[0] + 1;
}

/// Positions 0..26 of the neighbourhood, x fastest; 13 is the node itself, from 14 on they are forward.
inline constexpr int center_position = 13;
inline constexpr int forward_blocks = 13;

/// What the kernels read of a stencil.
struct StencilData {
  NodeBox box;
  std::uint32_t nodes = 0;
  index_t stride = 0;         ///< between the entries of the blocks: nodes and their margin
  float* blocks = nullptr;    ///< [13][9][stride], the first node's entry: positions 14..26
  float* row_sum = nullptr;   ///< [9][nodes]
  float* diagonal = nullptr;  ///< [6][nodes]: xx, yy, zz, yz, xz, xy
  float* inverse = nullptr;   ///< [6][nodes]: of the diagonal block, over the bound of the spectrum

  /// The block of `node` and its neighbour at a position other than the centre.
  KOKKOS_FORCEINLINE_FUNCTION void load(int position, index_t node, index_t neighbour, float (&a)[9]) const {
    if (position > center_position) {
      float const* const from = blocks + 9 * (position - 14) * stride + node;
      for (int e = 0; e < 9; ++e) a[e] = from[e * stride];
    } else {
      float const* const from = blocks + 9 * (12 - position) * stride + neighbour;
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e) a[3 * d + e] = from[(3 * e + d) * stride];
    }
  }
};

/// Symmetric 3 x 3 block times vector, entries xx, yy, zz, yz, xz, xy.
KOKKOS_FORCEINLINE_FUNCTION void symmetric_product(float const (&a)[6], float const (&x)[3], float (&y)[3]) {
  y[0] = a[0] * x[0] + a[5] * x[1] + a[4] * x[2];
  y[1] = a[5] * x[0] + a[1] * x[1] + a[3] * x[2];
  y[2] = a[4] * x[0] + a[3] * x[1] + a[2] * x[2];
}

// What a product does with a node. `sums` values are added over all nodes.

/// w = A x
struct StencilProduct {
  static constexpr int sums = 0;
  VectorRef w;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&)[3],
                                              double*) const {
    for (int d = 0; d < 3; ++d) w.data[node + d * w.stride] = product[d];
  }
};

/// r = f - A x
struct StencilResidual {
  static constexpr int sums = 0;
  VectorRef f, r;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&)[3],
                                              double*) const {
    for (int d = 0; d < 3; ++d) r.data[node + d * r.stride] = f.data[node + d * f.stride] - product[d];
  }
};

/// result = s x + a old + b D^-1 (f - A x); result may be old
template <bool First>
struct StencilRelaxation {
  static constexpr int sums = 0;
  VectorRef f, old, result;
  float const* inverse;
  std::uint32_t nodes;
  float s, a, b;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&x)[3],
                                              double*) const {
    float block[6], r[3], step[3];
    for (int e = 0; e < 6; ++e) block[e] = inverse[static_cast<index_t>(e) * nodes + node];
    for (int d = 0; d < 3; ++d) r[d] = f.data[node + d * f.stride] - product[d];
    symmetric_product(block, r, step);
    for (int d = 0; d < 3; ++d) {
      float next = s * x[d] + b * step[d];
      if constexpr (!First) next += a * old.data[node + d * old.stride];
      result.data[node + d * result.stride] = next;
    }
  }
};

/// w = A x with the sums x . w and x . f
struct StencilProductDots {
  static constexpr int sums = 2;
  VectorRef f, w;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&x)[3],
                                              double* sum) const {
    float xw = 0, xf = 0;
    for (int d = 0; d < 3; ++d) {
      w.data[node + d * w.stride] = product[d];
      xw += x[d] * product[d];
      xf += x[d] * f.data[node + d * f.stride];
    }
    sum[0] += static_cast<double>(xw);
    sum[1] += static_cast<double>(xf);
  }
};

/// The sums x . A x, x . v and x . f, and nothing else
struct StencilDots {
  static constexpr int sums = 3;
  VectorRef f, v;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&x)[3],
                                              double* sum) const {
    float xw = 0, xv = 0, xf = 0;
    for (int d = 0; d < 3; ++d) {
      xw += x[d] * product[d];
      xv += x[d] * v.data[node + d * v.stride];
      xf += x[d] * f.data[node + d * f.stride];
    }
    sum[0] += static_cast<double>(xw);
    sum[1] += static_cast<double>(xv);
    sum[2] += static_cast<double>(xf);
  }
};

/// One power iteration on D^-1 A: w = D^-1 A x with the sums x . A x and x . D x. `inverse` is not scaled yet.
struct StencilPower {
  static constexpr int sums = 2;
  VectorRef w;
  float const *diagonal, *inverse;
  std::uint32_t nodes;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t node, float const (&product)[3], float const (&x)[3],
                                              double* sum) const {
    float block[6], y[3];
    for (int e = 0; e < 6; ++e) block[e] = inverse[static_cast<index_t>(e) * nodes + node];
    symmetric_product(block, product, y);
    for (int d = 0; d < 3; ++d) w.data[node + d * w.stride] = y[d];
    for (int e = 0; e < 6; ++e) block[e] = diagonal[static_cast<index_t>(e) * nodes + node];
    symmetric_product(block, x, y);
    for (int d = 0; d < 3; ++d) {
      sum[0] += static_cast<double>(x[d] * product[d]);
      sum[1] += static_cast<double>(x[d] * y[d]);
    }
  }
};

struct NoFinish {
  KOKKOS_FORCEINLINE_FUNCTION void operator()(double const*) const {}
};

/// How many nodes and neighbour shares a team of the product works on: on a host one thread takes packs of nodes; on a
/// GPU `nodes` lanes times `parts` threads per node, so that small levels fill the card too.
template <bool OnHost, int Parts>
struct StencilTeam {
  static constexpr int nodes = OnHost ? 16 : (Parts == 1 ? 128 : 32);
  static constexpr int threads = OnHost ? 1 : nodes * Parts;
};

template <class ExecutionSpace, bool Periodic, int Parts, class Epilogue, class Finish>
struct StencilKernel {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;
  static constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  using Team = StencilTeam<on_host, Parts>;
  static constexpr int sum_count = Epilogue::sums > 0 ? Epilogue::sums : 1;

  StencilData stencil;
  VectorRef x;
  Epilogue epilogue;
  Finish finish;
  double* partials;
  int* finished;
  std::uint32_t chunks;
  int offset[27];  // of the neighbours' indices, where no axis wraps

  // Adds the share of the slots [first, last) of 27 to the product at `node`.
  KOKKOS_FORCEINLINE_FUNCTION void accumulate(std::uint32_t node, int first, int last, float const (&center)[3],
                                              float (&product)[3]) const {
    int p[3];
    if constexpr (Periodic) stencil.box.position(node, p);
    for (int position = first; position < last; ++position) {
      if (position == center_position) {
        for (int d = 0; d < 3; ++d)
          for (int e = 0; e < 3; ++e)
            product[d] += stencil.row_sum[static_cast<index_t>(3 * d + e) * stencil.nodes + node] * center[e];
        continue;
      }
      index_t neighbour;
      if constexpr (Periodic) {
        std::uint32_t wrapped;
        if (!stencil.box.neighbour(p, position, wrapped)) continue;
        neighbour = wrapped;
      } else {
        neighbour = static_cast<index_t>(node) + offset[position];
      }
      float a[9];
      stencil.load(position, node, neighbour, a);
      float difference[3];
      for (int e = 0; e < 3; ++e) difference[e] = x.data[neighbour + e * x.stride] - center[e];
      for (int d = 0; d < 3; ++d)
        product[d] += a[3 * d] * difference[0] + a[3 * d + 1] * difference[1] + a[3 * d + 2] * difference[2];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_center(std::uint32_t node, float (&center)[3]) const {
    for (int e = 0; e < 3; ++e) center[e] = x.data[node + e * x.stride];
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    SumValues<sum_count> sums;
    if constexpr (on_host) {
      host_share(team, sums);
    } else {
      device_share(team, sums);
    }
    if constexpr (Epilogue::sums > 0) {
      SumValues<sum_count> total;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, team.team_size()), [&](int, SumValues<sum_count>& all) { all += sums; }, total);
      combine_sums(team, total, partials, finished, finish);
    }
  }

  KOKKOS_FUNCTION void device_share(member_type const& team, SumValues<sum_count>& sums) const {
    int const lane = team.team_rank() % Team::nodes;
    int const part = team.team_rank() / Team::nodes;
    auto* const scratch = static_cast<float*>(
        Parts > 1 ? team.team_scratch(0).get_shmem(static_cast<int>(sizeof(float)) * 3 * Team::threads) : nullptr);
    for (std::uint32_t chunk = static_cast<std::uint32_t>(team.league_rank()); chunk < chunks;
         chunk += static_cast<std::uint32_t>(team.league_size())) {
      std::uint32_t const node = chunk * Team::nodes + static_cast<std::uint32_t>(lane);
      bool const active = node < stencil.nodes;
      float product[3] = {0, 0, 0}, center[3] = {0, 0, 0};
      if (active) {
        load_center(node, center);
        if constexpr (Parts == 1) {
          accumulate(node, 0, 27, center, product);
        } else {
          constexpr int each = 27 / Parts;
          accumulate(node, part * each, part * each + each, center, product);
        }
      }
      if constexpr (Parts > 1) {
        for (int d = 0; d < 3; ++d) scratch[(d * Parts + part) * Team::nodes + lane] = product[d];
        team.team_barrier();
        if (part == 0) {
          for (int d = 0; d < 3; ++d) {
            product[d] = 0;
            for (int other = 0; other < Parts; ++other) product[d] += scratch[(d * Parts + other) * Team::nodes + lane];
          }
        }
        team.team_barrier();
      }
      if (active && part == 0) epilogue(node, product, center, sums.v);
    }
  }

  KOKKOS_FUNCTION void host_share(member_type const& team, SumValues<sum_count>& sums) const {
    // A contiguous share of packs per team.
    std::uint32_t const teams = static_cast<std::uint32_t>(team.league_size());
    std::uint32_t const share = (chunks + teams - 1) / teams;
    std::uint32_t const begin = static_cast<std::uint32_t>(team.league_rank()) * share;
    std::uint32_t const end = begin + share < chunks ? begin + share : chunks;
    for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
      std::uint32_t const first = chunk * Team::nodes;
      int const count = first + Team::nodes <= stencil.nodes ? Team::nodes : static_cast<int>(stencil.nodes - first);
      if constexpr (!Periodic) {
        if (count == Team::nodes) {
          host_pack(first, sums);
          continue;
        }
      }
      for (int n = 0; n < count; ++n) {
        std::uint32_t const node = first + static_cast<std::uint32_t>(n);
        float product[3] = {0, 0, 0}, center[3];
        load_center(node, center);
        accumulate(node, 0, 27, center, product);
        epilogue(node, product, center, sums.v);
      }
    }
  }

  // Adjacent nodes in step, so that the compiler vectorizes over them.
  void host_pack(std::uint32_t first, SumValues<sum_count>& sums) const {
    constexpr int width = StencilTeam<true, Parts>::nodes;
    float product[3][width] = {}, center[3][width];
    for (int e = 0; e < 3; ++e)
      for (int n = 0; n < width; ++n) center[e][n] = x.data[first + static_cast<std::uint32_t>(n) + e * x.stride];
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e) {
        float const* const row = stencil.row_sum + static_cast<index_t>(3 * d + e) * stencil.nodes + first;
        for (int n = 0; n < width; ++n) product[d][n] += row[n] * center[e][n];
      }
    for (int position = 0; position < 27; ++position) {
      if (position == center_position) continue;
      float a[9][width], difference[3][width];
      index_t const neighbour = static_cast<index_t>(first) + offset[position];
      bool const forward = position > center_position;
      float const* const block = forward ? stencil.blocks + 9 * (position - 14) * stencil.stride + first
                                         : stencil.blocks + 9 * (12 - position) * stencil.stride + neighbour;
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e) {
          float const* const entry = block + (forward ? 3 * d + e : 3 * e + d) * stencil.stride;
          for (int n = 0; n < width; ++n) a[3 * d + e][n] = entry[n];
        }
      for (int e = 0; e < 3; ++e) {
        float const* const from = x.data + neighbour + e * x.stride;
        for (int n = 0; n < width; ++n) difference[e][n] = from[n] - center[e][n];
      }
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e)
          for (int n = 0; n < width; ++n) product[d][n] += a[3 * d + e][n] * difference[e][n];
    }
    for (int n = 0; n < width; ++n) {
      float const one[3] = {product[0][n], product[1][n], product[2][n]};
      float const at[3] = {center[0][n], center[1][n], center[2][n]};
      epilogue(first + static_cast<std::uint32_t>(n), one, at, sums.v);
    }
  }
};

/// Applies the stencil to x and hands each node's product to the epilogue; the sums of the epilogue, if any, go to
/// finish(). Asynchronous on `space`, one launch.
template <class ExecutionSpace, class Epilogue, class Finish = NoFinish>
void apply_stencil(char const* label, ExecutionSpace const& space, StencilData const& stencil, VectorRef x,
                   Epilogue const& epilogue, SumWorkspace<ExecutionSpace> const& workspace = {},
                   Finish const& finish = {}) {
  auto const launch = [&](auto periodic) {
    using Kernel = StencilKernel<ExecutionSpace, periodic.value, 9, Epilogue, Finish>;
    Kernel kernel{stencil, x, epilogue, finish, workspace.partials(), workspace.finished(), 0, {}};
    constexpr std::uint32_t each = Kernel::Team::nodes;
    kernel.chunks = (stencil.nodes + each - 1) / each;
    for (int position = 0; position < 27; ++position)
      kernel.offset[position] = position % 3 - 1 +
                                static_cast<int>(stencil.box.mx) *
                                    (position / 3 % 3 - 1 + static_cast<int>(stencil.box.my) * (position / 9 - 1));
    // Sums bound the number of teams; a host has few.
    std::uint32_t const most = Kernel::on_host ? 64u : (Epilogue::sums > 0 ? 1024u : 1u << 20);
    std::uint32_t const teams = kernel.chunks < most ? kernel.chunks : most;
    typename Kernel::policy_type policy(space, static_cast<int>(teams), Kernel::Team::threads);
    policy.set_scratch_size(
        0, Kokkos::PerTeam(Kernel::on_host ? 0 : static_cast<int>(sizeof(float)) * 3 * Kernel::Team::threads + 8));
    Kokkos::parallel_for(label, policy, kernel);
  };
  bool const periodic = stencil.box.periodic[0] || stencil.box.periodic[1] || stencil.box.periodic[2];
  if (periodic) {
    launch(std::true_type{});
  } else {
    launch(std::false_type{});
  }
}

}  // namespace brickwork::detail
