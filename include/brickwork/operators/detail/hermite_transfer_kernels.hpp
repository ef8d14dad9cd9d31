// SPDX-License-Identifier: BSD-3-Clause
// Prolongation of Hermite fields to the children of refined cells, and its transpose.
//
// A cubic is a cubic on either half of its interval, so that prolongation is evaluation. With derivatives in reference
// coordinates, a fine vertex at a coarse one takes (u, u'/2); one in the middle of (u0, u0') and (u1, u1') takes
//   u = (u0 + u1) / 2 + (u0' - u1') / 8,   u' = 3/4 (u1 - u0) - (u0' + u1') / 8,
// and in Dim dimensions the tensor product. A coarse vertex V has the fine vertices at 2 V + {0, 1}^Dim, which a thread
// per row writes, and gathers those at 2 V + {-1, 0, 1}^Dim in one thread. Nothing is accumulated by two threads.
// Traffic per fine vertex in FP64: prolongation 64 (coarse: 8) read, 128 with the sum; restriction 64 + 16.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 2.2 and 3.1.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/core/simd.hpp"

namespace brickwork::detail {

/// Coarse vertices with children, where both levels are boxes: of a table's columns the arithmetic.
template <int Dim>
struct BoxParents {
  int extent[Dim];     // coarse vertices that have children, a box
  int first[Dim];      // its first vertex within the coarse level's box
  int fine_last[Dim];  // last index of fine vertices
  index_t coarse_stride[Dim], fine_stride[Dim];
  index_t count;

  struct Family {
    index_t parent, child;
    index_t coarse_stride[Dim], fine_stride[Dim];
    int position[Dim], fine_last[Dim];

    KOKKOS_FORCEINLINE_FUNCTION index_t coarse_row(int dy, int dz) const {
      index_t at = parent + dy * coarse_stride[1];
      if constexpr (Dim == 3) at += dz * coarse_stride[2];
      return at;
    }
    /// Number of the fine vertex at 2 V + (dx, dy, dz), -1 where there is none.
    KOKKOS_FORCEINLINE_FUNCTION index_t fine(int dx, int dy, int dz) const {
      int const offset[3] = {dx, dy, dz};
      index_t at = child;
      bool exists = true;
      for (int d = 0; d < Dim; ++d) {
        int const p = 2 * position[d] + offset[d];
        exists = exists && p >= 0 && p <= fine_last[d];
        at += offset[d] * fine_stride[d];
      }
      return exists ? at : -1;
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION Family family(index_t site) const {
    Family f;
    auto rest = static_cast<std::uint32_t>(site);
    f.parent = f.child = 0;
    for (int d = 0; d < Dim; ++d) {
      auto const size = static_cast<std::uint32_t>(extent[d]);
      f.position[d] = static_cast<int>(d == Dim - 1 ? rest : rest % size);
      rest /= size;
      f.parent += (first[d] + f.position[d]) * coarse_stride[d];
      f.child += 2 * f.position[d] * fine_stride[d];
      f.coarse_stride[d] = coarse_stride[d];
      f.fine_stride[d] = fine_stride[d];
      f.fine_last[d] = fine_last[d];
    }
    return f;
  }
};

/// The same from tables.
template <int Dim>
struct TableParents {
  static constexpr int coarse_rows = Dim == 3 ? 4 : 2, fine_rows = Dim == 3 ? 9 : 3;
  int const* parents;           // [site]
  int const* coarse;            // [dy + 2 dz][site]: the coarse vertex at V + (0, dy, dz), or -1
  int const* children;          // [(dy + 1) + 3 (dz + 1)][site]: the fine vertex at 2 V + (0, dy, dz), or -1
  std::uint32_t const* beside;  // [site]: bits 2 row (+ 1): there is one at dx = -1 (1)
  index_t count;

  struct Family {
    TableParents const& table;
    index_t site, parent;
    std::uint32_t bits;
    KOKKOS_FORCEINLINE_FUNCTION index_t coarse_row(int dy, int dz) const {
      return table.coarse[(dy + 2 * dz) * table.count + site];
    }
    KOKKOS_FORCEINLINE_FUNCTION index_t fine(int dx, int dy, int dz) const {
      int const row = Dim == 3 ? dy + 1 + 3 * (dz + 1) : dy + 1;
      index_t const child = table.children[row * table.count + site];
      if (child < 0 || (dx != 0 && ((bits >> (2 * row + (dx > 0 ? 1 : 0))) & 1) == 0)) return -1;
      return child + dx;
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION Family family(index_t site) const { return {*this, site, parents[site], beside[site]}; }
};

/// to = x + P coarse on every fine vertex; what is not interior of the fine level goes to `copy` too.
template <class Scalar, int Dim, class Parents>
struct Prolongate {
  Parents parents;
  Scalar const* coarse;
  Scalar const* x;  // null: to = P coarse
  Scalar *to, *copy;
  std::uint8_t const* fine_cells;  // bits of the cells around a fine vertex
  index_t coarse_stride, fine_stride;

  /// One axis: unknown f (0: value, 1: derivative) at offset delta from [corner][unknown].
  template <int delta, class Get>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar along(int f, Get const& get) {
    if constexpr (delta == 0) {
      return f == 0 ? get(0, 0) : Scalar(0.5) * get(0, 1);
    } else {
      if (f == 0) return Scalar(0.5) * (get(0, 0) + get(1, 0)) + Scalar(0.125) * (get(0, 1) - get(1, 1));
      return Scalar(0.75) * (get(1, 0) - get(0, 0)) - Scalar(0.125) * (get(0, 1) + get(1, 1));
    }
  }

  /// Rows of children that a coarse vertex has; one thread each.
  static constexpr int rows = 1 << (Dim - 1);

  KOKKOS_FUNCTION void operator()(index_t i) const {
    auto const family = parents.family(i % parents.count);
    auto const row = static_cast<int>(i / parents.count);
    static_for<rows>([&](auto which) BRICKWORK_INLINE_LAMBDA {
      constexpr int r = decltype(which)::value;
      if (row == r) write_row<(r & 1), (r >> 1)>(family);
    });
  }

 private:
  template <int dy, int dz, class Family>
  KOKKOS_FORCEINLINE_FUNCTION void write_row(Family const& family) const {
    index_t const at[2] = {family.fine(0, dy, dz), family.fine(1, dy, dz)};
    if (at[0] < 0) return;
    constexpr int planes = Dim == 3 ? 2 : 1;
    Scalar row[2][2 * planes][2];  // [corner in x][b + 2 c][a], contracted in y and z
    for (int corner = 0; corner < 2; ++corner) {
      if (corner == 1 && at[1] < 0) continue;
      for (int a = 0; a < 2; ++a) {
        auto const load = [&](int cy, int cz, int m) BRICKWORK_INLINE_LAMBDA {
          return coarse[family.coarse_row(cy, cz) + corner + (a + m) * coarse_stride];
        };
        for (int b = 0; b < 2; ++b)
          for (int c = 0; c < planes; ++c) {
            auto const in_y = [&](int cz, int uz) BRICKWORK_INLINE_LAMBDA {
              return along<dy>(b,
                               [&](int cy, int uy) BRICKWORK_INLINE_LAMBDA { return load(cy, cz, 2 * uy + 4 * uz); });
            };
            if constexpr (Dim == 3) {
              row[corner][b + 2 * c][a] = along<dz>(c, in_y);
            } else {
              row[corner][b][a] = in_y(0, 0);
            }
          }
      }
    }
    for (int bc = 0; bc < 2 * planes; ++bc)
      for (int a = 0; a < 2; ++a) {
        auto const get = [&](int corner, int unknown) BRICKWORK_INLINE_LAMBDA { return row[corner][bc][unknown]; };
        store(at[0], a + 2 * bc, along<0>(a, get));
        if (at[1] >= 0) store(at[1], a + 2 * bc, along<1>(a, get));
      }
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(index_t vertex, int m, Scalar value) const {
    index_t const at = vertex + m * fine_stride;
    Scalar const sum = x ? x[at] + value : value;
    to[at] = sum;
    if (copy && fine_cells[vertex] != (1 << (1 << Dim)) - 1) copy[at] = sum;
  }
};

/// b = P^T r, or b += P^T r, on the coarse vertices that have children.
template <class Scalar, int Dim, class Parents>
struct Restrict {
  Parents parents;
  Scalar const* r;
  Scalar* b;
  index_t coarse_stride, fine_stride;
  bool add_to_b;

  KOKKOS_FUNCTION void operator()(index_t site) const {
    constexpr int planes = Dim == 3 ? 2 : 1;
    auto const family = parents.family(site);
    Scalar sum[2 * planes][2] = {};  // [b + 2 c][a]
    for (int dz = Dim == 3 ? -1 : 0; dz <= (Dim == 3 ? 1 : 0); ++dz) {
      Scalar plane[2 * planes][2] = {};
      for (int dy = -1; dy <= 1; ++dy) {
        index_t const at[3] = {family.fine(-1, dy, dz), family.fine(0, dy, dz), family.fine(1, dy, dz)};
        if (at[1] < 0) continue;
        for (int bc = 0; bc < 2 * planes; ++bc) {
          Scalar row[3][2];
          for (int i = 0; i < 3; ++i)
            for (int a = 0; a < 2; ++a) row[i][a] = at[i] < 0 ? Scalar(0) : r[at[i] + (a + 2 * bc) * fine_stride];
          Scalar const line[2] = {
              row[1][0] + Scalar(0.5) * (row[0][0] + row[2][0]) + Scalar(0.75) * (row[0][1] - row[2][1]),
              Scalar(0.5) * row[1][1] + Scalar(0.125) * (row[2][0] - row[0][0] - row[0][1] - row[2][1])};
          for (int a = 0; a < 2; ++a) add(dy, bc & 1, line[a], plane[bc & ~1][a], plane[bc | 1][a]);
        }
      }
      for (int b = 0; b < 2; ++b)
        for (int a = 0; a < 2; ++a) {
          if constexpr (Dim == 3) {
            for (int c = 0; c < 2; ++c) add(dz, c, plane[b + 2 * c][a], sum[b][a], sum[b + 2][a]);
          } else {
            sum[b][a] += plane[b][a];
          }
        }
    }
    for (int bc = 0; bc < 2 * planes; ++bc)
      for (int a = 0; a < 2; ++a) {
        Scalar& to = b[family.parent + (a + 2 * bc) * coarse_stride];
        to = add_to_b ? to + sum[bc][a] : sum[bc][a];
      }
  }

 private:
  /// The transpose of Prolongate::along() for the fine vertex at an offset and its unknown f.
  KOKKOS_FORCEINLINE_FUNCTION static void add(int offset, int f, Scalar r, Scalar& value, Scalar& derivative) {
    if (offset == 0) {
      if (f == 0) {
        value += r;
      } else {
        derivative += Scalar(0.5) * r;
      }
    } else if (f == 0) {
      value += Scalar(0.5) * r;
      derivative += (offset > 0 ? Scalar(0.125) : Scalar(-0.125)) * r;
    } else {
      value += (offset > 0 ? Scalar(-0.75) : Scalar(0.75)) * r;
      derivative -= Scalar(0.125) * r;
    }
  }
};

}  // namespace brickwork::detail
