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
#include "brickwork/fem/plate_boundary.hpp"
#include "brickwork/operators/hermite_fields.hpp"

namespace brickwork {

template <int Dim>
class ManufacturedSolution {
 public:
  ManufacturedSolution(BaseGrid<Dim> const& base, PlateBoundary<Dim> const& boundary) {
    for (int d = 0; d < Dim; ++d) {
      origin_[d] = base.origin[static_cast<std::size_t>(d)];
      length_[d] = base.lengths[static_cast<std::size_t>(d)];
      clamped_[d][0] = boundary[static_cast<std::size_t>(2 * d)] == PlateEdge::clamped;
      clamped_[d][1] = boundary[static_cast<std::size_t>(2 * d + 1)] == PlateEdge::clamped;
    }
  }

  /// Value and derivatives at x, for interpolate() and hermite_errors().
  KOKKOS_FUNCTION HermiteJet<Dim> operator()(Kokkos::Array<double, Dim> const& x) const {
    double g[Dim][5];
    for (int d = 0; d < Dim; ++d) factor(d, x[d], g[d]);
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
    double g[Dim][5];
    for (int d = 0; d < Dim; ++d) factor(d, x[d], g[d]);
    auto const product = [&](int p, int q) {  // two derivatives more along each of the two axes; Dim: none
      double value = 1;
      for (int d = 0; d < Dim; ++d) value *= g[d][(d == p ? 2 : 0) + (d == q ? 2 : 0)];
      return value;
    };
    double load = form.mass * product(Dim, Dim);
    for (int d = 0; d < Dim; ++d) {
      load += form.biharmonic * product(d, d) - form.laplace * product(d, Dim);
      for (int e = d + 1; e < Dim; ++e) load += 2 * form.biharmonic * product(d, e);
    }
    return load;
  }

 private:
  /// The factor of axis d and its derivatives of order 1 to 4.
  KOKKOS_FUNCTION void factor(int d, double x, double (&g)[5]) const {
    constexpr double pi = 3.14159265358979323846;
    double t = (x - origin_[d]) / length_[d], scale = 1 / length_[d];
    if (clamped_[d][0] != clamped_[d][1]) {
      if (clamped_[d][1]) {  // mirrored
        t = 1 - t;
        scale = -scale;
      }
      g[0] = t * t * (3 + t * (2 * t - 5));
      g[1] = t * (6 + t * (8 * t - 15));
      g[2] = 6 + t * (24 * t - 30);
      g[3] = 48 * t - 30;
      g[4] = 48;
    } else {
      bool const is_square = clamped_[d][0];
      double const omega = is_square ? 2 * pi : pi, s = math::sin(omega * t), c = math::cos(omega * t);
      scale *= omega;
      // Derivatives of sin(pi t), or of -cos(2 pi t) / 2, which is sin^2(pi t) up to a constant.
      double const waves[4] = {s, c, -s, -c};
      for (int n = 0; n < 5; ++n) g[n] = is_square ? 0.5 * waves[(n + 3) % 4] : waves[n % 4];
      if (is_square) g[0] += 0.5;
    }
    double unit = 1;
    for (int n = 1; n < 5; ++n) {
      unit *= scale;
      g[n] *= unit;
    }
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
