// SPDX-License-Identifier: BSD-3-Clause
// A Hermite field on the leaves of an adaptive grid as an unstructured mesh, for a file.
//
// Cells are the leaves, level by level; points are the vertices of the leaves of each level, so that a vertex which two
// levels share stands there once for each. Point data: value, gradient (three components). Cell data: level, and
// estimate where an indicator is given, the square root of it. The host holds the whole mesh: about 100 bytes per leaf
// in two dimensions and 140 in three, beside the level's own tables.
#pragma once

#include "brickwork/io/unstructured_grid.hpp"
#include "brickwork/mesh/host_level.hpp"
#include "brickwork/operators/hermite_indicator.hpp"

namespace brickwork {

/// Waits for the device.
/// \param indicator  of the same grid, or empty
/// \throws InputError for a vector of another grid
template <class ExecutionSpace, int Dim>
UnstructuredGrid leaf_mesh(AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                           HermiteField<ExecutionSpace, Dim> const& field,
                           LeafIndicator<ExecutionSpace> const& indicator = {}) {
  detail::require_fit(grid, field, "the field");
  UnstructuredGrid mesh;
  mesh.corners = 1 << Dim;
  MeshField value{"value", 1, {}}, gradient{"gradient", 3, {}}, level_number{"level", 1, {}},
      estimate{"estimate", 1, {}};
  for (int l = 0; l < grid.level_count(); ++l) {
    if (grid.level(l).leaf_count == 0) continue;
    auto const level = host_level(grid.level(l));
    auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), field.level(l));
    std::vector<index_t> number(static_cast<std::size_t>(level.vertex_count), -1);  // among the points
    auto const point_of = [&](index_t vertex) {
      index_t& point = number[static_cast<std::size_t>(vertex)];
      if (point >= 0) return point;
      point = mesh.point_count();
      auto const position = level.vertex_position(vertex);
      for (int d = 0; d < 3; ++d) {
        mesh.points.push_back(d < Dim ? level.coordinate(d, static_cast<double>(position[d])) : 0);
        gradient.values.push_back(d < Dim ? values(vertex, 1 << d) / level.spacing[d] : 0);
      }
      value.values.push_back(values(vertex, 0));
      return point;
    };
    auto const squares = indicator.empty() ? CellField<double, Kokkos::HostSpace>()
                                           : CellField<double, Kokkos::HostSpace>(Kokkos::create_mirror_view_and_copy(
                                                 Kokkos::HostSpace(), indicator[static_cast<std::size_t>(l)]));
    for (index_t cell = 0; cell < level.cell_count; ++cell) {
      if (level.refined(cell)) continue;
      auto const position = level.cell_position(cell);
      for (int n = 0; n < 1 << Dim; ++n) mesh.connectivity.push_back(point_of(level.corner(position, n)));
      level_number.values.push_back(l);
      if (!indicator.empty()) estimate.values.push_back(std::sqrt(squares(cell)));
    }
  }
  mesh.point_fields = {std::move(value), std::move(gradient)};
  mesh.cell_fields = {std::move(level_number)};
  if (!indicator.empty()) mesh.cell_fields.push_back(std::move(estimate));
  return mesh;
}

}  // namespace brickwork
