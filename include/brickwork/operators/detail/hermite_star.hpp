// SPDX-License-Identifier: BSD-3-Clause
// Rows of a Hermite operator at vertices whose 2^Dim cells all exist, in the even-odd basis of the vertex.
//
// The 3^Dim vertices around v are mirror images of each other in each axis through v, and the operator commutes with
// these reflections. A row whose unknown is a value in an axis is even there and meets three combinations only of the
// six unknowns v = u(-1, 0, 1) and w = u'(-1, 0, 1) along that axis,
//   v(-1) + v(1),   w(-1) - w(1),   v(0),
// a row whose unknown is a derivative is odd and meets
//   v(1) - v(-1),   w(-1) + w(1),   w(0).
// So each of the eight rows of a vertex (Dim = 3) has 27 coefficients instead of 216, and a vertex takes 216
// multiply-adds and some 130 additions, where the even-odd form of the element takes about 800 operations per cell. It
// also follows that two different unknowns of one vertex lie in different parity classes: the diagonal block of a
// vertex is diagonal.
//
// Storage: unknown m of vertex i at i + m * stride (vertices consecutive, x fastest). Least traffic per vertex and
// application: 8 values read and 8 written, 128 bytes in FP64. Nothing is accumulated in memory; results do not depend
// on the order of the vertices.
// Source: ours; the one-dimensional matrices are those of fem/hermite.hpp.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/core/simd.hpp"
#include "brickwork/fem/hermite.hpp"
#include "brickwork/operators/detail/as_argument.hpp"
#include "brickwork/operators/detail/async_copy.hpp"
#include "brickwork/operators/detail/hermite_finish.hpp"

namespace brickwork::detail {

/// 3D: [row g = a + 2 b][unknown c' in z][x-y mode i + 3 j][on c = 0 from the side, on c = 1 from the side, centre];
/// 2D: [row][0][mode][centre only, index 2].
template <class Scalar, int Dim>
struct StarCoefficients {
  static constexpr int depth = Dim == 3 ? 2 : 1;
  static constexpr int outputs = Dim == 3 ? 3 : 1;
  Scalar value[4][depth][9][outputs];
};

/// One-dimensional star: [row, value or derivative][mode] of an assembled matrix at a vertex between equal cells.
using StarRow = std::array<std::array<double, 3>, 2>;

inline StarRow star_rows(HermiteMatrix1D const& e) {
  return {{{e[2][0], e[2][1], e[0][0] + e[2][2]}, {e[1][2], e[1][3], e[1][1] + e[3][3]}}};
}

template <class Scalar, int Dim>
StarCoefficients<Scalar, Dim> star_coefficients(HermiteForm const& form, std::array<double, Dim> const& spacing) {
  StarRow rows[Dim][3];
  for (int d = 0; d < Dim; ++d)
    for (int order = 0; order < 3; ++order) rows[d][order] = star_rows(hermite_matrix(order, spacing[d]));
  StarCoefficients<Scalar, Dim> c{};
  auto const terms = hermite_terms<Dim>(form);
  for (int g = 0; g < 4; ++g)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum[2][3] = {};
        for (auto const& term : terms) {
          double const plane =
              term.coefficient * rows[0][term.order[0]][g & 1][i] * rows[1][term.order[1]][(g >> 1) & 1][j];
          if constexpr (Dim == 3) {
            auto const& z = rows[2][term.order[2]];
            for (int unknown = 0; unknown < 2; ++unknown) {
              sum[unknown][0] += plane * z[0][unknown];
              sum[unknown][1] += plane * z[1][unknown];
              sum[unknown][2] += plane * z[unknown][2];
            }
          } else {
            sum[0][2] += plane;
          }
        }
        for (int unknown = 0; unknown < StarCoefficients<Scalar, Dim>::depth; ++unknown) {
          auto& to = c.value[g][unknown][i + 3 * j];
          if constexpr (Dim == 3) {
            for (int output = 0; output < 3; ++output) to[output] = static_cast<Scalar>(sum[unknown][output]);
          } else {
            to[0] = static_cast<Scalar>(sum[unknown][2]);
          }
        }
      }
  return c;
}

/// Diagonal of the assembled operator at such a vertex, [unknown].
template <int Dim>
std::array<double, 1 << Dim> star_diagonal(HermiteForm const& form, std::array<double, Dim> const& spacing) {
  std::array<double, 1 << Dim> diagonal{};
  for (auto const& term : hermite_terms<Dim>(form))
    for (int m = 0; m < (1 << Dim); ++m) {
      double product = term.coefficient;
      for (int d = 0; d < Dim; ++d) product *= star_rows(hermite_matrix(term.order[d], spacing[d]))[(m >> d) & 1][2];
      diagonal[static_cast<std::size_t>(m)] += product;
    }
  return diagonal;
}

/// What one x-y layer gives to the rows of a vertex, for one unknown c' in z: sums[g][output].
/// \param load  load(row, dx, m): unknown m = a' + 2 b' of the layer's vertex in row dy = row - 1, a value or a pack
template <bool sides, bool centre, class Value, class Scalar, int depth, int outputs, class Load>
KOKKOS_FORCEINLINE_FUNCTION void star_layer(Scalar const (&c)[4][depth][9][outputs], int unknown, Load const& load,
                                            Value (&sums)[4][3]) {
  static_for<2>([&](auto b) BRICKWORK_INLINE_LAMBDA {  // the unknown in y
    constexpr int y = decltype(b)::value;
    Value mode[3][2][3];  // [row][parity in x][mode]
    for (int row = 0; row < 3; ++row) {
      Value const v0 = load(row, -1, 2 * y), v1 = load(row, 0, 2 * y), v2 = load(row, 1, 2 * y);
      Value const w0 = load(row, -1, 2 * y + 1), w1 = load(row, 0, 2 * y + 1), w2 = load(row, 1, 2 * y + 1);
      mode[row][0][0] = v0 + v2;
      mode[row][0][1] = w0 - w2;
      mode[row][0][2] = v1;
      mode[row][1][0] = v2 - v0;
      mode[row][1][1] = w0 + w2;
      mode[row][1][2] = w1;
    }
    static_for<6>([&](auto index) BRICKWORK_INLINE_LAMBDA {
      constexpr int a = decltype(index)::value / 3, i = decltype(index)::value % 3;
      Value const sum = mode[0][a][i] + mode[2][a][i];
      // v(1) - v(-1) of a value, w(-1) - w(1) of a derivative
      Value const difference = y == 0 ? mode[2][a][i] - mode[0][a][i] : mode[0][a][i] - mode[2][a][i];
      constexpr int even = a, odd = a + 2;  // rows g
      // The unknown in y is a value: sum and centre belong to the even row; a derivative: to the odd one.
      constexpr int with_sum = y == 0 ? even : odd, with_difference = y == 0 ? odd : even;
      auto const add = [&](int g, int j, Value const& value) BRICKWORK_INLINE_LAMBDA {
        auto const& k = c[g][unknown][i + 3 * j];
        if constexpr (outputs == 1) {
          sums[g][2] += k[0] * value;
        } else {
          if constexpr (sides) {
            sums[g][0] += k[0] * value;
            sums[g][1] += k[1] * value;
          }
          if constexpr (centre) sums[g][2] += k[2] * value;
        }
      };
      add(with_sum, y, sum);
      add(with_sum, 2, mode[1][a][i]);
      add(with_difference, y, difference);
    });
  });
}

/// Vertices of a table, each with the numbers of (x, y + dy, z + dz), row (dy + 1) + 3 (dz + 1); -1 where there is
/// none.
struct TableSites {
  int const* vertices;
  int const* neighbours;  // [row][site]
  index_t count;

  struct Rows {
    int const* first;
    index_t stride;
    KOKKOS_FORCEINLINE_FUNCTION index_t operator()(int row) const { return first[row * stride]; }
  };
  KOKKOS_FORCEINLINE_FUNCTION index_t vertex(index_t site) const { return vertices[site]; }
  KOKKOS_FORCEINLINE_FUNCTION Rows rows(index_t site, index_t) const { return {neighbours + site, count}; }
};

/// Every step-th vertex in each axis of a box of vertices.
template <int Dim>
struct BoxSites {
  int first[Dim], extent[Dim], step;
  index_t stride[Dim];  // between vertices that are neighbours in an axis; stride[0] is 1
  index_t count;

  struct Rows {
    index_t vertex, stride[Dim];
    KOKKOS_FORCEINLINE_FUNCTION index_t operator()(int row) const {
      if constexpr (Dim == 3) return vertex + (row % 3 - 1) * stride[1] + (row / 3 - 1) * stride[2];
      return vertex + (row - 1) * stride[1];
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION index_t vertex(index_t site) const {
    auto rest = static_cast<std::uint32_t>(site);
    index_t vertex = 0;
    for (int d = 0; d < Dim; ++d) {
      auto const size = static_cast<std::uint32_t>(extent[d]);
      std::uint32_t const p = d == Dim - 1 ? rest : rest % size;
      rest /= size;
      vertex += (first[d] + static_cast<index_t>(p) * step) * stride[d];
    }
    return vertex;
  }
  KOKKOS_FORCEINLINE_FUNCTION Rows rows(index_t, index_t vertex) const {
    Rows rows;
    rows.vertex = vertex;
    for (int d = 0; d < Dim; ++d) rows.stride[d] = stride[d];
    return rows;
  }
};

/// The product at single vertices, finished as hermite_finish.hpp says.
template <class Scalar, int Dim, class Sites, class Finish>
struct StarAtSites {
  StarCoefficients<Scalar, Dim> coefficients;
  Scalar const* x;
  index_t stride;
  Sites sites;
  Finish finish;

  KOKKOS_FUNCTION void operator()(index_t site) const {
    index_t const vertex = sites.vertex(site);
    auto const rows = sites.rows(site, vertex);
    Scalar known[1 << Dim];
    for (int m = 0; m < (1 << Dim); ++m) known[m] = finish.template known<Scalar>(vertex, m);
    Scalar* const to = finish.to + vertex;
    if constexpr (Dim == 2) {
      Scalar sums[4][3] = {};
      star_layer<false, true, Scalar>(coefficients.value, 0, Load{x, stride, {rows(0), rows(1), rows(2)}}, sums);
      for (int g = 0; g < 4; ++g) to[g * stride] = known[g] + finish.factor(g) * sums[g][2];
    } else {
      Scalar result[8] = {};
      static_for<3>([&](auto layer) BRICKWORK_INLINE_LAMBDA {
        constexpr int z = decltype(layer)::value;
        static_for<2>([&](auto unknown) BRICKWORK_INLINE_LAMBDA {
          constexpr int c = decltype(unknown)::value;
          Scalar sums[4][3] = {};
          star_layer<z != 1, z == 1, Scalar>(
              coefficients.value, c, Load{x + 4 * c * stride, stride, {rows(3 * z), rows(3 * z + 1), rows(3 * z + 2)}},
              sums);
          for (int g = 0; g < 4; ++g) add_layer<z, c>(sums[g], result[g], result[g + 4]);
        });
      });
      for (int m = 0; m < 8; ++m) to[m * stride] = known[m] + finish.factor(m) * result[m];
    }
  }

 private:
  struct Load {
    Scalar const* x;
    index_t stride;
    index_t row[3];
    KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(int r, int dx, int m) const { return x[row[r] + dx + m * stride]; }
  };
  template <int z, int c>
  KOKKOS_FORCEINLINE_FUNCTION static void add_layer(Scalar const (&sums)[3], Scalar& even, Scalar& odd) {
    if constexpr (z == 1) {
      (c == 0 ? even : odd) += sums[2];
    } else {
      // even: v(-1) + v(1), w(-1) - w(1); odd: v(1) - v(-1), w(-1) + w(1)
      even += z == 2 && c == 1 ? -sums[0] : sums[0];
      odd += z == 0 && c == 0 ? -sums[1] : sums[1];
    }
  }
};

/// A box of vertices that is no neighbour of the level's edge, cut into tiles that march through layers: each layer is
/// read once (with its neighbours in x and y) and gives to the rows of three.
template <class Scalar>
struct StarBox {
  Scalar const* x;
  index_t stride;     // between unknowns
  index_t row, slab;  // between vertices
  index_t origin;     // first vertex of the box
  int extent[3];
  int tiles[2], layers;  // tiles in x and y, layers of vertices that a tile marches through

  StarBox(BoxSites<3> const& sites, Scalar const* x_, index_t stride_, int tile_x, int tile_y, int tiles_wanted)
      : x(x_), stride(stride_), row(sites.stride[1]), slab(sites.stride[2]), origin(0) {
    for (int d = 0; d < 3; ++d) {
      origin += sites.first[d] * sites.stride[d];
      extent[d] = sites.extent[d];
    }
    tiles[0] = (extent[0] + tile_x - 1) / tile_x;
    tiles[1] = (extent[1] + tile_y - 1) / tile_y;
    // Two layers more are read than written: as many layers as leave the wanted number of tiles.
    index_t const plane = static_cast<index_t>(tiles[0]) * tiles[1];
    layers = static_cast<int>(math::clamp<index_t>(plane * extent[2] / tiles_wanted, 1, 32));
  }
  index_t tile_count() const { return static_cast<index_t>(tiles[0]) * tiles[1] * ((extent[2] + layers - 1) / layers); }
};

/// What the layers so far gave to the rows of the last one and of the coming one, along one column.
template <class Value>
struct StarColumn {
  Value now[8] = {}, next[8] = {};

  /// Takes a layer's sums, from the unknowns without (v) and with (w) a derivative in z; gives the rows of the layer
  /// before.
  KOKKOS_FORCEINLINE_FUNCTION void advance(Value const (&v)[4][3], Value const (&w)[4][3], Value (&rows)[8]) {
    for (int g = 0; g < 4; ++g) {
      rows[g] = now[g] + v[g][0] - w[g][0];
      rows[g + 4] = now[g + 4] + v[g][1] + w[g][1];
      now[g] = next[g] + v[g][2];
      now[g + 4] = next[g + 4] + w[g][2];
      next[g] = v[g][0] + w[g][0];
      next[g + 4] = w[g][1] - v[g][1];
    }
  }
};

/// The march on a host: packs of columns.
template <class Scalar, class Finish>
struct StarMarch {
  static constexpr int tile_x = 32, tile_y = 4;
  StarCoefficients<Scalar, 3> coefficients;
  StarBox<Scalar> box;
  Finish finish;

  template <class Value>
  struct Load {
    Scalar const* x;
    index_t stride, row;
    KOKKOS_FORCEINLINE_FUNCTION Value operator()(int r, int dx, int m) const {
      return get<Value>(x + (r - 1) * row + dx + m * stride);
    }
  };

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void column(index_t first, int count) const {
    StarColumn<Value> column;
    index_t vertex = first - box.slab;
    for (int layer = 0; layer < count + 2; ++layer, vertex += box.slab) {
      Scalar const* const x = box.x + vertex;
      Value v[4][3] = {}, w[4][3] = {}, rows[8];
      star_layer<true, true, Value>(coefficients.value, 0, Load<Value>{x, box.stride, box.row}, v);
      star_layer<true, true, Value>(coefficients.value, 1, Load<Value>{x + 4 * box.stride, box.stride, box.row}, w);
      column.advance(v, w, rows);
      if (layer < 2) continue;
      index_t const before = vertex - box.slab;
      for (int m = 0; m < 8; ++m)
        put(finish.to + before + m * box.stride,
            static_cast<Value>(finish.template known<Value>(before, m) + finish.factor(m) * rows[m]));
    }
  }

  KOKKOS_FUNCTION void operator()(index_t tile) const {
    auto rest = static_cast<int>(tile);
    int const x0 = rest % box.tiles[0] * tile_x;
    rest /= box.tiles[0];
    int const y0 = rest % box.tiles[1] * tile_y;
    int const z0 = rest / box.tiles[1] * box.layers;
    int const count = math::min(box.layers, box.extent[2] - z0);
    index_t const first = box.origin + x0 + y0 * box.row + z0 * box.slab;
    constexpr int width = pack_width<Scalar>;
    for (int y = 0; y < tile_y && y0 + y < box.extent[1]; ++y) {
      int const columns = math::min(tile_x, box.extent[0] - x0);
      int i = 0;
      if constexpr (width > 1)
        for (; i + width <= columns; i += width) column<Pack<Scalar>>(first + i + y * box.row, count);
      for (; i < columns; ++i) column<Scalar>(first + i + y * box.row, count);
    }
  }
};

/// The march on a GPU: a team per tile, one column per thread, layers in a ring of three in shared memory that
/// asynchronous copies fill two layers ahead. Kokkos gives a team 48 kB of it, which sets the tile's height.
template <class ExecutionSpace, class Scalar, class Finish>
struct StarTile {
  static constexpr int tile_x = 32, tile_y = sizeof(Scalar) == 8 ? 4 : 8, threads = tile_x * tile_y;
  static constexpr int width = tile_x + 2, height = tile_y + 2, plane = width * height, layer_size = 8 * plane;
  static constexpr int ring = 3;
  static constexpr int scratch_bytes = static_cast<int>(sizeof(Scalar)) * ring * layer_size;
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<threads, sizeof(Scalar) == 8 ? 3 : 2>>;
  using member_type = typename policy_type::member_type;

  StarCoefficients<Scalar, 3> coefficients;
  StarBox<Scalar> box;
  Finish finish;

  struct Load {
    Scalar const* x;  // this thread's vertex, unknown 0 or 4
    KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(int r, int dx, int m) const {
      return x[(r - 1) * width + dx + m * plane];
    }
  };

  /// Begins to copy a layer: a warp takes all rows of an unknown, then everyone the two columns beyond a warp's width.
  /// \param corner  the tile's vertex at (-1, -1) of the layer
  KOKKOS_FORCEINLINE_FUNCTION void copy_layer(Scalar* to, index_t corner, int rank, int columns, int rows) const {
    int const lane = rank % tile_x;
    for (int m = rank / tile_x; m < 8; m += tile_y) {
      Scalar const* const from = box.x + corner + m * box.stride + lane;
      for (int r = 0; r < height; ++r)
        if (lane < columns && r < rows) copy_async(to + m * plane + r * width + lane, from + r * box.row);
    }
    for (int n = rank; n < 16 * height; n += threads) {
      int const m = n / (2 * height), r = n % (2 * height) / 2, column = tile_x + n % 2;
      if (r < rows && column < columns)
        copy_async(to + m * plane + r * width + column, box.x + corner + m * box.stride + r * box.row + column);
    }
    commit_copies();
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    auto* const scratch = static_cast<Scalar*>(team.team_scratch(0).get_shmem(int(scratch_bytes)));
    int const rank = team.team_rank(), i = rank % tile_x, j = rank / tile_x;
    int rest = team.league_rank();
    int const x0 = rest % box.tiles[0] * tile_x;
    rest /= box.tiles[0];
    int const y0 = rest % box.tiles[1] * tile_y;
    int const z0 = rest / box.tiles[1] * box.layers;
    int const count = math::min(box.layers, box.extent[2] - z0);
    bool const inside = x0 + i < box.extent[0] && y0 + j < box.extent[1];
    int const columns = math::min(width, box.extent[0] - x0 + 2), rows = math::min(height, box.extent[1] - y0 + 2);
    index_t corner = box.origin + x0 - 1 + (y0 - 1) * box.row + (z0 - 1) * box.slab;
    index_t before = corner + (i + 1) + (j + 1) * box.row - box.slab;  // this thread's vertex a layer back
    int const own = (j + 1) * width + i + 1;
    copy_layer(scratch, corner, rank, columns, rows);
    copy_layer(scratch + layer_size, corner + box.slab, rank, columns, rows);
    corner += 2 * box.slab;
    StarColumn<Scalar> column;
    for (int layer = 0; layer < count + 2; ++layer, before += box.slab, corner += box.slab) {
      wait_for_copies();
      team.team_barrier();
      if (layer < count) {
        copy_layer(scratch + (layer + 2) % ring * layer_size, corner, rank, columns, rows);
      } else {
        commit_copies();
      }
      bool const writes = inside && layer >= 2;
      Scalar known[8] = {};
      if (writes)
        for (int m = 0; m < 8; ++m) known[m] = finish.template known<Scalar>(before, m);
      Scalar const* const x = scratch + layer % ring * layer_size + own;
      Scalar v[4][3] = {}, w[4][3] = {}, result[8];
      star_layer<true, true, Scalar>(coefficients.value, 0, Load{x}, v);
      star_layer<true, true, Scalar>(coefficients.value, 1, Load{x + 4 * plane}, w);
      column.advance(v, w, result);
      if (writes)
        for (int m = 0; m < 8; ++m) finish.to[before + m * box.stride] = known[m] + finish.factor(m) * result[m];
    }
  }
};

/// Calls functor(i) for i in [0, count), with the functor passed by value: its coefficients lie in constant memory, and
/// the launch can be recorded in a graph. A range, not teams: for those Kokkos takes the level-1 cache for shared
/// memory.
template <class ExecutionSpace, class Functor>
void for_each_by_value(char const* label, ExecutionSpace const& space, index_t count, Functor const& functor) {
  static_assert(sizeof(Functor) <= argument_bytes, "too large for a kernel argument of CUDA");
  if (count == 0) return;
  Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<index_t>, Kokkos::LaunchBounds<128, 2>> const policy(
      space, index_t(0), count);
  Kokkos::parallel_for(label, as_argument<Functor>(policy), functor);
}

/// The product on a box of vertices, in the kernel that suits the space.
template <class Scalar, int Dim, class ExecutionSpace, class Finish>
void star_on_box(char const* label, ExecutionSpace const& space, StarCoefficients<Scalar, Dim> const& coefficients,
                 Scalar const* x, index_t stride, BoxSites<Dim> const& sites, Finish const& finish) {
  if (sites.count == 0) return;
  if constexpr (Dim == 3) {
    if (sites.step == 1) {
      if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible) {
        using Kernel = StarMarch<Scalar, Finish>;
        Kernel const kernel{coefficients, {sites, x, stride, Kernel::tile_x, Kernel::tile_y, 256}, finish};
        for_each_by_value(label, space, kernel.box.tile_count(), kernel);
      } else {
        using Kernel = StarTile<ExecutionSpace, Scalar, Finish>;
        // Several tiles per multiprocessor, so that their ends do not leave it idle.
        Kernel const kernel{coefficients, {sites, x, stride, Kernel::tile_x, Kernel::tile_y, 1024}, finish};
        static_assert(sizeof(Kernel) <= argument_bytes, "too large for a kernel argument of CUDA");
        typename Kernel::policy_type policy(space, static_cast<int>(kernel.box.tile_count()), int(Kernel::threads));
        policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes));
        Kokkos::parallel_for(label, as_argument<Kernel>(policy), kernel);
      }
      return;
    }
  }
  for_each_by_value(label, space, sites.count,
                    StarAtSites<Scalar, Dim, BoxSites<Dim>, Finish>{coefficients, x, stride, sites, finish});
}

}  // namespace brickwork::detail
