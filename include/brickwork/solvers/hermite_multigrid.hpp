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

namespace brickwork {

enum class HermiteSmoother { chebyshev, patch };

/// Which interval of the spectrum of D^-1 A the Chebyshev polynomial damps.
enum class HermiteInterval {
  automatic,  ///< the fixed one for the biharmonic form on cubes (squares), whose spectrum it was made for, else
              ///< estimated
  fixed,      ///< [lower, upper] of the options
  estimated   ///< up to 1.05 times an estimate of each level's largest eigenvalue, from a tenth of that
};

struct HermiteCycleOptions {
  HermiteSmoother smoother = HermiteSmoother::chebyshev;
  int stages = 3;            ///< Chebyshev stages before and after the coarser levels, >= 1
  int coarsest_stages = 20;  ///< on the coarsest level, >= 1
  int sweeps = 2;            ///< vertex-patch sweeps before and after, >= 1
  int coarsest_sweeps = 10;  ///< on the coarsest level and in each direction, >= 1
  bool symmetric = true;     ///< sweeps afterwards in reversed order of colours, as conjugate gradients need it
  HermiteInterval interval = HermiteInterval::automatic;
  double lower = 0.2, upper = 2.0;  ///< the fixed interval, 0 < lower < upper
};

/// \throws InputError where an option is out of its range
void check(HermiteCycleOptions const& options);

template <class ExecutionSpace, class Scalar, int Dim>
class HermiteMultigrid {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using operator_type = HermiteOperator<ExecutionSpace, Dim>;
  using dual_type = typename operator_type::dual_type;
  using correction_type = HermitePrimal<Scalar, memory_space, Dim>;
  using vector_type = HermiteLevelVector<Scalar, memory_space, Dim>;

  /// \throws InputError for bad options or an operator without free unknowns; OutOfMemory
  HermiteMultigrid(ExecutionSpace const& space, operator_type const& a, HermiteCycleOptions const& options);

  /// Bytes of a multigrid's vectors on this grid, before it is made.
  static index_t bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid);

  /// One V-cycle from zero: the result is correction(). Asynchronous on `space`.
  void apply(ExecutionSpace const& space, dual_type const& r) const;

  correction_type const& correction() const { return correction_; }
  /// Between level l and l + 1.
  HermiteTransfer<ExecutionSpace, Dim> const& transfer(int l) const { return transfers_[static_cast<std::size_t>(l)]; }
  int coarsest_level() const { return coarsest_; }
  HermiteCycleOptions const& options() const { return options_; }
  /// Upper end of the interval in use on a level.
  double upper_bound(int l) const { return upper_[static_cast<std::size_t>(l)]; }

 private:
  void smooth_from_zero(ExecutionSpace const& space, int l, vector_type const& b) const;
  void correct_and_smooth(ExecutionSpace const& space, int l, vector_type const& b) const;
  void chebyshev(ExecutionSpace const& space, int l, vector_type const& b, vector_type from, vector_type to, int stages,
                 bool from_zero) const;
  void sweeps(ExecutionSpace const& space, int l, vector_type const& b, int count, bool reversed) const;
  double largest_eigenvalue(ExecutionSpace const& space, int l) const;

  operator_type const* a_;
  HermiteCycleOptions options_;
  int coarsest_ = 0, finest_ = 0;
  bool estimated_ = false;
  std::vector<HermiteLevel<ExecutionSpace, Scalar, Dim>> levels_;
  std::vector<HermiteTransfer<ExecutionSpace, Dim>> transfers_;  // [l]: between l and l + 1
  std::vector<double> upper_;
  correction_type correction_;
  std::vector<Kokkos::View<Scalar*, memory_space>> storage_;
  std::vector<vector_type> u_, b_, t_;  // per level: correction, right-hand side, second iterate and residual
};

}  // namespace brickwork
