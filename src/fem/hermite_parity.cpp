// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/hermite_parity.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

// H u over a set of axes known at run time.
template <int Dim>
void butterfly(unsigned axes, double* u) {
  if (axes & 1) hermite_butterfly<Dim, 1, false>(u);
  if constexpr (Dim > 1) {
    if (axes & 2) hermite_butterfly<Dim, 2, false>(u);
  }
  if constexpr (Dim > 2) {
    if (axes & 4) hermite_butterfly<Dim, 4, false>(u);
  }
}

struct EigenBasis {
  HermiteMatrix1D transform;
  std::array<double, 4> values;
};

// M-orthonormal eigenvectors of the matrix of the given order against the mass, as F = Q^T M. In extended precision: an
// error of the basis is one of every product.
EigenBasis eigen_basis(int order, double h) {
  using Matrix = Eigen::Matrix<long double, 4, 4>;
  auto const dense = [](HermiteMatrix1D const& m) {
    Matrix matrix;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) matrix(i, j) = m[i][j];
    return matrix;
  };
  Matrix const mass = dense(hermite_matrix(0, h));
  Eigen::GeneralizedSelfAdjointEigenSolver<Matrix> const eigen(dense(hermite_matrix(order, h)), mass);
  Matrix const transform = eigen.eigenvectors().transpose() * mass;
  EigenBasis basis;
  for (int i = 0; i < 4; ++i) {
    basis.values[i] = static_cast<double>(eigen.eigenvalues()(i));
    for (int j = 0; j < 4; ++j) basis.transform[i][j] = static_cast<double>(transform(i, j));
  }
  return basis;
}

}  // namespace

template <int Dim>
HermiteSectors<Dim> hermite_sectors(std::vector<double> const& element, unsigned axes) {
  constexpr int unknowns = 1 << 2 * Dim;
  BRICKWORK_REQUIRE(element.size() == std::size_t(unknowns) * unknowns, "Hermite element matrix has ", element.size(),
                    " entries, it must have ", unknowns * unknowns);
  BRICKWORK_REQUIRE(axes < 1u << Dim, "axes to split are ", axes, ", they must lie in 0 to ", (1 << Dim) - 1);
  HermiteSectors<Dim> sectors;
  sectors.axes = axes;
  double factor = 1;
  for (int d = 0; d < Dim; ++d) {
    if (((axes >> d) & 1) == 0) continue;
    sectors.count *= 2;
    factor /= 4;
  }
  sectors.size = unknowns / sectors.count;

  // H A H^T: its rows, then its columns.
  std::vector<double> split = element, column(unknowns);
  double largest = 0;
  for (int i = 0; i < unknowns; ++i) butterfly<Dim>(axes, split.data() + i * unknowns);
  for (int j = 0; j < unknowns; ++j) {
    for (int i = 0; i < unknowns; ++i) column[i] = split[i * unknowns + j];
    butterfly<Dim>(axes, column.data());
    for (int i = 0; i < unknowns; ++i) {
      split[i * unknowns + j] = factor * column[i];
      largest = std::max(largest, std::abs(split[i * unknowns + j]));
    }
  }

  std::vector<int> sector_of(unknowns);
  sectors.blocks.resize(static_cast<std::size_t>(sectors.count * sectors.size * sectors.size));
  for (int s = 0; s < sectors.count; ++s) {
    for (int row = 0; row < sectors.size; ++row) {
      int const i = hermite_sector_slot<Dim>(axes, s, row);
      sector_of[i] = s;
      for (int k = 0; k < sectors.size; ++k)
        sectors.blocks[(s * sectors.size + row) * sectors.size + k] =
            split[i * unknowns + hermite_sector_slot<Dim>(axes, s, k)];
    }
  }
  for (int i = 0; i < unknowns; ++i) {
    for (int j = 0; j < unknowns; ++j) {
      bool const couples_parities = sector_of[i] != sector_of[j];
      BRICKWORK_REQUIRE(!couples_parities || std::abs(split[i * unknowns + j]) <= 1e-12 * largest,
                        "Hermite element matrix couples parities by ", split[i * unknowns + j], " of ", largest,
                        "; an even-odd form needs a matrix that commutes with the reflections of its axes");
    }
  }
  return sectors;
}

template <int Dim>
HermiteDiagonalization<Dim> hermite_diagonalization(HermiteForm const& form, std::array<double, Dim> const& spacing) {
  (void)hermite_terms<Dim>(form);  // its checks
  HermiteDiagonalization<Dim> result;
  std::array<EigenBasis, Dim> gradient, bending;
  for (int d = 0; d < Dim; ++d) {
    gradient[d] = eigen_basis(1, spacing[d]);
    bending[d] = eigen_basis(2, spacing[d]);
    result.gradient.transform[d] = gradient[d].transform;
    result.bending.transform[d] = bending[d].transform;
  }
  for (int i = 0; i < 1 << 2 * Dim; ++i) {
    double sum = 0, pairs = 0, bend = 0;
    for (int d = 0; d < Dim; ++d) {
      double const lambda = gradient[d].values[(i >> 2 * d) & 3];
      pairs += sum * lambda;
      sum += lambda;
      bend += bending[d].values[(i >> 2 * d) & 3];
    }
    result.gradient.diagonal.push_back(form.mass + form.laplace * sum + 2 * form.biharmonic * pairs);
    result.bending.diagonal.push_back(form.biharmonic * bend);
  }
  return result;
}

template HermiteSectors<1> hermite_sectors<1>(std::vector<double> const&, unsigned);
template HermiteSectors<2> hermite_sectors<2>(std::vector<double> const&, unsigned);
template HermiteSectors<3> hermite_sectors<3>(std::vector<double> const&, unsigned);
template HermiteDiagonalization<1> hermite_diagonalization<1>(HermiteForm const&, std::array<double, 1> const&);
template HermiteDiagonalization<2> hermite_diagonalization<2>(HermiteForm const&, std::array<double, 2> const&);
template HermiteDiagonalization<3> hermite_diagonalization<3>(HermiteForm const&, std::array<double, 3> const&);

}  // namespace brickwork
