// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/hermite.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

HermiteMatrix1D hermite_matrix(int order, double h) {
  BRICKWORK_REQUIRE(std::isfinite(h) && h > 0, "width of a Hermite cell is ", h, ", it must be positive");
  static constexpr HermiteMatrix1D integers[3] = {
      {{{156, 22, 54, -13}, {22, 4, 13, -3}, {54, 13, 156, -22}, {-13, -3, -22, 4}}},
      {{{36, 3, -36, 3}, {3, 4, -3, -1}, {-36, -3, 36, -3}, {3, -1, -3, 4}}},
      {{{12, 6, -12, 6}, {6, 4, -6, 2}, {-12, -6, 12, -6}, {6, 2, -6, 4}}}};
  BRICKWORK_REQUIRE(order >= 0 && order <= 2, "order of a Hermite matrix is ", order, ", it must be 0, 1 or 2");
  double const scale = order == 0 ? h / 420 : order == 1 ? 1 / (30 * h) : 1 / (h * h * h);
  HermiteMatrix1D matrix = integers[order];
  for (auto& row : matrix)
    for (double& entry : row) entry *= scale;
  return matrix;
}

std::array<double, 4> hermite_basis(int order, double x) {
  BRICKWORK_REQUIRE(order >= 0 && order <= 3, "order of a Hermite derivative is ", order, ", it must be 0 to 3");
  double b[4] = {};
  hermite_basis_at(order, x, b);
  return {b[0], b[1], b[2], b[3]};
}

template <int Dim>
std::vector<HermiteTerm<Dim>> hermite_terms(HermiteForm const& form) {
  for (double const coefficient : {form.mass, form.laplace, form.biharmonic})
    BRICKWORK_REQUIRE(std::isfinite(coefficient) && coefficient >= 0, "coefficient of a bilinear form is ", coefficient,
                      ", it must be finite and not negative");
  BRICKWORK_REQUIRE(form.mass > 0 || form.laplace > 0 || form.biharmonic > 0,
                    "all coefficients of the bilinear form are 0");
  std::vector<HermiteTerm<Dim>> terms;
  auto const add = [&](double coefficient, std::array<int, Dim> const& order) {
    if (coefficient > 0) terms.push_back({coefficient, order});
  };
  add(form.mass, {});
  for (int d = 0; d < Dim; ++d) {
    std::array<int, Dim> order{};
    order[d] = 1;
    add(form.laplace, order);
    order[d] = 2;
    add(form.biharmonic, order);
    for (int e = d + 1; e < Dim; ++e) {
      std::array<int, Dim> mixed{};
      mixed[d] = mixed[e] = 1;
      add(2 * form.biharmonic, mixed);
    }
  }
  return terms;
}

template <int Dim>
std::vector<double> hermite_element(HermiteForm const& form, std::array<double, Dim> const& spacing) {
  int const size = 1 << 2 * Dim;
  HermiteMatrix1D matrix[Dim][3];
  for (int d = 0; d < Dim; ++d)
    for (int order = 0; order < 3; ++order) matrix[d][order] = hermite_matrix(order, spacing[d]);
  auto const terms = hermite_terms<Dim>(form);
  std::vector<double> element(static_cast<std::size_t>(size * size), 0.0);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      for (auto const& term : terms) {
        double product = term.coefficient;
        for (int d = 0; d < Dim; ++d) product *= matrix[d][term.order[d]][(i >> 2 * d) & 3][(j >> 2 * d) & 3];
        element[static_cast<std::size_t>(i * size + j)] += product;
      }
  return element;
}

template std::vector<HermiteTerm<1>> hermite_terms<1>(HermiteForm const&);
template std::vector<HermiteTerm<2>> hermite_terms<2>(HermiteForm const&);
template std::vector<HermiteTerm<3>> hermite_terms<3>(HermiteForm const&);
template std::vector<double> hermite_element<1>(HermiteForm const&, std::array<double, 1> const&);
template std::vector<double> hermite_element<2>(HermiteForm const&, std::array<double, 2> const&);
template std::vector<double> hermite_element<3>(HermiteForm const&, std::array<double, 3> const&);

}  // namespace brickwork
