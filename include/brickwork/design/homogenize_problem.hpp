// SPDX-License-Identifier: BSD-3-Clause
// What a homogenization run is: the periodic cell, its materials, and for inverse homogenization the objective, filter,
// start and stopping rule, as plain data. Free of Kokkos: configuration readers fill it.
#pragma once

#include <string>
#include <vector>

#include "brickwork/core/types.hpp"
#include "brickwork/design/filter_kernel.hpp"
#include "brickwork/design/simp_problem.hpp"
#include "brickwork/design/tensor_objective.hpp"

namespace brickwork {

/// How displacements are kept between steps where more than one is needed.
enum class FieldStorage {
  automatic,  ///< fp64 where it is one field, else fp32
  fp64,
  fp32,
  int16  ///< 16-bit fractions of the field's largest component
};

/// The periodic cell and the solver: what tensor and design share.
struct PeriodicCell {
  Index3 cells{};
  Vec3 lengths{1, 1, 1};
  double poisson = 0.3;
  SolverSettings solver;  ///< multigrid or jacobi; tolerance on the true residual of every strain's solve
  FieldStorage storage = FieldStorage::automatic;
};

/// A constraint g <= 0 beside the volume (update = "mma").
struct TensorConstraint {
  enum class Kind {
    zener,              ///< |zener ratio - 1| <= bound
    bulk_at_least,      ///< bulk modulus >= bound
    shear_at_least,     ///< (C44 + C55 + C66) / 3 >= bound
    expression_at_most  ///< expression <= bound
  };
  Kind kind = Kind::zener;
  double bound = 0;
  std::string expression;
};

enum class DesignFilter { none, density, sensitivity };
enum class DesignUpdateMethod { optimality_criteria, moving_asymptotes };

/// When a design is done.
struct StoppingRule {
  double relative_change = 5e-4;  ///< of the objective, relative to the larger of |f| and the first step's |f|
  int times = 3;                  ///< in a row
  int first_step = 12;            ///< not before this step, nor before the last stage of the schedule has begun
  int most_steps = 300;
};

struct HomogenizeProblem {
  std::string name = "cell";
  PeriodicCell cell;
  double young = 1;               ///< of the solid
  double young_min_ratio = 1e-9;  ///< Emin / E0; E = Emin + (E0 - Emin) rho^p
  double volume_fraction = 0.3;
  std::string objective = "bulk";  ///< a name of tensor_objective_names(), or "expression"
  std::string expression;
  ObjectiveParameters parameters;  ///< its `young` is taken from above
  std::vector<TensorConstraint> constraints;
  DesignUpdateMethod update = DesignUpdateMethod::optimality_criteria;
  double damping = 0.5;            ///< exponent of the optimality criteria
  double lower = 1e-3, upper = 1;  ///< bounds of the design variable
  DesignFilter filter = DesignFilter::sensitivity;
  FilterKernel kernel = FilterKernel::linear;
  bool projection = false;  ///< tanh projection with the stages' beta
  double projection_eta = 0.5;
  Schedule schedule;                  ///< stages: penalization, beta, move, radius (cells); its steps bound the run too
  std::string symmetry = "reflect6";  ///< a name of cell_symmetry_names()
  std::string start = "randc";        ///< a name of start_density_names(), or "file"
  std::string start_file;
  bool resample_start = false;  ///< else a start file of another size is an error
  std::uint64_t seed = 1;
  int start_waves = 3;
  int start_periods = 1;
  StoppingRule stop;
};

/// Rejects a problem that cannot be meant. Returns warnings, one line each.
/// \throws InputError with one line that says what is wrong and what would be right
std::vector<std::string> validate(HomogenizeProblem const& problem);

}  // namespace brickwork
