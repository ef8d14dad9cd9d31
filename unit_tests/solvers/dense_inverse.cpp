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

// Columns of the inverse, one solve each.
template <class Space>
Eigen::MatrixXd inverse_of(Stencil<Space> const& stencil) {
  Space const space;
  detail::DenseInverse<Space> dense(space, stencil.data);
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
  // The diagonal block is the stored one, which differs from minus the sum of the others by rounding.
  auto const diagonal = to_host(stencil.diagonal);
  int const entry[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
  for (index_t node = 0; node < nodes; ++node)
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e)
        a(node + d * nodes, node + e * nodes) =
            diagonal[static_cast<std::size_t>(entry[d][e] * nodes + node)] * (d == e ? 1 + detail::dense_lift : 1);
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
  CHECK((inverse_of(stencil) - expected).cwiseAbs().maxCoeff() <= 4 * eps * expected.cwiseAbs().maxCoeff());
}

// A floating body: A X A = A, and X b is a solution for every b in the range.
template <class Space>
void singular(BoxGrid const& grid) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
  auto const stencil = stencil_on<Space>(grid, random_values(grid.cell_count(), 32, 1e-2, 1), {});
  Eigen::MatrixXd const a = stencil.dense(), x = inverse_of(stencil);
  // Rigid motions have entries of up to 1 / lift in the inverse, which is kept in FP32.
  CHECK((a * x * a - a).cwiseAbs().maxCoeff() <= eps / detail::dense_lift * a.cwiseAbs().maxCoeff());
  CHECK(x.allFinite());
  // A preconditioner must not turn a residual round.
  Eigen::MatrixXd const symmetric = 0.5 * (x + x.transpose());
  auto const spectrum = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
  CHECK(spectrum.minCoeff() >= -1e-6 * spectrum.maxCoeff());
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
  detail::DenseInverse<Space> fresh(space, second.data), dense(space, first.data);
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
TEMPLATE_TEST_CASE("the coarsest level's inverse follows its stencil", "[multigrid]", BRICKWORK_TEST_SPACES) {
  updates<TestType>();
}
