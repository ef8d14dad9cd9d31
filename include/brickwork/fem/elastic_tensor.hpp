// SPDX-License-Identifier: BSD-3-Clause
// Elasticity tensors as 6 x 6 matrices, and what engineers read from them. Free of Kokkos.
//
// Strains and stresses are ordered xx, yy, zz, yz, xz, xy with engineering shear (gamma = 2 epsilon), so that C44 of an
// isotropic material is its shear modulus.
#pragma once

#include <array>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// A strain or stress in the order xx, yy, zz, yz, xz, xy.
using Vector6 = std::array<double, 6>;
/// An elasticity tensor: rows are stresses, columns strains.
using Tensor6 = std::array<std::array<double, 6>, 6>;

/// Engineering constants of an elasticity tensor, in the unit of its entries where they have one.
struct EngineeringConstants {
  Vec3 young{};                   ///< E along x, y, z
  Vec3 shear{};                   ///< G in yz, xz, xy
  std::array<Vec3, 3> poisson{};  ///< poisson[i][j]: contraction along j under tension along i; 0 for i = j
  double bulk_voigt = 0;          ///< (C11 + C22 + C33 + 2 (C12 + C13 + C23)) / 9
  double bulk_reuss = 0;          ///< 1 / (S11 + S22 + S33 + 2 (S12 + S13 + S23))
  double shear_voigt = 0;         ///< of an isotropic aggregate of cells
  double shear_reuss = 0;
  double zener = 0;  ///< 2 C44 / (C11 - C12) of the means over the axes; 1 is isotropic
};

/// \throws InputError for a tensor that is not finite or not positive definite: its compliance does not exist
EngineeringConstants engineering_constants(Tensor6 const& tensor);

/// Voigt's bulk modulus, (C11 + C22 + C33 + 2 (C12 + C13 + C23)) / 9: of any tensor, also a singular one.
double bulk_modulus(Tensor6 const& tensor);

/// The compliance S = C^-1. \throws InputError as engineering_constants()
Tensor6 compliance_tensor(Tensor6 const& tensor);

/// Young's modulus along a direction (need not have unit length): 1 / (n n : S : n n).
/// \throws InputError as engineering_constants(), and for a zero direction
double directional_young(Tensor6 const& tensor, Vec3 const& direction);

/// Upper Hashin-Shtrikman bounds of a porous isotropic material at a solid fraction in [0, 1].
/// \throws InputError for a modulus, Poisson's ratio or fraction out of range
/// Source: Hashin and Shtrikman, 1963, with void as the second phase.
double hashin_shtrikman_bulk(double young, double poisson, double fraction);
double hashin_shtrikman_shear(double young, double poisson, double fraction);

/// An isotropic material's share of a volume.
struct PhaseShare {
  double young = 1;  ///< >= 0; 0 is void
  double poisson = 0.3;
  double share = 1;
};

/// Bounds of the bulk and shear moduli of an isotropic mixture.
struct IsotropicBounds {
  double bulk_lower = 0, bulk_upper = 0, shear_lower = 0, shear_upper = 0;
};

/// Hashin-Shtrikman bounds of any number of isotropic phases, in Walpole's form (1966): comparison media of the least
/// and of the largest bulk and shear moduli, which for two phases need not be of one phase. The bounds of the bulk
/// modulus hold for mixtures of cubic symmetry too. Phases without a share do not count; a void makes the lower bounds
/// zero.
/// \throws InputError for a phase out of range, or shares that do not add up to 1
IsotropicBounds hashin_shtrikman_bounds(std::vector<PhaseShare> const& phases);

/// The eigenvalues of the symmetric part, ascending. \throws InputError for a tensor that is not finite
Vector6 tensor_eigenvalues(Tensor6 const& tensor);

}  // namespace brickwork
