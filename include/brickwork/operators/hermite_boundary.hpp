// SPDX-License-Identifier: BSD-3-Clause
// Boundary conditions of Hermite fields: which unknowns of a vertex on the boundary of the domain are zero.
#pragma once

#include <array>

#include "brickwork/core/fields.hpp"

namespace brickwork {

/// Clamped: u = du/dn = 0, all unknowns of the vertex. Simply supported: u = 0, the unknowns without a derivative
/// normal to the face; the bending moment vanishes in the weak sense.
enum class BoundaryKind : std::uint8_t { clamped, simply_supported };

template <int Dim>
struct HermiteBoundary {
  BoundaryKind face[Dim][2] = {};  ///< [axis][lower, upper]; clamped unless set

  /// Bit m set: unknown m of the vertex is zero.
  /// \param position  of the vertex in cells, \param cells  of the domain at the vertex' level
  KOKKOS_INLINE_FUNCTION int fixed(index_t const* position, index_t const* cells) const {
    int bits = 0;
    for (int d = 0; d < Dim; ++d) {
      if (position[d] != 0 && position[d] != cells[d]) continue;
      if (face[d][position[d] == 0 ? 0 : 1] == BoundaryKind::clamped) return (1 << (1 << Dim)) - 1;
      for (int m = 0; m < (1 << Dim); ++m)
        if (((m >> d) & 1) == 0) bits |= 1 << m;
    }
    return bits;
  }
};

}  // namespace brickwork
