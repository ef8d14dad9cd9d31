// SPDX-License-Identifier: BSD-3-Clause
// Boundary conditions of the biharmonic problem on a box. Free of Kokkos.
#pragma once

#include <array>

namespace brickwork {

enum class PlateEdge {
  clamped,          ///< u = 0 and du/dn = 0
  simply_supported  ///< u = 0; that the bending moment vanishes follows from the form
};

/// Per face of the domain: entry 2 d + s is the lower (s = 0) or upper (s = 1) face normal to axis d. Clamped all
/// around unless stated otherwise.
template <int Dim>
using PlateBoundary = std::array<PlateEdge, 2 * Dim>;

}  // namespace brickwork
