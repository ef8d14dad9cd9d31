// SPDX-License-Identifier: BSD-3-Clause
// Linear elastic materials and their 6 x 6 elasticity matrices. Free of Kokkos.
//
// Strains and stresses are ordered xx, yy, zz, yz, xz, xy, with engineering shear strains.
#pragma once

#include <array>

namespace brickwork {

using ElasticityMatrix = std::array<std::array<double, 6>, 6>;

/// Young's modulus and Poisson's ratio.
struct IsotropicMaterial {
  double young = 1.0;
  double poisson = 0.3;
};

/// Orthotropic material aligned with the axes: moduli in the unit of stress, nu_ij = contraction along j under tension
/// along i.
struct OrthotropicMaterial {
  std::array<double, 3> young{1, 1, 1};        ///< E_x, E_y, E_z
  std::array<double, 3> shear{0.5, 0.5, 0.5};  ///< G_yz, G_xz, G_xy
  double nu_xy = 0;
  double nu_xz = 0;
  double nu_yz = 0;
};

/// \throws InputError unless E > 0 is finite and -1 < nu < 0.5
ElasticityMatrix elasticity_matrix(IsotropicMaterial const& material);

/// \throws InputError unless the moduli are positive and the matrix is positive definite
ElasticityMatrix elasticity_matrix(OrthotropicMaterial const& material);

/// Isotropic materials of several Poisson's ratios as combinations of two elasticity matrices:
///   C(E, nu) = first C(1, reference) + second D,   first = (3 x + y) / 4,   second = y - x,
/// x and y the shear and the bulk modulus beside those of C(1, reference), D the isotropic matrix of 3/4 of its bulk
/// and -1/4 of its shear modulus. The first part is near the material, so that it can stand for it in a preconditioner;
/// the second is 0 at the reference ratio and may be negative. The weights are those of the fewest iterations in trials
/// (docs/homogenization.md).
struct IsotropicSplit {
  static constexpr double bulk_weight = 0.25;  ///< of y in the first part

  double reference = 0.3;  ///< Poisson's ratio of the first matrix

  double first(IsotropicMaterial const& material) const;
  double second(IsotropicMaterial const& material) const;
  ElasticityMatrix first_matrix() const;
  ElasticityMatrix second_matrix() const;
};

}  // namespace brickwork
