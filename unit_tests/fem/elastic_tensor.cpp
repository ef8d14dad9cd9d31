// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/elastic_tensor.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/fem/material.hpp"
#include "support/catch.hpp"
#include "support/tensors.hpp"

using namespace brickwork;
using namespace brickwork::test;

TEST_CASE("engineering constants of an isotropic tensor are those of the material, in every direction") {
  for (double nu : {-0.4, 0.0, 0.3, 0.49}) {
    double const young = 210e9, shear = young / (2 * (1 + nu)), bulk = young / (3 * (1 - 2 * nu));
    Tensor6 const c = elasticity_matrix(IsotropicMaterial{young, nu});
    auto const constants = engineering_constants(c);
    for (int i = 0; i < 3; ++i) {
      CHECK(constants.young[i] == Approx(young).epsilon(1e-11));
      CHECK(constants.shear[i] == Approx(shear).epsilon(1e-11));
      for (int j = 0; j < 3; ++j) CHECK(constants.poisson[i][j] == Approx(i == j ? 0 : nu).margin(1e-11));
    }
    CHECK(constants.bulk_voigt == Approx(bulk).epsilon(1e-11));
    CHECK(constants.bulk_reuss == Approx(bulk).epsilon(1e-11));
    CHECK(constants.shear_voigt == Approx(shear).epsilon(1e-11));
    CHECK(constants.shear_reuss == Approx(shear).epsilon(1e-11));
    CHECK(constants.zener == Approx(1).epsilon(1e-11));
    for (Vec3 const& n : {Vec3{1, 0, 0}, Vec3{1, 1, 1}, Vec3{-3, 0.2, 7}})
      CHECK(directional_young(c, n) == Approx(young).epsilon(1e-11));
    auto const eigenvalues = tensor_eigenvalues(c);
    std::array<double, 6> expected{shear, shear, shear, 2 * shear, 2 * shear, 3 * bulk};
    std::sort(expected.begin(), expected.end());
    for (int i = 0; i < 6; ++i) CHECK(eigenvalues[i] == Approx(expected[i]).epsilon(1e-11));
  }
}

TEST_CASE("engineering constants of a cubic tensor follow the textbook's formulas") {
  double const c11 = 10, c12 = 4, c44 = 5;
  Tensor6 const c = cubic_tensor(c11, c12, c44);
  double const det = (c11 - c12) * (c11 + 2 * c12);
  double const s11 = (c11 + c12) / det, s12 = -c12 / det, s44 = 1 / c44;
  auto const constants = engineering_constants(c);
  for (int i = 0; i < 3; ++i) {
    CHECK(constants.young[i] == Approx(1 / s11));
    CHECK(constants.shear[i] == Approx(c44));
    CHECK(constants.poisson[i][(i + 1) % 3] == Approx(-s12 / s11));
  }
  CHECK(constants.bulk_voigt == Approx((c11 + 2 * c12) / 3));
  CHECK(constants.bulk_reuss == Approx((c11 + 2 * c12) / 3));
  CHECK(constants.shear_voigt == Approx((c11 - c12 + 3 * c44) / 5));
  CHECK(constants.shear_reuss == Approx(5 * (c11 - c12) * c44 / (4 * c44 + 3 * (c11 - c12))));
  CHECK(constants.zener == Approx(2 * c44 / (c11 - c12)));
  double const anisotropy = s11 - s12 - s44 / 2;
  CHECK(directional_young(c, {0, 1, 1}) == Approx(1 / (s11 - anisotropy / 2)));
  CHECK(directional_young(c, {5, 5, 5}) == Approx(1 / (s11 - 2 * anisotropy / 3)));
}

TEST_CASE("engineering constants give an orthotropic material back, with the contraction under tension along the row") {
  OrthotropicMaterial material;
  material.young = {8, 3, 0.5};
  material.shear = {1, 2, 3};
  material.nu_xy = 0.3;
  material.nu_xz = 0.2;
  material.nu_yz = -0.1;
  auto const constants = engineering_constants(elasticity_matrix(material));
  for (int i = 0; i < 3; ++i) {
    CHECK(constants.young[i] == Approx(material.young[i]));
    CHECK(constants.shear[i] == Approx(material.shear[i]));
  }
  CHECK(constants.poisson[0][1] == Approx(material.nu_xy));
  CHECK(constants.poisson[0][2] == Approx(material.nu_xz));
  CHECK(constants.poisson[1][2] == Approx(material.nu_yz));
  CHECK(constants.poisson[1][0] == Approx(material.nu_xy * 3 / 8));
}

TEST_CASE("a rotated frame changes the directional modulus with it, and the averages not at all") {
  Tensor6 const c = random_tensor(7);
  auto const constants = engineering_constants(c);
  for (unsigned seed : {1u, 2u, 3u}) {
    Eigen::Matrix3d const r = random_rotation(seed);
    Tensor6 const rotated = rotated_tensor(c, r);
    auto const other = engineering_constants(rotated);
    CHECK(other.bulk_voigt == Approx(constants.bulk_voigt));
    CHECK(other.bulk_reuss == Approx(constants.bulk_reuss));
    CHECK(other.shear_voigt == Approx(constants.shear_voigt));
    CHECK(other.shear_reuss == Approx(constants.shear_reuss));
    for (Vec3 const& n : {Vec3{1, 0, 0}, Vec3{0.3, -2, 1}}) {
      Eigen::Vector3d const turned = r * Eigen::Vector3d(n[0], n[1], n[2]);
      CHECK(directional_young(rotated, {turned[0], turned[1], turned[2]}) == Approx(directional_young(c, n)));
    }
  }
}

TEST_CASE("the compliance is the inverse, for axes of very different stiffness too") {
  Tensor6 c = random_tensor(3);
  double const scale[6] = {1, 1e-5, 1e4, 1, 1e-6, 1e3};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) c[i][j] *= scale[i] * scale[j];
  Tensor6 const s = compliance_tensor(c);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      double sum = 0;
      for (int k = 0; k < 6; ++k) sum += c[i][k] * s[k][j];
      CHECK(sum * scale[j] / scale[i] == Approx(i == j ? 1 : 0).margin(1e-10));
    }
}

TEST_CASE("a tensor without a compliance is refused") {
  Tensor6 const good = cubic_tensor(3, 1, 1);
  Tensor6 c = good;
  c[1][2] = NAN;
  CHECK_THROWS_AS(engineering_constants(c), InputError);
  CHECK_THROWS_AS(tensor_eigenvalues(c), InputError);
  c = good;
  c[4][4] = 0;
  CHECK_THROWS_AS(compliance_tensor(c), InputError);
  CHECK_THROWS_AS(compliance_tensor(cubic_tensor(1, 1, 1)), InputError);   // C11 = C12
  CHECK_THROWS_AS(compliance_tensor(cubic_tensor(1, -2, 1)), InputError);  // negative bulk modulus
  CHECK_THROWS_AS(compliance_tensor(Tensor6{}), InputError);
  CHECK_THROWS_AS(directional_young(good, {0, 0, 0}), InputError);
  CHECK_THROWS_AS(directional_young(good, {0, NAN, 0}), InputError);
}

TEST_CASE("Hashin-Shtrikman bounds reach from void to solid, through the published values") {
  CHECK(hashin_shtrikman_bulk(10, 0.3, 0.3) == Approx(1.169591).epsilon(1e-6));
  CHECK(hashin_shtrikman_shear(10, 0.3, 0.3) == Approx(0.705128).epsilon(1e-6));
  CHECK(hashin_shtrikman_bulk(10, 0.3, 1) == Approx(25.0 / 3));
  CHECK(hashin_shtrikman_shear(10, 0.3, 1) == Approx(10 / 2.6));
  CHECK(hashin_shtrikman_bulk(10, 0.3, 0) == 0);
  CHECK(hashin_shtrikman_shear(10, 0.3, 0) == Approx(0).margin(1e-15));
  CHECK_THROWS_AS(hashin_shtrikman_bulk(10, 0.3, 1.1), InputError);
  CHECK_THROWS_AS(hashin_shtrikman_bulk(0, 0.3, 0.5), InputError);
  CHECK_THROWS_AS(hashin_shtrikman_shear(1, 0.5, 0.5), InputError);
  CHECK_THROWS_AS(hashin_shtrikman_shear(1, 0.3, NAN), InputError);
}

TEST_CASE("Hashin-Shtrikman bounds of phases") {
  // The porous ones, and the order of the phases is of no account.
  IsotropicBounds const porous = hashin_shtrikman_bounds({{10, 0.3, 0.3}, {0, 0.1, 0.7}});
  CHECK(porous.bulk_upper == Approx(hashin_shtrikman_bulk(10, 0.3, 0.3)));
  CHECK(porous.shear_upper == Approx(hashin_shtrikman_shear(10, 0.3, 0.3)));
  CHECK(porous.bulk_lower == 0);
  CHECK(porous.shear_lower == 0);
  // Two phases, by Hashin and Shtrikman's own formulas (1963): stiff 1, soft 2.
  double const k1 = 10 / (3 * (1 - 0.4)), g1 = 10 / 2.4, k2 = 1 / (3 * (1 - 0.6)), g2 = 1 / 2.6, v1 = 0.35, v2 = 0.65;
  for (auto const& phases : {std::vector<PhaseShare>{{10, 0.2, v1}, {1, 0.3, v2}},
                             std::vector<PhaseShare>{{1, 0.3, v2}, {10, 0.2, v1}, {1000, 0.45, 0}}}) {
    IsotropicBounds const b = hashin_shtrikman_bounds(phases);
    CHECK(b.bulk_upper == Approx(k1 + v2 / (1 / (k2 - k1) + 3 * v1 / (3 * k1 + 4 * g1))));
    CHECK(b.bulk_lower == Approx(k2 + v1 / (1 / (k1 - k2) + 3 * v2 / (3 * k2 + 4 * g2))));
    CHECK(b.shear_upper == Approx(g1 + v2 / (1 / (g2 - g1) + 6 * v1 * (k1 + 2 * g1) / (5 * g1 * (3 * k1 + 4 * g1)))));
    CHECK(b.shear_lower == Approx(g2 + v1 / (1 / (g1 - g2) + 6 * v2 * (k2 + 2 * g2) / (5 * g2 * (3 * k2 + 4 * g2)))));
  }
  // Equal shear moduli: both bounds of the bulk modulus are Hill's exact value (1963).
  double const g = 2;
  auto const of = [&](double poisson, double share) { return PhaseShare{2 * g * (1 + poisson), poisson, share}; };
  IsotropicBounds const equal = hashin_shtrikman_bounds({of(0.1, 0.4), of(0.4, 0.6)});
  CHECK(equal.bulk_lower == Approx(equal.bulk_upper));
  CHECK(equal.shear_lower == Approx(g));
  CHECK(equal.shear_upper == Approx(g));
  CHECK_THROWS_AS(hashin_shtrikman_bounds({{1, 0.3, 0.5}}), InputError);
  CHECK_THROWS_AS(hashin_shtrikman_bounds({{1, 0.5, 1}}), InputError);
  CHECK_THROWS_AS(hashin_shtrikman_bounds({{-1, 0.3, 1}}), InputError);
}

TEST_CASE("two matrices span the isotropic materials") {
  for (double reference : {-0.3, 0.2, 0.45}) {
    IsotropicSplit const split{reference};
    for (IsotropicMaterial const& material :
         {IsotropicMaterial{1, reference}, {7, 0.1}, {0.2, 0.45}, {3, -0.4}, {1, 0.499}}) {
      auto const c = elasticity_matrix(material), one = split.first_matrix(), two = split.second_matrix();
      double const first = split.first(material), second = split.second(material);
      CHECK(first > 0);
      if (material.poisson == reference) {
        CHECK(first == material.young);
        CHECK(second == 0);
      }
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j)
          CHECK(first * one[i][j] + second * two[i][j] == Approx(c[i][j]).margin(1e-12 * c[0][0]));
    }
  }
}
