// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_cells.hpp"

#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/unroll.hpp"

namespace brickwork {

namespace {

template <class MemorySpace, int Dim>
void require_cells(GridLevel<MemorySpace, Dim> const& level, index_t cells) {
  BRICKWORK_REQUIRE(cells == level.cell_count, "cell-wise vector of ", cells, " cells on a level of ",
                    level.cell_count);
}

template <class MemorySpace, int Dim, class View>
void require_vertices(GridLevel<MemorySpace, Dim> const& level, View const& vertices) {
  BRICKWORK_REQUIRE(static_cast<index_t>(vertices.extent(0)) == level.vertex_count, "values of ", vertices.extent(0),
                    " vertices on a level of ", level.vertex_count);
}

// Pass of direct stiffness summation along one axis; a thread has the interface above its cell.
template <class Cells, class MemorySpace, int Dim>
struct SumInterface {
  Cells cells;
  CellAdjacency<MemorySpace, Dim> adjacency;
  int axis;
  double factor;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t const next = adjacency.upper_neighbor(cell, axis);
    if (next < 0) return;
    int const stride = 1 << 2 * axis;
    // Tangential index t: its digits below the axis stay, those above make room for the axis' own.
    for (int t = 0; t < 1 << 2 * (Dim - 1); ++t) {
      int const first = t % stride + t / stride * 4 * stride;
      for (int m = 0; m < 2; ++m) {
        double& below = cells(cell, first + (2 + m) * stride);
        double& above = cells(next, first + m * stride);
        double const sum = factor * (below + above);
        below = sum;
        above = sum;
      }
    }
  }
};

// Unknown m of a vertex, summed over the cells around it pair by pair, axis by axis: equal copies of a vertex with all
// its cells add without rounding.
template <class Cells, int corners>
KOKKOS_FORCEINLINE_FUNCTION double sum_around(Cells const& cells, index_t const (&around)[corners], int m) {
  constexpr int dim = corners == 8 ? 3 : 2;
  double part[corners];
  BRICKWORK_UNROLL_ALL
  for (int n = 0; n < corners; ++n)
    part[n] = around[n] >= 0 ? cells(around[n], hermite_local<dim>(corners - 1 - n, m)) : 0.0;
  BRICKWORK_UNROLL_ALL
  for (int width = 1; width < corners; width *= 2) {
    BRICKWORK_UNROLL_ALL
    for (int n = 0; n < corners; n += 2 * width) part[n] += part[n + width];
  }
  return part[0];
}

// All copies of a vertex's unknowns.
template <class Cells, class MemorySpace, int Dim, bool average>
struct SumVertex {
  static constexpr int corners = 1 << Dim;
  Cells cells;
  CellAdjacency<MemorySpace, Dim> adjacency;

  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    index_t around[corners];
    int const count = adjacency.cells_around(vertex, around);
    for (int m = 0; m < corners; ++m) {
      double sum = sum_around(cells, around, m);
      if (average) sum /= count;
      BRICKWORK_UNROLL_ALL
      for (int n = 0; n < corners; ++n)
        if (around[n] >= 0) cells(around[n], hermite_local<Dim>(corners - 1 - n, m)) = sum;
    }
  }
};

template <bool average, class ExecutionSpace, class Cells, int Dim>
void sum_copies(ExecutionSpace const& space, SummationMethod method, Cells const& cells,
                CellAdjacency<typename ExecutionSpace::memory_space, Dim> const& adjacency) {
  using Memory = typename ExecutionSpace::memory_space;
  require_cells(adjacency.level, cells.cells());
  if (method == SummationMethod::vertices) {
    Kokkos::parallel_for("brickwork::DirectStiffnessSummation::vertices", range(space, adjacency.level.vertex_count),
                         SumVertex<Cells, Memory, Dim, average>{cells, adjacency});
    return;
  }
  for (int axis = 0; axis < Dim; ++axis)
    Kokkos::parallel_for("brickwork::DirectStiffnessSummation::pass", range(space, adjacency.level.cell_count),
                         SumInterface<Cells, Memory, Dim>{cells, adjacency, axis, average ? 0.5 : 1.0});
}

template <class MemorySpace, int Dim>
struct TabulateVertex {
  CellAdjacency<MemorySpace, Dim> computed;
  decltype(CellAdjacency<MemorySpace, Dim>::around) around;
  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    index_t cells[1 << Dim];
    computed.cells_around(vertex, cells);
    for (int n = 0; n < 1 << Dim; ++n) around(vertex, n) = cells[n];
  }
};

template <class MemorySpace, int Dim>
struct TabulateCell {
  CellAdjacency<MemorySpace, Dim> computed;
  decltype(CellAdjacency<MemorySpace, Dim>::upper) upper;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    for (int d = 0; d < Dim; ++d) upper(cell, d) = computed.upper_neighbor(cell, d);
  }
};

}  // namespace

template <class ExecutionSpace, int Dim>
CellAdjacency<typename ExecutionSpace::memory_space, Dim> cell_adjacency(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level) {
  using Memory = typename ExecutionSpace::memory_space;
  CellAdjacency<Memory, Dim> adjacency{level, {}, {}};
  if (level.is_box) return adjacency;
  CellAdjacency<Memory, Dim> const computed = adjacency;
  adjacency.around =
      allocate<decltype(adjacency.around)>(space, "brickwork::CellAdjacency::around", level.vertex_count);
  adjacency.upper = allocate<decltype(adjacency.upper)>(space, "brickwork::CellAdjacency::upper", level.cell_count);
  Kokkos::parallel_for("brickwork::CellAdjacency::around", range(space, level.vertex_count),
                       TabulateVertex<Memory, Dim>{computed, adjacency.around});
  Kokkos::parallel_for("brickwork::CellAdjacency::upper", range(space, level.cell_count),
                       TabulateCell<Memory, Dim>{computed, adjacency.upper});
  return adjacency;
}

template <class ExecutionSpace, int Dim>
void gather(ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
            typename HermitePrimal<double, typename ExecutionSpace::memory_space, Dim>::level_type const& vertices,
            CellPrimal<typename ExecutionSpace::memory_space, Dim> const& cells) {
  require_cells(level, cells.cells());
  require_vertices(level, vertices);
  Kokkos::parallel_for(
      "brickwork::HermiteCells::gather", range(space, level.cell_count), KOKKOS_LAMBDA(index_t cell) {
        auto const position = level.cell_position(cell);
        for (int n = 0; n < 1 << Dim; ++n) {
          index_t const vertex = level.corner(position, n);
          for (int m = 0; m < 1 << Dim; ++m) cells(cell, hermite_local<Dim>(n, m)) = vertices(vertex, m);
        }
      });
}

template <class ExecutionSpace, int Dim>
void scatter(ExecutionSpace const& space, CellAdjacency<typename ExecutionSpace::memory_space, Dim> const& adjacency,
             CellDual<typename ExecutionSpace::memory_space, Dim> const& cells,
             typename HermiteDual<double, typename ExecutionSpace::memory_space, Dim>::level_type const& vertices) {
  require_cells(adjacency.level, cells.cells());
  require_vertices(adjacency.level, vertices);
  Kokkos::parallel_for(
      "brickwork::HermiteCells::scatter", range(space, adjacency.level.vertex_count), KOKKOS_LAMBDA(index_t vertex) {
        constexpr int corners = 1 << Dim;
        index_t around[corners];
        adjacency.cells_around(vertex, around);
        for (int m = 0; m < corners; ++m) vertices(vertex, m) = sum_around(cells, around, m);
      });
}

template <class ExecutionSpace, int Dim>
VertexMask<typename ExecutionSpace::memory_space> incomplete_vertices(
    ExecutionSpace const& space, CellAdjacency<typename ExecutionSpace::memory_space, Dim> const& adjacency) {
  auto const mask = allocate<VertexMask<typename ExecutionSpace::memory_space>>(space, "brickwork::incomplete_vertices",
                                                                                adjacency.level.vertex_count);
  Kokkos::parallel_for(
      "brickwork::incomplete_vertices", range(space, adjacency.level.vertex_count), KOKKOS_LAMBDA(index_t vertex) {
        constexpr int corners = 1 << Dim;
        index_t around[corners];
        if (adjacency.cells_around(vertex, around) < corners)
          mask(vertex) = static_cast<std::uint8_t>((1 << corners) - 1);
      });
  return mask;
}

template <class ExecutionSpace, int Dim>
VertexMask<typename ExecutionSpace::memory_space> fixed_unknowns(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
    HermiteBoundary<Dim> const& boundary) {
  auto const mask = allocate<VertexMask<typename ExecutionSpace::memory_space>>(space, "brickwork::fixed_unknowns",
                                                                                level.vertex_count);
  Kokkos::parallel_for(
      "brickwork::fixed_unknowns", range(space, level.vertex_count), KOKKOS_LAMBDA(index_t vertex) {
        constexpr int all = (1 << (1 << Dim)) - 1;
        mask(vertex) = static_cast<std::uint8_t>(all & ~boundary.free(level, vertex));
      });
  return mask;
}

template <class ExecutionSpace, int Dim>
CellMask<typename ExecutionSpace::memory_space> cell_mask(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
    VertexMask<typename ExecutionSpace::memory_space> const& vertices) {
  require_vertices(level, vertices);
  auto const mask =
      allocate<CellMask<typename ExecutionSpace::memory_space>>(space, "brickwork::cell_mask", level.cell_count);
  Kokkos::parallel_for(
      "brickwork::cell_mask", range(space, level.cell_count), KOKKOS_LAMBDA(index_t cell) {
        auto const position = level.cell_position(cell);
        std::uint64_t bits = 0;
        for (int n = 0; n < 1 << Dim; ++n) {
          int const fixed = vertices(level.corner(position, n));
          for (int m = 0; m < 1 << Dim; ++m)
            bits |= static_cast<std::uint64_t>((fixed >> m) & 1) << hermite_local<Dim>(n, m);
        }
        mask(cell) = bits;
      });
  return mask;
}

template <class ExecutionSpace, int Dim>
void DirectStiffnessSummation<ExecutionSpace, Dim>::sum(ExecutionSpace const& space,
                                                        CellDual<memory_space, Dim> const& cells) const {
  sum_copies<false>(space, method_, cells, adjacency_);
}

template <class ExecutionSpace, int Dim>
void DirectStiffnessSummation<ExecutionSpace, Dim>::average(ExecutionSpace const& space,
                                                            CellPrimal<memory_space, Dim> const& cells) const {
  sum_copies<true>(space, method_, cells, adjacency_);
}

#define BRICKWORK_INSTANTIATE(Space, Dim)                                                                \
  template CellAdjacency<Space::memory_space, Dim> cell_adjacency<Space, Dim>(                           \
      Space const&, GridLevel<Space::memory_space, Dim> const&);                                         \
  template void gather<Space, Dim>(Space const&, GridLevel<Space::memory_space, Dim> const&,             \
                                   HermitePrimal<double, Space::memory_space, Dim>::level_type const&,   \
                                   CellPrimal<Space::memory_space, Dim> const&);                         \
  template void scatter<Space, Dim>(Space const&, CellAdjacency<Space::memory_space, Dim> const&,        \
                                    CellDual<Space::memory_space, Dim> const&,                           \
                                    HermiteDual<double, Space::memory_space, Dim>::level_type const&);   \
  template VertexMask<Space::memory_space> incomplete_vertices<Space, Dim>(                              \
      Space const&, CellAdjacency<Space::memory_space, Dim> const&);                                     \
  template VertexMask<Space::memory_space> fixed_unknowns<Space, Dim>(                                   \
      Space const&, GridLevel<Space::memory_space, Dim> const&, HermiteBoundary<Dim> const&);            \
  template CellMask<Space::memory_space> cell_mask<Space, Dim>(                                          \
      Space const&, GridLevel<Space::memory_space, Dim> const&, VertexMask<Space::memory_space> const&); \
  template class DirectStiffnessSummation<Space, Dim>;
#define BRICKWORK_INSTANTIATE_BOTH(Space) BRICKWORK_INSTANTIATE(Space, 2) BRICKWORK_INSTANTIATE(Space, 3)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE_BOTH)

}  // namespace brickwork
