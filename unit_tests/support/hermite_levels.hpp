// SPDX-License-Identifier: BSD-3-Clause
// Levels for tests of Hermite operators, and the same levels as lists of positions on the host.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "brickwork/mesh/host_level.hpp"
#include "brickwork/operators/hermite_cells.hpp"

namespace brickwork::test {

template <class View>
auto host_copy(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Who meets whom on a level, from nothing but the cells' positions.
template <int Dim>
struct PlainLevel {
  using Position = std::array<index_t, Dim>;
  std::vector<Position> cells, vertices;
  std::map<Position, index_t> cell_at, vertex_at;

  template <class MemorySpace>
  explicit PlainLevel(GridLevel<MemorySpace, Dim> const& level) {
    auto const host = host_level(level);
    auto const listed = [](Kokkos::Array<index_t, Dim> const& p) {
      Position position;
      for (int d = 0; d < Dim; ++d) position[d] = p[d];
      return position;
    };
    for (index_t c = 0; c < level.cell_count; ++c) {
      cells.push_back(listed(host.cell_position(c)));
      cell_at[cells.back()] = c;
    }
    for (index_t v = 0; v < level.vertex_count; ++v) {
      vertices.push_back(listed(host.vertex_position(v)));
      vertex_at[vertices.back()] = v;
    }
  }
  index_t corner(index_t cell, int n) const {
    Position p = cells[static_cast<std::size_t>(cell)];
    for (int d = 0; d < Dim; ++d) p[d] += (n >> d) & 1;
    return vertex_at.at(p);
  }
  int cells_around(index_t vertex) const {
    int count = 0;
    for (int n = 0; n < 1 << Dim; ++n) {
      Position p = vertices[static_cast<std::size_t>(vertex)];
      for (int d = 0; d < Dim; ++d) p[d] += ((n >> d) & 1) - 1;
      count += static_cast<int>(cell_at.count(p));
    }
    return count;
  }
};

/// Levels that are boxes (odd, thin, one cell) and levels that are none: a ball, a ring, single cells.
template <class Space, int Dim>
std::vector<GridLevel<typename Space::memory_space, Dim>> test_levels(Space const& space) {
  std::vector<GridLevel<typename Space::memory_space, Dim>> levels;
  auto const base = [](std::array<index_t, 3> cells) {
    BaseGrid<Dim> grid;
    for (int d = 0; d < Dim; ++d) {
      grid.cells[d] = cells[d];
      grid.lengths[d] = std::array<double, 3>{1.0, 0.75, 1.5}[d];
    }
    return grid;
  };
  for (auto const& cells : {std::array<index_t, 3>{5, 3, 7}, {1, 9, 2}, {1, 1, 1}})
    levels.push_back(AdaptiveGrid<Space, Dim>(space, base(cells), 0).level(0));
  RefinementRegion<Dim> region;
  for (int d = 0; d < Dim; ++d) region.centre[d] = 0.4;
  region.radius = 0.3;
  for (auto const kind : {RefinementRegion<Dim>::Kind::ball, RefinementRegion<Dim>::Kind::ring}) {
    region.kind = kind;
    AdaptiveGrid<Space, Dim> grid(space, base({5, 6, 7}), 0);
    grid.refine(space, region);
    levels.push_back(grid.level(1));
  }
  return levels;
}

/// Values of a cell-wise vector as plain arrays, cell by cell.
template <VectorKind kind, CellLayout layout, class MemorySpace, int Dim>
std::vector<double> plain(HermiteCells<kind, layout, MemorySpace, Dim> const& vector) {
  auto const host = host_copy(vector.values());
  std::vector<double> values;
  for (index_t cell = 0; cell < vector.cells(); ++cell)
    for (int i = 0; i < vector.unknowns; ++i) values.push_back(host(vector.offset(cell, i)));
  return values;
}

template <VectorKind kind, CellLayout layout, class MemorySpace, int Dim>
void set(HermiteCells<kind, layout, MemorySpace, Dim> const& vector, std::vector<double> const& values) {
  auto const host = Kokkos::create_mirror_view(vector.values());
  Kokkos::deep_copy(host, 0.0);
  for (index_t cell = 0; cell < vector.cells(); ++cell)
    for (int i = 0; i < vector.unknowns; ++i)
      host(vector.offset(cell, i)) = values[static_cast<std::size_t>(cell * vector.unknowns + i)];
  Kokkos::deep_copy(vector.values(), host);
}

inline double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  if (a.size() != b.size()) return 1e300;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

inline double largest_value(std::vector<double> const& a) {
  return largest_difference(a, std::vector<double>(a.size()));
}

}  // namespace brickwork::test
