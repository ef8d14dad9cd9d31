// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/elasticity_kernel.hpp"

#include "brickwork/core/check.hpp"

namespace brickwork {

std::string to_string(ElasticityKernel kernel) {
  switch (kernel) {
    case ElasticityKernel::automatic:
      return "automatic";
    case ElasticityKernel::parity:
      return "parity";
    case ElasticityKernel::node_gather:
      return "node_gather";
    case ElasticityKernel::fused_scatter:
      return "fused_scatter";
  }
  return "unknown";
}

ElasticityKernel elasticity_kernel_from_string(std::string const& name) {
  for (auto kernel : {ElasticityKernel::automatic, ElasticityKernel::parity, ElasticityKernel::node_gather,
                      ElasticityKernel::fused_scatter}) {
    if (name == to_string(kernel)) return kernel;
  }
  throw InputError("kernel '" + name + "' is unknown; known are automatic, parity, node_gather and fused_scatter");
}

ElasticityKernel select_elasticity_kernel(ElasticityKernel requested, Hex8Matrix const& stiffness) {
  if (requested == ElasticityKernel::automatic) {
    return has_parity_form(stiffness) ? ElasticityKernel::parity : ElasticityKernel::node_gather;
  }
  BRICKWORK_REQUIRE(
      requested != ElasticityKernel::parity || has_parity_form(stiffness),
      "kernel parity cannot run: the element matrix is not that of a box-shaped cell with a material aligned "
      "with the axes; node_gather takes any matrix");
  return requested;
}

}  // namespace brickwork
