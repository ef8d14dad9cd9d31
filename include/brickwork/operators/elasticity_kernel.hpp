// SPDX-License-Identifier: BSD-3-Clause
// The kernels of ElasticityOperator and the one place that chooses among them.
#pragma once

#include <string>

#include "brickwork/fem/hex8_stiffness.hpp"

namespace brickwork {

/// How w = K u is computed. All give the same result to rounding.
enum class ElasticityKernel {
  automatic,     ///< the fastest that is right for the element matrix
  parity,        ///< even-odd basis, marching over cell layers; no atomics, bitwise repeatable; needs a parity form
  node_gather,   ///< one thread per node gathers from its eight cells; no atomics, bitwise repeatable; any element
                 ///< matrix
  fused_scatter  ///< one thread per cell, 24 x 24 product, atomic scatter (the source text's); not bitwise repeatable
};

std::string to_string(ElasticityKernel kernel);

/// \throws InputError for an unknown name (with the known ones)
ElasticityKernel elasticity_kernel_from_string(std::string const& name);

/// Resolves `automatic` and refuses a kernel that cannot run on this element matrix.
/// \throws InputError that says why
ElasticityKernel select_elasticity_kernel(ElasticityKernel requested, Hex8Matrix const& stiffness);

}  // namespace brickwork
