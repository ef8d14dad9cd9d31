// SPDX-License-Identifier: BSD-3-Clause
// A second element matrix per cell: w += sum over cells of E1_e K1 u, beside an ElasticityOperator's sum of E_e K0.
//
// Where the element matrices of a grid are combinations of two, K_e = E_e K0 + E1_e K1 (isotropic materials of several
// Poisson's ratios: fem/material.hpp, IsotropicSplit), the product is that of an ElasticityOperator and, added to it in
// place, this one. The second moduli may be negative; only the sum has to be positive.
//
// It is one pass of the kernel `parity` over u, w and the second moduli, as residual w - (-K1) u: per cell 40 bytes in
// FP32 (u 12, w read and written 24, modulus 4), 80 in FP64, no atomics, bitwise repeatable.
#pragma once

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/sums.hpp"
#include "brickwork/operators/elasticity_operator.hpp"

namespace brickwork {

namespace detail {

/// to = from on the constrained components of the listed nodes.
template <class Scalar>
struct RestoreConstrained {
  index_t const* nodes;
  std::uint8_t const* mask;
  Scalar const* from;
  Scalar* to;
  index_t stride_from, stride_to;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    index_t const node = nodes[i];
    for (int d = 0; d < 3; ++d)
      if ((mask[node] >> d) & 1) to[node + d * stride_to] = from[node + d * stride_from];
  }
};

/// u . w, of products formed in the vectors' precision
template <class Scalar>
struct ProductDot {
  Scalar const *u, *w;
  index_t stride_u, stride_w;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    Scalar part = 0;
    for (int d = 0; d < 3; ++d) part += u[node + d * stride_u] * w[node + d * stride_w];
    sums[0] += static_cast<double>(part);
  }
};

inline Hex8Matrix negated(Hex8Matrix matrix) {
  for (auto& row : matrix)
    for (double& entry : row) entry = -entry;
  return matrix;
}

}  // namespace detail

/// \tparam Scalar float or double
template <class ExecutionSpace, class Scalar>
class AddedStiffness {
 public:
  using operator_type = ElasticityOperator<ExecutionSpace, Scalar>;
  using vector_type = typename operator_type::vector_type;
  using const_vector_type = typename operator_type::const_vector_type;
  using cell_field_type = typename operator_type::cell_field_type;
  using sum_type = typename operator_type::sum_type;

  /// \param stiffness K1, the element matrix for a second modulus of 1
  /// \throws InputError for a matrix without parity form
  AddedStiffness(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness)
      : negated_(space, grid, detail::negated(stiffness), ElasticityKernel::parity), workspace_(space) {}

  /// The second modulus of every cell; the View is kept, and later changes of its values count.
  void set_moduli(cell_field_type const& moduli) { negated_.set_moduli(moduli); }
  /// As those of the operator that this is added to: constrained components of w become those of u.
  void set_constraints(ExecutionSpace const& space, NodeMask<typename ExecutionSpace::memory_space> const& mask) {
    negated_.set_constraints(space, mask);
  }

  /// w += K1 u. Asynchronous; u and w must not overlap. \throws InputError for wrong extents or missing moduli
  void add(ExecutionSpace const& space, const_vector_type const& u, vector_type const& w) const {
    negated_.residual(space, w, u, w);
    auto const nodes = negated_.constrained_nodes();
    if (nodes.extent(0) == 0) return;
    for_each("brickwork::AddedStiffness::add::constrained", space, static_cast<index_t>(nodes.extent(0)),
             detail::RestoreConstrained<Scalar>{nodes.data(), negated_.constraints().data(), u.data(), w.data(),
                                                static_cast<index_t>(u.stride(1)), static_cast<index_t>(w.stride(1))});
  }

  /// The same, and dot = u . w of the whole product, on the device.
  void add_dot(ExecutionSpace const& space, const_vector_type const& u, vector_type const& w,
               sum_type const& dot) const {
    add(space, u, w);
    sum_each<1>("brickwork::AddedStiffness::add_dot", space, negated_.grid().node_count(),
                detail::ProductDot<Scalar>{u.data(), w.data(), static_cast<index_t>(u.stride(1)),
                                           static_cast<index_t>(w.stride(1))},
                workspace_, StoreSums<1>{dot.data()});
  }

 private:
  operator_type negated_;
  SumWorkspace<ExecutionSpace> workspace_;
};

}  // namespace brickwork
