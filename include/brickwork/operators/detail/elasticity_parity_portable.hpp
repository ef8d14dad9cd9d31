// SPDX-License-Identifier: BSD-3-Clause
// Portable body of the `parity` kernel: K u in the even-odd basis, marching over slabs of two cell layers.
//
// Mathematics. With the butterfly u^ = T u (fem/hex8_stiffness.hpp) the element product is E K~ u^ with 45 nonzero
// entries; for cubes of an isotropic material seven coefficients are left (CubeParity). The butterfly factors by axis:
// the x part of a node row serves both cell rows that touch it, the xy part of a node plane both cell layers of a slab.
// The transposed butterflies are deferred likewise: what two cell layers give to the plane between them is added in the
// xy basis, what two cell rows give to a node row in the x basis. A slab leaves for its upper plane the nodes' sums.
//
// Layout. A tile is a brick of nodes; a team marches in z over the slabs that touch it, in a slab over the right-hand
// sides (the moduli come from memory for the first one), then over blocks along x, then row by row in y. A block's
// state is, per pack of cells, the x-butterflies of the lower node row and what the cell row below gave (36 packs for
// three planes): it stays in the first-level cache. From slab to slab stay three values of u and three sums per node:
// tiles are as many rows high as keep them in the second-level cache. A pack is a vector register of cells on the host
// and one cell on a device. Node rows are read in place; rows that wrap, end with the vector or have constrained
// components are copied first, with zeros for the latter.
//
// Cost per cell, from memory u and the product's vectors once and the modulus once: 28 bytes in FP32, 56 in FP64, 52 in
// mixed precision, plus halos (a row of 65 or so, a cell of 128 along x) and what the epilogue adds. 153 floating-point
// operations for cubes (138 if nothing were done twice at a slab's ends), 177 in general; per pack 282 instructions of
// which 47 store, 20 of these to spilled registers (AVX-512, GCC 12).
//
// Mixed precision (Value = double, Scalar = float): the even modes in x and in xy stay in FP64 until a difference along
// another axis is taken, and that difference is rounded to FP32: the mean of a cell never is. So u rounds relative to
// its differences across a cell, and neither a translation nor a large gradient along the box costs digits. Costs 21
// FP64 operations and 36 conversions and shuffles per pack, and FP64 rows in the state.
//
// Repeatability. No atomics: every node belongs to one tile and is computed in a fixed order; sums are taken per lane
// and tile, and added up in a fixed order by a second launch. Results are bitwise repeatable for a given number of
// threads and of right-hand sides, which decide on the tiles; scheduling does not matter.
//
// Source: DESIGN.md section 4; the gather-product-scatter form it replaces is that of the fused-kernel text.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "brickwork/core/simd.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"
#include "brickwork/operators/detail/elasticity_epilogue.hpp"

namespace brickwork::detail {

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
#define BRICKWORK_PARITY_ON_DEVICE 1
#else
#define BRICKWORK_PARITY_ON_DEVICE 0
#endif

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define BRICKWORK_ONCE_PER_ROW __attribute__((noinline))
#else
#define BRICKWORK_ONCE_PER_ROW KOKKOS_FUNCTION
#endif

/// Calls body(i) for i in [0, count), spread over the team's threads on a device, as one loop on the host.
template <class Member, class Body>
KOKKOS_FORCEINLINE_FUNCTION void team_loop(Member const& team, int count, Body const& body) {
#if BRICKWORK_PARITY_ON_DEVICE
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), body);
#else
  (void)team;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int i = 0; i < count; ++i) body(i);
#endif
}

/// Barrier of a team; a team of the host is one thread.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void team_sync(Member const& team) {
#if BRICKWORK_PARITY_ON_DEVICE
  team.team_barrier();
#else
  (void)team;
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

/// One cell layer between two node planes, any box-shaped cell and any material aligned with the axes. `stretch` is the
/// difference of the planes' xy-even modes (their sum is a translation), lower and upper the other three xy modes.
/// Adds to what the lower plane gets and sets what the upper one gets, xy-butterflied ([x parity + 2 y parity]).
template <class Scalar>
struct GeneralParity {
  Scalar k[8][3][3];

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void apply(Value const& modulus, Value const (&stretch)[3], Value const (&lower)[3][3],
                                         Value const (&upper)[3][3], Value (&to_lower)[4][3],
                                         Value (&to_upper)[4][3]) const {
    Value mode[8][3];
    static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
      constexpr int d = decltype(component)::value;
      mode[0][d] = Value{};
      mode[4][d] = stretch[d];
      static_for<3>([&](auto plane) BRICKWORK_INLINE_LAMBDA {
        constexpr int xy = decltype(plane)::value;
        mode[xy + 1][d] = lower[xy][d] + upper[xy][d];
        mode[xy + 5][d] = lower[xy][d] - upper[xy][d];
      });
    });
    parity_product(k, modulus, mode);
    static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
      constexpr int d = decltype(component)::value;
      to_lower[0][d] = to_lower[0][d] + mode[4][d];
      to_upper[0][d] = -mode[4][d];
      static_for<3>([&](auto plane) BRICKWORK_INLINE_LAMBDA {
        constexpr int xy = decltype(plane)::value + 1;
        to_lower[xy][d] = to_lower[xy][d] + (mode[xy][d] + mode[xy + 4][d]);
        to_upper[xy][d] = mode[xy][d] - mode[xy + 4][d];
      });
    });
  }
};

/// The same for cubes of a material with cubic symmetry (isotropic ones too): seven coefficients. The modulus scales
/// these, and a shear block is one strain sum times one stress.
template <class Scalar>
struct CubeParity {
  Scalar normal, trace, shear, twist, bend, cross, warp;

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void apply(Value const& modulus, Value const (&stretch)[3], Value const (&lower)[3][3],
                                         Value const (&upper)[3][3], Value (&to_lower)[4][3],
                                         Value (&to_upper)[4][3]) const {
    auto const z0 = [&](int xy, int c) BRICKWORK_INLINE_LAMBDA { return lower[xy - 1][c] + upper[xy - 1][c]; };
    auto const z1 = [&](int xy, int c) BRICKWORK_INLINE_LAMBDA { return lower[xy - 1][c] - upper[xy - 1][c]; };
    auto const single = [&](int c, Value const& f1) BRICKWORK_INLINE_LAMBDA {
      to_lower[0][c] = to_lower[0][c] + f1;
      to_upper[0][c] = -f1;
    };
    auto const pair = [&](int xy, int c, Value const& f0, Value const& f1) BRICKWORK_INLINE_LAMBDA {
      to_lower[xy][c] = to_lower[xy][c] + (f0 + f1);
      to_upper[xy][c] = f0 - f1;
    };
    Value const et = modulus * twist;
    auto const last = [&](int c, Value const& f0) BRICKWORK_INLINE_LAMBDA {
      Value const t = z1(3, c);
      to_lower[3][c] = et * t + (to_lower[3][c] + f0);
      to_upper[3][c] = f0 - et * t;
    };
    // Blocks 3, 5, 6: shear strains.
    Value const es = modulus * shear;
    Value const s3 = es * (z0(2, 0) + z0(1, 1));
    Value const s5 = es * (stretch[0] + z0(1, 2));
    Value const s6 = es * (stretch[1] + z0(2, 2));
    single(0, s5);
    single(1, s6);
    // Block 0: normal strains.
    Value const xx = z0(1, 0), yy = z0(2, 1), zz = stretch[2];
    Value const en = modulus * normal;
    Value const volume = (modulus * trace) * ((xx + yy) + zz);
    single(2, en * zz + volume);
    Value const eb = modulus * bend;
    Value const ec = modulus * cross;
    {  // block 4
      Value const v0 = z1(1, 0), v1 = z1(2, 1);
      pair(1, 0, en * xx + volume, eb * v0 + ec * v1);
      pair(2, 1, en * yy + volume, eb * v1 + ec * v0);
    }
    {  // block 7
      Value const w0 = z1(2, 0), w1 = z1(1, 1), w2 = z0(3, 2);
      Value const ew = modulus * warp;
      Value const w = ew * ((w0 + w1) + w2);
      pair(2, 0, s3, ew * w0 + w);
      pair(1, 1, s3, ew * w1 + w);
      last(2, ew * w2 + w);
    }
    {  // block 1
      Value const v1 = z0(3, 1), v2 = z1(1, 2);
      last(1, eb * v1 + ec * v2);
      pair(1, 2, s5, eb * v2 + ec * v1);
    }
    {  // block 2
      Value const v0 = z0(3, 0), v2 = z1(2, 2);
      last(0, eb * v0 + ec * v2);
      pair(2, 2, s6, eb * v2 + ec * v0);
    }
  }
};

/// The seven coefficients of a cube; false where the blocks are not those of a cube up to rounding.
template <class Scalar>
bool cube_parity(Scalar const (&k)[8][3][3], CubeParity<Scalar>& cube) {
  Scalar const tolerance = 16 * std::numeric_limits<Scalar>::epsilon() * std::abs(k[0][0][0]);
  bool same = true;
  auto const check = [&](Scalar a, Scalar b) { same = same && std::abs(a - b) <= tolerance; };
  cube.trace = k[0][0][1];
  cube.normal = k[0][0][0] - cube.trace;
  cube.shear = k[3][0][0];
  cube.twist = k[3][2][2];
  cube.bend = k[1][1][1];
  cube.cross = k[1][1][2];
  cube.warp = k[7][0][1];
  for (int a = 0; a < 3; ++a) {
    int const b = (a + 1) % 3;
    int const c = (a + 2) % 3;
    check(k[0][a][a], k[0][0][0]);
    check(k[0][a][b], cube.trace);
    check(k[7][a][a], 2 * cube.warp);
    check(k[7][a][b], cube.warp);
    // block 2^a bends about axis a; block 7 - 2^a shears in the plane of the other two
    int const bent = 1 << a;
    int const sheared = 7 - bent;
    check(k[bent][b][b], cube.bend);
    check(k[bent][c][c], cube.bend);
    check(k[bent][b][c], cube.cross);
    check(k[sheared][b][b], cube.shear);
    check(k[sheared][c][c], cube.shear);
    check(k[sheared][b][c], cube.shear);
    check(k[sheared][a][a], cube.twist);
  }
  return same;
}

/// What the kernel reads of ElasticityData (without the 24 x 24 matrix, which a launch would have to carry).
template <class Scalar>
struct ParityGrid {
  index_t cells[3], nodes[3];
  bool periodic[3];
  Scalar const* moduli;
  std::uint8_t const* mask;
};

/// How the box is shared out. A tile is a brick of nodes; a block is the part of a tile's rows that one pass takes.
struct ParityTiling {
  index_t tiles[3];
  index_t tile[3];     ///< nodes per tile
  index_t block;       ///< nodes per block, along x
  index_t slots;       ///< partial sums that a team keeps per right-hand side
  index_t team;        ///< threads per team
  index_t side_group;  ///< right-hand sides that share a reading of the moduli
};

/// Cells of a block at most: the state of a block's rows has to stay in the first-level cache.
template <class Scalar>
inline constexpr int parity_block_cells = pack_width<Scalar> == 1 ? 128 : 640 / int(sizeof(Scalar));

template <class ExecutionSpace, class Scalar>
ParityTiling parity_tiling(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t sides) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  constexpr index_t width = pack_width<Scalar>;
  constexpr index_t block_cells = parity_block_cells<Scalar>;
  auto const divide = [](index_t a, index_t b) { return (a + b - 1) / b; };
  index_t const workers = on_host ? std::max<index_t>(1, static_cast<index_t>(space.concurrency())) : 1024;
  ParityTiling t;
  t.team = on_host ? 1 : 128;
  t.slots = on_host ? width : t.team;
  t.side_group = std::min<index_t>(sides, 8);
  index_t const longest_row = on_host ? 512 : block_cells - 1;
  t.tile[0] = divide(data.mx, divide(data.mx, longest_row));
  // What the next slab reads again (a node plane of u and the carried sums) should still be in a core's cache.
  index_t const budget = on_host ? (5 << 18) : (1 << 16);
  index_t const rows =
      std::max<index_t>(8, budget / ((20 * t.side_group + 2) * t.tile[0] * static_cast<index_t>(sizeof(Scalar))));
  t.tiles[0] = divide(data.mx, t.tile[0]);
  t.tiles[1] = divide(data.my, rows);
  t.tiles[2] = 1;
  if (t.tiles[1] * t.tiles[0] < workers) {
    t.tiles[1] = std::max<index_t>(1, std::min(divide(data.my, 8), divide(workers, t.tiles[0])));
    t.tiles[2] = std::max<index_t>(1, std::min(divide(data.mz, 8), divide(workers, t.tiles[0] * t.tiles[1])));
  } else if (on_host && t.tiles[1] * t.tiles[0] < 8 * workers) {
    t.tiles[1] = divide(t.tiles[1], workers) * workers;  // equal shares
  }
  t.tile[1] = divide(data.my, t.tiles[1]);
  t.tiles[1] = divide(data.my, t.tile[1]);
  t.tile[2] = divide(data.mz, t.tiles[2]);
  t.tiles[2] = divide(data.mz, t.tile[2]);
  // Inner blocks have a cell more than nodes: whole packs of cells.
  index_t const blocks = divide(t.tile[0], block_cells - 1);
  t.block = blocks == 1 ? t.tile[0] : divide(divide(t.tile[0], blocks) + 1, width) * width - 1;
  return t;
}

/// Doubles that `partials` of apply_parity_portable must hold.
template <class ExecutionSpace, class Scalar>
index_t parity_portable_partials(ExecutionSpace const& space, ElasticityData<Scalar> const& data, index_t sides) {
  ParityTiling const t = parity_tiling(space, data, sides);
  return t.tiles[0] * t.tiles[1] * t.tiles[2] * sides;
}

/// Rows that an epilogue is about to write, to be fetched ahead: all planes of a slab, up to two vectors.
struct ParityTargets {
  static constexpr int most = 18;
  char const* row[most];
  int bytes[most];  ///< per pack of cells
  int count;

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void add(Value const* vector, index_t stride, int width) {
    for (int d = 0; d < 3; ++d) {
      row[count] = reinterpret_cast<char const*>(vector + d * stride);
      bytes[count] = width * static_cast<int>(sizeof(Value));
      ++count;
    }
  }
};

template <class Epilogue>
KOKKOS_FORCEINLINE_FUNCTION void add_targets(Epilogue const&, index_t, int, ParityTargets&) {}
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_targets(StoreProduct<Value> const& e, index_t node, int width,
                                             ParityTargets& targets) {
  targets.add(e.w + node, e.stride_w, width);
}
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_targets(StoreProductDot<Value> const& e, index_t node, int width,
                                             ParityTargets& targets) {
  add_targets(e.store, node, width, targets);
}
template <class Value, class Result, bool Norm>
KOKKOS_FORCEINLINE_FUNCTION void add_targets(StoreResidual<Value, Result, Norm> const& e, index_t node, int width,
                                             ParityTargets& targets) {
  targets.add(e.r + node, e.stride_r, width);
}
template <class Value, bool First>
KOKKOS_FORCEINLINE_FUNCTION void add_targets(Relaxation<Value, First> const& e, index_t node, int width,
                                             ParityTargets& targets) {
  targets.add(e.result + node, e.stride_result, width);
}

/// The block form in use.
template <class Scalar>
struct ParityBlocksOf {
  GeneralParity<Scalar> general;
  CubeParity<Scalar> cube;
  bool is_cube;
};

/// The arithmetic of one block row by row, and its state. Knows nothing of epilogues, so that the host compiles it once
/// for all of them: functions marked BRICKWORK_ONCE_PER_ROW are entered once per row.
template <class Scalar, class Value>
struct ParityRows {
  using Vector = Pack<Scalar>;
  using Wide = WidePack<Scalar, Value>;
  static constexpr int width = pack_width<Scalar>;
  static constexpr int max_layers = 2;  // of a slab
  static constexpr int planes = max_layers + 1;
  static constexpr int columns = (parity_block_cells<Scalar> + width) / width * width;  // cells of a block, with room
  static constexpr int staged_values = columns + width;                                 // of a staged node row
  static constexpr int row_values = columns + 2 * width;                                // of a row of results

  // A block's state per pack: x-butterflies of the lower node row (even modes in Value), and what the cell row below
  // gave to that node row, for each plane.
  static constexpr int even_values = 3 * planes * width;
  static constexpr int odd_values = 3 * planes * width;
  static constexpr int above_values = 6 * planes * width;

  /// One team's scratch. All parts start on cache lines.
  struct Scratch {
    Scalar* moduli;  ///< [layers][columns], rows that had to be staged
    Value* staged;   ///< [planes][3][staged_values], node rows that had to be staged
    Value* even;     ///< [pack][plane][3][width]
    Scalar* odd;     ///< [pack][plane][3][width]
    Scalar* above;   ///< [pack][plane][2][3][width]
    Scalar* right;   ///< [plane][3][row_values] what a cell gives to its right node, from column `width` on
    Scalar* left;    ///< [plane][3][row_values] ... to its left node
    Scalar* carry;   ///< [side][row][3][tile columns] sums that a slab leaves for its upper plane
    double* sums;    ///< [side][slot]
  };

  /// The part of a slab that one pass takes: a block along x, a tile along y, one right-hand side.
  struct Pass {
    index_t first;     ///< first cell, -1 where it is the wrapped one
    int cells, packs;  ///< of a cell row
    int layers;        ///< of the slab, 1 or 2
    index_t k;         ///< lower node plane
    Value const* u;
    index_t stride;  ///< between components of u
    ParityTargets targets;
  };

  /// Where the rows of one step stand.
  struct Sources {
    Value const* node[planes];
    index_t stride[planes];
    Scalar const* moduli[max_layers];
  };

  KOKKOS_FORCEINLINE_FUNCTION static index_t wrapped(index_t i, index_t n) {
    return i < 0 ? i + n : (i < n ? i : i - n);
  }

  /// True where a row is known to have no constrained component.
  KOKKOS_FORCEINLINE_FUNCTION static bool free_row(std::uint8_t const* mask, int count) {
#if BRICKWORK_PARITY_ON_DEVICE
    (void)mask, (void)count;
    return false;
#else
    unsigned char any = 0;
    for (int i = 0; i < count; ++i) any = static_cast<unsigned char>(any | mask[i]);
    return any == 0;
#endif
  }

  // Copies a node row that wraps, ends with the vector or has constrained components (which count as zero).
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void stage_nodes(Member const& team, ParityGrid<Scalar> const& grid,
                                                      Pass const& pass, index_t row, Value* staged) {
    index_t const mx = grid.nodes[0];
    index_t const first = pass.first;
    index_t const stride = pass.stride;
    int const cells = pass.cells;
    Value const* const values = pass.u;
    std::uint8_t const* const mask = grid.mask;
    team_loop(team, pass.packs * width + 1, [=](int i) BRICKWORK_INLINE_LAMBDA {
      index_t const node = row + (i <= cells ? wrapped(first + i, mx) : 0);
      int const fixed = mask == nullptr ? 0 : mask[node];
      for (int d = 0; d < 3; ++d) {
        bool const zero = i > cells || is_fixed(fixed, d);
        staged[d * staged_values + i] = zero ? Value(0) : values[node + d * stride];
      }
    });
  }

  // Rows of u of node row j (may wrap), and moduli of cell row j - 1 where `with_moduli`: in place where that can be.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void find_rows(Member const& team, ParityGrid<Scalar> const& grid,
                                                    Pass const& pass, Scratch const& s, index_t j, bool with_moduli,
                                                    Sources& from) {
    index_t const mx = grid.nodes[0];
    index_t const nx = grid.cells[0];
    int const span = pass.packs * width;
    index_t const node_j = wrapped(j, grid.nodes[1]);
    for (int l = 0; l <= pass.layers; ++l) {
      index_t const row = mx * (node_j + grid.nodes[1] * wrapped(pass.k + l, grid.nodes[2]));
      index_t const start = row + pass.first;
      // What stands behind the row's end is read, too (and its results go nowhere).
      bool const inside =
          pass.first >= 0 && pass.first + pass.cells < mx && start + span < mx * grid.nodes[1] * grid.nodes[2];
      if (inside && (grid.mask == nullptr || free_row(grid.mask + start, pass.cells + 1))) {
        from.node[l] = pass.u + start;
        from.stride[l] = pass.stride;
      } else {
        Value* const staged = s.staged + l * 3 * staged_values;
        stage_nodes(team, grid, pass, row, staged);
        from.node[l] = staged;
        from.stride[l] = staged_values;
      }
    }
    if (!with_moduli) return;
    index_t const cell_j = wrapped(j - 1, grid.cells[1]);
    for (int l = 0; l < pass.layers; ++l) {
      index_t const row = nx * (cell_j + grid.cells[1] * wrapped(pass.k + l, grid.cells[2]));
      from.moduli[l] = grid.moduli + row + pass.first;
      if (pass.first >= 0 && row + pass.first + span <= nx * grid.cells[1] * grid.cells[2]) continue;
      Scalar const* const moduli = grid.moduli + row;
      Scalar* const staged = s.moduli + l * columns;
      index_t const first = pass.first;
      int const cells = pass.cells;
      team_loop(team, span, [=](int i) BRICKWORK_INLINE_LAMBDA {
        staged[i] = i < cells ? moduli[wrapped(first + i, nx)] : Scalar(0);
      });
      from.moduli[l] = staged;
    }
  }

  // The cells of one pack of one cell row, in all layers of the slab.
  template <int Layers, class Blocks>
  KOKKOS_FORCEINLINE_FUNCTION static void cells_of_pack(Blocks const& blocks, int pack, Sources const& from,
                                                        Scratch const& s) {
    int const c = pack * width;
    Value* const even = s.even + pack * even_values;
    Scalar* const odd = s.odd + pack * odd_values;
    Scalar* const above = s.above + pack * above_values;
    Scalar* const left = s.left + c;
    Scalar* const right = s.right + c + width;

    Wide mean[2][3];        // xy-even modes of a plane and the next one
    Vector mode[2][3][3];   // the other xy modes
    Vector gives[2][4][3];  // what the planes get
    auto const load_plane = [&](auto plane) BRICKWORK_INLINE_LAMBDA {
      constexpr int l = decltype(plane)::value;
      constexpr int slot = l & 1;
      static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
        constexpr int d = decltype(component)::value;
        Value const* const source = from.node[l] + d * from.stride[l] + c;
        Wide const node0 = load_wide<Scalar>(source);
        Wide const node1 = load_wide<Scalar>(source + 1);
        Wide const e1 = node0 + node1;
        Vector const o1 = narrow<Scalar>(node0 - node1);
        Value* const lower_even = even + (3 * l + d) * width;
        Scalar* const lower_odd = odd + (3 * l + d) * width;
        Wide const e0 = load_wide<Scalar>(lower_even);
        Vector const o0 = load_pack(lower_odd);
        store_wide<Scalar>(lower_even, e1);
        store_pack<Scalar>(lower_odd, o1);
        mean[slot][d] = e0 + e1;
        mode[slot][1][d] = narrow<Scalar>(e0 - e1);
        mode[slot][0][d] = o0 + o1;
        mode[slot][2][d] = o0 - o1;
      });
    };
    auto const store_plane = [&](auto plane) BRICKWORK_INLINE_LAMBDA {
      constexpr int l = decltype(plane)::value;
      constexpr int slot = l & 1;
      static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
        constexpr int d = decltype(component)::value;
        Scalar* const even_above = above + (6 * l + d) * width;
        Scalar* const odd_above = above + (6 * l + 3 + d) * width;
        Vector const e = load_pack(even_above) + (gives[slot][0][d] + gives[slot][2][d]);
        Vector const o = load_pack(odd_above) + (gives[slot][1][d] + gives[slot][3][d]);
        store_pack<Scalar>(even_above, gives[slot][0][d] - gives[slot][2][d]);
        store_pack<Scalar>(odd_above, gives[slot][1][d] - gives[slot][3][d]);
        store_pack<Scalar>(left + (3 * l + d) * row_values, e + o);
        store_pack<Scalar>(right + (3 * l + d) * row_values, e - o);
      });
    };

    static_for<4>([&](auto xy) BRICKWORK_INLINE_LAMBDA {
      static_for<3>([&](auto d)
                        BRICKWORK_INLINE_LAMBDA { gives[0][decltype(xy)::value][decltype(d)::value] = Vector{}; });
    });
    load_plane(std::integral_constant<int, 0>{});
    static_for<Layers>([&](auto layer) BRICKWORK_INLINE_LAMBDA {
      constexpr int l = decltype(layer)::value;
      constexpr int lower = l & 1;
      constexpr int upper = lower ^ 1;
      load_plane(std::integral_constant<int, l + 1>{});
      Vector stretch[3];
      static_for<3>([&](auto component) BRICKWORK_INLINE_LAMBDA {
        constexpr int d = decltype(component)::value;
        stretch[d] = narrow<Scalar>(mean[lower][d] - mean[upper][d]);
      });
      blocks.apply(load_pack(from.moduli[l] + c), stretch, mode[lower], mode[upper], gives[lower], gives[upper]);
      store_plane(layer);
    });
    store_plane(std::integral_constant<int, Layers>{});
  }

  // The x-butterflies of a block's first node row.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void first_nodes(Member const& team, Pass const& pass, Sources const& from,
                                                      Scratch const& s) {
    int const rows = 3 * (pass.layers + 1);
    team_loop(team, pass.packs, [=](int pack) BRICKWORK_INLINE_LAMBDA {
      for (int row = 0; row < rows; ++row) {
        Value const* const source = from.node[row / 3] + (row % 3) * from.stride[row / 3] + pack * width;
        Wide const node0 = load_wide<Scalar>(source);
        Wide const node1 = load_wide<Scalar>(source + 1);
        store_wide<Scalar>(s.even + pack * even_values + row * width, node0 + node1);
        store_pack<Scalar>(s.odd + pack * odd_values + row * width, narrow<Scalar>(node0 - node1));
      }
    });
  }

  // The last node row of a box has no cell row above it.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void last_nodes(Member const& team, Pass const& pass, Scratch const& s) {
    int const rows = 3 * (pass.layers + 1);
    team_loop(team, pass.packs, [=](int pack) BRICKWORK_INLINE_LAMBDA {
      for (int row = 0; row < rows; ++row) {
        Scalar const* const rest = s.above + pack * above_values + (6 * (row / 3) + row % 3) * width;
        Vector const e = load_pack(rest);
        Vector const o = load_pack(rest + 3 * width);
        store_pack<Scalar>(s.left + row * row_values + pack * width, e + o);
        store_pack<Scalar>(s.right + row * row_values + (pack + 1) * width, e - o);
      }
    });
  }

  // Ahead of a block's first row: nothing comes from the cell row below; nodes at the ends of a row have one cell.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void clear(Member const& team, Pass const& pass, Scratch const& s) {
    Scalar* const above = s.above;
    Scalar* const left = s.left + pass.cells;
    Scalar* const right = s.right + width - 1;
    team_loop(team, pass.packs * above_values, [=](int i) BRICKWORK_INLINE_LAMBDA { above[i] = Scalar(0); });
    team_loop(team, 3 * planes, [=](int row) BRICKWORK_INLINE_LAMBDA {
      left[row * row_values] = Scalar(0);
      right[row * row_values] = Scalar(0);
    });
  }

  // `cells` of one cell row, then of a row of nodes what they give to their left and right nodes.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void cell_row(Member const& team, ParityBlocksOf<Scalar> const& blocks,
                                                   Pass const& pass, Sources const& from, Scratch const& s) {
    auto const spread = [&](auto const& form) {
      if (pass.layers == 1) {
        all_packs<1>(team, form, pass, from, s);
      } else {
        all_packs<max_layers>(team, form, pass, from, s);
      }
    };
    if (blocks.is_cube) {
      spread(blocks.cube);
    } else {
      spread(blocks.general);
    }
  }

  template <int Layers, class Member, class Blocks>
  KOKKOS_FORCEINLINE_FUNCTION static void all_packs(Member const& team, Blocks const& blocks, Pass const& pass,
                                                    Sources const& from, Scratch const& s) {
    auto const* const targets = &pass.targets;
    team_loop(team, pass.packs, [=](int pack) BRICKWORK_INLINE_LAMBDA {
#if !BRICKWORK_PARITY_ON_DEVICE
      for (int i = 0; i < targets->count; ++i) {
        prefetch_for_writing(targets->row[i] + pack * targets->bytes[i], targets->bytes[i]);
      }
#endif
      cells_of_pack<Layers>(blocks, pack, from, s);
    });
  }

  /// Ahead of the first row: node row j.
  template <class Member>
  BRICKWORK_ONCE_PER_ROW static void begin(Member const& team, ParityGrid<Scalar> const& grid, Pass const& pass,
                                           Scratch const& s, index_t j) {
    Sources from{};
    clear(team, pass, s);
    find_rows(team, grid, pass, s, j, false, from);
    team_sync(team);
    first_nodes(team, pass, from, s);
    team_sync(team);
  }

  /// Cell row j: leaves in `left` and `right` what node row j gets.
  template <class Member>
  BRICKWORK_ONCE_PER_ROW static void step(Member const& team, ParityGrid<Scalar> const& grid,
                                          ParityBlocksOf<Scalar> const& blocks, Pass const& pass, Scratch const& s,
                                          index_t j) {
    Sources from{};
    find_rows(team, grid, pass, s, j + 1, true, from);
    team_sync(team);
    cell_row(team, blocks, pass, from, s);
    end_row(pass, s);
    team_sync(team);
  }

  /// The same for the last node row of the box.
  template <class Member>
  BRICKWORK_ONCE_PER_ROW static void finish(Member const& team, Pass const& pass, Scratch const& s) {
    last_nodes(team, pass, s);
    end_row(pass, s);
    team_sync(team);
  }

  // Behind the row's end stand results of cells that are not there.
  KOKKOS_FORCEINLINE_FUNCTION static void end_row(Pass const& pass, Scratch const& s) {
    if (pass.cells == pass.packs * width) return;
    for (int row = 0; row < 3 * planes; ++row) s.left[row * row_values + pass.cells] = Scalar(0);
  }
};

template <class ExecutionSpace, class Scalar, bool Masked, class Value, class Epilogue>
struct ElasticityParityPortable {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;
  using Rows = ParityRows<Scalar, Value>;
  using Scratch = typename Rows::Scratch;
  static constexpr int width = Rows::width;
  static constexpr int planes = Rows::planes;
  static constexpr int columns = Rows::columns;
  static constexpr int row_values = Rows::row_values;
  static constexpr std::size_t line = 64;

  ParityGrid<Scalar> grid;
  ParityBlocksOf<Scalar> blocks;
  ParityTiling tiling;
  Value const* u;
  index_t stride_u;  ///< between components
  index_t next_u;    ///< between right-hand sides
  index_t first_side;
  index_t sides;  ///< of this launch
  Epilogue epilogue;
  double* partials;

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T* take(std::uintptr_t& address, std::size_t count) {
    T* const part = reinterpret_cast<T*>(address);
    address += (count * sizeof(T) + line - 1) / line * line;
    return part;
  }

  KOKKOS_FORCEINLINE_FUNCTION Scratch carve(std::uintptr_t& address) const {
    constexpr std::size_t packs = columns / width;
    Scratch s;
    s.even = take<Value>(address, packs * Rows::even_values);
    s.odd = take<Scalar>(address, packs * Rows::odd_values);
    s.above = take<Scalar>(address, packs * Rows::above_values);
    s.right = take<Scalar>(address, planes * 3 * row_values);
    s.left = take<Scalar>(address, planes * 3 * row_values);
    s.moduli = take<Scalar>(address, Rows::max_layers * columns);
    s.staged = take<Value>(address, planes * 3 * Rows::staged_values);
    s.sums = take<double>(address, static_cast<std::size_t>(tiling.side_group * tiling.slots));
    s.carry = take<Scalar>(address, static_cast<std::size_t>(tiling.side_group * carry_values()));
    return s;
  }

  KOKKOS_FORCEINLINE_FUNCTION index_t carry_values() const { return 3 * tiling.tile[0] * tiling.tile[1]; }

  std::size_t scratch_bytes() const {
    std::uintptr_t end = 0;
    carve(end);
    return static_cast<std::size_t>(end) + line;
  }

  /// What is stored of a pass, and where.
  struct Stored : Rows::Pass {
    index_t x0, x1;       // nodes
    index_t y0, y1;       // node rows
    bool below, carried;  // the lower plane is stored; something was left for it
    bool top;             // the upper plane is stored, too (end of the box)
    bool leave;           // a slab follows
    index_t tile_x0;
    Scalar* carry;
    double* sums;
  };

  // Hands the products of a row's nodes to the epilogue.
  template <bool Carried, bool Constrained>
  KOKKOS_FORCEINLINE_FUNCTION void finish_nodes(member_type const& team, Epilogue const& done, double* sums,
                                                Scalar const* left, Scalar const* right, Scalar const* carry,
                                                index_t node, int count) const {
    index_t const next = tiling.tile[0];
    std::uint8_t const* const mask = Constrained ? grid.mask + node : nullptr;
    auto const finish = [=](int m, double& sum) BRICKWORK_INLINE_LAMBDA {
      Scalar product[3];
      for (int d = 0; d < 3; ++d) {
        product[d] = left[d * row_values + m] + right[d * row_values + m];
        if constexpr (Carried) product[d] += carry[d * next + m];
      }
      done(node + m, Constrained ? mask[m] : 0, product, sum);
    };
    if constexpr (!Epilogue::has_sum) {
      (void)sums;
      team_loop(team, count, [=](int m) BRICKWORK_INLINE_LAMBDA {
        double none = 0;
        finish(m, none);
      });
    } else {
#if BRICKWORK_PARITY_ON_DEVICE
      double* const sum = sums + team.team_rank();
      team_loop(team, count, [=](int m) { finish(m, *sum); });
#else
      // One sum per lane of a pack: the loop over lanes is a vector loop.
      int const whole = count / width * width;
      for (int pack = 0; pack < whole; pack += width) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
        for (int lane = 0; lane < width; ++lane) finish(pack + lane, sums[lane]);
      }
      for (int m = whole; m < count; ++m) finish(m, sums[m - whole]);
#endif
    }
  }

  // True where the products of plane l of the slab are complete, and this tile's.
  KOKKOS_FORCEINLINE_FUNCTION static bool stores(Stored const& pass, int l) {
    return l == 0 ? pass.below : (l < pass.layers || pass.top);
  }

  KOKKOS_FORCEINLINE_FUNCTION index_t first_node(Stored const& pass, index_t j, int l) const {
    return pass.x0 + grid.nodes[0] * (j + grid.nodes[1] * (pass.k + l));
  }

  // What stands in `left` and `right` for node row j goes to the epilogue, or to the sums for the next slab.
  KOKKOS_FORCEINLINE_FUNCTION void finish_row(member_type const& team, Stored const& pass, Epilogue const& done,
                                              Scratch const& s, index_t j) const {
    int const column = static_cast<int>(pass.x0 - pass.first);
    int const count = static_cast<int>(pass.x1 - pass.x0);
    Scalar* const carry = pass.carry + (j - pass.y0) * 3 * tiling.tile[0] + (pass.x0 - pass.tile_x0);
    for (int l = 0; l <= pass.layers; ++l) {
      // Node m is the left one of cell m and the right one of cell m - 1.
      Scalar const* const left = s.left + l * 3 * row_values + column;
      Scalar const* const right = s.right + l * 3 * row_values + column + width - 1;
      if (stores(pass, l)) {
        index_t const node = first_node(pass, j, l);
        bool const carried = l == 0 && pass.carried;
        if (Masked && !Rows::free_row(grid.mask + node, count)) {
          if (carried) {
            finish_nodes<true, Masked>(team, done, pass.sums, left, right, carry, node, count);
          } else {
            finish_nodes<false, Masked>(team, done, pass.sums, left, right, carry, node, count);
          }
        } else if (carried) {
          finish_nodes<true, false>(team, done, pass.sums, left, right, carry, node, count);
        } else {
          finish_nodes<false, false>(team, done, pass.sums, left, right, carry, node, count);
        }
      } else if (l == pass.layers && pass.leave) {
        index_t const next = tiling.tile[0];
        team_sync(team);  // what was left for the lower plane has been read
        for (int d = 0; d < 3; ++d) {
          team_loop(team, count, [=](int m) BRICKWORK_INLINE_LAMBDA {
            carry[d * next + m] = left[d * row_values + m] + right[d * row_values + m];
          });
        }
      }
    }
    team_sync(team);
  }

  // One block of a slab, row by row.
  KOKKOS_FORCEINLINE_FUNCTION void march(member_type const& team, Stored& pass, Epilogue const& done,
                                         Scratch const& s) const {
    index_t const begin = pass.y0 > 0 || grid.periodic[1] ? pass.y0 - 1 : 0;
    Rows::begin(team, grid, pass, s, begin);
    for (index_t j = begin; j < pass.y1; ++j) {
#if !BRICKWORK_PARITY_ON_DEVICE
      pass.targets.count = 0;
      for (int l = 0; l <= pass.layers && j >= pass.y0; ++l) {
        if (stores(pass, l)) add_targets(done, first_node(pass, j, l), width, pass.targets);
      }
#endif
      if (j < grid.cells[1]) {
        Rows::step(team, grid, blocks, pass, s, j);
      } else {
        Rows::finish(team, pass, s);
      }
      if (j >= pass.y0) finish_row(team, pass, done, s, j);
    }
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t const tile = team.league_rank();
    index_t const x0 = tile % tiling.tiles[0] * tiling.tile[0];
    index_t const y0 = tile / tiling.tiles[0] % tiling.tiles[1] * tiling.tile[1];
    index_t const z0 = tile / tiling.tiles[0] / tiling.tiles[1] * tiling.tile[2];
    index_t const x1 = math::min(x0 + tiling.tile[0], grid.nodes[0]);
    index_t const z1 = math::min(z0 + tiling.tile[2], grid.nodes[2]);

    std::uintptr_t end = 0;
    carve(end);
    auto address = reinterpret_cast<std::uintptr_t>(team.team_scratch(1).get_shmem(static_cast<int>(end + line)));
    address = (address + line - 1) / line * line;
    Scratch const s = carve(address);
    if constexpr (Epilogue::has_sum) {
      double* const sums = s.sums;
      team_loop(team, static_cast<int>(sides * tiling.slots), [=](int i) BRICKWORK_INLINE_LAMBDA { sums[i] = 0; });
      team_sync(team);
    }

    Stored pass{};
    pass.stride = stride_u;
    pass.y0 = y0;
    pass.y1 = math::min(y0 + tiling.tile[1], grid.nodes[1]);
    pass.tile_x0 = x0;
    index_t const k_begin = z0 > 0 || grid.periodic[2] ? z0 - 1 : 0;
    index_t const k_end = math::min(z1, grid.cells[2]);
    for (index_t k = k_begin; k < k_end; k += Rows::max_layers) {
      pass.layers = static_cast<int>(math::min<index_t>(Rows::max_layers, k_end - k));
      index_t const upper = k + pass.layers;
      pass.k = k;
      pass.below = k >= z0;
      pass.carried = k > k_begin;
      pass.leave = upper < k_end;
      pass.top = upper == k_end && k_end < z1;
      for (index_t side = 0; side < sides; ++side) {
        pass.u = u + (first_side + side) * next_u;
        pass.carry = s.carry + side * carry_values();
        pass.sums = s.sums + side * tiling.slots;
        Epilogue const done = epilogue.select(first_side + side);
        for (pass.x0 = x0; pass.x0 < x1; pass.x0 = pass.x1) {
          // A block at the box's end has as many cells as nodes, others one more.
          bool const at_end = pass.x0 == 0 && !grid.periodic[0];
          pass.first = at_end ? 0 : pass.x0 - 1;
          pass.x1 = math::min(pass.x0 + tiling.block + (at_end ? 1 : 0), x1);
          pass.cells = static_cast<int>(math::min(pass.x1, grid.cells[0]) - pass.first);
          pass.packs = (pass.cells + width - 1) / width;
          march(team, pass, done, s);
        }
      }
    }

    if constexpr (Epilogue::has_sum) {
      index_t const tiles = team.league_size();
      double* const all = partials + tile + tiles * first_side;
      double const* const sums = s.sums;
      index_t const slots = tiling.slots;
      team_sync(team);
      team_loop(team, static_cast<int>(sides), [=](int side) BRICKWORK_INLINE_LAMBDA {
        double sum = 0;
        for (index_t slot = 0; slot < slots; ++slot) sum += sums[side * slots + slot];
        all[tiles * side] = sum;
      });
    }
  }
};

/// sums[side] = the sum of a side's partials, in their order.
struct ParitySums {
  double const* partials;
  double* sums;
  index_t tiles;
  KOKKOS_FUNCTION void operator()(index_t side) const {
    double sum = 0;
    for (index_t tile = 0; tile < tiles; ++tile) sum += partials[tile + tiles * side];
    sums[side] = sum;
  }
};

/// Applies K to `sides` vectors and hands every node's product to `epilogue`.
///
/// \param u         first vector, component d of node a at [a + d stride_u], the next vector next_u values on
/// \param epilogue  what to do with the products (elasticity_epilogue.hpp); select(side) is that of one vector
/// \param partials  parity_portable_partials() doubles, and
/// \param sums      one per side; both may be null where the epilogue has no sum
template <class ExecutionSpace, class Scalar, bool Masked, class Value, class Epilogue>
void apply_parity_portable(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Value const* u,
                           index_t stride_u, index_t sides, index_t next_u, Epilogue const& epilogue, double* partials,
                           double* sums) {
  using Kernel = ElasticityParityPortable<ExecutionSpace, Scalar, Masked, Value, Epilogue>;
  ParityTiling const tiling = parity_tiling(space, data, sides);
  index_t const tiles = tiling.tiles[0] * tiling.tiles[1] * tiling.tiles[2];
  Kernel kernel;
  kernel.grid = {{data.nx, data.ny, data.nz},
                 {data.mx, data.my, data.mz},
                 {data.periodic[0], data.periodic[1], data.periodic[2]},
                 data.moduli,
                 Masked ? data.mask : nullptr};
  std::copy(&data.parity[0][0][0], &data.parity[0][0][0] + 72, &kernel.blocks.general.k[0][0][0]);
  kernel.blocks.is_cube = cube_parity(data.parity, kernel.blocks.cube);
  kernel.tiling = tiling;
  kernel.u = u;
  kernel.stride_u = stride_u;
  kernel.next_u = next_u;
  kernel.epilogue = epilogue;
  kernel.partials = partials;
  for (index_t first = 0; first < sides; first += tiling.side_group) {
    kernel.first_side = first;
    kernel.sides = std::min(tiling.side_group, sides - first);
    typename Kernel::policy_type policy(space, static_cast<int>(tiles), static_cast<int>(tiling.team));
    policy.set_scratch_size(1, Kokkos::PerTeam(kernel.scratch_bytes() + Kernel::line));
    Kokkos::parallel_for("brickwork::ElasticityOperator::apply::parity", policy, kernel);
  }
  if constexpr (Epilogue::has_sum) {
    Kokkos::parallel_for("brickwork::ElasticityOperator::apply::parity_sums",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<index_t>>(space, 0, sides),
                         ParitySums{partials, sums, tiles});
  } else {
    (void)sums;
  }
}

#undef BRICKWORK_ONCE_PER_ROW
#undef BRICKWORK_PARITY_ON_DEVICE

}  // namespace brickwork::detail
