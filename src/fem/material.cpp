// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/material.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

struct RelativeModuli {
  double shear, bulk;
};

// Beside those of Young's modulus 1 and the reference ratio; exactly `young` at the reference ratio.
RelativeModuli relative_moduli(IsotropicMaterial const& m, double reference) {
  return {m.young * ((1 + reference) / (1 + m.poisson)), m.young * ((1 - 2 * reference) / (1 - 2 * m.poisson))};
}

}  // namespace

ElasticityMatrix elasticity_matrix(IsotropicMaterial const& material) {
  double const young = material.young;
  double const nu = material.poisson;
  BRICKWORK_REQUIRE(std::isfinite(young) && young > 0, "material: Young's modulus ", young, "; it must be positive");
  BRICKWORK_REQUIRE(nu > -1 && nu < 0.5, "material: Poisson's ratio ", nu, "; it must lie in (-1, 0.5)");
  double const lambda = young * nu / ((1 + nu) * (1 - 2 * nu));
  double const mu = young / (2 * (1 + nu));
  ElasticityMatrix c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c[i][j] = lambda + (i == j ? 2 * mu : 0);
    c[i + 3][i + 3] = mu;
  }
  return c;
}

ElasticityMatrix elasticity_matrix(OrthotropicMaterial const& material) {
  for (int axis = 0; axis < 3; ++axis) {
    BRICKWORK_REQUIRE(std::isfinite(material.young[axis]) && material.young[axis] > 0, "material: Young's modulus ",
                      material.young[axis], " along ", "xyz"[axis], "; it must be positive");
    BRICKWORK_REQUIRE(std::isfinite(material.shear[axis]) && material.shear[axis] > 0, "material: shear modulus ",
                      material.shear[axis], "; it must be positive");
  }
  auto const& e = material.young;
  Eigen::Matrix3d compliance;
  compliance << 1 / e[0], -material.nu_xy / e[0], -material.nu_xz / e[0],  //
      -material.nu_xy / e[0], 1 / e[1], -material.nu_yz / e[1],            //
      -material.nu_xz / e[0], -material.nu_yz / e[1], 1 / e[2];
  Eigen::LLT<Eigen::Matrix3d> const factor(compliance);
  BRICKWORK_REQUIRE(compliance.allFinite() && factor.info() == Eigen::Success,
                    "material: Poisson's ratios nu_xy = ", material.nu_xy, ", nu_xz = ", material.nu_xz,
                    ", nu_yz = ", material.nu_yz,
                    " make the compliance indefinite; |nu_ij| < sqrt(E_i / E_j) is needed");
  Eigen::Matrix3d const stiffness = compliance.inverse();
  ElasticityMatrix c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c[i][j] = 0.5 * (stiffness(i, j) + stiffness(j, i));
    c[i + 3][i + 3] = material.shear[i];
  }
  return c;
}

double IsotropicSplit::first(IsotropicMaterial const& material) const {
  auto const [shear, bulk] = relative_moduli(material, reference);
  return (1 - bulk_weight) * shear + bulk_weight * bulk;
}

double IsotropicSplit::second(IsotropicMaterial const& material) const {
  auto const [shear, bulk] = relative_moduli(material, reference);
  return bulk - shear;
}

ElasticityMatrix IsotropicSplit::first_matrix() const { return elasticity_matrix(IsotropicMaterial{1.0, reference}); }

ElasticityMatrix IsotropicSplit::second_matrix() const {
  double const bulk = (1 - bulk_weight) / (3 * (1 - 2 * reference));
  double const shear = -bulk_weight / (2 * (1 + reference));
  ElasticityMatrix c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c[i][j] = bulk - 2.0 / 3 * shear + (i == j ? 2 * shear : 0);
    c[i + 3][i + 3] = shear;
  }
  return c;
}

}  // namespace brickwork
