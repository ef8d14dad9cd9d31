// SPDX-License-Identifier: BSD-3-Clause
// The homogenized elasticity tensor of a periodic cell and its derivative.
//
// For unit strains s: K u^s = f^s with u^s periodic and f^s = sum_e E_e K0 chi^s_e (solvers/strain_load.hpp); then
//   C_st = 1/|Y| sum_e E_e (chi^s - u^s)_e . K0 (chi^t - u^t)_e,   dC_st/dE_e = 1/|Y| (chi^s - u^s)_e . K0 (chi^t -
//   u^t)_e.
// The translations are free: they are projected out, so that nothing depends on material at a corner.
// Source: the inverse-homogenization text, equations 5, 7 and 9.
//
// The tensor is of second order in the error of the fields, because they are stationary points of it.
//
// Materials of several Poisson's ratios take a second element matrix K1: E_e K0 becomes E_e K0 + E1_e K1
// (fem/material.hpp, IsotropicSplit). Products, loads and energies are those of the sum; the preconditioner is made of
// E_e K0 alone, so that only the iterations depend on how near that is.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "brickwork/core/sums.hpp"
#include "brickwork/design/homogenize_problem.hpp"
#include "brickwork/design/strain_plan.hpp"
#include "brickwork/solvers/conjugate_gradient.hpp"

namespace brickwork {

namespace detail {
struct StrainFields;
}

/// What the solves of a density or image did.
struct HomogenizationReport {
  int iterations = 0;                           ///< over all strains
  int most_iterations = 0;                      ///< of one strain
  double true_residual = 0;                     ///< the worst of |f - K u| / |f|
  SolveStatus status = SolveStatus::converged;  ///< the worst
};

/// Solves the cell problems of one grid for a plan of strains and keeps their fields for warm starts.
///
/// Moduli are in units of the caller's choice near 1 (FP32); so is the tensor. Displacements and the deciding residuals
/// are FP64; between solves fields are kept as FieldStorage says. A cell needs at least two cells along an axis.
template <class ExecutionSpace>
class HomogenizationSolver {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using moduli_type = CellField<float, memory_space>;
  using vector_type = NodalVector<double, memory_space>;

  /// Floats per cell that scratch() offers.
  static constexpr int scratch_floats = 12;

  /// \param grid       periodic along every axis
  /// \param stiffness  element matrix for modulus 1
  /// \param second     element matrix for a second modulus of 1, where cells are combinations of two
  /// \throws InputError for an axis that is not periodic, a matrix without parity form, or solver settings that cannot
  /// be
  ///         (solver.method "jacobi" with precision fp64, fp32 or mixed; "multigrid" with mixed)
  /// \throws OutOfMemory
  HomogenizationSolver(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                       StrainPlan const& plan, SolverSettings const& settings,
                       FieldStorage storage = FieldStorage::automatic,
                       Translations translations = Translations::project,
                       std::optional<Hex8Matrix> const& second = std::nullopt);
  ~HomogenizationSolver();
  HomogenizationSolver(HomogenizationSolver const&) = delete;
  HomogenizationSolver& operator=(HomogenizationSolver const&) = delete;

  /// Bytes that the constructor allocates.
  static index_t bytes(BoxGrid const& grid, Hex8Matrix const& stiffness, StrainPlan const& plan,
                       SolverSettings const& settings, FieldStorage storage = FieldStorage::automatic,
                       bool has_second = false);

  BoxGrid const& grid() const { return grid_; }
  StrainPlan const& plan() const { return plan_; }
  SolverMethod method() const { return method_; }
  FieldStorage storage() const { return storage_; }

  /// Young's modulus per cell, extent (cells), to be written by the caller; all 1 at first. A cell without material
  /// needs a small positive modulus.
  moduli_type const& moduli() const { return moduli_; }
  /// The second modulus per cell, which may be negative; 0 at first. Empty without a second element matrix.
  moduli_type const& second_moduli() const { return second_moduli_; }
  /// Tells that the moduli changed.
  void moduli_changed() { changed_ = true; }
  /// The next solves start from zero.
  void forget_fields() { cold_ = true; }

  /// Solves for every strain of the plan, each from its last field. Waits for `space`.
  HomogenizationReport solve(ExecutionSpace const& space, SolveOptions const& options);

  /// C from the present fields; entries that the plan does not give are 0. With StrainPlan::single C is the tensor of
  /// rank one with the same v . C v. Waits for `space`.
  Tensor6 tensor(ExecutionSpace const& space);

  /// out_e = factor sum over st of derivative_st dC_st/dE_e, extent (cells). With a cubic plan this is right after
  /// averaging over the orbits of the symmetry only (design/cell_symmetry.hpp).
  /// Second moduli are constants.
  /// \param derivative  symmetric; entries that the plan does not give must be 0
  template <class Real>
  void sensitivity(ExecutionSpace const& space, Tensor6 const& derivative, double factor,
                   CellField<Real, memory_space> const& out);

  /// The fluctuation u of a strain of the plan, in FP64; `into` has extent (nodes).
  void field(ExecutionSpace const& space, int strain, vector_type const& into) const;

  /// Memory that lies idle between solves, scratch_floats floats per cell; the next solve() destroys it.
  Kokkos::View<float*, memory_space> scratch() const;

 private:
  struct Second;
  class Method;
  class Multigrid;
  template <class Outer, class Inner>
  class Jacobi;

  detail::StrainFields fields() const;
  std::vector<double> energies(ExecutionSpace const& space, int t, std::vector<int> const& list);

  BoxGrid grid_;
  Hex8Matrix stiffness_;
  StrainPlan plan_;
  SolverMethod method_;
  FieldStorage storage_;
  std::optional<Hex8Matrix> second_;
  moduli_type moduli_, second_moduli_;
  std::unique_ptr<Method> solver_;
  vector_type work_;                                         // the field in flight where they are not kept in FP64
  std::vector<Kokkos::View<double*, memory_space>> fields_;  // memory of any format
  std::vector<double> scales_;                               // of int16
  SumWorkspace<ExecutionSpace> workspace_;
  Kokkos::View<double*, memory_space> sums_;
  bool changed_ = true;
  bool cold_ = true;
};

/// The tensor of a periodic image: moduli of every cell in, C in their unit out.
/// \param moduli  extent (cells), finite, >= 0; zeros are raised to 1e-9 of the largest
/// \throws InputError for moduli that are not, or are all zero; Error where a solve does not reach the tolerance
template <class ExecutionSpace>
Tensor6 homogenized_tensor(ExecutionSpace const& space, BoxGrid const& grid,
                           CellField<double const, typename ExecutionSpace::memory_space> const& moduli, double poisson,
                           SolverSettings const& settings = {}, HomogenizationReport* report = nullptr);

/// The same for materials of several Poisson's ratios.
/// \param poisson  extent (cells), in (-1, 0.5) where the modulus is not zero
/// \throws InputError also for such a ratio
template <class ExecutionSpace>
Tensor6 homogenized_tensor(ExecutionSpace const& space, BoxGrid const& grid,
                           CellField<double const, typename ExecutionSpace::memory_space> const& moduli,
                           CellField<double const, typename ExecutionSpace::memory_space> const& poisson,
                           SolverSettings const& settings = {}, HomogenizationReport* report = nullptr);

}  // namespace brickwork
