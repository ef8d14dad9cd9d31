// SPDX-License-Identifier: BSD-3-Clause
// The operator that the programs time: cells are unit cubes of an isotropic material with Poisson's ratio 0.3.
#pragma once

#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"
#include "perf_tests/support/measure.hpp"

namespace perf {

inline brickwork::Hex8Matrix cube_stiffness() {
  return brickwork::hex8_stiffness(brickwork::elasticity_matrix(brickwork::IsotropicMaterial{1, 0.3}), {1, 1, 1});
}

inline brickwork::BoxGrid unit_grid(Size const& size) {
  return brickwork::BoxGrid(size.cells, {static_cast<double>(size.cells[0]), static_cast<double>(size.cells[1]),
                                         static_cast<double>(size.cells[2])});
}

/// Kernels named in a list separated by commas; "all" is every one.
/// \throws InputError for an unknown name
inline std::vector<brickwork::ElasticityKernel> parse_kernels(std::string const& list) {
  if (list == "all") return brickwork::elasticity_kernels();
  std::vector<brickwork::ElasticityKernel> kernels;
  for (auto const& name : split(list)) {
    kernels.push_back(brickwork::elasticity_kernel_from_string(name));
    BRICKWORK_REQUIRE(kernels.back() != brickwork::ElasticityKernel::automatic,
                      "--kernels: automatic is no kernel of its own");
  }
  return kernels;
}

/// Precisions named in a list. \throws InputError for anything but fp32, fp64, mixed
inline std::vector<std::string> parse_precisions(std::string const& list) {
  auto const precisions = split(list);
  for (auto const& precision : precisions) {
    BRICKWORK_REQUIRE(precision == "fp32" || precision == "fp64" || precision == "mixed", "--precision: '", precision,
                      "' is none of fp32, fp64, mixed");
  }
  return precisions;
}

/// False for rows that do not exist: BF16 kernels take FP32 vectors, fused_mma_fp64 takes FP64, mixed is of parity.
inline bool has_precision(brickwork::ElasticityKernel kernel, std::string const& precision) {
  if (precision == "mixed") return kernel == brickwork::ElasticityKernel::parity;
  if (precision == "fp64") return !brickwork::rounds_to_bf16(kernel);
  return kernel != brickwork::ElasticityKernel::fused_mma_fp64;
}

}  // namespace perf
