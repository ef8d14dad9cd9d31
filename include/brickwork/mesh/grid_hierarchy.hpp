// SPDX-License-Identifier: BSD-3-Clause
// Nested box grids for geometric multigrid: which axes are coarsened from level to level. Free of Kokkos.
#pragma once

#include <vector>

#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

/// Levels of a box grid, the finest first.
///
/// Per level and axis the cells are halved (factor 2) or kept (factor 1). A level coarsens the axes whose cells are
/// shortest: an axis joins as soon as its spacing is below twice the shortest one that can still be halved, so that
/// stretched cells become cubes first (semi-coarsening). An odd number of cells n is halved to (n + 1) / 2: on an
/// ordinary axis the last coarse cell reaches one fine cell beyond the box, where there is no material; on a periodic
/// one it holds one fine cell only, between the coarse nodes at fine nodes n - 1 and 0 (so that a coarse grid stands
/// for indices, not for lengths). An ordinary axis is halved while it has at least two cells, a periodic one while it
/// has at least four.
class GridHierarchy {
 public:
  struct Level {
    BoxGrid grid;
    std::array<int, 3> factor;  ///< to the next coarser level, 1 or 2 per axis; all 1 on the coarsest
  };

  /// \param coarsest_dofs  coarsening ends at the first level with at most this many degrees of freedom, or where no
  ///                       axis can be halved
  explicit GridHierarchy(BoxGrid const& grid, index_t coarsest_dofs);

  int size() const { return static_cast<int>(levels_.size()); }
  Level const& operator[](int level) const { return levels_[static_cast<std::size_t>(level)]; }
  Level const& coarsest() const { return levels_.back(); }

 private:
  std::vector<Level> levels_;
};

}  // namespace brickwork
