// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/detail/dense_inverse.hpp"

#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/galerkin_reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr double eps = std::numeric_limits<float>::epsilon();

template <class Space>
Stencil<Space> stencil_on(BoxGrid const& grid, std::vector<double> const& moduli,
                          std::vector<std::uint8_t> const& mask) {
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
  return stencil_of_cells(Space{}, grid, stiffness, moduli, mask, mask, {1, 1, 1});
}

using Free = std::array<bool, 3>;

// Columns of the inverse, one solve each.
template <class Space>
Eigen::MatrixXd inverse_of(Stencil<Space> const& stencil, Free const& free) {
  Space const space;
  detail::DenseInverse<Space> dense(space, stencil.data, free);
  dense.update(space);
  index_t const size = stencil.grid.dof_count();
  Eigen::MatrixXd inverse(size, size);
  for (index_t column = 0; column < size; ++column) {
    std::vector<double> unit(static_cast<std::size_t>(size), 0.0);
    unit[static_cast<std::size_t>(column)] = 1;
    StencilVector<Space> const b(space, stencil.grid, unit), x(space, stencil.grid);
    dense.solve(space, b.ref(), x.ref());
    auto const values = x.values();
    for (index_t row = 0; row < size; ++row) inverse(row, column) = values[static_cast<std::size_t>(row)];
  }
  return inverse;
}

std::vector<std::uint8_t> fixed_face(BoxGrid const& grid) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(grid.node_count()), 0);
  for (std::size_t node = 0; node < mask.size(); node += static_cast<std::size_t>(grid.nodes()[0])) mask[node] = 7;
  mask.back() = 2;  // and a single component
  return mask;
}

// On free components the inverse is that of Eigen; constrained ones have zero rows and columns.
template <class Space>
void definite(BoxGrid const& grid) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
  auto const mask = fixed_face(grid);
  auto const stencil = stencil_on<Space>(grid, random_values(grid.cell_count(), 31, 1e-3, 1), mask);
  Eigen::MatrixXd a = stencil.dense();
  index_t const nodes = grid.node_count();
  a = Eigen::MatrixXd(0.5 * (a + a.transpose()));  // the diagonal blocks are symmetric to rounding only
  auto const diagonal = to_host(stencil.diagonal);
  for (index_t i = 0; i < a.rows(); ++i) a(i, i) += detail::dense_lift * diagonal[static_cast<std::size_t>(i)];
  for (index_t i = 0; i < a.rows(); ++i)
    if (is_fixed(mask, i % nodes, static_cast<int>(i / nodes))) {
      a.row(i).setZero();
      a.col(i).setZero();
      a(i, i) = 1;
    }
  Eigen::MatrixXd expected = a.inverse();
  for (index_t i = 0; i < a.rows(); ++i)
    if (is_fixed(mask, i % nodes, static_cast<int>(i / nodes))) expected(i, i) = 0;
  // Elimination in FP64 of a matrix whose diagonal is lifted, entries kept in FP32.
  CHECK((inverse_of(stencil, Free{}) - expected).cwiseAbs().maxCoeff() <= 4 * eps * expected.cwiseAbs().maxCoeff());
}

// A floating body: A X A = A, and X b is a solution for every b in the range.
template <class Space>
void singular(BoxGrid const& grid) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
  auto const stencil = stencil_on<Space>(grid, random_values(grid.cell_count(), 32, 1e-2, 1), {});
  Eigen::MatrixXd const a = stencil.dense(), x = inverse_of(stencil, {true, true, true});
  // Rigid motions have entries of up to 1 / lift in the inverse, which is kept in FP32.
  CHECK((a * x * a - a).cwiseAbs().maxCoeff() <= eps / detail::dense_lift * a.cwiseAbs().maxCoeff());
  CHECK(x.allFinite());
  // A preconditioner must not turn a residual round.
  Eigen::MatrixXd const symmetric = 0.5 * (x + x.transpose());
  auto const spectrum = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
  CHECK(spectrum.minCoeff() >= -1e-6 * spectrum.maxCoeff());
}

// Without constraints the inverse maps a load to a displacement whose mean, weighted by the diagonal, is zero; a load
// without balance has its excess taken out by the same weights first. Periodic grids have no other free motion, so that
// nothing of the size of 1 / lift is left.
template <class Space>
void translations(BoxGrid const& grid, double softest) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2], softest);
  auto moduli = random_values(grid.cell_count(), 36, 0.5, 1);
  for (std::size_t cell = 0; cell < moduli.size(); cell += 2) moduli[cell] *= softest;
  auto const stencil = stencil_on<Space>(grid, moduli, {});
  index_t const nodes = grid.node_count();
  Eigen::MatrixXd const a = stencil.dense(), x = inverse_of(stencil, {true, true, true});
  auto const diagonal = to_host(stencil.diagonal);
  Eigen::MatrixXd e = Eigen::MatrixXd::Zero(3 * nodes, 3), weighted = e;
  for (index_t d = 0; d < 3; ++d) {
    double sum = 0;
    for (index_t node = 0; node < nodes; ++node) sum += diagonal[static_cast<std::size_t>(node + d * nodes)];
    for (index_t node = 0; node < nodes; ++node) {
      e(node + d * nodes, d) = 1;
      weighted(node + d * nodes, d) = diagonal[static_cast<std::size_t>(node + d * nodes)] / sum;
    }
  }
  double const size = x.cwiseAbs().maxCoeff();
  CHECK((weighted.transpose() * x).cwiseAbs().maxCoeff() <= 10 * eps * size);
  CHECK((x * weighted).cwiseAbs().maxCoeff() <= 10 * eps * size);
  // Nodes of a periodic axis with two cells in void of their own may rotate; elsewhere the void's modulus bounds it.
  CHECK(size <= 1e3 / softest);
  Eigen::MatrixXd const balanced = Eigen::MatrixXd::Identity(3 * nodes, 3 * nodes) - weighted * e.transpose();
  // The lift is a relative error of the softest mode.
  double const allowed = 1e3 * detail::dense_lift / softest + 100 * eps * size;
  CHECK((a * x - balanced).cwiseAbs().maxCoeff() <= allowed);
}

// Whatever positions a pair of nodes meets at, the matrix is what the stencil stands for, scaled and lifted.
template <class Space>
void assembly(BoxGrid const& grid) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
  Space const space;
  auto const stencil = stencil_on<Space>(grid, random_values(grid.cell_count(), 37, 1e-3, 1), {});
  auto const size = static_cast<int>(grid.dof_count());
  int const n = size + 5;
  auto const matrix = allocate<Kokkos::View<double*, typename Space::memory_space>>(space, "matrix", index_t(n) * n);
  detail::DenseFromStencil const dense{stencil.data, matrix.data(), n};
  Kokkos::parallel_for("test", range(space, dense.count()), dense);
  auto const entries = to_host(matrix);
  Eigen::MatrixXd const a = stencil.dense();
  auto const diagonal = to_host(stencil.diagonal);
  double asymmetry = 0, error = 0, padding = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double const value =
          entries[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
      if (i >= size || j >= size) {
        padding = std::max(padding, std::abs(value));
        continue;
      }
      double const other =
          entries[static_cast<std::size_t>(j) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
      asymmetry = std::max(asymmetry, std::abs(value - other));
      double const di = diagonal[static_cast<std::size_t>(i)], dj = diagonal[static_cast<std::size_t>(j)];
      double const lifted = 0.5 * (a(i, j) + a(j, i)) + (i == j ? detail::dense_lift * di : 0);
      error = std::max(error, std::abs(value - lifted / std::sqrt(di * dj)));
    }
  CHECK(padding == 0);
  CHECK(asymmetry <= 1e-15);
  CHECK(error <= 1e-14);
}

// An object is filled anew by every update().
template <class Space>
void updates() {
  Space const space;
  BoxGrid const grid({3, 2, 2}, {3, 2, 2});
  auto const mask = fixed_face(grid);
  auto const first = stencil_on<Space>(grid, random_values(grid.cell_count(), 33, 0.1, 1), mask);
  auto const second = stencil_on<Space>(grid, random_values(grid.cell_count(), 34, 0.1, 1), mask);
  auto const b = StencilVector<Space>(space, grid, rounded<float>(random_values(grid.dof_count(), 35)));
  auto const solve = [&](detail::DenseInverse<Space> const& dense) {
    StencilVector<Space> const x(space, grid);
    dense.solve(space, b.ref(), x.ref());
    return x.values();
  };
  detail::DenseInverse<Space> fresh(space, second.data, Free{}), dense(space, first.data, Free{});
  fresh.update(space);
  dense.update(space);
  CHECK(solve(dense) != solve(fresh));
  Kokkos::deep_copy(first.blocks, second.blocks);
  Kokkos::deep_copy(first.row_sum, second.row_sum);
  Kokkos::deep_copy(first.diagonal, second.diagonal);
  dense.update(space);
  CHECK(solve(dense) == solve(fresh));
}

}  // namespace

TEMPLATE_TEST_CASE("the coarsest level's inverse is exact on free components", "[multigrid]", BRICKWORK_TEST_SPACES) {
  definite<TestType>(BoxGrid({4, 3, 2}, {4, 3, 2}));
  definite<TestType>(BoxGrid({2, 1, 1}, {2, 1, 1}));
  definite<TestType>(BoxGrid({1, 7, 2}, {1, 7, 2}));
  definite<TestType>(BoxGrid({3, 4, 3}, {3, 4, 3}, {false, true, true}));
}
TEMPLATE_TEST_CASE("the coarsest level's inverse of a floating body works on its range", "[multigrid]",
                   BRICKWORK_TEST_SPACES) {
  singular<TestType>(BoxGrid({1, 1, 1}, {1, 1, 1}));
  singular<TestType>(BoxGrid({4, 3, 2}, {4, 3, 2}));
  singular<TestType>(BoxGrid({3, 4, 2}, {3, 4, 2}, {true, true, true}));
  singular<TestType>(BoxGrid({2, 2, 3}, {2, 2, 3}, {true, true, true}));
}
TEMPLATE_TEST_CASE("free translations leave nothing in the coarsest level's inverse", "[multigrid]",
                   BRICKWORK_TEST_SPACES) {
  for (double const softest : {1.0, 1e-2})
    for (Index3 const& cells : {Index3{3, 3, 3}, Index3{4, 3, 5}, Index3{5, 3, 3}})
      translations<TestType>(BoxGrid(cells, {4, 3, 2}, {true, true, true}), softest);
}
TEMPLATE_TEST_CASE("the coarsest level's matrix is assembled row by row", "[multigrid]", BRICKWORK_TEST_SPACES) {
  assembly<TestType>(BoxGrid({4, 3, 2}, {4, 3, 2}));
  for (Index3 const& cells : {Index3{2, 2, 2}, Index3{2, 3, 5}, Index3{3, 3, 3}, Index3{4, 2, 3}})
    assembly<TestType>(BoxGrid(cells, {1, 1, 1}, {true, true, true}));
  assembly<TestType>(BoxGrid({2, 4, 1}, {2, 4, 1}, {true, false, false}));
}
TEMPLATE_TEST_CASE("the coarsest level's inverse follows its stencil", "[multigrid]", BRICKWORK_TEST_SPACES) {
  updates<TestType>();
}
