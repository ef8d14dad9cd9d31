// SPDX-License-Identifier: BSD-3-Clause
// Solves A x = b for a Hermite operator by the local multigrid cycle: alone, or as preconditioner of conjugate
// gradients.
//
// Both measure <r, z>^(1/2), z = M r one cycle applied to the residual: the norm of the residual that M induces, close
// to the energy norm of the error. Iterations and their vectors are FP64; the cycle may be FP32. Conjugate gradients
// follow the recursive residual; when that claims to be below the tolerance, b - A x is computed and measured the same
// way, and if it disagrees the iteration goes on from it. One iteration is one graph of launches on a GPU; per
// iteration the host reads two numbers.
//
// A correction in FP32 meets the conditions at refinement edges to its own rounding only, and what residuals hold there
// is large, in balance with their other entries: the pairing of the two would be noise. So where a cycle in FP32 meets
// refinement edges, the iteration keeps to C1 fields and to functionals of them, in FP64: directions (and the start)
// take what the coarser level prescribes, and residuals are condensed, which carries what is tested with prescribed
// unknowns to those that prescribe them. The iteration is then that of FP64 to FP32's rounding of its preconditioner.
//
// Vectors, per unknown: r, w, p (conjugate gradients) and those of HermiteMultigrid; x and b are the caller's.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", section 6.1.
#pragma once

#include <functional>
#include <memory>

#include "brickwork/core/sums.hpp"
#include "brickwork/solvers/conjugate_gradient.hpp"
#include "brickwork/solvers/detail/launch_graph.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"

namespace brickwork {

enum class HermiteMethod {
  conjugate_gradient,  ///< needs a symmetric cycle
  stationary           ///< x += M (b - A x)
};

struct HermiteSolveOptions {
  HermiteMethod method = HermiteMethod::conjugate_gradient;
  double tolerance = 1e-8;  ///< of <r, z>^(1/2) over its first value, in (0, 1)
  int max_iterations = 200;
  /// Called after each iteration with its number and the relative residual; false ends the solve as capped.
  std::function<bool(int, double)> progress;
};

struct HermiteSolveResult {
  SolveStatus status = SolveStatus::converged;
  int iterations = 0;
  /// <r, z>^(1/2) before the first and after each iteration.
  std::vector<double> residuals;
  /// <r, z>^(1/2) of r = b - A x for the returned x, over its first value.
  double true_relative_residual = 0;
  double seconds = 0;               ///< of the iterations
  double verification_seconds = 0;  ///< of computing the true residual
  bool converged() const { return status == SolveStatus::converged; }
  /// Mean factor per iteration of <r, z>^(1/2).
  double contraction() const;
};

template <class ExecutionSpace, class CycleScalar, int Dim>
class HermiteSolver {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using operator_type = HermiteOperator<ExecutionSpace, Dim>;
  using primal_type = typename operator_type::primal_type;
  using dual_type = typename operator_type::dual_type;
  using multigrid_type = HermiteMultigrid<ExecutionSpace, CycleScalar, Dim>;

  /// \throws InputError, OutOfMemory as HermiteMultigrid
  HermiteSolver(ExecutionSpace const& space, operator_type const& a, HermiteCycleOptions const& cycle);

  /// Bytes of a solver's vectors on this grid, with x and b, before any is made.
  static index_t bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid);

  /// \param b  right-hand side; entries whose unknown is fixed are set to zero
  /// \param x  start on entry (zero where fixed), solution on return
  /// \throws InputError for options out of range, conjugate gradients with a cycle that is not symmetric, vectors of
  ///         another grid, or a right-hand side that is zero or not finite
  HermiteSolveResult solve(ExecutionSpace const& space, dual_type const& b, primal_type const& x,
                           HermiteSolveOptions const& options);

  multigrid_type const& multigrid() const { return multigrid_; }

 private:
  void residual(ExecutionSpace const& space, dual_type const& b, primal_type const& x);
  void condense(ExecutionSpace const& space, dual_type const& dual) const;
  void prescribe(ExecutionSpace const& space, primal_type const& primal) const;
  double measure(ExecutionSpace const& space);
  double iterate(ExecutionSpace const& space, primal_type const& x);

  operator_type const* a_;
  multigrid_type multigrid_;
  dual_type r_, w_;
  primal_type p_;
  bool condensed_ = false;
  Kokkos::View<double*, memory_space> edge_;  // zero but for what condense() carries to the next coarser level
  SumWorkspace<ExecutionSpace> workspace_;
  Kokkos::View<double*, memory_space> scalars_;
  typename Kokkos::View<double*, memory_space>::HostMirror host_scalars_;
  detail::LaunchGraph<ExecutionSpace> cycle_;
};

}  // namespace brickwork
