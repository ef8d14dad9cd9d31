// SPDX-License-Identifier: BSD-3-Clause
// Jumps, residual indicator and marks against loops over all pairs of leaves, which know of no levels.
#include "brickwork/operators/hermite_indicator.hpp"

#include <algorithm>
#include <functional>

#include "brickwork/operators/manufactured_solution.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_leaves.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;
using Catch::Matchers::Contains;

namespace {

template <int Dim>
BaseGrid<Dim> flat_base() {
  if constexpr (Dim == 2) {
    return {{3, 2}, {1.5, 0.7}, {-0.25, 0.5}};
  } else {
    return {{2, 1, 2}, {1.5, 0.4, 0.7}, {-0.25, 0.5, 0.125}};
  }
}

/// Uniform, and with two further levels around a corner and the middle of a face.
template <class Space, int Dim>
AdaptiveGrid<Space, Dim> graded_grid(Space const& space) {
  auto const base = flat_base<Dim>();
  AdaptiveGrid<Space, Dim> grid(space, base, 1);
  RefinementRegion<Dim> region;
  region.kind = RefinementRegion<Dim>::Kind::ball;
  for (int d = 0; d < Dim; ++d) region.centre[d] = base.origin[d] + (d == 1 ? 0 : 0.5) * base.lengths[d];
  region.radius = 0.4;
  grid.refine(space, region);
  region.radius = 0.2;
  grid.refine(space, region);
  return grid;
}

/// Where two leaves meet: the common part of the face of `leaf` normal to d on this side, in reference coordinates of
/// both.
template <int Dim>
struct Contact {
  HostLeaf<Dim> const* leaf;
  HostLeaf<Dim> const* other;
  int d, side;
  std::array<double, Dim> lower, upper;  // physical; equal in axis d

  double area() const {
    double a = 1;
    for (int e = 0; e < Dim; ++e)
      if (e != d) a *= upper[e] - lower[e];
    return a;
  }
  std::array<double, Dim> reference(HostLeaf<Dim> const& in, std::array<double, Dim> const& share) const {
    std::array<double, Dim> xi{};
    for (int e = 0; e < Dim; ++e) xi[e] = (lower[e] + share[e] * (upper[e] - lower[e]) - in.lower[e]) / in.h[e];
    xi[d] = &in == leaf ? side : 1 - side;
    return xi;
  }
};

template <int Dim>
std::vector<Contact<Dim>> contacts_of(HostGrid<Dim> const& grid, HostLeaf<Dim> const& leaf) {
  std::vector<Contact<Dim>> contacts;
  for (auto const& other : grid.leaves)
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) {
        double const mine = leaf.lower[d] + side * leaf.h[d], theirs = other.lower[d] + (1 - side) * other.h[d];
        if (std::abs(mine - theirs) > 1e-9) continue;
        Contact<Dim> contact{&leaf, &other, d, side, {}, {}};
        bool meet = true;
        for (int e = 0; e < Dim; ++e) {
          contact.lower[e] = e == d ? mine : std::max(leaf.lower[e], other.lower[e]);
          contact.upper[e] = e == d ? mine : std::min(leaf.lower[e] + leaf.h[e], other.lower[e] + other.h[e]);
          meet = meet && (e == d || contact.upper[e] - contact.lower[e] > 1e-9);
        }
        if (meet) contacts.push_back(contact);
      }
  return contacts;
}

template <int Dim>
double jump_at(HostGrid<Dim> const& grid, std::vector<double> const& values, Contact<Dim> const& contact, int order,
               std::array<double, Dim> const& share) {
  std::array<int, Dim> orders{};
  orders[contact.d] = order;
  return leaf_derivative<Dim>(grid, values, *contact.leaf, orders, contact.reference(*contact.leaf, share)) -
         leaf_derivative<Dim>(grid, values, *contact.other, orders, contact.reference(*contact.other, share));
}

template <class Space, int Dim>
void check_jumps() {
  Space const space;
  auto const grid = graded_grid<Space, Dim>(space);
  HostGrid<Dim> const host(grid);
  HermiteField<Space, Dim> const u(space, grid, "u");
  set_values(u, random_values(u.size(), 5));
  auto const values = host_values(u);
  double edge[2] = {};
  int edges = 0;
  for (auto const& leaf : host.leaves)
    for (auto const& contact : contacts_of(host, leaf)) {
      if (contact.other->level >= leaf.level) continue;
      ++edges;
      for (int n = 0; n < (Dim == 2 ? 16 : 64); ++n) {
        std::array<double, Dim> share{};
        for (int e = 0; e < Dim; ++e) share[e] = (n >> 2 * e & 3) / 3.0;
        for (int order = 0; order < 2; ++order)
          edge[order] = std::max(edge[order], std::abs(jump_at<Dim>(host, values, contact, order, share)));
      }
    }
  REQUIRE(edges > 10);
  HermiteJumps const found = hermite_jumps(space, grid, u);
  CHECK(found.matching_value == 0);
  CHECK(found.matching_slope == 0);
  CHECK(found.edge_value == Approx(edge[0]).epsilon(1e-12));
  CHECK(found.edge_slope == Approx(edge[1]).epsilon(1e-12));

  prescribe_edges<Space, Dim>(space, grid, u);
  HermiteJumps const smooth = hermite_jumps(space, grid, u);
  CHECK(smooth.matching_value == 0);
  CHECK(smooth.matching_slope == 0);
  CHECK(smooth.edge_value == 0);
  CHECK(smooth.edge_slope == 0);
  auto broken = host_values(u);
  std::fill(broken.begin(), broken.end(), std::nan(""));
  set_values(u, broken);
  CHECK(hermite_jumps(space, grid, u).edge_value > 1e300);
}

template <class Space, int Dim>
void check_indicator() {
  Space const space;
  auto const grid = graded_grid<Space, Dim>(space);
  HostGrid<Dim> const host(grid);
  HermiteField<Space, Dim> const u(space, grid, "u");
  set_values(u, random_values(u.size(), 6));
  prescribe_edges<Space, Dim>(space, grid, u);
  auto const values = host_values(u);
  PlateBoundary<Dim> boundary{};
  boundary[2] = boundary[1] = PlateEdge::simply_supported;
  HermiteForm const form{0.75, 0.5, 2};
  ManufacturedLoad<Dim> const f{ManufacturedSolution<Dim>(flat_base<Dim>(), boundary), form};
  auto const indicator = make_indicator(space, grid);
  residual_indicator(space, grid, u, f, form, boundary, indicator, 4);

  double sum = 0;
  for (auto const& leaf : host.leaves) {
    double h = 0, eta = 0;
    for (double side : leaf.h) h = std::max(h, side);
    for_each_gauss_point<Dim>(4, [&](std::array<double, Dim> const& xi, double weight) {
      auto const derivative = [&](std::array<int, Dim> const& order) {
        return leaf_derivative<Dim>(host, values, leaf, order, xi);
      };
      double r = f(physical<Dim>(leaf, xi)) - form.mass * derivative({});
      for (int d = 0; d < Dim; ++d)
        for (int e = 0; e < Dim; ++e) {
          std::array<int, Dim> order{};
          order[d] = 2;
          if (d == e) r += form.laplace * derivative(order);
          order[e] = 2;
          if (d != e) r -= form.biharmonic * derivative(order);
        }
      eta += weight * leaf.volume() * std::pow(h, 4) * r * r / form.biharmonic;
    });
    for (auto const& contact : contacts_of(host, leaf)) {
      double const across = std::min(leaf.h[contact.d], contact.other->h[contact.d]);
      for_each_gauss_point<Dim>(4, [&](std::array<double, Dim> const& share, double weight) {
        double const bend = jump_at<Dim>(host, values, contact, 2, share),
                     twist = jump_at<Dim>(host, values, contact, 3, share);
        eta += 0.5 * form.biharmonic * contact.area() * weight *
               (across * bend * bend + std::pow(across, 3) * twist * twist);
      });
    }
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) {
        if (boundary[2 * d + side] == PlateEdge::clamped) continue;
        index_t const last = side == 0 ? 0 : host.levels[leaf.level].domain_cells[d] - 1;
        if (leaf.cell[d] != last) continue;
        for_each_gauss_point<Dim>(4, [&](std::array<double, Dim> xi, double weight) {
          xi[d] = side;
          std::array<int, Dim> order{};
          order[d] = 2;
          double const moment = leaf_derivative<Dim>(host, values, leaf, order, xi);
          eta += form.biharmonic * weight * leaf.volume() * moment * moment;  // area times the side normal to it
        });
      }
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indicator[leaf.level]);
    INFO(leaf.level << " " << leaf.number);
    REQUIRE(found(leaf.number) == Approx(eta).epsilon(1e-10));
    sum += eta;
  }
  CHECK(indicator_sum(space, indicator) == Approx(sum).epsilon(1e-10));
  CHECK_THROWS_WITH(residual_indicator(space, grid, u, f, HermiteForm{1, 1, 0}, boundary, indicator),
                    Contains("biharmonic is 0"));
}

/// The estimate falls as the error in the energy norm does, at one ratio to it.
template <class Space, int Dim>
void check_effectivity() {
  Space const space;
  PlateBoundary<Dim> const boundary{PlateEdge::clamped, PlateEdge::simply_supported};
  ManufacturedSolution<Dim> const solution(flat_base<Dim>(), boundary);
  ManufacturedLoad<Dim> const f{solution, HermiteForm{}};
  double ratio[2];
  for (int n = 0; n < 2; ++n) {
    AdaptiveGrid<Space, Dim> grid(space, flat_base<Dim>(), 2 + n);
    HermiteField<Space, Dim> const u(space, grid, "u");
    interpolate(space, grid, solution, u);
    auto const indicator = make_indicator(space, grid);
    residual_indicator(space, grid, u, f, HermiteForm{}, boundary, indicator);
    ratio[n] = std::sqrt(indicator_sum(space, indicator)) / hermite_errors(space, grid, u, solution).h2;
  }
  CHECK(ratio[0] > 1);
  CHECK(ratio[1] == Approx(ratio[0]).epsilon(0.15));
}

template <class Space>
void check_marks() {
  Space const space;
  auto const grid = graded_grid<Space, 2>(space);
  HostGrid<2> const host(grid);
  auto const indicator = make_indicator(space, grid);
  auto const fill = [&](std::function<double(std::size_t)> const& value) {
    std::size_t n = 0;
    std::vector<double> all;
    for (std::size_t l = 0; l < indicator.size(); ++l) {
      auto const view = Kokkos::create_mirror_view(indicator[l]);
      for (index_t cell = 0; cell < static_cast<index_t>(view.extent(0)); ++cell) {
        view(cell) = host.levels[l].refined(cell) ? 0 : value(n++);
        all.push_back(view(cell));
      }
      Kokkos::deep_copy(indicator[l], view);
    }
    return all;
  };
  auto const draws = random_values(1000, 9, 0, 1);
  for (bool const ties : {false, true})
    for (double const theta : {1e-9, 0.3, 0.5, 0.9, 1.0}) {
      auto all = fill([&](std::size_t n) { return ties ? std::ceil(3 * draws[n]) : std::exp(1200 * draws[n] - 600); });
      auto const [count, marks] = mark_largest(space, grid, indicator, theta);
      std::sort(all.rbegin(), all.rend());
      double total = 0, sum = 0;
      for (auto it = all.rbegin(); it != all.rend(); ++it) total += *it;
      std::size_t wanted = 0;
      while (sum < theta * total * (1 - 1e-14)) sum += all[wanted++];
      while (wanted < all.size() && all[wanted] > 0 && all[wanted] == all[wanted - 1]) ++wanted;
      index_t marked = 0;
      for (std::size_t l = 0; l < marks.size(); ++l) {
        auto const view = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), marks[l]);
        auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indicator[l]);
        for (std::size_t cell = 0; cell < values.extent(0); ++cell) {
          REQUIRE((view(cell) != 0) == (values(cell) >= all[wanted - 1]));
          marked += view(cell);
        }
      }
      INFO(ties << " " << theta);
      CHECK(count == static_cast<index_t>(wanted));
      CHECK(marked == count);
    }
  fill([](std::size_t) { return 0.0; });
  CHECK(mark_largest(space, grid, indicator, 0.5).first == 0);
  for (double const theta : {0.0, -1.0, 1.5, std::nan("")})
    CHECK_THROWS_WITH(mark_largest(space, grid, indicator, theta), Contains("theta") && Contains("(0, 1]"));
  for (double const bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    fill([&](std::size_t n) { return n == 7 ? bad : 1.0; });
    CHECK_THROWS_WITH(mark_largest(space, grid, indicator, 0.5), Contains("on 1 leaves"));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("jumps between leaves", "", BRICKWORK_TEST_SPACES) {
  check_jumps<TestType, 2>();
  check_jumps<TestType, 3>();
}

TEMPLATE_TEST_CASE("the residual indicator equals a sum over pairs of leaves", "", BRICKWORK_TEST_SPACES) {
  check_indicator<TestType, 2>();
  check_indicator<TestType, 3>();
}

TEMPLATE_TEST_CASE("the residual indicator follows the error", "", BRICKWORK_TEST_SPACES) {
  check_effectivity<TestType, 2>();
  check_effectivity<TestType, 3>();
}

TEMPLATE_TEST_CASE("the largest indicators are marked, and no more than it takes", "", BRICKWORK_TEST_SPACES) {
  check_marks<TestType>();
}
