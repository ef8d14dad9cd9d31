// SPDX-License-Identifier: BSD-3-Clause
// Cell-wise vectors of Hermite fields on one level: 4^Dim values per cell, unknown i of hermite.hpp.
//
// A primal vector replicates the unknowns of a C1 field: the cells around a vertex hold equal copies. A dual vector
// holds what each cell contributes to a functional, not assembled. Their plain dot product is the functional's value
// with no vector of unique unknowns in between; gathering is the transpose of scattering. The two are types of their
// own, and so are the layouts: what does not fit does not compile.
//
//   blocked     value (cell, i) at ((cell / 32) 4^Dim + i) 32 + cell % 32: consecutive cells are consecutive in memory;
//               the last block is filled up with zeros
//   contiguous  value (cell, i) at cell 4^Dim + i: a cell is one piece
//
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 2.1, 3.3 and 5.2.
#pragma once

#include <string>

#include "brickwork/fem/hermite.hpp"
#include "brickwork/operators/hermite_boundary.hpp"
#include "brickwork/operators/hermite_vector.hpp"

namespace brickwork {

enum class CellLayout { blocked, contiguous };

template <VectorKind kind, CellLayout layout, class MemorySpace, int Dim>
class HermiteCells {
 public:
  static constexpr int unknowns = 1 << 2 * Dim;  ///< per cell
  static constexpr index_t block = 32;           ///< cells of a block
  using values_type = Kokkos::View<double*, Kokkos::LayoutLeft, MemorySpace>;

  HermiteCells() = default;

  /// Zero.
  /// \throws InputError for a negative number of cells \throws OutOfMemory
  template <class ExecutionSpace>
  HermiteCells(ExecutionSpace const& space, index_t cells, std::string const& label) : cells_(cells) {
    BRICKWORK_REQUIRE(cells >= 0, label, ": number of cells is ", cells, ", it must not be negative");
    values_ = allocate<values_type>(space, label, extent(cells));
  }

  /// On values that the caller has, extent(cells) of them, those that fill up the last block zero.
  /// \throws InputError for another extent
  HermiteCells(values_type const& values, index_t cells) : values_(values), cells_(cells) {
    BRICKWORK_REQUIRE(cells >= 0 && static_cast<index_t>(values.extent(0)) == extent(cells), "cell-wise vector of ",
                      cells, " cells on ", values.extent(0), " values");
  }

  /// Stored values for a number of cells.
  static index_t extent(index_t cells) {
    return (layout == CellLayout::blocked ? (cells + block - 1) / block * block : cells) * unknowns;
  }

  KOKKOS_INLINE_FUNCTION static index_t offset(index_t cell, int i) {
    return layout == CellLayout::blocked ? ((cell / block) * unknowns + i) * block + cell % block : cell * unknowns + i;
  }
  KOKKOS_INLINE_FUNCTION double& operator()(index_t cell, int i) const { return values_.data()[offset(cell, i)]; }

  KOKKOS_INLINE_FUNCTION index_t cells() const { return cells_; }
  /// Every value, for vector kernels; those that fill up the last block stay zero.
  KOKKOS_INLINE_FUNCTION values_type const& values() const { return values_; }

 private:
  values_type values_;
  index_t cells_ = 0;
};

template <class MemorySpace, int Dim, CellLayout layout = CellLayout::blocked>
using CellPrimal = HermiteCells<VectorKind::primal, layout, MemorySpace, Dim>;
template <class MemorySpace, int Dim, CellLayout layout = CellLayout::blocked>
using CellDual = HermiteCells<VectorKind::dual, layout, MemorySpace, Dim>;

/// Which cells meet where, on one level: computed on boxes, tabulated once elsewhere.
template <class MemorySpace, int Dim>
struct CellAdjacency {
  static constexpr int corners = 1 << Dim;
  GridLevel<MemorySpace, Dim> level;
  /// Per vertex, cell n around it as GridLevel::vertex_cells counts them, or -1; extent 0 on boxes.
  Kokkos::View<index_t* [corners], Kokkos::LayoutLeft, MemorySpace> around;
  /// Per cell, its neighbour on the upper side of each axis, or -1; extent 0 on boxes.
  Kokkos::View<index_t* [Dim], Kokkos::LayoutLeft, MemorySpace> upper;

  /// Cells around a vertex, and how many of them exist.
  KOKKOS_INLINE_FUNCTION int cells_around(index_t vertex, index_t (&cells)[corners]) const {
    int count = 0;
    if (around.extent(0) > 0) {
      for (int n = 0; n < corners; ++n) {
        cells[n] = around(vertex, n);
        count += cells[n] >= 0;
      }
      return count;
    }
    auto const position = level.vertex_position(vertex);
    for (int n = 0; n < corners; ++n) {
      auto cell = position;
      for (int d = 0; d < Dim; ++d) cell[d] += ((n >> d) & 1) - 1;
      cells[n] = level.find_cell(cell);
      count += cells[n] >= 0;
    }
    return count;
  }
  KOKKOS_INLINE_FUNCTION index_t upper_neighbor(index_t cell, int d) const {
    if (upper.extent(0) > 0) return upper(cell, d);
    auto position = level.cell_position(cell);
    ++position[d];
    return level.find_cell(position);
  }
};

/// \throws OutOfMemory
template <class ExecutionSpace, int Dim>
CellAdjacency<typename ExecutionSpace::memory_space, Dim> cell_adjacency(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level);

/// Values of the vertices, replicated on the cells around them.
/// \param vertices  extents (vertices of the level, 2^Dim) \throws InputError for extents that do not fit
template <class ExecutionSpace, int Dim>
void gather(ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
            typename HermitePrimal<double, typename ExecutionSpace::memory_space, Dim>::level_type const& vertices,
            CellPrimal<typename ExecutionSpace::memory_space, Dim> const& cells);

/// Sums over the cells around each vertex, in the order of the cells: bitwise repeatable, no atomics.
template <class ExecutionSpace, int Dim>
void scatter(ExecutionSpace const& space, CellAdjacency<typename ExecutionSpace::memory_space, Dim> const& adjacency,
             CellDual<typename ExecutionSpace::memory_space, Dim> const& cells,
             typename HermiteDual<double, typename ExecutionSpace::memory_space, Dim>::level_type const& vertices);

namespace detail {
template <class From, class To>
struct CopyCells {
  From from;
  To to;
  KOKKOS_FUNCTION void operator()(index_t index) const {
    // Consecutive indices are consecutive in the target.
    constexpr index_t unknowns = To::unknowns, block = To::block;
    index_t cell = index / unknowns;
    int i = static_cast<int>(index % unknowns);
    if (To::offset(0, 1) != 1) {
      cell = index / (unknowns * block) * block + index % block;
      i = static_cast<int>(index / block % unknowns);
    }
    if (cell < to.cells()) to.values().data()[index] = from(cell, i);
  }
};
}  // namespace detail

/// A vector in the other layout, or a copy in the same. \throws InputError for extents that do not fit
template <class ExecutionSpace, VectorKind kind, CellLayout from_layout, CellLayout to_layout, class MemorySpace,
          int Dim>
void copy_cells(ExecutionSpace const& space, HermiteCells<kind, from_layout, MemorySpace, Dim> const& from,
                HermiteCells<kind, to_layout, MemorySpace, Dim> const& to) {
  BRICKWORK_REQUIRE(from.cells() == to.cells(), "copy of cell-wise vectors: ", from.cells(), " cells to ", to.cells());
  using From = HermiteCells<kind, from_layout, MemorySpace, Dim>;
  using To = HermiteCells<kind, to_layout, MemorySpace, Dim>;
  Kokkos::parallel_for("brickwork::copy_cells", range(space, static_cast<index_t>(to.values().extent(0))),
                       detail::CopyCells<From, To>{from, to});
}

/// Fixed unknowns per cell: bit i set = unknown i is prescribed, extent (cells).
template <class MemorySpace>
using CellMask = Kokkos::View<std::uint64_t*, Kokkos::LayoutLeft, MemorySpace>;
/// The same per vertex: bit m set = unknown m of the vertex is prescribed, extent (vertices).
template <class MemorySpace>
using VertexMask = Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, MemorySpace>;

/// Every unknown, so value and normal derivative, of the vertices that cells are missing around: on the boundary, where
/// the field is clamped, and on refinement edges, where the coarser level prescribes it.
template <class ExecutionSpace, int Dim>
VertexMask<typename ExecutionSpace::memory_space> incomplete_vertices(
    ExecutionSpace const& space, CellAdjacency<typename ExecutionSpace::memory_space, Dim> const& adjacency);

/// What the boundary conditions or a coarser neighbour prescribe.
template <class ExecutionSpace, int Dim>
VertexMask<typename ExecutionSpace::memory_space> fixed_unknowns(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
    HermiteBoundary<Dim> const& boundary);

/// The mask of the vertices on the cells around them. \throws InputError for extents that do not fit
template <class ExecutionSpace, int Dim>
CellMask<typename ExecutionSpace::memory_space> cell_mask(
    ExecutionSpace const& space, GridLevel<typename ExecutionSpace::memory_space, Dim> const& level,
    VertexMask<typename ExecutionSpace::memory_space> const& vertices);

/// Sets the fixed unknowns to zero. \throws InputError for extents that do not fit
template <class ExecutionSpace, VectorKind kind, CellLayout layout, int Dim>
void clear_fixed(ExecutionSpace const& space, CellMask<typename ExecutionSpace::memory_space> const& mask,
                 HermiteCells<kind, layout, typename ExecutionSpace::memory_space, Dim> const& cells) {
  BRICKWORK_REQUIRE(static_cast<index_t>(mask.extent(0)) == cells.cells(), "mask of ", mask.extent(0), " cells for ",
                    cells.cells());
  Kokkos::parallel_for(
      "brickwork::clear_fixed", range(space, cells.cells()), KOKKOS_LAMBDA(index_t cell) {
        std::uint64_t const fixed = mask(cell);
        if (fixed == 0) return;
        for (int i = 0; i < 1 << 2 * Dim; ++i)
          if ((fixed >> i) & 1) cells(cell, i) = 0;
      });
}

/// How direct stiffness summation goes over a level.
enum class SummationMethod {
  passes,   ///< the source's: one pass per axis, each reads and writes every value
  vertices  ///< one pass over the vertices
};

/// Adds the copies of each unknown and writes the sum to all of them (sum), or their mean (average: a projection).
///
/// `passes`: pass d adds, over every interface normal to axis d that both cells of the level share, value to value and
/// derivative to derivative, and writes both cells. After Dim passes the 2^Dim copies of a vertex with all its cells
/// are equal sums, 2 x 8 x 4^Dim bytes per cell and pass. Around a vertex with cells missing that holds only where the
/// present ones form a box; others differ from copy to copy, which is of no account where such unknowns are fixed.
/// `vertices`: each vertex adds what cells there are around it, in their order: right on every level, and a Dim-th of
/// the traffic. Both: no atomics, bitwise repeatable; they differ from each other by rounding.
template <class ExecutionSpace, int Dim>
class DirectStiffnessSummation {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using adjacency_type = CellAdjacency<memory_space, Dim>;

  explicit DirectStiffnessSummation(adjacency_type const& adjacency, SummationMethod method = SummationMethod::vertices)
      : adjacency_(adjacency), method_(method) {}

  /// \throws InputError for extents that do not fit
  void sum(ExecutionSpace const& space, CellDual<memory_space, Dim> const& cells) const;
  void average(ExecutionSpace const& space, CellPrimal<memory_space, Dim> const& cells) const;
  SummationMethod method() const { return method_; }

 private:
  adjacency_type adjacency_;
  SummationMethod method_;
};

}  // namespace brickwork
