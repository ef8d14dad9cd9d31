// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/detail/block_stencil.hpp"

#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/galerkin_reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr double eps = std::numeric_limits<float>::epsilon();

struct Case {
  BoxGrid grid;
  Factors factor;
};

std::vector<Case> cases() {
  return {
      {BoxGrid({5, 3, 4}, {5, 3, 4}), {2, 2, 2}},
      {BoxGrid({5, 4, 3}, {10, 4, 3.9}), {1, 2, 2}},
      {BoxGrid({4, 3, 3}, {4, 6, 6}), {2, 1, 1}},
      {BoxGrid({7, 1, 2}, {7, 1, 2}), {2, 1, 2}},
      {BoxGrid({1, 9, 1}, {1, 9, 1}), {1, 2, 1}},
      {BoxGrid({2, 1, 1}, {2, 1, 1}), {1, 1, 1}},
      {BoxGrid({4, 4, 2}, {4, 4, 2}, {true, true, true}), {2, 2, 1}},
      {BoxGrid({4, 3, 5}, {4, 3, 5}, {true, false, false}), {2, 2, 2}},
      {BoxGrid({6, 2, 4}, {6, 2, 4}, {false, true, true}), {2, 1, 2}},
      // Periodic axes of odd length, whose last coarse cell holds one layer of cells
      {BoxGrid({5, 5, 5}, {5, 5, 5}, {true, true, true}), {2, 2, 2}},
      {BoxGrid({7, 3, 4}, {7, 3, 4.8}, {true, true, true}), {2, 1, 2}},
      {BoxGrid({9, 2, 5}, {9, 2, 5}, {true, true, true}), {2, 1, 2}},
      {BoxGrid({3, 5, 6}, {6, 5, 6}, {true, true, true}), {1, 2, 2}},
      {BoxGrid({5, 1, 7}, {5, 1, 7}, {true, false, true}), {2, 1, 2}},
      {BoxGrid({3, 7, 2}, {3, 7, 2}, {false, true, false}), {2, 2, 2}},
  };
}

Hex8Matrix stiffness_of(BoxGrid const& grid) {
  return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
}

Eigen::MatrixXd galerkin(Eigen::MatrixXd const& a, Eigen::MatrixXd const& p) { return p.transpose() * a * p; }

// The largest error relative to what is allowed. Entries of a sum of positive semidefinite parts are bounded by
// sqrt(a_ii a_jj), and so is the sum of the parts' absolute values: rounding of a few hundred terms in FP32 stays
// within a multiple of that. `absolute` holds the absolute values that the difference form adds. Rows without stiffness
// must be exact.
double worst_error(Eigen::MatrixXd const& a, Eigen::MatrixXd const& expected, Eigen::MatrixXd const& absolute) {
  double worst = 0;
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      double const scale = std::sqrt(std::max(0.0, expected(i, i)) * std::max(0.0, expected(j, j)));
      double const allowed = expected(i, i) == 0 ? 0 : 100 * eps * (scale + absolute(i, j));
      double const error = std::abs(a(i, j) - expected(i, j));
      if (!(error <= allowed))
        worst = std::max(worst, allowed > 0 && std::isfinite(error) ? error / allowed : INFINITY);
    }
  return worst;
}

// The diagonal block and its inverse, both of them zero where a component has no stiffness.
template <class Space>
void check_diagonal(Stencil<Space> const& stencil, Eigen::MatrixXd const& expected, bool well_conditioned) {
  index_t const nodes = stencil.grid.node_count();
  auto const diagonal = to_host(stencil.diagonal), inverse = to_host(stencil.inverse);
  int const entry[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
  double worst = 0, worst_inverse = 0;
  for (index_t node = 0; node < nodes; ++node) {
    Eigen::Matrix3d block, stored, inverted, identity = Eigen::Matrix3d::Zero();
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e) {
        block(d, e) = expected(node + d * nodes, node + e * nodes);
        stored(d, e) = diagonal[static_cast<std::size_t>(entry[d][e] * nodes + node)];
        inverted(d, e) = inverse[static_cast<std::size_t>(entry[d][e] * nodes + node)];
      }
    for (int d = 0; d < 3; ++d) {
      if (block(d, d) > 0) identity(d, d) = 1;
      for (int e = 0; e < 3; ++e) {
        double const scale = 100 * eps * std::sqrt(block(d, d) * block(e, e));
        double const error = std::abs(stored(d, e) - block(d, e));
        worst = std::max(worst, scale > 0 ? error / scale : (error > 0 ? INFINITY : 0));
        if (block(d, d) == 0 || block(e, e) == 0) worst = std::max(worst, inverted(d, e) == 0 ? 0.0 : INFINITY);
      }
    }
    worst_inverse = std::max(worst_inverse, (inverted * block - identity).cwiseAbs().maxCoeff());
  }
  CHECK(worst <= 1);
  if (well_conditioned) CHECK(worst_inverse <= 100 * eps);
}

// One component of one node between coarse nodes, and the coarse constraints as if it were lost.
std::vector<std::uint8_t> single_component(BoxGrid const& grid) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(grid.node_count()), 0);
  Index3 const n = grid.cells();
  mask[static_cast<std::size_t>(grid.node_index(n[0] > 1 ? 1 : 0, n[1] > 1 ? 1 : 0, n[2] > 1 ? 1 : 0))] = 2;
  return mask;
}

enum class Supports { none, single, random };

template <class Space>
void galerkin_products(Supports supports, bool graded) {
  Space const space;
  unsigned seed = 300;
  for (Case const& c : cases()) {
    CAPTURE(c.grid.cells()[0], c.grid.cells()[1], c.grid.cells()[2], static_cast<int>(supports), graded);
    ++seed;
    BoxGrid const coarse = coarsened(c.grid, c.factor);
    auto const stiffness = stiffness_of(c.grid);
    auto const moduli = graded ? log_uniform_moduli(c.grid.cell_count(), seed)
                               : std::vector<double>(static_cast<std::size_t>(c.grid.cell_count()), 1.0);
    std::vector<std::uint8_t> mask, coarse_mask;
    if (supports == Supports::single) {
      mask = single_component(c.grid);
      coarse_mask.assign(static_cast<std::size_t>(coarse.node_count()), 0);
    } else if (supports == Supports::random) {
      mask = random_mask(c.grid.node_count(), seed + 50);
      coarse_mask = random_mask(coarse.node_count(), seed + 51);
    }
    auto const p = dense_prolongation(c.grid, mask, coarse, coarse_mask, c.factor);
    auto const expected = galerkin(dense_stiffness(c.grid, stiffness, moduli, mask), p);
    auto const check = [](Stencil<Space> const& stencil, Eigen::MatrixXd const& reference) {
      CHECK(worst_error(stencil.dense(), reference, stencil.dense(true)) <= 1);
    };
    auto const stencil = stencil_of_cells(space, c.grid, stiffness, moduli, mask, coarse_mask, c.factor);
    check(stencil, expected);
    check_diagonal(stencil, expected, !graded && supports == Supports::none);

    // One level further down. The reference is what the finer stencil stands for, rounded as it is.
    Factors next = {1, 1, 1};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      index_t const n = coarse.cells()[axis];
      if (n >= (coarse.periodic()[axis] ? 4 : 2)) next[axis] = 2;
    }
    BoxGrid const coarsest = coarsened(coarse, next);
    std::vector<std::uint8_t> coarsest_mask;
    if (supports == Supports::single) coarsest_mask.assign(static_cast<std::size_t>(coarsest.node_count()), 0);
    if (supports == Supports::random) coarsest_mask = random_mask(coarsest.node_count(), seed + 52);
    auto const q = dense_prolongation(coarse, coarse_mask, coarsest, coarsest_mask, next);
    check(stencil_of_stencil(space, stencil, coarsest_mask, next), galerkin(stencil.dense(), q));
  }
}

// A = difference form: a translation gives exact zeros wherever no constraint is near.
template <class Space>
void translations() {
  Space const space;
  BoxGrid const fine({18, 6, 5}, {18, 6, 5});
  Factors const factor{2, 2, 2};
  BoxGrid const coarse = coarsened(fine, factor);
  auto const stiffness = stiffness_of(fine);
  auto const moduli = log_uniform_moduli(fine.cell_count(), 77);
  // The face x = 0 is fixed.
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(fine.node_count()), 0);
  std::vector<std::uint8_t> coarse_mask(static_cast<std::size_t>(coarse.node_count()), 0);
  for (std::size_t node = 0; node < mask.size(); node += static_cast<std::size_t>(fine.nodes()[0])) mask[node] = 7;
  for (std::size_t node = 0; node < coarse_mask.size(); node += static_cast<std::size_t>(coarse.nodes()[0]))
    coarse_mask[node] = 7;
  auto const check = [&](Stencil<Space> const& stencil, index_t first_free) {
    index_t const nodes = stencil.grid.node_count(), mx = stencil.grid.nodes()[0];
    std::vector<double> shift(static_cast<std::size_t>(3 * nodes));
    for (std::size_t i = 0; i < shift.size(); ++i) shift[i] = i < static_cast<std::size_t>(nodes) ? 1234.567 : -0.03125;
    StencilVector<Space> const x(space, stencil.grid, shift), w(space, stencil.grid);
    detail::apply_stencil("test", space, stencil.data, x.ref(), detail::StencilProduct{w.ref()});
    auto const product = w.values();
    int wrong = 0, held = 0;
    for (index_t i = 0; i < 3 * nodes; ++i) {
      bool const near = i % nodes % mx < first_free;
      if (!near && product[static_cast<std::size_t>(i)] != 0) ++wrong;
      if (near && product[static_cast<std::size_t>(i)] != 0) ++held;
    }
    CHECK(wrong == 0);
    CHECK(held > 0);
  };
  auto const stencil = stencil_of_cells(space, fine, stiffness, moduli, mask, coarse_mask, factor);
  check(stencil, 2);
  std::vector<std::uint8_t> const free(static_cast<std::size_t>(coarsened(coarse, factor).node_count()), 0);
  check(stencil_of_stencil(space, stencil, free, factor), 2);
}

// Every epilogue against plain loops over the same entries.
template <class Space>
void epilogues(BoxGrid const& grid) {
  CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
  Space const space;
  auto const moduli = random_values(grid.cell_count(), 91, 0.1, 1);
  auto const mask = random_mask(grid.node_count(), 92);
  auto const stencil = stencil_of_cells(space, grid, stiffness_of(grid), moduli, mask, mask, {1, 1, 1});
  index_t const nodes = grid.node_count();
  auto const size = static_cast<std::size_t>(3 * nodes);
  auto const values = [&](unsigned seed) { return rounded<float>(random_values(3 * nodes, seed)); };
  auto const x = values(1), f = values(2), old = values(3), v = values(4);
  using Vector = Eigen::VectorXd;
  auto const vector = [&](std::vector<double> const& a) -> Vector {
    return Eigen::Map<Vector const>(a.data(), static_cast<Eigen::Index>(size));
  };
  Vector const product = stencil.dense() * vector(x);
  // The largest sum of absolute terms bounds what FP32 loses.
  Vector const terms = stencil.dense(true) * vector(x).cwiseAbs();
  double const scale = terms.maxCoeff();
  double const tolerance = 32 * eps * scale;
  // D^-1 and D as they are stored.
  auto const diagonal = to_host(stencil.diagonal), inverse = to_host(stencil.inverse);
  auto const blocks = [&](std::vector<double> const& stored, Vector const& a) {
    int const entry[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
    Vector b = Vector::Zero(3 * nodes);
    for (index_t node = 0; node < nodes; ++node)
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e)
          b(node + d * nodes) += stored[static_cast<std::size_t>(entry[d][e] * nodes + node)] * a(node + e * nodes);
    return b;
  };
  double const inverse_size = max_abs(inverse);
  auto const matches = [&](StencilVector<Space> const& result, Vector const& expected, double allowed) {
    CHECK((vector(result.values()) - expected).cwiseAbs().maxCoeff() <= allowed);
    CHECK(result.margins_are_zero());
  };
  auto const at = [&](std::vector<double> const& a) { return StencilVector<Space>(space, grid, a); };
  auto const dx = at(x), df = at(f), dv = at(v);
  detail::StencilData const& data = stencil.data;
  SumWorkspace<Space> const workspace(space);
  Kokkos::View<double*, typename Space::memory_space> const sums("sums", 3);

  auto const w = at({});
  detail::apply_stencil("test", space, data, dx.ref(), detail::StencilProduct{w.ref()});
  matches(w, product, tolerance);

  auto const r = at({});
  detail::apply_stencil("test", space, data, dx.ref(), detail::StencilResidual{df.ref(), r.ref()});
  matches(r, vector(f) - product, tolerance);

  // result = s x + a old + b D^-1 (f - A x)
  Vector const correction = blocks(inverse, vector(f) - product);
  double const allowed = 32 * eps * 3 * inverse_size * (scale + 1) + 32 * eps;
  auto const first = at(old);  // holds anything
  detail::apply_stencil(
      "test", space, data, dx.ref(),
      detail::StencilRelaxation<true>{df.ref(), {}, first.ref(), data.inverse, data.nodes, 1, 0, 1.5f});
  matches(first, vector(x) + 1.5 * correction, allowed);
  auto const aside = at({}), was = at(old), in_place = at(old);
  Vector const relaxed = 1.25 * vector(x) - 0.25 * vector(old) + 1.5 * correction;
  detail::apply_stencil("test", space, data, dx.ref(),
                        detail::StencilRelaxation<false>{df.ref(), was.ref(), aside.ref(), data.inverse, data.nodes,
                                                         1.25f, -0.25f, 1.5f});
  matches(aside, relaxed, allowed);
  detail::apply_stencil("test", space, data, dx.ref(),
                        detail::StencilRelaxation<false>{df.ref(), in_place.ref(), in_place.ref(), data.inverse,
                                                         data.nodes, 1.25f, -0.25f, 1.5f});
  matches(in_place, relaxed, allowed);

  auto const summed = [&](int n) {
    auto const host = to_host(sums);
    return host[static_cast<std::size_t>(n)];
  };
  double const sum_tolerance = tolerance * vector(x).cwiseAbs().sum();
  auto const w2 = at({});
  detail::apply_stencil("test", space, data, dx.ref(), detail::StencilProductDots{df.ref(), w2.ref()}, workspace,
                        StoreSums<2>{sums.data()});
  matches(w2, product, tolerance);
  CHECK(std::abs(summed(0) - vector(x).dot(product)) <= sum_tolerance);
  CHECK(std::abs(summed(1) - vector(x).dot(vector(f))) <= sum_tolerance);

  detail::apply_stencil("test", space, data, dx.ref(), detail::StencilDots{df.ref(), dv.ref()}, workspace,
                        StoreSums<3>{sums.data()});
  CHECK(std::abs(summed(0) - vector(x).dot(product)) <= sum_tolerance);
  CHECK(std::abs(summed(1) - vector(x).dot(vector(v))) <= sum_tolerance);
  CHECK(std::abs(summed(2) - vector(x).dot(vector(f))) <= sum_tolerance);

  auto const power = at({});
  detail::apply_stencil("test", space, data, dx.ref(),
                        detail::StencilPower{power.ref(), data.diagonal, data.inverse, data.nodes}, workspace,
                        StoreSums<2>{sums.data()});
  matches(power, blocks(inverse, product), allowed);
  CHECK(std::abs(summed(0) - vector(x).dot(product)) <= sum_tolerance);
  CHECK(std::abs(summed(1) - vector(x).dot(blocks(diagonal, vector(x)))) <= sum_tolerance);
  // The sums do not depend on the run.
  double const before = summed(0);
  detail::apply_stencil("test", space, data, dx.ref(),
                        detail::StencilPower{power.ref(), data.diagonal, data.inverse, data.nodes}, workspace,
                        StoreSums<2>{sums.data()});
  CHECK(summed(0) == before);
}

}  // namespace

TEMPLATE_TEST_CASE("stencils are the Galerkin products of cells and of stencils", "[stencil]", BRICKWORK_TEST_SPACES) {
  for (bool const graded : {false, true}) galerkin_products<TestType>(Supports::none, graded);
}
TEMPLATE_TEST_CASE("stencils leave out constrained components", "[stencil]", BRICKWORK_TEST_SPACES) {
  for (bool const graded : {false, true}) {
    galerkin_products<TestType>(Supports::single, graded);
    galerkin_products<TestType>(Supports::random, graded);
  }
}
TEMPLATE_TEST_CASE("translations are in the null space of a stencil exactly", "[stencil]", BRICKWORK_TEST_SPACES) {
  translations<TestType>();
}
TEMPLATE_TEST_CASE("products of stencils with all that follows them", "[stencil]", BRICKWORK_TEST_SPACES) {
  epilogues<TestType>(BoxGrid({8, 6, 4}, {8, 6, 4}));
  epilogues<TestType>(BoxGrid({1, 6, 2}, {1, 6, 2}));
  epilogues<TestType>(BoxGrid({2, 5, 4}, {2, 5, 4}, {true, false, true}));
  for (Index3 const& cells : {Index3{2, 2, 2}, Index3{2, 3, 5}, Index3{3, 3, 3}})
    epilogues<TestType>(BoxGrid(cells, {1, 1, 1}, {true, true, true}));
}
