// SPDX-License-Identifier: BSD-3-Clause
// One pass of the cone filter over the grid: what is filtered and what becomes of the result are functors, so that a
// design step needs no field between the two.
//
// With S the symmetric stencil of the weights w and W the totals, H = W^-1 S and H^T = S W^-1 (`Transposed`). A pass
// calls, for every cell i,
//
//   consume(i, result, sums),   result[m] = (H v_m)_i or (H^T v_m)_i,  m < M,
//
// with v_m(j) from value(j, v); `sums` are those of sum_each(), or null. Value and consume may touch the same array
// only where value does not read what consume writes.
//
// Two kernels give the same to rounding, each bitwise repeatable:
// - compact (every neighbour within one cell along each axis, radius < 2 cells): an index is a column of cells along z.
//   A layer of 3 x 3 values is evaluated once and serves the three cells of the column that it touches: 9 loads per
//   cell and field instead of 27. The weights are eight registers, since they depend on the distance along each axis
//   only. Neighbours beyond a face have a factor 0 instead of a branch. Columns are numbered tile by tile in x and y:
//   neighbouring threads find each other's values in the cache, and memory sees each value about once.
// - general: an index is a cell, the neighbours come from a list.
#pragma once

#include "brickwork/core/sums.hpp"
#include "brickwork/design/filter.hpp"

namespace brickwork::detail {

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

template <class Real>
KOKKOS_INLINE_FUNCTION Real filter_total(FilterStencil<Real> const& s, index_t x, index_t y, index_t z) {
  index_t const a = filter_class(x, s.n[0], s.reach[0], s.classes[0]);
  index_t const b = filter_class(y, s.n[1], s.reach[1], s.classes[1]);
  index_t const c = filter_class(z, s.n[2], s.reach[2], s.classes[2]);
  return s.total[a + s.classes[0] * (b + s.classes[1] * c)];
}

/// Calls body(weight, x, y, z) for the neighbours of a cell in their fixed order.
template <class Real, class Body>
KOKKOS_INLINE_FUNCTION void for_filter_neighbours(FilterStencil<Real> const& s, index_t const (&p)[3],
                                                  Body const& body) {
  for (int o = 0; o < s.offsets; ++o) {
    index_t const x = filter_neighbour(p[0] + s.offset[3 * o], s.n[0], s.periodic[0]);
    index_t const y = filter_neighbour(p[1] + s.offset[3 * o + 1], s.n[1], s.periodic[1]);
    index_t const z = filter_neighbour(p[2] + s.offset[3 * o + 2], s.n[2], s.periodic[2]);
    if (x < 0 || y < 0 || z < 0) continue;
    body(s.weight[o], x, y, z);
  }
}

template <int M, bool Transposed, class Real, class Value, class Consume>
struct GeneralFilter {
  FilterStencil<Real> s;
  Value value;
  Consume consume;

  KOKKOS_FUNCTION void operator()(index_t cell) const { (*this)(cell, nullptr); }
  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    index_t const p[3] = {cell % s.n[0], (cell / s.n[0]) % s.n[1], cell / s.n[0] / s.n[1]};
    Real result[M] = {};
    for_filter_neighbours(s, p, [&](Real weight, index_t x, index_t y, index_t z) {
      Real v[M];
      value(x + s.n[0] * (y + s.n[1] * z), v);
      Real const share = Transposed ? weight / filter_total(s, x, y, z) : weight;
      for (int m = 0; m < M; ++m) result[m] += share * v[m];
    });
    if (!Transposed) {
      Real const inverse = 1 / filter_total(s, p[0], p[1], p[2]);
      for (int m = 0; m < M; ++m) result[m] *= inverse;
    }
    consume(cell, result, sums);
  }
};

/// The columns of the compact kernel: `length` cells along z, in tiles of width x height columns.
struct FilterColumns {
  int width, height, length;
  unsigned tiles_x, tiles_y, tiles_z;

  /// \param most columns that are enough to occupy the machine: beyond them columns grow longer
  template <class Real>
  FilterColumns(FilterStencil<Real> const& s, index_t most, index_t longest) {
    auto const parts = [](index_t n, index_t part) { return (n + part - 1) / part; };
    // Equal tiles, so that few threads idle at the last one.
    tiles_x = static_cast<unsigned>(parts(s.n[0], 32));
    tiles_y = static_cast<unsigned>(parts(s.n[1], 8));
    width = static_cast<int>(parts(s.n[0], tiles_x));
    height = static_cast<int>(parts(s.n[1], tiles_y));
    index_t const wanted = math::clamp(s.n[0] * s.n[1] * s.n[2] / most, index_t(1), math::min(longest, s.n[2]));
    tiles_z = static_cast<unsigned>(parts(s.n[2], wanted));
    length = static_cast<int>(parts(s.n[2], tiles_z));
  }
  index_t count() const { return index_t(tiles_x) * tiles_y * tiles_z * width * height; }
};

template <int M, bool Transposed, class Real, class Value, class Consume>
struct CompactFilter {
  FilterStencil<Real> s;
  FilterColumns columns;
  Value value;
  Consume consume;

  /// One neighbour along an axis: its distance in cells along the axis, wrapped, and whether it exists.
  struct Side {
    int step;
    bool exists;
  };
  KOKKOS_INLINE_FUNCTION static Side side(int x, int step, int n, bool periodic) {
    int const other = x + step;
    if (other >= 0 && other < n) return {step, true};
    return {periodic ? (step < 0 ? n - 1 : 1 - n) : 0, periodic};
  }

  KOKKOS_FUNCTION void operator()(index_t index) const { (*this)(index, nullptr); }
  KOKKOS_FUNCTION void operator()(index_t index, double* sums) const {
    auto rest = static_cast<unsigned>(index);
    auto const next = [&rest](unsigned count) {
      unsigned const digit = rest % count;
      rest /= count;
      return static_cast<int>(digit);
    };
    int const nx = static_cast<int>(s.n[0]), ny = static_cast<int>(s.n[1]), nz = static_cast<int>(s.n[2]);
    int x = next(static_cast<unsigned>(columns.width)), y = next(static_cast<unsigned>(columns.height));
    x += columns.width * next(columns.tiles_x);
    y += columns.height * next(columns.tiles_y);
    if (x >= nx || y >= ny) return;
    int const first = columns.length * static_cast<int>(rest);
    int const last = math::min(first + columns.length, nz);

    Side const in_x[3] = {side(x, -1, nx, s.periodic[0]), {0, true}, side(x, 1, nx, s.periodic[0])};
    Side const in_y[3] = {side(y, -1, ny, s.periodic[1]), {0, true}, side(y, 1, ny, s.periodic[1])};
    int offset[3][3];
    Real factor[3][3];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) {
        offset[j][i] = in_x[i].step + nx * in_y[j].step;
        factor[j][i] = in_x[i].exists && in_y[j].exists ? Real(1) : Real(0);
      }
    int const column = x + nx * y, layer = nx * ny;
    // Few cells need totals other than those of the interior: the outermost layers, and neighbours of the other faces.
    bool const far_from_sides = x >= 2 && x < nx - 2 && y >= 2 && y < ny - 2;
    Real const inner = Transposed ? Real(1) : 1 / filter_total(s, x, y, nz / 2);

    Real pending[M] = {}, below[M] = {};  // of the cell last met without its upper layer; of the layer last met
    for (int at = first - 1; at <= last; ++at) {
      Side const in_z = side(at, 0, nz, s.periodic[2]);
      int const z = at < 0 ? nz - 1 : (at < nz ? at : 0);
      Real same[M] = {}, off[M] = {};
      if (in_z.exists) {
        if (Transposed && (at == first - 1 || z <= 1 || z == nz - 1)) {
          bool const alike = far_from_sides && z >= 1 && z < nz - 1;
          Real const common = 1 / filter_total(s, x, y, z);
          for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 3; ++i)
              if (in_x[i].exists && in_y[j].exists)
                factor[j][i] = alike ? common : 1 / filter_total(s, x + in_x[i].step, y + in_y[j].step, z);
        }
        Real group[4][M] = {};  // sums of equal distance: centre, x, y, corners
        for (int j = 0; j < 3; ++j)
          for (int i = 0; i < 3; ++i) {
            Real v[M];
            value(column + layer * z + offset[j][i], v);
            for (int m = 0; m < M; ++m) group[(i != 1) + 2 * (j != 1)][m] += factor[j][i] * v[m];
          }
        for (int m = 0; m < M; ++m)
          for (int b = 0; b < 4; ++b) {
            same[m] += s.unit_weight[b] * group[b][m];
            off[m] += s.unit_weight[4 + b] * group[b][m];
          }
      }
      if (at > first) {
        Real result[M];
        Real const inverse = Transposed ? Real(1) : (at == 1 || at == nz) ? 1 / filter_total(s, x, y, at - 1) : inner;
        for (int m = 0; m < M; ++m) result[m] = (pending[m] + off[m]) * inverse;
        consume(column + layer * (at - 1), result, sums);
      }
      for (int m = 0; m < M; ++m) {
        pending[m] = below[m] + same[m];
        below[m] = off[m];
      }
    }
  }
};

/// Runs one pass; asynchronous, one launch. With a radius of less than two cells, see above.
/// \param launch called as launch(indices, plain values per index, kernel)
template <int M, bool Transposed, class ExecutionSpace, class Real, class Value, class Consume, class Launch>
void filter_pass(FilterStencil<Real> const& s, Value const& value, Consume const& consume, Launch const& launch) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  if (s.compact) {
    FilterColumns const columns(s, on_host ? 1024 : 1 << 18, on_host ? 16 : 32);
    launch(columns.count(), index_t(16) * columns.length,
           CompactFilter<M, Transposed, Real, Value, Consume>{s, columns, value, consume});
  } else {
    launch(s.n[0] * s.n[1] * s.n[2], index_t(s.offsets),
           GeneralFilter<M, Transposed, Real, Value, Consume>{s, value, consume});
  }
}

template <int M, bool Transposed, class ExecutionSpace, class Real, class Value, class Consume>
void filter_each(char const* label, ExecutionSpace const& space, FilterStencil<Real> const& s, Value const& value,
                 Consume const& consume) {
  filter_pass<M, Transposed, ExecutionSpace>(s, value, consume, [&](index_t count, index_t, auto const& kernel) {
    Kokkos::parallel_for(label, range(space, count), kernel);
  });
}

/// The same with N sums over the cells, as sum_each().
template <int N, int M, bool Transposed, class ExecutionSpace, class Real, class Value, class Consume, class Finish>
void filter_sum(char const* label, ExecutionSpace const& space, FilterStencil<Real> const& s, Value const& value,
                Consume const& consume, SumWorkspace<ExecutionSpace> const& workspace, Finish const& finish) {
  filter_pass<M, Transposed, ExecutionSpace>(s, value, consume, [&](index_t count, index_t work, auto const& kernel) {
    sum_each<N>(label, space, count, kernel, workspace, finish, work);
  });
}

/// Values of a field.
template <class Real>
struct FieldValue {
  Real const* field;
  template <class Index>
  KOKKOS_FUNCTION void operator()(Index cell, Real* v) const {
    v[0] = field[cell];
  }
};

/// Stores results.
template <class Real>
struct StoreValue {
  Real* field;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* result, double*) const { field[cell] = result[0]; }
};

}  // namespace brickwork::detail
