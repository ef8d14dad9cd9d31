// SPDX-License-Identifier: BSD-3-Clause
// Transfers of cell-wise Hermite vectors between a level of an adaptive grid and the next finer one.
//
// A child's cubic is its parent's on an eighth (a quarter) of it, so that prolongation maps the 4^Dim values of a cell
// to those of each child, axis by axis: half h of (u0, u0', u1, u1'), derivatives in reference coordinates, is
//   h = 0: (u0, u0'/2, u, u'),  h = 1: (u, u', u1, u1'/2),
//   u = (u0 + u1) / 2 + (u0' - u1') / 8,  u' = 3/4 (u1 - u0) - (u0' + u1') / 8.
// Restriction is the transpose: what the children of a cell contribute to a functional, as one contribution of the
// cell. No cell meets another, so that nothing is assembled in between.
// Traffic per child for Dim = 3: prolongation 512 bytes read of the parent, 1024 of the child; restriction 512 of the
// child, up to 1024 of the parent.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 2.2 and 3.1.
#pragma once

#include "brickwork/operators/hermite_cells.hpp"

namespace brickwork {

template <class ExecutionSpace, int Dim>
class HermiteCellTransfer {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using level_type = GridLevel<memory_space, Dim>;
  /// Of every coarse cell its children, -1 where there are none; extent 0 where both levels are boxes.
  using children_type = Kokkos::View<index_t * [1 << Dim], Kokkos::LayoutLeft, memory_space>;

  /// \throws OutOfMemory
  HermiteCellTransfer(ExecutionSpace const& space, level_type const& coarse, level_type const& fine);

  /// u += P coarse. \throws InputError for extents that do not fit
  void prolongate(ExecutionSpace const& space, CellPrimal<memory_space, Dim> const& coarse,
                  CellPrimal<memory_space, Dim> const& u) const;

  /// b = P^T r on refined cells; leaves of the coarse level keep their b.
  void restrict_to(ExecutionSpace const& space, CellDual<memory_space, Dim> const& r,
                   CellDual<memory_space, Dim> const& b) const;

  /// Bytes of the tables between two levels.
  static index_t bytes(level_type const& coarse, level_type const& fine);

 private:
  level_type coarse_, fine_;
  children_type children_;
};

}  // namespace brickwork
