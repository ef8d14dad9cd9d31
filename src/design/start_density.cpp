// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/start_density.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/sums.hpp"
#include "brickwork/design/detail/root_search.hpp"
#include "brickwork/parallel/communicator.hpp"

namespace brickwork {

namespace detail {

/// A number in [0, 1) that depends on (seed, counter) only: the finalizer of splitmix64 (Steele, Lea and Flood, 2014)
/// over both.
KOKKOS_INLINE_FUNCTION std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
KOKKOS_INLINE_FUNCTION double random_number(std::uint64_t seed, index_t counter) {
  std::uint64_t const bits = mixed_bits(mixed_bits(seed) ^ static_cast<std::uint64_t>(counter));
  return static_cast<double>(bits >> 11) * (1.0 / 9007199254740992.0);
}

constexpr int most_waves = 8;
constexpr int most_functions = 2 * most_waves + 1;

/// Evaluates a series in columns along z: the sums over a and b are done once per column, so that a cell costs one
/// multiplication and addition per function of z. Writes one value per cell.
template <class Real>
struct EvaluateSeries {
  index_t n[3];
  index_t length;  ///< of a column
  int functions;
  bool sheet;
  double const* in_x;  ///< [b][c][x]: sum over a of coefficient times u_a(x)
  double const* in_y;  ///< [b][y]
  double const* in_z;  ///< [c][z]
  Real* field;

  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const x = index % n[0], y = (index / n[0]) % n[1], first = index / n[0] / n[1] * length;
    index_t const last = math::min(first + length, n[2]);
    double column[most_functions];
    for (int c = 0; c < functions; ++c) {
      column[c] = 0;
      for (int b = 0; b < functions; ++b) column[c] += in_x[(b * functions + c) * n[0] + x] * in_y[b * n[1] + y];
    }
    for (index_t z = first; z < last; ++z) {
      double value = 0;
      for (int c = 0; c < functions; ++c) value += column[c] * in_z[c * n[2] + z];
      field[x + n[0] * (y + n[1] * z)] = static_cast<Real>(sheet ? -math::abs(value) : value);
    }
  }
};

template <class Real>
struct FillRandom {
  std::uint64_t seed;
  Real* field;
  KOKKOS_FUNCTION void operator()(index_t cell) const { field[cell] = static_cast<Real>(random_number(seed, cell)); }
};

template <class Real>
struct FieldRange {
  Real const* field;
  KOKKOS_FUNCTION void operator()(index_t cell, Kokkos::MinMaxScalar<double>& range) const {
    auto const value = static_cast<double>(field[cell]);
    range.min_val = math::min(range.min_val, value);
    range.max_val = math::max(range.max_val, value);
  }
};

/// Density from the distance to a level: a linear ramp of some width, or a step.
template <class Real>
struct LevelRamp {
  Real level;
  Real slope;  ///< 1 / width; 0: a step
  Real lower, upper;
  KOKKOS_FUNCTION Real operator()(Real value) const {
    if (slope == 0) return value > level ? upper : lower;
    return lower + (upper - lower) * math::clamp((value - level) * slope + Real(0.5), Real(0), Real(1));
  }
};

template <class Real, int M>
struct RampSums {
  LevelRamp<Real> ramps[M];
  Real const* field;
  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    Real const value = field[cell];
    for (int m = 0; m < M; ++m) sums[m] += static_cast<double>(ramps[m](value));
  }
};

template <class Real>
struct ApplyRamp {
  LevelRamp<Real> ramp;
  Real* field;
  KOKKOS_FUNCTION void operator()(index_t cell) const { field[cell] = ramp(field[cell]); }
};

}  // namespace detail

namespace {

/// Sum of coefficients[a][b][c] u_a(x) u_b(y) u_c(z), with u = 1, cos w, sin w, cos 2 w, sin 2 w, ..., w = 2 pi
/// `frequency` times the coordinate as a fraction of the box. Surfaces are such series too.
struct TrigonometricSeries {
  int functions;  ///< per axis
  int frequency;
  std::vector<double> coefficients;

  TrigonometricSeries(int waves, int base)
      : functions(2 * waves + 1),
        frequency(base),
        coefficients(static_cast<std::size_t>(functions) * functions * functions) {}
  double& operator()(int a, int b, int c) {
    return coefficients[static_cast<std::size_t>((a * functions + b) * functions + c)];
  }

  /// u at the cell centres of an axis, [function][cell].
  std::vector<double> table(index_t cells) const {
    std::vector<double> values(static_cast<std::size_t>(functions * cells));
    for (int f = 0; f < functions; ++f)
      for (index_t i = 0; i < cells; ++i) {
        // The phase in whole numbers, modulo one turn: cells a period apart get the same value to the last bit.
        index_t const turns = index_t((f + 1) / 2) * frequency * (2 * i + 1) % (2 * cells);
        double const phase = 3.141592653589793238 * static_cast<double>(turns) / static_cast<double>(cells);
        values[static_cast<std::size_t>(f * cells + i)] = f % 2 == 1 ? std::cos(phase) : f == 0 ? 1 : std::sin(phase);
      }
    return values;
  }
};

TrigonometricSeries random_series(int waves, std::uint64_t seed) {
  TrigonometricSeries series(waves, 1);
  for (std::size_t i = 0; i < series.coefficients.size(); ++i)
    series.coefficients[i] = 2 * detail::random_number(seed, static_cast<index_t>(i)) - 1;
  series.coefficients[0] = 0;  // a constant moves with the level
  return series;
}

/// The nodal approximations of triply periodic minimal surfaces (von Schnering and Nesper, 1991); solid where positive.
TrigonometricSeries surface_series(StartDensity kind, int periods) {
  constexpr int one = 0, cos = 1, sin = 2, cos2 = 3;
  TrigonometricSeries s(kind == StartDensity::iwp ? 2 : 1, periods);
  switch (kind) {
    case StartDensity::gyroid:
      s(sin, cos, one) = s(one, sin, cos) = s(cos, one, sin) = 1;
      break;
    case StartDensity::schwarz_p:
      s(cos, one, one) = s(one, cos, one) = s(one, one, cos) = 1;
      break;
    case StartDensity::diamond:
      s(sin, sin, sin) = s(sin, cos, cos) = s(cos, sin, cos) = s(cos, cos, sin) = 1;
      break;
    default:
      s(cos, cos, one) = s(one, cos, cos) = s(cos, one, cos) = 2;
      s(cos2, one, one) = s(one, cos2, one) = s(one, one, cos2) = -1;
  }
  return s;
}

template <class ExecutionSpace, class Real>
void evaluate_series(ExecutionSpace const& space, BoxGrid const& grid, TrigonometricSeries const& series, bool sheet,
                     Real* field) {
  using table_type = Kokkos::View<double*, typename ExecutionSpace::memory_space>;
  Index3 const n = grid.cells();
  int const functions = series.functions;
  auto const x = series.table(n[0]);
  std::vector<double> sums(static_cast<std::size_t>(functions * functions * n[0]));
  for (int a = 0; a < functions; ++a)
    for (int bc = 0; bc < functions * functions; ++bc) {
      double const factor = series.coefficients[static_cast<std::size_t>(a * functions * functions + bc)];
      if (factor == 0) continue;
      for (index_t i = 0; i < n[0]; ++i)
        sums[static_cast<std::size_t>(bc * n[0] + i)] += factor * x[static_cast<std::size_t>(a * n[0] + i)];
    }
  auto const in_x = upload<table_type>(sums, "brickwork::start_density::x");
  auto const in_y = upload<table_type>(series.table(n[1]), "brickwork::start_density::y");
  auto const in_z = upload<table_type>(series.table(n[2]), "brickwork::start_density::z");
  index_t const length = std::min<index_t>(n[2], 64), parts = (n[2] + length - 1) / length;
  for_each("brickwork::start_density::series", space, n[0] * n[1] * parts,
           detail::EvaluateSeries<Real>{
               {n[0], n[1], n[2]}, length, functions, sheet, in_x.data(), in_y.data(), in_z.data(), field});
  fence(space, "brickwork::start_density::series");  // before the tables go
}

void check(StartSettings const& s, BoxGrid const& grid) {
  BRICKWORK_REQUIRE(s.lower >= 0 && s.lower < s.upper && s.upper <= 1, "start: densities from ", s.lower, " to ",
                    s.upper, "; 0 <= lower < upper <= 1 is needed");
  BRICKWORK_REQUIRE(s.mean > s.lower && s.mean < s.upper, "start: mean ", s.mean, "; it must lie between ", s.lower,
                    " and ", s.upper, ", the least and the largest density");
  BRICKWORK_REQUIRE(s.width >= 0 && s.width <= 1, "start: width ", s.width, "; it must lie in [0, 1]");
  BRICKWORK_REQUIRE(s.kind != StartDensity::randc || (s.waves >= 1 && s.waves <= detail::most_waves),
                    "start randc: waves ", s.waves, "; they must lie in [1, ", detail::most_waves, "]");
  if (s.kind == StartDensity::randc || s.kind == StartDensity::random || s.kind == StartDensity::uniform) return;
  for (index_t cells : grid.cells())
    BRICKWORK_REQUIRE(s.periods >= 1 && (cells == 1 || s.periods <= cells / 2), "start ", to_string(s.kind), ": ",
                      s.periods, " periods along ", cells, " cells; at least one period, and two cells for each");
}

}  // namespace

template <class ExecutionSpace, class Real>
double start_density(ExecutionSpace const& space, BoxGrid const& grid, StartSettings const& settings,
                     CellField<Real, typename ExecutionSpace::memory_space> const& density) {
  check(settings, grid);
  index_t const cells = grid.cell_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(density.extent(0)) == cells, "start_density: ", density.extent(0),
                    " values; the grid has ", cells, " cells");
  auto const uniform = [&] {
    Kokkos::deep_copy(space, density, static_cast<Real>(settings.mean));
    fence(space, "brickwork::start_density::uniform");
    return static_cast<double>(static_cast<Real>(settings.mean));
  };
  double width = settings.width;
  switch (settings.kind) {
    case StartDensity::uniform:
      return uniform();
    case StartDensity::random:
      width = 1;
      for_each("brickwork::start_density::random", space, cells,
               detail::FillRandom<Real>{settings.seed, density.data()});
      break;
    case StartDensity::randc:
      evaluate_series(space, grid, random_series(settings.waves, settings.seed), false, density.data());
      break;
    default:
      evaluate_series(space, grid, surface_series(settings.kind, settings.periods), settings.sheet, density.data());
  }

  symmetrize<ExecutionSpace, Real>(space, grid, settings.symmetry, density);
  Kokkos::MinMaxScalar<double> range;
  Kokkos::parallel_reduce("brickwork::start_density::range", brickwork::range(space, cells),
                          detail::FieldRange<Real>{density.data()}, Kokkos::MinMax<double>(range));
  double ends[2] = {-range.min_val, range.max_val};
  Communicator{}.max(ends, 2);
  double const middle = 0.5 * (ends[1] - ends[0]), half = 0.5 * (ends[0] + ends[1]);
  constexpr double rounding = std::numeric_limits<Real>::epsilon();
  if (!(half > 16 * rounding * std::max(1.0, std::abs(middle)))) {
    BRICKWORK_REQUIRE(settings.symmetry == CellSymmetry::none, "start ", to_string(settings.kind),
                      ": nothing is left of it under the symmetry ", to_string(settings.symmetry),
                      "; take another start or symmetry");
    return uniform();
  }

  // In units of `reach` about the middle the level lies in [-1, 1]: at the ends every cell is solid, or none.
  double const reach = half * (1 + width) * 1.001;
  auto const ramp = [&](double t) {
    return detail::LevelRamp<Real>{static_cast<Real>(middle + t * reach),
                                   static_cast<Real>(width > 0 ? 1 / (2 * half * width) : 0),
                                   static_cast<Real>(settings.lower), static_cast<Real>(settings.upper)};
  };
  constexpr int points = detail::RootSearch::points_per_round;
  SumWorkspace<ExecutionSpace> const workspace(space);
  auto const totals = allocate<Kokkos::View<double*, typename ExecutionSpace::memory_space>>(
      space, "brickwork::start_density::totals", points);
  // A sharp level stops well above rounding, so that it does not come to lie among cells that symmetry makes equal.
  double const resolution = width > 0 ? 4 * rounding : std::max(1e-9, 16 * rounding);
  detail::RootSearch search(0, 1, std::is_same<Real, float>::value ? 1e-7 : 1e-9, resolution);
  while (!search.done()) {
    detail::RampSums<Real, points> kernel{{}, density.data()};
    for (int m = 0; m < points; ++m) kernel.ramps[m] = ramp(search.points()[m]);
    sum_each<points>("brickwork::start_density::mean", space, cells, kernel, workspace,
                     StoreSums<points>{totals.data()});
    detail::RootSearch::Points excess;
    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(excess.data(), points);
    Kokkos::deep_copy(space, host, totals);
    fence(space, "brickwork::start_density::mean");
    Communicator{}.sum(excess.data(), points);
    for (double& value : excess) value = value / static_cast<double>(cells) - settings.mean;
    search.set(excess);
  }
  for_each("brickwork::start_density::ramp", space, cells,
           detail::ApplyRamp<Real>{ramp(search.root()), density.data()});
  fence(space, "brickwork::start_density::ramp");
  return settings.mean + search.value();
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                               \
  template double start_density<SPACE, float>(SPACE const&, BoxGrid const&, StartSettings const&,  \
                                              CellField<float, SPACE::memory_space> const&);       \
  template double start_density<SPACE, double>(SPACE const&, BoxGrid const&, StartSettings const&, \
                                               CellField<double, SPACE::memory_space> const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
