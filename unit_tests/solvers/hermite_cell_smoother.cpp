// SPDX-License-Identifier: BSD-3-Clause
// Cell-wise smoothers of Hermite forms against assembled matrices.
#include "brickwork/solvers/hermite_cell_smoother.hpp"

#include <Eigen/Dense>

#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_levels.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// The level's operator, assembled over its vertices, and vectors between the two storages.
template <int Dim>
struct Assembled {
  static constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  PlainLevel<Dim> level;
  Eigen::MatrixXd matrix;
  std::vector<bool> fixed;

  template <class MemorySpace>
  Assembled(GridLevel<MemorySpace, Dim> const& grid_level, std::vector<double> const& element) : level(grid_level) {
    auto const size = static_cast<Eigen::Index>(level.vertices.size()) * corners;
    matrix = Eigen::MatrixXd::Zero(size, size);
    for (index_t cell = 0; cell < static_cast<index_t>(level.cells.size()); ++cell)
      for (int i = 0; i < unknowns; ++i)
        for (int j = 0; j < unknowns; ++j) matrix(row(cell, i), row(cell, j)) += element[i * unknowns + j];
    for (index_t v = 0; v < static_cast<index_t>(level.vertices.size()); ++v)
      fixed.insert(fixed.end(), corners, level.cells_around(v) < corners);
  }
  // Assembled number of unknown i of a cell.
  Eigen::Index row(index_t cell, int i) const {
    int n = 0, m = 0;
    for (int d = 0; d < Dim; ++d) {
      m += ((i >> 2 * d) & 1) << d;
      n += ((i >> (2 * d + 1)) & 1) << d;
    }
    return level.corner(cell, n) * corners + m;
  }
  std::vector<double> replicated(Eigen::VectorXd const& values) const {
    std::vector<double> copies;
    for (index_t cell = 0; cell < static_cast<index_t>(level.cells.size()); ++cell)
      for (int i = 0; i < unknowns; ++i) copies.push_back(values(row(cell, i)));
    return copies;
  }
  Eigen::VectorXd summed(std::vector<double> const& dual) const {
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(matrix.rows());
    for (index_t cell = 0; cell < static_cast<index_t>(level.cells.size()); ++cell)
      for (int i = 0; i < unknowns; ++i) sums(row(cell, i)) += dual[cell * unknowns + i];
    return sums;
  }
  Eigen::VectorXd random(unsigned seed) const {
    auto const values = random_values(matrix.rows(), seed);
    return Eigen::Map<Eigen::VectorXd const>(values.data(), matrix.rows());
  }
};

HermiteForm const form{0.5, 2, 1};

template <class Space, int Dim>
void check_chebyshev() {
  using Mem = typename Space::memory_space;
  Space const space;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    auto const adjacency = cell_adjacency<Space, Dim>(space, level);
    HermiteCellOperator<Space, Dim> const a(space, level, form);
    Assembled<Dim> const reference(level, a.element());
    auto const fixed = incomplete_vertices<Space, Dim>(space, adjacency);
    auto const load = random_values(level.cell_count * a.element().size() / (1 << 2 * Dim), 12);
    Eigen::VectorXd const start = reference.random(11), f = reference.summed(load);
    double const lower = 0.2, upper = 2;
    int const stages = 3;

    // The Chebyshev iteration by its definition: errors are damped by the polynomial whose steps these are.
    Eigen::VectorXd u = start, d = Eigen::VectorXd::Zero(u.size());
    double const theta = (upper + lower) / 2, delta = (upper - lower) / 2;
    double rho = delta / theta;
    for (int stage = 0; stage < stages; ++stage) {
      Eigen::VectorXd z = f - reference.matrix * u;
      for (Eigen::Index i = 0; i < z.size(); ++i) z(i) = reference.fixed[i] ? 0 : z(i) / reference.matrix(i, i);
      if (stage == 0) {
        d = z / theta;
      } else {
        double const next = 1 / (2 * theta / delta - rho);
        d = next * rho * d + 2 * next / delta * z;
        rho = next;
      }
      u += d;
    }
    auto const expected = reference.replicated(u);

    for (auto const method : {SummationMethod::vertices, SummationMethod::passes}) {
      HermiteCellChebyshev<Space, Dim> const smoother(space, a, adjacency, fixed, lower, upper, method);
      CellPrimal<Mem, Dim> const cells(space, level.cell_count, "u");
      CellDual<Mem, Dim> const dual(space, level.cell_count, "f");
      set(dual, load);
      for (int repeat = 0; repeat < 2; ++repeat) {  // what a smoothing leaves behind does not enter the next
        set(cells, reference.replicated(start));
        smoother.smooth(space, dual, cells, stages);
        CHECK(largest_difference(plain(cells), expected) < 1e-11 * (1 + largest_value(expected)));
      }
      smoother.smooth(space, dual, cells, 0);
      CHECK_THROWS_AS(smoother.smooth(space, dual, cells, -1), InputError);
    }
    using Smoother = HermiteCellChebyshev<Space, Dim>;
    CHECK_THROWS_AS(Smoother(space, a, adjacency, fixed, 0.0, 2.0), InputError);
    CHECK_THROWS_AS(Smoother(space, a, adjacency, fixed, 2.0, 2.0), InputError);
    CHECK_THROWS_AS(Smoother(space, a, adjacency, fixed, 0.2, std::nan("")), InputError);
    CHECK_THROWS_AS(Smoother(space, a, adjacency, VertexMask<Mem>("short", 1), 0.2, 2.0), InputError);
  }
}

// Gauss-Seidel over the blocks of complete vertices, colour by colour.
template <int Dim>
void sweep_plainly(Assembled<Dim> const& a, Eigen::VectorXd const& f, Eigen::VectorXd& u, bool reversed, double omega) {
  constexpr int corners = 1 << Dim;
  for (int step = 0; step < corners; ++step) {
    int const color = reversed ? corners - 1 - step : step;
    for (index_t v = 0; v < static_cast<index_t>(a.level.vertices.size()); ++v) {
      int parity = 0;
      for (int d = 0; d < Dim; ++d) parity += static_cast<int>(a.level.vertices[v][d] % 2) << d;
      if (parity != color || a.level.cells_around(v) < corners) continue;
      Eigen::MatrixXd const block = a.matrix.block(v * corners, v * corners, corners, corners);
      Eigen::VectorXd const residual = f.segment(v * corners, corners) - a.matrix.middleRows(v * corners, corners) * u;
      u.segment(v * corners, corners) += omega * block.ldlt().solve(residual);
    }
  }
}

template <class Space, int Dim>
void check_patches() {
  using Mem = typename Space::memory_space;
  Space const space;
  using Primal = CellPrimal<Mem, Dim, CellLayout::contiguous>;
  using Dual = CellDual<Mem, Dim, CellLayout::contiguous>;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    auto const adjacency = cell_adjacency<Space, Dim>(space, level);
    std::array<double, Dim> spacing;
    for (int d = 0; d < Dim; ++d) spacing[d] = level.spacing[d];
    auto const element = hermite_element<Dim>(form, spacing);
    Assembled<Dim> const reference(level, element);
    HermitePatchSmoother<Space, Dim> const smoother(space, adjacency, element);
    index_t complete = 0;
    for (index_t v = 0; v < level.vertex_count; ++v) complete += reference.level.cells_around(v) == 1 << Dim;
    CHECK(smoother.patches() == complete);

    auto const load = random_values(level.cell_count * (1 << 2 * Dim), 21);
    Eigen::VectorXd const start = reference.random(22), f = reference.summed(load);
    Primal const u(space, level.cell_count, "u");
    Dual const dual(space, level.cell_count, "f");
    set(dual, load);
    for (bool const reversed : {false, true}) {
      for (double const omega : {1.0, 0.7}) {
        Eigen::VectorXd expected = start;
        sweep_plainly(reference, f, expected, reversed, omega);
        set(u, reference.replicated(start));
        smoother.sweep(space, dual, u, reversed ? ColorOrder::reversed : ColorOrder::forward, omega);
        auto const copies = reference.replicated(expected);
        CHECK(largest_difference(plain(u), copies) < 1e-11 * (1 + largest_value(copies)));
      }
    }
    // Every patch adds omega f to its cells: as often as they have complete corners.
    auto expected = random_values(level.cell_count * (1 << 2 * Dim), 23);
    set(u, expected);
    smoother.addressing_control(space, dual, u, 0.25);
    for (index_t cell = 0; cell < level.cell_count; ++cell)
      for (int n = 0; n < 1 << Dim; ++n)
        if (reference.level.cells_around(reference.level.corner(cell, n)) == 1 << Dim)
          for (int i = 0; i < 1 << 2 * Dim; ++i)
            expected[cell * (1 << 2 * Dim) + i] += 0.25 * load[cell * (1 << 2 * Dim) + i];
    CHECK(largest_difference(plain(u), expected) < 1e-15);
    CHECK_THROWS_AS(smoother.sweep(space, Dual(space, level.cell_count + 1, "f"), u, ColorOrder::forward), InputError);
    auto skewed = element;
    skewed[0] *= 1.01;
    CHECK_THROWS_AS((HermitePatchSmoother<Space, Dim>(space, adjacency, skewed)), InputError);
    CHECK_THROWS_AS((HermitePatchSmoother<Space, Dim>(space, adjacency, std::vector<double>(element.size()))),
                    InputError);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("Chebyshev stages on cells are those of the assembled operator", "", BRICKWORK_TEST_SPACES) {
  check_chebyshev<TestType, 2>();
  check_chebyshev<TestType, 3>();
}

TEMPLATE_TEST_CASE("a sweep over vertex blocks on cells is that of the assembled operator", "", BRICKWORK_TEST_SPACES) {
  check_patches<TestType, 2>();
  check_patches<TestType, 3>();
}

TEST_CASE("a reversed sweep is the adjoint of a forward one") {
  using Space = Kokkos::DefaultExecutionSpace;
  using Mem = Space::memory_space;
  Space const space;
  auto const level = test_levels<Space, 3>(space)[3];
  auto const adjacency = cell_adjacency<Space, 3>(space, level);
  auto const element = hermite_element<3>({0, 0, 1}, {level.spacing[0], level.spacing[1], level.spacing[2]});
  HermitePatchSmoother<Space, 3> const smoother(space, adjacency, element);
  REQUIRE(smoother.patches() > 20);
  CellPrimal<Mem, 3, CellLayout::contiguous> const u(space, level.cell_count, "u");
  CellDual<Mem, 3, CellLayout::contiguous> const f(space, level.cell_count, "f");
  auto const pair = [&](unsigned first, unsigned second, ColorOrder order) {
    auto const loads = random_values(64 * level.cell_count, first),
               tested = random_values(64 * level.cell_count, second);
    set(f, loads);
    set(u, std::vector<double>(loads.size()));
    smoother.sweep(space, f, u, order);
    auto const corrected = plain(u);
    double product = 0;
    for (std::size_t i = 0; i < tested.size(); ++i) product += corrected[i] * tested[i];
    return product;
  };
  double const forward = pair(1, 2, ColorOrder::forward);
  CHECK(forward == Approx(pair(2, 1, ColorOrder::reversed)).epsilon(1e-11));
  CHECK(forward != Approx(pair(2, 1, ColorOrder::forward)).epsilon(1e-6));
}
