// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/adaptive_grid.hpp"

#include <cmath>
#include <limits>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/sort.hpp"

namespace brickwork {

namespace {

template <int Dim>
using Position = Kokkos::Array<index_t, Dim>;

template <int Dim>
KOKKOS_INLINE_FUNCTION Position<Dim> offset_position(Position<Dim> position, int n, index_t shift) {
  for (int d = 0; d < Dim; ++d) position[d] += ((n >> d) & 1) + shift;
  return position;
}

/// Numbers the indices for which a predicate holds and hands each with its number to `emit`; returns how many.
template <class Predicate, class Emit>
struct Compact {
  Predicate predicate;
  Emit emit;
  KOKKOS_FUNCTION void operator()(index_t i, index_t& count, bool is_final) const {
    if (!predicate(i)) return;
    if (is_final) emit(i, count);
    ++count;
  }
};

template <class ExecutionSpace, class Predicate, class Emit>
index_t compact(char const* label, ExecutionSpace const& space, index_t count, Predicate const& predicate,
                Emit const& emit) {
  index_t total = 0;
  if (count > 0) Kokkos::parallel_scan(label, range(space, count), Compact<Predicate, Emit>{predicate, emit}, total);
  return total;
}

template <class Memory, int Dim>
struct IsRefined {
  GridLevel<Memory, Dim> level;
  KOKKOS_FUNCTION bool operator()(index_t cell) const { return level.refined(cell); }
};

struct Ignore {
  KOKKOS_FUNCTION void operator()(index_t, index_t) const {}
};

template <class Memory, int Dim>
struct StoreCellKey {
  GridLevel<Memory, Dim> level;
  typename GridLevel<Memory, Dim>::template table<index_t> keys;
  KOKKOS_FUNCTION void operator()(index_t cell, index_t number) const {
    keys(number) = level.cell_key(level.cell_position(cell));
  }
};

/// Children of sorted parents, in their own sorted order: how many come before a child follows from how many parents
/// lie in its parent's row and plane.
template <class Memory, int Dim>
struct StoreChildKeys {
  GridLevel<Memory, Dim> parent_level, child_level;
  typename GridLevel<Memory, Dim>::template table<index_t> parents, children;
  KOKKOS_FUNCTION void operator()(index_t rank) const {
    index_t rest = parents(rank);
    Position<Dim> parent{};
    for (int d = 0; d < Dim - 1; ++d) {
      parent[d] = rest % parent_level.domain_cells[d];
      rest /= parent_level.domain_cells[d];
    }
    parent[Dim - 1] = rest;
    index_t first[Dim], count[Dim];  // of the parents with the same coordinates in the axes d and above
    first[0] = rank;
    count[0] = 1;
    for (int d = 1; d < Dim; ++d) {
      Position<Dim> low = parent;
      for (int e = 0; e < d; ++e) low[e] = 0;
      index_t const key = parent_level.cell_key(low);
      index_t stride = 1;
      for (int e = 0; e < d; ++e) stride *= parent_level.domain_cells[e];
      first[d] = child_level.lower_bound(parents, key);
      count[d] = child_level.lower_bound(parents, key + stride) - first[d];
    }
    for (int n = 0; n < (1 << Dim); ++n) {
      index_t number = 0;
      for (int d = Dim - 1; d >= 0; --d) {
        index_t const above = d == Dim - 1 ? 0 : first[d + 1];
        number += (first[d] - above) * (index_t(2) << d) + ((n >> d) & 1) * (index_t(1) << d) * count[d];
      }
      Position<Dim> child{};
      for (int d = 0; d < Dim; ++d) child[d] = 2 * parent[d] + ((n >> d) & 1);
      children(number) = child_level.cell_key(child);
    }
  }
};

/// Position of a cell in one axis, for a smallest or a largest one.
template <class Memory, int Dim>
struct CellCoordinate {
  GridLevel<Memory, Dim> level;
  int axis;
  bool smallest;
  KOKKOS_FUNCTION void operator()(index_t cell, index_t& bound) const {
    index_t const p = level.cell_position(cell)[axis];
    if (smallest ? p < bound : p > bound) bound = p;
  }
};

/// Cell state after a refinement: refined before, or marked now.
template <class Memory, int Dim>
struct CarryRefined {
  GridLevel<Memory, Dim> old_level, level;
  typename GridLevel<Memory, Dim>::template table<std::uint8_t> marks, refined;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t const old = old_level.find_cell(level.cell_position(cell));
    refined(cell) = old >= 0 && (old_level.refined(old) || (marks.extent(0) > 0 && marks(old) != 0)) ? 1 : 0;
  }
};

/// Whether corner n of a cell is this cell's to number: no other cell of the level that has it comes before.
template <class Memory, int Dim>
KOKKOS_INLINE_FUNCTION bool owns_corner(GridLevel<Memory, Dim> const& level, Position<Dim> const& cell, int n) {
  auto const vertex = offset_position<Dim>(cell, n, 0);
  int const own = ((1 << Dim) - 1) ^ n;
  for (int other = 0; other < own; ++other)
    if (level.find_cell(offset_position<Dim>(vertex, other, -1)) >= 0) return false;
  return true;
}

template <class Memory, int Dim>
struct OwnsCorner {
  GridLevel<Memory, Dim> level;
  KOKKOS_FUNCTION bool operator()(index_t i) const {
    return owns_corner<Memory, Dim>(level, level.cell_position(i >> Dim), static_cast<int>(i & ((1 << Dim) - 1)));
  }
};

template <class Memory, int Dim>
struct StoreVertexKey {
  GridLevel<Memory, Dim> level;
  typename GridLevel<Memory, Dim>::template table<index_t> keys;
  KOKKOS_FUNCTION void operator()(index_t i, index_t number) const {
    auto const cell = level.cell_position(i >> Dim);
    keys(number) = level.vertex_key(offset_position<Dim>(cell, static_cast<int>(i & ((1 << Dim) - 1)), 0));
  }
};

template <class Memory, int Dim>
struct SurroundingCells {
  GridLevel<Memory, Dim> level;
  typename GridLevel<Memory, Dim>::template table<std::uint8_t> cells, leaves;
  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    auto const p = level.vertex_position(vertex);
    int present = 0, leaf = 0;
    for (int n = 0; n < (1 << Dim); ++n) {
      index_t const cell = level.find_cell(offset_position<Dim>(p, n, -1));
      if (cell < 0) continue;
      present |= 1 << n;
      if (!level.refined(cell)) leaf |= 1 << n;
    }
    cells(vertex) = static_cast<std::uint8_t>(present);
    leaves(vertex) = static_cast<std::uint8_t>(leaf);
  }
};

/// Marks a leaf of a level where a marked cell one level finer is its neighbour: that cell's children would be two
/// levels finer.
template <class Memory, int Dim>
struct MarkNeighbours {
  GridLevel<Memory, Dim> level, finer;
  typename GridLevel<Memory, Dim>::template table<std::uint8_t> marks, finer_marks;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    if (level.refined(cell) || marks(cell) != 0) return;
    auto const p = level.cell_position(cell);
    int const around = Dim == 3 ? 64 : 16;
    for (int n = 0; n < around; ++n) {
      Position<Dim> q{};
      for (int d = 0; d < Dim; ++d) q[d] = 2 * p[d] - 1 + ((n >> 2 * d) & 3);
      index_t const neighbour = finer.find_cell(q);
      if (neighbour >= 0 && finer_marks(neighbour) != 0) {
        marks(cell) = 1;
        return;
      }
    }
  }
};

template <class Memory, int Dim>
struct TakeMarks {
  GridLevel<Memory, Dim> level;
  typename GridLevel<Memory, Dim>::template table<std::uint8_t> given, marks;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    marks(cell) = given(cell) != 0 && !level.refined(cell) ? 1 : 0;
  }
};

template <class Table>
struct CountMarks {
  Table marks;
  KOKKOS_FUNCTION void operator()(index_t cell, index_t& count) const { count += marks(cell) != 0 ? 1 : 0; }
};

template <class Memory, int Dim>
struct MarkRegion {
  GridLevel<Memory, Dim> level;
  RefinementRegion<Dim> region;
  typename GridLevel<Memory, Dim>::template table<std::uint8_t> marks;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    if (level.refined(cell)) return;
    auto const p = level.cell_position(cell);
    double least = 0, most = 0, middle = 0;  // squared distances from the centre to the cell and to its centre
    bool in_box = true;
    for (int d = 0; d < Dim; ++d) {
      double const low = level.coordinate(d, static_cast<double>(p[d]));
      double const high = level.coordinate(d, static_cast<double>(p[d] + 1));
      double const half = level.coordinate(d, static_cast<double>(p[d]) + 0.5);
      in_box = in_box && half >= region.lower[d] && half <= region.upper[d];
      double const a = low - region.centre[d], b = high - region.centre[d], c = half - region.centre[d];
      double const nearest = a > 0 ? a : (b < 0 ? b : 0);
      least += nearest * nearest;
      most += a * a > b * b ? a * a : b * b;
      middle += c * c;
    }
    double const r2 = region.radius * region.radius;
    bool const marked = region.kind == RefinementRegion<Dim>::Kind::box    ? in_box
                        : region.kind == RefinementRegion<Dim>::Kind::ball ? middle <= r2
                                                                           : least < r2 && r2 < most;
    if (marked) marks(cell) = 1;
  }
};

template <class ExecutionSpace, class Table>
index_t count_marks(ExecutionSpace const& space, Table const& marks) {
  index_t count = 0;
  if (marks.extent(0) > 0)
    Kokkos::parallel_reduce("brickwork::AdaptiveGrid::refine::count",
                            range(space, static_cast<index_t>(marks.extent(0))), CountMarks<Table>{marks}, count);
  return count;
}

/// Extents that no cell decides: a level of base * 2^l cells per axis.
template <class Memory, int Dim>
GridLevel<Memory, Dim> empty_level(BaseGrid<Dim> const& base, int l) {
  GridLevel<Memory, Dim> level;
  for (int d = 0; d < Dim; ++d) {
    level.domain_cells[d] = base.cells[d] << l;
    level.origin[d] = base.origin[d];
    level.spacing[d] = base.lengths[d] / static_cast<double>(level.domain_cells[d]);
    level.box_begin[d] = level.box_cells[d] = 0;
  }
  level.is_box = false;
  level.cell_count = level.vertex_count = level.leaf_count = 0;
  return level;
}

template <class Memory, int Dim>
index_t checked_vertices(GridLevel<Memory, Dim> const& level) {
  index_t vertices = 1;
  for (int d = 0; d < Dim; ++d) {
    vertices *= level.box_cells[d] + 1;
    BRICKWORK_REQUIRE(vertices <= std::numeric_limits<std::int32_t>::max(), "a level of the adaptive grid has ",
                      level.box_cells[0], " x ", level.box_cells[1], Dim == 3 ? " x " : "",
                      Dim == 3 ? std::to_string(level.box_cells[Dim - 1]) : "",
                      " cells, more than 2^31 vertices: use fewer refinements");
  }
  return vertices;
}

/// Vertices and the cells around them, of a level whose cells are known.
template <class ExecutionSpace, int Dim>
void number_vertices(ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim>& level) {
  using Memory = typename ExecutionSpace::memory_space;
  using Level = GridLevel<Memory, Dim>;
  using Keys = typename Level::template table<index_t>;
  using Bits = typename Level::template table<std::uint8_t>;
  if (level.is_box) {
    level.vertex_count = checked_vertices(level);
  } else {
    index_t const corners = level.cell_count << Dim;
    auto const vertices = compact("brickwork::AdaptiveGrid::number_vertices::count", space, corners,
                                  OwnsCorner<Memory, Dim>{level}, Ignore{});
    BRICKWORK_REQUIRE(vertices <= std::numeric_limits<std::int32_t>::max(), "a level of the adaptive grid has ",
                      vertices, " vertices, more than 2^31: use fewer refinements");
    level.vertex_count = vertices;
    level.vertex_keys = allocate<Keys>(space, "brickwork::AdaptiveGrid::vertex_keys", vertices);
    compact("brickwork::AdaptiveGrid::number_vertices::store", space, corners, OwnsCorner<Memory, Dim>{level},
            StoreVertexKey<Memory, Dim>{level, level.vertex_keys});
    sort_keys(space, level.vertex_keys);
  }
  level.vertex_cells = allocate<Bits>(space, "brickwork::AdaptiveGrid::vertex_cells", level.vertex_count);
  level.vertex_leaves = allocate<Bits>(space, "brickwork::AdaptiveGrid::vertex_leaves", level.vertex_count);
  for_each("brickwork::AdaptiveGrid::number_vertices::surroundings", space, level.vertex_count,
           SurroundingCells<Memory, Dim>{level, level.vertex_cells, level.vertex_leaves});
  if (level.leaf_count == level.cell_count) level.vertex_leaves = level.vertex_cells;
  fence(space, "brickwork::AdaptiveGrid::number_vertices");
}

template <class ExecutionSpace, int Dim>
GridLevel<typename ExecutionSpace::memory_space, Dim> whole_level(BaseGrid<Dim> const& base, int l) {
  auto level = empty_level<typename ExecutionSpace::memory_space>(base, l);
  level.is_box = true;
  level.box_cells = level.domain_cells;
  checked_vertices(level);
  level.cell_count = 1;
  for (int d = 0; d < Dim; ++d) level.cell_count *= level.domain_cells[d];
  level.leaf_count = level.cell_count;
  return level;
}

/// The level below `parent`: the children of its refined cells.
template <class ExecutionSpace, int Dim>
GridLevel<typename ExecutionSpace::memory_space, Dim> child_level(
    ExecutionSpace const& space, BaseGrid<Dim> const& base, int l,
    GridLevel<typename ExecutionSpace::memory_space, Dim> const& parent) {
  using Memory = typename ExecutionSpace::memory_space;
  using Keys = typename GridLevel<Memory, Dim>::template table<index_t>;
  index_t const parents = parent.cell_count - parent.leaf_count;
  if (parents == parent.cell_count && parent.is_box) {
    auto level = empty_level<Memory>(base, l);
    level.is_box = true;
    for (int d = 0; d < Dim; ++d) {
      level.box_begin[d] = 2 * parent.box_begin[d];
      level.box_cells[d] = 2 * parent.box_cells[d];
    }
    level.cell_count = parents << Dim;
    return level;
  }
  auto level = empty_level<Memory>(base, l);
  Keys const parent_keys = allocate<Keys>(space, "brickwork::AdaptiveGrid::parent_keys", parents);
  compact("brickwork::AdaptiveGrid::refine::parents", space, parent.cell_count, IsRefined<Memory, Dim>{parent},
          StoreCellKey<Memory, Dim>{parent, parent_keys});
  level.cell_count = parents << Dim;
  level.cell_keys = allocate<Keys>(space, "brickwork::AdaptiveGrid::cell_keys", level.cell_count);
  for_each("brickwork::AdaptiveGrid::refine::children", space, parents,
           StoreChildKeys<Memory, Dim>{parent, level, parent_keys, level.cell_keys});
  index_t box = 1;
  for (int d = 0; d < Dim; ++d) {
    index_t low = 0, high = 0;
    auto const cells = range(space, level.cell_count);
    Kokkos::parallel_reduce("brickwork::AdaptiveGrid::refine::low", cells, CellCoordinate<Memory, Dim>{level, d, true},
                            Kokkos::Min<index_t>(low));
    Kokkos::parallel_reduce("brickwork::AdaptiveGrid::refine::high", cells,
                            CellCoordinate<Memory, Dim>{level, d, false}, Kokkos::Max<index_t>(high));
    level.box_begin[d] = low;
    level.box_cells[d] = high - low + 1;
    box *= level.box_cells[d];
  }
  if (box == level.cell_count) {
    level.is_box = true;
    level.cell_keys = Keys();
  }
  return level;
}

}  // namespace

template <class ExecutionSpace, int Dim>
AdaptiveGrid<ExecutionSpace, Dim>::AdaptiveGrid(ExecutionSpace const& space, BaseGrid<Dim> const& base, int refinements)
    : base_(base) {
  for (int d = 0; d < Dim; ++d) {
    BRICKWORK_REQUIRE(base.cells[d] >= 1, "base grid has ", base.cells[d], " cells in axis ", d, ", it needs one");
    BRICKWORK_REQUIRE(std::isfinite(base.lengths[d]) && base.lengths[d] > 0, "base grid has the length ",
                      base.lengths[d], " in axis ", d, ", it must be positive");
    BRICKWORK_REQUIRE(std::isfinite(base.origin[d]), "base grid has the origin ", base.origin[d], " in axis ", d);
  }
  BRICKWORK_REQUIRE(refinements >= 0 && refinements <= 30, "number of uniform refinements is ", refinements,
                    ", it must be 0 to 30");
  for (int d = 0; d < Dim; ++d)
    BRICKWORK_REQUIRE(base.cells[d] <= std::numeric_limits<std::int32_t>::max() >> refinements, "base grid has ",
                      base.cells[d], " cells in axis ", d, ", too many for ", refinements, " uniform refinements");
  whole_level<ExecutionSpace>(base, refinements);  // the largest is checked before anything is allocated
  using Bits = typename level_type::template table<std::uint8_t>;
  for (int l = 0; l <= refinements; ++l) {
    auto level = whole_level<ExecutionSpace>(base, l);
    if (l < refinements) {
      level.leaf_count = 0;
      level.is_refined = allocate<Bits>(space, "brickwork::AdaptiveGrid::is_refined", level.cell_count);
      Kokkos::deep_copy(space, level.is_refined, std::uint8_t(1));
    }
    number_vertices(space, level);
    levels_.push_back(level);
  }
}

template <class ExecutionSpace, int Dim>
index_t AdaptiveGrid<ExecutionSpace, Dim>::leaf_count() const {
  index_t count = 0;
  for (auto const& level : levels_) count += level.leaf_count;
  return count;
}

template <class ExecutionSpace, int Dim>
std::vector<typename AdaptiveGrid<ExecutionSpace, Dim>::marks_type> AdaptiveGrid<ExecutionSpace, Dim>::no_marks(
    ExecutionSpace const& space) const {
  std::vector<marks_type> marks;
  for (auto const& level : levels_)
    marks.push_back(allocate<marks_type>(space, "brickwork::AdaptiveGrid::marks", level.cell_count));
  return marks;
}

template <class ExecutionSpace, int Dim>
RefinementCount AdaptiveGrid<ExecutionSpace, Dim>::refine(ExecutionSpace const& space,
                                                          std::vector<marks_type> const& given) {
  ScopedRegion const region("brickwork::AdaptiveGrid::refine");
  BRICKWORK_REQUIRE(given.size() == levels_.size(), "marks are given for ", given.size(), " levels, the grid has ",
                    levels_.size());
  for (std::size_t l = 0; l < given.size(); ++l)
    BRICKWORK_REQUIRE(given[l].extent(0) == 0 || static_cast<index_t>(given[l].extent(0)) == levels_[l].cell_count,
                      "marks of level ", l, " have the extent ", given[l].extent(0), ", the level has ",
                      levels_[l].cell_count, " cells");
  int const finest = level_count() - 1;
  auto const marks = no_marks(space);
  RefinementCount count;
  for (int l = 0; l <= finest; ++l) {
    if (given[l].extent(0) == 0) continue;
    for_each("brickwork::AdaptiveGrid::refine::marks", space, levels_[l].cell_count,
             TakeMarks<memory_space, Dim>{levels_[l], given[l], marks[l]});
    count.marked += count_marks(space, marks[l]);
  }
  if (count.marked == 0) return count;
  for (int l = finest - 1; l >= 0; --l)
    if (levels_[l].leaf_count > 0)
      for_each("brickwork::AdaptiveGrid::refine::balance", space, levels_[l].cell_count,
               MarkNeighbours<memory_space, Dim>{levels_[l], levels_[l + 1], marks[l], marks[l + 1]});
  std::vector<level_type> refined;
  for (int l = 0; l <= finest + 1; ++l) {
    level_type const old = l <= finest ? levels_[l] : empty_level<memory_space>(base_, l);
    level_type level = l == 0 ? old : child_level(space, base_, l, refined.back());
    if (level.cell_count == 0) break;
    using Bits = typename level_type::template table<std::uint8_t>;
    Bits const flags = allocate<Bits>(space, "brickwork::AdaptiveGrid::is_refined", level.cell_count);
    for_each("brickwork::AdaptiveGrid::refine::carry", space, level.cell_count,
             CarryRefined<memory_space, Dim>{old, level, l <= finest ? marks[l] : marks_type(), flags});
    index_t const parents = count_marks(space, flags);
    level.leaf_count = level.cell_count - parents;
    level.is_refined = parents > 0 ? flags : Bits();
    number_vertices(space, level);
    refined.push_back(level);
    if (parents == 0) break;
  }
  for (int l = 0; l <= finest; ++l) count.balanced += count_marks(space, marks[l]);
  count.balanced -= count.marked;
  levels_ = refined;
  return count;
}

template <class ExecutionSpace, int Dim>
RefinementCount AdaptiveGrid<ExecutionSpace, Dim>::refine(ExecutionSpace const& space,
                                                          RefinementRegion<Dim> const& region) {
  auto marks = no_marks(space);
  for_each("brickwork::AdaptiveGrid::refine::region", space, levels_.back().cell_count,
           MarkRegion<memory_space, Dim>{levels_.back(), region, marks.back()});
  auto const count = refine(space, marks);
  BRICKWORK_REQUIRE(count.marked > 0, "the refinement region holds no cell of the finest level (centre ",
                    region.centre[0], " ...): enlarge it or begin with more uniform refinements");
  return count;
}

#define BRICKWORK_INSTANTIATE(Space)     \
  template class AdaptiveGrid<Space, 2>; \
  template class AdaptiveGrid<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
