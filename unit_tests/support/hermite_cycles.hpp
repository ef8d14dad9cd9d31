// SPDX-License-Identifier: BSD-3-Clause
// Cycles and boundaries for tests of Hermite solvers.
#pragma once

#include "brickwork/fem/plate_boundary.hpp"
#include "brickwork/solvers/hermite_cycle.hpp"

namespace brickwork::test {

/// Simply supported on some faces, clamped on the others.
template <int Dim>
PlateBoundary<Dim> mixed_boundary() {
  PlateBoundary<Dim> boundary{};
  boundary[0] = boundary[1] = boundary[2 * Dim - 1] = PlateEdge::simply_supported;
  return boundary;
}

inline HermiteCycleOptions patch(bool symmetric = true) {
  HermiteCycleOptions cycle;
  cycle.smoother = HermiteSmoother::patch;
  cycle.symmetric = symmetric;
  return cycle;
}

}  // namespace brickwork::test
