// SPDX-License-Identifier: BSD-3-Clause
// Cell-wise vectors of Hermite fields on an adaptive grid: the HermiteCells of every level that has leaves.
//
// The leaves carry the vector; refined cells among them have no meaning in a primal vector and are zero in a dual one.
// So the plain dot product of the two is the functional's value, as it is with HermiteVector.
#pragma once

#include <vector>

#include "brickwork/operators/hermite_cells.hpp"

namespace brickwork {

template <VectorKind kind, class MemorySpace, int Dim>
class HermiteLeafVector {
 public:
  using level_type = HermiteCells<kind, CellLayout::blocked, MemorySpace, Dim>;
  using values_type = typename level_type::values_type;

  HermiteLeafVector() = default;

  /// Zero on every level that has leaves; levels without leaves have no cells. \throws OutOfMemory
  template <class ExecutionSpace>
  HermiteLeafVector(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                    std::string const& label) {
    values_ = allocate<values_type>(space, label, count(grid));
    index_t offset = 0;
    for (int l = 0; l < grid.level_count(); ++l) {
      index_t const cells = cell_count(grid.level(l)), extent = level_type::extent(cells);
      levels_.emplace_back(values_type(Kokkos::subview(values_, std::make_pair(offset, offset + extent))), cells);
      offset += extent;
    }
  }

  /// Values of a vector on this grid.
  template <class ExecutionSpace>
  static index_t count(AdaptiveGrid<ExecutionSpace, Dim> const& grid) {
    index_t total = 0;
    for (int l = 0; l < grid.level_count(); ++l) total += level_type::extent(cell_count(grid.level(l)));
    return total;
  }

  level_type const& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  int level_count() const { return static_cast<int>(levels_.size()); }
  /// Every value of every level, for vector kernels; those that fill up blocks stay zero.
  values_type const& values() const { return values_; }
  index_t size() const { return static_cast<index_t>(values_.extent(0)); }

 private:
  static index_t cell_count(GridLevel<MemorySpace, Dim> const& level) {
    return level.leaf_count > 0 ? level.cell_count : 0;
  }

  values_type values_;
  std::vector<level_type> levels_;
};

template <class MemorySpace, int Dim>
using LeafPrimal = HermiteLeafVector<VectorKind::primal, MemorySpace, Dim>;
template <class MemorySpace, int Dim>
using LeafDual = HermiteLeafVector<VectorKind::dual, MemorySpace, Dim>;

}  // namespace brickwork
