// SPDX-License-Identifier: BSD-3-Clause
// Radial weights of density and sensitivity filters. Free of Kokkos.
#pragma once

namespace brickwork {

/// Weight of a neighbour at a distance d, with radius R and q = d / R < 1.
enum class FilterKernel {
  linear,  ///< R - d
  spline4  ///< 1 - 6 q^2 + 8 q^3 - 3 q^4
};

}  // namespace brickwork
