// SPDX-License-Identifier: BSD-3-Clause
// Which unknowns of a Hermite field the boundary conditions of the domain make zero.
#pragma once

#include "brickwork/fem/plate_boundary.hpp"
#include "brickwork/mesh/adaptive_grid.hpp"

namespace brickwork {

/// A PlateBoundary as kernels see it. On a clamped face all unknowns of a vertex are zero, on a simply supported one
/// those without a derivative normal to the face.
template <int Dim>
struct HermiteBoundary {
  PlateEdge face[Dim][2];  // [axis][lower, upper]

  HermiteBoundary(PlateBoundary<Dim> const& boundary = {}) {
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) face[d][side] = boundary[static_cast<std::size_t>(2 * d + side)];
  }

  /// Bit m set: unknown m of the vertex is zero.
  /// \param position  of the vertex in cells, \param cells  of the domain at the vertex' level
  KOKKOS_INLINE_FUNCTION int fixed(index_t const* position, index_t const* cells) const {
    int bits = 0;
    for (int d = 0; d < Dim; ++d) {
      if (position[d] != 0 && position[d] != cells[d]) continue;
      if (face[d][position[d] == 0 ? 0 : 1] == PlateEdge::clamped) return (1 << (1 << Dim)) - 1;
      for (int m = 0; m < (1 << Dim); ++m)
        if (((m >> d) & 1) == 0) bits |= 1 << m;
    }
    return bits;
  }
  /// The same of a vertex by its number.
  template <class MemorySpace>
  KOKKOS_INLINE_FUNCTION int fixed(GridLevel<MemorySpace, Dim> const& level, index_t vertex) const {
    return fixed(level.vertex_position(vertex).data(), level.domain_cells.data());
  }
  /// Bit m set: neither the boundary nor a coarser neighbour prescribes unknown m.
  template <class MemorySpace>
  KOKKOS_INLINE_FUNCTION int free(GridLevel<MemorySpace, Dim> const& level, index_t vertex) const {
    return level.at_refinement_edge(vertex) ? 0 : ((1 << (1 << Dim)) - 1) & ~fixed(level, vertex);
  }
};

}  // namespace brickwork
