// SPDX-License-Identifier: BSD-3-Clause
// The fused forms of ElasticityOperator (several right-hand sides, dot, residual, relaxation, mixed precision) against
// the plain-loop reference, for kernels that have them in one pass and for kernels that take two.
#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/operators/elasticity_operator.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

std::vector<ElasticityKernel> const kernels{ElasticityKernel::parity, ElasticityKernel::node_gather,
                                            ElasticityKernel::fused_scatter, ElasticityKernel::three_stage};

struct Box {
  Index3 cells;
  std::array<bool, 3> periodic;
  Vec3 lengths;
};

// Odd, thin, periodic, and large enough that the CUDA kernel takes several tiles and both of its shapes.
std::vector<Box> const boxes{
    {{1, 1, 1}, {false, false, false}, {1, 1, 1}},   {{37, 23, 19}, {false, false, false}, {37, 23, 19}},
    {{33, 1, 65}, {false, false, false}, {1, 2, 5}}, {{5, 6, 7}, {true, true, true}, {5, 6, 7}},
    {{61, 8, 3}, {true, false, true}, {61, 8, 3}},   {{2, 4099, 1}, {false, false, false}, {2, 4099, 1}}};

template <class Space, class Scalar>
struct Setup {
  using Memory = typename Space::memory_space;
  using Operator = ElasticityOperator<Space, Scalar>;
  using Vector = typename Operator::vector_type;
  using Block = typename Operator::block_type;

  Space space;
  BoxGrid grid;
  Hex8Matrix stiffness;
  std::vector<double> moduli;
  std::vector<std::uint8_t> mask;
  Operator op;

  Setup(Box const& box, ElasticityKernel kernel, bool masked)
      : grid(box.cells, box.lengths, box.periodic),
        stiffness(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing())),
        moduli(rounded<Scalar>(random_values(grid.cell_count(), 1, 1e-9, 1))),
        op(space, grid, stiffness, kernel) {
    if (masked) {
      mask = random_mask(grid.node_count(), 3);
      mask[0] = 7;
    }
    op.set_moduli(to_device<CellField<Scalar, Memory>>(space, moduli, grid.cell_count()));
    if (masked) op.set_constraints(space, to_device<NodeMask<Memory>>(space, mask, grid.node_count()));
    op.update(space);
  }
  std::vector<double> reference(std::vector<double> const& u) const {
    return reference_apply(grid, stiffness, moduli, mask, u);
  }
  bool fixed(std::size_t dof) const {
    auto const nodes = static_cast<std::size_t>(grid.node_count());
    return !mask.empty() && ((mask[dof % nodes] >> (dof / nodes)) & 1);
  }
  double tolerance() const { return product_tolerance<Scalar>(stiffness); }
  Vector vector(std::vector<double> const& values) const { return to_device<Vector>(space, values, grid.node_count()); }
  std::vector<double> random(unsigned seed) const { return rounded<Scalar>(random_values(grid.dof_count(), seed)); }
  Vector nan() const { return vector(std::vector<double>(static_cast<std::size_t>(grid.dof_count()), std::nan(""))); }
};

// A sum of n products in single precision per product, whatever their order: n u sum|terms| is the bound, its square
// root what occurs; the products' own error comes on top.
template <class Scalar>
double sum_tolerance(std::vector<double> const& a, std::vector<double> const& b, double error_of_b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i]) * (std::abs(b[i]) + 1);
  return (8 * std::numeric_limits<Scalar>::epsilon() + error_of_b) * sum;
}

template <class Space, class Scalar>
void compare_sides(Setup<Space, Scalar>& s, Box const& box, ElasticityKernel kernel, std::size_t sides,
                   std::vector<std::vector<double>> const& values, std::vector<std::vector<double>> const& references) {
  auto const dofs = static_cast<std::size_t>(s.grid.dof_count());
  auto const nodes = static_cast<std::size_t>(s.grid.node_count());

  typename Setup<Space, Scalar>::Block const u("u", nodes, 3, sides), w("w", nodes, 3, sides);
  Kokkos::View<double*, typename Space::memory_space> const dots("dots", sides);
  auto const host_u = Kokkos::create_mirror_view(Kokkos::HostSpace{}, u);
  for (std::size_t side = 0; side < sides; ++side)
    for (std::size_t i = 0; i < dofs; ++i) host_u.data()[side * dofs + i] = static_cast<Scalar>(values[side][i]);
  Kokkos::deep_copy(u, host_u);
  s.op.apply(s.space, u, w);
  auto const product = to_host(w);
  Kokkos::deep_copy(w, Scalar(-1));
  Kokkos::fence();
  s.op.apply_dot(s.space, u, w, dots);
  auto const again = to_host(w);
  auto const sums = to_host(dots);
  for (std::size_t side = 0; side < sides; ++side) {
    auto const& expected = references[side];
    std::vector<double> const one(product.begin() + static_cast<long>(side * dofs),
                                  product.begin() + static_cast<long>((side + 1) * dofs));
    std::vector<double> const other(again.begin() + static_cast<long>(side * dofs),
                                    again.begin() + static_cast<long>((side + 1) * dofs));
    double dot = 0;
    for (std::size_t i = 0; i < dofs; ++i) dot += values[side][i] * expected[i];
    INFO("sides " << sides << ", side " << side << ", kernel " << to_string(kernel) << ", masked " << !s.mask.empty()
                  << ", cells " << box.cells[0] << " x " << box.cells[1] << " x " << box.cells[2]);
    CHECK(max_difference(one, expected) < s.tolerance());
    CHECK(max_difference(other, expected) < s.tolerance());
    CHECK(std::abs(sums[side] - dot) < sum_tolerance<Scalar>(values[side], expected, s.tolerance()));
  }
  if (kernel == ElasticityKernel::parity) {
    s.op.apply_dot(s.space, u, w, dots);
    CHECK(to_host(dots) == sums);  // bit for bit
  }
}

template <class Space, class Scalar>
void sides_and_dots(Box const& box, bool masked, std::vector<ElasticityKernel> const& list, std::size_t most = 7) {
  std::vector<std::vector<double>> values, references;
  for (auto kernel : list) {
    Setup<Space, Scalar> s(box, kernel, masked);
    for (std::size_t side = values.size(); side < most; ++side) {
      values.push_back(s.random(static_cast<unsigned>(20 + side)));
      references.push_back(s.reference(values.back()));
    }
    for (std::size_t sides : {1, 2, 3, 6, 7}) {
      if (sides <= most && (kernel == ElasticityKernel::parity || sides == 3))
        compare_sides<Space, Scalar>(s, box, kernel, sides, values, references);
    }
  }
}
template <class Space, class Scalar>
void residual_and_relaxation(Box const& box, ElasticityKernel kernel, bool masked) {
  Setup<Space, Scalar> s(box, kernel, masked);
  using Memory = typename Space::memory_space;
  auto const u = s.random(30), f = s.random(31), old = s.random(32);
  auto const inverse = rounded<Scalar>(random_values(s.grid.node_count(), 33, 0.5, 2));
  auto const product = s.reference(u);
  std::size_t const dofs = u.size();
  auto const nodes = static_cast<std::size_t>(s.grid.node_count());
  INFO("kernel " << to_string(kernel) << ", masked " << masked << ", cells " << box.cells[0] << " x " << box.cells[1]
                 << " x " << box.cells[2]);

  std::vector<double> expected(dofs);
  double norm = 0;
  for (std::size_t i = 0; i < dofs; ++i) expected[i] = f[i] - product[i], norm += expected[i] * expected[i];
  auto const r = s.nan();
  Kokkos::View<double, Memory> const squared("squared");
  s.op.residual(s.space, s.vector(f), s.vector(u), r);
  CHECK(max_difference(to_host(r), expected) < s.tolerance() + 4 * std::numeric_limits<Scalar>::epsilon());
  auto const r2 = s.nan();
  s.op.residual(s.space, s.vector(f), s.vector(u), r2, squared);
  CHECK(max_difference(to_host(r2), expected) < s.tolerance() + 4 * std::numeric_limits<Scalar>::epsilon());
  CHECK(std::abs(to_host(squared)[0] - norm) < sum_tolerance<Scalar>(expected, expected, 2 * s.tolerance()));

  auto const factors = s.op.diagonal_factors();
  for (double a : {0.0, -0.375}) {
    double const b = 0.75, c = 1.25;
    std::vector<double> result(dofs);
    for (std::size_t i = 0; i < dofs; ++i) {
      double const step = b * inverse[i % nodes] / factors[i / nodes] * (f[i] - product[i]);
      result[i] = s.fixed(i) ? u[i] : c * u[i] + a * old[i] + step;
    }
    double const scale = 2 * b / std::min({factors[0], factors[1], factors[2]});
    double const tolerance = scale * s.tolerance() + 8 * std::numeric_limits<Scalar>::epsilon() * (1 + max_abs(result));
    auto const device_inverse = to_device<CellField<Scalar, Memory>>(s.space, inverse, s.grid.node_count());
    auto const relax = [&](auto const& device_old, auto const& out) {
      s.op.relax(s.space, s.vector(f), s.vector(u), device_inverse, static_cast<Scalar>(c), static_cast<Scalar>(a),
                 device_old, static_cast<Scalar>(b), out);
      CHECK(max_difference(to_host(out), result) < tolerance);
    };
    // With a = 0 the old iterate is not read: it may hold anything.
    relax(a == 0 ? s.nan() : s.vector(old), s.nan());
    if (s.op.kernel() == ElasticityKernel::parity) {
      auto const both = a == 0 ? s.nan() : s.vector(old);
      relax(both, both);
    }
  }
}

// A large translation must not cost digits: what is rounded to FP32 is the variation of u over a tile.
template <class Space>
void mixed(Box const& box, bool masked, double translation) {
  Setup<Space, float> s(box, ElasticityKernel::parity, masked);
  auto const dofs = static_cast<std::size_t>(s.grid.dof_count());
  auto u = random_values(s.grid.dof_count(), 40), f = random_values(s.grid.dof_count(), 41);
  for (std::size_t i = 0; i < dofs; ++i) {
    if (!masked) u[i] += translation;
  }
  auto untranslated = u;
  for (std::size_t i = 0; i < dofs; ++i) {
    if (!masked) untranslated[i] -= translation;
  }
  auto const expected = s.reference(untranslated);
  using Vector = typename Setup<Space, float>::Operator::double_vector_type;
  auto const nodes = s.grid.node_count();
  auto const device_u = to_device<Vector>(s.space, u, nodes), device_f = to_device<Vector>(s.space, f, nodes);
  Vector const w("w", static_cast<std::size_t>(nodes)), r("r", static_cast<std::size_t>(nodes));
  Kokkos::View<double, typename Space::memory_space> const squared("squared");
  s.op.apply_mixed(s.space, device_u, w);
  s.op.residual_mixed(s.space, device_f, device_u, r, squared);
  // Relative to the reference value the entries are at most twice as large.
  CHECK(max_difference(to_host(w), expected) < 2 * s.tolerance() + 1e-15 * translation);
  std::vector<double> residual(dofs);
  double norm = 0;
  for (std::size_t i = 0; i < dofs; ++i) residual[i] = f[i] - expected[i], norm += residual[i] * residual[i];
  CHECK(max_difference(to_host(r), residual) < 2 * s.tolerance() + 1e-15 * translation);
  CHECK(std::abs(to_host(squared)[0] - norm) < sum_tolerance<float>(residual, residual, 4 * s.tolerance()));
}

template <class Space>
void large_box() {
  // More than 2^22 nodes and an even number of tiles: the CUDA kernel's wide shape.
  Box const box{{177, 165, 150}, {false, false, false}, {177, 165, 150}};
  for (bool masked : {false, true}) {
    sides_and_dots<Space, float>(box, masked, {ElasticityKernel::parity}, 2);
    residual_and_relaxation<Space, float>(box, ElasticityKernel::parity, masked);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("several right-hand sides and dots equal the reference", "", BRICKWORK_TEST_SPACES) {
  for (auto const& box : boxes)
    for (bool masked : {false, true}) {
      sides_and_dots<TestType, float>(box, masked, kernels);
      sides_and_dots<TestType, double>(box, masked, kernels);
    }
}

TEMPLATE_TEST_CASE("residual and relaxation equal the reference", "", BRICKWORK_TEST_SPACES) {
  for (auto const& box : boxes)
    for (auto kernel : kernels)
      for (bool masked : {false, true}) {
        residual_and_relaxation<TestType, float>(box, kernel, masked);
        residual_and_relaxation<TestType, double>(box, kernel, masked);
      }
}

TEMPLATE_TEST_CASE("FP32 products of FP64 vectors keep their digits under a translation", "", BRICKWORK_TEST_SPACES) {
  for (auto const& box : boxes)
    for (double translation : {0.0, 1e6}) {
      mixed<TestType>(box, false, translation);
      mixed<TestType>(box, true, 0);
    }
}

#if defined(KOKKOS_ENABLE_CUDA)
TEMPLATE_TEST_CASE("fused forms on a box that takes the wide shape", "", BRICKWORK_TEST_SPACES) {
  large_box<TestType>();
}
#endif

TEST_CASE("fused forms refuse operands that do not fit") {
  using Space = Kokkos::DefaultExecutionSpace;
  using Memory = Space::memory_space;
  Setup<Space, float> s({{2, 2, 2}, {false, false, false}, {1, 1, 1}}, ElasticityKernel::parity, false);
  Setup<Space, double> d({{2, 2, 2}, {false, false, false}, {1, 1, 1}}, ElasticityKernel::parity, false);
  Setup<Space, float> g({{2, 2, 2}, {false, false, false}, {1, 1, 1}}, ElasticityKernel::node_gather, false);
  NodalVector<float, Memory> const u("u", 27), w("w", 27), v("v", 27);
  NodalVector<double, Memory> const du("du", 27), dw("dw", 27);
  CellField<float, Memory> const inverse("inverse", 27), wrong("wrong", 8);
  Setup<Space, float>::Block const two("two", 27, 3, 2), three("three", 27, 3, 3), flat("flat", 27, 2, 2);
  Kokkos::View<double*, Memory> const sums("sums", 3);
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(s.op.apply(s.space, two, three), Contains("3") && Contains("2"));
  CHECK_THROWS_AS(s.op.apply(s.space, flat, flat), InputError);
  CHECK_THROWS_WITH(s.op.apply_dot(s.space, two, two, sums), Contains("3 sums for 2"));
  CHECK_THROWS_WITH(s.op.relax(s.space, w, u, inverse, 1, 0, v, 1, u), Contains("result is u"));
  CHECK_THROWS_WITH(s.op.relax(s.space, w, u, wrong, 1, 0, v, 1, v), Contains("inverse") && Contains("8"));
  CHECK_THROWS_WITH(d.op.apply_mixed(s.space, du, dw), Contains("double"));
  CHECK_THROWS_WITH(g.op.apply_mixed(s.space, du, dw), Contains("node_gather"));
}
