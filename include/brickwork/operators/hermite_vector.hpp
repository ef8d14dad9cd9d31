// SPDX-License-Identifier: BSD-3-Clause
// Vectors of Hermite fields on an adaptive grid, one copy of each unknown per vertex and level.
//
// A primal vector holds a C1 field: on every vertex of a leaf the value and the derivatives (unknown m of hermite.hpp)
// with respect to the reference coordinates of that level, also where a coarser neighbour or the boundary prescribes
// them. A dual vector holds what the leaves of each level contribute to a functional, tested with the basis functions
// of that level; nothing of it has been carried to the coarser neighbours. So the plain dot product of a dual and a
// primal vector is the functional's value, and an operator maps primal to dual level by level. The two are types of
// their own: adding one to the other does not compile.
#pragma once

#include "brickwork/mesh/adaptive_grid.hpp"

namespace brickwork {

enum class VectorKind { primal, dual };

template <VectorKind kind, class Scalar, class MemorySpace, int Dim>
class HermiteVector {
 public:
  static constexpr int unknowns = 1 << Dim;  ///< per vertex
  /// One level, extents (vertices, unknowns); consecutive vertices are consecutive in memory.
  using level_type = Kokkos::View<Scalar* [unknowns], Kokkos::LayoutLeft, MemorySpace, Kokkos::MemoryUnmanaged>;
  using values_type = Kokkos::View<Scalar*, Kokkos::LayoutLeft, MemorySpace>;

  HermiteVector() = default;

  /// Zero on every level that has leaves; levels without leaves have extent 0.
  /// \throws OutOfMemory
  template <class ExecutionSpace>
  HermiteVector(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, std::string const& label) {
    values_ = allocate<values_type>(space, label, count(grid));
    index_t offset = 0;
    for (int l = 0; l < grid.level_count(); ++l) {
      index_t const vertices = extent(grid.level(l));
      levels_.push_back(level_type(values_.data() + offset, static_cast<std::size_t>(vertices)));
      offset += vertices * unknowns;
    }
  }

  /// Values of a vector on this grid.
  template <class ExecutionSpace>
  static index_t count(AdaptiveGrid<ExecutionSpace, Dim> const& grid) {
    index_t total = 0;
    for (int l = 0; l < grid.level_count(); ++l) total += extent(grid.level(l)) * unknowns;
    return total;
  }

  level_type const& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  int level_count() const { return static_cast<int>(levels_.size()); }
  /// Every value of every level, for vector kernels.
  values_type const& values() const { return values_; }
  index_t size() const { return static_cast<index_t>(values_.extent(0)); }

 private:
  static index_t extent(GridLevel<MemorySpace, Dim> const& level) {
    return level.leaf_count > 0 ? level.vertex_count : 0;
  }

  values_type values_;
  std::vector<level_type> levels_;
};

namespace detail {
/// Term i of a dot product, for sum_each<1>().
template <class A, class B>
struct PairProduct {
  A const* a;
  B const* b;
  KOKKOS_FUNCTION void operator()(index_t i, double* sum) const {
    *sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
};
}  // namespace detail

template <class Scalar, class MemorySpace, int Dim>
using HermitePrimal = HermiteVector<VectorKind::primal, Scalar, MemorySpace, Dim>;

template <class Scalar, class MemorySpace, int Dim>
using HermiteDual = HermiteVector<VectorKind::dual, Scalar, MemorySpace, Dim>;

}  // namespace brickwork
