// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients with a variable preconditioner (multigrid with Krylov steps), in mixed precision.
#pragma once

#include <memory>

#include "brickwork/core/sums.hpp"
#include "brickwork/operators/added_stiffness.hpp"
#include "brickwork/solvers/conjugate_gradient.hpp"
#include "brickwork/solvers/multigrid.hpp"
#include "brickwork/solvers/strain_load.hpp"

namespace brickwork {

/// Forces at some nodes: a right-hand side that needs no vector of its own.
template <class MemorySpace>
struct NodalForces {
  Kokkos::View<index_t*, MemorySpace> nodes;  ///< no node twice
  Kokkos::View<double*, MemorySpace> forces;  ///< [3 i + d]
};

/// Solves K u = f with the displacement and the deciding residual f - K u in FP64, everything else in FP32.
///
/// Recurrences are those of flexible conjugate gradients (Notay, 2000: beta = z.(r - r_old) / z_old.r_old), with the
/// residual in FP32 and the step added to the FP64 displacement at once. When the recursive residual claims to be below
/// the tolerance, f - K u is computed in FP64 from the FP64 displacement; if that disagrees, the iteration restarts
/// from it. So the tolerance may lie below what FP32 resolves.
///
/// With SolveOptions::adaptive_cycle the cycle has Krylov steps on the first coarse level only, until a solve needs
/// more than a few iterations; from then on it has them on all levels, until a solve needs few or they do not pay.
/// Likewise, after more iterations, it begins and ends with the local smoother of grey nodes
/// (MultigridCycle::smooth_grey).
///
/// Work vectors: five in FP32 (60 bytes per node) in one block. While it is idle, between solves, others may use the
/// block; FP64 quantities of a residual evaluation (product, moduli) live in vectors that are idle then.
template <class ExecutionSpace>
class FlexibleConjugateGradient {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using outer_operator = ElasticityOperator<ExecutionSpace, double>;
  using inner_operator = ElasticityOperator<ExecutionSpace, float>;
  using outer_vector = NodalVector<double, memory_space>;
  using inner_vector = NodalVector<float, memory_space>;
  using forces_type = NodalForces<memory_space>;
  using multigrid_type = ElasticityMultigrid<ExecutionSpace>;

  FlexibleConjugateGradient(ExecutionSpace const& space, BoxGrid const& grid, Communicator const& communicator = {});

  /// Bytes that the constructor allocates for this grid.
  static index_t bytes(BoxGrid const& grid);

  /// Rigid motions that the supports leave free: see ConjugateGradient::set_free_modes().
  void set_free_modes(std::vector<RigidMotion> const& modes) { modes_.set(modes); }

  /// Adds a second element matrix per cell to K, in products, residuals and strain loads (operators/
  /// added_stiffness.hpp). The multigrid, made of the first one alone, stays a preconditioner: the solution is that of
  /// the whole K, the iterations depend on how near the first part is to it.
  /// \param stiffness K1, for a second modulus of 1
  /// \param moduli    of every cell, kept; later changes of its values count
  /// \param mask      the constraints of the operators, or empty
  void add_stiffness(ExecutionSpace const& space, Hex8Matrix const& stiffness,
                     CellField<float, memory_space> const& moduli, NodeMask<memory_space> const& mask);

  /// The vector that the multigrid of this solver is to be made with.
  inner_vector temporary() const { return t_; }

  /// The block of work vectors, extent (floats), 16-byte aligned; its contents are lost at the next solve.
  Kokkos::View<float*, memory_space> block() const { return block_; }

  /// \param outer      K in FP64; its moduli are set here (a copy of those of `inner`, in an idle vector)
  /// \param inner      K in FP32
  /// \param multigrid  made with temporary() and up to date
  /// \param f          right-hand side; on constrained components the prescribed values of u
  /// \param u          start value on entry, solution on return; extent (nodes)
  /// \throws InputError for a zero or non-finite right-hand side, or extents that do not match
  SolveResult solve(ExecutionSpace const& space, outer_operator& outer, inner_operator const& inner,
                    multigrid_type const& multigrid, forces_type const& f, outer_vector const& u,
                    SolveOptions const& options);

  /// The same for a strain imposed on every cell; constrained components of u become zero. A load that is zero but for
  /// rounding (uniform moduli) gives u = 0.
  SolveResult solve(ExecutionSpace const& space, outer_operator& outer, inner_operator const& inner,
                    multigrid_type const& multigrid, StrainLoad const& f, outer_vector const& u,
                    SolveOptions const& options);

 private:
  struct Scalars {
    double curvature, rz, rr;
  };
  struct Added {
    Hex8Matrix stiffness;
    CellField<float, memory_space> moduli;
    AddedStiffness<ExecutionSpace, double> outer;
    AddedStiffness<ExecutionSpace, float> inner;
  };
  /// Iterations with one kind of cycle.
  struct Stretch {
    int begin;
    double log_residual;  // there
    double rate(int iterations, double log_now) const { return (log_now - log_residual) / (iterations - begin); }
  };
  void judge_cycle(ExecutionSpace const& space, multigrid_type const& multigrid, int iterations, double log_residual,
                   Stretch const& stretch);
  Scalars read(ExecutionSpace const& space);
  template <class Load>
  SolveResult solve_load(ExecutionSpace const& space, outer_operator& outer, inner_operator const& inner,
                         multigrid_type const& multigrid, Load const& f, outer_vector const& u,
                         SolveOptions const& options);
  double impose(ExecutionSpace const& space, outer_operator const& outer, inner_operator const& inner,
                forces_type const& f, outer_vector const& u);
  double impose(ExecutionSpace const& space, outer_operator const& outer, inner_operator const& inner,
                StrainLoad const& f, outer_vector const& u);
  void subtract(ExecutionSpace const& space, outer_operator const& outer, inner_operator const& inner,
                forces_type const& f, outer_vector const& product);
  void subtract(ExecutionSpace const& space, outer_operator const& outer, inner_operator const& inner,
                StrainLoad const& f, outer_vector const& product);
  template <class Load>
  double true_residual(ExecutionSpace const& space, outer_operator& outer, inner_operator const& inner, Load const& f,
                       outer_vector const& u);

  BoxGrid grid_;
  Communicator communicator_;
  Kokkos::View<float*, memory_space> block_;
  inner_vector r_, p_, w_, z_, t_;
  SumWorkspace<ExecutionSpace> workspace_;
  Kokkos::View<double*, memory_space> scalars_;  // p.w, z.r, beta, r.r
  typename Kokkos::View<double*, memory_space>::host_mirror_type host_scalars_;
  NullSpace<ExecutionSpace> modes_;
  std::unique_ptr<Added> added_;
  double shallow_rate_ = 0;  // of the residual's logarithm per iteration with shallow cycles, when last measured
  int shallow_solves_ = 0;   // solves to come that do without deep cycles
  bool deep_ = false;        // cycles with Krylov steps on every coarse level
  bool grey_ = false;        // and with local smoothing of grey nodes
};

}  // namespace brickwork
