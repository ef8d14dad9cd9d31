// SPDX-License-Identifier: BSD-3-Clause
// Density filter with a radial kernel on a box grid, matrix-free, and its exact transpose.
//
// (H x)_i = sum_j w_ij x_j / W_i,  w_ij a function of the distance of the cell centres that vanishes at the radius: a
// cone (linear hat), max(0, radius - distance), or a quartic spline.  W_i = sum over the neighbours that exist. Across
// a periodic axis every image within the radius is a neighbour. Nothing is stored per cell: W_i depends only on how
// near a cell is to each face, so a small table holds it.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/design/filter_kernel.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

namespace detail {
template <class Real>
struct FilterStencil {
  index_t n[3];  ///< cells per axis
  bool periodic[3];
  bool compact;           ///< no neighbour is further than one cell along an axis, and 32 bits count the cells
  int offsets;            ///< entries of the stencil
  index_t reach[3];       ///< largest offset per axis
  index_t classes[3];     ///< distinct positions per axis for the weight table
  index_t const* offset;  ///< [offsets][3]
  Real const* weight;     ///< [offsets]
  Real const* total;      ///< [classes z][classes y][classes x]: W
  Real unit_weight[8];    ///< weight of the neighbours at distances (b & 1, (b >> 1) & 1, b >> 2) along the axes
};
}  // namespace detail

/// \tparam Real precision of the fields and of the weights
template <class ExecutionSpace, class Real = double>
class ConeFilter {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;

  explicit ConeFilter(BoxGrid const& grid) : grid_(grid) {}

  /// Prepares the stencil. A radius of at most one cell makes the filter the identity. Waits for the device where the
  /// radius changes.
  ///
  /// \param radius     in cells (distances count cells along every axis), or in lengths with `in_lengths`
  /// \param kernel     the weight as a function of the distance
  /// \throws InputError for a negative or non-finite radius
  void set_radius(ExecutionSpace const& space, double radius, bool in_lengths = false,
                  FilterKernel kernel = FilterKernel::linear);

  /// out = H in; extents (cells), no overlap. Bitwise repeatable.
  /// \throws InputError before set_radius(), and for fields that do not fit the grid
  void apply(ExecutionSpace const& space, const_field_type const& in, field_type const& out) const;

  /// out = H^T in, the transpose of apply().
  void apply_transpose(ExecutionSpace const& space, const_field_type const& in, field_type const& out) const;

  /// Cells with a positive weight, the centre included.
  int neighbours() const { return stencil_.offsets; }

  detail::FilterStencil<Real> const& stencil() const { return stencil_; }

 private:
  void check(char const* function, index_t in, index_t out) const;

  BoxGrid grid_;
  double radius_ = -1;
  bool in_lengths_ = false;
  FilterKernel kernel_ = FilterKernel::linear;
  detail::FilterStencil<Real> stencil_{};
  Kokkos::View<index_t*, memory_space> offsets_;  // x, y, z of each neighbour
  Kokkos::View<Real*, memory_space> weights_;
  Kokkos::View<Real*, memory_space> totals_;
};

}  // namespace brickwork
