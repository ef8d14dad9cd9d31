// SPDX-License-Identifier: BSD-3-Clause
// The state problem of density methods: displacement, compliance and cell energies for a physical density, in the
// precision asked for.
#pragma once

#include <memory>
#include <string>

#include "brickwork/design/boundary_conditions.hpp"
#include "brickwork/design/detail/interpolation.hpp"
#include "brickwork/solvers/flexible_conjugate_gradient.hpp"

namespace brickwork {

/// Solves K(rho) u_c = f_c for every load case c and keeps the displacements for warm starts.
///
/// \tparam Real precision of the cell fields that go in and out
template <class ExecutionSpace, class Real = double>
class StateSolver {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using const_field_type = CellField<Real const, memory_space>;
  using field_type = CellField<Real, memory_space>;

  /// Fields that scratch() offers.
  static constexpr int scratch_fields = 4;

  virtual ~StateSolver() = default;

  /// Moduli from the physical density (extent cells, values in [0, 1]). Asynchronous.
  virtual void set_density(ExecutionSpace const& space, const_field_type const& density,
                           SimpInterpolation const& interpolation) = 0;

  /// Solves one load case from its last displacement, or from zero with `cold`. Keeps the better of start and result by
  /// residual.
  virtual SolveResult solve(ExecutionSpace const& space, int load_case, SolveOptions const& options, bool cold) = 0;

  /// f . u of the last solve, summed over all ranks. Waits for `space`.
  virtual double compliance(ExecutionSpace const& space, int load_case) const = 0;

  /// energies = (or += with `add`) weight * u_e^T K0 u_e of the last solve.
  virtual void cell_energies(ExecutionSpace const& space, int load_case, double weight, bool add,
                             field_type const& energies) const = 0;

  /// A field (extent cells) that the solver has no use for between solves: the caller may write it from the return of
  /// solve() or set_density() until the next solve(), which destroys it. `i` < scratch_fields.
  virtual field_type scratch(int i) const = 0;

  virtual ElasticityKernel kernel() const = 0;
  virtual SolverMethod method() const = 0;
  virtual int load_cases() const = 0;
};

/// \param stiffness element matrix for modulus 1
/// \throws InputError where the kernel named in the settings cannot run
template <class ExecutionSpace, class Real = double>
std::unique_ptr<StateSolver<ExecutionSpace, Real>> make_state_solver(ExecutionSpace const& space, BoxGrid const& grid,
                                                                     Hex8Matrix const& stiffness,
                                                                     BoundaryConditions const& conditions,
                                                                     SolverSettings const& settings);

/// The kernels of the outer (true residual) and inner (recurrences) operators.
struct StateKernels {
  ElasticityKernel outer, inner;
};

/// In mixed precision a kernel that exists in one precision serves there, and the other operator takes the fastest.
/// \throws InputError where the kernel named in the settings cannot run
StateKernels state_kernels(Hex8Matrix const& stiffness, SolverSettings const& settings);

/// The method that make_state_solver() takes: multigrid, where `automatic` is asked for and it can run.
/// \throws InputError where multigrid is asked for and cannot run, or its smoother cannot
SolverMethod state_method(Hex8Matrix const& stiffness, SolverSettings const& settings);

/// What the solver settings say about multigrid.
MultigridSettings multigrid_settings(SolverSettings const& settings);

/// Bytes that the kernels of a state solver keep for themselves.
index_t state_kernel_bytes(BoxGrid const& grid, SolverSettings const& settings, StateKernels const& kernels);

/// Bytes that make_state_solver() allocates beside these.
/// \param method      of state_method()
/// \param real_bytes  size of the type of the cell fields: 4 or 8
template <class ExecutionSpace>
index_t state_solver_bytes(BoxGrid const& grid, int load_cases, SolverMethod method, SolverSettings const& settings,
                           int real_bytes = 8);

}  // namespace brickwork
