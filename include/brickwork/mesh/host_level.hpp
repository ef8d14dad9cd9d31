// SPDX-License-Identifier: BSD-3-Clause
// A level of an adaptive grid for the host: for files, and for tests.
#pragma once

#include "brickwork/mesh/adaptive_grid.hpp"

namespace brickwork {

/// Copies the tables of a level to the host, where it has any; waits for the device.
template <class MemorySpace, int Dim>
GridLevel<Kokkos::HostSpace, Dim> host_level(GridLevel<MemorySpace, Dim> const& level) {
  auto const copy = [](auto const& table) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), table); };
  return {level.domain_cells,
          level.origin,
          level.spacing,
          level.box_begin,
          level.box_cells,
          level.is_box,
          level.cell_count,
          level.vertex_count,
          level.leaf_count,
          copy(level.cell_keys),
          copy(level.vertex_keys),
          copy(level.is_refined),
          copy(level.vertex_cells),
          copy(level.vertex_leaves)};
}

}  // namespace brickwork
