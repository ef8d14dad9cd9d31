// SPDX-License-Identifier: BSD-3-Clause
// Moduli from densities.
#pragma once

#include "brickwork/core/fields.hpp"

namespace brickwork {

/// SIMP interpolation E = Emin + (E0 - Emin) rho^p.
struct SimpInterpolation {
  double young = 1;
  double young_min = 1e-9;
  double penalization = 3;
};

namespace detail {

template <class Real, class Outer, class Inner>
struct Interpolate {
  Real const* density;
  Outer* outer;
  Inner* inner;  // null where the precisions agree
  SimpInterpolation simp;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    double const rho =
        math::clamp(static_cast<double>(density[cell]), 0.0, 1.0);  // a tiny negative value has no real power
    double const modulus = simp.young_min + (simp.young - simp.young_min) * math::pow(rho, simp.penalization);
    outer[cell] = static_cast<Outer>(modulus);
    if (inner) inner[cell] = static_cast<Inner>(modulus);
  }
};

}  // namespace detail

}  // namespace brickwork
