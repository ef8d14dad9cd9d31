// SPDX-License-Identifier: BSD-3-Clause
// What a homogenization run is: the periodic cell, its materials, and for inverse homogenization the objective, filter,
// start and stopping rule, as plain data. Free of Kokkos: configuration readers fill it.
#pragma once

#include <cstdint>
#include <optional>
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

/// What is done about the translations of a periodic cell, which nothing holds.
enum class Translations {
  project,  ///< their part is taken out of residuals and fields
  pin       ///< corner 0 is held; slow and less accurate where that lies in void (for comparison)
};

/// The periodic cell and the solver: what tensor and design share.
struct PeriodicCell {
  Index3 cells{};
  Vec3 lengths{1, 1, 1};
  double poisson = 0.3;   ///< of designs and densities; materials of labels have their own
  SolverSettings solver;  ///< multigrid or jacobi; tolerance on the true residual of every strain's solve
  FieldStorage storage = FieldStorage::automatic;
  Translations translations = Translations::project;
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
  double relative_change = 5e-4;  ///< of the objective, relative to the largest |f| of the last ten steps
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
  std::optional<index_t> start_step;  ///< of a series; none: its last
  bool resample_start = false;        ///< else a start file of another size is an error
  std::uint64_t seed = 1;
  int start_waves = 3;
  int start_periods = 1;
  StoppingRule stop;
};

/// Rejects a problem that cannot be meant: sizes, ranges, unknown names, constraints that contradict each other or the
/// bounds of what is possible. Returns warnings, one line each.
/// \throws InputError with one line that says what is wrong and what would be right
std::vector<std::string> validate(HomogenizeProblem const& problem);

/// The material of the cells with one value of a labelled image.
struct LabelMaterial {
  int label = 0;
  double young = 1;      ///< >= 0; 0 is void
  double poisson = 0.3;  ///< of no effect where young is 0
};

/// The tensor of a given cell: an image whose values are labels of materials or densities.
struct TensorProblem {
  std::string name = "cell";
  PeriodicCell cell;                     ///< cells and lengths of zero: those of the image
  std::vector<LabelMaterial> materials;  ///< not empty: the image holds labels; else densities in [0, 1]
  double young = 1;                      ///< of density 1
  double young_min_ratio = 1e-9;         ///< of void to the solid, or to the stiffest material
  double penalization = 3;               ///< E = Emin + (E0 - Emin) rho^p
  std::optional<double> threshold;       ///< densities from here on are solid, those below void
};

/// \throws InputError, and returns warnings, as the other validate()
std::vector<std::string> validate(TensorProblem const& problem);

/// The unit of image_moduli(): Young's modulus of the solid, or of the stiffest material.
double modulus_unit(TensorProblem const& problem);

/// The Poisson's ratio of the solver's element matrix: that of the stiffest material, or of the solid.
double reference_poisson(TensorProblem const& problem);

/// Whether materials that are not void differ in Poisson's ratio: their cells need a second modulus.
bool has_several_ratios(TensorProblem const& problem);

/// What an image holds, beside its moduli.
struct ImageContent {
  double volume = 0;                 ///< mean of the densities, or share of the cells whose material is not void
  std::vector<double> shares;        ///< of the materials, in their order; empty for densities
  std::vector<float> second_moduli;  ///< over modulus_unit(); empty where one Poisson's ratio serves all cells
};

/// Replaces an image's values (x fastest) by Young's moduli over modulus_unit(), in place. Where has_several_ratios()
/// these are the first moduli of IsotropicSplit (fem/material.hpp) at reference_poisson(), beside the second ones.
/// \throws InputError naming the first cell whose value is not finite, no density in [0, 1], or a label without a
///         material; where the size is not that of `cells`; and for an image without any material
ImageContent image_moduli(TensorProblem const& problem, Index3 const& cells, std::vector<float>& values);

/// Lengths of a cell of `cells` cubes whose longest side is 1.
Vec3 cubic_lengths(Index3 const& cells);

}  // namespace brickwork
