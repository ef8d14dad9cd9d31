// SPDX-License-Identifier: BSD-3-Clause
// Cone (linear hat) density filter on a box grid, matrix-free, and its exact transpose.
//
// (H x)_i = sum_j w_ij x_j / W_i,  w_ij = max(0, radius - |distance of the cell centres|),  W_i = sum over the
// neighbours that exist. Nothing is stored per cell: W_i depends only on how near a cell is to each face, so a small
// table holds it.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

namespace detail {
struct FilterStencil {
  index_t n[3];  ///< cells per axis
  bool periodic[3];
  index_t reach[3];       ///< largest offset per axis
  index_t classes[3];     ///< distinct positions per axis for the weight table
  int offsets;            ///< entries of the stencil
  index_t const* offset;  ///< [offsets][3]
  double const* weight;   ///< [offsets]
  double const* total;    ///< [classes z][classes y][classes x]: W
};
}  // namespace detail

template <class ExecutionSpace>
class ConeFilter {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<double, memory_space>;
  using const_field_type = CellField<double const, memory_space>;

  explicit ConeFilter(BoxGrid const& grid) : grid_(grid) {}

  /// Prepares the stencil. A radius of at most one cell makes the filter the identity. Waits for the device where the
  /// radius changes.
  ///
  /// \param radius     in cells (distances count cells along every axis), or in lengths with `in_lengths`
  /// \throws InputError for a negative or non-finite radius
  void set_radius(ExecutionSpace const& space, double radius, bool in_lengths = false);

  /// out = H in; extents (cells), no overlap.
  void apply(ExecutionSpace const& space, const_field_type const& in, field_type const& out) const;

  /// out = H^T in, exactly the transpose of apply().
  void apply_transpose(ExecutionSpace const& space, const_field_type const& in, field_type const& out) const;

  /// Cells with a positive weight, the centre included.
  int neighbours() const { return stencil_.offsets; }

  detail::FilterStencil const& stencil() const { return stencil_; }

 private:
  void check(char const* function, index_t in, index_t out) const;

  BoxGrid grid_;
  double radius_ = -1;
  bool in_lengths_ = false;
  detail::FilterStencil stencil_{};
  Kokkos::View<index_t*, memory_space> offsets_;  // x, y, z of each neighbour
  Kokkos::View<double*, memory_space> weights_;
  Kokkos::View<double*, memory_space> totals_;
};

}  // namespace brickwork
