// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/hex8_stiffness.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"

using namespace brickwork;

namespace {

using Dense = Eigen::Matrix<double, 24, 24>;

Dense dense(Hex8Matrix const& k) {
  Dense matrix;
  for (int i = 0; i < 24; ++i)
    for (int j = 0; j < 24; ++j) matrix(i, j) = k[i][j];
  return matrix;
}

// Displacements of the corners under u = A x.
Eigen::Matrix<double, 24, 1> linear_field(Eigen::Matrix3d const& a, Vec3 const& h) {
  Eigen::Matrix<double, 24, 1> u;
  for (int n = 0; n < 8; ++n) {
    Eigen::Vector3d const x((n & 1) * h[0], ((n >> 1) & 1) * h[1], (n >> 2) * h[2]);
    u.segment<3>(3 * n) = a * x;
  }
  return u;
}

}  // namespace

TEST_CASE("hex8 stiffness is symmetric, has six rigid modes and is positive on the rest") {
  for (double nu : {-0.5, 0.0, 0.3, 0.45, 0.499}) {
    Vec3 const h{1, 2, 5};
    Dense const k = dense(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, nu}), h));
    CHECK((k - k.transpose()).cwiseAbs().maxCoeff() < 1e-13 * k.cwiseAbs().maxCoeff());
    Eigen::SelfAdjointEigenSolver<Dense> const eigen(k);
    CHECK(std::abs(eigen.eigenvalues()(5)) < 1e-12 * eigen.eigenvalues()(23));
    CHECK(eigen.eigenvalues()(6) > 1e-6 * eigen.eigenvalues()(23));
  }
}

TEST_CASE("hex8 stiffness gives the exact energy of every unit strain") {
  Vec3 const h{0.5, 2, 3};
  OrthotropicMaterial material;
  material.young = {3, 1, 2};
  material.shear = {0.4, 0.7, 0.2};
  material.nu_xy = 0.2, material.nu_xz = 0.1, material.nu_yz = 0.25;
  auto const c = elasticity_matrix(material);
  Dense const k = dense(hex8_stiffness(c, h));
  int const pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
  for (int s = 0; s < 6; ++s) {
    for (int t = 0; t < 6; ++t) {
      Eigen::Matrix3d as = Eigen::Matrix3d::Zero(), at = Eigen::Matrix3d::Zero();
      as(pairs[s][0], pairs[s][1]) = 1;  // unit normal strain, or unit engineering shear
      at(pairs[t][0], pairs[t][1]) = 1;
      double const energy = linear_field(as, h).dot(k * linear_field(at, h));
      CHECK(energy == Approx(c[s][t] * h[0] * h[1] * h[2]).margin(1e-12));
    }
  }
}

TEST_CASE("the parity form reproduces the matrix and has 45 entries") {
  int coupled = 0;
  for (int s = 0; s < 8; ++s)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) coupled += parity_coupled(s, a, b) ? 1 : 0;
  CHECK(coupled == 45);
  auto const k = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 2, 5});
  auto const blocks = parity_blocks(k);
  auto const sign = [](int s, int n) { return __builtin_parity(static_cast<unsigned>(s & n)) ? -1.0 : 1.0; };
  double worst = 0;
  for (int n = 0; n < 8; ++n)
    for (int m = 0; m < 8; ++m)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          double sum = 0;
          for (int s = 0; s < 8; ++s) sum += sign(s ^ (1 << a), n) * blocks[s][a][b] * sign(s ^ (1 << b), m);
          worst = std::max(worst, std::abs(sum - k[3 * n + a][3 * m + b]));
        }
  CHECK(worst < 1e-14 * 5);
}

TEST_CASE("materials out of range are refused with the range") {
  CHECK_THROWS_AS(elasticity_matrix(IsotropicMaterial{1, 0.5}), InputError);
  CHECK_THROWS_AS(elasticity_matrix(IsotropicMaterial{1, -1.0}), InputError);
  CHECK_THROWS_AS(elasticity_matrix(IsotropicMaterial{0, 0.3}), InputError);
  CHECK_THROWS_AS(elasticity_matrix(IsotropicMaterial{NAN, 0.3}), InputError);
  OrthotropicMaterial indefinite;
  indefinite.nu_xy = 1.5;
  CHECK_THROWS_AS(elasticity_matrix(indefinite), InputError);
  CHECK_THROWS_AS(hex8_stiffness(elasticity_matrix(IsotropicMaterial{}), {1, 0, 1}), InputError);
  // Isotropy is a special case of orthotropy.
  OrthotropicMaterial same;
  same.young = {2, 2, 2};
  same.nu_xy = same.nu_xz = same.nu_yz = 0.25;
  same.shear = {0.8, 0.8, 0.8};
  auto const a = elasticity_matrix(same), b = elasticity_matrix(IsotropicMaterial{2, 0.25});
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) CHECK(a[i][j] == Approx(b[i][j]).margin(1e-14));
}
