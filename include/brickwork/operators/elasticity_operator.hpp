// SPDX-License-Identifier: BSD-3-Clause
// The matrix-free operator of linear elasticity on a box grid, w = K(E) u.
#pragma once

#include <optional>

#include "brickwork/core/fields.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"

namespace brickwork {

/// w = K(E) u with K = sum over cells of E_e K0, on a BoxGrid with trilinear cells.
///
/// Fields are the caller's Views: nodal vectors of extents (nodes, 3), component-major; moduli of extent (cells);
/// constraint bits of extent (nodes). The operator keeps the moduli and constraint Views it is given and allocates
/// nothing but a short list of constrained nodes. With constraints the operator is P K P + (I - P), P zeroing the
/// constrained components: it is symmetric, and a constrained component of w is exactly that of u.
///
/// \tparam ExecutionSpace Kokkos execution space
/// \tparam Scalar float or double
template <class ExecutionSpace, class Scalar>
class ElasticityOperator {
 public:
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  using scalar_type = Scalar;
  using vector_type = NodalVector<Scalar, memory_space>;
  using const_vector_type = NodalVector<Scalar const, memory_space>;
  using cell_field_type = CellField<Scalar const, memory_space>;
  using mask_type = NodeMask<memory_space>;

  /// \param stiffness element matrix for Young's modulus 1 (fem/hex8_stiffness.hpp), unit of length
  /// \throws InputError where `kernel` cannot run on this matrix
  ElasticityOperator(BoxGrid const& grid, Hex8Matrix const& stiffness,
                     ElasticityKernel kernel = ElasticityKernel::automatic);

  BoxGrid const& grid() const { return grid_; }
  ElasticityKernel kernel() const { return kernel_; }
  cell_field_type const& moduli() const { return moduli_; }
  mask_type const& constraints() const { return mask_; }

  /// Young's modulus per cell; the View is kept, and later changes of its values count.
  /// \throws InputError unless its extent is the number of cells
  void set_moduli(cell_field_type const& moduli);

  /// Constraint bits per node (an empty View removes all constraints). Waits for `space`.
  /// \throws InputError unless its extent is the number of nodes
  void set_constraints(ExecutionSpace const& space, mask_type const& mask);

  /// w = K u. Asynchronous on `space`; u and w must not overlap.
  /// \throws InputError for wrong extents or missing moduli
  void apply(ExecutionSpace const& space, const_vector_type const& u, vector_type const& w) const;

  /// Exact diagonal of the operator; 1 on constrained components.
  void diagonal(ExecutionSpace const& space, vector_type const& diagonal) const;

  /// Sum of the moduli of the cells around each node, extent (nodes). The diagonal on free components is this times
  /// diagonal_factors()[d], because a box's stiffness has the same diagonal at each of its corners.
  void nodal_moduli(ExecutionSpace const& space, CellField<Scalar, memory_space> const& sums) const;
  std::array<double, 3> diagonal_factors() const;

  /// energies_e = weight u_e^T K0 u_e (without the modulus), or += with `add`: the quantity that compliance
  /// sensitivities need. Constrained components of u enter with their values. Evaluated in double precision whatever
  /// the operator's is.
  void accumulate_cell_energies(ExecutionSpace const& space, const_vector_type const& u, double weight, bool add,
                                CellField<double, memory_space> const& energies) const;

 private:
  detail::ElasticityData<Scalar> data() const;
  void check_vector(char const* function, char const* name, index_t extent, bool contiguous) const;

  BoxGrid grid_;
  Hex8Matrix stiffness_;
  std::optional<ParityBlocks> blocks_;  // where the element matrix has a parity form
  ElasticityKernel kernel_;
  detail::ElasticityData<Scalar> data_{};
  cell_field_type moduli_;
  mask_type mask_;
  Kokkos::View<index_t*, memory_space> constrained_nodes_;
};

}  // namespace brickwork
