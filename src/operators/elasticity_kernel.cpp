// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/elasticity_kernel.hpp"

#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"

namespace brickwork {

namespace {

std::pair<ElasticityKernel, char const*> const names[] = {
    {ElasticityKernel::automatic, "automatic"},
    {ElasticityKernel::parity, "parity"},
    {ElasticityKernel::node_gather, "node_gather"},
    {ElasticityKernel::fused_scatter, "fused_scatter"},
    {ElasticityKernel::fused_scatter_table, "fused_scatter_table"},
    {ElasticityKernel::three_stage, "three_stage"},
    {ElasticityKernel::assembled, "assembled"},
    {ElasticityKernel::fused_wmma, "fused_wmma"},
    {ElasticityKernel::fused_wmma_exact, "fused_wmma_exact"},
    {ElasticityKernel::fused_wmma_split, "fused_wmma_split"},
    {ElasticityKernel::fused_mma_fp64, "fused_mma_fp64"}};

}  // namespace

std::string to_string(ElasticityKernel kernel) {
  for (auto const& [known, name] : names) {
    if (known == kernel) return name;
  }
  return "unknown";
}

ElasticityKernel elasticity_kernel_from_string(std::string const& name) {
  std::string list;
  for (auto const& [kernel, known] : names) {
    if (name == known) return kernel;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw InputError("kernel '" + name + "' is unknown; known are " + list);
}

std::vector<ElasticityKernel> elasticity_kernels() {
  std::vector<ElasticityKernel> kernels;
  for (auto const& entry : names) {
    if (entry.first != ElasticityKernel::automatic) kernels.push_back(entry.first);
  }
  return kernels;
}

bool rounds_to_bf16(ElasticityKernel kernel) {
  return kernel == ElasticityKernel::fused_wmma || kernel == ElasticityKernel::fused_wmma_exact ||
         kernel == ElasticityKernel::fused_wmma_split;
}

ElasticityKernel select_elasticity_kernel(ElasticityKernel requested, Hex8Matrix const& stiffness, int scalar_bytes) {
  std::string const cannot = "kernel " + to_string(requested) + " cannot run: ";
  switch (requested) {
    case ElasticityKernel::automatic:
      return has_parity_form(stiffness) ? ElasticityKernel::parity : ElasticityKernel::node_gather;
    case ElasticityKernel::parity:
      BRICKWORK_REQUIRE(has_parity_form(stiffness), cannot,
                        "the element matrix is not that of a box-shaped cell with a material aligned with the axes; "
                        "node_gather takes any matrix");
      break;
    case ElasticityKernel::assembled:
      BRICKWORK_REQUIRE(BRICKWORK_HAS_KOKKOS_KERNELS(), cannot, "this build has no Kokkos Kernels");
      break;
    case ElasticityKernel::fused_wmma:
    case ElasticityKernel::fused_wmma_exact:
    case ElasticityKernel::fused_wmma_split:
      BRICKWORK_REQUIRE(scalar_bytes == 4, cannot, "it rounds to BF16 and takes vectors in single precision");
      break;
    case ElasticityKernel::fused_mma_fp64:
      BRICKWORK_REQUIRE(scalar_bytes == 8, cannot, "it takes vectors in double precision");
      break;
    default:
      break;
  }
  return requested;
}

double elasticity_kernel_bytes(ElasticityKernel kernel, BoxGrid const& grid, int scalar_bytes) {
  auto const cells = static_cast<double>(grid.cell_count());
  auto const nodes = static_cast<double>(grid.node_count());
  switch (kernel) {
    case ElasticityKernel::fused_scatter_table:
      return 96 * cells;
    case ElasticityKernel::three_stage:
      return 48.0 * scalar_bytes * cells;
    case ElasticityKernel::assembled:  // at most 81 entries per row, an offset of 8 bytes
      return nodes * 3 * (81.0 * (scalar_bytes + 4) + 8);
    default:
      return 0;
  }
}

}  // namespace brickwork
