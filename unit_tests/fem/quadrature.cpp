// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/quadrature.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"

using namespace brickwork;

TEST_CASE("Gauss rules integrate polynomials of degree 2 n - 1") {
  for (int points = 1; points <= 20; ++points) {
    GaussRule const rule = gauss_rule(points);
    REQUIRE(rule.points.size() == static_cast<std::size_t>(points));
    for (int degree = 0; degree < 2 * points; ++degree) {
      double sum = 0;
      for (int p = 0; p < points; ++p) sum += rule.weights[p] * std::pow(rule.points[p], degree);
      REQUIRE(sum == Approx(1.0 / (degree + 1)).epsilon(1e-13));
    }
    for (int p = 1; p < points; ++p) REQUIRE(rule.points[p] > rule.points[p - 1]);
  }
  CHECK_THROWS_AS(gauss_rule(0), InputError);
  CHECK_THROWS_AS(gauss_rule(65), InputError);
}
