// SPDX-License-Identifier: BSD-3-Clause
// Local multigrid for Hermite operators on adaptive grids in cell-wise storage: one V-cycle, in FP64.
//
// The cycle of HermiteMultigrid, with the source's vectors: 4^Dim values per cell, in any evaluation of the element.
// Residuals are never assembled: a level's is restricted cell by cell, and the contributions of the children stand in
// their parent where a leaf has its own. What boundary and coarser neighbours prescribe is masked in the smoother and
// set by prolongation, on both trace layers.
//
// Vertex patches need vectors of contiguous cells: the right-hand side and the correction are copied before the sweeps,
// the correction after them.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", Algorithms 1 and 2 and section 5.
#pragma once

#include "brickwork/operators/hermite_cell_transfer.hpp"
#include "brickwork/operators/hermite_leaf_operator.hpp"
#include "brickwork/solvers/hermite_cell_smoother.hpp"
#include "brickwork/solvers/hermite_cycle.hpp"

namespace brickwork {

template <class ExecutionSpace, int Dim>
class HermiteCellMultigrid {
 public:
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  using scalar_type = double;
  using operator_type = HermiteLeafOperator<ExecutionSpace, Dim>;
  using primal_type = typename operator_type::primal_type;
  using dual_type = typename operator_type::dual_type;

  /// \throws InputError for bad options, an operator without free unknowns, or vertex patches with a boundary that is
  /// not clamped (a patch has all its cells); OutOfMemory
  HermiteCellMultigrid(ExecutionSpace const& space, operator_type const& a, HermiteCycleOptions const& options);

  /// Bytes of a multigrid's vectors on this grid, before it is made.
  static index_t bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid, HermiteCycleOptions const& options);

  /// One V-cycle from zero: the result is correction(). Asynchronous on `space`. \param r  zero on refined cells
  void apply(ExecutionSpace const& space, dual_type const& r) const;
  /// Element kernels carry their coefficients, too many for the arguments that a record holds.
  static constexpr bool recordable = false;

  primal_type const& correction() const { return correction_; }
  /// Between level l and l + 1.
  HermiteCellTransfer<ExecutionSpace, Dim> const& transfer(int l) const {
    return transfers_[static_cast<std::size_t>(l)];
  }
  int coarsest_level() const { return coarsest_; }
  HermiteCycleOptions const& options() const { return options_; }

  /// Corrections in FP64 are C1: nothing to do.
  void prescribe(ExecutionSpace const&, primal_type const&) const {}
  void condense(ExecutionSpace const&, dual_type const&) const {}

 private:
  using cells_primal = CellPrimal<memory_space, Dim>;
  using cells_dual = CellDual<memory_space, Dim>;
  using patch_type = HermitePatchSmoother<ExecutionSpace, Dim>;
  struct Level {
    cells_primal u;
    cells_dual b, t;  ///< right-hand side (without cells: the finest level's is the caller's), residual
    std::unique_ptr<HermiteCellChebyshev<ExecutionSpace, Dim>> chebyshev;
    std::unique_ptr<patch_type> patches;
    typename patch_type::primal_type patch_u;  ///< for patches, in memory that all levels share
    typename patch_type::dual_type patch_b;
  };

  void smooth(ExecutionSpace const& space, int l, cells_dual const& b, bool from_zero) const;

  operator_type const* a_;
  HermiteCycleOptions options_;
  int coarsest_ = 0, finest_ = 0;
  primal_type correction_;
  std::vector<Level> levels_;
  std::vector<HermiteCellTransfer<ExecutionSpace, Dim>> transfers_;  // [l]: between l and l + 1
};

}  // namespace brickwork
