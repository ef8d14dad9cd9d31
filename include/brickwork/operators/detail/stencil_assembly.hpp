// SPDX-License-Identifier: BSD-3-Clause
// Galerkin products P^T A P into block stencils, with trilinear prolongation P between nested box grids.
//
// From a matrix-free level, A = sum of E_c K0 over its cells: P_c^T K0 P_c is one of (at most) eight constant matrices,
// weighted by the moduli of a coarse cell's children; children at constrained nodes are computed one by one. From a
// stencil: block by block. Constrained components of either level are left out (P projects them to zero).
//
// Work per coarse node: 64 pairs of corners x 8 children x 9 multiply-adds from cells; 2197 blocks of 9 from a stencil.
#pragma once

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

/// Weight of coarse corner `a` (0 or 1) at fine corner `m` of child `o` along one axis.
KOKKOS_FORCEINLINE_FUNCTION constexpr double child_weight(int factor, int o, int m, int a) {
  double const position = factor == 2 ? 0.5 * (o + m) : m;
  return a == 1 ? position : 1 - position;
}

/// The finest stencil from the cells of a matrix-free level.
struct CellGalerkin {
  // The matrix-free level.
  float const* moduli;
  std::uint8_t const* mask;   ///< null: no constraints
  std::uint8_t const* dirty;  ///< per cell: a constrained component at one of its nodes; null where mask is
  float const* stiffness;     ///< [24][24]
  float const* products;      ///< P_c^T K0 P_c: [children][a][b][9]
  NodeBox fine;
  int cells[3];  ///< of the fine level
  int factor[3];
  // The coarse level.
  NodeBox coarse;
  int coarse_cells[3];
  std::uint8_t const* coarse_mask;

  KOKKOS_FUNCTION int fixed(std::uint32_t node) const { return coarse_mask ? coarse_mask[node] : 0; }

  /// The block (I, I + s) with constrained rows and columns left out; `plain` turns false where a constraint is near.
  KOKKOS_FUNCTION void block(std::uint32_t node, int position, float (&sum)[9], bool& plain) const {
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
        bool real = true;
        for (int axis = 0; axis < 3; ++axis)
          real = real && ((o >> axis) & 1) < factor[axis] && child[axis] < cells[axis];
        if (!real) continue;
        index_t const cell =
            child[0] + static_cast<index_t>(cells[0]) * (child[1] + static_cast<index_t>(cells[1]) * child[2]);
        float const modulus = moduli[cell];
        if (dirty && dirty[cell]) {
          plain = false;
          constrained(child, o, a, b, modulus, sum);
        } else {
          float const* const product = products + 9 * (b + 8 * (a + 8 * o));
          for (int e = 0; e < 9; ++e) sum[e] += modulus * product[e];
        }
      }
    }
    restrict_to_free(node, coarse.index(neighbour[0], neighbour[1], neighbour[2]), sum, plain);
  }

  KOKKOS_FUNCTION void restrict_to_free(std::uint32_t row, std::uint32_t column, float (&sum)[9], bool& plain) const {
    int const rows = fixed(row), columns = fixed(column);
    if ((rows | columns) == 0) return;
    plain = false;
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e)
        if (((rows >> d) & 1) || ((columns >> e) & 1)) sum[3 * d + e] = 0;
  }

  // A child with constrained nodes: P_c^T Q K0 Q P_c entry by entry.
  KOKKOS_FUNCTION void constrained(int const (&child)[3], int o, int a, int b, float modulus, float (&sum)[9]) const {
    int bits[8];
    double at_a[8], at_b[8];
    for (int m = 0; m < 8; ++m) {
      int n[3];
      at_a[m] = at_b[m] = 1;
      for (int axis = 0; axis < 3; ++axis) {
        int const bit = (m >> axis) & 1;
        n[axis] = child[axis] + bit;
        fine.wrap(axis, n[axis]);
        at_a[m] *= child_weight(factor[axis], (o >> axis) & 1, bit, (a >> axis) & 1);
        at_b[m] *= child_weight(factor[axis], (o >> axis) & 1, bit, (b >> axis) & 1);
      }
      bits[m] = mask[fine.index(n[0], n[1], n[2])];
    }
    for (int m = 0; m < 8; ++m)
      for (int n = 0; n < 8; ++n)
        for (int d = 0; d < 3; ++d)
          for (int e = 0; e < 3; ++e) {
            if (((bits[m] >> d) & 1) || ((bits[n] >> e) & 1)) continue;
            sum[3 * d + e] += modulus * static_cast<float>(at_a[m] * at_b[n]) * stiffness[24 * (3 * m + d) + 3 * n + e];
          }
  }
};

/// A stencil from the next finer one.
struct StencilGalerkin {
  StencilData from;
  int factor[3];
  NodeBox coarse;
  std::uint8_t const* coarse_mask;

  KOKKOS_FUNCTION int fixed(std::uint32_t node) const { return coarse_mask ? coarse_mask[node] : 0; }

  KOKKOS_FORCEINLINE_FUNCTION static float weight(int factor, int distance) {
    if (factor == 1) return distance == 0 ? 1.0f : 0.0f;
    return distance == 0 ? 1.0f : (distance == 1 || distance == -1 ? 0.5f : 0.0f);
  }

  KOKKOS_FUNCTION void block(std::uint32_t node, int position, float (&sum)[9], bool& plain) const {
    for (float& entry : sum) entry = 0;
    int p[3];
    coarse.position(node, p);
    int const s[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
    int neighbour[3] = {p[0] + s[0], p[1] + s[1], p[2] + s[2]};
    bool const inside = coarse.wrap(0, neighbour[0]) && coarse.wrap(1, neighbour[1]) && coarse.wrap(2, neighbour[2]);
    if (!inside) return;
    for (int at = 0; at < 27; ++at) {
      // Fine node i around I
      int const di[3] = {at % 3 - 1, at / 3 % 3 - 1, at / 9 - 1};
      int i[3];
      float row_weight = 1;
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        row_weight *= weight(factor[axis], di[axis]);
        i[axis] = factor[axis] * p[axis] + di[axis];
        exists = exists && from.box.wrap(axis, i[axis]);
      }
      if (!exists || row_weight == 0) continue;
      std::uint32_t const row = from.box.index(i[0], i[1], i[2]);
      // and its neighbours j = i + t within reach of I + s
      for (int t = 0; t < 27; ++t) {
        float both = row_weight;
        for (int axis = 0; axis < 3; ++axis) {
          int const dt = axis == 0 ? t % 3 - 1 : (axis == 1 ? t / 3 % 3 - 1 : t / 9 - 1);
          both *= weight(factor[axis], di[axis] + dt - factor[axis] * s[axis]);
        }
        if (both == 0) continue;
        if (t == 13) {
          float d[6];
          for (int e = 0; e < 6; ++e) d[e] = from.diagonal[static_cast<index_t>(e) * from.nodes + row];
          float const full[9] = {d[0], d[5], d[4], d[5], d[1], d[3], d[4], d[3], d[2]};
          for (int e = 0; e < 9; ++e) sum[e] += both * full[e];
          for (int e = 0; e < 9; ++e) plain = plain && from.row_sum[static_cast<index_t>(e) * from.nodes + row] == 0;
        } else {
          float a[9];
          from.load(t < 13 ? t : t - 1, row, a, from.half);
          for (int e = 0; e < 9; ++e) sum[e] += both * a[e];
        }
      }
    }
    int const rows = fixed(node), columns = fixed(coarse.index(neighbour[0], neighbour[1], neighbour[2]));
    if ((rows | columns) == 0) return;
    plain = false;
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e)
        if (((rows >> d) & 1) || ((columns >> e) & 1)) sum[3 * d + e] = 0;
  }
};

/// Fills a stencil block by block: team of `lanes` nodes x 9 rows of three neighbours (one thread on a host).
template <class ExecutionSpace, class Galerkin>
struct AssembleStencil {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;
  static constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  static constexpr int lanes = on_host ? 1 : 32;
  static constexpr int rows = on_host ? 1 : 9;
  // Per thread: the row sum, whether a constraint is near, and the first moments of what rounding took.
  static constexpr int shared_values = 9 + 1 + 27;
  static constexpr int scratch_bytes = static_cast<int>(sizeof(float)) * shared_values * lanes * rows + 8;

  Galerkin galerkin;
  StencilData to;

  // Stores a block; `lost` = what rounding took from it.
  KOKKOS_FUNCTION void store(int q, std::uint32_t node, float const (&a)[9], float (&lost)[9]) const {
    for (float& entry : lost) entry = 0;
    if (!to.half || slot_on_axis(q)) {
      int const p = to.half ? axis_place(q) : q;
      for (int e = 0; e < 9; ++e) to.full[static_cast<index_t>(9 * p + e) * to.nodes + node] = a[e];
      return;
    }
    for (int e = 0; e < 9; ++e) lost[e] = a[e] - round_to_bf16(a[e]);
    int const p = other_place(q);
    for (int w = 0; w < 4; ++w)
      to.words[static_cast<index_t>(4 * p + w) * to.nodes + node] = bf16_bits(a[2 * w]) | bf16_bits(a[2 * w + 1]) << 16;
    // Two blocks share a word, and different threads may hold them.
    auto* const halves =
        reinterpret_cast<std::uint16_t*>(to.words + static_cast<index_t>(80 + p / 2) * to.nodes + node);
    halves[p & 1] = static_cast<std::uint16_t>(bf16_bits(a[8]));
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    auto* const scratch = static_cast<float*>(team.team_scratch(0).get_shmem(scratch_bytes - 8));
    int const lane = team.team_rank() % lanes;
    int const part = team.team_rank() / lanes;
    std::uint32_t const node =
        static_cast<std::uint32_t>(team.league_rank()) * lanes + static_cast<std::uint32_t>(lane);
    bool const active = node < to.nodes;
    float total[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    float moment[27] = {};
    bool plain = true;
    if (active) {
      constexpr int each = 27 / rows;
      for (int position = part * each; position < part * each + each; ++position) {
        float a[9];
        galerkin.block(node, position, a, plain);
        for (int e = 0; e < 9; ++e) total[e] += a[e];
        if (position == 13) {
          float const d[6] = {a[0], a[4], a[8], 0.5f * (a[5] + a[7]), 0.5f * (a[2] + a[6]), 0.5f * (a[1] + a[3])};
          float inverse[6];
          invert_symmetric(d, inverse);
          for (int e = 0; e < 6; ++e) {
            to.diagonal[static_cast<index_t>(e) * to.nodes + node] = d[e];
            to.inverse[static_cast<index_t>(e) * to.nodes + node] = inverse[e];
          }
        } else {
          float lost[9];
          store(position < 13 ? position : position - 1, node, a, lost);
          int const offset[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
          for (int axis = 0; axis < 3; ++axis)
            for (int e = 0; e < 9; ++e) moment[9 * axis + e] += static_cast<float>(offset[axis]) * lost[e];
        }
      }
    }
    auto const at = [&](int value, int thread) -> float& { return scratch[(value * rows + thread) * lanes + lane]; };
    for (int e = 0; e < 9; ++e) at(e, part) = total[e];
    at(9, part) = plain ? 1.0f : 0.0f;
    if (to.half)
      for (int e = 0; e < 27; ++e) at(10 + e, part) = moment[e];
    team.team_barrier();
    if (!active || part != 0) return;
    bool all_plain = true;
    for (int other = 0; other < rows; ++other) all_plain = all_plain && at(9, other) == 1.0f;
    for (int e = 0; e < 9; ++e) {
      float sum = 0;
      for (int other = 0; other < rows; ++other) sum += at(e, other);
      // A row sum that must be zero is zero, not rounding.
      to.row_sum[static_cast<index_t>(e) * to.nodes + node] = all_plain ? 0.0f : sum;
    }
    if (!to.half || !all_plain) return;
    int p[3];
    to.box.position(node, p);
    for (int axis = 0; axis < 3; ++axis) {
      int next = p[axis] + 1, previous = p[axis] - 1;
      bool const has_next = to.box.wrap(axis, next), has_previous = to.box.wrap(axis, previous);
      float const share = has_next && has_previous ? 0.5f : 1.0f;
      for (int e = 0; e < 9; ++e) {
        float sum = 0;
        for (int other = 0; other < rows; ++other) sum += at(10 + 9 * axis + e, other);
        if (has_next) to.full[static_cast<index_t>(9 * (3 + axis) + e) * to.nodes + node] += share * sum;
        if (has_previous) to.full[static_cast<index_t>(9 * (2 - axis) + e) * to.nodes + node] -= share * sum;
      }
    }
  }

  // Inverse of a symmetric block; components without stiffness stay out of it.
  KOKKOS_FUNCTION static void invert_symmetric(float const (&d)[6], float (&inverse)[6]) {
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
};

template <class ExecutionSpace, class Galerkin>
void assemble_stencil(char const* label, ExecutionSpace const& space, Galerkin const& galerkin, StencilData const& to) {
  using Kernel = AssembleStencil<ExecutionSpace, Galerkin>;
  auto const teams = static_cast<int>((to.nodes + Kernel::lanes - 1) / Kernel::lanes);
  typename Kernel::policy_type policy(space, teams, Kernel::lanes * Kernel::rows);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes));
  Kokkos::parallel_for(label, policy, Kernel{galerkin, to});
}

}  // namespace brickwork::detail
