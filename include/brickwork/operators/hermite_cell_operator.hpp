// SPDX-License-Identifier: BSD-3-Clause
// A Hermite form on every cell of a level, cell-wise: w_K = A u_K with one element matrix A.
//
// Reads and writes 4^Dim values per cell (1024 bytes for Dim = 3). Cells do not meet: the result is a dual vector,
// which DirectStiffnessSummation or scatter() assembles. Nothing is masked: edge data are read, and the unmasked
// residual is what the coarser level needs (clear_fixed() masks). Source: "Matrix-Free Local Multigrid for Hermite
// Discretizations on GPUs", section 4.
#pragma once

#include <memory>

#include "brickwork/fem/hermite.hpp"
#include "brickwork/operators/hermite_cells.hpp"
#include "brickwork/operators/hermite_evaluation.hpp"

namespace brickwork {

namespace detail {
template <class ExecutionSpace, int Dim>
class HermiteCellBody;
}

template <class ExecutionSpace, int Dim>
class HermiteCellOperator {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using primal_type = CellPrimal<memory_space, Dim>;
  using dual_type = CellDual<memory_space, Dim>;

  /// \throws InputError as hermite_element() and select_hermite_evaluation()
  HermiteCellOperator(ExecutionSpace const& space, GridLevel<memory_space, Dim> const& level, HermiteForm const& form,
                      HermiteEvaluation evaluation = HermiteEvaluation::automatic);

  /// w = A u. \throws InputError for extents that do not fit
  void apply(ExecutionSpace const& space, primal_type const& u, dual_type const& w) const;
  /// w = f - A u; f and w may be the same.
  void residual(ExecutionSpace const& space, primal_type const& u, dual_type const& f, dual_type const& w) const;

  HermiteEvaluation evaluation() const { return evaluation_; }
  index_t cells() const { return cells_; }
  /// The element matrix, row-major.
  std::vector<double> const& element() const { return element_; }

 private:
  HermiteEvaluation evaluation_;
  index_t cells_;
  std::vector<double> element_;
  std::shared_ptr<detail::HermiteCellBody<ExecutionSpace, Dim> const> body_;
};

}  // namespace brickwork
