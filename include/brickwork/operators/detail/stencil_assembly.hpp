// SPDX-License-Identifier: BSD-3-Clause
// Galerkin products P^T A P into block stencils, with trilinear prolongation P between nested box grids.
//
// From a matrix-free level, A = sum of E_c K0 over its cells: a block is linear in the moduli of the (at most) 4 x 4 x
// 4 cells around the coarse node, with constant 3 x 3 coefficients. From a stencil: block by block. Both leave
// constraints aside; the few nodes near one are listed at set-up, and a second pass computes theirs with the
// constrained components of either level left out (P projects them to zero), and their row sums.
//
// Along an axis a cell is the lower or the upper half of its coarse cell, or all of it: where the axis is not halved,
// and at the end of a periodic axis with an odd number of cells, whose first and last nodes both are coarse nodes. So a
// node has coarse neighbours on either side wherever its own index, in [0, nodes), is odd.
//
// Work per coarse node: 288 moduli x 9 multiply-adds from cells; 1270 blocks of 9 from a stencil.
#pragma once

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

/// What a cell is of its coarse cell along one axis: its lower half (0), its upper half (1), or all of it.
inline constexpr int whole_child = 2;
inline constexpr int axis_children = 3;
inline constexpr int all_children = axis_children * axis_children * axis_children;

/// Weight of coarse corner `a` (0 or 1) at fine corner `m` of child `o` along one axis.
KOKKOS_FORCEINLINE_FUNCTION constexpr double child_weight(int o, int m, int a) {
  double const position = o == whole_child ? m : 0.5 * (o + m);
  return a == 1 ? position : 1 - position;
}

/// Where a cell may lie along one axis from a coarse node: the halves of the coarse cell behind it (slots 0 and 1), of
/// the one ahead (2 and 3), all of the one behind (4), all of the one ahead (5).
inline constexpr int axis_slots = 6;
inline constexpr int all_slots = axis_slots * axis_slots * axis_slots;
KOKKOS_FORCEINLINE_FUNCTION constexpr bool slot_ahead(int slot) { return slot == 2 || slot == 3 || slot == 5; }
KOKKOS_FORCEINLINE_FUNCTION constexpr int slot_child(int slot) { return slot < 4 ? slot % 2 : whole_child; }

/// Inverse of a symmetric block; components without stiffness stay out of it.
KOKKOS_INLINE_FUNCTION void invert_symmetric(float const (&d)[6], float (&inverse)[6]) {
  double a[3][3] = {{d[0], d[5], d[4]}, {d[5], d[1], d[3]}, {d[4], d[3], d[2]}};
  bool out[3];
  for (int i = 0; i < 3; ++i) {
    out[i] = !(a[i][i] > 0);
    if (!out[i]) continue;
    for (int j = 0; j < 3; ++j) a[i][j] = a[j][i] = 0;
    a[i][i] = 1;
  }
  double const c00 = a[1][1] * a[2][2] - a[1][2] * a[1][2], c01 = a[1][2] * a[0][2] - a[0][1] * a[2][2],
               c02 = a[0][1] * a[1][2] - a[1][1] * a[0][2];
  double const determinant = a[0][0] * c00 + a[0][1] * c01 + a[0][2] * c02;
  // A nearly singular block is a mechanism that the neighbours hold: its diagonal serves.
  bool const good = determinant > 1e-5 * a[0][0] * a[1][1] * a[2][2];
  double result[6] = {1 / a[0][0], 1 / a[1][1], 1 / a[2][2], 0, 0, 0};
  if (good) {
    result[0] = c00 / determinant;
    result[1] = (a[0][0] * a[2][2] - a[0][2] * a[0][2]) / determinant;
    result[2] = (a[0][0] * a[1][1] - a[0][1] * a[0][1]) / determinant;
    result[3] = (a[0][1] * a[0][2] - a[0][0] * a[1][2]) / determinant;
    result[4] = c02 / determinant;
    result[5] = c01 / determinant;
  }
  for (int i = 0; i < 3; ++i)
    if (out[i]) result[i] = 0;
  for (int e = 0; e < 6; ++e) inverse[e] = static_cast<float>(result[e]);
}

/// Stores one block of a node: forward ones, and with the centre the diagonal and its inverse. Others are transposes of
/// what another node stores.
KOKKOS_INLINE_FUNCTION void store_block(StencilData const& to, std::uint32_t node, int position, float const (&a)[9]) {
  if (position > center_position) {
    for (int e = 0; e < 9; ++e) to.blocks[(9 * (position - 14) + e) * to.stride + node] = a[e];
  } else if (position == center_position) {
    float const d[6] = {a[0], a[4], a[8], 0.5f * (a[5] + a[7]), 0.5f * (a[2] + a[6]), 0.5f * (a[1] + a[3])};
    float inverse[6];
    invert_symmetric(d, inverse);
    for (int e = 0; e < 6; ++e) {
      to.diagonal[static_cast<index_t>(e) * to.nodes + node] = d[e];
      to.inverse[static_cast<index_t>(e) * to.nodes + node] = inverse[e];
    }
  }
}

/// A constrained component at a node or one of its neighbours; mask may be null.
KOKKOS_INLINE_FUNCTION bool has_constrained_neighbour(NodeBox const& box, std::uint8_t const* mask, int const (&p)[3]) {
  if (!mask) return false;
  for (int position = 0; position < 27; ++position) {
    std::uint32_t node;
    if (box.neighbour(p, position, node) && mask[node] != 0) return true;
  }
  return false;
}

/// The finest stencil from the cells of a matrix-free level.
struct CellGalerkin {
  // The matrix-free level.
  float const* moduli;
  std::uint8_t const* mask;   ///< null: no constraints
  float const* stiffness;     ///< [24][24]
  float const* products;      ///< P_c^T K0 P_c: [all_children][a][b][9], a child's index with x fastest
  float const* coefficients;  ///< [14][all_slots][9]: of the moduli around a node in its blocks from the centre on
  NodeBox fine;
  int cells[3];  ///< of the fine level
  int factor[3];
  // The coarse level.
  NodeBox coarse;
  int coarse_cells[3];
  std::uint8_t const* coarse_mask;

  KOKKOS_FUNCTION int fixed(std::uint32_t node) const { return coarse_mask ? coarse_mask[node] : 0; }

  /// The last cell of the axis has a coarse cell of its own.
  KOKKOS_FORCEINLINE_FUNCTION bool short_axis(int axis) const {
    return factor[axis] == 2 && fine.periodic[axis] && (cells[axis] & 1) != 0;
  }
  /// Finds the cell that is the m-th around a coarse node, m in [0, 2 factor); `i` is its index before wrapping. False
  /// where there is none.
  KOKKOS_FORCEINLINE_FUNCTION bool locate(int axis, int m, int& i, int& slot) const {
    slot = factor[axis] == 2 ? m : 4 + m;
    if (i < 0) {
      if (!fine.periodic[axis]) return false;
      if (short_axis(axis)) {
        if (m == 0) return false;
        slot = 4;
      }
      i += cells[axis];
      return true;
    }
    if (i >= cells[axis]) return false;
    if (i == cells[axis] - 1 && short_axis(axis)) slot = 5;
    return true;
  }
  /// What a cell is of its coarse cell.
  KOKKOS_FORCEINLINE_FUNCTION int child_of(int axis, int i) const {
    return factor[axis] == 1 || (i == cells[axis] - 1 && short_axis(axis)) ? whole_child : i & 1;
  }

  /// Positions from 13 on in four shares of equal work (72 moduli each where all axes are halved).
  static constexpr int shares = 4;
  KOKKOS_FUNCTION static int share_position(int share, int i) {
    constexpr int positions[shares][5] = {
        {13, 18, -1, -1, -1}, {14, 16, 20, -1, -1}, {22, 15, 17, 24, -1}, {19, 21, 23, 25, 26}};
    return positions[share][i];
  }

  /// The block (I, I + s) from the moduli alone, s forward or zero.
  KOKKOS_FUNCTION void plain_block(std::uint32_t node, int position, float (&sum)[9]) const {
    for (float& entry : sum) entry = 0;
    int p[3];
    coarse.position(node, p);
    int const s[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
    int first[3], last[3], origin[3];
    for (int axis = 0; axis < 3; ++axis) {
      first[axis] = s[axis] > 0 ? factor[axis] : 0;
      last[axis] = s[axis] < 0 ? factor[axis] : 2 * factor[axis];
      origin[axis] = factor[axis] * (p[axis] - 1);
    }
    float const* const table = coefficients + 9 * all_slots * (position - center_position);
    for (int mz = first[2]; mz < last[2]; ++mz) {
      int k = origin[2] + mz, slot_z;
      if (!locate(2, mz, k, slot_z)) continue;
      for (int my = first[1]; my < last[1]; ++my) {
        int j = origin[1] + my, slot_y;
        if (!locate(1, my, j, slot_y)) continue;
        float const* const row = moduli + static_cast<index_t>(cells[0]) * (j + static_cast<index_t>(cells[1]) * k);
        float const* const of_row = table + 9 * axis_slots * (slot_y + axis_slots * slot_z);
        for (int mx = first[0]; mx < last[0]; ++mx) {
          int i = origin[0] + mx, slot_x;
          float const modulus = locate(0, mx, i, slot_x) ? row[i] : 0.0f;
          float const* const c = of_row + 9 * slot_x;
          for (int e = 0; e < 9; ++e) sum[e] += modulus * c[e];
        }
      }
    }
  }

  /// The same for any s with constrained rows and columns left out, for nodes near constraints.
  KOKKOS_FUNCTION void constrained_block(std::uint32_t node, int position, float (&sum)[9]) const {
    for (float& entry : sum) entry = 0;
    int p[3];
    coarse.position(node, p);
    int const s[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
    int neighbour[3] = {p[0] + s[0], p[1] + s[1], p[2] + s[2]};
    bool const inside = coarse.wrap(0, neighbour[0]) && coarse.wrap(1, neighbour[1]) && coarse.wrap(2, neighbour[2]);
    if (!inside) return;
    for (int corner = 0; corner < 8; ++corner) {
      // The coarse cells around I: I is their local corner `a`, I + s their corner `b`.
      int a = 0, b = 0, first[3];
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        int const c = (corner >> axis) & 1;
        int const other = c + s[axis];
        int cell = p[axis] - c;
        if (coarse.periodic[axis]) cell = cell < 0 ? cell + coarse_cells[axis] : cell;
        exists = exists && other >= 0 && other <= 1 && cell >= 0 && cell < coarse_cells[axis];
        a |= c << axis;
        b |= (other & 1) << axis;
        first[axis] = cell * factor[axis];
      }
      if (!exists) continue;
      for (int o = 0; o < 8; ++o) {
        int const child[3] = {first[0] + (o & 1), first[1] + ((o >> 1) & 1), first[2] + (o >> 2)};
        int part[3];
        bool real = true;
        for (int axis = 0; axis < 3; ++axis) {
          real = real && ((o >> axis) & 1) < factor[axis] && child[axis] < cells[axis];
          part[axis] = child_of(axis, child[axis]);
        }
        if (!real) continue;
        index_t const cell =
            child[0] + static_cast<index_t>(cells[0]) * (child[1] + static_cast<index_t>(cells[1]) * child[2]);
        float const modulus = moduli[cell];
        if (mask && has_constraint(child)) {
          constrained_child(child, part, a, b, modulus, sum);
        } else {
          int const index = part[0] + axis_children * (part[1] + axis_children * part[2]);
          float const* const product = products + 9 * (b + 8 * (a + 8 * index));
          for (int e = 0; e < 9; ++e) sum[e] += modulus * product[e];
        }
      }
    }
    leave_out(fixed(node), fixed(coarse.index(neighbour[0], neighbour[1], neighbour[2])), sum);
  }

  /// A constrained component at one of the nodes of a fine cell.
  KOKKOS_FUNCTION bool has_constraint(int const (&cell)[3]) const {
    int bits = 0;
    for (int m = 0; m < 8; ++m) {
      int n[3] = {cell[0] + (m & 1), cell[1] + ((m >> 1) & 1), cell[2] + (m >> 2)};
      for (int axis = 0; axis < 3; ++axis) fine.wrap(axis, n[axis]);
      bits |= mask[fine.index(n[0], n[1], n[2])];
    }
    return bits != 0;
  }

  KOKKOS_FUNCTION static void leave_out(int rows, int columns, float (&block)[9]) {
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e)
        if (((rows >> d) & 1) || ((columns >> e) & 1)) block[3 * d + e] = 0;
  }

  // A child with constrained nodes: P_c^T Q K0 Q P_c entry by entry.
  KOKKOS_FUNCTION void constrained_child(int const (&child)[3], int const (&part)[3], int a, int b, float modulus,
                                         float (&sum)[9]) const {
    int bits[8];
    float at_a[8], at_b[8];
    for (int m = 0; m < 8; ++m) {
      int n[3];
      at_a[m] = at_b[m] = 1;
      for (int axis = 0; axis < 3; ++axis) {
        int const bit = (m >> axis) & 1;
        n[axis] = child[axis] + bit;
        fine.wrap(axis, n[axis]);
        at_a[m] *= static_cast<float>(child_weight(part[axis], bit, (a >> axis) & 1));
        at_b[m] *= static_cast<float>(child_weight(part[axis], bit, (b >> axis) & 1));
      }
      bits[m] = mask[fine.index(n[0], n[1], n[2])];
    }
    for (int m = 0; m < 8; ++m) {
      if (at_a[m] == 0) continue;
      for (int n = 0; n < 8; ++n) {
        float const weight = modulus * at_a[m] * at_b[n];
        if (weight == 0) continue;
        for (int d = 0; d < 3; ++d)
          for (int e = 0; e < 3; ++e)
            if (!((bits[m] >> d) & 1) && !((bits[n] >> e) & 1))
              sum[3 * d + e] += weight * stiffness[24 * (3 * m + d) + 3 * n + e];
      }
    }
  }

  /// Whether a coarse node needs constrained_block(): a constrained neighbour, or a child with one.
  KOKKOS_FUNCTION bool near_constraint(std::uint32_t node) const {
    int p[3];
    coarse.position(node, p);
    if (has_constrained_neighbour(coarse, coarse_mask, p)) return true;
    if (!mask) return false;
    for (int m = 0; m < 64; ++m) {
      int const at[3] = {m % 4, m / 4 % 4, m / 16};
      int c[3];
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        c[axis] = factor[axis] * (p[axis] - 1) + at[axis];
        int slot;
        exists = exists && at[axis] < 2 * factor[axis] && locate(axis, at[axis], c[axis], slot);
      }
      if (exists && has_constraint(c)) return true;
    }
    return false;
  }
};

/// A stencil from the next finer one.
struct StencilGalerkin {
  StencilData from;
  int factor[3];
  NodeBox coarse;
  std::uint8_t const* coarse_mask;
  std::uint8_t const* fine_flags;  ///< per fine node: near a constraint

  KOKKOS_FUNCTION int fixed(std::uint32_t node) const { return coarse_mask ? coarse_mask[node] : 0; }

  static constexpr int shares = 14;
  KOKKOS_FUNCTION static int share_position(int share, int i) { return i == 0 ? center_position + share : -1; }

  /// Weight of a coarse node at fine node `i`, in [0, nodes), which lies at `distance` from it.
  KOKKOS_FORCEINLINE_FUNCTION float weight(int axis, int i, int distance) const {
    if (distance == 0) return 1.0f;
    return factor[axis] == 2 && (i & 1) != 0 && (distance == 1 || distance == -1) ? 0.5f : 0.0f;
  }
  /// The distance of the coarse nodes q and q + s along an axis, in fine nodes.
  KOKKOS_FORCEINLINE_FUNCTION int step(int axis, int q, int s) const {
    bool const short_axis = factor[axis] == 2 && from.box.periodic[axis] && (from.box.extent(axis) & 1) != 0;
    bool const wraps = q + s < 0 || q + s >= coarse.extent(axis);
    return short_axis && wraps ? s : factor[axis] * s;
  }

  KOKKOS_FUNCTION void plain_block(std::uint32_t node, int position, float (&sum)[9]) const {
    for (float& entry : sum) entry = 0;
    int p[3];
    coarse.position(node, p);
    int const s[3] = {step(0, p[0], position % 3 - 1), step(1, p[1], position / 3 % 3 - 1),
                      step(2, p[2], position / 9 - 1)};
    // Per axis: fine node i = I + di and its neighbour i + dt within reach of I + s.
    for (int z = 0; z < 9; ++z) {
      int const dz = z / 3 - 1, tz = z % 3 - 1;
      int k = factor[2] * p[2] + dz, next_k = k + tz;
      if (!from.box.wrap(2, k) || !from.box.wrap(2, next_k)) continue;
      float const wz = weight(2, k, dz) * weight(2, next_k, dz + tz - s[2]);
      if (wz == 0) continue;
      for (int y = 0; y < 9; ++y) {
        int const dy = y / 3 - 1, ty = y % 3 - 1;
        int j = factor[1] * p[1] + dy, next_j = j + ty;
        if (!from.box.wrap(1, j) || !from.box.wrap(1, next_j)) continue;
        float const wyz = wz * weight(1, j, dy) * weight(1, next_j, dy + ty - s[1]);
        if (wyz == 0) continue;
        for (int x = 0; x < 9; ++x) {
          int const dx = x / 3 - 1, tx = x % 3 - 1;
          int i = factor[0] * p[0] + dx, next_i = i + tx;
          if (!from.box.wrap(0, i) || !from.box.wrap(0, next_i)) continue;
          float const w = wyz * weight(0, i, dx) * weight(0, next_i, dx + tx - s[0]);
          if (w == 0) continue;
          std::uint32_t const row = from.box.index(i, j, k);
          int const t = tx + 1 + 3 * (ty + 1) + 9 * (tz + 1);
          float a[9];
          if (t == center_position) {
            float d[6];
            for (int e = 0; e < 6; ++e) d[e] = from.diagonal[static_cast<index_t>(e) * from.nodes + row];
            a[0] = d[0], a[4] = d[1], a[8] = d[2];
            a[5] = a[7] = d[3], a[2] = a[6] = d[4], a[1] = a[3] = d[5];
          } else {
            from.load(t, row, from.box.index(next_i, next_j, next_k), a);
          }
          for (int e = 0; e < 9; ++e) sum[e] += w * a[e];
        }
      }
    }
  }

  KOKKOS_FUNCTION void constrained_block(std::uint32_t node, int position, float (&sum)[9]) const {
    int p[3];
    coarse.position(node, p);
    std::uint32_t neighbour;
    bool const inside = coarse.neighbour(p, position, neighbour);
    for (float& entry : sum) entry = 0;
    if (!inside) return;
    plain_block(node, position, sum);
    CellGalerkin::leave_out(fixed(node), fixed(neighbour), sum);
  }

  KOKKOS_FUNCTION bool near_constraint(std::uint32_t node) const {
    int p[3];
    coarse.position(node, p);
    if (has_constrained_neighbour(coarse, coarse_mask, p)) return true;
    if (!fine_flags) return false;
    for (int position = 0; position < 27; ++position) {
      int const at[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
      int i[3];
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        i[axis] = factor[axis] * p[axis] + at[axis];
        exists = exists && from.box.wrap(axis, i[axis]) && weight(axis, i[axis], at[axis]) > 0;
      }
      if (exists && fine_flags[from.box.index(i[0], i[1], i[2])]) return true;
    }
    return false;
  }
};

/// Every block from the centre on, constraints aside. Index: node, then share of the positions.
template <class Galerkin>
struct AssembleBlocks {
  Galerkin galerkin;
  StencilData to;
  index_t padded;  // nodes in whole warps, so that a warp has one share
  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const node = static_cast<std::uint32_t>(index % padded);
    auto const share = static_cast<int>(index / padded);
    if (node >= to.nodes) return;
    for (int i = 0; i < 5; ++i) {
      int const position = Galerkin::share_position(share, i);
      if (position < 0) return;
      float a[9];
      galerkin.plain_block(node, position, a);
      store_block(to, node, position, a);
    }
  }
};

/// The nodes near constraints again, and their row sums: one team per listed node.
template <class ExecutionSpace, class Galerkin>
struct AssembleConstrained {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;
  static constexpr int scratch_bytes = static_cast<int>(sizeof(float)) * 9 * 27 + 8;

  Galerkin galerkin;
  StencilData to;
  std::uint32_t const* listed;

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    auto* const rows = static_cast<float*>(team.team_scratch(0).get_shmem(scratch_bytes - 8));
    std::uint32_t const node = listed[team.league_rank()];
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 27), [&](int position) {
      float a[9];
      galerkin.constrained_block(node, position, a);
      store_block(to, node, position, a);
      for (int e = 0; e < 9; ++e) rows[9 * position + e] = a[e];
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 9), [&](int e) {
      float sum = 0;
      for (int position = 0; position < 27; ++position) sum += rows[9 * position + e];
      to.row_sum[static_cast<index_t>(e) * to.nodes + node] = sum;
    });
  }
};

template <class Galerkin>
struct FlagConstrained {
  Galerkin galerkin;
  std::uint8_t* flags;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    flags[node] = galerkin.near_constraint(static_cast<std::uint32_t>(node));
  }
};

/// \param listed  the nodes near constraints (FlagConstrained); row sums of all others are zero and stay so
template <class ExecutionSpace, class Galerkin>
void assemble_stencil(char const* label, ExecutionSpace const& space, Galerkin const& galerkin, StencilData const& to,
                      Kokkos::View<std::uint32_t*, typename ExecutionSpace::memory_space> const& listed) {
  index_t const padded = (static_cast<index_t>(to.nodes) + 31) / 32 * 32;
  Kokkos::parallel_for(label, range(space, Galerkin::shares * padded), AssembleBlocks<Galerkin>{galerkin, to, padded});
  if (listed.extent(0) == 0) return;
  using Kernel = AssembleConstrained<ExecutionSpace, Galerkin>;
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  typename Kernel::policy_type policy(space, static_cast<int>(listed.extent(0)), on_host ? 1 : 32);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes));
  Kokkos::parallel_for(label, policy, Kernel{galerkin, to, listed.data()});
}

}  // namespace brickwork::detail
