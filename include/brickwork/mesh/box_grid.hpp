// SPDX-License-Identifier: BSD-3-Clause
// A box of brick cells: extents, spacing, periodic axes, numbering, and the part of it that this rank holds.
#pragma once

#include "brickwork/core/check.hpp"
#include "brickwork/core/types.hpp"

namespace brickwork {

/// Half-open index box [begin, end) in global cell indices.
struct CellBox {
  Index3 begin{};
  Index3 end{};
};

/// A box of nx x ny x nz equal cells.
///
/// Local numbering (x fastest): cell (i, j, k) is i + nx (j + ny k); node (i, j, k) is i + mx (j + my k) with m = n + 1
/// on an ordinary axis and m = n on a periodic one, whose node n is its node 0. A grid knows its global box, the cells
/// it owns and the cells it holds (owned and ghost layer). On one rank all three are the same, and so are local and
/// global numbers.
class BoxGrid {
 public:
  /// \param cells    global cells per axis, each >= 1
  /// \param lengths  side lengths of the box, each > 0 and finite
  /// \param periodic axes that wrap; a periodic axis needs at least two cells
  /// \param origin   coordinates of node (0, 0, 0)
  /// \throws InputError for a size that cannot be meant or whose degrees of freedom pass 2^62
  explicit BoxGrid(Index3 cells, Vec3 lengths, std::array<bool, 3> periodic = {false, false, false},
                   Vec3 origin = {0, 0, 0});

  Index3 const& global_cells() const { return global_cells_; }
  CellBox const& owned() const { return owned_; }
  CellBox const& held() const { return held_; }

  Index3 cells() const;  ///< held cells per axis
  Index3 nodes() const;  ///< held nodes per axis
  index_t cell_count() const;
  index_t node_count() const;
  index_t dof_count() const { return 3 * node_count(); }

  Vec3 const& lengths() const { return lengths_; }
  Vec3 const& origin() const { return origin_; }
  Vec3 spacing() const;
  std::array<bool, 3> const& periodic() const { return periodic_; }

  index_t node_index(index_t i, index_t j, index_t k) const {
    Index3 const m = nodes();
    return i + m[0] * (j + m[1] * k);
  }
  /// The inverse of node_index().
  Index3 node_indices(index_t node) const {
    Index3 const m = nodes();
    return {node % m[0], (node / m[0]) % m[1], node / m[0] / m[1]};
  }
  /// Coordinates of a node.
  Vec3 node_position(index_t node) const {
    Index3 const index = node_indices(node);
    Vec3 const h = spacing();
    return {origin_[0] + h[0] * static_cast<double>(index[0]), origin_[1] + h[1] * static_cast<double>(index[1]),
            origin_[2] + h[2] * static_cast<double>(index[2])};
  }
  index_t cell_index(index_t i, index_t j, index_t k) const {
    Index3 const n = cells();
    return i + n[0] * (j + n[1] * k);
  }

 private:
  Index3 global_cells_;
  Vec3 lengths_;
  Vec3 origin_;
  std::array<bool, 3> periodic_;
  CellBox owned_;
  CellBox held_;
};

}  // namespace brickwork
