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

}  // namespace brickwork
