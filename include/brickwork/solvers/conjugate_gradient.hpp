// SPDX-License-Identifier: BSD-3-Clause
// Jacobi-preconditioned conjugate gradients with the true-residual rule, in one or two precisions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/mesh/rigid_motion.hpp"
#include "brickwork/operators/added_stiffness.hpp"
#include "brickwork/parallel/communicator.hpp"
#include "brickwork/solvers/null_space.hpp"

namespace brickwork {

struct SolveOptions {
  double tolerance = 1e-5;      ///< on |f - K u| / |f|, recomputed in the outer precision
  int max_iterations = 20000;   ///< inner iterations
  bool adaptive_cycle = false;  ///< multigrid: deep cycles only where they pay; false: as deep as they were made
  bool judge_cycle = false;  ///< with adaptive_cycle: deep cycles are given up for some solves where they gain little
};

enum class SolveStatus {
  converged,  ///< the true residual is below the tolerance
  capped,     ///< max_iterations were used up
  stalled,    ///< restarting from the true residual no longer reduces it: the precision's floor
  breakdown   ///< a curvature p.Kp was not positive or not finite
};

std::string to_string(SolveStatus status);

/// Of two solves' statuses the one that says less of the result.
inline SolveStatus worse(SolveStatus a, SolveStatus b) { return a < b ? b : a; }

struct SolveResult {
  SolveStatus status = SolveStatus::converged;
  int iterations = 0;                 ///< applications of the inner operator
  int residual_evaluations = 0;       ///< applications of the outer operator
  double true_relative_residual = 0;  ///< |f - K u| / |f| for the returned u, in the outer precision
  bool converged() const { return status == SolveStatus::converged; }
};

/// Solves K u = f. Recurrences run in `Inner` precision; u and the residuals that decide live in `Outer`.
///
/// The method is conjugate gradients with residual replacement (van der Vorst and Ye, 2000): the correction is
/// accumulated in the inner precision; whenever the recursive residual has dropped by the replacement factor, or claims
/// to have converged, the correction is added to u and the residual recomputed as f - K u in the outer precision, while
/// the search direction is kept. With Outer = Inner no intermediate replacement takes place and the iterates are those
/// of plain conjugate gradients. The preconditioner is the diagonal, kept as one value per node (a box's diagonal
/// factors into the sum of moduli around the node and one constant per component).
///
/// Scalars stay on the device; per iteration the host reads the three that decide whether to go on.
/// The object owns its work vectors (allocated once, for one grid) and may be reused for any number of solves.
template <class ExecutionSpace, class Outer, class Inner>
class ConjugateGradient {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using outer_operator = ElasticityOperator<ExecutionSpace, Outer>;
  using inner_operator = ElasticityOperator<ExecutionSpace, Inner>;
  using outer_vector = NodalVector<Outer, memory_space>;
  using const_outer_vector = NodalVector<Outer const, memory_space>;
  using inner_vector = NodalVector<Inner, memory_space>;

  ConjugateGradient(ExecutionSpace const& space, BoxGrid const& grid, Communicator const& communicator = {});

  /// Bytes that the constructor allocates for this grid.
  static index_t bytes(BoxGrid const& grid);

  /// Rigid motions that the supports leave free (at most 6): f is projected onto the range of K, and u has none of
  /// them.
  void set_free_modes(std::vector<RigidMotion> const& modes) { modes_.set(modes); }

  /// Adds a second element matrix per cell to the operators of the next solves (operators/added_stiffness.hpp): K is
  /// theirs plus these. Null: none. The preconditioner stays the diagonal of the first part.
  void add_stiffness(std::shared_ptr<AddedStiffness<ExecutionSpace, Outer> const> outer,
                     std::shared_ptr<AddedStiffness<ExecutionSpace, Inner> const> inner) {
    added_outer_ = std::move(outer);
    added_inner_ = std::move(inner);
  }

  /// Tells that moduli or constraints changed: the preconditioner is rebuilt at the next solve.
  void operator_changed() { preconditioner_ready_ = false; }

  /// \param outer  operator in the outer precision
  /// \param inner  the same operator in the inner precision (the same object where Outer = Inner)
  /// \param f      right-hand side; its constrained components are the prescribed values of u
  /// \param u      start value on entry, solution on return; constrained components become exactly those of f
  /// \throws InputError for a zero or non-finite right-hand side, or extents that do not match
  SolveResult solve(ExecutionSpace const& space, outer_operator const& outer, inner_operator const& inner,
                    const_outer_vector const& f, outer_vector const& u, SolveOptions const& options);

 private:
  struct Norms {
    double residual_squared;
    double preconditioned;  // r . M r
  };
  Norms read_sums(ExecutionSpace const& space, int slot);
  double true_residual(ExecutionSpace const& space, outer_operator const& outer, const_outer_vector const& f,
                       outer_vector const& u, int slot);
  void build_preconditioner(ExecutionSpace const& space, inner_operator const& inner);

  BoxGrid grid_;
  Communicator communicator_;
  inner_vector r_, p_, w_, correction_;
  outer_vector product_;                         // K u in the outer precision; w_ where the precisions agree
  CellField<Inner, memory_space> inverse_;       // 1 / (sum of moduli around the node)
  Kokkos::View<double*, memory_space> scalars_;  // [0] p.w; [1 + 2 s], [2 + 2 s]: r.r and r.Mr of parity s
  typename Kokkos::View<double*, memory_space>::host_mirror_type host_scalars_;
  std::array<double, 3> inverse_factors_{};
  bool preconditioner_ready_ = false;
  std::shared_ptr<AddedStiffness<ExecutionSpace, Outer> const> added_outer_;
  std::shared_ptr<AddedStiffness<ExecutionSpace, Inner> const> added_inner_;
  NullSpace<ExecutionSpace> modes_;
};

}  // namespace brickwork
