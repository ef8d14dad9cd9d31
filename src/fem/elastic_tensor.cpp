// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/elastic_tensor.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

Matrix6 checked_matrix(Tensor6 const& tensor) {
  Matrix6 matrix;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      BRICKWORK_REQUIRE(std::isfinite(tensor[i][j]), "elasticity tensor: C", i + 1, j + 1, " = ", tensor[i][j],
                        "; it must be finite");
      matrix(i, j) = tensor[i][j];
    }
  return matrix;
}

Matrix6 inverse(Tensor6 const& tensor) {
  Matrix6 matrix = checked_matrix(tensor);
  // Unit diagonal: a cell that is soft along one axis is not thereby singular.
  Vector6 scale{};
  for (int i = 0; i < 6; ++i) {
    BRICKWORK_REQUIRE(matrix(i, i) > 0, "elasticity tensor: C", i + 1, i + 1, " = ", matrix(i, i),
                      "; the compliance exists for positive definite tensors");
    scale[i] = 1 / std::sqrt(matrix(i, i));
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) matrix(i, j) *= scale[i] * scale[j];
  Eigen::SelfAdjointEigenSolver<Matrix6> const eigen(0.5 * (matrix + matrix.transpose()), Eigen::EigenvaluesOnly);
  double const least = eigen.eigenvalues()(0);
  BRICKWORK_REQUIRE(least > 1e-14, "elasticity tensor: least eigenvalue ", least,
                    " with the diagonal scaled to one; the compliance exists for positive definite tensors");
  Matrix6 result = matrix.fullPivLu().inverse();
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) result(i, j) *= scale[i] * scale[j];
  return result;
}

struct Moduli {
  double bulk, shear;
};

Moduli isotropic_moduli(double young, double poisson, double fraction) {
  BRICKWORK_REQUIRE(std::isfinite(young) && young > 0, "Hashin-Shtrikman bound: Young's modulus ", young,
                    "; it must be positive");
  BRICKWORK_REQUIRE(poisson > -1 && poisson < 0.5, "Hashin-Shtrikman bound: Poisson's ratio ", poisson,
                    "; it must lie in (-1, 0.5)");
  BRICKWORK_REQUIRE(fraction >= 0 && fraction <= 1, "Hashin-Shtrikman bound: solid fraction ", fraction,
                    "; it must lie in [0, 1]");
  return {young / (3 * (1 - 2 * poisson)), young / (2 * (1 + poisson))};
}

}  // namespace

Tensor6 compliance_tensor(Tensor6 const& tensor) {
  Matrix6 const compliance = inverse(tensor);
  Tensor6 result{};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) result[i][j] = compliance(i, j);
  return result;
}

double bulk_modulus(Tensor6 const& c) { return (c[0][0] + c[1][1] + c[2][2] + 2 * (c[0][1] + c[0][2] + c[1][2])) / 9; }

EngineeringConstants engineering_constants(Tensor6 const& c) {
  Matrix6 const s = inverse(c);
  double const stretch = c[0][0] + c[1][1] + c[2][2], coupling = c[0][1] + c[0][2] + c[1][2],
               shear = c[3][3] + c[4][4] + c[5][5];
  double const s_stretch = s(0, 0) + s(1, 1) + s(2, 2), s_coupling = s(0, 1) + s(0, 2) + s(1, 2),
               s_shear = s(3, 3) + s(4, 4) + s(5, 5);
  EngineeringConstants result;
  for (int i = 0; i < 3; ++i) {
    result.young[i] = 1 / s(i, i);
    result.shear[i] = 1 / s(i + 3, i + 3);
    for (int j = 0; j < 3; ++j) result.poisson[i][j] = i == j ? 0 : -s(j, i) / s(i, i);
  }
  result.bulk_voigt = bulk_modulus(c);
  result.bulk_reuss = 1 / (s_stretch + 2 * s_coupling);
  result.shear_voigt = (stretch - coupling + 3 * shear) / 15;
  result.shear_reuss = 15 / (4 * (s_stretch - s_coupling) + 3 * s_shear);
  result.zener = 2 * shear / (stretch - coupling);
  return result;
}

double directional_young(Tensor6 const& tensor, Vec3 const& direction) {
  double const length = std::hypot(direction[0], direction[1], direction[2]);
  BRICKWORK_REQUIRE(std::isfinite(length) && length > 0, "directional Young's modulus: direction (", direction[0], ", ",
                    direction[1], ", ", direction[2], "); it must be finite and not zero");
  double const x = direction[0] / length, y = direction[1] / length, z = direction[2] / length;
  // Uniaxial stress n n; since strains hold engineering shear, the same vector reads the strain along n.
  Eigen::Matrix<double, 6, 1> stress;
  stress << x * x, y * y, z * z, y * z, x * z, x * y;
  return 1 / stress.dot(inverse(tensor) * stress);
}

double hashin_shtrikman_bulk(double young, double poisson, double fraction) {
  auto const [k, g] = isotropic_moduli(young, poisson, fraction);
  return 4 * g * k * fraction / (4 * g + 3 * k * (1 - fraction));
}

double hashin_shtrikman_shear(double young, double poisson, double fraction) {
  auto const [k, g] = isotropic_moduli(young, poisson, fraction);
  return g + (1 - fraction) / (-1 / g + 6 * fraction * (k + 2 * g) / (5 * g * (3 * k + 4 * g)));
}

IsotropicBounds hashin_shtrikman_bounds(std::vector<PhaseShare> const& phases) {
  struct Phase {
    double bulk, shear, share;
  };
  std::vector<Phase> present;
  double sum = 0;
  for (PhaseShare const& phase : phases) {
    Moduli const unit = isotropic_moduli(1, phase.poisson, phase.share);
    BRICKWORK_REQUIRE(std::isfinite(phase.young) && phase.young >= 0, "Hashin-Shtrikman bounds: Young's modulus ",
                      phase.young, "; it must be at least 0 and finite");
    sum += phase.share;
    if (phase.share > 0) present.push_back({phase.young * unit.bulk, phase.young * unit.shear, phase.share});
  }
  BRICKWORK_REQUIRE(std::abs(sum - 1) < 1e-9, "Hashin-Shtrikman bounds: the shares of the phases add up to ", sum,
                    "; they must add up to 1");
  // The harmonic mean of m + z less z; a comparison medium without stiffness gives Reuss' bound, 0 beside a void.
  auto const mean = [&](double Phase::*modulus, double z) {
    double inverse = 0;
    for (Phase const& phase : present) inverse += phase.share / (phase.*modulus + z);
    return 1 / inverse - z;
  };
  auto const shear_of = [](double k, double g) { return g > 0 ? g * (9 * k + 8 * g) / (6 * (k + 2 * g)) : 0.0; };
  auto const by_bulk = [](Phase const& a, Phase const& b) { return a.bulk < b.bulk; };
  auto const by_shear = [](Phase const& a, Phase const& b) { return a.shear < b.shear; };
  auto const [soft_bulk, stiff_bulk] = std::minmax_element(present.begin(), present.end(), by_bulk);
  auto const [soft_shear, stiff_shear] = std::minmax_element(present.begin(), present.end(), by_shear);
  IsotropicBounds bounds;
  bounds.bulk_lower = mean(&Phase::bulk, 4.0 / 3 * soft_shear->shear);
  bounds.bulk_upper = mean(&Phase::bulk, 4.0 / 3 * stiff_shear->shear);
  bounds.shear_lower = mean(&Phase::shear, shear_of(soft_bulk->bulk, soft_shear->shear));
  bounds.shear_upper = mean(&Phase::shear, shear_of(stiff_bulk->bulk, stiff_shear->shear));
  return bounds;
}

Vector6 tensor_eigenvalues(Tensor6 const& tensor) {
  Matrix6 const matrix = checked_matrix(tensor);
  Eigen::SelfAdjointEigenSolver<Matrix6> const eigen(0.5 * (matrix + matrix.transpose()), Eigen::EigenvaluesOnly);
  Vector6 result{};
  for (int i = 0; i < 6; ++i) result[i] = eigen.eigenvalues()(i);
  return result;
}

}  // namespace brickwork
