// SPDX-License-Identifier: BSD-3-Clause
// Inverse homogenization: the density of a periodic cell that minimizes a function of its homogenized tensor.
//
// Per step, with design variable rho: rho^ = H rho (density filter), rho~ = projection(rho^),
//   E = Emin + (E0 - Emin) rho~^p, the cell problems of the strains that the objective needs, C, f(C) and df/dC,
//   df/drho~ = p (E0 - Emin) rho~^(p-1) sum over st of df/dC_st dC_st/dE, averaged over the orbits of the symmetry, the
//   chain rule through projection and H^T or the sensitivity filter, and an update by optimality criteria or moving
//   asymptotes under the volume constraint.
// The sensitivity filter is s_i <- sum_j w_ij rho_j s_j / (rho_i sum_j w_ij).
// Source: the inverse-homogenization text, sections 3 to 5.
//
// Moduli are computed with E0 = 1 and tensors scaled afterwards: the unit of stress does not reach the solver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "brickwork/design/cell_symmetry.hpp"
#include "brickwork/design/homogenized_tensor.hpp"
#include "brickwork/design/moving_asymptotes.hpp"
#include "brickwork/design/simp_design.hpp"

namespace brickwork {

/// What one design step did. Objective, tensor and volume are of the density that was analysed, before its update.
struct HomogenizeStep {
  int step = 0;
  ScheduleStage parameters;
  double objective = 0;
  double volume = 0;
  double grayness = 0;
  double change = 0;      ///< largest change of a design variable
  double constraint = 0;  ///< the largest g of the constraints g <= 0 beside the volume; 0 where there are none
  double bulk = 0;        ///< (C11 + C22 + C33 + 2 (C12 + C13 + C23)) / 9; NaN where the solves do not give it
  Tensor6 tensor{};
  TensorEntries known{};                        ///< the entries that the solves gave, i <= j
  int iterations = 0;                           ///< over all strains
  double true_residual = 0;                     ///< the worst over the strains
  SolveStatus status = SolveStatus::converged;  ///< the worst over the strains
  double seconds_filter = 0, seconds_solve = 0, seconds_sensitivity = 0, seconds_update = 0, seconds = 0;
};

/// \tparam Real precision of the cell fields; what the solver computes in is SolverSettings::precision
template <class ExecutionSpace, class Real = double>
class HomogenizeOptimizer {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;

  /// Checks the problem, allocates what the run needs and makes the start density (of StartDensity::uniform where it
  /// comes from a file: set_design() follows then).
  /// \param objective  another function than the problem names, or null
  /// \throws InputError for a problem that cannot be meant
  HomogenizeOptimizer(ExecutionSpace const& space, HomogenizeProblem const& problem,
                      TensorObjective const* objective = nullptr);

  /// Bytes that the constructor allocates on the device, of those that grow with the cells, for the objective that the
  /// problem names.
  static index_t bytes(HomogenizeProblem const& problem);

  HomogenizeProblem const& problem() const { return problem_; }
  BoxGrid const& grid() const { return grid_; }
  StrainPlan const& plan() const { return plan_; }
  ElasticityKernel kernel() const { return ElasticityKernel::parity; }
  SolverMethod method() const { return method_; }
  FieldStorage storage() const { return storage_; }

  /// Replaces the design variable: one value in [0, 1] per cell, x fastest; averaged over the orbits of the symmetry.
  /// \throws InputError for another number of values, or one that is not in [0, 1]
  void set_design(std::vector<float> const& design);
  /// The design variable, extent (cells).
  const_field_type design() const { return design_.variable(); }

  /// \throws InputError where the objective is not finite at the present tensor
  HomogenizeStep step();
  int steps_done() const { return done_; }
  /// Whether the stopping rule holds or the steps are used up.
  bool finished() const;

  /// Physical density rho~ of the present design, extent (cells), until the next call of this object.
  const_field_type density();

  /// The present design analysed once more, with its whole tensor: the strains that the objective did without are
  /// solved for too, with fields in int16 where there is no room for more. `status` says whether all solves converged.
  /// \throws InputError where the objective is not finite there
  HomogenizeStep final_analysis();

  /// f and its derivative with respect to the design variable at the present design. For tests and other optimizers.
  double evaluate(ScheduleStage const& parameters, int iteration, field_type const& derivative);

 private:
  struct Function {
    TensorObjective of;
    double offset = 0, factor = 1;  // g = offset + factor f
  };

  void make_solver(StrainPlan const& plan, FieldStorage storage);
  static std::vector<Function> constraint_functions(HomogenizeProblem const& problem);
  static StrainPlan plan_of(TensorObjective const& objective, std::vector<Function> const& constraints, bool cubic);
  void restore_solver();
  DensityMeasures project(ScheduleStage parameters);
  void analyse(ScheduleStage const& parameters, HomogenizeStep& record);
  void evaluate_functions(HomogenizeStep& record, Tensor6& derivative, std::vector<double>& values,
                          std::vector<Tensor6>& derivatives) const;
  void slopes(Tensor6 const& derivative, double unit);
  void filter_sensitivity(field_type const& slope, field_type const& out);
  void gradient(Tensor6 const& derivative, double unit, double factor, field_type const& out, field_type const& volume);
  void update(Tensor6 const& derivative, std::vector<double> const& values, std::vector<Tensor6> const& derivatives,
              HomogenizeStep& record);
  void watch(HomogenizeStep const& record);
  field_type scratch(int i) const;

  ExecutionSpace space_;
  HomogenizeProblem problem_;
  CellSymmetry symmetry_;
  BoxGrid grid_;
  Hex8Matrix stiffness_;
  TensorObjective objective_;
  std::vector<Function> constraints_;
  StrainPlan plan_;
  SolverMethod method_;
  FieldStorage storage_;
  SimpDesign<ExecutionSpace, Real> design_;
  ConeFilter<ExecutionSpace, Real> sensitivity_filter_;
  std::unique_ptr<MovingAsymptotes<ExecutionSpace, Real>> asymptotes_;
  std::vector<field_type> gradients_;  // of objective, volume and constraints, for moving asymptotes
  std::unique_ptr<HomogenizationSolver<ExecutionSpace>> solver_;
  bool whole_plan_ = false;  // the solver was made by tensor()
  int done_ = 0;
  int quiet_ = 0;                   // steps in a row with little change
  std::vector<double> objectives_;  // of all steps
};

}  // namespace brickwork
