// SPDX-License-Identifier: BSD-3-Clause
// Adaptive grids for tests: uniform, thin and odd ones, and refined in a ball, a ring or a corner.
#pragma once

#include "brickwork/mesh/adaptive_grid.hpp"

namespace brickwork::test {

template <int Dim>
BaseGrid<Dim> box(std::array<index_t, Dim> const& cells) {
  BaseGrid<Dim> base;
  base.cells = cells;
  for (std::size_t d = 0; d < Dim; ++d) {
    base.lengths[d] = 0.7 + 0.4 * static_cast<double>(d);
    base.origin[d] = 0.25 - 0.5 * static_cast<double>(d);
  }
  return base;
}

template <int Dim>
BaseGrid<Dim> unit_cube() {
  BaseGrid<Dim> base;
  for (std::size_t d = 0; d < Dim; ++d) {
    base.cells[d] = 1;
    base.lengths[d] = 1;
  }
  return base;
}

template <int Dim>
RefinementRegion<Dim> region(BaseGrid<Dim> const& base, typename RefinementRegion<Dim>::Kind kind) {
  RefinementRegion<Dim> region;
  region.kind = kind;
  double shortest = base.lengths[0];
  for (std::size_t d = 0; d < Dim; ++d) {
    region.lower[d] = base.origin[d];
    region.upper[d] = region.centre[d] = base.origin[d] + 0.5 * base.lengths[d];
    shortest = base.lengths[d] < shortest ? base.lengths[d] : shortest;
  }
  region.radius = 0.4 * shortest;
  return region;
}

/// `refinements` uniform ones, then `depth` in a region.
template <class Space, int Dim>
AdaptiveGrid<Space, Dim> refined(Space const& space, BaseGrid<Dim> const& base, int refinements,
                                 typename RefinementRegion<Dim>::Kind kind, int depth) {
  AdaptiveGrid<Space, Dim> grid(space, base, refinements);
  for (int n = 0; n < depth; ++n) grid.refine(space, region(base, kind));
  return grid;
}

}  // namespace brickwork::test
