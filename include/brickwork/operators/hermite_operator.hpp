// SPDX-License-Identifier: BSD-3-Clause
// The Hermite operator of an adaptive grid in vertex-wise storage: the integral over all leaves, primal to dual.
#pragma once

#include "brickwork/operators/hermite_level.hpp"

namespace brickwork {

/// A of a bilinear form and a boundary condition in FP64.
template <class ExecutionSpace, int Dim>
class HermiteOperator {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using grid_type = AdaptiveGrid<ExecutionSpace, Dim>;
  using sites_type = HermiteSites<ExecutionSpace, Dim>;
  using primal_type = HermitePrimal<double, memory_space, Dim>;
  using dual_type = HermiteDual<double, memory_space, Dim>;

  /// \param coloured  whether vertex-patch sweeps will be asked for (tables of local levels are then listed by colour)
  /// \throws InputError for a bad form; OutOfMemory
  HermiteOperator(ExecutionSpace const& space, grid_type const& grid, HermiteForm const& form,
                  HermiteBoundary<Dim> const& boundary, bool coloured = true);

  grid_type const& grid() const { return grid_; }
  HermiteForm const& form() const { return form_; }
  sites_type const& sites(int l) const { return levels_[static_cast<std::size_t>(l)].sites(); }
  HermiteLevel<ExecutionSpace, double, Dim> const& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }

  /// Unknowns of the solution: those free on some level and not represented one level finer.
  index_t unknown_count() const { return unknowns_; }

  /// y = A x. Rows of vertices that the boundary fixes entirely are left alone (zero in a fresh y).
  void apply(ExecutionSpace const& space, primal_type const& x, dual_type const& y) const;

  /// Sets the entries of b to zero whose unknown the boundary of the domain fixes, and those of vertices that touch no
  /// leaf.
  void constrain(ExecutionSpace const& space, dual_type const& b) const;

  /// Makes a field C1 to the last bit: every unknown at a refinement edge is what the coarser leaf prescribes.
  void prescribe(ExecutionSpace const& space, primal_type const& x) const;

 private:
  grid_type grid_;
  HermiteForm form_;
  std::vector<HermiteLevel<ExecutionSpace, double, Dim>> levels_;
  index_t unknowns_ = 0;
};

}  // namespace brickwork
