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
// The cycle decides the storage: HermiteMultigrid is vertex-wise, HermiteCellMultigrid cell-wise. Where it is FP32 and
// levels are refined locally, its prescribe() and condense() keep the iteration to that of FP64.
//
// Vectors, per stored value: r, w, p (conjugate gradients) and those of the cycle; x and b are the caller's.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", section 6.1.
#pragma once

#include <functional>
#include <memory>

#include "brickwork/core/sums.hpp"
#include "brickwork/solvers/conjugate_gradient.hpp"
#include "brickwork/solvers/detail/launch_graph.hpp"
#include "brickwork/solvers/hermite_cycle.hpp"

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

/// \tparam Multigrid  HermiteMultigrid<ExecutionSpace, CycleScalar, Dim> or HermiteCellMultigrid<ExecutionSpace, Dim>
template <class Multigrid>
class HermiteSolver {
 public:
  using multigrid_type = Multigrid;
  using execution_space = typename Multigrid::execution_space;
  using memory_space = typename execution_space::memory_space;
  using operator_type = typename Multigrid::operator_type;
  using grid_type = typename operator_type::grid_type;
  using primal_type = typename operator_type::primal_type;
  using dual_type = typename operator_type::dual_type;
  using cycle_scalar = typename Multigrid::scalar_type;  ///< of the correction

  /// \throws InputError, OutOfMemory as the cycle
  HermiteSolver(execution_space const& space, operator_type const& a, HermiteCycleOptions const& cycle);

  /// Bytes of a solver's vectors on this grid, with x and b, before any is made.
  static index_t bytes(grid_type const& grid, HermiteCycleOptions const& cycle);

  /// \param b  right-hand side; entries whose unknown is fixed are set to zero
  /// \param x  start on entry (zero where fixed), solution on return, C1 to the last bit (HermiteOperator::prescribe)
  /// \throws InputError for options out of range, conjugate gradients with a cycle that is not symmetric, vectors of
  ///         another grid, or a right-hand side that is zero or not finite
  HermiteSolveResult solve(execution_space const& space, dual_type const& b, primal_type const& x,
                           HermiteSolveOptions const& options);

  multigrid_type const& multigrid() const { return multigrid_; }

 private:
  void residual(execution_space const& space, dual_type const& b, primal_type const& x);
  double measure(execution_space const& space);
  double iterate(execution_space const& space, primal_type const& x);

  operator_type const* a_;
  multigrid_type multigrid_;
  dual_type r_, w_;
  primal_type p_;
  SumWorkspace<execution_space> workspace_;
  Kokkos::View<double*, memory_space> scalars_;
  typename Kokkos::View<double*, memory_space>::HostMirror host_scalars_;
  detail::LaunchGraph<execution_space> cycle_;
};

}  // namespace brickwork
