// SPDX-License-Identifier: BSD-3-Clause
// Local multigrid for Hermite operators on adaptive grids: one V-cycle.
//
// Level by level from the finest: smooth on the unknowns that the level itself decides (HermiteSites), compute the
// residual with all cells of the level, also at refinement edges, and add its restriction to what the leaves of the
// coarser level contribute. On the way back prolongation supplies the correction, at refinement edges the values and
// derivatives that the coarser level prescribes, and the level is smoothed again.
//
// Smoothers: Chebyshev-Jacobi, or multiplicative sweeps over the vertex blocks. The coarsest level is the first one
// with a free unknown; it takes Chebyshev stages (many of them) instead of an exact solve, or sweeps.
//
// Traffic per vertex of a level and cycle with three Chebyshev stages before and after, in FP64: about 1700 bytes, that
// is 13 applications of the operator at their least traffic (128).
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", Algorithm 1 and section 5.
#pragma once

#include "brickwork/operators/hermite_operator.hpp"
#include "brickwork/operators/hermite_transfer.hpp"
#include "brickwork/solvers/hermite_cycle.hpp"

namespace brickwork {

template <class ExecutionSpace, class Scalar, int Dim>
class HermiteMultigrid {
 public:
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  using scalar_type = Scalar;
  using operator_type = HermiteOperator<ExecutionSpace, Dim>;
  using primal_type = typename operator_type::primal_type;
  using dual_type = typename operator_type::dual_type;
  using correction_type = HermitePrimal<Scalar, memory_space, Dim>;
  using vector_type = HermiteLevelVector<Scalar, memory_space, Dim>;

  /// \throws InputError for bad options or an operator without free unknowns; OutOfMemory
  HermiteMultigrid(ExecutionSpace const& space, operator_type const& a, HermiteCycleOptions const& options);

  /// Bytes of a multigrid's vectors on this grid, before it is made.
  static index_t bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid, HermiteCycleOptions const& options);

  /// One V-cycle from zero: the result is correction(). Asynchronous on `space`; launches only, always the same ones.
  void apply(ExecutionSpace const& space, dual_type const& r) const;
  /// Whether the launches of a cycle can be recorded and replayed.
  static constexpr bool recordable = true;

  /// A correction in FP32 meets the conditions at refinement edges to its own rounding only, and what residuals hold
  /// there is large, in balance with their other entries: the pairing of the two would be noise. So an iteration around
  /// an FP32 cycle keeps to C1 fields and to functionals of them: prescribe() makes a field C1 at refinement edges,
  /// condense() carries the entries there to the coarser unknowns that prescribe them. Both are FP64, and do nothing
  /// where the cycle is FP64 or no level is refined locally.
  void prescribe(ExecutionSpace const& space, primal_type const& primal) const;
  void condense(ExecutionSpace const& space, dual_type const& dual) const;

  correction_type const& correction() const { return correction_; }
  /// Between level l and l + 1.
  HermiteTransfer<ExecutionSpace, Dim> const& transfer(int l) const { return transfers_[static_cast<std::size_t>(l)]; }
  int coarsest_level() const { return coarsest_; }
  HermiteCycleOptions const& options() const { return options_; }
  /// Upper end of the interval in use on a level.
  double upper_bound(int l) const { return intervals_[static_cast<std::size_t>(l)].upper; }

 private:
  void smooth_from_zero(ExecutionSpace const& space, int l, vector_type const& b) const;
  void correct_and_smooth(ExecutionSpace const& space, int l, vector_type const& b) const;
  void chebyshev(ExecutionSpace const& space, int l, vector_type const& b, vector_type from, vector_type to, int stages,
                 bool from_zero) const;
  void sweeps(ExecutionSpace const& space, int l, vector_type const& b, int count, bool reversed) const;

  operator_type const* a_;
  HermiteCycleOptions options_;
  int coarsest_ = 0, finest_ = 0;
  std::vector<HermiteLevel<ExecutionSpace, Scalar, Dim>> levels_;
  std::vector<HermiteTransfer<ExecutionSpace, Dim>> transfers_;  // [l]: between l and l + 1
  std::vector<ChebyshevInterval> intervals_;
  correction_type correction_;
  std::vector<Kokkos::View<Scalar*, memory_space>> storage_;
  bool condensed_ = false;
  Kokkos::View<double*, memory_space> edge_;  // zero but for what condense() carries to the next coarser level
  std::vector<vector_type> u_, b_, t_;        // per level: correction, right-hand side, second iterate and residual
};

}  // namespace brickwork
