// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/conjugate_gradient.hpp"

#include <Eigen/Dense>

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

template <class Space>
struct Problem {
  using Memory = typename Space::memory_space;
  BoxGrid grid{{5, 3, 4}, {5, 3, 4}};
  Hex8Matrix stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  std::vector<double> moduli = random_values(60, 21, 1e-3, 1);
  std::vector<std::uint8_t> mask;
  std::vector<double> f;
  std::vector<double> expected;
  Space space;

  // Face x = 0 fixed, one node with prescribed values that are not zero only where constrained.
  Problem() {
    index_t const nodes = grid.node_count();
    mask.assign(static_cast<std::size_t>(nodes), 0);
    f.assign(static_cast<std::size_t>(3 * nodes), 0.0);
    auto const random = random_values(3 * nodes, 22);
    Index3 const m = grid.nodes();
    for (index_t node = 0; node < nodes; ++node) {
      if (node % m[0] == 0) mask[node] = 7;
      for (int d = 0; d < 3; ++d)
        if (!((mask[node] >> d) & 1)) f[node + d * nodes] = random[node + d * nodes];
    }
    auto const size = static_cast<Eigen::Index>(3 * nodes);
    Eigen::MatrixXd k(size, size);
    for (Eigen::Index col = 0; col < size; ++col) {
      std::vector<double> unit(static_cast<std::size_t>(size), 0.0);
      unit[static_cast<std::size_t>(col)] = 1;
      auto const column = reference_apply(grid, stiffness, moduli, mask, unit);
      for (Eigen::Index row = 0; row < size; ++row) k(row, col) = column[static_cast<std::size_t>(row)];
    }
    Eigen::VectorXd const u = k.ldlt().solve(Eigen::Map<Eigen::VectorXd const>(f.data(), size));
    expected.assign(u.data(), u.data() + size);
  }

  template <class Scalar>
  ElasticityOperator<Space, Scalar> make(bool constrained = true) const {
    ElasticityOperator<Space, Scalar> op(Space{}, grid, stiffness);
    op.set_moduli(to_device<CellField<Scalar, Memory>>(space, moduli, grid.cell_count()));
    if (constrained) op.set_constraints(space, to_device<NodeMask<Memory>>(space, mask, grid.node_count()));
    return op;
  }
};

template <class Space, class Outer, class Inner>
void solves(double tolerance, double error) {
  Problem<Space> const p;
  auto const outer = p.template make<Outer>();
  auto const inner = p.template make<Inner>();
  ConjugateGradient<Space, Outer, Inner> cg(p.space, p.grid);
  using vector = NodalVector<Outer, typename Space::memory_space>;
  auto const f = to_device<vector>(p.space, p.f, p.grid.node_count());
  auto const u = allocate<vector>(p.space, "u", p.grid.node_count());
  SolveResult result;
  if constexpr (std::is_same_v<Outer, Inner>) {
    result = cg.solve(p.space, outer, outer, f, u, {tolerance, 2000});
  } else {
    result = cg.solve(p.space, outer, inner, f, u, {tolerance, 2000});
  }
  CHECK(result.converged());
  CHECK(result.true_relative_residual <= tolerance);
  CHECK(max_difference(to_host(u), p.expected) < error * max_abs(p.expected));
  // A second solve starts from the solution and has nothing to do.
  if constexpr (std::is_same_v<Outer, Inner>) {
    CHECK(cg.solve(p.space, outer, outer, f, u, {tolerance, 2000}).iterations == 0);
  } else {
    CHECK(cg.solve(p.space, outer, inner, f, u, {tolerance, 2000}).iterations == 0);
  }
}

template <class Space>
void reports_failure() {
  Problem<Space> const p;
  auto const op = p.template make<double>();
  ConjugateGradient<Space, double, double> cg(p.space, p.grid);
  using vector = NodalVector<double, typename Space::memory_space>;
  auto const f = to_device<vector>(p.space, p.f, p.grid.node_count());
  auto const u = allocate<vector>(p.space, "u", p.grid.node_count());
  auto const capped = cg.solve(p.space, op, op, f, u, {1e-8, 5});
  CHECK(capped.status == SolveStatus::capped);
  CHECK(capped.iterations == 5);
  // The residual that is reported is that of the u that is returned.
  auto const w = reference_apply(p.grid, p.stiffness, p.moduli, p.mask, to_host(u));
  double residual = 0, load = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    residual += (p.f[i] - w[i]) * (p.f[i] - w[i]);
    load += p.f[i] * p.f[i];
  }
  CHECK(capped.true_relative_residual == Approx(std::sqrt(residual / load)).epsilon(1e-8));

  auto const zero = allocate<vector>(p.space, "zero", p.grid.node_count());
  CHECK_THROWS_AS(cg.solve(p.space, op, op, zero, u, {1e-8, 5}), InputError);
  auto bad = p.f;
  bad[p.grid.node_count() - 1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(cg.solve(p.space, op, op, to_device<vector>(p.space, bad, p.grid.node_count()), u, {1e-8, 5}),
                  InputError);
  CHECK_THROWS_AS(cg.solve(p.space, op, op, f, u, {1.5, 5}), InputError);

  // A tolerance below what FP32 can reach ends as a failure, never as converged.
  auto const op32 = p.template make<float>();
  ConjugateGradient<Space, float, float> cg32(p.space, p.grid);
  using vector32 = NodalVector<float, typename Space::memory_space>;
  auto const u32 = allocate<vector32>(p.space, "u", p.grid.node_count());
  auto const floor =
      cg32.solve(p.space, op32, op32, to_device<vector32>(p.space, p.f, p.grid.node_count()), u32, {1e-12, 3000});
  CHECK_FALSE(floor.converged());
  CHECK(floor.true_relative_residual > 1e-12);
}

// A body without supports under loads in balance: the rigid part is projected out.
template <class Space>
void floating_body() {
  Problem<Space> p;
  index_t const nodes = p.grid.node_count();
  auto const op = p.template make<double>(false);
  auto const modes = free_rigid_motions(p.grid, {});
  REQUIRE(modes.size() == 6);
  ConjugateGradient<Space, double, double> cg(p.space, p.grid);
  cg.set_free_modes(modes);
  std::vector<double> f(static_cast<std::size_t>(3 * nodes), 0.0);
  f[p.grid.node_index(0, 0, 0)] = -1;  // opposite forces along their own line
  f[p.grid.node_index(5, 0, 0)] = 1;
  using vector = NodalVector<double, typename Space::memory_space>;
  auto const u = allocate<vector>(p.space, "u", nodes);
  auto const result = cg.solve(p.space, op, op, to_device<vector>(p.space, f, nodes), u, {1e-10, 2000});
  CHECK(result.converged());
  auto const solution = to_host(u);
  auto const image = reference_apply(p.grid, p.stiffness, p.moduli, {}, solution);
  CHECK(max_difference(image, f) < 1e-9);
  for (int d = 0; d < 3; ++d) {
    double sum = 0;
    for (index_t node = 0; node < nodes; ++node) sum += solution[node + d * nodes];
    CHECK(std::abs(sum) < 1e-9 * max_abs(solution) * double(nodes));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("conjugate gradients solve in FP64, FP32 and mixed precision", "", BRICKWORK_TEST_SPACES) {
  solves<TestType, double, double>(1e-10, 1e-8);
  solves<TestType, double, float>(1e-10, 1e-8);
  solves<TestType, float, float>(1e-4, 1e-2);
}
TEMPLATE_TEST_CASE("solves that fail say so", "", BRICKWORK_TEST_SPACES) { reports_failure<TestType>(); }
TEMPLATE_TEST_CASE("a floating body is solved up to its rigid modes", "", BRICKWORK_TEST_SPACES) {
  floating_body<TestType>();
}
