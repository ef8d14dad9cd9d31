// SPDX-License-Identifier: BSD-3-Clause
// Hermite element matrices against Gauss quadrature, their null spaces, reflections and coarse-grid identity; their
// even-odd form and fast diagonalization against the dense matrix.
#include "brickwork/fem/hermite.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <string>

#include "brickwork/core/check.hpp"
#include "brickwork/fem/hermite_parity.hpp"
#include "support/catch.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

using Dense = Eigen::MatrixXd;

// Exact for polynomials of degree 9 on [0, 1].
struct Quadrature {
  std::array<double, 5> point, weight;
};

Quadrature gauss5() {
  double const a = std::sqrt(10.0 / 7.0), inner = std::sqrt(5 - 2 * a) / 3, outer = std::sqrt(5 + 2 * a) / 3;
  double const w_inner = (322 + 13 * std::sqrt(70.0)) / 900, w_outer = (322 - 13 * std::sqrt(70.0)) / 900;
  Quadrature rule{{-outer, -inner, 0, inner, outer}, {w_outer, w_inner, 128.0 / 225.0, w_inner, w_outer}};
  for (int q = 0; q < 5; ++q) {
    rule.point[q] = (1 + rule.point[q]) / 2;
    rule.weight[q] /= 2;
  }
  return rule;
}

Dense dense(HermiteMatrix1D const& m) {
  Dense matrix(4, 4);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) matrix(i, j) = m[i][j];
  return matrix;
}

Dense dense(std::vector<double> const& m) {
  auto const size = static_cast<Eigen::Index>(std::lround(std::sqrt(static_cast<double>(m.size()))));
  return Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const>(m.data(), size, size);
}

template <int Dim>
Dense element(HermiteForm const& form, std::array<double, Dim> const& spacing) {
  return dense(hermite_element<Dim>(form, spacing));
}

// a (x) b with the index of b fastest.
Dense kron(Dense const& a, Dense const& b) {
  Dense product(a.rows() * b.rows(), a.cols() * b.cols());
  for (int i = 0; i < a.rows(); ++i)
    for (int j = 0; j < a.cols(); ++j) product.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return product;
}

Dense reflection1d() {
  Dense r = Dense::Zero(4, 4);
  r(0, 2) = r(2, 0) = 1;
  r(1, 3) = r(3, 1) = -1;
  return r;
}

double largest(Dense const& m) { return m.cwiseAbs().maxCoeff(); }

template <int Dim>
std::array<double, Dim> stretched() {
  std::array<double, Dim> spacing{};
  for (int d = 0; d < Dim; ++d) spacing[d] = std::array<double, 3>{0.5, 1.25, 0.8}[d];
  return spacing;
}

std::vector<HermiteForm> const forms = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.3, 0.7, 1.5}};

// psi_i and its derivatives at a point of the cell, with respect to physical coordinates, as a product over the axes.
template <int Dim>
double basis(int i, std::array<int, Dim> const& order, std::array<double, Dim> const& point,
             std::array<double, Dim> const& h) {
  double product = 1;
  for (int d = 0; d < Dim; ++d)
    product *= hermite_basis(order[d], point[d])[(i >> 2 * d) & 3] / std::pow(h[d], order[d]);
  return product;
}

// The element matrix by quadrature of the full gradient and Hessian.
template <int Dim>
Dense integrated(HermiteForm const& form, std::array<double, Dim> const& h) {
  auto const rule = gauss5();
  int const size = 1 << 2 * Dim;
  Dense matrix = Dense::Zero(size, size);
  int points = 1;
  for (int d = 0; d < Dim; ++d) points *= 5;
  for (int q = 0; q < points; ++q) {
    std::array<double, Dim> x{};
    double weight = 1;
    for (int d = 0, rest = q; d < Dim; ++d, rest /= 5) {
      x[d] = rule.point[rest % 5];
      weight *= rule.weight[rest % 5] * h[d];
    }
    auto const add = [&](double coefficient, std::array<int, Dim> const& order) {
      Eigen::VectorXd values(size);
      for (int i = 0; i < size; ++i) values(i) = basis<Dim>(i, order, x, h);
      matrix += coefficient * weight * values * values.transpose();
    };
    add(form.mass, {});
    for (int d = 0; d < Dim; ++d) {
      std::array<int, Dim> order{};
      order[d] = 1;
      add(form.laplace, order);
      for (int e = 0; e < Dim; ++e) {
        std::array<int, Dim> second{};
        ++second[d], ++second[e];
        add(form.biharmonic, second);
      }
    }
  }
  return matrix;
}

}  // namespace

TEST_CASE("Hermite basis: interpolation at the ends, and derivatives that are those of the values") {
  for (int end = 0; end < 2; ++end)
    for (int order = 0; order < 2; ++order)
      for (int i = 0; i < 4; ++i) CHECK(hermite_basis(order, end)[i] == (i == 2 * end + order ? 1 : 0));
  double const step = 1e-5;
  for (int order = 0; order < 3; ++order)
    for (double x : {0.1, 0.37, 0.5, 0.9})
      for (int i = 0; i < 4; ++i)
        CHECK(
            hermite_basis(order + 1, x)[i] ==
            Approx((hermite_basis(order, x + step)[i] - hermite_basis(order, x - step)[i]) / (2 * step)).margin(1e-8));
}

TEST_CASE("Hermite matrices of one axis are the integrals of products of the basis") {
  auto const rule = gauss5();
  for (double h : {1.0, 0.125, 3.0}) {
    for (int order = 0; order < 3; ++order) {
      Dense sum = Dense::Zero(4, 4);
      for (int q = 0; q < 5; ++q) {
        auto const values = hermite_basis(order, rule.point[q]);
        Eigen::Map<Eigen::Vector4d const> const psi(values.data());
        sum += rule.weight[q] * std::pow(h, 1 - 2 * order) * psi * psi.transpose();
      }
      Dense const matrix = dense(hermite_matrix(order, h));
      CHECK(largest(matrix - sum) < 1e-14 * largest(matrix));
      CHECK(largest(matrix * reflection1d() - reflection1d() * matrix) == 0);
    }
  }
}

TEST_CASE("Hermite matrices annihilate constants and linears as their order demands") {
  double const h = 0.75;
  Eigen::Vector4d const constant(1, 0, 1, 0), linear(2, 3, 5, 3), quadratic(0, 0, 1, 2);
  Dense const mass = dense(hermite_matrix(0, h)), stiffness = dense(hermite_matrix(1, h)),
              bending = dense(hermite_matrix(2, h));
  CHECK((stiffness * constant).norm() < 1e-14 * stiffness.norm());
  CHECK((bending * constant).norm() < 1e-14 * bending.norm());
  CHECK((bending * linear).norm() < 1e-13 * bending.norm());
  CHECK(constant.dot(mass * constant) == Approx(h));
  CHECK(linear.dot(stiffness * linear) == Approx(9 / h));
  CHECK(quadratic.dot(bending * quadratic) == Approx(4 / (h * h * h)));
  CHECK_THROWS_AS(hermite_matrix(3, 1.0), InputError);
  CHECK_THROWS_AS(hermite_matrix(1, 0.0), InputError);
  CHECK_THROWS_AS(hermite_matrix(1, std::nan("")), InputError);
  CHECK_THROWS_AS(hermite_basis(4, 0.5), InputError);
}

TEMPLATE_TEST_CASE_SIG("Hermite element matrices are the integrals of their forms", "", ((int Dim), Dim), 1, 2, 3) {
  auto const h = stretched<Dim>();
  for (auto const& form : forms) {
    Dense const a = element<Dim>(form, h), reference = integrated<Dim>(form, h);
    CHECK(largest(a - reference) < 1e-13 * largest(a));
    CHECK(largest(a - a.transpose()) < 1e-15 * largest(a));
  }
  CHECK_THROWS_AS(hermite_element<Dim>({0, 0, 0}, h), InputError);
  CHECK_THROWS_AS(hermite_element<Dim>({-1, 0, 1}, h), InputError);
  CHECK_THROWS_AS(hermite_element<Dim>({0, std::nan(""), 1}, h), InputError);
}

TEST_CASE("the null space of the biharmonic element are the linear functions, of the Laplace element the constants") {
  auto const check = [](Dense const& a, int expected) {
    Eigen::SelfAdjointEigenSolver<Dense> const eigen(a);
    double const scale = eigen.eigenvalues()(a.rows() - 1);
    CHECK(std::abs(eigen.eigenvalues()(expected - 1)) < 1e-13 * scale);
    CHECK(eigen.eigenvalues()(expected) > 1e-9 * scale);
  };
  check(element<2>({0, 0, 1}, stretched<2>()), 3);
  check(element<3>({0, 0, 1}, stretched<3>()), 4);
  check(element<2>({0, 1, 0}, stretched<2>()), 1);
  check(element<3>({0, 1, 0}, stretched<3>()), 1);
}

TEMPLATE_TEST_CASE_SIG("the element matrix of a cell is that of its children, interpolated exactly", "",
                       ((int Dim), Dim), 1, 2, 3) {
  auto const h = stretched<Dim>();
  auto half = h;
  for (double& width : half) width /= 2;
  // Unknowns of child c of an axis: the cubic at c / 2 and (c + 1) / 2, derivatives for its own reference coordinate.
  std::array<Dense, 2> child;
  for (int c = 0; c < 2; ++c) {
    child[c].resize(4, 4);
    for (int end = 0; end < 2; ++end)
      for (int j = 0; j < 4; ++j) {
        double const x = 0.5 * (c + end);
        child[c](2 * end, j) = hermite_basis(0, x)[j];
        child[c](2 * end + 1, j) = 0.5 * hermite_basis(1, x)[j];
      }
  }
  for (auto const& form : forms) {
    Dense const coarse = element<Dim>(form, h), fine = element<Dim>(form, half);
    Dense sum = Dense::Zero(coarse.rows(), coarse.cols());
    for (int c = 0; c < 1 << Dim; ++c) {
      Dense p = Dense::Identity(1, 1);
      for (int d = 0; d < Dim; ++d) p = kron(child[(c >> d) & 1], p);
      sum += p.transpose() * fine * p;
    }
    CHECK(largest(sum - coarse) < 1e-13 * largest(coarse));
  }
}

TEMPLATE_TEST_CASE_SIG("the even-odd form of every set of axes gives back the element matrix", "", ((int Dim), Dim), 1,
                       2, 3) {
  auto const h = stretched<Dim>();
  int const size = 1 << 2 * Dim;
  Dense butterfly1d(4, 4);
  butterfly1d << 1, 0, 1, 0, 0, 1, 0, -1, 1, 0, -1, 0, 0, 1, 0, 1;
  for (auto const& form : forms) {
    auto const matrix = hermite_element<Dim>(form, h);
    for (unsigned axes = 0; axes < 1u << Dim; ++axes) {
      auto const sectors = hermite_sectors<Dim>(matrix, axes);
      CHECK(sectors.count * sectors.size == size);
      Dense blocks = Dense::Zero(size, size), butterflies = Dense::Identity(1, 1);
      for (int d = 0; d < Dim; ++d)
        butterflies = kron((axes >> d) & 1 ? butterfly1d : Dense(Dense::Identity(4, 4)), butterflies);
      for (int s = 0; s < sectors.count; ++s)
        for (int i = 0; i < sectors.size; ++i)
          for (int j = 0; j < sectors.size; ++j)
            blocks(hermite_sector_slot<Dim>(axes, s, i), hermite_sector_slot<Dim>(axes, s, j)) = sectors(s, i, j);
      Dense const a = dense(matrix);
      CHECK(largest(butterflies.transpose() * blocks * butterflies - a) < 1e-14 * largest(a));
    }
  }
}

TEST_CASE("butterflies in place are the matrices H and their transposes") {
  auto const check = [](auto transposed) {
    Dense h1(4, 4);
    h1 << 1, 0, 1, 0, 0, 1, 0, -1, 1, 0, -1, 0, 0, 1, 0, 1;
    Dense const h = kron(h1, kron(Dense::Identity(4, 4), h1));
    auto values = random_values(64, 3);
    Eigen::VectorXd const u = Eigen::Map<Eigen::VectorXd>(values.data(), 64);
    hermite_butterfly<3, 5, decltype(transposed)::value>(values.data());
    Eigen::VectorXd const expected = (decltype(transposed)::value ? Dense(h.transpose()) : h) * u;
    CHECK((Eigen::Map<Eigen::VectorXd>(values.data(), 64) - expected).norm() < 1e-14 * expected.norm());
  };
  check(std::false_type{});
  check(std::true_type{});
}

TEST_CASE("an element matrix that does not commute with a reflection has no even-odd form along that axis") {
  auto matrix = hermite_element<2>({0, 0, 1}, stretched<2>());
  matrix[0] *= 1.001;  // corner 0 stiffer than its mirror images
  CHECK_THROWS_AS(hermite_sectors<2>(matrix, 1), InputError);
  CHECK_THROWS_AS(hermite_sectors<2>(matrix, 3), InputError);
  CHECK_NOTHROW(hermite_sectors<2>(matrix, 0));
  matrix[(2 * 16) + 2] *= 1.001;  // and its image in x
  CHECK_NOTHROW(hermite_sectors<2>(matrix, 1));
  CHECK_THROWS_AS(hermite_sectors<2>(matrix, 2), InputError);
  CHECK_THROWS_AS(hermite_sectors<2>(matrix, 4), InputError);
  CHECK_THROWS_AS(hermite_sectors<3>(matrix, 1), InputError);
}

TEMPLATE_TEST_CASE_SIG("two diagonal parts in their own bases give the element matrix", "", ((int Dim), Dim), 1, 2, 3) {
  auto const h = stretched<Dim>();
  for (auto const& form : forms) {
    auto const split = hermite_diagonalization<Dim>(form, h);
    int const size = 1 << 2 * Dim;
    Dense sum = Dense::Zero(size, size);
    for (auto const* part : {&split.gradient, &split.bending}) {
      Dense f = Dense::Identity(1, 1);
      for (int d = 0; d < Dim; ++d) f = kron(dense(part->transform[d]), f);
      sum += f.transpose() * Eigen::Map<Eigen::VectorXd const>(part->diagonal.data(), size).asDiagonal() * f;
    }
    Dense const a = element<Dim>(form, h);
    CHECK(largest(sum - a) < 1e-13 * largest(a));
  }
  auto const membrane = hermite_diagonalization<Dim>({1, 1, 0}, h);
  for (double entry : membrane.bending.diagonal) CHECK(entry == 0);
  CHECK_THROWS_AS(hermite_diagonalization<Dim>({0, 0, 0}, h), InputError);
}

TEMPLATE_TEST_CASE_SIG("on equal boxes the block of a vertex in its cells is diagonal", "", ((int Dim), Dim), 1, 2, 3) {
  for (auto const& form : forms) {
    Dense const a = element<Dim>(form, stretched<Dim>());
    Dense block = Dense::Zero(1 << Dim, 1 << Dim);
    for (int n = 0; n < 1 << Dim; ++n)
      for (int i = 0; i < 1 << Dim; ++i)
        for (int j = 0; j < 1 << Dim; ++j) block(i, j) += a(hermite_local<Dim>(n, i), hermite_local<Dim>(n, j));
    Dense const diagonal = block.diagonal().asDiagonal();
    CHECK(largest(block - diagonal) < 1e-14 * largest(block));
    for (int m = 0; m < 1 << Dim; ++m) {
      int const first = hermite_local<Dim>(0, m);
      CHECK(block(m, m) == Approx((1 << Dim) * a(first, first)).epsilon(1e-13));
    }
  }
}
