// SPDX-License-Identifier: BSD-3-Clause
// Portable body of the `parity` kernel: w = K u in the even-odd basis, marching over cell layers.
//
// Mathematics. With the butterfly u^ = T u (fem/hex8_stiffness.hpp) the element product is E K~ u^ with 45 nonzero
// entries. The butterfly factors by axis: the x part of a node row serves both cell rows that touch it, the xy part of
// a node layer both cell layers. The transposed butterflies are deferred likewise: contributions of the two cell layers
// to a node layer are added in the xy basis, and turned back to nodes once per layer.
//
// Work. A team takes a tile of node rows and layers (all of x, or a slab of it) and marches in z over the cell layers
// that touch them. Per cell row it keeps 12 butterflied values of the lower node layer and 12 carried results per cell
// in scratch. Per cell and application: about 150 floating-point operations, and from memory u and w once each (3
// values) and the modulus once (28 bytes in FP32, 56 in FP64), plus the tile's halo, which the cache serves. No
// atomics: every node is written by one team, in a fixed order, so results are bitwise repeatable (for a given tiling,
// which depends on the number of threads only through the tile extents, and not at all on scheduling).
//
// Source: DESIGN of this library; the gather-product-scatter form it replaces is that of the fused-kernel text.
#pragma once

#include <algorithm>
#include <cstdint>

#include "brickwork/core/simd.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"

namespace brickwork::detail {

/// Calls body(i) for i in [0, count), spread over the team's threads on a device, as one loop on the host.
template <class Member, class Body>
KOKKOS_FORCEINLINE_FUNCTION void team_loop(Member const& team, int count, Body const& body) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), body);
#else
  (void)team;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int i = 0; i < count; ++i) body(i);
#endif
}

/// The even-odd element product, f^ = E K~ u^, in place on u^[mode][component].
template <class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION void parity_product(Scalar const (&blocks)[8][3][3], Value const& modulus,
                                                Value (&u)[8][3]) {
  static_for<8>([&](auto block) BRICKWORK_INLINE_LAMBDA {
    constexpr int s = decltype(block)::value;
    Value in[3];
    static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
      constexpr int a = decltype(component)::value;
      in[a] = u[s ^ (1 << a)][a] * modulus;
    });
    static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
      constexpr int a = decltype(component)::value;
      constexpr int b = (a + 1) % 3;
      constexpr int c = (a + 2) % 3;
      Value sum{};  // stays zero for a translation
      if constexpr (parity_coupled(s, a, a)) sum = in[a] * blocks[s][a][a];
      if constexpr (parity_coupled(s, a, b)) sum = sum + in[b] * blocks[s][a][b];
      if constexpr (parity_coupled(s, a, c)) sum = sum + in[c] * blocks[s][a][c];
      u[s ^ (1 << a)][a] = sum;
    });
  });
}

template <class ExecutionSpace, class Scalar, bool Masked>
struct ElasticityParityPortable {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;

  ElasticityData<Scalar> data;
  Scalar const* u;
  Scalar* w;
  index_t stride_u;  ///< between components
  index_t stride_w;
  index_t tiles_x, tiles_y, tiles_z;
  index_t tile_x, tile_y, tile_z;  ///< node extents of a tile
  int columns;                     ///< cells per cell row of a tile, tile_x + 1, rounded up to whole packs

  static constexpr int width = pack_width<Scalar>;

  /// Scratch values per team: lower layer and carry per cell row, two node rows (6), one row of results (6 + 6),
  /// moduli.
  KOKKOS_INLINE_FUNCTION std::size_t scratch_values() const {
    return static_cast<std::size_t>(columns) * (24 * static_cast<std::size_t>(tile_y + 1) + 2 * 6 + 2 * 6 + 1);
  }

  static constexpr std::size_t scratch_alignment = 64;  // whole packs must not straddle cache lines

  KOKKOS_FORCEINLINE_FUNCTION static Scalar* aligned(void* pointer) {
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    return reinterpret_cast<Scalar*>((address + scratch_alignment - 1) / scratch_alignment * scratch_alignment);
  }

  void choose_tiles(ExecutionSpace const& space) {
    index_t const threads = std::max<index_t>(1, static_cast<index_t>(space.concurrency()));
    bool const on_host =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
    index_t const workers = on_host ? threads : 1024;
    auto const divide = [](index_t a, index_t b) { return (a + b - 1) / b; };
    index_t const longest_row = 512;
    tiles_x = divide(data.mx, longest_row);
    tile_x = divide(data.mx, tiles_x);
    tiles_x = divide(data.mx, tile_x);
    columns = static_cast<int>(divide(tile_x + 1, width) * width);
    // The rows' state should stay in a core's cache: about half a mebibyte.
    index_t const budget = on_host ? (1 << 19) : (1 << 16);
    index_t const rows = std::max<index_t>(4, budget / (24 * columns * index_t(sizeof(Scalar))));
    tiles_y = divide(data.my, rows);
    tiles_z = 1;
    if (tiles_y * tiles_x < workers) {
      tiles_y = std::min(divide(data.my, 8), divide(workers, tiles_x));
      tiles_y = std::max<index_t>(1, tiles_y);
      tiles_z = std::max<index_t>(1, std::min(divide(data.mz, 8), divide(workers, tiles_x * tiles_y)));
    } else if (on_host && tiles_y * tiles_x < 8 * workers) {
      tiles_y = divide(tiles_y, workers) * workers;  // equal shares
    }
    tile_y = divide(data.my, tiles_y);
    tiles_y = divide(data.my, tile_y);
    tile_z = divide(data.mz, tiles_z);
    tiles_z = divide(data.mz, tile_z);
  }

  KOKKOS_FORCEINLINE_FUNCTION static bool wrap(index_t& i, index_t n, bool periodic) {
    if (i >= 0 && i < n) return true;
    if (!periodic) return false;
    i += i < 0 ? n : -n;
    return true;
  }

  // Node value as the stiffness sees it: constrained components count as zero.
  KOKKOS_FORCEINLINE_FUNCTION Scalar value(index_t node, int d) const {
    if (Masked && ((data.mask[node] >> d) & 1)) return Scalar(0);
    return u[node + d * stride_u];
  }

  // The x-butterfly of one node row: x[p][d][c] for the tile's cells c (global cell x0 - 1 + c). Cells outside are
  // zero.
  KOKKOS_FORCEINLINE_FUNCTION void load_row(member_type const& team, index_t x0, index_t row, Scalar* x) const {
    index_t const first_node = x0 - 1;  // left node of cell c is first_node + c
    // Interior cells have both nodes at hand and need no test.
    int const begin = static_cast<int>(math::max<index_t>(0, -first_node));
    int const end =
        static_cast<int>(math::max<index_t>(begin, math::min<index_t>(tile_x + 1, data.mx - 1 - first_node)));
    int const n = columns;
    int const edges = begin + static_cast<int>(tile_x) + 1 - end;  // what pads the row to whole packs stays zero
    for (int d = 0; d < 3; ++d) {
      Scalar const* const source = u + d * stride_u + row + first_node;
      std::uint8_t const* const mask = Masked ? data.mask + row + first_node : nullptr;
      Scalar* const even = x + d * n;
      Scalar* const odd = x + (3 + d) * n;
      auto const cell = [=](int c) BRICKWORK_INLINE_LAMBDA {
        Scalar left = source[c];
        Scalar right = source[c + 1];
        if (Masked) {
          left = ((mask[c] >> d) & 1) ? Scalar(0) : left;
          right = ((mask[c + 1] >> d) & 1) ? Scalar(0) : right;
        }
        even[c] = left + right;
        odd[c] = left - right;
      };
      team_loop(team, end - begin, [=](int c) BRICKWORK_INLINE_LAMBDA { cell(begin + c); });
      team_loop(team, edges, [=](int index) BRICKWORK_INLINE_LAMBDA {
        int const c = index < begin ? index : end + index - begin;
        index_t left = first_node + c;
        index_t right = left + 1;
        bool const inside =
            left <= data.mx && wrap(left, data.mx, data.periodic[0]) && wrap(right, data.mx, data.periodic[0]);
        Scalar const a = inside ? value(row + left, d) : Scalar(0);
        Scalar const b = inside ? value(row + right, d) : Scalar(0);
        even[c] = a + b;
        odd[c] = a - b;
      });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_moduli(member_type const& team, index_t x0, index_t j, index_t k,
                                               Scalar* moduli) const {
    Scalar const* const row = data.moduli + data.nx * (j + data.ny * k) + (x0 - 1);
    int const begin = x0 == 0 ? 1 : 0;
    int const end = static_cast<int>(math::min(tile_x + 1, data.nx + 1 - x0));
    team_loop(team, end - begin, [=](int c) BRICKWORK_INLINE_LAMBDA { moduli[begin + c] = row[begin + c]; });
    team_loop(team, begin + static_cast<int>(tile_x) + 1 - end, [=](int index) BRICKWORK_INLINE_LAMBDA {
      int const c = index < begin ? index : end + index - begin;
      // Of the cells outside the box only the wrapped one on the left counts.
      moduli[c] = c == 0 && data.periodic[0] ? row[data.nx] : Scalar(0);
    });
  }

  // One cell row of one cell layer. `lower_row`, `upper_row`: x-butterflies of node rows j and j + 1 of node layer k
  // + 1. Adds to `below` (what this row gives to node row j) and writes `above` (to node row j + 1), both
  // x-butterflied.
  KOKKOS_FORCEINLINE_FUNCTION void cell_row(member_type const& team, Scalar const* lower_row, Scalar const* upper_row,
                                            Scalar const* moduli, Scalar* layer, Scalar* carry, Scalar* below,
                                            Scalar* above) const {
    int const n = columns;
    auto const* const self = this;
    team_loop(team, n / width, [=](int pack) BRICKWORK_INLINE_LAMBDA {
      using Value = Pack<Scalar>;
      int const c = pack * width;
      Value cell[8][3];
      static_for<6>([&](auto plane) BRICKWORK_INLINE_LAMBDA {
        constexpr int p = decltype(plane)::value / 3;
        constexpr int d = decltype(plane)::value % 3;
        Value const y0 = load_pack(lower_row + (3 * p + d) * n + c);
        Value const y1 = load_pack(upper_row + (3 * p + d) * n + c);
        Value const next[2] = {y0 + y1, y0 - y1};
        static_for<2>([&](auto row) BRICKWORK_INLINE_LAMBDA {
          constexpr int q = decltype(row)::value;
          Scalar* const stored = layer + (3 * (p + 2 * q) + d) * n + c;
          Value const previous = load_pack(stored);
          store_pack<Scalar>(stored, next[q]);
          cell[p + 2 * q][d] = previous + next[q];
          cell[p + 2 * q + 4][d] = previous - next[q];
        });
      });
      parity_product(self->data.parity, load_pack(moduli + c), cell);
      static_for<6>([&](auto plane) BRICKWORK_INLINE_LAMBDA {
        constexpr int p = decltype(plane)::value / 3;
        constexpr int d = decltype(plane)::value % 3;
        Value g[2];
        static_for<2>([&](auto row) BRICKWORK_INLINE_LAMBDA {
          constexpr int q = decltype(row)::value;
          constexpr int s = p + 2 * q;
          Scalar* const carried = carry + (3 * s + d) * n + c;
          g[q] = load_pack(carried) + (cell[s][d] + cell[s + 4][d]);
          store_pack<Scalar>(carried, cell[s][d] - cell[s + 4][d]);
        });
        Scalar* const to_below = below + (3 * p + d) * n + c;
        store_pack<Scalar>(to_below, load_pack(to_below) + (g[0] + g[1]));
        store_pack<Scalar>(above + (3 * p + d) * n + c, g[0] - g[1]);
      });
    });
  }

  // The last node layer of a box takes nothing from above: only the carry is turned back.
  KOKKOS_FORCEINLINE_FUNCTION void carry_row(member_type const& team, Scalar const* carry, Scalar* below,
                                             Scalar* above) const {
    int const n = columns;
    team_loop(team, 6 * n, [=](int index) BRICKWORK_INLINE_LAMBDA {
      int const row = index / n;  // 3 p + d
      int const c = index - row * n;
      Scalar const g0 = carry[row * n + c];
      Scalar const g1 = carry[(row + 6) * n + c];
      below[row * n + c] += g0 + g1;
      above[row * n + c] = g0 - g1;
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_row(member_type const& team, index_t x0, index_t row,
                                             Scalar const* result) const {
    int const count = static_cast<int>(math::min(tile_x, data.mx - x0));
    int const n = columns;
    for (int d = 0; d < 3; ++d) {
      Scalar* const target = w + d * stride_w + row + x0;
      Scalar const* const even = result + d * n;
      Scalar const* const odd = result + (3 + d) * n;
      Scalar const* const source = u + d * stride_u + row + x0;
      std::uint8_t const* const mask = Masked ? data.mask + row + x0 : nullptr;
      team_loop(team, count, [=](int m) BRICKWORK_INLINE_LAMBDA {
        // Node m is corner 0 of cell m + 1 and corner 1 of cell m.
        Scalar const sum = (even[m + 1] + odd[m + 1]) + (even[m] - odd[m]);
        target[m] = Masked && ((mask[m] >> d) & 1) ? source[m] : sum;
      });
    }
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t tile = team.league_rank();
    index_t const x0 = (tile % tiles_x) * tile_x;
    tile /= tiles_x;
    index_t const y0 = (tile % tiles_y) * tile_y;
    index_t const z0 = (tile / tiles_y) * tile_z;
    index_t const y_end = math::min(y0 + tile_y, data.my);
    index_t const z_end = math::min(z0 + tile_z, data.mz);
    int const n = columns;
    int const rows = static_cast<int>(y_end - y0) + 1;  // cell rows y0 - 1 ... y_end - 1

    Scalar* const scratch = aligned(
        team.team_scratch(1).get_shmem(static_cast<int>(scratch_values() * sizeof(Scalar) + scratch_alignment)));
    Scalar* const layer = scratch;
    Scalar* const carry = layer + index_t(12) * (tile_y + 1) * n;
    Scalar* node_rows[2] = {carry + index_t(12) * (tile_y + 1) * n, carry + index_t(12) * (tile_y + 1) * n + 6 * n};
    Scalar* results[2] = {node_rows[1] + 6 * n, node_rows[1] + 12 * n};
    Scalar* const moduli = results[1] + 6 * n;

    team_loop(team, static_cast<int>(scratch_values()),
              [=](int index) BRICKWORK_INLINE_LAMBDA { scratch[index] = Scalar(0); });
    team.team_barrier();

    // Cell layers z0 - 1 ... z_end - 1. Before each, `layer` holds the xy-butterfly of its lower node layer.
    for (index_t kz = z0 - 1; kz < z_end; ++kz) {
      index_t cell_layer = kz;
      bool const layer_inside = wrap(cell_layer, data.nz, data.periodic[2]);
      bool const store_layer = kz >= z0;
      if (kz == z0 - 1) {
        if (!layer_inside) {
          // Node layer z0 is the first of the box: fill `layer` with it and go on.
          march_rows(team, x0, y0, rows, data.mx * data.my * z0, node_rows, nullptr, 0, layer, carry, results, moduli,
                     false, true, 0);
          continue;
        }
        index_t below = kz;
        wrap(below, data.mz, data.periodic[2]);
        march_rows(team, x0, y0, rows, data.mx * data.my * below, node_rows, nullptr, 0, layer, carry, results, moduli,
                   false, true, 0);
      }
      index_t upper = kz + 1;
      if (layer_inside) wrap(upper, data.mz, data.periodic[2]);
      march_rows(team, x0, y0, rows, data.mx * data.my * upper, node_rows, layer_inside ? data.moduli : nullptr,
                 cell_layer, layer, carry, results, moduli, store_layer, false, data.mx * data.my * kz);
    }
  }

  // All cell rows of one cell layer; with `fill`, only the xy-butterfly of node layer `nodes` goes to `layer`.
  // Without `layer_moduli` the cell layer lies above the box.
  KOKKOS_FORCEINLINE_FUNCTION void march_rows(member_type const& team, index_t x0, index_t y0, int rows, index_t nodes,
                                              Scalar* (&node_rows)[2], Scalar const* layer_moduli, index_t cell_layer,
                                              Scalar* layer, Scalar* carry, Scalar* (&results)[2], Scalar* moduli,
                                              bool store, bool fill, index_t store_nodes) const {
    int const n = columns;
    Scalar* lower = node_rows[0];
    Scalar* upper = node_rows[1];
    Scalar* below = results[0];
    Scalar* above = results[1];
    bool lower_loaded = false;
    bool const needs_nodes = fill || layer_moduli != nullptr;
    team_loop(team, 6 * n, [=](int index) BRICKWORK_INLINE_LAMBDA { below[index] = Scalar(0); });
    for (int r = 0; r < rows; ++r) {
      index_t cell_row_index = y0 - 1 + r;
      index_t const node_row = cell_row_index;  // unwrapped index of the lower node row
      bool const inside = wrap(cell_row_index, data.ny, data.periodic[1]);
      Scalar* const row_layer = layer + index_t(12) * r * n;
      Scalar* const row_carry = carry + index_t(12) * r * n;
      if (inside) {
        if (needs_nodes) {
          if (!lower_loaded) {
            index_t j = node_row;
            wrap(j, data.my, data.periodic[1]);
            load_row(team, x0, nodes + data.mx * j, lower);
          }
          index_t j = node_row + 1;
          wrap(j, data.my, data.periodic[1]);
          load_row(team, x0, nodes + data.mx * j, upper);
          if (!fill) load_moduli(team, x0, cell_row_index, cell_layer, moduli);
          lower_loaded = true;
        }
        team.team_barrier();
        if (fill) {
          Scalar const* const lower_now = lower;
          Scalar const* const upper_now = upper;
          team_loop(team, 6 * n, [=](int index) BRICKWORK_INLINE_LAMBDA {
            row_layer[index] = lower_now[index] + upper_now[index];
            row_layer[6 * n + index] = lower_now[index] - upper_now[index];
          });
        } else if (layer_moduli != nullptr) {
          cell_row(team, lower, upper, moduli, row_layer, row_carry, below, above);
        } else {
          carry_row(team, row_carry, below, above);
        }
      } else if (!fill) {
        Scalar* const above_now = above;
        team_loop(team, 6 * n, [=](int index) BRICKWORK_INLINE_LAMBDA { above_now[index] = Scalar(0); });
      }
      team.team_barrier();
      if (store && r >= 1) store_row(team, x0, store_nodes + data.mx * node_row, below);
      team.team_barrier();
      Scalar* const swap_row = lower;
      lower = upper;
      upper = swap_row;
      if (!inside) lower_loaded = false;
      Scalar* const swap_result = below;
      below = above;
      above = swap_result;
    }
  }
};

/// w = K u on the local box; see ElasticityOperator::apply for the contract.
template <class ExecutionSpace, class Scalar, bool Masked>
void apply_parity_portable(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Scalar const* u, Scalar* w,
                           index_t stride_u, index_t stride_w) {
  ElasticityParityPortable<ExecutionSpace, Scalar, Masked> kernel;
  kernel.data = data;
  kernel.u = u;
  kernel.w = w;
  kernel.stride_u = stride_u;
  kernel.stride_w = stride_w;
  kernel.choose_tiles(space);
  using policy_type = typename ElasticityParityPortable<ExecutionSpace, Scalar, Masked>::policy_type;
  bool const on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  policy_type policy(space, static_cast<int>(kernel.tiles_x * kernel.tiles_y * kernel.tiles_z), on_host ? 1 : 128);
  policy.set_scratch_size(1, Kokkos::PerTeam(kernel.scratch_values() * sizeof(Scalar) + 4 * kernel.scratch_alignment));
  Kokkos::parallel_for("brickwork::ElasticityOperator::apply::parity", policy, kernel);
}

}  // namespace brickwork::detail
