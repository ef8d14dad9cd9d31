// SPDX-License-Identifier: BSD-3-Clause
// Cubic Hermite elements on boxes: one-dimensional matrices and tensor-product element matrices. Free of Kokkos.
//
// On the reference interval [0, 1] a cubic is given by (u(0), u'(0), u(1), u'(1)), the derivatives with respect to the
// reference coordinate x / h. In `Dim` dimensions the 4^Dim unknowns of a cell are the tensor product: unknown
// i_x + 4 (i_y + 4 i_z). A vertex owns 2^Dim of them: unknown m of a vertex is the derivative of order (m >> d) & 1 in
// each axis d; corner n of a cell lies at (n >> d) & 1; together i_d = 2 n_d + m_d. Vertices that carry equal unknowns
// give a field that is C1 across cells of one size; between sizes a derivative scales by the ratio of the widths.
//
// Every bilinear form here is a sum of tensor products of the integrals of psi_i^(k) psi_j^(k), k = 0, 1, 2:
//   mass         (u, v)
//   laplace      (grad u, grad v)
//   biharmonic   (Hessian u, Hessian v), the plate energy for a clamped or simply supported boundary
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 2 and 4.
#pragma once

#include <array>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// [i][j] over (u(0), u'(0), u(1), u'(1)).
using HermiteMatrix1D = std::array<std::array<double, 4>, 4>;

/// Integral over a cell of width h of the product of the derivatives of order `order` of two basis functions, with
/// respect to the physical coordinate.
/// \param order  0 (mass), 1 (stiffness) or 2 (bending)
/// \param h      width of the cell, > 0
HermiteMatrix1D hermite_matrix(int order, double h);

/// Value of the derivative of order `order` (0 to 3) of the basis functions at `x` in [0, 1], with respect to the
/// reference coordinate; for kernels too.
constexpr void hermite_basis_at(int order, double x, double (&b)[4]) {
  if (order == 0) {
    b[0] = (1 - x) * (1 - x) * (1 + 2 * x);
    b[1] = x * (1 - x) * (1 - x);
    b[2] = x * x * (3 - 2 * x);
    b[3] = x * x * (x - 1);
  } else if (order == 1) {
    b[0] = 6 * x * (x - 1);
    b[1] = (1 - x) * (1 - 3 * x);
    b[2] = 6 * x * (1 - x);
    b[3] = x * (3 * x - 2);
  } else if (order == 2) {
    b[0] = 12 * x - 6;
    b[1] = 6 * x - 4;
    b[2] = 6 - 12 * x;
    b[3] = 6 * x - 2;
  } else {
    b[0] = 12;
    b[1] = 6;
    b[2] = -12;
    b[3] = 6;
  }
}

/// The same as an array, checked.
/// \throws InputError for another order
std::array<double, 4> hermite_basis(int order, double x);

/// a(u, v) = mass (u, v) + laplace (grad u, grad v) + biharmonic (Hessian u, Hessian v); coefficients >= 0, not all 0.
struct HermiteForm {
  double mass = 0;
  double laplace = 0;
  double biharmonic = 1;
};

/// One tensor product of a form: coefficient times the integral of the derivatives of these orders, per axis.
template <int Dim>
struct HermiteTerm {
  double coefficient;
  std::array<int, Dim> order;
};

/// The tensor products that a form is made of; terms with coefficient 0 are left out.
/// \throws InputError for a negative or non-finite coefficient, or where all are 0
template <int Dim>
std::vector<HermiteTerm<Dim>> hermite_terms(HermiteForm const& form);

/// Element matrix of a form on a box, 4^Dim x 4^Dim, row-major.
/// \param spacing  sides of the cell, each > 0
template <int Dim>
std::vector<double> hermite_element(HermiteForm const& form, std::array<double, Dim> const& spacing);

/// Local unknown of unknown m at corner n of a cell.
template <int Dim>
constexpr int hermite_local(int n, int m) {
  int local = 0;
  for (int d = Dim - 1; d >= 0; --d) local = 4 * local + 2 * ((n >> d) & 1) + ((m >> d) & 1);
  return local;
}

}  // namespace brickwork
