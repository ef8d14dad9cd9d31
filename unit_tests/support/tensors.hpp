// SPDX-License-Identifier: BSD-3-Clause
// Elasticity tensors for the tests: random, cubic, rotated by their definition with four indices.
#pragma once

#include <Eigen/Dense>

#include "brickwork/fem/elastic_tensor.hpp"
#include "support/reference.hpp"

namespace brickwork::test {

inline Tensor6 cubic_tensor(double c11, double c12, double c44) {
  Tensor6 c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c[i][j] = i == j ? c11 : c12;
    c[i + 3][i + 3] = c44;
  }
  return c;
}

/// Symmetric and positive definite, without further symmetry.
inline Tensor6 random_tensor(unsigned seed) {
  auto const values = random_values(36, seed);
  Eigen::Matrix<double, 6, 6> a;
  for (int i = 0; i < 36; ++i) a(i / 6, i % 6) = values[static_cast<std::size_t>(i)];
  a = (a * a.transpose() + Eigen::Matrix<double, 6, 6>::Identity()).eval();
  Tensor6 c{};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) c[i][j] = 0.5 * (a(i, j) + a(j, i));
  return c;
}

inline Eigen::Matrix3d random_rotation(unsigned seed) {
  auto const values = random_values(4, seed);
  return Eigen::Quaterniond(values[0], values[1], values[2], values[3]).normalized().toRotationMatrix();
}

/// C'_ijkl = R_ip R_jq R_kr R_ls C_pqrs.
inline Tensor6 rotated_tensor(Tensor6 const& c, Eigen::Matrix3d const& r) {
  constexpr int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
  auto const voigt = [](int i, int j) { return i == j ? i : 6 - i - j; };
  Tensor6 result{};
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b < 6; ++b)
      for (int pqrs = 0; pqrs < 81; ++pqrs) {
        int const p = pqrs % 3, q = pqrs / 3 % 3, s = pqrs / 9 % 3, t = pqrs / 27;
        result[a][b] +=
            r(pair[a][0], p) * r(pair[a][1], q) * r(pair[b][0], s) * r(pair[b][1], t) * c[voigt(p, q)][voigt(s, t)];
      }
  return result;
}

}  // namespace brickwork::test
