// SPDX-License-Identifier: BSD-3-Clause
// Per-cell evaluation of the cone filter and its transpose, shared by the filter and by the fused kernels of the design
// step.
#pragma once

#include "brickwork/design/filter.hpp"

namespace brickwork::detail {

struct FilterPosition {
  index_t x[3];
};

KOKKOS_INLINE_FUNCTION FilterPosition filter_position(FilterStencil const& s, index_t cell) {
  return {{cell % s.n[0], (cell / s.n[0]) % s.n[1], cell / s.n[0] / s.n[1]}};
}

/// Neighbour position along one axis, or -1 where there is none.
KOKKOS_INLINE_FUNCTION index_t filter_neighbour(index_t x, index_t n, bool periodic) {
  if (x >= 0 && x < n) return x;
  if (!periodic) return -1;
  x %= n;
  return x < 0 ? x + n : x;
}

/// Position in the weight table of coordinate x: all coordinates at least `reach` away from both faces share one.
KOKKOS_INLINE_FUNCTION index_t filter_class(index_t x, index_t n, index_t reach, index_t classes) {
  if (classes == n || x < reach) return x;
  return x >= n - reach ? x - n + classes : reach;
}

KOKKOS_INLINE_FUNCTION double filter_total(FilterStencil const& s, index_t x, index_t y, index_t z) {
  index_t const a = filter_class(x, s.n[0], s.reach[0], s.classes[0]);
  index_t const b = filter_class(y, s.n[1], s.reach[1], s.classes[1]);
  index_t const c = filter_class(z, s.n[2], s.reach[2], s.classes[2]);
  return s.total[a + s.classes[0] * (b + s.classes[1] * c)];
}

/// Calls body(neighbour cell, weight, x, y, z) over the stencil in its fixed order.
template <class Body>
KOKKOS_INLINE_FUNCTION void for_filter_neighbours(FilterStencil const& s, FilterPosition const& p, Body const& body) {
  for (int o = 0; o < s.offsets; ++o) {
    index_t const x = filter_neighbour(p.x[0] + s.offset[3 * o], s.n[0], s.periodic[0]);
    index_t const y = filter_neighbour(p.x[1] + s.offset[3 * o + 1], s.n[1], s.periodic[1]);
    index_t const z = filter_neighbour(p.x[2] + s.offset[3 * o + 2], s.n[2], s.periodic[2]);
    if (x < 0 || y < 0 || z < 0) continue;
    body(x + s.n[0] * (y + s.n[1] * z), s.weight[o], x, y, z);
  }
}

/// (H v)_cell with v given as a function of the cell index.
template <class Value>
KOKKOS_INLINE_FUNCTION double filtered(FilterStencil const& s, index_t cell, Value const& value) {
  FilterPosition const p = filter_position(s, cell);
  double sum = 0;
  for_filter_neighbours(s, p,
                        [&](index_t other, double weight, index_t, index_t, index_t) { sum += weight * value(other); });
  return sum / filter_total(s, p.x[0], p.x[1], p.x[2]);
}

}  // namespace brickwork::detail
