// SPDX-License-Identifier: BSD-3-Clause
// Loads, interpolation, errors and values of Hermite fields: exact on polynomials, of the right order on smooth
// functions, equal to plain loops, on thin and odd boxes and on locally refined grids.
#include "brickwork/operators/hermite_fields.hpp"

#include "brickwork/operators/manufactured_solution.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_leaves.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

/// The polynomial as interpolate() and hermite_errors() take it.
template <int Dim>
struct PolynomialJet {
  Polynomial<Dim> p;
  KOKKOS_FUNCTION HermiteJet<Dim> operator()(Point<Dim> const& x) const {
    HermiteJet<Dim> jet;
    jet.value = p(x);
    for (int d = 0; d < Dim; ++d) {
      int order[Dim] = {};
      order[d] = 1;
      jet.gradient[d] = p.derivative(order, x);
      order[d] = 2;
      jet.hessian[d] = p.derivative(order, x);
      for (int e = d + 1; e < Dim; ++e) {
        int mixed[Dim] = {};
        mixed[d] = mixed[e] = 1;
        jet.hessian[Dim == 2 ? 2 : 6 - d - e] = p.derivative(mixed, x);  // yz, xz, xy stand at 3, 4, 5
      }
    }
    if (Dim == 3) {
      int const order[3] = {1, 1, 1};
      jet.mixed = p.derivative(order, x);
    }
    return jet;
  }
};

template <int Dim>
Polynomial<Dim> cubic() {
  if constexpr (Dim == 2) {
    return {{1.25, -2, 0.75}, {{3, 2}, {1, 3}, {0, 1}}};
  } else {
    return {{1.25, -2, 0.75}, {{3, 2, 1}, {1, 3, 3}, {0, 1, 2}}};
  }
}

template <int Dim>
BaseGrid<Dim> odd_base() {
  if constexpr (Dim == 2) {
    return {{3, 2}, {1.5, 0.7}, {-0.25, 0.5}};
  } else {
    return {{3, 1, 2}, {1.5, 0.4, 0.7}, {-0.25, 0.5, 0.125}};
  }
}

/// Levels that are boxes, then some that are not.
template <class Space, int Dim>
AdaptiveGrid<Space, Dim> refined_grid(Space const& space, int times = 2) {
  auto const base = odd_base<Dim>();
  AdaptiveGrid<Space, Dim> grid(space, base, 1);
  RefinementRegion<Dim> region;
  region.kind = RefinementRegion<Dim>::Kind::ball;
  for (int d = 0; d < Dim; ++d) region.centre[d] = base.origin[d] + 0.4 * base.lengths[d];
  region.radius = 0.45;
  for (int n = 0; n < times; ++n) grid.refine(space, region);
  return grid;
}

template <int Dim>
std::array<double, Dim> upper_corner(BaseGrid<Dim> const& base) {
  std::array<double, Dim> upper{};
  for (int d = 0; d < Dim; ++d) upper[d] = base.origin[d] + base.lengths[d];
  return upper;
}

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class Space, int Dim>
struct Fields {
  using Memory = typename Space::memory_space;
  Space space;
  AdaptiveGrid<Space, Dim> grid = refined_grid<Space, Dim>(space);
  HermiteField<Space, Dim> u{space, grid, "u"};
  HermiteFunctional<Space, Dim> load{space, grid, "load"};
  HostGrid<Dim> host{grid};
};

template <class Space, int Dim>
void check_load() {
  Fields<Space, Dim> f;
  auto const base = odd_base<Dim>();
  auto const p = cubic<Dim>();
  // Tested with a cubic, the load is the integral of a product: exact with four points, on every grid.
  Polynomial<Dim> const q{{1, 2, -1}, {{2, 0}, {1, 2}, {0, 0}}};
  interpolate(f.space, f.grid, PolynomialJet<Dim>{p}, f.u);
  double expected = 0;
  for (int t = 0; t < 3; ++t) {
    Polynomial<Dim> product = p;
    for (int s = 0; s < 3; ++s) {
      product.coefficient[s] *= q.coefficient[t];
      for (int d = 0; d < Dim; ++d) product.exponent[s][d] += q.exponent[t][d];
    }
    expected += product.integral(base.origin, upper_corner<Dim>(base));
  }
  add_load(f.space, f.grid, q, f.load, 4);
  CHECK(dot(host_values(f.load), host_values(f.u)) == Approx(expected).epsilon(1e-12));

  // Entry by entry, with a rule that is not exact: a load that no polynomial is.
  ManufacturedSolution<Dim> const solution(base, PlateBoundary<Dim>{});
  ManufacturedLoad<Dim> const wave{solution, {0.5, 0.25, 2}};
  Kokkos::deep_copy(f.load.values(), 0.0);
  add_load(f.space, f.grid, wave, f.load, 3);
  std::vector<double> reference(host_values(f.load).size(), 0.0);
  double largest = 0;
  for (auto const& leaf : f.host.leaves)
    for_each_gauss_point<Dim>(3, [&](std::array<double, Dim> const& xi, double weight) {
      double const value = weight * leaf.volume() * wave(physical<Dim>(leaf, xi));
      for (int n = 0; n < 1 << Dim; ++n)
        for (int m = 0; m < 1 << Dim; ++m) {
          double product = value;
          for (int d = 0; d < Dim; ++d) product *= hermite_basis(0, xi[d])[2 * (n >> d & 1) + (m >> d & 1)];
          reference[f.host.index(leaf, n, m)] += product;
        }
    });
  for (double value : reference) largest = std::max(largest, std::abs(value));
  auto const found = host_values(f.load);
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(i);
    REQUIRE(std::abs(found[i] - reference[i]) <= 1e-13 * largest);
  }
  // Loads add, and the same call gives the same bits.
  add_load(f.space, f.grid, wave, f.load, 3);
  auto const twice = host_values(f.load);
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(std::abs(twice[i] - 2 * found[i]) <= 1e-14 * largest);
  Kokkos::deep_copy(f.load.values(), 0.0);
  add_load(f.space, f.grid, wave, f.load, 3);
  CHECK(host_values(f.load) == found);
}

template <class Space, int Dim>
void check_constant_and_point_loads() {
  Fields<Space, Dim> f;
  auto const base = odd_base<Dim>();
  auto const p = cubic<Dim>();
  interpolate(f.space, f.grid, PolynomialJet<Dim>{p}, f.u);
  add_constant_load(f.space, f.grid, -3.5, f.load);
  CHECK(dot(host_values(f.load), host_values(f.u)) ==
        Approx(-3.5 * p.integral(base.origin, upper_corner<Dim>(base))).epsilon(1e-12));

  // Inside, on interfaces of each level, and on corners of the domain.
  for (double const share : {0.0, 0.123, 0.25, 1.0 / 3, 0.5, 0.75, 0.999, 1.0})
    for (double const other : {0.0, 0.4, 1.0}) {
      HermitePoint<Dim> point{};
      Point<Dim> x{};
      for (int d = 0; d < Dim; ++d) x[d] = point[d] = base.origin[d] + base.lengths[d] * (d == 0 ? share : other);
      Kokkos::deep_copy(f.load.values(), 0.0);
      add_point_load(f.space, f.grid, 2.5, point, f.load);
      INFO(share << " " << other);
      CHECK(dot(host_values(f.load), host_values(f.u)) == Approx(2.5 * p(x)).epsilon(1e-12).margin(1e-13));
    }
  HermitePoint<Dim> outside = upper_corner<Dim>(base);
  outside[Dim - 1] += 1e-9;
  CHECK_THROWS_WITH(add_point_load(f.space, f.grid, 1.0, outside, f.load),
                    Catch::Matchers::Contains("must lie in the domain"));
  outside[Dim - 1] = std::nan("");
  CHECK_THROWS_AS(add_point_load(f.space, f.grid, 1.0, outside, f.load), InputError);
  CHECK_THROWS_AS(add_point_load(f.space, f.grid, std::nan(""), HermitePoint<Dim>(base.origin), f.load), InputError);
  CHECK_THROWS_AS(add_constant_load(f.space, f.grid, std::nan(""), f.load), InputError);
  CHECK_THROWS_WITH(add_load(f.space, f.grid, p, f.load, 9),
                    Catch::Matchers::Contains("9") && Catch::Matchers::Contains("[1, 8]"));
  CHECK_THROWS_WITH(add_load(f.space, f.grid, p, f.load, 0), Catch::Matchers::Contains("[1, 8]"));
}

template <class Space, int Dim>
void check_errors() {
  Fields<Space, Dim> f;
  auto const base = odd_base<Dim>();
  PolynomialJet<Dim> const p{cubic<Dim>()};
  interpolate(f.space, f.grid, p, f.u);
  HermiteErrors const exact = hermite_errors(f.space, f.grid, f.u, p);
  CHECK(exact.l2 < 1e-14);
  CHECK(exact.h1 < 1e-13);
  CHECK(exact.h2 < 1e-12);

  // A field of random values against plain loops: every part of the jets and of the norms counts.
  auto values = random_values(f.u.size(), 7);
  set_values(f.u, values);
  double sums[3] = {};
  for (auto const& leaf : f.host.leaves)
    for_each_gauss_point<Dim>(2, [&](std::array<double, Dim> const& xi, double weight) {
      auto const jet = p(physical<Dim>(leaf, xi));
      auto const add = [&](int n, double factor, std::array<int, Dim> const& order, double wanted) {
        double const e = leaf_derivative<Dim>(f.host, values, leaf, order, xi) - wanted;
        sums[n] += factor * weight * leaf.volume() * e * e;
      };
      add(0, 1, {}, jet.value);
      for (int d = 0; d < Dim; ++d) {
        std::array<int, Dim> order{};
        order[d] = 1;
        add(1, 1, order, jet.gradient[d]);
        order[d] = 2;
        add(2, 1, order, jet.hessian[d]);
        for (int e = d + 1; e < Dim; ++e) {
          std::array<int, Dim> mixed{};
          mixed[d] = mixed[e] = 1;
          add(2, 2, mixed, jet.hessian[Dim == 2 ? 2 : 6 - d - e]);
        }
      }
    });
  HermiteErrors const found = hermite_errors(f.space, f.grid, f.u, p, 2);
  CHECK(found.l2 == Approx(std::sqrt(sums[0])).epsilon(1e-12));
  CHECK(found.h1 == Approx(std::sqrt(sums[1])).epsilon(1e-12));
  CHECK(found.h2 == Approx(std::sqrt(sums[2])).epsilon(1e-12));

  // Orders 4, 3, 2 of the interpolant.
  for (PlateBoundary<Dim> boundary : {PlateBoundary<Dim>{}, PlateBoundary<Dim>{PlateEdge::simply_supported}}) {
    ManufacturedSolution<Dim> const solution(base, boundary);
    HermiteErrors errors[2];
    for (int n = 0; n < 2; ++n) {
      AdaptiveGrid<Space, Dim> grid(f.space, base, 2 + n);
      HermiteField<Space, Dim> u(f.space, grid, "u");
      interpolate(f.space, grid, solution, u);
      errors[n] = hermite_errors(f.space, grid, u, solution);
    }
    CHECK(std::log2(errors[0].l2 / errors[1].l2) == Approx(4).margin(0.15));
    CHECK(std::log2(errors[0].h1 / errors[1].h1) == Approx(3).margin(0.15));
    CHECK(std::log2(errors[0].h2 / errors[1].h2) == Approx(2).margin(0.15));
  }
}

template <class Space, int Dim>
void check_evaluation() {
  Fields<Space, Dim> f;
  auto const base = odd_base<Dim>();
  PolynomialJet<Dim> const p{cubic<Dim>()};
  interpolate(f.space, f.grid, p, f.u);
  int const count = 203;
  auto const draws = random_values(count * Dim, 11, 0, 1);
  Kokkos::View<double* [Dim], Kokkos::LayoutLeft, typename Space::memory_space> points("points", count);
  auto const host_points = Kokkos::create_mirror_view(points);
  for (int n = 0; n < count; ++n)
    for (int d = 0; d < Dim; ++d) {
      // The first ones lie on interfaces and on the boundary.
      double const share = n < 27 ? (n / (d == 0 ? 1 : d == 1 ? 3 : 9) % 3) * 0.5 : draws[n * Dim + d];
      host_points(n, d) = base.origin[d] + base.lengths[d] * share;
    }
  Kokkos::deep_copy(points, host_points);
  HermiteJets<Space, Dim> jets("jets", count);
  evaluate<Space, Dim>(f.space, f.grid, f.u, points, jets);
  auto const host_jets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), jets);
  for (int n = 0; n < count; ++n) {
    Point<Dim> x{};
    for (int d = 0; d < Dim; ++d) x[d] = host_points(n, d);
    auto const wanted = p(x);
    auto const& found = host_jets(n);
    INFO(n);
    REQUIRE(found.value == Approx(wanted.value).margin(1e-12));
    for (int d = 0; d < Dim; ++d) REQUIRE(found.gradient[d] == Approx(wanted.gradient[d]).margin(1e-11));
    for (int e = 0; e < Dim * (Dim + 1) / 2; ++e) REQUIRE(found.hessian[e] == Approx(wanted.hessian[e]).margin(1e-10));
  }
  for (double const bad : {base.origin[1] - 1e-12, base.origin[1] + base.lengths[1] + 1e-12, std::nan("")}) {
    host_points(200, 1) = bad;
    host_points(202, 0) = -100;
    Kokkos::deep_copy(points, host_points);
    CHECK_THROWS_WITH((evaluate<Space, Dim>(f.space, f.grid, f.u, points, jets)),
                      Catch::Matchers::Contains("point 200") && Catch::Matchers::Contains("outside"));
  }
  HermiteJets<Space, Dim> few("few", count - 1);
  CHECK_THROWS_WITH((evaluate<Space, Dim>(f.space, f.grid, f.u, points, few)), Catch::Matchers::Contains("203"));
}

template <class Space, int Dim>
void check_edges() {
  Fields<Space, Dim> f;
  // Whatever stands at hanging vertices, afterwards the field is C1 there: the finer cubics agree with the coarser.
  set_values(f.u, random_values(f.u.size(), 3));
  auto const before = host_values(f.u);
  prescribe_edges<Space, Dim>(f.space, f.grid, f.u);
  auto const values = host_values(f.u);
  int faces = 0;
  for (auto const& leaf : f.host.leaves) {
    auto const& level = f.host.levels[leaf.level];
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) {
        auto other = leaf.cell;
        other[d] += 2 * side - 1;
        if (other[d] < 0 || other[d] >= level.domain_cells[d] || level.find_cell(other) >= 0) continue;
        ++faces;
        for (auto const& coarse : f.host.leaves) {
          bool is_parent = coarse.level == leaf.level - 1;
          for (int e = 0; e < Dim; ++e) is_parent = is_parent && coarse.cell[e] == other[e] / 2;
          if (!is_parent) continue;
          for_each_gauss_point<Dim>(2, [&](std::array<double, Dim> xi, double) {
            xi[d] = side;
            auto theirs = xi;
            for (int e = 0; e < Dim; ++e) theirs[e] = 0.5 * (leaf.cell[e] % 2 + xi[e]);
            theirs[d] = 1 - side;
            for (int order = 0; order < 2; ++order) {
              std::array<int, Dim> orders{};
              orders[d] = order;
              REQUIRE(leaf_derivative<Dim>(f.host, values, leaf, orders, xi) ==
                      Approx(leaf_derivative<Dim>(f.host, values, coarse, orders, theirs)).margin(1e-11));
            }
          });
        }
      }
  }
  CHECK(faces > 20);
  CHECK(values != before);
}

}  // namespace

TEMPLATE_TEST_CASE("loads of Hermite fields integrate exactly and equal plain loops", "", BRICKWORK_TEST_SPACES) {
  check_load<TestType, 2>();
  check_load<TestType, 3>();
}

TEMPLATE_TEST_CASE("constant and point loads of Hermite fields", "", BRICKWORK_TEST_SPACES) {
  check_constant_and_point_loads<TestType, 2>();
  check_constant_and_point_loads<TestType, 3>();
}

TEMPLATE_TEST_CASE("norms of errors of Hermite fields", "", BRICKWORK_TEST_SPACES) {
  check_errors<TestType, 2>();
  check_errors<TestType, 3>();
}

TEMPLATE_TEST_CASE("Hermite fields at points", "", BRICKWORK_TEST_SPACES) {
  check_evaluation<TestType, 2>();
  check_evaluation<TestType, 3>();
}

TEMPLATE_TEST_CASE("prescribed edges make a Hermite field C1 between levels", "", BRICKWORK_TEST_SPACES) {
  check_edges<TestType, 2>();
  check_edges<TestType, 3>();
}

TEMPLATE_TEST_CASE("vectors of another grid are refused", "", BRICKWORK_TEST_SPACES) {
  TestType const space;
  auto grid = refined_grid<TestType, 2>(space, 0);
  HermiteField<TestType, 2> const u(space, grid, "u");
  RefinementRegion<2> region;
  region.kind = RefinementRegion<2>::Kind::ball;
  region.centre = {0.5, 0.85};
  region.radius = 0.3;
  grid.refine(space, region);
  CHECK_THROWS_WITH((prescribe_edges<TestType, 2>(space, grid, u)),
                    Catch::Matchers::Contains("2 levels, the grid has 3"));
}

TEST_CASE("manufactured solutions answer their loads and keep the boundary conditions") {
  BaseGrid<3> const base{{1, 1, 1}, {1.5, 0.75, 1.25}, {-0.5, 0.25, 1}};
  HermiteForm const form{0.5, 2, 3};
  for (int faces = 0; faces < 64; faces += 7) {
    PlateBoundary<3> boundary{};
    for (std::size_t face = 0; face < 6; ++face)
      if ((faces >> face & 1) != 0) boundary[face] = PlateEdge::simply_supported;
    ManufacturedSolution<3> const u(base, boundary);
    Point<3> const x{{0.1, 0.4, 1.7}};
    double const h = 1e-3;
    auto const moved = [&](int d, double step) {
      Point<3> y = x;
      y[d] += step;
      return u(y);
    };
    HermiteJet<3> const jet = u(x);
    double load = form.mass * jet.value;
    INFO(faces);
    for (int d = 0; d < 3; ++d) {
      HermiteJet<3> const after = moved(d, h), before = moved(d, -h);
      CHECK(jet.gradient[d] == Approx((after.value - before.value) / (2 * h)).margin(1e-4));
      for (int e = 0; e < 3; ++e) {
        double const second = (after.gradient[e] - before.gradient[e]) / (2 * h);
        CHECK(jet.hessian[d == e ? d : 6 - d - e] == Approx(second).margin(1e-3));
        load += form.biharmonic * (after.hessian[e] - 2 * jet.hessian[e] + before.hessian[e]) / (h * h);
      }
      load -= form.laplace * jet.hessian[d];
    }
    CHECK(jet.mixed == Approx((moved(2, h).hessian[5] - moved(2, -h).hessian[5]) / (2 * h)).margin(1e-2));
    CHECK(u.load(form, x) == Approx(load).epsilon(1e-4));
    for (int face = 0; face < 6; ++face) {
      Point<3> on = x;
      int const d = face / 2;
      on[d] = base.origin[d] + (face % 2) * base.lengths[d];
      HermiteJet<3> const there = u(on);
      CHECK(std::abs(there.value) < 1e-14);
      bool const supported = (faces >> face & 1) != 0;
      CHECK(std::abs(supported ? there.hessian[d] : there.gradient[d]) < 1e-12);
      CHECK(std::abs(supported ? there.gradient[d] : there.hessian[d]) > 0.01);
    }
  }
}
