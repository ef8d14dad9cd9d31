// SPDX-License-Identifier: BSD-3-Clause
// Geometric multigrid for elasticity with high contrast on a box grid, as a preconditioner.
//
//   level 0    matrix-free, the operator itself
//   level 1    matrix-free from the mean moduli of its children (the exact Galerkin product where these are equal)
//   level >= 2 Galerkin products P^T A P as block stencils (operators/detail/block_stencil.hpp); coarsest: dense
//   inverse
//
// P is trilinear interpolation between nested grids (mesh/grid_hierarchy.hpp: any size, semi-coarsening of stretched
// cells), projected to zero on constrained components. A support between coarse nodes moves to the nearest one.
//
// Smoother (solvers/smoother.hpp has the others): Chebyshev iteration of the fourth kind (Lottes, 2022), which needs an
// upper bound of the spectrum of D^-1 A alone. On matrix-free levels that bound is local, between the one of equal
// cells and the one of a single cell (detail/multigrid_kernels.hpp, BoundedInverse), and goes into D: no estimate can
// miss an isolated cell. On stencil levels D is the 3 x 3 diagonal block and the bound comes from power iterations with
// a safety factor, anew whenever the moduli change.
//
// Cycle: on each of the first coarse levels, as many as the call asks for, two steps of flexible conjugate gradients,
// preconditioned by the cycle below (K-cycle; Notay and Vassilevski, 2008), with all scalars on the device; V-cycle
// further down. That is what keeps it from stalling on thin members beside void (specs: multigrid).
//
// Local smoother: a cycle may begin and end with many steps on the finest level's grey nodes alone
// (detail/local_smoother.hpp), for designs whose loose sheets of fading material no level sees.
//
// Everything is FP32. On a GPU a cycle is recorded once as a graph of launches and replayed.
#pragma once

#include <memory>
#include <vector>

#include "brickwork/mesh/grid_hierarchy.hpp"
#include "brickwork/operators/elasticity_operator.hpp"
#include "brickwork/solvers/smoother.hpp"

namespace brickwork {

struct MultigridSettings {
  Smoother smoother = Smoother::chebyshev;
  int degree = 2;             ///< of the smoother (or its sweeps), before and after the coarse correction; 1 .. 8
  int krylov_levels = -1;     ///< most coarse levels with two Krylov steps; -1: all with few enough nodes
  index_t coarsest_dofs = 0;  ///< at most this many in the dense inverse; 0: chosen for the backend
  double safety = 1.15;       ///< on the power iterations' estimate
  int power_iterations = 10;
  bool half_stencils = false;  ///< coarse blocks rounded to 16 bits (in FP32 memory), to see what that costs
};

/// What one cycle does beyond the settings.
struct MultigridCycle {
  int depth = -1;            ///< coarse levels with Krylov steps, at most krylov_levels(); -1: all of these
  bool smooth_grey = false;  ///< local smoothing of the finest level's grey nodes, where list_grey() says it has effect
};

template <class ExecutionSpace>
class ElasticityMultigrid {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using operator_type = ElasticityOperator<ExecutionSpace, float>;
  using vector_type = NodalVector<float, memory_space>;
  using Cycle = MultigridCycle;

  /// \param fine       level 0, with its moduli and constraints set; it is copied (sharing storage), so that later
  ///                   changes of the moduli's values count after update()
  /// \param temporary  a vector that apply() may use, 16-byte aligned; vectors of the coarse levels and of the local
  ///                   smoother live in it while it is idle
  /// \throws InputError for a kernel other than parity, missing moduli, settings out of range, the smoother
  /// gauss_seidel
  ///         with an odd number of cells along a periodic axis of a level that is smoothed, or bf16 where the cells are
  ///         not cubes of an isotropic material
  ElasticityMultigrid(ExecutionSpace const& space, operator_type const& fine, MultigridSettings const& settings,
                      vector_type const& temporary);
  ~ElasticityMultigrid();
  ElasticityMultigrid(ElasticityMultigrid const&) = delete;
  ElasticityMultigrid& operator=(ElasticityMultigrid const&) = delete;

  /// Rebuilds every level from the present moduli. Asynchronous.
  void update(ExecutionSpace const& space);

  /// z = B r with B close to A^-1; nearly symmetric (two Krylov steps are not linear). r must be zero on constrained
  /// components; so is z then. Asynchronous, but for what list_grey() does where a cycle smooths grey nodes; extents
  /// (nodes, 3), no overlap.
  /// \throws InputError for other extents or a depth below -1
  void apply(ExecutionSpace const& space, vector_type const& r, vector_type const& z, Cycle const& wanted = {}) const;

  /// Whether Cycle::smooth_grey has an effect on the present moduli: some nodes are grey, but no more than an eighth.
  /// The first call after update() lists them and waits for `space`.
  bool list_grey(ExecutionSpace const& space) const;

  /// The finest operator without its constraints: applied to a vector that is zero on constrained components it gives
  /// the constrained product on the others, at two thirds of the time (no mask is read); clear_constrained() does the
  /// rest.
  operator_type const& free_operator() const;
  /// v = 0 on constrained components of the finest level. Asynchronous.
  void clear_constrained(ExecutionSpace const& space, vector_type const& v) const;

  GridHierarchy const& hierarchy() const;
  /// The most coarse levels that a cycle takes Krylov steps on.
  int krylov_levels() const;

  /// Bytes that the constructor allocates, beside `temporary`.
  static index_t bytes(BoxGrid const& grid, bool constrained, MultigridSettings const& settings);

 private:
  class Levels;
  std::unique_ptr<Levels> levels_;
};

}  // namespace brickwork
