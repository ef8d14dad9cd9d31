// SPDX-License-Identifier: BSD-3-Clause
// What each elasticity kernel has to move and to compute per cell, by the model that its header states.
//
// A grid has as many nodes as cells here; the vectors' values are read and written once where a kernel's cells share
// them in the caches. Bytes are of device memory, S = bytes of a value:
//
//   parity, node_gather     7 S           u, w (3 each) and the modulus (parity mixed: 24 + 24 + 4)
//   fused_scatter           13 S          u, modulus; w is zeroed, read and written (3 each)
//   fused_wmma...           13 S          the same; fused_mma_fp64 too
//   fused_scatter_table     13 S + 96     and 24 indices of 4 bytes
//   three_stage             109 S         and 4 x 24 values between the stages
//   assembled               243 (S + 4) + 24 + 6 S    81 entries in each of 3 rows, their columns and offsets, u, w
#pragma once

#include "brickwork/operators/elasticity_kernel.hpp"

namespace perf {

using brickwork::ElasticityKernel;

/// Least traffic of the kernel's own model, bytes per cell. \param value_bytes 4 or 8, of the vectors
inline double traffic_per_cell(ElasticityKernel kernel, int value_bytes) {
  double const s = value_bytes;
  switch (kernel) {
    case ElasticityKernel::parity:
    case ElasticityKernel::node_gather:
      return 7 * s;
    case ElasticityKernel::fused_scatter_table:
      return 13 * s + 96;
    case ElasticityKernel::three_stage:
      return 109 * s;
    case ElasticityKernel::assembled:
      return 243 * (s + 4) + 24 + 6 * s;
    default:
      return 13 * s;
  }
}

/// u and w in FP64, the moduli in FP32: what apply_mixed() moves.
inline constexpr double mixed_traffic_per_cell = 24 + 24 + 4;

/// Floating-point operations per cell, a multiply-add counting as two.
struct Operations {
  double plain = 0;        ///< on the ordinary units, in the kernel's precision
  double tensor_bf16 = 0;  ///< on tensor cores, padding included
  double tensor_fp64 = 0;
  double atomics = 0;  ///< atomic additions, which are in `plain` too
};

/// parity: 99 additions and 39 multiply-adds in the CUDA body's FP32 form (138 operations), all for a cube of an
/// isotropic material. fused_wmma pads 24 to 32: four products of 16 x 16 x 16 for 16 cells. Poisson's ratio is 0.3, so
/// the integer forms have one matrix. The marching tensor kernels add 6.4 values per cell (fused_wmma: 24).
inline Operations operations_per_cell(ElasticityKernel kernel) {
  double const dense = 2 * 576;
  double const scale_and_add = 24 + 24;
  double const mean = 48;
  double const marching_atomics = 6.4;
  switch (kernel) {
    case ElasticityKernel::parity:
      return {99 + 2 * 39, 0, 0, 0};
    case ElasticityKernel::node_gather:
      return {dense + 8 * 24 + 2 * 8 * 3, 0, 0, 0};  // differences from the node's own value; eight moduli
    case ElasticityKernel::three_stage:
      return {dense + scale_and_add, 0, 0, 24};
    case ElasticityKernel::assembled:
      return {2 * 243, 0, 0, 0};
    case ElasticityKernel::fused_wmma:
      return {scale_and_add, 2.0 * 4 * 16 * 16 * 16 / 16, 0, 24};
    case ElasticityKernel::fused_wmma_exact:
      return {mean + 24 + marching_atomics, dense, 0, marching_atomics};
    case ElasticityKernel::fused_wmma_split:
      return {mean + 48 + marching_atomics, 2 * dense, 0, marching_atomics};
    case ElasticityKernel::fused_mma_fp64:
      return {mean + 24 + marching_atomics, 0, dense, marching_atomics};
    default:  // fused_scatter and its table
      return {dense + mean + scale_and_add, 0, 0, 24};
  }
}

}  // namespace perf
