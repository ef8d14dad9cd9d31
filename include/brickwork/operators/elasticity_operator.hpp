// SPDX-License-Identifier: BSD-3-Clause
// The matrix-free operator of linear elasticity on a box grid, w = K(E) u.
#pragma once

#include <memory>
#include <optional>

#include "brickwork/core/fields.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"

namespace brickwork {

/// w = K(E) u with K = sum over cells of E_e K0, on a BoxGrid with trilinear cells.
///
/// Fields are the caller's Views: nodal vectors of extents (nodes, 3), component-major; moduli of extent (cells);
/// constraint bits of extent (nodes). The operator keeps the moduli and constraint Views it is given; beside them it
/// owns a list of the constrained nodes and what its kernel keeps (elasticity_kernel_bytes()). With constraints the
/// operator is P K P + (I - P), P zeroing the constrained components: it is symmetric, and a constrained component of w
/// is exactly that of u.
///
/// Beside the product there are fused forms, for multigrid and Krylov methods. With the kernel `parity` each is one
/// pass over memory and its sums are bitwise repeatable; other kernels take a second pass, and the results agree to
/// rounding. Sums use a workspace of the operator: two of them may not be in flight on different instances at once.
/// Copies of an operator share its kernel's storage.
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
  /// Several right-hand sides: extents (nodes, 3, sides), component-major within a side.
  using block_type = Kokkos::View<Scalar***, Kokkos::LayoutLeft, memory_space>;
  using const_block_type = Kokkos::View<Scalar const***, Kokkos::LayoutLeft, memory_space>;
  using double_vector_type = NodalVector<double, memory_space>;
  using const_double_vector_type = NodalVector<double const, memory_space>;
  using sum_type = Kokkos::View<double, memory_space>;
  using sums_type = Kokkos::View<double*, memory_space>;

  /// \param stiffness element matrix for Young's modulus 1 (fem/hex8_stiffness.hpp), unit of length
  /// \throws InputError where `kernel` cannot run on this matrix, in this precision or in this build
  /// \throws OutOfMemory where what the kernel keeps does not fit
  ElasticityOperator(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                     ElasticityKernel kernel = ElasticityKernel::automatic);

  BoxGrid const& grid() const { return grid_; }
  ElasticityKernel kernel() const { return kernel_; }
  Hex8Matrix const& stiffness() const { return stiffness_; }
  cell_field_type const& moduli() const { return moduli_; }
  mask_type const& constraints() const { return mask_; }
  /// The nodes with a constrained component, ascending.
  Kokkos::View<index_t const*, memory_space> constrained_nodes() const { return constrained_nodes_; }

  /// Young's modulus per cell; the View is kept, and later changes of its values count (with the kernel `assembled`
  /// from the next update() on). \throws InputError unless its extent is the number of cells
  void set_moduli(cell_field_type const& moduli);

  /// Constraint bits per node (an empty View removes all constraints). Waits for `space`.
  /// \throws InputError unless its extent is the number of nodes
  void set_constraints(ExecutionSpace const& space, mask_type const& mask);

  /// Tells that moduli or constraints changed. Only the kernel `assembled` needs it (it builds its matrix here); for
  /// the others it does nothing. Asynchronous. \throws InputError for missing moduli
  void update(ExecutionSpace const& space);

  /// w = K u. Asynchronous on `space`; u and w must not overlap.
  /// \throws InputError for wrong extents, missing moduli, or a matrix that update() has not built yet
  void apply(ExecutionSpace const& space, const_vector_type const& u, vector_type const& w) const;

  /// The same for several right-hand sides, which share one read of the moduli.
  void apply(ExecutionSpace const& space, const_block_type const& u, block_type const& w) const;

  /// w = K u with vectors in FP64 and the product in FP32. `parity` forms the differences of a cell's displacements
  /// relative to a value nearby, so that a large translation costs no digits: the error is that of FP32 for the
  /// variation of u over a tile of some tens of cells. Only for Scalar = float and the kernel `parity`.
  /// \throws InputError for another kernel or precision
  void apply_mixed(ExecutionSpace const& space, const_double_vector_type const& u, double_vector_type const& w) const;

  /// w = K u and dot = u . w (of the constrained operator), on the device.
  void apply_dot(ExecutionSpace const& space, const_vector_type const& u, vector_type const& w,
                 sum_type const& dot) const;
  void apply_dot(ExecutionSpace const& space, const_block_type const& u, block_type const& w,
                 sums_type const& dots) const;

  /// r = f - K u; and squared_norm = r . r on the device. No two of f, u and r may overlap, but r may be f with the
  /// kernel `parity`.
  void residual(ExecutionSpace const& space, const_vector_type const& f, const_vector_type const& u,
                vector_type const& r) const;
  void residual(ExecutionSpace const& space, const_vector_type const& f, const_vector_type const& u,
                vector_type const& r, sum_type const& squared_norm) const;

  /// r = f - K u in FP64 with the product in FP32: see apply_mixed().
  void residual_mixed(ExecutionSpace const& space, const_double_vector_type const& f, const_double_vector_type const& u,
                      double_vector_type const& r, sum_type const& squared_norm) const;

  /// One step of a Jacobi or Chebyshev iteration on K u = f, in three-term form:
  ///   result = s u + a old + b D^-1 (f - K u),
  /// with D the diagonal on free components; constrained components of the result are those of u. With a = 0 old is not
  /// read, so that it may be empty or hold anything.
  /// \param inverse extent (nodes): 1 / nodal_moduli(), so that one value per node serves three components
  /// \param result  may be old with the kernel `parity`; never u
  /// \throws InputError for wrong extents, missing moduli, or a result that must not be written
  void relax(ExecutionSpace const& space, const_vector_type const& f, const_vector_type const& u,
             cell_field_type const& inverse, Scalar s, Scalar a, const_vector_type const& old, Scalar b,
             vector_type const& result) const;

  /// Exact diagonal of the operator; 1 on constrained components.
  void diagonal(ExecutionSpace const& space, vector_type const& diagonal) const;

  /// Sum of the moduli of the cells around each node, extent (nodes). The diagonal on free components is this times
  /// diagonal_factors()[d], because a box's stiffness has the same diagonal at each of its corners.
  void nodal_moduli(ExecutionSpace const& space, CellField<Scalar, memory_space> const& sums) const;
  std::array<double, 3> diagonal_factors() const;

  /// energies_e = weight u_e^T K0 u_e (without the modulus), or += with `add`: the quantity that compliance
  /// sensitivities need. Constrained components of u enter with their values. Evaluated in double precision whatever
  /// the operator's is.
  /// \tparam Real float or double
  template <class Real>
  void accumulate_cell_energies(ExecutionSpace const& space, const_vector_type const& u, double weight, bool add,
                                CellField<Real, memory_space> const& energies) const;

 private:
  detail::ElasticityData<Scalar> data() const;
  void check_vector(char const* function, char const* name, index_t extent, bool contiguous) const;
  template <class ViewType>
  index_t stride_of(char const* function, char const* name, ViewType const& view) const;
  detail::StoreProduct<Scalar> product(char const* function, const_block_type const& u, block_type const& w) const;
  detail::MixedElasticity<ExecutionSpace> const& mixed(char const* function) const;
  void apply_dot_sides(ExecutionSpace const& space, detail::StoreProductDot<Scalar> const& all, index_t sides,
                       double* sums) const;
  template <bool Norm>
  void residual_form(ExecutionSpace const& space, const_vector_type const& f, const_vector_type const& u,
                     vector_type const& r, double* squared_norm) const;
  template <bool First>
  void relax_form(ExecutionSpace const& space, const_vector_type const& f, const_vector_type const& u,
                  cell_field_type const& inverse, Scalar s, Scalar a, const_vector_type const& old, Scalar b,
                  vector_type const& result) const;

  BoxGrid grid_;
  Hex8Matrix stiffness_;
  std::optional<ParityBlocks> blocks_;  // where the element matrix has a parity form
  ElasticityKernel kernel_;
  std::shared_ptr<detail::ElasticityBody<ExecutionSpace, Scalar>> body_;
  detail::ElasticityData<Scalar> data_{};
  cell_field_type moduli_;
  mask_type mask_;
  Kokkos::View<index_t*, memory_space> constrained_nodes_;
};

}  // namespace brickwork
