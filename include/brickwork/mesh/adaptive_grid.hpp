// SPDX-License-Identifier: BSD-3-Clause
// Locally refined grids of boxes: the levels of a quadtree (Dim = 2) or octree (Dim = 3), built on the device.
//
// Level l is the domain cut into base * 2^l cells per axis; it holds the cells of that size that exist, whether they
// are refined further or not (a leaf). A level of which a box of cells exists, as all uniformly refined ones do, needs
// no tables: numbers follow from positions. Any other level keeps the sorted keys of its cells and of their vertices.
// Numbers run with x fastest in both cases, so that neighbours in x have successive numbers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "brickwork/core/fields.hpp"

namespace brickwork {

/// A domain of base cells, level 0.
template <int Dim>
struct BaseGrid {
  std::array<index_t, Dim> cells;    ///< per axis, each >= 1
  std::array<double, Dim> lengths;   ///< sides of the domain, each > 0
  std::array<double, Dim> origin{};  ///< coordinates of its lowest corner
};

/// One level, as kernels see it.
template <class MemorySpace, int Dim>
struct GridLevel {
  static constexpr int corners = 1 << Dim;
  using position_type = Kokkos::Array<index_t, Dim>;
  template <class Value>
  using table = Kokkos::View<Value*, Kokkos::LayoutLeft, MemorySpace>;

  position_type domain_cells;  ///< cells per axis that the whole domain has at this size
  Kokkos::Array<double, Dim> origin, spacing;
  position_type box_begin, box_cells;  ///< the smallest box that holds the cells
  bool is_box;                         ///< the cells fill it
  index_t cell_count, vertex_count;
  index_t leaf_count;

  table<index_t> cell_keys, vertex_keys;  ///< sorted; empty where is_box
  table<std::uint8_t> is_refined;         ///< per cell; empty where every cell is a leaf
  /// Per vertex, bit n set: cell n around it exists (is a leaf), the one on the upper side in the axes d with bit d of
  /// n set. Its corner ~n is the vertex.
  table<std::uint8_t> vertex_cells, vertex_leaves;

  KOKKOS_INLINE_FUNCTION index_t cell_key(position_type const& p) const {
    index_t key = p[Dim - 1];
    for (int d = Dim - 2; d >= 0; --d) key = key * domain_cells[d] + p[d];
    return key;
  }
  KOKKOS_INLINE_FUNCTION index_t vertex_key(position_type const& p) const {
    index_t key = p[Dim - 1];
    for (int d = Dim - 2; d >= 0; --d) key = key * (domain_cells[d] + 1) + p[d];
    return key;
  }
  /// Position of a cell in units of cells, from the lowest corner of the domain.
  KOKKOS_INLINE_FUNCTION position_type cell_position(index_t cell) const {
    return is_box ? in_box(cell, 0) : of_key(cell_keys(cell), 0);
  }
  KOKKOS_INLINE_FUNCTION position_type vertex_position(index_t vertex) const {
    return is_box ? in_box(vertex, 1) : of_key(vertex_keys(vertex), 1);
  }
  /// Number of the cell at a position, which may lie outside the domain; -1 where none exists.
  KOKKOS_INLINE_FUNCTION index_t find_cell(position_type const& p) const {
    for (int d = 0; d < Dim; ++d)
      if (p[d] < box_begin[d] || p[d] >= box_begin[d] + box_cells[d]) return -1;
    return is_box ? box_number(p, 0) : search(cell_keys, cell_key(p));
  }
  KOKKOS_INLINE_FUNCTION index_t find_vertex(position_type const& p) const {
    for (int d = 0; d < Dim; ++d)
      if (p[d] < box_begin[d] || p[d] > box_begin[d] + box_cells[d]) return -1;
    return is_box ? box_number(p, 1) : search(vertex_keys, vertex_key(p));
  }
  /// Number of corner n of a cell that exists, by its position.
  KOKKOS_INLINE_FUNCTION index_t corner(position_type cell, int n) const {
    for (int d = 0; d < Dim; ++d) cell[d] += (n >> d) & 1;
    return find_vertex(cell);
  }
  KOKKOS_INLINE_FUNCTION bool refined(index_t cell) const { return is_refined.extent(0) > 0 && is_refined(cell) != 0; }
  /// Whether a cell around a vertex is missing that lies in the domain: a coarser leaf then prescribes the vertex.
  KOKKOS_INLINE_FUNCTION bool at_refinement_edge(index_t vertex) const {
    auto const p = vertex_position(vertex);
    int expected = 0;
    for (int n = 0; n < corners; ++n) {
      bool inside = true;
      for (int d = 0; d < Dim; ++d) {
        index_t const cell = p[d] - 1 + ((n >> d) & 1);
        inside = inside && cell >= 0 && cell < domain_cells[d];
      }
      if (inside) expected |= 1 << n;
    }
    return vertex_cells(vertex) != expected;
  }
  /// First place in a sorted table whose key is not below `key`.
  KOKKOS_INLINE_FUNCTION static index_t lower_bound(table<index_t> const& keys, index_t key) {
    index_t first = 0, last = static_cast<index_t>(keys.extent(0));
    while (first < last) {
      index_t const middle = (first + last) / 2;
      if (keys(middle) < key) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }
  KOKKOS_INLINE_FUNCTION double coordinate(int d, double position) const { return origin[d] + spacing[d] * position; }

 private:
  KOKKOS_INLINE_FUNCTION position_type in_box(index_t number, int extra) const {
    position_type p{};
    for (int d = 0; d < Dim - 1; ++d) {
      p[d] = box_begin[d] + number % (box_cells[d] + extra);
      number /= box_cells[d] + extra;
    }
    p[Dim - 1] = box_begin[Dim - 1] + number;
    return p;
  }
  KOKKOS_INLINE_FUNCTION position_type of_key(index_t key, int extra) const {
    position_type p{};
    for (int d = 0; d < Dim - 1; ++d) {
      p[d] = key % (domain_cells[d] + extra);
      key /= domain_cells[d] + extra;
    }
    p[Dim - 1] = key;
    return p;
  }
  KOKKOS_INLINE_FUNCTION index_t box_number(position_type const& p, int extra) const {
    index_t number = p[Dim - 1] - box_begin[Dim - 1];
    for (int d = Dim - 2; d >= 0; --d) number = number * (box_cells[d] + extra) + p[d] - box_begin[d];
    return number;
  }
  KOKKOS_INLINE_FUNCTION static index_t search(table<index_t> const& keys, index_t key) {
    index_t const place = lower_bound(keys, key);
    return place < static_cast<index_t>(keys.extent(0)) && keys(place) == key ? place : -1;
  }
};

/// Where cells are refined: a closed box, a ball, or the cells that a sphere crosses.
template <int Dim>
struct RefinementRegion {
  enum class Kind { box, ball, ring };
  Kind kind = Kind::box;
  std::array<double, Dim> lower{}, upper{};  ///< box: cells whose centre lies inside
  std::array<double, Dim> centre{};          ///< ball: cells whose centre lies inside; ring: cells that it crosses
  double radius = 0;
};

/// What a refinement did.
struct RefinementCount {
  index_t marked = 0;    ///< leaves that the marks asked for
  index_t balanced = 0;  ///< further leaves that had to be refined to keep neighbours within one level
};

template <class ExecutionSpace, int Dim>
class AdaptiveGrid {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using level_type = GridLevel<memory_space, Dim>;
  /// One value per cell of a level, 0 or 1.
  using marks_type = Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, memory_space>;

  /// The base grid refined uniformly `refinements` times, that is with levels 0 ... refinements.
  /// \throws InputError for sizes that cannot be meant, a negative number, or vertices of a level beyond 2^31
  AdaptiveGrid(ExecutionSpace const& space, BaseGrid<Dim> const& base, int refinements);

  int level_count() const { return static_cast<int>(levels_.size()); }
  level_type const& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  BaseGrid<Dim> const& base() const { return base_; }
  /// Leaves of all levels: the active cells.
  index_t leaf_count() const;

  /// Refines the marked leaves, and whatever leaves must be refined with them so that cells that share a vertex differ
  /// by one level at most. Marks on refined cells count for nothing.
  /// \param marks  one per level, extent (cells of the level); an empty View marks nothing there
  /// \throws InputError for extents that do not fit
  RefinementCount refine(ExecutionSpace const& space, std::vector<marks_type> const& marks);

  /// Marks the leaves of the finest level in a region and refines them.
  /// \throws InputError where the region holds none of them
  RefinementCount refine(ExecutionSpace const& space, RefinementRegion<Dim> const& region);

  /// Marks for refine(): zero for every cell of every level.
  std::vector<marks_type> no_marks(ExecutionSpace const& space) const;

 private:
  BaseGrid<Dim> base_;
  std::vector<level_type> levels_;
};

}  // namespace brickwork
