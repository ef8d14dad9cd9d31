// SPDX-License-Identifier: BSD-3-Clause
// The smoothers of ElasticityMultigrid. Free of Kokkos.
#pragma once

#include <string>
#include <vector>

namespace brickwork {

/// What a multigrid level smooths with, before and after the coarse correction. The degree counts polynomial degrees,
/// or sweeps of gauss_seidel. Costs and gains: perf_tests/multigrid.cpp --smoother.
enum class Smoother {
  chebyshev,     ///< Chebyshev of the fourth kind on point Jacobi (matrix-free levels) and 3 x 3 blocks (stencils)
  block_jacobi,  ///< the same with the 3 x 3 blocks of the nodes on the matrix-free levels too
  gauss_seidel,  ///< sweeps over 3 x 3 blocks in eight colours, forward before and backward after the correction
  bf16           ///< chebyshev with the finest level's product in BF16, on tensor cores where there are some
};

/// All smoothers, in the order of the enumeration.
std::vector<Smoother> smoothers();

std::string to_string(Smoother smoother);

/// \throws InputError for an unknown name (with the known ones)
Smoother smoother_from_string(std::string const& name);

}  // namespace brickwork
