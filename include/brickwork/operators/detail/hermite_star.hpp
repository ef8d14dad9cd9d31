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

/// The product at single vertices, handed to finish(vertex, m, value).
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
    if constexpr (Dim == 2) {
      Scalar sums[4][3] = {};
      star_layer<false, true, Scalar>(coefficients.value, 0, Load{x, stride, {rows(0), rows(1), rows(2)}}, sums);
      for (int g = 0; g < 4; ++g) finish(vertex, g, sums[g][2]);
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
      for (int m = 0; m < 8; ++m) finish(vertex, m, result[m]);
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

/// The product on a box of vertices, marching through its layers: each layer is read once (with its neighbours in x and
/// y, from cache) and gives to the rows of three.
template <class ExecutionSpace, class Scalar, class Finish>
struct StarMarch {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<128, 3>>;
  using member_type = typename policy_type::member_type;
  static constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  static constexpr int tile_x = 32, tile_y = 4;

  StarCoefficients<Scalar, 3> coefficients;
  Scalar const* x;
  index_t stride;     // between unknowns
  index_t row, slab;  // between vertices
  index_t origin;     // first vertex of the box
  int extent[3];
  int tiles[2], layers;  // tiles in x and y, layers of vertices that a tile marches through
  Finish finish;

  template <class Value>
  struct Load {
    Scalar const* x;
    index_t stride, row;
    KOKKOS_FORCEINLINE_FUNCTION Value operator()(int r, int dx, int m) const {
      Scalar const* const from = x + (r - 1) * row + dx + m * stride;
      if constexpr (std::is_same_v<Value, Scalar>) {
        return *from;
      } else {
        return load_pack(from);
      }
    }
  };

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void column(index_t first, int count) const {
    Value now[8] = {}, next[8] = {};  // what the layers so far gave to the rows of the last one and of the coming one
    index_t vertex = first - slab;
    for (int layer = 0; layer < count + 2; ++layer, vertex += slab) {
      Value v[4][3] = {}, w[4][3] = {};  // from the unknowns without and with a derivative in z
      star_layer<true, true, Value>(coefficients.value, 0, Load<Value>{x + vertex, stride, row}, v);
      star_layer<true, true, Value>(coefficients.value, 1, Load<Value>{x + vertex + 4 * stride, stride, row}, w);
      for (int g = 0; g < 4; ++g) {
        Value const below[2] = {now[g] + v[g][0] - w[g][0], now[g + 4] + v[g][1] + w[g][1]};
        now[g] = next[g] + v[g][2];
        now[g + 4] = next[g + 4] + w[g][2];
        next[g] = v[g][0] + w[g][0];
        next[g + 4] = w[g][1] - v[g][1];
        if (layer >= 2) {
          finish(vertex - slab, g, below[0]);
          finish(vertex - slab, g + 4, below[1]);
        }
      }
    }
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    int rest = team.league_rank();
    int const x0 = rest % tiles[0] * tile_x;
    rest /= tiles[0];
    int const y0 = rest % tiles[1] * tile_y;
    int const z0 = rest / tiles[1] * layers;
    int const count = math::min(layers, extent[2] - z0);
    index_t const first = origin + x0 + y0 * row + z0 * slab;
    if constexpr (on_host) {
      constexpr int width = pack_width<Scalar>;
      for (int y = 0; y < tile_y && y0 + y < extent[1]; ++y) {
        int const columns = math::min(tile_x, extent[0] - x0);
        int i = 0;
        if constexpr (width > 1)
          for (; i + width <= columns; i += width) column<Pack<Scalar>>(first + i + y * row, count);
        for (; i < columns; ++i) column<Scalar>(first + i + y * row, count);
      }
    } else {
      int const rank = team.team_rank();
      int const i = rank % tile_x, j = rank / tile_x;
      if (x0 + i < extent[0] && y0 + j < extent[1]) column<Scalar>(first + i + j * row, count);
    }
  }
};

/// Calls functor(i) for i in [0, count) in teams of fixed size, so that neighbouring indices share a cache, with the
/// functor passed by value: the coefficients lie in constant memory and the launch can be recorded in a graph.
template <class ExecutionSpace, class Functor>
struct InBlocks {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<128, 3>>;
  using member_type = typename policy_type::member_type;
  static constexpr int block = 128;
  Functor functor;
  index_t count;
  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t const first = static_cast<index_t>(team.league_rank()) * block;
    for (int i = team.team_rank(); i < block; i += team.team_size())
      if (first + i < count) functor(first + i);
  }
};

template <class Kernel, class ExecutionSpace>
void launch_by_value(char const* label, ExecutionSpace const& space, index_t teams, int team_size,
                     Kernel const& kernel) {
  static_assert(sizeof(Kernel) <= 3584, "a kernel argument of CUDA has 4 kB, and the policy travels along");
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  typename Kernel::policy_type const policy(space, static_cast<int>(teams), on_host ? 1 : team_size);
  Kokkos::parallel_for(
      label, Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight), kernel);
}

template <class ExecutionSpace, class Functor>
void for_each_in_blocks(char const* label, ExecutionSpace const& space, index_t count, Functor const& functor) {
  if (count == 0) return;
  using Kernel = InBlocks<ExecutionSpace, Functor>;
  launch_by_value(label, space, (count + Kernel::block - 1) / Kernel::block, Kernel::block, Kernel{functor, count});
}

/// The product on a box of vertices that are no neighbours of the level's edge, in the kernel that suits it.
template <class Scalar, int Dim, class ExecutionSpace, class Finish>
void star_on_box(char const* label, ExecutionSpace const& space, StarCoefficients<Scalar, Dim> const& coefficients,
                 Scalar const* x, index_t stride, BoxSites<Dim> const& sites, Finish const& finish) {
  if (sites.count == 0) return;
  if constexpr (Dim == 3) {
    if (sites.step == 1) {
      using Kernel = StarMarch<ExecutionSpace, Scalar, Finish>;
      Kernel kernel{coefficients, x, stride, sites.stride[1], sites.stride[2], 0, {}, {}, 1, finish};
      for (int d = 0; d < 3; ++d) {
        kernel.origin += sites.first[d] * sites.stride[d];
        kernel.extent[d] = sites.extent[d];
      }
      kernel.tiles[0] = (sites.extent[0] + Kernel::tile_x - 1) / Kernel::tile_x;
      kernel.tiles[1] = (sites.extent[1] + Kernel::tile_y - 1) / Kernel::tile_y;
      // Two layers more are read than written: as many layers as leave a GPU several teams per multiprocessor.
      index_t const plane = static_cast<index_t>(kernel.tiles[0]) * kernel.tiles[1];
      kernel.layers = static_cast<int>(math::clamp<index_t>(plane * sites.extent[2] / 1024, 1, 32));
      index_t const teams = plane * ((sites.extent[2] + kernel.layers - 1) / kernel.layers);
      launch_by_value(label, space, teams, Kernel::tile_x * Kernel::tile_y, kernel);
      return;
    }
  }
  for_each_in_blocks(label, space, sites.count,
                     StarAtSites<Scalar, Dim, BoxSites<Dim>, Finish>{coefficients, x, stride, sites, finish});
}

}  // namespace brickwork::detail
