// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_leaf_operator.hpp"

#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/hermite_fields.hpp"

namespace brickwork {

namespace {

template <class Memory, int Dim>
struct ClearRefined {
  GridLevel<Memory, Dim> level;
  CellDual<Memory, Dim> cells;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    if (!level.refined(cell)) return;
    for (int i = 0; i < 1 << 2 * Dim; ++i) cells(cell, i) = 0;
  }
};

/// The lowest bit that is set.
KOKKOS_FORCEINLINE_FUNCTION int lowest(int bits) {
  int n = 0;
  while (((bits >> n) & 1) == 0) ++n;
  return n;
}

template <class Memory, int Dim>
struct DistributeFunctional {
  static constexpr int corners = 1 << Dim;
  GridLevel<Memory, Dim> level;
  typename HermiteDual<double, Memory, Dim>::level_type vertices;
  CellDual<Memory, Dim> cells;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    bool const refined = level.refined(cell);
    auto const position = level.cell_position(cell);
    for (int corner = 0; corner < corners; ++corner) {
      index_t const vertex = level.corner(position, corner);
      bool const own = !refined && lowest(level.vertex_leaves(vertex)) == corners - 1 - corner;
      for (int m = 0; m < corners; ++m) cells(cell, hermite_local<Dim>(corner, m)) = own ? vertices(vertex, m) : 0.0;
    }
  }
};

template <class Memory, int Dim>
struct CollectField {
  static constexpr int corners = 1 << Dim;
  GridLevel<Memory, Dim> level;
  CellPrimal<Memory, Dim> cells;
  typename HermitePrimal<double, Memory, Dim>::level_type vertices;
  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    int const leaves = level.vertex_leaves(vertex);
    if (leaves == 0) return;
    int const n = lowest(leaves);
    auto position = level.vertex_position(vertex);
    for (int d = 0; d < Dim; ++d) position[d] += ((n >> d) & 1) - 1;
    index_t const cell = level.find_cell(position);
    for (int m = 0; m < corners; ++m) vertices(vertex, m) = cells(cell, hermite_local<Dim>(corners - 1 - n, m));
  }
};

template <class Cells, class Vertices>
void require_sizes(Cells const& cells, index_t own_cells, Vertices const& vertices, index_t own_vertices) {
  BRICKWORK_REQUIRE(cells.size() == own_cells && vertices.size() == own_vertices, "vectors have ", cells.size(),
                    " cell-wise and ", vertices.size(), " vertex-wise values, those of the operator's grid have ",
                    own_cells, " and ", own_vertices);
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteLeafOperator<ExecutionSpace, Dim>::HermiteLeafOperator(ExecutionSpace const& space, grid_type const& grid,
                                                              HermiteForm const& form,
                                                              HermiteBoundary<Dim> const& boundary,
                                                              HermiteEvaluation evaluation)
    : grid_(grid), form_(form), boundary_(boundary) {
  for (int l = 0; l < grid.level_count(); ++l) levels_.emplace_back(space, grid.level(l), form, evaluation);
}

template <class ExecutionSpace, int Dim>
void HermiteLeafOperator<ExecutionSpace, Dim>::constrain(ExecutionSpace const& space, dual_type const& b) const {
  for (int l = 0; l < grid_.level_count(); ++l) {
    auto const& level = grid_.level(l);
    if (level.leaf_count == 0 || level.leaf_count == level.cell_count) continue;
    Kokkos::parallel_for("brickwork::HermiteLeafOperator::clear_refined", range(space, level.cell_count),
                         ClearRefined<memory_space, Dim>{level, b.level(l)});
  }
}

template <class ExecutionSpace, int Dim>
void HermiteLeafOperator<ExecutionSpace, Dim>::apply(ExecutionSpace const& space, primal_type const& x,
                                                     dual_type const& y) const {
  for (int l = 0; l < grid_.level_count(); ++l)
    if (grid_.level(l).leaf_count > 0) level(l).apply(space, x.level(l), y.level(l));
  constrain(space, y);
}

template <class ExecutionSpace, int Dim>
void HermiteLeafOperator<ExecutionSpace, Dim>::distribute(ExecutionSpace const& space,
                                                          HermiteDual<double, memory_space, Dim> const& vertices,
                                                          dual_type const& cells) const {
  require_sizes(cells, dual_type::count(grid_), vertices, vertices.count(grid_));
  for (int l = 0; l < grid_.level_count(); ++l) {
    auto const& level = grid_.level(l);
    if (level.leaf_count > 0)
      Kokkos::parallel_for("brickwork::HermiteLeafOperator::distribute", range(space, level.cell_count),
                           DistributeFunctional<memory_space, Dim>{level, vertices.level(l), cells.level(l)});
  }
}

template <class ExecutionSpace, int Dim>
void HermiteLeafOperator<ExecutionSpace, Dim>::distribute(ExecutionSpace const& space,
                                                          HermitePrimal<double, memory_space, Dim> const& vertices,
                                                          primal_type const& cells) const {
  require_sizes(cells, primal_type::count(grid_), vertices, vertices.count(grid_));
  for (int l = 0; l < grid_.level_count(); ++l)
    if (grid_.level(l).leaf_count > 0)
      gather<ExecutionSpace, Dim>(space, grid_.level(l), vertices.level(l), cells.level(l));
}

template <class ExecutionSpace, int Dim>
void HermiteLeafOperator<ExecutionSpace, Dim>::collect(ExecutionSpace const& space, primal_type const& cells,
                                                       HermitePrimal<double, memory_space, Dim> const& vertices) const {
  require_sizes(cells, primal_type::count(grid_), vertices, vertices.count(grid_));
  for (int l = 0; l < grid_.level_count(); ++l) {
    auto const& level = grid_.level(l);
    if (level.leaf_count > 0)
      Kokkos::parallel_for("brickwork::HermiteLeafOperator::collect", range(space, level.vertex_count),
                           CollectField<memory_space, Dim>{level, cells.level(l), vertices.level(l)});
  }
  prescribe_edges<ExecutionSpace, Dim>(space, grid_, vertices);
}

#define BRICKWORK_INSTANTIATE(Space)            \
  template class HermiteLeafOperator<Space, 2>; \
  template class HermiteLeafOperator<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
