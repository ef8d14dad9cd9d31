// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Legendre quadrature on [0, 1]. Free of Kokkos.
#pragma once

#include <vector>

namespace brickwork {

/// Sum of weight f(point) is the integral over [0, 1], exact for polynomials of degree 2 n - 1.
struct GaussRule {
  std::vector<double> points, weights;  ///< points ascending
};

/// \param points  their number, in [1, 64]
/// \throws InputError for another one
GaussRule gauss_rule(int points);

}  // namespace brickwork
