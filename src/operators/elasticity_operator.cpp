// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/elasticity_operator.hpp"

#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_fused_scatter.hpp"
#include "brickwork/operators/detail/elasticity_node_gather.hpp"
#include "brickwork/operators/detail/elasticity_parity_portable.hpp"
#if defined(KOKKOS_ENABLE_CUDA)
#include "brickwork/operators/detail/elasticity_parity_cuda.hpp"
#endif

namespace brickwork {

namespace detail {

template <class Scalar>
struct NodalModuli {
  ElasticityData<Scalar> data;
  Scalar* sums;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    Scalar sum = 0;
    for_cells_around(
        data, node, [&](index_t i, index_t j, index_t k, int) { sum += data.moduli[i + data.nx * (j + data.ny * k)]; });
    sums[node] = sum;
  }
};

template <class Scalar>
struct Diagonal {
  ElasticityData<Scalar> data;
  Scalar* diagonal;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    Scalar sum[3] = {0, 0, 0};
    for_cells_around(data, node, [&](index_t i, index_t j, index_t k, int n) {
      Scalar const modulus = data.moduli[i + data.nx * (j + data.ny * k)];
      for (int d = 0; d < 3; ++d) sum[d] += modulus * data.stiffness[3 * n + d][3 * n + d];
    });
    int const fixed = data.mask ? data.mask[node] : 0;
    for (int d = 0; d < 3; ++d) diagonal[node + d * stride] = ((fixed >> d) & 1) ? Scalar(1) : sum[d];
  }
};

// u_e^T K0 u_e in the even-odd basis: three butterflies and 45 products. The mean displacement drops out exactly; the
// corner values are taken relative to the first, so that a large translation costs no digits in FP32 displacements
// either.
template <class Scalar>
struct CellEnergies {
  ElasticityData<Scalar> data;
  double parity[8][3][3];
  Scalar const* u;
  index_t stride;
  double weight;
  bool add;
  double* energies;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, cell, i, j, k);
    double mode[8][3];
    for (int d = 0; d < 3; ++d) {
      double const first = static_cast<double>(u[CellGather<Scalar>::node(data, i, j, k, 0) + d * stride]);
      for (int n = 0; n < 8; ++n) {
        mode[n][d] = static_cast<double>(u[CellGather<Scalar>::node(data, i, j, k, n) + d * stride]) - first;
      }
      for (int bit = 1; bit < 8; bit *= 2) {
        for (int n = 0; n < 8; ++n) {
          if (n & bit) continue;
          double const low = mode[n][d], high = mode[n | bit][d];
          mode[n][d] = low + high;
          mode[n | bit][d] = low - high;
        }
      }
    }
    double image[8][3];
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) image[s][d] = mode[s][d];
    parity_product(parity, 1.0, image);
    double energy = 0;
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) energy += mode[s][d] * image[s][d];
    energies[cell] = (add ? energies[cell] : 0.0) + weight * energy;
  }
};

// The same by the 24 x 24 matrix, for element matrices without a parity form.
template <class Scalar>
struct CellEnergiesDense {
  ElasticityData<Scalar> data;
  Scalar const* u;
  index_t stride;
  double weight;
  bool add;
  double* energies;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, cell, i, j, k);
    double in[24];
    for (int m = 0; m < 8; ++m) {
      index_t const node = CellGather<Scalar>::node(data, i, j, k, m);
      for (int b = 0; b < 3; ++b) in[3 * m + b] = static_cast<double>(u[node + b * stride]) - (m > 0 ? in[b] : 0.0);
    }
    for (int b = 0; b < 3; ++b) in[b] = 0;
    double energy = 0;
    for (int row = 3; row < 24; ++row) {
      double sum = 0;
      for (int col = 3; col < 24; ++col) sum += static_cast<double>(data.stiffness[row][col]) * in[col];
      energy += in[row] * sum;
    }
    energies[cell] = (add ? energies[cell] : 0.0) + weight * energy;
  }
};

// Restores w = u on constrained components.
template <class Scalar>
struct CopyConstrained {
  ElasticityData<Scalar> data;
  index_t const* nodes;
  Scalar const* u;
  Scalar* w;
  index_t stride_u;
  index_t stride_w;
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const node = nodes[index];
    int const fixed = data.mask[node];
    for (int d = 0; d < 3; ++d) {
      if ((fixed >> d) & 1) w[node + d * stride_w] = u[node + d * stride_u];
    }
  }
};

template <class ExecutionSpace, class Scalar, bool Masked>
struct ParityDispatch {
  static void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Scalar const* u, Scalar* w,
                    index_t stride_u, index_t stride_w) {
    apply_parity_portable<ExecutionSpace, Scalar, Masked>(space, data, u, w, stride_u, stride_w);
  }
};

#if defined(KOKKOS_ENABLE_CUDA)
template <class Scalar, bool Masked>
struct ParityDispatch<Kokkos::Cuda, Scalar, Masked> {
  static void apply(Kokkos::Cuda const& space, ElasticityData<Scalar> const& data, Scalar const* u, Scalar* w,
                    index_t stride_u, index_t stride_w) {
    if (parity_cuda_supports(data)) {
      apply_parity_cuda<Scalar, Masked>(space, data, u, w, stride_u, stride_w);
    } else {  // a node plane beyond 32-bit offsets
      apply_parity_portable<Kokkos::Cuda, Scalar, Masked>(space, data, u, w, stride_u, stride_w);
    }
  }
};
#endif

template <bool Masked, class ExecutionSpace, class Scalar>
void apply_elasticity(ExecutionSpace const& space, ElasticityKernel kernel, ElasticityData<Scalar> const& data,
                      Scalar const* u, Scalar* w, index_t stride_u, index_t stride_w) {
  if (kernel == ElasticityKernel::parity) {
    ParityDispatch<ExecutionSpace, Scalar, Masked>::apply(space, data, u, w, stride_u, stride_w);
  } else if (kernel == ElasticityKernel::node_gather) {
    Kokkos::parallel_for("brickwork::ElasticityOperator::apply::node_gather", range(space, data.mx * data.my * data.mz),
                         ElasticityNodeGather<Scalar, Masked>{data, u, w, stride_u, stride_w});
  } else {
    Kokkos::parallel_for("brickwork::ElasticityOperator::apply::fused_scatter",
                         range(space, data.nx * data.ny * data.nz),
                         ElasticityFusedScatter<Scalar, Masked>{data, u, w, stride_u, stride_w});
  }
}

}  // namespace detail

template <class ExecutionSpace, class Scalar>
ElasticityOperator<ExecutionSpace, Scalar>::ElasticityOperator(BoxGrid const& grid, Hex8Matrix const& stiffness,
                                                               ElasticityKernel kernel)
    : grid_(grid), stiffness_(stiffness), kernel_(select_elasticity_kernel(kernel, stiffness)) {
  if (has_parity_form(stiffness)) blocks_ = parity_blocks(stiffness);
  data_ = detail::elasticity_data<Scalar>(grid, stiffness, blocks_ ? *blocks_ : ParityBlocks{});
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::check_vector(char const* function, char const* name, index_t extent,
                                                              bool contiguous) const {
  BRICKWORK_REQUIRE(extent == grid_.node_count(), "ElasticityOperator::", function, ": ", name, " has ", extent,
                    " nodes; the grid has ", grid_.node_count());
  BRICKWORK_REQUIRE(contiguous, "ElasticityOperator::", function, ": ", name,
                    " is a strided View; consecutive nodes must be consecutive in memory");
}

template <class ExecutionSpace, class Scalar>
detail::ElasticityData<Scalar> ElasticityOperator<ExecutionSpace, Scalar>::data() const {
  BRICKWORK_REQUIRE(moduli_.data() != nullptr, "ElasticityOperator: set_moduli() comes first");
  detail::ElasticityData<Scalar> data = data_;
  data.moduli = moduli_.data();
  data.mask = constrained_nodes_.extent(0) > 0 ? mask_.data() : nullptr;
  return data;
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::set_moduli(cell_field_type const& moduli) {
  BRICKWORK_REQUIRE(static_cast<index_t>(moduli.extent(0)) == grid_.cell_count(),
                    "ElasticityOperator::set_moduli: ", moduli.extent(0), " moduli; the grid has ", grid_.cell_count(),
                    " cells");
  moduli_ = moduli;
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::set_constraints(ExecutionSpace const& space, mask_type const& mask) {
  mask_ = mask;
  constrained_nodes_ = {};
  if (mask.extent(0) == 0) return;
  BRICKWORK_REQUIRE(static_cast<index_t>(mask.extent(0)) == grid_.node_count(),
                    "ElasticityOperator::set_constraints: ", mask.extent(0), " mask entries; the grid has ",
                    grid_.node_count(), " nodes");
  fence(space, "brickwork::ElasticityOperator::set_constraints::mask");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, mask);
  std::vector<index_t> nodes;
  for (index_t node = 0; node < grid_.node_count(); ++node) {
    if (host(node) != 0) nodes.push_back(node);
  }
  constrained_nodes_ =
      upload<Kokkos::View<index_t*, memory_space>>(nodes, "brickwork::ElasticityOperator::constrained_nodes");
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply(ExecutionSpace const& space, const_vector_type const& u,
                                                       vector_type const& w) const {
  check_vector("apply", "u", static_cast<index_t>(u.extent(0)), u.stride(0) == 1);
  check_vector("apply", "w", static_cast<index_t>(w.extent(0)), w.stride(0) == 1);
  auto const operands = data();
  auto const stride_u = static_cast<index_t>(u.stride(1));
  auto const stride_w = static_cast<index_t>(w.stride(1));
  if (kernel_ == ElasticityKernel::fused_scatter) Kokkos::deep_copy(space, w, Scalar(0));
  if (operands.mask == nullptr) {
    detail::apply_elasticity<false>(space, kernel_, operands, u.data(), w.data(), stride_u, stride_w);
    return;
  }
  detail::apply_elasticity<true>(space, kernel_, operands, u.data(), w.data(), stride_u, stride_w);
  if (kernel_ == ElasticityKernel::fused_scatter) {
    Kokkos::parallel_for(
        "brickwork::ElasticityOperator::apply::constrained",
        range(space, static_cast<index_t>(constrained_nodes_.extent(0))),
        detail::CopyConstrained<Scalar>{operands, constrained_nodes_.data(), u.data(), w.data(), stride_u, stride_w});
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::diagonal(ExecutionSpace const& space,
                                                          vector_type const& diagonal) const {
  check_vector("diagonal", "diagonal", static_cast<index_t>(diagonal.extent(0)), diagonal.stride(0) == 1);
  Kokkos::parallel_for("brickwork::ElasticityOperator::diagonal", range(space, grid_.node_count()),
                       detail::Diagonal<Scalar>{data(), diagonal.data(), static_cast<index_t>(diagonal.stride(1))});
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::nodal_moduli(ExecutionSpace const& space,
                                                              CellField<Scalar, memory_space> const& sums) const {
  check_vector("nodal_moduli", "sums", static_cast<index_t>(sums.extent(0)), true);
  Kokkos::parallel_for("brickwork::ElasticityOperator::nodal_moduli", range(space, grid_.node_count()),
                       detail::NodalModuli<Scalar>{data(), sums.data()});
}

template <class ExecutionSpace, class Scalar>
std::array<double, 3> ElasticityOperator<ExecutionSpace, Scalar>::diagonal_factors() const {
  return {stiffness_[0][0], stiffness_[1][1], stiffness_[2][2]};
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::accumulate_cell_energies(
    ExecutionSpace const& space, const_vector_type const& u, double weight, bool add,
    CellField<double, memory_space> const& energies) const {
  check_vector("accumulate_cell_energies", "u", static_cast<index_t>(u.extent(0)), u.stride(0) == 1);
  BRICKWORK_REQUIRE(static_cast<index_t>(energies.extent(0)) == grid_.cell_count(),
                    "ElasticityOperator::accumulate_cell_energies: ", energies.extent(0), " energies; the grid has ",
                    grid_.cell_count(), " cells");
  auto const stride = static_cast<index_t>(u.stride(1));
  auto const cells = range(space, grid_.cell_count());
  if (!blocks_) {
    Kokkos::parallel_for("brickwork::ElasticityOperator::cell_energies::dense", cells,
                         detail::CellEnergiesDense<Scalar>{data(), u.data(), stride, weight, add, energies.data()});
    return;
  }
  detail::CellEnergies<Scalar> kernel;
  kernel.data = data();
  detail::copy_blocks(*blocks_, kernel.parity);
  kernel.u = u.data();
  kernel.stride = stride;
  kernel.weight = weight;
  kernel.add = add;
  kernel.energies = energies.data();
  Kokkos::parallel_for("brickwork::ElasticityOperator::cell_energies", cells, kernel);
}

#define BRICKWORK_INSTANTIATE(SPACE)               \
  template class ElasticityOperator<SPACE, float>; \
  template class ElasticityOperator<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
