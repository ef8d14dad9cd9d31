// SPDX-License-Identifier: BSD-3-Clause
// Hermite operators and smoothing steps on levels against sums over cells in plain loops; transfers against evaluation
// of the coarse cubics; on thin, odd and locally refined grids, clamped and simply supported.
#include "brickwork/operators/hermite_level.hpp"

#include "brickwork/mesh/host_level.hpp"
#include "brickwork/operators/hermite_operator.hpp"
#include "brickwork/operators/hermite_transfer.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_grids.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr HermiteForm plate{0, 0, 1};
constexpr HermiteForm mixed_form{1.5, 0.25, 0.01};

/// Rows of the operator of one level by plain loops over the cells around a vertex.
template <int Dim>
struct Rows {
  static constexpr int unknowns = 1 << Dim, size = 1 << 2 * Dim;
  GridLevel<Kokkos::HostSpace, Dim> level;
  std::vector<double> element;
  bool leaves_only = false;

  /// visit(vertex, unknown, entry) for every entry of a row, several times for entries that several cells give to.
  template <class Visit>
  void visit(index_t vertex, int m, Visit const& call) const {
    auto const p = level.vertex_position(vertex);
    for (int n = 0; n < unknowns; ++n) {
      auto cell = p;
      for (int d = 0; d < Dim; ++d) cell[d] += ((n >> d) & 1) - 1;
      index_t const number = level.find_cell(cell);
      if (number < 0 || (leaves_only && level.refined(number))) continue;
      int const row = hermite_local<Dim>(unknowns - 1 - n, m);
      for (int corner = 0; corner < unknowns; ++corner)
        for (int other = 0; other < unknowns; ++other)
          call(level.corner(cell, corner), other, element[row * size + hermite_local<Dim>(corner, other)]);
    }
  }
  double product(index_t vertex, int m, std::vector<double> const& x) const {
    double sum = 0;
    visit(vertex, m, [&](index_t v, int other, double entry) { sum += entry * x[v + other * level.vertex_count]; });
    return sum;
  }
  double diagonal(index_t vertex, int m) const {
    double sum = 0;
    visit(vertex, m, [&](index_t v, int other, double entry) { sum += v == vertex && other == m ? entry : 0; });
    return sum;
  }
};

template <class Space, int Dim>
Rows<Dim> rows_of(AdaptiveGrid<Space, Dim> const& grid, int l, HermiteForm const& form) {
  Rows<Dim> rows{host_level(grid.level(l)), {}};
  std::array<double, Dim> spacing;
  for (int d = 0; d < Dim; ++d) spacing[static_cast<std::size_t>(d)] = grid.level(l).spacing[d];
  rows.element = hermite_element<Dim>(form, spacing);
  return rows;
}

/// Unknowns that neither the boundary nor a missing cell prescribes.
template <int Dim>
int free_bits(GridLevel<Kokkos::HostSpace, Dim> const& level, HermiteBoundary<Dim> const& boundary, index_t vertex) {
  auto const p = level.vertex_position(vertex);
  for (int n = 0; n < (1 << Dim); ++n) {
    auto cell = p;
    bool inside = true;
    for (int d = 0; d < Dim; ++d) {
      cell[d] += ((n >> d) & 1) - 1;
      inside = inside && cell[d] >= 0 && cell[d] < level.domain_cells[d];
    }
    if (inside && level.find_cell(cell) < 0) return 0;
  }
  return ((1 << (1 << Dim)) - 1) & ~boundary.fixed(p.data(), level.domain_cells.data());
}

template <class Space, class Scalar, int Dim>
struct Vector {
  using View = HermiteLevelVector<Scalar, typename Space::memory_space, Dim>;
  Kokkos::View<Scalar*, typename Space::memory_space> storage;
  View view;
  explicit Vector(std::vector<double> const& values) : storage("vector", values.size()) {
    auto const host = Kokkos::create_mirror_view(storage);
    for (std::size_t i = 0; i < values.size(); ++i) host(i) = static_cast<Scalar>(values[i]);
    Kokkos::deep_copy(storage, host);
    view = View(storage.data(), values.size() >> Dim);
  }
  std::vector<double> values() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), storage);
    return std::vector<double>(host.data(), host.data() + host.extent(0));
  }
};

template <int Dim>
double largest(Rows<Dim> const& rows) {
  double value = 0;
  for (double entry : rows.element) value = std::max(value, std::abs(entry));
  return value;
}

template <class Scalar, class Space, int Dim>
void check_level(AdaptiveGrid<Space, Dim> const& grid, int l, HermiteForm const& form,
                 PlateBoundary<Dim> const& boundary) {
  Space const space;
  auto rows = rows_of(grid, l, form);
  auto const& level = rows.level;
  HermiteSites<Space, Dim> const sites(space, grid.level(l), boundary, true);
  HermiteLevel<Space, Scalar, Dim> const a(space, sites, form);
  index_t const count = level.vertex_count, size = count << Dim;
  auto const b = rounded<Scalar>(random_values(size, 1)), x = rounded<Scalar>(random_values(size, 2)),
             old = rounded<Scalar>(random_values(size, 3));
  Vector<Space, Scalar, Dim> const device_b(b), device_x(x);
  // 2^Dim cells of 4^Dim products; rounding of the coefficients and of the sums.
  double const scale = largest(rows) * rows.size * rows.unknowns;
  double const tolerance = 0.25 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) * scale;
  int const all = (1 << (1 << Dim)) - 1;
  HermiteBoundary<Dim> const fixed(boundary);
  auto const is_fixed = [&](index_t vertex) {
    return fixed.fixed(level.vertex_position(vertex).data(), level.domain_cells.data()) == all;
  };

  Vector<Space, Scalar, Dim> const y(std::vector<double>(size, 7.0)), r(std::vector<double>(size, 7.0)),
      leaves(std::vector<double>(size, 7.0));
  a.apply(space, device_x.view, y.view);
  a.residual(space, device_b.view, device_x.view, r.view);
  a.apply_leaves(space, device_x.view, leaves.view);
  auto const product = y.values(), residual = r.values(), leaf_product = leaves.values();
  for (index_t vertex = 0; vertex < count; ++vertex)
    for (int m = 0; m < (1 << Dim); ++m) {
      index_t const i = vertex + m * count;
      if (is_fixed(vertex)) {
        REQUIRE(product[i] == 7);  // left alone
        REQUIRE(leaf_product[i] == 7);
        continue;
      }
      rows.leaves_only = false;
      REQUIRE(product[i] == Approx(rows.product(vertex, m, x)).margin(tolerance));
      REQUIRE(residual[i] == Approx(b[i] - rows.product(vertex, m, x)).margin(tolerance));
      rows.leaves_only = true;
      REQUIRE(leaf_product[i] ==
              Approx(level.vertex_leaves(vertex) == 0 ? 7.0 : rows.product(vertex, m, x)).margin(tolerance));
    }
  rows.leaves_only = false;

  // A step, in place of the iterate before; fixed unknowns of both must agree, as in a cycle.
  double const momentum = 0.3, weight = 0.9;
  auto start = old;
  index_t free_unknowns = 0;
  for (index_t vertex = 0; vertex < count; ++vertex)
    for (int m = 0; m < (1 << Dim); ++m) {
      bool const free = ((free_bits(level, fixed, vertex) >> m) & 1) != 0;
      free_unknowns += free ? 1 : 0;
      if (!free) start[vertex + m * count] = x[vertex + m * count];
    }
  REQUIRE(sites.free_unknowns == free_unknowns);
  Vector<Space, Scalar, Dim> const step(start);
  a.chebyshev_step(space, momentum, weight, device_b.view, device_x.view, step.view, step.view);
  Vector<Space, Scalar, Dim> const begin(old), other(old);
  a.start(space, weight, device_b.view, begin.view, other.view);
  auto const stepped = step.values(), begun = begin.values(), beside = other.values();
  for (index_t vertex = 0; vertex < count; ++vertex) {
    int const free = free_bits(level, fixed, vertex);
    for (int m = 0; m < (1 << Dim); ++m) {
      index_t const i = vertex + m * count;
      if (((free >> m) & 1) == 0) {
        REQUIRE(stepped[i] == x[i]);
        REQUIRE(begun[i] == 0);
        if (free == 0) REQUIRE(beside[i] == 0);
        continue;
      }
      double const diagonal = rows.diagonal(vertex, m);
      double const jacobi = weight / diagonal;
      REQUIRE(begun[i] == Approx(jacobi * b[i]).margin(jacobi * tolerance));
      REQUIRE(stepped[i] == Approx(x[i] + momentum * (x[i] - old[i]) + jacobi * (b[i] - rows.product(vertex, m, x)))
                                .margin(jacobi * tolerance + 1e-6 * tolerance / scale));
    }
  }

  // Sweeps: every vertex takes the solution of its own unknowns' block, after all earlier colours.
  for (bool const reversed : {false, true}) {
    Vector<Space, Scalar, Dim> const swept(x);
    a.sweep(space, reversed, device_b.view, swept.view);
    auto reference = x;
    for (int n = 0; n <= (1 << Dim) - 1; ++n) {
      int const colour = reversed ? (1 << Dim) - 1 - n : n;
      for (index_t vertex = 0; vertex < count; ++vertex) {
        auto const p = level.vertex_position(vertex);
        int parity = 0;
        for (int d = 0; d < Dim; ++d) parity |= static_cast<int>(p[d] & 1) << d;
        int const free = free_bits(level, fixed, vertex);
        if (parity != colour || free == 0) continue;
        double change[1 << Dim] = {};
        for (int m = 0; m < (1 << Dim); ++m)
          if ((free >> m) & 1)
            change[m] = (b[vertex + m * count] - rows.product(vertex, m, reference)) / rows.diagonal(vertex, m);
        for (int m = 0; m < (1 << Dim); ++m) reference[vertex + m * count] += change[m];
      }
    }
    auto const result = swept.values();
    double norm = 0;
    for (double value : reference) norm = std::max(norm, std::abs(value));
    for (index_t i = 0; i < size; ++i)
      REQUIRE(result[i] ==
              Approx(reference[i]).margin(300 * norm * static_cast<double>(std::numeric_limits<Scalar>::epsilon())));
  }
}

template <int Dim>
PlateBoundary<Dim> some_supported() {
  PlateBoundary<Dim> boundary{};
  boundary[0] = boundary[2 * Dim - 1] = PlateEdge::simply_supported;
  return boundary;
}

template <class Space, class Scalar>
void check_levels() {
  Space const space;
  using Kind3 = RefinementRegion<3>::Kind;
  using Kind2 = RefinementRegion<2>::Kind;
  for (auto const& cells : {Index3{5, 3, 7}, Index3{1, 2, 9}, Index3{37, 2, 3}, Index3{2, 6, 1}}) {
    AdaptiveGrid<Space, 3> const grid(space, box<3>(cells), 0);
    check_level<Scalar>(grid, 0, plate, PlateBoundary<3>{});
    check_level<Scalar>(grid, 0, mixed_form, some_supported<3>());
  }
  for (auto const& cells :
       {std::array<index_t, 2>{5, 7}, std::array<index_t, 2>{1, 9}, std::array<index_t, 2>{41, 2}}) {
    AdaptiveGrid<Space, 2> const grid(space, box<2>(cells), 0);
    check_level<Scalar>(grid, 0, plate, PlateBoundary<2>{});
    check_level<Scalar>(grid, 0, mixed_form, some_supported<2>());
  }
  for (auto const kind : {Kind3::box, Kind3::ball, Kind3::ring}) {
    auto const grid = refined(space, box<3>({3, 2, 3}), 1, kind, 2);
    for (int l = 1; l < grid.level_count(); ++l) check_level<Scalar>(grid, l, plate, some_supported<3>());
  }
  for (auto const kind : {Kind2::box, Kind2::ball, Kind2::ring}) {
    auto const grid = refined(space, box<2>({3, 2}), 2, kind, 2);
    for (int l = 1; l < grid.level_count(); ++l) check_level<Scalar>(grid, l, plate, PlateBoundary<2>{});
  }
}

/// The coarse field's value and derivatives at a fine vertex, in the fine level's reference coordinates.
template <int Dim>
std::vector<double> evaluated(GridLevel<Kokkos::HostSpace, Dim> const& coarse,
                              GridLevel<Kokkos::HostSpace, Dim> const& fine, std::vector<double> const& u) {
  std::vector<double> values(static_cast<std::size_t>(fine.vertex_count << Dim));
  for (index_t vertex = 0; vertex < fine.vertex_count; ++vertex) {
    auto const p = fine.vertex_position(vertex);
    // A refined cell that has the vertex.
    for (int n = 0; n < (1 << Dim); ++n) {
      auto child = p;
      for (int d = 0; d < Dim; ++d) child[d] += ((n >> d) & 1) - 1;
      if (fine.find_cell(child) < 0) continue;
      auto cell = child;
      for (int d = 0; d < Dim; ++d) cell[d] /= 2;
      for (int m = 0; m < (1 << Dim); ++m) {
        double sum = 0;
        for (int corner = 0; corner < (1 << Dim); ++corner)
          for (int other = 0; other < (1 << Dim); ++other) {
            double product = u[coarse.corner(cell, corner) + other * coarse.vertex_count];
            for (int d = 0; d < Dim; ++d) {
              int const order = (m >> d) & 1;
              double const t = 0.5 * static_cast<double>(p[d] - 2 * cell[d]);
              product *= hermite_basis(order, t)[2 * ((corner >> d) & 1) + ((other >> d) & 1)] * (order == 1 ? 0.5 : 1);
            }
            sum += product;
          }
        values[vertex + m * fine.vertex_count] = sum;
      }
      break;
    }
  }
  return values;
}

template <class Space, class Scalar, int Dim>
void check_transfer(AdaptiveGrid<Space, Dim> const& grid, int l) {
  Space const space;
  auto const coarse = host_level(grid.level(l)), fine = host_level(grid.level(l + 1));
  HermiteTransfer<Space, Dim> const transfer(space, grid.level(l), grid.level(l + 1));
  double const tolerance = 32 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  auto const u = rounded<Scalar>(random_values(coarse.vertex_count << Dim, 4)),
             x = rounded<Scalar>(random_values(fine.vertex_count << Dim, 5)),
             b = rounded<Scalar>(random_values(coarse.vertex_count << Dim, 6));
  auto const reference = evaluated(coarse, fine, u);
  Vector<Space, Scalar, Dim> const device_u(u), device_x(x), to(x), copy(x), device_b(b), assigned(b);
  transfer.template prolongate<Scalar>(space, device_u.view, device_x.view, to.view, copy.view);
  auto const result = to.values(), at_edge = copy.values();
  int const all = (1 << (1 << Dim)) - 1;
  for (index_t i = 0; i < fine.vertex_count << Dim; ++i) {
    REQUIRE(result[i] == Approx(x[i] + reference[i]).margin(tolerance));
    REQUIRE(at_edge[i] == (fine.vertex_cells(i % fine.vertex_count) == all ? x[i] : result[i]));
  }
  transfer.template prolongate<Scalar>(space, device_u.view, device_x.view, device_x.view, {});
  REQUIRE(device_x.values() == result);

  // The transpose: column by column would be long; three random vectors tell.
  transfer.template restrict_to<Scalar>(space, to.view, device_b.view, true);
  transfer.template restrict_to<Scalar>(space, to.view, assigned.view, false);
  auto const added = device_b.values(), set = assigned.values();
  double pairing = 0, dual = 0, norm = 0;
  for (index_t i = 0; i < fine.vertex_count << Dim; ++i) {
    pairing += reference[i] * result[i];
    norm += std::abs(reference[i] * result[i]);
  }
  for (index_t i = 0; i < coarse.vertex_count << Dim; ++i) {
    dual += u[i] * (added[i] - b[i]);
    index_t const vertex = i % coarse.vertex_count;
    bool const parent = coarse.vertex_cells(vertex) != coarse.vertex_leaves(vertex);
    REQUIRE(set[i] == Approx(parent ? added[i] - b[i] : b[i]).margin(64 * tolerance));
  }
  REQUIRE(dual == Approx(pairing).margin(tolerance * norm));
}

template <class Space, class Scalar>
void check_transfers() {
  Space const space;
  using Kind3 = RefinementRegion<3>::Kind;
  using Kind2 = RefinementRegion<2>::Kind;
  check_transfer<Space, Scalar>(AdaptiveGrid<Space, 3>(space, box<3>({3, 1, 5}), 1), 0);
  check_transfer<Space, Scalar>(AdaptiveGrid<Space, 2>(space, box<2>({9, 1}), 1), 0);
  for (auto const kind : {Kind3::box, Kind3::ball, Kind3::ring}) {
    auto const grid = refined(space, box<3>({3, 2, 3}), 1, kind, 2);
    for (int l = 0; l + 1 < grid.level_count(); ++l) check_transfer<Space, Scalar>(grid, l);
  }
  for (auto const kind : {Kind2::box, Kind2::ball, Kind2::ring}) {
    auto const grid = refined(space, box<2>({3, 2}), 2, kind, 3);
    for (int l = 0; l + 1 < grid.level_count(); ++l) check_transfer<Space, Scalar>(grid, l);
  }
}

/// P^T A_fine P = A_coarse, for every form: the spaces are nested.
template <class Space, int Dim>
void check_nesting(BaseGrid<Dim> const& base) {
  Space const space;
  AdaptiveGrid<Space, Dim> const grid(space, base, 1);
  PlateBoundary<Dim> supported;
  supported.fill(PlateEdge::simply_supported);
  HermiteTransfer<Space, Dim> const transfer(space, grid.level(0), grid.level(1));
  for (auto const& form : {plate, mixed_form}) {
    index_t const coarse_size = grid.level(0).vertex_count << Dim, fine_size = grid.level(1).vertex_count << Dim;
    Vector<Space, double, Dim> const u(random_values(coarse_size, 8)), direct(std::vector<double>(coarse_size, 0.0)),
        through(std::vector<double>(coarse_size, 0.0)), fine(std::vector<double>(fine_size, 0.0)),
        product(std::vector<double>(fine_size, 0.0));
    HermiteLevel<Space, double, Dim> const a_coarse(space, {space, grid.level(0), supported, false}, form),
        a_fine(space, {space, grid.level(1), supported, false}, form);
    transfer.template prolongate<double>(space, u.view, fine.view, fine.view, {});
    a_fine.apply(space, fine.view, product.view);
    transfer.template restrict_to<double>(space, product.view, through.view, false);
    a_coarse.apply(space, u.view, direct.view);
    auto const expected = direct.values(), found = through.values();
    double norm = 0;
    for (double value : expected) norm = std::max(norm, std::abs(value));
    for (index_t i = 0; i < coarse_size; ++i) REQUIRE(found[i] == Approx(expected[i]).margin(2e-12 * norm));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("Hermite operators of a level are the sums over its cells", "", BRICKWORK_TEST_SPACES) {
  check_levels<TestType, double>();
}

TEMPLATE_TEST_CASE("Hermite operators of a level in FP32 are the sums over its cells", "", BRICKWORK_TEST_SPACES) {
  check_levels<TestType, float>();
}

TEMPLATE_TEST_CASE("Hermite transfers evaluate the coarse cubics, and their transpose", "", BRICKWORK_TEST_SPACES) {
  check_transfers<TestType, double>();
  check_transfers<TestType, float>();
}

TEMPLATE_TEST_CASE("Hermite levels are nested", "", BRICKWORK_TEST_SPACES) {
  check_nesting<TestType, 3>(box<3>({3, 1, 2}));
  check_nesting<TestType, 2>(box<2>({4, 3}));
}

TEST_CASE("the block of a vertex between equal cells is diagonal") {
  for (auto const& form : {plate, mixed_form}) {
    std::array<double, 3> const spacing{0.5, 0.75, 2};
    auto const element = hermite_element<3>(form, spacing);
    auto const diagonal = detail::star_diagonal<3>(form, spacing);
    for (int m = 0; m < 8; ++m)
      for (int other = 0; other < 8; ++other) {
        double sum = 0;
        for (int n = 0; n < 8; ++n) sum += element[hermite_local<3>(n, m) * 64 + hermite_local<3>(n, other)];
        REQUIRE(sum == Approx(m == other ? diagonal[static_cast<std::size_t>(m)] : 0.0).margin(1e-12 * element[0]));
      }
  }
}
