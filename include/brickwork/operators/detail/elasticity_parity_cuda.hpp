// SPDX-License-Identifier: BSD-3-Clause
// The body of the `parity` kernel for CUDA: w = K u on a box grid with a modulus per cell.
//
// Mathematics. With the Walsh-Hadamard butterfly u^_s = sum_n (-1)^(s.n) u_n over the corners n of a cell (bit 0 is x,
// 1 is y, 2 is z), the element stiffness K0 splits into eight 3 x 3 blocks: f^_{s xor e_a, a} = E sum_b P_s[a][b]
// u^_{s xor e_b, b}, and f_n = sum_s (-1)^(s.n) f^_s. Of the 72 block entries 45 are not zero. A butterfly factors into
// one level per axis: x and y are done once for each node plane, and the two cell layers that touch it share them; the
// same holds backwards for the sums. Cubes of a material with cubic symmetry (isotropic ones too) have seven
// coefficients: the modulus scales these, shear blocks become (strain sum, stress, add), and 45 multiply-adds become
// 30 operations.
//
// Layout. A warp owns 32 cell columns in x and R rows in y and marches over the cell layers of a chunk of planes in z.
// Each thread keeps for its R columns the xy butterfly of the plane below (12 values) and the sums that the layer below
// leaves for the next plane (12 values) in registers. The right and left neighbours come by warp shuffles, so that 30
// of 32 lanes give results; rows meet in registers, the first row of a warp meets the warp below through shared memory.
// The values of the next layer are loaded into registers a layer ahead (asm volatile: the compiler would sink the
// loads to their use); row 0 of a plane is finished a layer late, so that its barrier stands behind these loads. Cells
// outside the grid have modulus zero: their load never happens and the register keeps its initial zero; node indices
// are clamped (or wrapped on a periodic axis) once, ahead of the loop. Shapes of a block: in FP32 four warps in y, or 8
// x 2 warps, twice as wide in x, which need less of the L2 cache and serve on large grids where a row has an even
// number of tiles; in FP64 eight warps that hand sums upwards through named barriers pair by pair (in lockstep where
// the epilogue has a sum).
//
// Epilogues (elasticity_epilogue.hpp). What a node's product is used for is a template parameter. The values that it
// reads (a load, a direction, u again) come by asynchronous copies into shared memory a layer ahead, each thread its
// own: no registers while they are under way, no barrier. Sums go from threads to one partial per block, and the block
// that finishes last adds the partials in their order. Right-hand sides are blocks of the same launch.
//
// FP32 products of FP64 vectors: u is taken relative to the value of one node of the tile before it is rounded.
//
// Cost per cell (FP32, R = 2): 28 bytes of device memory (u, w, modulus once each; measured 28.5), 138 floating-point
// operations (99 additions, 39 multiply(-add)s), about 190 instructions in all, times 32/30 in x and 16/15 in y for
// halos. FP64 (R = 1): 56 bytes, 141 operations, times 8/7 in y. Bound by the link between the two halves of the L2
// cache (80 % busy) and then by instruction issue (68 %). See perf_tests/RESULTS.md.
//
// Repeatability. No atomics on fields; every sum over cells has one order that depends neither on the shape of the
// blocks nor on the chunks: fields are bitwise repeatable, and equal for all launch configurations. Sums over nodes are
// bitwise repeatable on one model of card.
//
// Source: DESIGN.md section 4 (even-odd form); papers/simp-fused-kernels.txt section 3 for the operator itself.
#pragma once

#include <Kokkos_Core.hpp>

#include "brickwork/core/types.hpp"
#include "brickwork/operators/detail/async_copy.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"
#include "brickwork/operators/detail/elasticity_epilogue.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__)

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace brickwork::detail {
namespace parity_cuda {

/// Operands as the kernel takes them (see ElasticityData); a block gives planes [first, first + chunk) of its tile, for
/// one of the right-hand sides. The blocks of all sides of a tile follow each other, so that they run side by side and
/// the moduli come from memory once.
template <class Scalar, class Value>
struct Arguments {
  Value const* u;
  Scalar const* moduli;
  std::uint8_t const* mask;
  index_t stride_u, next_u;
  std::uint32_t plane_nodes, plane_cells;
  int nx, ny, nz, mx, my, mz;
  int tiles_x, tiles_y, chunk, sides;
  bool periodic_x, periodic_y, periodic_z;
  // Where the epilogue has a sum: one partial per block of a side at partials[block + blocks side], and the number of
  // blocks that have written theirs.
  double* partials;
  unsigned* finished;
  double* sums;
};

/// Epilogues whose right-hand sides run in one launch. For the others each side has a launch of its own, and their
/// operands stay in the constant bank instead of registers.
template <class Epilogue>
struct SharesModuli : std::false_type {};
template <class Value>
struct SharesModuli<StoreProduct<Value>> : std::true_type {};
template <class Value>
struct SharesModuli<StoreProductDot<Value>> : std::true_type {};

// FP32 values of an FP64 vector relative to a reference that all threads share: K times a constant is zero, and what is
// rounded is the variation inside the tile instead of the displacement itself.
__device__ __forceinline__ float relative(double value, double reference) {
  return static_cast<float>(value - reference);
}

// Named barriers between a warp that gives and a warp that takes; a warp without a partner takes both parts itself.
__device__ __forceinline__ void barrier_wait(int barrier) {
  asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int barrier) {
  asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory");
}

/// Two values in one shared-memory access.
template <class S>
struct Two;
template <>
struct Two<float> {
  using type = float2;
};
template <>
struct Two<double> {
  using type = double2;
};

// Loads that stay where they are written, ahead of the barrier: the compiler would move them to just before their use.
__device__ __forceinline__ float load(float const* address) {
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ double load(double const* address) {
  double v;
  asm volatile("ld.global.f64 %0, [%1];" : "=d"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ std::uint32_t load(std::uint8_t const* address) {
  std::uint32_t v;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ void load_if(bool condition, float const* address, float& v) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.f32 %0, [%2];}"
               : "+f"(v)
               : "r"(unsigned(condition)), "l"(address)
               : "memory");
}
__device__ __forceinline__ void load_if(bool condition, double const* address, double& v) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.f64 %0, [%2];}"
               : "+d"(v)
               : "r"(unsigned(condition)), "l"(address)
               : "memory");
}

__device__ __forceinline__ void store_if(bool condition, float* address, float value) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.f32 [%1], %2;}" ::"r"(unsigned(condition)),
               "l"(address), "f"(value)
               : "memory");
}
__device__ __forceinline__ void store_if(bool condition, double* address, double value) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.f64 [%1], %2;}" ::"r"(unsigned(condition)),
               "l"(address), "d"(value)
               : "memory");
}

/// The value is in a register here.
__device__ __forceinline__ void pin(float& value) { asm volatile("" : "+f"(value)); }
__device__ __forceinline__ void pin(double& value) { asm volatile("" : "+d"(value)); }

__device__ __forceinline__ float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return fma(a, b, c); }

/// Cube-shaped cell, material with cubic symmetry: seven coefficients. apply() takes the xy butterflies p and m of the
/// lower and the upper node plane and what the layer below left for the lower plane (carry); it gives the sums of the
/// lower plane and what this layer leaves for the upper one, and moves m to p.
template <class S>
struct CubeBlocks {
  S normal, trace, shear, twist, bend, cross, warp;

  __device__ __forceinline__ void apply(S e, S (&p)[4][3], S const (&m)[4][3], S (&carry)[4][3],
                                        S (&lower)[4][3]) const {
    // Pairs (f0, f1) of the modes without and with the z parity leave for the lower and the upper node plane.
    auto const z0 = [&](int xy, int c) { return p[xy][c] + m[xy][c]; };
    auto const z1 = [&](int xy, int c) { return p[xy][c] - m[xy][c]; };
    auto const pair = [&](int xy, int c, S f0, S f1) {
      lower[xy][c] = carry[xy][c] + (f0 + f1);
      carry[xy][c] = f0 - f1;
    };
    S const es = e * shear;
    S const et = e * twist;
    S const eb = e * bend;
    S const ec = e * cross;
    S const en = e * normal;
    S const er = e * trace;
    S const ew = e * warp;
    // s = 3, 5, 6: shear strains.
    S const s3 = es * (z0(2, 0) + z0(1, 1));
    S const s5 = es * (z1(0, 0) + z0(1, 2));
    S const s6 = es * (z1(0, 1) + z0(2, 2));
    // s = 0: normal strains.
    S const xx = z0(1, 0), yy = z0(2, 1), zz = z1(0, 2);
    S const volume = er * (xx + yy + zz);
    S const n0 = fused(en, xx, volume), n1 = fused(en, yy, volume), n2 = fused(en, zz, volume);
    lower[0][0] = carry[0][0] + s5;
    carry[0][0] = -s5;
    lower[0][1] = carry[0][1] + s6;
    carry[0][1] = -s6;
    lower[0][2] = carry[0][2] + n2;
    carry[0][2] = -n2;
    // s = 4
    {
      S const v0 = z1(1, 0), v1 = z1(2, 1);
      pair(1, 0, n0, fused(eb, v0, ec * v1));
      pair(2, 1, n1, fused(eb, v1, ec * v0));
    }
    // s = 7
    S const w0 = z1(2, 0), w1 = z1(1, 1), w2 = z0(3, 2);
    S const w = ew * (w0 + w1 + w2);
    pair(2, 0, s3, fused(ew, w0, w));
    pair(1, 1, s3, fused(ew, w1, w));
    auto const last = [&](int c, S f0) {
      S const t = z1(3, c);
      lower[3][c] = fused(et, t, carry[3][c] + f0);
      carry[3][c] = fused(-et, t, f0);
    };
    last(2, fused(ew, w2, w));
    // s = 1, 2
    {
      S const v1 = z0(3, 1), v2 = z1(1, 2);
      last(1, fused(eb, v1, ec * v2));
      pair(1, 2, s5, fused(eb, v2, ec * v1));
    }
    {
      S const v0 = z0(3, 0), v2 = z1(2, 2);
      last(0, fused(eb, v0, ec * v2));
      pair(2, 2, s6, fused(eb, v2, ec * v0));
    }
#pragma unroll
    for (int xy = 0; xy < 4; ++xy) {
#pragma unroll
      for (int c = 0; c < 3; ++c) p[xy][c] = m[xy][c];
    }
  }
};

/// Any box-shaped cell, orthotropic material along the axes: 33 coefficients of the 45 entries.
template <class S>
struct GeneralBlocks {
  S normal[6];    // block 0: xx, yy, zz, yz, xz, xy
  S bend[3][3];   // blocks 1, 2, 4: the two components other than the block's axis: first, second, coupling
  S shear[3][4];  // blocks 3, 5, 6: the two components of the block's axes: first, second, coupling; third component
  S warp[6];      // block 7: xx, yy, zz, yz, xz, xy

  __device__ __forceinline__ void apply(S e, S (&p)[4][3], S const (&m)[4][3], S (&carry)[4][3],
                                        S (&lower)[4][3]) const {
    auto const z0 = [&](int xy, int c) { return p[xy][c] + m[xy][c]; };
    auto const z1 = [&](int xy, int c) { return p[xy][c] - m[xy][c]; };
    auto const pair = [&](int xy, int c, S f0, S f1) {
      lower[xy][c] = fused(e, f0 + f1, carry[xy][c]);
      carry[xy][c] = e * (f0 - f1);
    };
    auto const single = [&](int c, S f1) {
      lower[0][c] = fused(e, f1, carry[0][c]);
      carry[0][c] = -e * f1;
    };
    auto const last = [&](int c, S f0, S k) {
      S const t = z1(3, c);
      lower[3][c] = fused(e, fused(k, t, f0), carry[3][c]);
      carry[3][c] = e * fused(-k, t, f0);
    };
    auto const two = [](S const* k, S a, S b) { return fused(k[0], a, k[2] * b); };
    auto const second = [](S const* k, S a, S b) { return fused(k[1], b, k[2] * a); };
    auto const three = [](S a, S x, S b, S y, S c, S z) { return fused(a, x, fused(b, y, c * z)); };

    S const xx = z0(1, 0), yy = z0(2, 1), zz = z1(0, 2);
    S const n0 = three(normal[0], xx, normal[5], yy, normal[4], zz);
    S const n1 = three(normal[5], xx, normal[1], yy, normal[3], zz);
    S const n2 = three(normal[4], xx, normal[3], yy, normal[2], zz);
    single(2, n2);
    {
      S const v0 = z1(1, 0), v1 = z1(2, 1);
      pair(1, 0, n0, two(bend[2], v0, v1));
      pair(2, 1, n1, second(bend[2], v0, v1));
    }
    S const w0 = z1(2, 0), w1 = z1(1, 1), w2 = z0(3, 2);
    S const f0 = three(warp[0], w0, warp[5], w1, warp[4], w2);
    S const f1 = three(warp[5], w0, warp[1], w1, warp[3], w2);
    S const f2 = three(warp[4], w0, warp[3], w1, warp[2], w2);
    {
      S const a = z0(2, 0), b = z0(1, 1);
      pair(2, 0, two(shear[0], a, b), f0);
      pair(1, 1, second(shear[0], a, b), f1);
    }
    last(2, f2, shear[0][3]);
    {
      S const v1 = z0(3, 1), v2 = z1(1, 2);
      last(1, two(bend[0], v1, v2), shear[1][3]);
      S const a = z1(0, 0), b = z0(1, 2);
      single(0, two(shear[1], a, b));
      pair(1, 2, second(shear[1], a, b), second(bend[0], v1, v2));
    }
    {
      S const v0 = z0(3, 0), v2 = z1(2, 2);
      last(0, two(bend[1], v0, v2), shear[2][3]);
      S const a = z1(0, 1), b = z0(2, 2);
      single(1, two(shear[2], a, b));
      pair(2, 2, second(shear[2], a, b), second(bend[1], v0, v2));
    }
#pragma unroll
    for (int xy = 0; xy < 4; ++xy) {
#pragma unroll
      for (int c = 0; c < 3; ++c) p[xy][c] = m[xy][c];
    }
  }
};

template <class S>
GeneralBlocks<S> general_blocks(S const (&k)[8][3][3]) {
  auto const full = [&](int s, S(&v)[6]) {
    v[0] = k[s][0][0];
    v[1] = k[s][1][1];
    v[2] = k[s][2][2];
    v[3] = k[s][1][2];
    v[4] = k[s][0][2];
    v[5] = k[s][0][1];
  };
  auto const couple = [&](int s, int a, int b, S* v) {
    v[0] = k[s][a][a];
    v[1] = k[s][b][b];
    v[2] = k[s][a][b];
  };
  GeneralBlocks<S> g;
  full(0, g.normal);
  full(7, g.warp);
  couple(1, 1, 2, g.bend[0]);
  couple(2, 0, 2, g.bend[1]);
  couple(4, 0, 1, g.bend[2]);
  couple(3, 0, 1, g.shear[0]);
  g.shear[0][3] = k[3][2][2];
  couple(5, 0, 2, g.shear[1]);
  g.shear[1][3] = k[5][1][1];
  couple(6, 1, 2, g.shear[2]);
  g.shear[2][3] = k[6][0][0];
  return g;
}

/// The seven coefficients of a cube; false where the blocks are not those of a cube up to rounding.
template <class S>
bool cube_blocks(GeneralBlocks<S> const& g, CubeBlocks<S>& c) {
  S largest = 0;
  for (S const v : g.normal) largest = v > largest ? v : largest;
  S const tolerance = 16 * std::numeric_limits<S>::epsilon() * largest;
  bool cube = true;
  auto const same = [&](S a, S b) { cube = cube && std::abs(a - b) <= tolerance; };
  for (int d = 1; d < 3; ++d) {
    same(g.normal[d], g.normal[0]);
    same(g.normal[3 + d], g.normal[3]);
    same(g.shear[d][0], g.shear[0][0]);
    same(g.shear[d][3], g.shear[0][3]);
    same(g.bend[d][0], g.bend[0][0]);
    same(g.bend[d][2], g.bend[0][2]);
  }
  for (int d = 0; d < 3; ++d) {
    same(g.shear[d][1], g.shear[d][0]);
    same(g.shear[d][2], g.shear[d][0]);
    same(g.bend[d][1], g.bend[d][0]);
    same(g.warp[d], 2 * g.warp[3]);
    same(g.warp[3 + d], g.warp[3]);
  }
  c.normal = g.normal[0] - g.normal[3];
  c.trace = g.normal[3];
  c.shear = g.shear[0][0];
  c.twist = g.shear[0][3];
  c.bend = g.bend[0][0];
  c.cross = g.bend[0][2];
  c.warp = g.warp[3];
  return cube;
}

/// What a thread carries from layer to layer.
template <class S, class V, bool Masked, int R, class Epilogue>
struct March {
  static constexpr bool mixed = !std::is_same_v<S, V>;
  // The plain store addresses w by base and offset; other epilogues take the index of the node.
  static constexpr bool plain = !mixed && std::is_same_v<Epilogue, StoreProduct<V>>;
  // Values per node that the epilogue reads: fetched into shared memory a layer ahead, into two buffers that take
  // turns.
  static constexpr int operands = Epilogue::operands;

  // Per cell column: xy butterfly of the lower plane, and sums left for it.
  S previous[R][4][3];
  S carry[R][4][3];
  V u[R + 1][3];  // of the plane, and moduli of the layer, loaded ahead
  S e[R];
  std::uint32_t mask[R + 1];     // of the plane whose u is loaded
  std::uint32_t history[R + 1];  // masks of the planes in use, the newest in the low byte

  // Offsets of rows, advanced from plane to plane; added to base addresses that hold the lane's column.
  std::uint32_t node[R + 1];
  std::uint32_t cell[R];
  bool inside[R];  // the cell exists
  bool store[R];   // this thread gives the node's result

  V const* base_u[3];
  S const* base_e;
  V* base_w[3];
  index_t base_node;
  std::uint8_t const* base_mask;
  V reference[3];
  // This thread's values of the epilogue in shared memory: row r, value i of a buffer at [(r operands + i) threads].
  V* fetched;
  int turn;       // of the buffers, in values; the plane under way reads at fetched + turn
  double* total;  // the thread's sum, in shared memory too
  V partial;      // what is not yet in the total

  __device__ __forceinline__ void load_nodes(int r) {
#pragma unroll
    for (int c = 0; c < 3; ++c) u[r][c] = load(base_u[c] + node[r]);
    if constexpr (Masked) mask[r] = load(base_mask + node[r]);
  }
  __device__ __forceinline__ void load_cell(int r) { load_if(inside[r], base_e + cell[r], e[r]); }
  // Nodes of row r at an offset; age: planes between theirs and the last one that x_modes has seen.
  // `buffer`: offset of the operands of the node's plane.
  template <int Threads>
  __device__ __forceinline__ void store_nodes(int r, bool condition, std::uint32_t offset, int age,
                                              Epilogue const& epilogue, S const (&f)[2][3], int buffer) {
    S v[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) v[c] = (f[0][c] + f[1][c]) + __shfl_up_sync(0xffffffffu, f[0][c] - f[1][c], 1);
    std::uint32_t fixed = 0;
    if constexpr (Masked) fixed = condition ? history[r] >> (8 * age) & 7u : 0u;
    if constexpr (plain) {
      if constexpr (Masked) {
        // Constrained nodes are few: their u is read again.
        if (__any_sync(0xffffffffu, fixed != 0u)) {
#pragma unroll
          for (int c = 0; c < 3; ++c) {
            if (fixed >> c & 1u) v[c] = epilogue.u[c * epilogue.stride_u + (base_w[0] + offset - epilogue.w)];
          }
        }
      }
#pragma unroll
      for (int c = 0; c < 3; ++c) store_if(condition, base_w[c] + offset, v[c]);
    } else {
      finish_node<Threads>(r, condition, offset, fixed, epilogue, v, buffer);
    }
  }
  template <int Threads>
  __device__ __forceinline__ void finish_node(int r, bool condition, std::uint32_t offset, std::uint32_t fixed,
                                              Epilogue const& epilogue, S const (&v)[3], int buffer) {
    if constexpr (operands > 0) {
      wait_for_copies();
      if (!condition) return;
      V values[operands];
#pragma unroll
      for (int i = 0; i < operands; ++i) values[i] = fetched[buffer + (r * operands + i) * Threads];
      epilogue.finish(base_node + offset, static_cast<int>(fixed), v, values, partial);
    } else {
      double unused = 0;
      if (condition) epilogue(base_node + offset, static_cast<int>(fixed), v, unused);
    }
  }
  // Operands of the plane after the one whose offsets node[] holds.
  template <int Threads>
  __device__ __forceinline__ void fetch_operands(Epilogue const& epilogue, std::uint32_t plane_nodes, int buffer) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (store[r]) {
        index_t const index = base_node + (node[r] + plane_nodes);
#pragma unroll
        for (int i = 0; i < operands; ++i) {
          copy_async(fetched + buffer + (r * operands + i) * Threads, epilogue.address(i, index));
        }
      }
    }
  }
  __device__ __forceinline__ void x_modes(int r, S (&x)[2][3]) {
    if constexpr (Masked) {
      history[r] = history[r] << 8 | mask[r];
      if (__any_sync(0xffffffffu, mask[r] != 0u)) {
#pragma unroll
        for (int c = 0; c < 3; ++c) u[r][c] = mask[r] >> c & 1u ? V(0) : u[r][c];
      }
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      S value;
      if constexpr (mixed)
        value = relative(u[r][c], reference[c]);
      else
        value = u[r][c];
      S const right = __shfl_down_sync(0xffffffffu, value, 1);
      x[0][c] = value + right;
      x[1][c] = value - right;
    }
  }
  static __device__ __forceinline__ void y_modes(S const (&low)[2][3], S const (&high)[2][3], S (&m)[4][3]) {
#pragma unroll
    for (int x = 0; x < 2; ++x) {
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        m[x][c] = low[x][c] + high[x][c];
        m[x + 2][c] = low[x][c] - high[x][c];
      }
    }
  }
};

/// R rows per thread, T warps per block of which X stand side by side in x.
template <class S, class V, bool Masked, class Blocks, class Epilogue, int R, int T, int MinBlocks, bool Pairs, int X>
__global__ void __launch_bounds__(32 * T, MinBlocks)
    parity_kernel(Arguments<S, V> const a, Blocks const blocks, Epilogue const all_sides) {
  static_assert(!Pairs || (X == 1 && T == 8), "pairs of warps take the 16 named barriers of a block");
  static_assert(!Pairs || !Epilogue::has_sum, "a sum needs a barrier of the block, which pairs leave none for");
  // Six values of every thread for the warp above: one buffer handed over by barriers of two warps (Pairs), or two that
  // take turns, with a barrier of the block for each layer.
  using Pair = typename Two<S>::type;
  constexpr int half = T * 96;
  __shared__ Pair exchange[(Pairs ? 1 : 2) * half];
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  constexpr int Y = T / X;
  int const warp_y = warp / X;
  constexpr bool many = SharesModuli<Epilogue>::value;
  unsigned const side = many && a.sides > 1 ? blockIdx.x % static_cast<unsigned>(a.sides) : 0u;
  unsigned const block = many && a.sides > 1 ? blockIdx.x / static_cast<unsigned>(a.sides) : blockIdx.x;
  Epilogue const epilogue = many ? all_sides.select(side) : all_sides;
  V const* const u = many ? a.u + side * a.next_u : a.u;
  int const tile_x = static_cast<int>(block) % a.tiles_x * X + warp % X;
  int const rest = static_cast<int>(block) / a.tiles_x;
  int const tile_y = rest % a.tiles_y;
  int const first = (rest / a.tiles_y) * a.chunk;
  int const last = min(first + a.chunk, a.mz);

  using Marching = March<S, V, Masked, R, Epilogue>;
  Marching s;
  if constexpr (Marching::operands > 0) {
    extern __shared__ double operand_buffers[];
    s.fetched = reinterpret_cast<V*>(operand_buffers) + threadIdx.x;
  }
  s.turn = 0;
  s.partial = 0;
  constexpr int buffers = R * Marching::operands * 32 * T;  // of operands, at 0 and at `buffers`
  int k = first;                                            // plane under way
  if constexpr (Epilogue::has_sum) {
    __shared__ double totals[32 * T];
    s.total = totals + threadIdx.x;
    *s.total = 0;
  }
  int const x = tile_x * 30 - 1 + lane;
  int const y0 = tile_y * (Y * R - 1) - 1 + warp_y * R;
  auto const wrap = [](int i, int n) { return ((i % n) + n) % n; };
  int const xn = a.periodic_x ? wrap(x, a.mx) : min(max(x, 0), a.mx - 1);
  int const xc = a.periodic_x ? xn : min(max(x, 0), a.nx - 1);
  bool const inside_x = a.periodic_x || (x >= 0 && x < a.nx);
  bool const store_x = lane >= 1 && lane <= 30 && x < a.mx;
#pragma unroll
  for (int r = 0; r <= R; ++r) {
    int const y = y0 + r;
    int const yn = a.periodic_y ? wrap(y, a.my) : min(max(y, 0), a.my - 1);
    s.node[r] = static_cast<std::uint32_t>(yn) * a.mx;
    if constexpr (Masked) s.history[r] = 0;
    if (r < R) {
      int const yc = a.periodic_y ? yn : min(max(y, 0), a.ny - 1);
      s.cell[r] = static_cast<std::uint32_t>(yc) * a.nx;
      s.inside[r] = inside_x && (a.periodic_y || (y >= 0 && y < a.ny));
      s.store[r] = store_x && y < a.my && (warp_y > 0 || r > 0);
      s.e[r] = S(0);
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int i = 0; i < 12; ++i) s.carry[r][i / 3][i % 3] = S(0);
  }
  Pair* const put = exchange + warp * 96 + lane;
  Pair const* const get = exchange + (warp_y > 0 ? warp - X : warp) * 96 + lane;
  [[maybe_unused]] int buffer = 0;
  // Barriers by warp: full = the warp below has given, empty = the warp above has taken. The lowest and the topmost
  // warp have one of their own (0 and 15) on which they do both parts.
  [[maybe_unused]] int full_below = warp, full_above = warp + 1 < T ? warp + 1 : 15;
  [[maybe_unused]] int empty_below = warp > 0 ? T - 1 + warp : 0, empty_above = warp + 1 < T ? T + warp : 15;
  // The compiler would compute these anew, from a slow special register, in every layer.
  if constexpr (Pairs) asm volatile("" : "+r"(full_below), "+r"(full_above), "+r"(empty_below), "+r"(empty_above));
  bool const below = first > 0 || a.periodic_z;
  // Offsets count from node plane (cell layer) first - 1, so that they stay below 2^32 whatever the size of the grid.
  index_t const origin = static_cast<index_t>(first - 1) * a.plane_nodes;
  index_t const turn = static_cast<index_t>(a.nz) * a.plane_nodes;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    s.base_u[c] = u + (origin + (first == 0 ? turn : 0)) + c * a.stride_u + xn;
    if constexpr (Marching::plain) {
      s.base_w[c] = epilogue.w + (origin - 2 * static_cast<index_t>(a.plane_nodes)) + c * epilogue.stride_w + xn;
    }
  }
  s.base_node = origin - 2 * static_cast<index_t>(a.plane_nodes) + xn;
  if constexpr (Marching::mixed) {
    // Any node near the tile serves; the same one for the whole block.
    int const yr = min(tile_y * (Y * R - 1), a.my - 1),
              xr = min(static_cast<int>(block) % a.tiles_x * X * 30, a.mx - 1);
    index_t const node = xr + a.mx * static_cast<index_t>(yr) + first * static_cast<index_t>(a.plane_nodes);
#pragma unroll
    for (int c = 0; c < 3; ++c) s.reference[c] = u[node + c * a.stride_u];
  }
  if constexpr (Masked) s.base_mask = a.mask + (origin + (first == 0 ? turn : 0)) + xn;
  s.base_e = a.moduli + static_cast<index_t>(first - 1 + (first == 0 ? a.nz : 0)) * a.plane_cells + xc;
  // Base addresses in registers, not in uniform ones: base + offset then costs one instruction.
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    asm volatile("" : "+l"(s.base_u[c]));
    if constexpr (Marching::plain) asm volatile("" : "+l"(s.base_w[c]));
  }
  asm volatile("" : "+l"(s.base_e));
  auto const advance_nodes = [&] {
#pragma unroll
    for (int r = 0; r <= R; ++r) s.node[r] += a.plane_nodes;
  };
  auto const advance_cells = [&] {
#pragma unroll
    for (int r = 0; r < R; ++r) s.cell[r] += a.plane_cells;
  };
  auto const load_layer = [&] {
#pragma unroll
    for (int r = 0; r <= R; ++r) s.load_nodes(r);
#pragma unroll
    for (int r = 0; r < R; ++r) s.load_cell(r);
  };
  S sum[2][3] = {};    // x modes of row 0 of the last plane, without the share of the warp below
  bool ready = false;  // there is such a plane, and this thread gives its result
  if constexpr (Pairs) {
    if (warp == 0) barrier_arrive(full_below);
    barrier_arrive(full_above);
  }
  auto const finish = [&](std::uint32_t offset, int age, bool again) {
    if constexpr (Pairs)
      barrier_wait(full_below);
    else
      __syncthreads();
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      Pair const from_below = get[(Pairs ? 0 : half - buffer) + 32 * c];
      sum[0][c] += from_below.x;
      sum[1][c] += from_below.y;
    }
    if constexpr (Pairs) {
      if (again) barrier_arrive(empty_below);
    }
    s.template store_nodes<32 * T>(0, ready, offset, age, epilogue, sum, buffers - s.turn);
    ready = s.store[0];
  };
  // One cell layer: gives its lower plane (emit; else only what it leaves for the upper one) and loads the next layer.
  auto const step = [&](auto emit, auto prefetch) {
    S x[R + 1][2][3];
#pragma unroll
    for (int r = 0; r <= R; ++r) s.x_modes(r, x[r]);
    S e[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      e[r] = s.e[r];
      // Taken here: else the loads of the next moduli come to share a scoreboard with the shuffles above, and every
      // layer waits for memory (65 instead of 93 Gcells/s; nvcc 13.0 for sm_90).
      pin(e[r]);
    }
    std::uint32_t const unfinished = s.node[0];
    if constexpr (emit.value) advance_nodes();
    if constexpr (prefetch.value) {
      advance_cells();
      load_layer();
    }
    if constexpr (emit.value) {
      finish(unfinished, 2, true);
      // After finish(): row 0 of the plane before has used its values.
      if constexpr (Marching::operands > 0) {
        if (k + 1 < last) s.template fetch_operands<32 * T>(epilogue, a.plane_nodes, buffers - s.turn);
        commit_copies();
      }
    }
#pragma unroll
    for (int r = R - 1; r >= 0; --r) {
      S m[4][3], lower[4][3];
      s.y_modes(x[r], x[r + 1], m);
      blocks.apply(e[r], s.previous[r], m, s.carry[r], lower);
      if constexpr (emit.value) {
        S upper[2][3];
#pragma unroll
        for (int i = 0; i < 6; ++i) upper[i / 3][i % 3] = lower[i / 3][i % 3] - lower[i / 3 + 2][i % 3];
        if (r == R - 1) {
          if constexpr (Pairs) barrier_wait(empty_above);
#pragma unroll
          for (int c = 0; c < 3; ++c) put[(Pairs ? 0 : buffer) + 32 * c] = Pair{upper[0][c], upper[1][c]};
          if constexpr (Pairs) barrier_arrive(full_above);
        } else {
#pragma unroll
          for (int i = 0; i < 6; ++i) sum[i / 3][i % 3] += upper[i / 3][i % 3];
          s.template store_nodes<32 * T>(r + 1, s.store[r + 1], s.node[r + 1], 1, epilogue, sum, s.turn);
        }
#pragma unroll
        for (int i = 0; i < 6; ++i) sum[i / 3][i % 3] = lower[i / 3][i % 3] + lower[i / 3 + 2][i % 3];
      }
    }
    if constexpr (Epilogue::has_sum && sizeof(V) == 4 && emit.value) {
      // The sum of a few layers in single precision is as good as its terms; longer ones are not.
      if ((k & 7) == 7) {
        *s.total += static_cast<double>(s.partial);
        s.partial = 0;
      }
    }
    if constexpr (Marching::operands > 0 && emit.value) s.turn = buffers - s.turn;
    if constexpr (emit.value) buffer = half - buffer;
  };
  using Yes = std::true_type;
  using No = std::false_type;
  // A first plane below plane 0 is the last one of a periodic axis; after it the base addresses count as usual.
  auto const unwrap = [&] {
    if (first == 0) {
#pragma unroll
      for (int c = 0; c < 3; ++c) s.base_u[c] -= turn;
      if constexpr (Masked) s.base_mask -= turn;
    }
  };
  if (!below) {
    unwrap();
    advance_nodes();
  }
#pragma unroll
  for (int r = 0; r <= R; ++r) s.load_nodes(r);
  {
    S low[2][3], high[2][3];
    s.x_modes(R, high);
#pragma unroll
    for (int r = R - 1; r >= 0; --r) {
      s.x_modes(r, low);
      s.y_modes(low, high, s.previous[r]);
#pragma unroll
      for (int i = 0; i < 6; ++i) high[i / 3][i % 3] = low[i / 3][i % 3];
    }
  }
  if (below) {
    unwrap();
    advance_nodes();
    load_layer();
    step(No{}, No{});
  }
  if (first == 0) s.base_e -= static_cast<index_t>(a.nz) * a.plane_cells;
  advance_nodes();
  advance_cells();
  auto const wrap_top = [&](int next) {
    if (next == a.mz) {
#pragma unroll
      for (int c = 0; c < 3; ++c) s.base_u[c] -= turn;
      if constexpr (Masked) s.base_mask -= turn;
    }
  };
  int const full = min(last, a.nz);
  if constexpr (Marching::operands > 0) {
    s.template fetch_operands<32 * T>(epilogue, a.plane_nodes, s.turn);
    commit_copies();
  }
  if (k < full) {
    wrap_top(k + 1);
    load_layer();
  }
  // The plane that a periodic axis wraps to is loaded outside the main loop.
  int const end = full - 1 - (a.periodic_z && full == a.nz ? 1 : 0);
#pragma unroll 1
  for (; k < end; ++k) {
    step(Yes{}, Yes{});
  }
#pragma unroll 1
  for (; k < last; ++k) {
    if (k == a.nz) {
#pragma unroll
      for (int r = 0; r < R; ++r) s.e[r] = S(0);
    }
    step(Yes{}, No{});
    if (k + 1 < full) {
      wrap_top(k + 2);
      advance_cells();
      load_layer();
    }
  }
  finish(s.node[0], 1, false);
  if constexpr (Epilogue::has_sum) {
    *s.total += static_cast<double>(s.partial);
    __shared__ double warp_sums[T];
    __shared__ bool last_block;
    auto const block_sum = [&](double value) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
      __syncthreads();
      if (lane == 0) warp_sums[warp] = value;
      __syncthreads();
      double sum_of_warps = 0;
      if (threadIdx.x == 0)
        for (int i = 0; i < T; ++i) sum_of_warps += warp_sums[i];
      return sum_of_warps;  // of thread 0
    };
    double const mine = block_sum(*s.total);
    unsigned const count = gridDim.x / static_cast<unsigned>(a.sides);
    double* const partials = a.partials + static_cast<index_t>(side) * count;
    if (threadIdx.x == 0) {
      partials[block] = mine;
      __threadfence();
      last_block = atomicAdd(a.finished + side, 1u) == count - 1;
    }
    __syncthreads();
    // The block that comes last adds all partials in their order, whichever it is.
    if (last_block) {
      __threadfence();
      double value = 0;
      for (unsigned i = threadIdx.x; i < count; i += 32 * T) value += __ldcg(partials + i);
      double const result = block_sum(value);
      if (threadIdx.x == 0) {
        a.sums[side] = result;
        a.finished[side] = 0;
      }
    }
  }
}

/// Number of blocks that run at once, for one kernel on the current device. Also asks for just the shared memory that
/// these blocks need: rows that two tiles load are served by the first-level cache, and Kokkos 3.4 prefers shared
/// memory device-wide.
template <class Kernel>
int resident_blocks(Kernel kernel, int threads, std::size_t dynamic_bytes) {
  int device = 0, processors = 1, blocks = 1, shared = 0, reserved = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device);
  if (dynamic_bytes > 0) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic_bytes));
  }
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic_bytes);
  blocks = std::max(blocks, 1);
  cudaFuncAttributes attributes{};
  if (shared > 0 && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) {
    std::size_t const needed = static_cast<std::size_t>(blocks) *
                               (attributes.sharedSizeBytes + dynamic_bytes + static_cast<std::size_t>(reserved));
    int const percent = static_cast<int>(std::min<std::size_t>(
        100, (100 * needed + static_cast<std::size_t>(shared) - 1) / static_cast<std::size_t>(shared)));
    cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent);
  }
  return processors * blocks;
}

/// Most blocks that a kernel with a sum is split into, per right-hand side: the size of the array of partials.
inline index_t most_blocks(index_t mx, index_t my, index_t mz) {
  index_t const columns = ((mx + 29) / 30) * ((my + 6) / 7);
  index_t const least = (mx * my * mz) / ((index_t(1) << 32) - 4 * mx * my) + 1;
  return columns * least + 4096;
}

/// Where a kernel leaves its sums.
struct SumWorkspace {
  double* partials = nullptr;    ///< most_blocks() values per right-hand side
  unsigned* finished = nullptr;  ///< one per right-hand side, zero between launches
  double* sums = nullptr;        ///< one per right-hand side
};

template <class S, class V, bool Masked, class Blocks, class Epilogue, int R, int T, int MinBlocks, bool Pairs, int X>
void launch(cudaStream_t stream, ElasticityData<S> const& data, Blocks const& blocks, V const* u, index_t stride_u,
            index_t sides, index_t next_u, Epilogue const& epilogue, SumWorkspace const& workspace) {
  auto* const kernel = parity_kernel<S, V, Masked, Blocks, Epilogue, R, T, MinBlocks, Pairs, X>;
  constexpr std::size_t operand_bytes = sizeof(V) * 2 * R * Epilogue::operands * 32 * T;
  static int const resident = resident_blocks(kernel, 32 * T, operand_bytes);
  constexpr int Y = T / X;
  index_t const tiles_x = (data.mx + 30 * X - 1) / (30 * X);
  index_t const tiles_y = (data.my + Y * R - 2) / (Y * R - 1);
  index_t const columns = tiles_x * tiles_y;
  // Planes per block: few waves of blocks, little work done twice (a layer and a half at the start of each block), and
  // 32-bit offsets inside a chunk.
  index_t const most = (index_t(1) << 32) / (data.mx * data.my) - 4;
  index_t const limit = Epilogue::has_sum ? most_blocks(data.mx, data.my, data.mz) : std::numeric_limits<int>::max();
  index_t chunk = 1;
  double best = std::numeric_limits<double>::max();
  for (index_t pieces = (data.mz + most - 1) / most; pieces <= data.mz; ++pieces) {
    index_t const planes = (data.mz + pieces - 1) / pieces;
    index_t const count = columns * ((data.mz + planes - 1) / planes);
    if (count > limit && best < std::numeric_limits<double>::max()) break;
    double const cost = double((count * sides + resident - 1) / resident) * (double(planes) + 1.5);
    if (cost < best) {
      best = cost;
      chunk = planes;
    }
    if (pieces >= 64 && count > 4 * index_t(resident)) break;
  }
  Arguments<S, V> a;
  a.u = u;
  a.moduli = data.moduli;
  a.mask = data.mask;
  a.stride_u = stride_u;
  a.next_u = next_u;
  a.plane_nodes = static_cast<std::uint32_t>(data.mx * data.my);
  a.plane_cells = static_cast<std::uint32_t>(data.nx * data.ny);
  a.nx = static_cast<int>(data.nx);
  a.ny = static_cast<int>(data.ny);
  a.nz = static_cast<int>(data.nz);
  a.mx = static_cast<int>(data.mx);
  a.my = static_cast<int>(data.my);
  a.mz = static_cast<int>(data.mz);
  a.tiles_x = static_cast<int>(tiles_x);
  a.tiles_y = static_cast<int>(tiles_y);
  a.chunk = static_cast<int>(chunk);
  a.sides = static_cast<int>(sides);
  a.periodic_x = data.periodic[0];
  a.periodic_y = data.periodic[1];
  a.periodic_z = data.periodic[2];
  a.partials = workspace.partials;
  a.finished = workspace.finished;
  a.sums = workspace.sums;
  auto const count = static_cast<unsigned>(columns * ((data.mz + chunk - 1) / chunk) * sides);
  kernel<<<count, 32 * T, operand_bytes, stream>>>(a, blocks, epilogue);
}

}  // namespace parity_cuda

/// Whether apply_parity_cuda takes a grid: offsets of five planes fit 32 bits (8.5e8 nodes per plane), as do counts of
/// cells along an axis.
template <class Scalar>
bool parity_cuda_supports(ElasticityData<Scalar> const& data) {
  return data.mx * data.my <= (index_t(1) << 32) / 5 && data.mx < (index_t(1) << 30) && data.my < (index_t(1) << 30) &&
         data.mz < (index_t(1) << 30);
}

/// The product and its epilogue on the instance's stream: no synchronization, no allocation, no atomics on fields,
/// bitwise repeatable. Component d of node a of right-hand side q stands at u[a + d stride_u + q next_u]. With Masked
/// (data.mask must then be set) the constrained components of u count as zero and the epilogue gets their bits;
/// without, data.mask is not read. The blocks of data.parity must have the zeros of an axis-aligned orthotropic
/// material. Where Value is wider than Scalar, u is rounded relative to a reference value of each block. Requires
/// parity_cuda_supports(data). Errors: std::runtime_error where the launch fails.
template <class Scalar, bool Masked, class Value, class Epilogue>
void apply_parity_cuda(Kokkos::Cuda const& space, ElasticityData<Scalar> const& data, Value const* u, index_t stride_u,
                       index_t sides, index_t next_u, Epilogue const& epilogue,
                       parity_cuda::SumWorkspace const& workspace) {
  using namespace parity_cuda;
  cudaStream_t const stream = space.cuda_stream();
  if constexpr (!SharesModuli<Epilogue>::value) {
    if (sides > 1) {
      for (index_t side = 0; side < sides; ++side) {
        SumWorkspace one = workspace;
        one.sums += side;
        apply_parity_cuda<Scalar, Masked>(space, data, u + side * next_u, stride_u, 1, 0, epilogue.select(side), one);
      }
      return;
    }
  }
  auto const run = [&](auto const& blocks) {
    using Blocks = std::decay_t<decltype(blocks)>;
    if constexpr (sizeof(Value) == 4) {
      // The wide shape needs less of the L2 cache; an odd number of tiles along x would leave half a block idle. The
      // forms that users of general matrices rarely need are compiled in one shape only.
      index_t const tiles = (data.mx + 29) / 30;
      bool const wide = (tiles % 2 == 0 || tiles > 24) && data.mx * data.my * data.mz > (index_t(1) << 22);
      constexpr bool both = std::is_same_v<Blocks, CubeBlocks<Scalar>> || std::is_same_v<Epilogue, StoreProduct<Value>>;
      if constexpr (both) {
        if (wide) {
          launch<Scalar, Value, Masked, Blocks, Epilogue, 2, 16, 1, false, 2>(stream, data, blocks, u, stride_u, sides,
                                                                              next_u, epilogue, workspace);
          return;
        }
      }
      launch<Scalar, Value, Masked, Blocks, Epilogue, 2, 4, 4, false, 1>(stream, data, blocks, u, stride_u, sides,
                                                                         next_u, epilogue, workspace);
    } else {
      launch<Scalar, Value, Masked, Blocks, Epilogue, 1, 8, 2, !Epilogue::has_sum, 1>(
          stream, data, blocks, u, stride_u, sides, next_u, epilogue, workspace);
    }
  };
  GeneralBlocks<Scalar> const general = general_blocks(data.parity);
  CubeBlocks<Scalar> cube;
  if (cube_blocks(general, cube)) {
    run(cube);
  } else {
    run(general);
  }
  cudaError_t const error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("brickwork: the parity kernel did not start: ") + cudaGetErrorString(error));
  }
}

}  // namespace brickwork::detail

#endif
