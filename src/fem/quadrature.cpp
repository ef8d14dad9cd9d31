// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/quadrature.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

GaussRule gauss_rule(int points) {
  BRICKWORK_REQUIRE(points >= 1 && points <= 64, "number of Gauss points is ", points, ", it must lie in [1, 64]");
  double const pi = std::acos(-1.0);
  GaussRule rule;
  for (int i = points; i >= 1; --i) {
    // Newton's method for the roots of the Legendre polynomial, from Tricomi's estimate.
    double x = std::cos(pi * (i - 0.25) / (points + 0.5)), slope = 1;
    for (int step = 0; step < 10; ++step) {
      double previous = 1, value = x;
      for (int n = 2; n <= points; ++n) {
        double const next = ((2 * n - 1) * x * value - (n - 1) * previous) / n;
        previous = value;
        value = next;
      }
      slope = points * (x * value - previous) / (x * x - 1);
      x -= value / slope;
    }
    rule.points.push_back((1 + x) / 2);
    rule.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

}  // namespace brickwork
