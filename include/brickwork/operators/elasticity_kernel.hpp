// SPDX-License-Identifier: BSD-3-Clause
// The kernels of ElasticityOperator and the one place that chooses among them.
#pragma once

#include <string>
#include <vector>

#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

/// How w = K u is computed. All but the `fused_wmma` family give the same result to rounding.
enum class ElasticityKernel {
  automatic,            ///< the fastest that is right for the element matrix
  parity,               ///< even-odd basis, marching over cell layers; no atomics, bitwise repeatable; needs a parity
                        ///< form
  node_gather,          ///< one thread per node gathers from its eight cells; no atomics, bitwise repeatable; any
                        ///< element matrix
  fused_scatter,        ///< one thread per cell, 24 x 24 product, atomic scatter, connectivity computed; not repeatable
  fused_scatter_table,  ///< the same with the source text's connectivity table (96 bytes per cell)
  three_stage,          ///< gather, product and scatter in three launches (the source text's baseline)
  assembled,            ///< compressed rows, built on the device and applied by Kokkos Kernels; update() after changes
  fused_wmma,           ///< the source text's tensor-core kernel: K0 and u rounded to BF16, FP32 sums; float only
  fused_wmma_exact,     ///< BF16 with an exact integer form of K0 and the cell's mean displacement subtracted; float
                        ///< only
  fused_wmma_split,     ///< the same with u as the sum of two BF16 values: close to FP32; float only
  fused_mma_fp64        ///< FP64 tensor cores, atomic scatter; double only
};

std::string to_string(ElasticityKernel kernel);

/// \throws InputError for an unknown name (with the known ones)
ElasticityKernel elasticity_kernel_from_string(std::string const& name);

/// Every kernel but `automatic`, in the order of the enumeration.
std::vector<ElasticityKernel> elasticity_kernels();

/// True for the kernels whose product is not that of the vectors' precision.
bool rounds_to_bf16(ElasticityKernel kernel);

/// Resolves `automatic` and refuses a kernel that cannot run on this element matrix, in this precision or in this
/// build. \param scalar_bytes 4 or 8 \throws InputError that says why
ElasticityKernel select_elasticity_kernel(ElasticityKernel requested, Hex8Matrix const& stiffness, int scalar_bytes);

/// Bytes that a kernel keeps beside the vectors, the moduli and the mask (an upper bound for `assembled`).
double elasticity_kernel_bytes(ElasticityKernel kernel, BoxGrid const& grid, int scalar_bytes);

}  // namespace brickwork
