// SPDX-License-Identifier: BSD-3-Clause
// `fused_wmma`, `fused_wmma_exact`, `fused_wmma_split`, `fused_mma_fp64`: what tensor cores compute, on every backend.
//
// One pass: gather 24 values of a cell, multiply by the 24 x 24 stiffness, scale by the cell's modulus, add atomically.
// The four differ in how the product is rounded. q(x) is x rounded to BF16 (8 significant bits, to nearest even).
//
//   fused_wmma        f = E q(K0) q(u), entry by entry, FP32 sums. The rows of q(K0) do not sum to zero, so a
//                     translation gives a force: each cell is tied to the ground by a spring. Kept as published.
//   fused_wmma_exact  f = E sum_t c_t M_t q(u - mean), M_t integer, exact in BF16, with rows that sum to zero.
//   fused_wmma_split  the same with u - mean = hi + lo, hi = q(u - mean), lo = q(u - mean - hi).
//   fused_mma_fp64    f = E K0 (u - mean) in FP64.
//
// Integer form. The stiffness of a cube of side h of an isotropic material is K0 = h/72 (lambda A + mu B): the
// integrals of products of derivatives of trilinear shape functions are h/72 times integers, |A| <= 8, |B| <= 32, and
// integers up to 256 are exact in BF16. Where lambda/mu = p/q with small p and q (nu = 0.3: 3/2), one matrix p A + q B
// with factor h mu/(72 q) does; else two products, with factors h lambda/72 and h mu/72.
//
// Errors, relative to sum_j |K_ij| |u_j - mean|: 2^-8 (exact; typically 1.5e-3 of the product), 2^-17 (split), and FP32
// sums. Products of an integer and a BF16 value are exact in FP32, and a translation gives exactly zero in exact, split
// and FP64: the mean of equal values is summed in pairs, exactly, and leaves zeros.
//
// Per cell: 576 multiply-adds for each matrix and part (1 to 4; 1 in fused_wmma and fused_mma_fp64), 24 values read and
// 24 atomic additions; 96 bytes more for a connectivity table. Not bitwise repeatable: the order of the additions
// varies. Source: the fused-kernel text, section 3.4 (layout and rounding); specs/simp.md, section 4 (integer form).
//
// This header holds the portable body, one thread per cell with BF16 emulated by integer arithmetic; the tensor-core
// bodies are in elasticity_tensor_cuda.hpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "brickwork/core/bfloat16.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/core/fields.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"
#include "brickwork/operators/detail/elasticity_dofs.hpp"

/// 1 where the tensor-core bodies are compiled: nvcc, compute capability 8.0 or more.
#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__) && BRICKWORK_CUDA_ARCH >= 80
#define BRICKWORK_TENSOR_CORES() 1
#else
#define BRICKWORK_TENSOR_CORES() 0
#endif

namespace brickwork::detail {

/// K0 = sum_t coefficient[t] matrix[t], t < terms, with integers of at most 256 whose rows sum to zero for each
/// component.
struct IntegerStiffness {
  int terms;
  std::int16_t matrix[2][24][24];
  double coefficient[2];
};

/// \throws InputError that names `kernel` where the matrix is not that of a cube of an isotropic material
IntegerStiffness integer_stiffness(ElasticityKernel kernel, Hex8Matrix const& stiffness);

/// The same cell in a vector of another component stride. A table holds for both vectors.
KOKKOS_FORCEINLINE_FUNCTION CornerDofs with_stride(CornerDofs cell, index_t stride) {
  cell.stride = stride;
  return cell;
}
KOKKOS_FORCEINLINE_FUNCTION TableDofs::Cell with_stride(TableDofs::Cell cell, index_t) { return cell; }

/// Sums in pairs: the mean of equal values is exact, so that a translation leaves zeros.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void subtract_means(Scalar (&in)[24]) {
  for (int d = 0; d < 3; ++d) {
    Scalar const lower = (in[d] + in[3 + d]) + (in[6 + d] + in[9 + d]);
    Scalar const upper = (in[12 + d] + in[15 + d]) + (in[18 + d] + in[21 + d]);
    Scalar const mean = Scalar(0.125) * (lower + upper);
    for (int n = 0; n < 8; ++n) in[3 * n + d] -= mean;
  }
}

/// q(K0) q(u)
struct RoundedProduct {
  float matrix[24][24];

  KOKKOS_FUNCTION void operator()(float (&in)[24], float (&out)[24]) const {
    for (int col = 0; col < 24; ++col) in[col] = round_to_bf16(in[col]);
    for (int row = 0; row < 24; ++row) {
      float sum = 0;
      for (int col = 0; col < 24; ++col) sum += matrix[row][col] * in[col];
      out[row] = sum;
    }
  }
};

/// sum_t c_t M_t (hi + lo), or without lo
template <bool Split>
struct IntegerProduct {
  IntegerStiffness form;

  KOKKOS_FUNCTION void operator()(float (&in)[24], float (&out)[24]) const {
    subtract_means(in);
    float low[24];
    for (int col = 0; col < 24; ++col) {
      float const high = round_to_bf16(in[col]);
      low[col] = Split ? round_to_bf16(in[col] - high) : 0.0f;
      in[col] = high;
    }
    for (int row = 0; row < 24; ++row) out[row] = 0;
    for (int term = 0; term < form.terms; ++term) {
      for (int row = 0; row < 24; ++row) {
        float sum = 0;
        for (int col = 0; col < 24; ++col) {
          auto const entry = static_cast<float>(form.matrix[term][row][col]);
          sum += entry * in[col];
          if (Split) sum += entry * low[col];
        }
        out[row] += static_cast<float>(form.coefficient[term]) * sum;
      }
    }
  }
};

/// K0 (u - mean)
struct DoubleProduct {
  double matrix[24][24];

  KOKKOS_FUNCTION void operator()(double (&in)[24], double (&out)[24]) const {
    subtract_means(in);
    for (int row = 0; row < 24; ++row) {
      double sum = 0;
      for (int col = 0; col < 24; ++col) sum += matrix[row][col] * in[col];
      out[row] = sum;
    }
  }
};

/// w += sum over the cells of the scaled products. Constrained components of u count as zero.
template <class Scalar, class Dofs, class Product, bool Masked>
struct ElasticityCellProduct {
  Dofs dofs;
  Product product;
  Scalar const* moduli;
  std::uint8_t const* mask;
  Operands<Scalar> vectors;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    auto const numbers = dofs.cell(cell);
    auto const from = with_stride(numbers, vectors.stride_u);
    Scalar in[24], out[24];
    for (int j = 0; j < 24; ++j) {
      index_t const index = from(j);
      bool const fixed = Masked && is_constrained(mask, index, j, vectors.stride_u);
      in[j] = fixed ? Scalar(0) : vectors.u[index];
    }
    product(in, out);
    auto const to = with_stride(numbers, vectors.stride_w);
    Scalar const modulus = moduli[cell];
    for (int j = 0; j < 24; ++j) Kokkos::atomic_add(&vectors.w[to(j)], modulus * out[j]);
  }
};

/// Adds the portable body's product to w. `dofs` numbers the 24 values of a cell (GridDofs: with the strides of
/// `vectors`; TableDofs: one table for u and w). data.mask is read with Masked only, and then data of a grid.
template <bool Masked, class ExecutionSpace, class Scalar, class Dofs, class Product>
void add_cell_products(ExecutionSpace const& space, char const* label, ElasticityData<Scalar> const& data,
                       Dofs const& dofs, index_t cells, Product const& product, Operands<Scalar> const& vectors) {
  Kokkos::parallel_for(
      label, range(space, cells),
      ElasticityCellProduct<Scalar, Dofs, Product, Masked>{dofs, product, data.moduli, data.mask, vectors});
}

}  // namespace brickwork::detail
