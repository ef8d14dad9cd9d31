// SPDX-License-Identifier: BSD-3-Clause
// Coefficients of the Chebyshev iteration of the first kind on [lower, upper], for the spectrum of D^-1 A:
//   d = momentum d + weight D^-1 (b - A x),  x = x + d,
// with momentum 0 in the first stage. Source: Y. Saad, Iterative Methods for Sparse Linear Systems, algorithm 12.1.
// Free of Kokkos.
#pragma once

namespace brickwork::detail {

class ChebyshevStages {
 public:
  /// \param lower, upper  0 < lower < upper
  ChebyshevStages(double lower, double upper)
      : delta_(0.5 * (upper - lower)),
        sigma_(0.5 * (upper + lower) / delta_),
        rho_(1 / sigma_),
        weight_(2 / (upper + lower)) {}

  double momentum() const { return momentum_; }
  double weight() const { return weight_; }

  /// Goes on to the coefficients of the next stage.
  void advance() {
    double const next = 1 / (2 * sigma_ - rho_);
    momentum_ = next * rho_;
    weight_ = 2 * next / delta_;
    rho_ = next;
  }

 private:
  double delta_, sigma_, rho_;
  double momentum_ = 0, weight_;
};

}  // namespace brickwork::detail
