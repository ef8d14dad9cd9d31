// SPDX-License-Identifier: BSD-3-Clause
// A smooth function that satisfies the boundary conditions of a plate, and the load that it answers.
//
// u = product over the axes of g(t), t = (x - origin) / length in [0, 1], with g by the conditions at both ends:
//   clamped, clamped       sin^2(pi t)
//   supported, supported   sin(pi t)
//   clamped, supported     3 t^2 - 5 t^3 + 2 t^4 (the beam under a uniform load), mirrored for the other order
// so that u = du/dn = 0 on clamped faces and u = u_nn = 0 on supported ones.
#pragma once

#include "brickwork/fem/hermite.hpp"
#include "brickwork/operators/hermite_boundary.hpp"
#include "brickwork/operators/hermite_fields.hpp"

namespace brickwork {

template <int Dim>
class ManufacturedSolution {
 public:
  ManufacturedSolution(BaseGrid<Dim> const& base, HermiteBoundary<Dim> const& boundary) {
    for (int d = 0; d < Dim; ++d) {
      origin_[d] = base.origin[static_cast<std::size_t>(d)];
      length_[d] = base.lengths[static_cast<std::size_t>(d)];
      clamped_[d][0] = boundary.face[d][0] == BoundaryKind::clamped;
      clamped_[d][1] = boundary.face[d][1] == BoundaryKind::clamped;
    }
  }

  /// Value and derivatives at x, for interpolate() and hermite_errors().
  KOKKOS_FUNCTION HermiteJet<Dim> operator()(Kokkos::Array<double, Dim> const& x) const {
    double g[Dim][3];
    for (int d = 0; d < Dim; ++d)
      for (int order = 0; order < 3; ++order) g[d][order] = factor(d, order, x[d]);
    auto const product = [&](int p, int q) {  // one derivative more along each of the two axes; Dim: none
      double value = 1;
      for (int d = 0; d < Dim; ++d) value *= g[d][(d == p ? 1 : 0) + (d == q ? 1 : 0)];
      return value;
    };
    HermiteJet<Dim> jet;
    jet.value = product(Dim, Dim);
    for (int d = 0; d < Dim; ++d) {
      jet.gradient[d] = product(d, Dim);
      jet.hessian[d] = product(d, d);
      for (int e = d + 1; e < Dim; ++e) jet.hessian[detail::mixed_entry<Dim>(d, e)] = product(d, e);
    }
    if constexpr (Dim == 3) jet.mixed = g[0][1] * g[1][1] * g[2][1];
    return jet;
  }

  /// mass u - laplace Delta u + biharmonic Delta^2 u at x.
  KOKKOS_FUNCTION double load(HermiteForm const& form, Kokkos::Array<double, Dim> const& x) const {
    double g[Dim][3], value = 1, load = 0;  // derivatives of order 0, 2, 4
    for (int d = 0; d < Dim; ++d) {
      for (int n = 0; n < 3; ++n) g[d][n] = factor(d, 2 * n, x[d]);
      value *= g[d][0];
    }
    load = form.mass * value;
    for (int d = 0; d < Dim; ++d) {
      double second = 1, fourth = 1;
      for (int e = 0; e < Dim; ++e) {
        second *= g[e][e == d ? 1 : 0];
        fourth *= g[e][e == d ? 2 : 0];
      }
      load += form.biharmonic * fourth - form.laplace * second;
      for (int e = d + 1; e < Dim; ++e) {
        double mixed = 2 * form.biharmonic;
        for (int k = 0; k < Dim; ++k) mixed *= g[k][k == d || k == e ? 1 : 0];
        load += mixed;
      }
    }
    return load;
  }

 private:
  /// Derivative of order 0 to 4 of the factor of axis d.
  KOKKOS_FUNCTION double factor(int d, int order, double x) const {
    constexpr double pi = 3.14159265358979323846;
    double t = (x - origin_[d]) / length_[d], scale = 1, value = 0;
    bool const mirrored = !clamped_[d][0] && clamped_[d][1];
    if (mirrored) t = 1 - t;
    if (clamped_[d][0] == clamped_[d][1]) {
      double const omega = clamped_[d][0] ? 2 * pi : pi;
      // Derivatives of -cos(2 pi t) / 2, which is sin^2(pi t) up to its constant, and of sin(pi t).
      double const s = math::sin(omega * t), c = math::cos(omega * t);
      double const waves[4] = {s, c, -s, -c};
      value = clamped_[d][0] ? 0.5 * (order == 0 ? 1 : 0) + 0.5 * waves[(order + 3) % 4] : waves[order % 4];
      scale = omega;
    } else {
      double const derivatives[5] = {t * t * (3 + t * (2 * t - 5)), t * (6 + t * (8 * t - 15)), 6 + t * (24 * t - 30),
                                     48 * t - 30, 48};
      value = derivatives[order];
    }
    double unit = 1;
    for (int n = 0; n < order; ++n) unit *= (mirrored ? -scale : scale) / length_[d];
    return value * unit;
  }

  double origin_[Dim], length_[Dim];
  bool clamped_[Dim][2];
};

/// The load of a manufactured solution, for add_load().
template <int Dim>
struct ManufacturedLoad {
  ManufacturedSolution<Dim> solution;
  HermiteForm form;
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, Dim> const& x) const { return solution.load(form, x); }
};

}  // namespace brickwork
