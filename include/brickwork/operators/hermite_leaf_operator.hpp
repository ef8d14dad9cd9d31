// SPDX-License-Identifier: BSD-3-Clause
// The Hermite operator of an adaptive grid in cell-wise storage: the integral over all leaves, primal to dual, in any
// evaluation of HermiteCellOperator. HermiteOperator is its counterpart in vertex-wise storage, an eighth of the bytes.
//
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 3.3 and 4.
#pragma once

#include "brickwork/operators/hermite_boundary.hpp"
#include "brickwork/operators/hermite_cell_operator.hpp"
#include "brickwork/operators/hermite_leaf_vector.hpp"

namespace brickwork {

template <class ExecutionSpace, int Dim>
class HermiteLeafOperator {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using grid_type = AdaptiveGrid<ExecutionSpace, Dim>;
  using primal_type = LeafPrimal<memory_space, Dim>;
  using dual_type = LeafDual<memory_space, Dim>;

  /// \throws InputError for a bad form or an evaluation that cannot run here; OutOfMemory
  HermiteLeafOperator(ExecutionSpace const& space, grid_type const& grid, HermiteForm const& form,
                      HermiteBoundary<Dim> const& boundary,
                      HermiteEvaluation evaluation = HermiteEvaluation::automatic);

  grid_type const& grid() const { return grid_; }
  HermiteForm const& form() const { return form_; }
  HermiteBoundary<Dim> const& boundary() const { return boundary_; }
  HermiteEvaluation evaluation() const { return levels_.front().evaluation(); }
  /// On all cells of a level, refined ones too.
  HermiteCellOperator<ExecutionSpace, Dim> const& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }

  /// y = A x on the leaves, 0 on refined cells. \throws InputError for vectors of another grid
  void apply(ExecutionSpace const& space, primal_type const& x, dual_type const& y) const;

  /// Sets what is not of a leaf to zero. Entries of fixed unknowns may stay: no correction meets them.
  void constrain(ExecutionSpace const& space, dual_type const& b) const;

  /// Nothing: copies of an unknown differ by rounding at most, and collect() prescribes what coarser leaves do.
  void prescribe(ExecutionSpace const&, primal_type const&) const {}

  /// From vertex-wise storage: the same functional. Each entry goes to the first leaf around its vertex.
  /// \throws InputError for vectors of another grid
  void distribute(ExecutionSpace const& space, HermiteDual<double, memory_space, Dim> const& vertices,
                  dual_type const& cells) const;
  /// From vertex-wise storage: the same field, a copy of each unknown per cell.
  void distribute(ExecutionSpace const& space, HermitePrimal<double, memory_space, Dim> const& vertices,
                  primal_type const& cells) const;
  /// To vertex-wise storage: of each unknown the copy in the first leaf around its vertex, or what a coarser leaf
  /// prescribes; vertices without leaves are left alone.
  void collect(ExecutionSpace const& space, primal_type const& cells,
               HermitePrimal<double, memory_space, Dim> const& vertices) const;

 private:
  grid_type grid_;
  HermiteForm form_;
  HermiteBoundary<Dim> boundary_;
  std::vector<HermiteCellOperator<ExecutionSpace, Dim>> levels_;
};

}  // namespace brickwork
