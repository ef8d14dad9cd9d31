// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/start_density.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/design/cell_symmetry.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

struct Start {
  std::vector<double> values;
  double reported = 0;
  double mean() const {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
};

template <class Space, class Real = double>
Start start(Index3 const& cells, StartSettings const& settings) {
  Space const space;
  BoxGrid const grid(cells, {1, 2, 3});
  auto const field = allocate<CellField<Real, typename Space::memory_space>>(space, "start", grid.cell_count());
  Start result;
  result.reported = start_density<Space, Real>(space, grid, settings, field);
  result.values = to_host(field);
  return result;
}

template <class Space, class Real>
void start_cases() {
  for (auto const& name : start_density_names())
    for (double mean : {0.05, 0.3, 0.9})
      for (Index3 const& cells : {Index3{16, 16, 16}, Index3{7, 12, 5}, Index3{130, 1, 6}, Index3{2, 3, 67}})
        for (bool sheet : {false, true}) {
          INFO(name << ", mean " << mean << ", " << cells[0] << " x " << cells[1] << " x " << cells[2]);
          StartSettings settings;
          settings.kind = start_density_from_string(name);
          settings.mean = mean;
          settings.sheet = sheet;
          auto const density = start<Space, Real>(cells, settings);
          CHECK(density.mean() == Approx(mean).margin(1e-6));
          CHECK(density.reported ==
                Approx(density.mean()).margin(1e-12 + (std::is_same<Real, float>::value ? 1e-9 : 0)));
          auto const [least, most] = std::minmax_element(density.values.begin(), density.values.end());
          CHECK(*least >= static_cast<double>(static_cast<Real>(settings.lower)));
          CHECK(*most <= static_cast<double>(static_cast<Real>(settings.upper)));
          if (settings.kind == StartDensity::uniform)
            CHECK(*least == *most);
          else if (cells[0] == 16)
            CHECK(*most - *least > 0.25);
          CHECK(start<Space, Real>(cells, settings).values == density.values);
        }
}

// A surface by its formula at the cell centres, solid above a level.
void check_surface(StartDensity kind, std::function<double(double, double, double)> const& surface, bool sheet) {
  Index3 const cells{12, 10, 9};
  StartSettings settings;
  settings.kind = kind;
  settings.width = 0;
  settings.sheet = sheet;
  settings.mean = 0.35;
  auto const density = start<Kokkos::DefaultExecutionSpace>(cells, settings);
  double least_solid = INFINITY, most_void = -INFINITY;
  for (std::size_t cell = 0; cell < density.values.size(); ++cell) {
    auto const at = [&](std::size_t i, int axis) {
      return 2 * 3.14159265358979 * (static_cast<double>(i) + 0.5) / static_cast<double>(cells[axis]);
    };
    double value = surface(at(cell % 12, 0), at(cell / 12 % 10, 1), at(cell / 120, 2));
    if (sheet) value = -std::abs(value);
    bool const solid = density.values[cell] == settings.upper;
    CHECK((solid || density.values[cell] == settings.lower));
    if (solid)
      least_solid = std::min(least_solid, value);
    else
      most_void = std::max(most_void, value);
  }
  INFO(to_string(kind) << " " << sheet);
  CHECK(least_solid > most_void - 1e-12);
  CHECK(density.reported == Approx(density.mean()).margin(1e-12));
  CHECK(density.reported == Approx(settings.mean).margin(0.02));  // as the values of the surface allow
}

}  // namespace

TEMPLATE_TEST_CASE("starting densities have the mean asked for, keep their bounds and repeat", "",
                   BRICKWORK_TEST_SPACES) {
  start_cases<TestType, double>();
  start_cases<TestType, float>();
}

TEST_CASE("surfaces are those of their formulas") {
  auto const gyroid = [](double x, double y, double z) {
    return std::sin(x) * std::cos(y) + std::sin(y) * std::cos(z) + std::sin(z) * std::cos(x);
  };
  auto const schwarz = [](double x, double y, double z) { return std::cos(x) + std::cos(y) + std::cos(z); };
  auto const diamond = [](double x, double y, double z) {
    return std::sin(x) * std::sin(y) * std::sin(z) + std::sin(x) * std::cos(y) * std::cos(z) +
           std::cos(x) * std::sin(y) * std::cos(z) + std::cos(x) * std::cos(y) * std::sin(z);
  };
  auto const iwp = [](double x, double y, double z) {
    return 2 * (std::cos(x) * std::cos(y) + std::cos(y) * std::cos(z) + std::cos(z) * std::cos(x)) -
           (std::cos(2 * x) + std::cos(2 * y) + std::cos(2 * z));
  };
  for (bool sheet : {false, true}) {
    check_surface(StartDensity::gyroid, gyroid, sheet);
    check_surface(StartDensity::schwarz_p, schwarz, sheet);
    check_surface(StartDensity::diamond, diamond, sheet);
    check_surface(StartDensity::iwp, iwp, sheet);
  }
}

TEMPLATE_TEST_CASE("a surface repeats after a period, to the last bit", "", BRICKWORK_TEST_SPACES) {
  for (auto kind : {StartDensity::gyroid, StartDensity::schwarz_p, StartDensity::diamond, StartDensity::iwp}) {
    StartSettings settings;
    settings.kind = kind;
    settings.periods = 3;
    Index3 const n{12, 15, 9};
    auto const density = start<TestType>(n, settings).values;
    bool equal = true;
    for (index_t cell = 0; cell < n[0] * n[1] * n[2]; ++cell) {
      index_t const x = cell % n[0], y = (cell / n[0]) % n[1], z = cell / n[0] / n[1];
      index_t const moved = (x + 4) % n[0] + n[0] * ((y + 5) % n[1] + n[1] * ((z + 3) % n[2]));
      equal = equal && density[cell] == density[moved];
    }
    CHECK(equal);
  }
}

TEMPLATE_TEST_CASE("the random series is periodic, as smooth as its highest wave, and another for another seed", "",
                   BRICKWORK_TEST_SPACES) {
  StartSettings settings;
  settings.width = 1;  // the density is the series, cut off where it must
  settings.mean = 0.5;
  settings.lower = 0;
  settings.waves = 2;
  index_t const n = 40;
  auto const density = start<TestType>({n, n, n}, settings).values;
  // Neighbours across the border differ no more than others do.
  double inside = 0, across = 0;
  for (index_t z = 0; z < n; ++z)
    for (index_t y = 0; y < n; ++y)
      for (index_t x = 0; x < n; ++x) {
        double const step = std::abs(density[(x + 1) % n + n * (y + n * z)] - density[x + n * (y + n * z)]);
        double& largest = x + 1 == n ? across : inside;
        largest = std::max(largest, step);
      }
  CHECK(across <= inside * 1.1);
  CHECK(inside < 2 * 3.15 * settings.waves / n);
  settings.seed = 2;
  auto const other = start<TestType>({n, n, n}, settings).values;
  CHECK(max_difference(density, other) > 0.1);
  settings.seed = 1;
  settings.waves = 3;
  CHECK(max_difference(density, start<TestType>({n, n, n}, settings).values) > 0.1);
}

TEST_CASE("the random series does not depend on the grid that samples it") {
  StartSettings settings;
  settings.width = 1;
  settings.mean = 0.5;
  using Space = Kokkos::DefaultExecutionSpace;
  auto const tall = start<Space>({4, 4, 192}, settings).values;
  auto const low = start<Space>({4, 4, 64}, settings).values;
  // Cell k of 64 has the centre of cell 3 k + 1 of 192. Either density is the series times a factor and shifted, so one
  // is a linear function of the other.
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t cell = 0; cell < low.size(); ++cell) {
    double const other = tall[cell % 16 + 16 * (3 * (cell / 16) + 1)];
    if (std::min(low[cell], other) > settings.lower && std::max(low[cell], other) < settings.upper)
      pairs.emplace_back(low[cell], other);
  }
  REQUIRE(pairs.size() > low.size() / 2);
  auto const [first, last] = std::minmax_element(pairs.begin(), pairs.end());
  REQUIRE(last->first - first->first > 0.5);
  double const slope = (last->second - first->second) / (last->first - first->first);
  double off = 0;
  for (auto const& [a, b] : pairs) off = std::max(off, std::abs(first->second + slope * (a - first->first) - b));
  CHECK(off < 1e-12);
}

TEST_CASE("random cells are independent uniform numbers of their seed") {
  StartSettings settings;
  settings.kind = StartDensity::random;
  settings.lower = 0;
  settings.mean = 0.5;  // then nothing is cut off but for the shift to the mean
  using Space = Kokkos::DefaultExecutionSpace;
  auto values = start<Space>({40, 40, 40}, settings).values;
  double const count = static_cast<double>(values.size());
  double variance = 0, neighbours = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    variance += (values[i] - 0.5) * (values[i] - 0.5) / count;
    neighbours += (values[i] - 0.5) * (values[i + 1] - 0.5) / count;
  }
  CHECK(variance == Approx(1.0 / 12).epsilon(0.02));
  CHECK(std::abs(neighbours) < 4 / 12.0 / std::sqrt(count));
  std::set<double> const distinct(values.begin(), values.end());
  CHECK(count - static_cast<double>(distinct.size()) < 0.02 * count);  // what is cut off coincides
  settings.seed = 2;
  auto const other = start<Space>({40, 40, 40}, settings).values;
  double between = 0;
  for (std::size_t i = 0; i < values.size(); ++i) between += (values[i] - 0.5) * (other[i] - 0.5) / count;
  CHECK(std::abs(between) < 4 / 12.0 / std::sqrt(count));
  // Seeds far apart, and those that differ from each other in a bit that a counter has too.
  settings.seed = ~std::uint64_t(0);
  CHECK(max_difference(values, start<Space>({40, 40, 40}, settings).values) > 0.5);
}

TEST_CASE("a sharp level leaves two values, reports the mean it reaches, and keeps symmetric cells alike") {
  using Space = Kokkos::DefaultExecutionSpace;
  StartSettings settings;
  settings.width = 0;
  settings.mean = 0.31;
  settings.kind = StartDensity::schwarz_p;
  index_t const n = 14;
  auto const density = start<Space>({n, n, n}, settings);
  CHECK(std::set<double>(density.values.begin(), density.values.end()) == std::set<double>{1e-3, 1.0});
  CHECK(density.reported == Approx(density.mean()).margin(1e-12));
  CHECK(std::abs(density.reported - 0.31) < 48.0 / (n * n * n));  // an orbit more or less
  for (index_t z = 0; z < n; ++z)
    for (index_t y = 0; y < n; ++y)
      for (index_t x = 0; x < n; ++x) {
        double const value = density.values[x + n * (y + n * z)];
        if (density.values[y + n * (z + n * x)] != value || density.values[n - 1 - x + n * (y + n * z)] != value)
          FAIL("cell " << x << " " << y << " " << z << " differs from an image");
      }
  settings.kind = StartDensity::randc;
  CHECK(start<Space>({n, n, n}, settings).reported == Approx(0.31).margin(1.0 / (n * n * n)));
}

TEST_CASE("a symmetry is imposed before the level, so that the density stays as sharp") {
  using Space = Kokkos::DefaultExecutionSpace;
  using field_type = CellField<double, Space::memory_space>;
  Space const space;
  BoxGrid const grid({11, 11, 11}, {1, 1, 1}, {true, true, true});
  auto const values_of = [&](field_type const& field) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, field);
    return std::vector<double>(host.data(), host.data() + host.extent(0));
  };
  for (CellSymmetry symmetry : {CellSymmetry::reflect3, CellSymmetry::rotate3, CellSymmetry::reflect6}) {
    for (StartDensity kind : {StartDensity::randc, StartDensity::schwarz_p, StartDensity::iwp, StartDensity::gyroid,
                              StartDensity::diamond}) {
      StartSettings settings;
      settings.kind = kind;
      settings.symmetry = symmetry;
      auto const field = allocate<field_type>(space, "field", grid.cell_count());
      if (kind == StartDensity::gyroid || kind == StartDensity::diamond) {
        CHECK_THROWS_AS((start_density<Space, double>(space, grid, settings, field)), InputError);
        continue;
      }
      double const mean = start_density<Space, double>(space, grid, settings, field);
      auto const values = values_of(field);
      INFO(to_string(symmetry) << " " << to_string(kind));
      CHECK(mean == Approx(settings.mean).margin(1e-6));
      double gray = 0;
      for (double rho : values) gray += 4 * rho * (1 - rho) / static_cast<double>(values.size());
      CHECK(gray < 0.5);  // a uniform density: 0.84
      symmetrize<Space, double>(space, grid, symmetry, field);
      CHECK(values_of(field) == values);
    }
  }
}

TEST_CASE("starts refuse settings out of range") {
  using Space = Kokkos::DefaultExecutionSpace;
  CHECK_THROWS_WITH(start_density_from_string("giroid"),
                    "unknown start 'giroid'; known are randc, random, gyroid, schwarz_p, diamond, iwp, uniform");
  auto const refused = [](auto change) {
    StartSettings settings;
    change(settings);
    CHECK_THROWS_AS(start<Space>({8, 8, 8}, settings), InputError);
  };
  refused([](StartSettings& s) { s.mean = 1; });
  refused([](StartSettings& s) { s.mean = 1e-3; });
  refused([](StartSettings& s) { s.mean = NAN; });
  refused([](StartSettings& s) { s.lower = -0.1; });
  refused([](StartSettings& s) { s.upper = 1.1; });
  refused([](StartSettings& s) { s.width = -0.1; });
  refused([](StartSettings& s) { s.width = NAN; });
  refused([](StartSettings& s) { s.waves = 0; });
  refused([](StartSettings& s) { s.waves = 9; });
  refused([](StartSettings& s) { s.kind = StartDensity::gyroid, s.periods = 0; });
  refused([](StartSettings& s) { s.kind = StartDensity::gyroid, s.periods = 5; });
  BoxGrid const grid({8, 8, 8}, {1, 1, 1});
  CellField<double, Space::memory_space> const few("few", 511);
  CHECK_THROWS_AS((start_density<Space, double>(Space{}, grid, {}, few)), InputError);
}
