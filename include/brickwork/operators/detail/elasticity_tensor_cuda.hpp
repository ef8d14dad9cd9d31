// SPDX-License-Identifier: BSD-3-Clause
// The tensor-core bodies of `fused_wmma`, `fused_wmma_exact`, `fused_wmma_split` and `fused_mma_fp64` for CUDA, compute
// capability 8.0 and above. elasticity_tensor_core.hpp holds the mathematics and the portable bodies.
//
// `fused_wmma` keeps the source's layout: blocks of 8 warps, 16 cells per warp; K0 padded to 32 x 32 and the gathered
// values stand in shared memory in FP32 and are rounded to BF16 there; four 16 x 16 x 16 products per warp
// (nvcuda::wmma) with FP32 accumulation; the modulus and the atomic scatter in FP32. 24 atomic additions per cell.
//
// The others hold everything in registers. A tile is 16 cells: the 16 rows of mma.sync's left operand. Its columns are
// the 24 values of a cell, K0 transposed is the right operand, and 24 = 16 + 8 is covered without padding by m16n8k16
// and m16n8k8 (BF16; FP64 on 9.0; six m8n8k4 for each half on 8.x), three column tiles each. Lane l holds, of the cells
// in rows l/4 and l/4 + 8, the six values of "quarter" l%4, in the operands and in the result alike: which six is free,
// since the columns of K0 may stand in any order, and K0's fragments (9 registers per integer matrix) are made to fit:
//
//   table  quarter q = values 6 q ... 6 q + 5 of the table's row: three aligned 8-byte loads;
//   grid   quarter q = corners q and q + 4, the two nodes of a cell's edge along z.
//
// On a grid a tile is 16 cells in x, and a warp marches over a chunk of cell layers in z. The values of the plane
// between two layers and their sums for it stay in registers, and the two cells that share a node within a tile are
// added by one exchange between lanes; so a layer of a tile takes 6 loads of u and 3 + 3/16 atomic additions per lane:
// 12 and 6.4 per cell (lanes whose corners coincide load twice, from one line) instead of 24 and 24. The next plane is
// loaded a layer ahead. A layer is some 200 instructions per warp (one BF16 value, one matrix; compiled for 9.0), 6 of
// them on tensor cores and 24 for the mean.
//
// Device memory per cell: 28 bytes in FP32 (u, w, modulus) and 12 for the zeros that w starts from; 96 for a table.
// Multiply-adds and errors: see elasticity_tensor_core.hpp. Not bitwise repeatable: atomic additions. Source: papers/
// simp-fused-kernels.txt, section 3.4 (fused_wmma); DESIGN.md, section 4.
#pragma once

#include <Kokkos_Core.hpp>

#include "brickwork/operators/detail/elasticity_tensor_core.hpp"

#if BRICKWORK_TENSOR_CORES()

#include <cuda_bf16.h>
#include <mma.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace brickwork::detail {
namespace tensor_cuda {

inline void check_launch(char const* kernel) {
  cudaError_t const error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("brickwork: kernel ") + kernel +
                             " did not start: " + cudaGetErrorString(error));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// fused_wmma
// ---------------------------------------------------------------------------------------------------------------------

/// K0 and the numbering: parameters of a kernel may have 4 KiB before CUDA 12.1, and GridDofs holds K0 already.
template <class Dofs>
struct WmmaArguments {
  Dofs dofs;
  float stiffness[24][24];
  __device__ float entry(int row, int col) const { return stiffness[row][col]; }
};
template <>
struct WmmaArguments<GridDofs<float>> {
  GridDofs<float> dofs;
  __device__ float entry(int row, int col) const { return dofs.data.stiffness[row][col]; }
};

constexpr int wmma_warps = 8;
constexpr int wmma_padded = 32;

template <bool Masked, class Dofs>
__global__ void __launch_bounds__(32 * wmma_warps)
    wmma_kernel(__grid_constant__ WmmaArguments<Dofs> const a, float const* __restrict__ moduli,
                std::uint8_t const* __restrict__ mask, Operands<float> const vectors, index_t const cells) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  constexpr int P = wmma_padded;
  __shared__ __align__(32) float k_single[P][P];
  __shared__ __align__(32) __nv_bfloat16 k_rounded[P][P];
  // [padded value][cell], so that lanes of consecutive cells meet different banks
  __shared__ __align__(32) float staged[wmma_warps][P][16];
  __shared__ __align__(32) __nv_bfloat16 rounded[wmma_warps][P][16];

  int const warp = threadIdx.x / 32;
  int const lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < P * P; i += 32 * wmma_warps) {
    int const row = i / P, col = i % P;
    k_single[row][col] = row < 24 && col < 24 ? a.entry(row, col) : 0.0f;
    k_rounded[row][col] = __float2bfloat16_rn(k_single[row][col]);
  }

  int const column = lane % 16;
  int const half = lane / 16;  // takes the values 2 i + half
  index_t const cell = (static_cast<index_t>(blockIdx.x) * wmma_warps + warp) * 16 + column;
  bool const inside = cell < cells;
  float(&mine)[P][16] = staged[warp];
  auto const numbers = a.dofs.cell(inside ? cell : 0);
  if (inside) {
    auto const from = with_stride(numbers, vectors.stride_u);
#pragma unroll
    for (int i = 0; i < 12; ++i) {
      // Both halves name their value by constants: an index of a local array that varies by lane would go to memory.
      index_t const index = half == 0 ? from(2 * i) : from(2 * i + 1);
      bool const fixed = Masked && (half == 0 ? is_constrained(mask, index, 2 * i, vectors.stride_u)
                                              : is_constrained(mask, index, 2 * i + 1, vectors.stride_u));
      mine[2 * i + half][column] = fixed ? 0.0f : __ldg(vectors.u + index);
    }
  } else {
    for (int i = 0; i < 12; ++i) mine[2 * i + half][column] = 0.0f;
  }
  for (int i = 12; i < 16; ++i) mine[2 * i + half][column] = 0.0f;
  __syncwarp();
  for (int i = 0; i < 16; ++i) rounded[warp][2 * i + half][column] = __float2bfloat16_rn(mine[2 * i + half][column]);
  __syncthreads();

  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b[2];
  for (int k = 0; k < 2; ++k) wmma::load_matrix_sync(b[k], &rounded[warp][16 * k][0], 16);
  for (int row = 0; row < 2; ++row) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < 2; ++k) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> tile;
      wmma::load_matrix_sync(tile, &k_rounded[16 * row][16 * k], P);
      wmma::mma_sync(sum, tile, b[k], sum);
    }
    wmma::store_matrix_sync(&mine[16 * row][0], sum, 16, wmma::mem_row_major);
  }
  __syncwarp();
  if (!inside) return;
  float const modulus = moduli[cell];
  auto const to = with_stride(numbers, vectors.stride_w);
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    index_t const index = half == 0 ? to(2 * i) : to(2 * i + 1);
    atomicAdd(&vectors.w[index], modulus * mine[2 * i + half][column]);
  }
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Products of a tile of 16 cells in registers. in[h][s] and the sums' [h][s] are slot s of the lane's quarter, of the
// cell in row lane/4 + 8 h. `Order` says which of a cell's 24 values slot s of quarter q is.
// ---------------------------------------------------------------------------------------------------------------------

struct GridOrder {
  static __host__ __device__ __forceinline__ int value(int quarter, int slot) {
    return 3 * quarter + slot + (slot < 3 ? 0 : 9);
  }
};
struct TableOrder {
  static __host__ __device__ __forceinline__ int value(int quarter, int slot) { return 6 * quarter + slot; }
};

/// Row of K0 that column lane/4 of column tile t of the result belongs to.
template <class Order>
__host__ __device__ __forceinline__ int fragment_row(int lane, int tile) {
  int const column = lane / 4;
  return Order::value(column / 2, 2 * tile + column % 2);
}

/// Two values as a pair of BF16, the first in the lower half.
__device__ __forceinline__ std::uint32_t pack_bf16(float first, float second) {
  std::uint32_t pair = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
#endif
  return pair;
}

/// Column tile `tile` of d = c + a b. c and d may be the same.
__device__ __forceinline__ void mma_bf16(float (&d)[2][6], int tile, std::uint32_t const (&a)[2][3],
                                         std::uint32_t const (&b)[3], float const (&c)[2][6]) {
#if __CUDA_ARCH__ >= 800
  int const first = 2 * tile, second = first + 1;
  asm("{.reg .f32 x, y, z, w;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {x,y,z,w}, {%4,%5,%6,%7}, {%10,%11}, {%13,%14,%15,%16};\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%8,%9}, {%12}, {x,y,z,w};}\n"
      : "=f"(d[0][first]), "=f"(d[0][second]), "=f"(d[1][first]), "=f"(d[1][second])
      : "r"(a[0][0]), "r"(a[1][0]), "r"(a[0][1]), "r"(a[1][1]), "r"(a[0][2]), "r"(a[1][2]), "r"(b[0]), "r"(b[1]),
        "r"(b[2]), "f"(c[0][first]), "f"(c[0][second]), "f"(c[1][first]), "f"(c[1][second]));
#endif
}

/// M_t (hi + lo), or without lo, and their sum with weights modulus c_t.
template <int Terms, bool Split, class Order>
struct IntegerTile {
  using Scalar = float;
  static constexpr int blocks = Terms == 1 ? 5 : 4;  ///< per processor on a grid: what the registers allow
  static constexpr int unroll = 2;
  /// The integers as lane's fragments: pairs of BF16, [term][3 tile + pair][lane].
  struct Matrix {
    std::uint32_t pair[Terms][9][32];
    float coefficient[Terms];
  };
  struct Shared {
    std::uint32_t pair[Terms][9][32];
  };
  struct Sums {
    float term[Terms][2][6];
  };
  struct Weight {
    float term[Terms];
  };

  std::uint32_t b[Terms][3][3];

  static Matrix matrix(IntegerStiffness const& form) {
    auto const bits = [](int entry) {
      auto const value = static_cast<float>(entry);
      std::uint32_t word;
      std::memcpy(&word, &value, sizeof word);
      return word >> 16;  // exact: the lower half is zero
    };
    Matrix m;
    for (int term = 0; term < Terms; ++term) {
      m.coefficient[term] = static_cast<float>(form.coefficient[term]);
      for (int i = 0; i < 9; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
          auto const& row = form.matrix[term][fragment_row<Order>(lane, i / 3)];
          m.pair[term][i][lane] =
              bits(row[Order::value(lane % 4, 2 * (i % 3))]) | bits(row[Order::value(lane % 4, 2 * (i % 3) + 1)]) << 16;
        }
      }
    }
    return m;
  }

  static __device__ __forceinline__ void stage(Matrix const& matrix, Shared& shared) {
    for (int i = threadIdx.x; i < Terms * 9 * 32; i += blockDim.x) {
      (&shared.pair[0][0][0])[i] = (&matrix.pair[0][0][0])[i];
    }
  }

  __device__ __forceinline__ void load(Shared const& shared, int lane) {
#pragma unroll
    for (int term = 0; term < Terms; ++term) {
#pragma unroll
      for (int i = 0; i < 9; ++i) b[term][i / 3][i % 3] = shared.pair[term][i][lane];
    }
  }

  __device__ __forceinline__ void multiply(float const (&in)[2][6], Sums& sums) const {
    std::uint32_t high[2][3], low[2][3];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int pair = 0; pair < 3; ++pair) {
        float const first = in[h][2 * pair], second = in[h][2 * pair + 1];
        std::uint32_t const packed = pack_bf16(first, second);
        high[h][pair] = packed;
        if constexpr (Split) {
          low[h][pair] =
              pack_bf16(first - __uint_as_float(packed << 16), second - __uint_as_float(packed & 0xffff0000u));
        }
      }
    }
    float const zero[2][6] = {};
#pragma unroll
    for (int term = 0; term < Terms; ++term) {
#pragma unroll
      for (int tile = 0; tile < 3; ++tile) {
        if constexpr (Split) {
          mma_bf16(sums.term[term], tile, low, b[term][tile], zero);
          mma_bf16(sums.term[term], tile, high, b[term][tile], sums.term[term]);
        } else {
          mma_bf16(sums.term[term], tile, high, b[term][tile], zero);
        }
      }
    }
  }

  static __device__ __forceinline__ Weight weight(Matrix const& matrix, float modulus) {
    Weight w;
#pragma unroll
    for (int term = 0; term < Terms; ++term) w.term[term] = matrix.coefficient[term] * modulus;
    return w;
  }
  static __device__ __forceinline__ float scaled(Sums const& sums, int h, int s, Weight const& w) {
    float value = w.term[0] * sums.term[0][h][s];
    if constexpr (Terms == 2) value += w.term[1] * sums.term[1][h][s];
    return value;
  }
};

/// K0 (u - mean) in FP64. The upper triangle alone travels: parameters of a kernel may have 4 KiB before CUDA 12.1.
template <class Order>
struct DoubleTile {
  using Scalar = double;
  static constexpr int blocks = 3;
  static constexpr int unroll = 1;
  struct Matrix {
    double upper[300];
  };
  struct Shared {
    double entry[24][25];  // 25: columns of the fragments meet different banks
  };
  struct Sums {
    double value[2][6];
  };
  using Weight = double;

  double b[3][6];

  static Matrix matrix(ElasticityData<double> const& data) {
    Matrix m;
    for (int row = 0; row < 24; ++row)
      for (int col = row; col < 24; ++col) m.upper[col * (col + 1) / 2 + row] = data.stiffness[row][col];
    return m;
  }

  static __device__ __forceinline__ void stage(Matrix const& matrix, Shared& shared) {
    for (int i = threadIdx.x; i < 24 * 24; i += blockDim.x) {
      int const row = i / 24, col = i % 24;
      int const low = min(row, col), high = max(row, col);
      shared.entry[row][col] = matrix.upper[high * (high + 1) / 2 + low];
    }
  }

  __device__ __forceinline__ void load(Shared const& shared, int lane) {
#pragma unroll
    for (int tile = 0; tile < 3; ++tile) {
#pragma unroll
      for (int s = 0; s < 6; ++s) b[tile][s] = shared.entry[fragment_row<Order>(lane, tile)][Order::value(lane % 4, s)];
    }
  }

  __device__ __forceinline__ void multiply(double const (&in)[2][6], Sums& sums) const {
    double(&out)[2][6] = sums.value;
#pragma unroll
    for (int tile = 0; tile < 3; ++tile) {
      int const first = 2 * tile, second = first + 1;
#if __CUDA_ARCH__ >= 900
      asm("{.reg .f64 x, y, z, w;\n"
          "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {x,y,z,w}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
          "{%16,%17,%18,%19}, {%22,%22,%22,%22};\n"
          "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%12,%13,%14,%15}, {%20,%21}, {x,y,z,w};}\n"
          : "=d"(out[0][first]), "=d"(out[0][second]), "=d"(out[1][first]), "=d"(out[1][second])
          : "d"(in[0][0]), "d"(in[1][0]), "d"(in[0][1]), "d"(in[1][1]), "d"(in[0][2]), "d"(in[1][2]), "d"(in[0][3]),
            "d"(in[1][3]), "d"(in[0][4]), "d"(in[1][4]), "d"(in[0][5]), "d"(in[1][5]), "d"(b[tile][0]), "d"(b[tile][1]),
            "d"(b[tile][2]), "d"(b[tile][3]), "d"(b[tile][4]), "d"(b[tile][5]), "d"(0.0));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        out[h][first] = 0;
        out[h][second] = 0;
#pragma unroll
        for (int s = 0; s < 6; ++s) {
          asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
              : "+d"(out[h][first]), "+d"(out[h][second])
              : "d"(in[h][s]), "d"(b[tile][s]));
        }
      }
#endif
    }
  }

  static __device__ __forceinline__ Weight weight(Matrix const&, double modulus) { return modulus; }
  static __device__ __forceinline__ double scaled(Sums const& sums, int h, int s, Weight w) {
    return w * sums.value[h][s];
  }
};

/// Sum over the four lanes of a cell, in pairs.
template <class Scalar>
__device__ __forceinline__ Scalar sum_of_quarters(Scalar value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  value += __shfl_xor_sync(0xffffffffu, value, 2);
  return value;
}

constexpr int tile_warps = 4;

/// The warp's number in its block, from one lane: known to be the same for all, so that loops over it need no care for
/// divergent lanes.
__device__ __forceinline__ int warp_index() { return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0); }

// ---------------------------------------------------------------------------------------------------------------------
// Connectivity table: tiles of 16 consecutive cells, a resident set of warps that takes them in turn.
// ---------------------------------------------------------------------------------------------------------------------

template <bool Masked, class Tile, class S = typename Tile::Scalar>
__global__ void __launch_bounds__(32 * tile_warps)
    table_kernel(std::int32_t const* __restrict__ table, __grid_constant__ typename Tile::Matrix const matrix,
                 S const* __restrict__ moduli, std::uint8_t const* __restrict__ mask, Operands<S> const vectors,
                 index_t const cells) {
#if __CUDA_ARCH__ >= 800
  __shared__ typename Tile::Shared shared;
  Tile::stage(matrix, shared);
  __syncthreads();
  int const lane = threadIdx.x % 32;
  int const quarter = lane % 4;
  Tile product;
  product.load(shared, lane);
  index_t const tiles = (cells + 15) / 16;
  for (index_t tile = static_cast<index_t>(blockIdx.x) * tile_warps + warp_index(); tile < tiles;
       tile += static_cast<index_t>(gridDim.x) * tile_warps) {
    int index[2][6];
    S in[2][6], modulus[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      index_t const cell = 16 * tile + lane / 4 + 8 * h;
      index_t const safe = min(cell, cells - 1);
      auto const* const row = reinterpret_cast<int2 const*>(table + 24 * safe + 6 * quarter);
#pragma unroll
      for (int pair = 0; pair < 3; ++pair) {
        int2 const two = __ldg(row + pair);
        index[h][2 * pair] = two.x;
        index[h][2 * pair + 1] = two.y;
      }
      modulus[h] = moduli[safe];
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int s = 0; s < 6; ++s) {
        in[h][s] = __ldg(vectors.u + index[h][s]);
        // 6 quarter + s and s are the same component
        if (Masked && is_constrained(mask, index[h][s], s, vectors.stride_u)) in[h][s] = 0;
      }
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        S const mean = S(0.125) * sum_of_quarters(in[h][d] + in[h][3 + d]);
        in[h][d] -= mean;
        in[h][3 + d] -= mean;
      }
    }
    typename Tile::Sums sums;
    product.multiply(in, sums);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      auto const weight = Tile::weight(matrix, modulus[h]);
      if (16 * tile + lane / 4 + 8 * h < cells) {
#pragma unroll
        for (int s = 0; s < 6; ++s) atomicAdd(&vectors.w[index[h][s]], Tile::scaled(sums, h, s, weight));
      }
    }
  }
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Grid: a warp marches over the cell layers [first, last) of 16 cells in x.
// ---------------------------------------------------------------------------------------------------------------------

template <class Scalar>
struct GridArguments {
  Operands<Scalar> vectors;
  Scalar const* moduli;
  std::uint8_t const* mask;
  index_t turn;  ///< nodes of a period in z
  int nx, ny, nz, mx, my, mz;
  int plane_nodes, plane_cells;
  unsigned columns;  ///< tiles in x times ny
  unsigned groups;   ///< blocks per chunk
  int chunk;         ///< cell layers of a warp
};

template <bool Masked, class Tile, class S = typename Tile::Scalar>
__global__ void __launch_bounds__(32 * tile_warps, Tile::blocks)
    grid_kernel(__grid_constant__ GridArguments<S> const a, __grid_constant__ typename Tile::Matrix const matrix) {
#if __CUDA_ARCH__ >= 800
  __shared__ typename Tile::Shared shared;
  Tile::stage(matrix, shared);
  __syncthreads();
  int const lane = threadIdx.x % 32;
  int const quarter = lane % 4;
  int const group = lane / 4;
  Tile product;
  product.load(shared, lane);

  // All warps of a block have the same layers, and rows that are neighbours in y: they share lines of nodes in the
  // first-level cache. A warp too many repeats column 0 and stores nothing: a return would make the loop look
  // divergent.
  int const first = static_cast<int>(blockIdx.x / a.groups) * a.chunk;
  int const layers = min(a.chunk, a.nz - first);
  unsigned const wanted = blockIdx.x % a.groups * tile_warps + warp_index();
  bool const active = wanted < a.columns;
  unsigned const column = active ? wanted : 0;
  int const j = static_cast<int>(column % static_cast<unsigned>(a.ny));
  int const x0 = static_cast<int>(column / static_cast<unsigned>(a.ny)) * 16;
  bool const right = quarter & 1;
  int y = j + (quarter >> 1);
  if (y == a.my) y = 0;
  index_t const row = static_cast<index_t>(first) * a.plane_nodes + static_cast<index_t>(a.mx) * y;

  // Addresses in the chunk's first plane (layer); offsets from there fit 32 bits. Cells beyond the end of the row have
  // modulus zero and read a node of their row.
  S const* u[2][3];
  S const* moduli[2];
  [[maybe_unused]] std::uint8_t const* mask[2];
  bool inside[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    int const i = x0 + group + 8 * h;
    inside[h] = i < a.nx;
    int const clamped = min(i, a.nx - 1);
    int x = clamped + right;
    if (x == a.mx) x = 0;
#pragma unroll
    for (int d = 0; d < 3; ++d) u[h][d] = a.vectors.u + row + x + d * a.vectors.stride_u;
    if constexpr (Masked) mask[h] = a.mask + row + x;
    moduli[h] = a.moduli + static_cast<index_t>(first) * a.plane_cells + static_cast<index_t>(a.nx) * j + clamped;
  }
  // Left lanes give nodes x0 ... x0 + 7, right lanes x0 + 9 ... x0 + 16; the last right lane gives x0 + 8 besides.
  int const partner = (right ? lane + 3 : lane - 3) & 31;
  bool const alone = right ? group == 7 : group == 0;
  int x_store = x0 + group + (right ? 9 : 0);
  int x_middle = x0 + 8;
  bool const store = active && x_store <= a.nx;
  bool const store_middle = active && right && alone && x_middle <= a.nx;
  if (x_store == a.mx) x_store = 0;
  if (x_middle == a.mx) x_middle = 0;
  int const to_middle = x_middle - x_store;
  S* w[3];
#pragma unroll
  for (int d = 0; d < 3; ++d) w[d] = a.vectors.w + row + x_store + d * a.vectors.stride_w;

  // Node plane first + p; planes come in order, and the one that a periodic axis wraps to last.
  auto const read_plane = [&](int p, S(&value)[2][3]) {
    if (first + p == a.mz) {
#pragma unroll
      for (int i = 0; i < 6; ++i) u[i / 3][i % 3] -= a.turn;
      if constexpr (Masked) {
        mask[0] -= a.turn;
        mask[1] -= a.turn;
      }
    }
    int const offset = p * a.plane_nodes;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int d = 0; d < 3; ++d) value[h][d] = __ldg(u[h][d] + offset);
      if constexpr (Masked) {
        int const fixed = __ldg(mask[h] + offset);
#pragma unroll
        for (int d = 0; d < 3; ++d) value[h][d] = (fixed >> d) & 1 ? S(0) : value[h][d];
      }
    }
  };
  auto const add_plane = [&](int p, S const(&sum)[2][3]) {
    int const offset = p * a.plane_nodes;
    S take[3], give[3], total[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      S const keep = right ? sum[1][d] : sum[0][d];
      give[d] = right ? sum[0][d] : sum[1][d];
      take[d] = __shfl_sync(0xffffffffu, give[d], partner);
      total[d] = keep + (alone ? S(0) : take[d]);
    }
    if (store) {
#pragma unroll
      for (int d = 0; d < 3; ++d) atomicAdd(w[d] + offset, total[d]);
    }
    if (store_middle) {
#pragma unroll
      for (int d = 0; d < 3; ++d) atomicAdd(w[d] + offset + to_middle, give[d] + take[d]);
    }
  };

  S bottom[2][3], bottom_sum[2][3], next[2][3], next_modulus[2], carry[2][3] = {};
  auto const read_moduli = [&](int layer) {
    int const offset = layer * a.plane_cells;
#pragma unroll
    for (int h = 0; h < 2; ++h) next_modulus[h] = __ldg(moduli[h] + offset);
  };
  read_plane(0, bottom);
  read_plane(1, next);
  read_moduli(0);
#pragma unroll
  for (int i = 0; i < 6; ++i) bottom_sum[i / 3][i % 3] = sum_of_quarters(bottom[i / 3][i % 3]);
#pragma unroll(Tile::unroll)
  for (int layer = 0; layer < layers; ++layer) {
    S top[2][3], in[2][6];
    typename Tile::Weight weight[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      weight[h] = Tile::weight(matrix, inside[h] ? next_modulus[h] : S(0));
#pragma unroll
      for (int d = 0; d < 3; ++d) top[h][d] = next[h][d];
    }
    if (layer + 1 < layers) {
      read_plane(layer + 2, next);
      read_moduli(layer + 1);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        S const top_sum = sum_of_quarters(top[h][d]);
        S const sum = bottom_sum[h][d] + top_sum;
        in[h][d] = bottom[h][d] - S(0.125) * sum;
        in[h][3 + d] = top[h][d] - S(0.125) * sum;
        bottom[h][d] = top[h][d];
        bottom_sum[h][d] = top_sum;
      }
    }
    typename Tile::Sums sums;
    product.multiply(in, sums);
    S lower[2][3];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        lower[h][d] = carry[h][d] + Tile::scaled(sums, h, d, weight[h]);
        carry[h][d] = Tile::scaled(sums, h, 3 + d, weight[h]);
      }
    }
    add_plane(layer, lower);
  }
  if (first + layers == a.mz) {
#pragma unroll
    for (int d = 0; d < 3; ++d) w[d] -= a.turn;
  }
  add_plane(layers, carry);
#endif
}

inline int processors() {
  static int const count = [] {
    int device = 0, value = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value;
  }();
  return count;
}

template <bool Masked, class Tile, class S = typename Tile::Scalar>
void launch(cudaStream_t stream, char const* kernel, typename Tile::Matrix const& matrix, ElasticityData<S> const& data,
            TableDofs const& dofs, index_t cells, Operands<S> const& vectors) {
  BRICKWORK_REQUIRE(reinterpret_cast<std::uintptr_t>(dofs.table) % sizeof(int2) == 0, "kernel ", kernel,
                    ": the connectivity table starts at an address that is no multiple of ", sizeof(int2));
  index_t const blocks = std::min<index_t>((cells + 16 * tile_warps - 1) / (16 * tile_warps), 16 * processors());
  table_kernel<Masked, Tile><<<static_cast<unsigned>(blocks), 32 * tile_warps, 0, stream>>>(
      dofs.table, matrix, data.moduli, data.mask, vectors, cells);
  check_launch(kernel);
}

template <bool Masked, class Tile, class S = typename Tile::Scalar>
void launch(cudaStream_t stream, char const* kernel, typename Tile::Matrix const& matrix, ElasticityData<S> const& data,
            GridDofs<S> const&, index_t, Operands<S> const& vectors) {
  GridArguments<S> a;
  a.vectors = vectors;
  a.moduli = data.moduli;
  a.mask = data.mask;
  a.turn = data.mz * data.mx * data.my;
  a.nx = static_cast<int>(data.nx);
  a.ny = static_cast<int>(data.ny);
  a.nz = static_cast<int>(data.nz);
  a.mx = static_cast<int>(data.mx);
  a.my = static_cast<int>(data.my);
  a.mz = static_cast<int>(data.mz);
  a.plane_nodes = static_cast<int>(data.mx * data.my);
  a.plane_cells = static_cast<int>(data.nx * data.ny);
  index_t const columns = (data.nx + 15) / 16 * data.ny;
  index_t const groups = (columns + tile_warps - 1) / tile_warps;
  // Some 32 warps for every processor, so that the last ones do not idle; a chunk costs one layer more to read. The
  // cap keeps offsets within 31 bits.
  index_t const even = columns * data.nz / (index_t(32) * processors());
  index_t const chunk =
      std::min({data.nz, std::clamp<index_t>(even, 8, 64), (index_t(1) << 31) / (data.mx * data.my) - 2});
  a.columns = static_cast<unsigned>(columns);
  a.groups = static_cast<unsigned>(groups);
  a.chunk = static_cast<int>(chunk);
  auto const blocks = static_cast<unsigned>(groups * ((data.nz + chunk - 1) / chunk));
  grid_kernel<Masked, Tile><<<blocks, 32 * tile_warps, 0, stream>>>(a, matrix);
  check_launch(kernel);
}

template <class Dofs>
using OrderOf = std::conditional_t<std::is_same_v<Dofs, TableDofs>, TableOrder, GridOrder>;

template <bool Masked, bool Split, class Dofs>
void apply_integer(Kokkos::Cuda const& space, char const* kernel, IntegerStiffness const& form,
                   ElasticityData<float> const& data, Dofs const& dofs, index_t cells, Operands<float> const& vectors) {
  using One = IntegerTile<1, Split, OrderOf<Dofs>>;
  using Two = IntegerTile<2, Split, OrderOf<Dofs>>;
  if (form.terms == 1) {
    launch<Masked, One>(space.cuda_stream(), kernel, One::matrix(form), data, dofs, cells, vectors);
  } else {
    launch<Masked, Two>(space.cuda_stream(), kernel, Two::matrix(form), data, dofs, cells, vectors);
  }
}

}  // namespace tensor_cuda

/// Whether the tensor-core bodies take a grid: offsets of four planes fit 31 bits, and so does the number of blocks.
template <class Scalar>
bool tensor_cuda_supports(ElasticityData<Scalar> const& data) {
  return data.mx * data.my <= (index_t(1) << 29) && data.nx * data.ny * data.nz < (index_t(1) << 34) &&
         data.mz < (index_t(1) << 30);
}

// The four kernels. Each adds K u to w, which the caller sets to zero, on the instance's stream, with no
// synchronization and no allocation. Dofs is GridDofs (numbering and counts from `data`; `cells` is nx ny nz and the
// strides are those of `vectors`) or TableDofs (one table, 8-byte aligned, for u and w). With Masked (data.mask must
// then be set) constrained components of u count as zero; the caller restores w there. Errors: std::runtime_error where
// the launch fails.

/// q(K0) q(u), from data.stiffness.
template <bool Masked, class Dofs>
void apply_fused_wmma_cuda(Kokkos::Cuda const& space, ElasticityData<float> const& data, Dofs const& dofs,
                           index_t cells, Operands<float> const& vectors) {
  using namespace tensor_cuda;
  WmmaArguments<Dofs> a;
  a.dofs = dofs;
  if constexpr (std::is_same_v<Dofs, GridDofs<float>>) {
    a.dofs.data = data;
  } else {
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) a.stiffness[row][col] = data.stiffness[row][col];
  }
  auto const blocks = static_cast<unsigned>((cells + 16 * wmma_warps - 1) / (16 * wmma_warps));
  wmma_kernel<Masked><<<blocks, 32 * wmma_warps, 0, space.cuda_stream()>>>(a, data.moduli, data.mask, vectors, cells);
  check_launch("fused_wmma");
}

/// The integer form with u - mean rounded to one BF16 value.
template <bool Masked, class Dofs>
void apply_fused_wmma_exact_cuda(Kokkos::Cuda const& space, ElasticityData<float> const& data,
                                 IntegerStiffness const& form, Dofs const& dofs, index_t cells,
                                 Operands<float> const& vectors) {
  tensor_cuda::apply_integer<Masked, false>(space, "fused_wmma_exact", form, data, dofs, cells, vectors);
}

/// The integer form with u - mean as the sum of two BF16 values.
template <bool Masked, class Dofs>
void apply_fused_wmma_split_cuda(Kokkos::Cuda const& space, ElasticityData<float> const& data,
                                 IntegerStiffness const& form, Dofs const& dofs, index_t cells,
                                 Operands<float> const& vectors) {
  tensor_cuda::apply_integer<Masked, true>(space, "fused_wmma_split", form, data, dofs, cells, vectors);
}

/// K0 (u - mean) in FP64, from the upper triangle of data.stiffness.
template <bool Masked, class Dofs>
void apply_fused_mma_fp64_cuda(Kokkos::Cuda const& space, ElasticityData<double> const& data, Dofs const& dofs,
                               index_t cells, Operands<double> const& vectors) {
  using Tile = tensor_cuda::DoubleTile<tensor_cuda::OrderOf<Dofs>>;
  tensor_cuda::launch<Masked, Tile>(space.cuda_stream(), "fused_mma_fp64", Tile::matrix(data), data, dofs, cells,
                                    vectors);
}

}  // namespace brickwork::detail

#endif
