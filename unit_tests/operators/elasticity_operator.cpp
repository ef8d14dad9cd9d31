// SPDX-License-Identifier: BSD-3-Clause
// Every kernel of ElasticityOperator against a plain-loop reference, on odd, thin, long and periodic boxes.
#include "brickwork/operators/elasticity_operator.hpp"

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

struct Case {
  Index3 cells;
  std::array<bool, 3> periodic;
};

std::vector<Case> const cases{
    {{1, 1, 1}, {false, false, false}},   {{1, 7, 1}, {false, false, false}},  {{37, 23, 19}, {false, false, false}},
    {{33, 1, 65}, {false, false, false}}, {{64, 9, 8}, {false, false, false}}, {{5, 6, 7}, {true, true, true}},
    {{31, 4, 33}, {true, false, false}},  {{2, 2, 2}, {true, true, true}},     {{2, 3, 5}, {true, true, true}},
    {{3, 3, 3}, {true, true, true}},      {{65, 2, 33}, {true, true, true}},   {{3, 36, 5}, {true, true, true}},
    {{3, 40, 2}, {false, true, false}},   {{130, 3, 17}, {false, false, true}}};

// Every kernel that gives the product to the precision of the vectors; those that round to BF16 have tests of their
// own.
template <class Scalar>
std::vector<ElasticityKernel> kernels() {
  std::vector<ElasticityKernel> list;
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  for (auto kernel : elasticity_kernels()) {
    if (rounds_to_bf16(kernel)) continue;
    try {
      select_elasticity_kernel(kernel, stiffness, sizeof(Scalar));
    } catch (InputError const&) {
      continue;  // the other precision, or no Kokkos Kernels
    }
    list.push_back(kernel);
  }
  return list;
}

bool repeatable(ElasticityKernel kernel) {
  return kernel == ElasticityKernel::parity || kernel == ElasticityKernel::node_gather ||
         kernel == ElasticityKernel::assembled;
}

template <class Space, class Scalar>
void compare(Case const& test, Hex8Matrix const& stiffness, bool masked) {
  using Operator = ElasticityOperator<Space, Scalar>;
  BoxGrid const grid(test.cells, {1, 2, 5}, test.periodic);
  Space const space;
  auto const moduli = rounded<Scalar>(random_values(grid.cell_count(), 1, 1e-9, 1));
  auto const u = rounded<Scalar>(random_values(grid.dof_count(), 2));
  auto const mask = masked ? random_mask(grid.node_count(), 3) : std::vector<std::uint8_t>{};
  auto const expected = reference_apply(grid, stiffness, moduli, mask, u);
  auto const device_moduli =
      to_device<CellField<Scalar, typename Space::memory_space>>(space, moduli, grid.cell_count());
  auto const device_u = to_device<typename Operator::vector_type>(space, u, grid.node_count());
  for (auto kernel : kernels<Scalar>()) {
    Operator op(space, grid, stiffness, kernel);
    op.set_moduli(device_moduli);
    if (masked) {
      op.set_constraints(space, to_device<NodeMask<typename Space::memory_space>>(space, mask, grid.node_count()));
    }
    auto const w = to_device<typename Operator::vector_type>(
        space, std::vector<double>(u.size(), std::numeric_limits<double>::quiet_NaN()), grid.node_count());
    op.update(space);
    op.apply(space, device_u, w);
    INFO("cells " << test.cells[0] << " x " << test.cells[1] << " x " << test.cells[2] << ", periodic "
                  << test.periodic[0] << test.periodic[1] << test.periodic[2] << ", kernel " << to_string(kernel)
                  << ", masked " << masked);
    auto const result = to_host(w);
    CHECK(max_difference(result, expected) < product_tolerance<Scalar>(stiffness));
    bool exact = true;
    for (index_t node = 0; masked && node < grid.node_count(); ++node)
      for (int d = 0; d < 3; ++d)
        if ((mask[node] >> d) & 1)
          exact = exact && result[node + d * grid.node_count()] == u[node + d * grid.node_count()];
    CHECK(exact);
  }
}

template <class Space, class Scalar>
void compare_all() {
  for (double nu : {0.0, 0.3, 0.45, 0.499}) {
    auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, nu}), {1, 2, 5});
    for (auto const& test : cases)
      for (bool masked : {false, true}) compare<Space, Scalar>(test, stiffness, masked);
  }
}

template <class Space>
void orthotropic() {
  OrthotropicMaterial material;
  material.young = {3, 1, 2};
  material.shear = {0.4, 0.7, 0.2};
  material.nu_xy = 0.2, material.nu_xz = 0.1, material.nu_yz = 0.25;
  auto const stiffness = hex8_stiffness(elasticity_matrix(material), {0.5, 1, 0.75});
  compare<Space, double>({{13, 11, 9}, {false, false, false}}, stiffness, true);
}

template <class Space>
void long_box() {
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  for (Index3 cells : {Index3{2, 131072, 1}, Index3{1, 2, 131072}, Index3{131072, 1, 2}}) {
    compare<Space, float>({cells, {false, false, false}}, stiffness, false);
    compare<Space, double>({cells, {false, false, false}}, stiffness, true);
  }
}

template <class Space>
void rigid_and_patch() {
  using Operator = ElasticityOperator<Space, double>;
  BoxGrid const grid({7, 5, 3}, {1.4, 2.0, 3.0});
  Vec3 const h = grid.spacing();
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), h);
  Space const space;
  index_t const nodes = grid.node_count();
  for (auto kernel : kernels<double>()) {
    Operator op(space, grid, stiffness, kernel);
    auto const random = random_values(grid.cell_count(), 5, 0.1, 1);
    auto const uniform = std::vector<double>(random.size(), 1.0);
    for (int mode = 0; mode < 12; ++mode) {
      // Modes 0-5 are rigid; 6-11 are the unit strains, whose internal forces vanish at interior nodes of a uniform
      // body.
      auto const& moduli = mode < 6 ? random : uniform;
      op.set_moduli(to_device<CellField<double, typename Space::memory_space>>(space, moduli, grid.cell_count()));
      op.update(space);
      std::vector<double> u(static_cast<std::size_t>(3 * nodes), 0.0);
      Index3 const m = grid.nodes();
      for (index_t k = 0; k < m[2]; ++k)
        for (index_t j = 0; j < m[1]; ++j)
          for (index_t i = 0; i < m[0]; ++i) {
            double const x[3] = {h[0] * double(i), h[1] * double(j), h[2] * double(k)};
            index_t const node = grid.node_index(i, j, k);
            if (mode < 3) {
              u[node + mode * nodes] = 1;
            } else {
              int const axis = mode % 3;
              int const b = (axis + 1) % 3, c = (axis + 2) % 3;
              if (mode < 6) u[node + b * nodes] = -x[c], u[node + c * nodes] = x[b];
              if (mode >= 6 && mode < 9) u[node + axis * nodes] = x[axis];
              if (mode >= 9) u[node + b * nodes] = 0.5 * x[c], u[node + c * nodes] = 0.5 * x[b];
            }
          }
      auto const w = allocate<typename Operator::vector_type>(space, "w", nodes);
      op.apply(space, to_device<typename Operator::vector_type>(space, u, nodes), w);
      auto const result = to_host(w);
      double largest = 0;
      for (index_t k = 0; k < m[2]; ++k)
        for (index_t j = 0; j < m[1]; ++j)
          for (index_t i = 0; i < m[0]; ++i) {
            bool const inner = i > 0 && j > 0 && k > 0 && i < m[0] - 1 && j < m[1] - 1 && k < m[2] - 1;
            if (mode >= 6 && !inner) continue;
            for (int d = 0; d < 3; ++d)
              largest = std::max(largest, std::abs(result[grid.node_index(i, j, k) + d * nodes]));
          }
      INFO("kernel " << to_string(kernel) << ", mode " << mode);
      CHECK(largest < 1e-13);
    }
  }
}

template <class Space, class Scalar>
void symmetric_and_repeatable() {
  using Operator = ElasticityOperator<Space, Scalar>;
  BoxGrid const grid({19, 37, 11}, {1, 1, 1});
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  Space const space;
  index_t const nodes = grid.node_count();
  auto const a = rounded<Scalar>(random_values(grid.dof_count(), 7));
  auto const b = rounded<Scalar>(random_values(grid.dof_count(), 8));
  for (auto kernel : kernels<Scalar>()) {
    Operator op(space, grid, stiffness, kernel);
    op.set_moduli(to_device<CellField<Scalar, typename Space::memory_space>>(
        space, random_values(grid.cell_count(), 9, 1e-9, 1), grid.cell_count()));
    op.set_constraints(space, to_device<NodeMask<typename Space::memory_space>>(space, random_mask(nodes, 10), nodes));
    op.update(space);
    auto const wa = allocate<typename Operator::vector_type>(space, "wa", nodes);
    auto const wb = allocate<typename Operator::vector_type>(space, "wb", nodes);
    op.apply(space, to_device<typename Operator::vector_type>(space, a, nodes), wa);
    op.apply(space, to_device<typename Operator::vector_type>(space, b, nodes), wb);
    auto const ka = to_host(wa), kb = to_host(wb);
    double ab = 0, ba = 0, scale = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab += a[i] * kb[i];
      ba += b[i] * ka[i];
      scale += std::abs(a[i] * kb[i]);
    }
    INFO("kernel " << to_string(kernel));
    CHECK(std::abs(ab - ba) < 4 * std::numeric_limits<Scalar>::epsilon() * scale);
    if (!repeatable(kernel)) continue;
    op.apply(space, to_device<typename Operator::vector_type>(space, a, nodes), wb);
    CHECK(to_host(wb) == ka);
  }
}

template <class Space>
void diagonal_matches() {
  using Operator = ElasticityOperator<Space, double>;
  BoxGrid const grid({3, 4, 2}, {1, 2, 3});
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
  Space const space;
  index_t const nodes = grid.node_count();
  auto const moduli = random_values(grid.cell_count(), 11, 0.1, 1);
  auto const mask = random_mask(nodes, 12);
  Operator op(space, grid, stiffness);
  op.set_moduli(to_device<CellField<double, typename Space::memory_space>>(space, moduli, grid.cell_count()));
  op.set_constraints(space, to_device<NodeMask<typename Space::memory_space>>(space, mask, nodes));
  op.update(space);
  auto const diagonal = allocate<typename Operator::vector_type>(space, "diagonal", nodes);
  auto const sums = allocate<CellField<double, typename Space::memory_space>>(space, "sums", nodes);
  op.diagonal(space, diagonal);
  op.nodal_moduli(space, sums);
  auto const d = to_host(diagonal);
  auto const s = to_host(sums);
  auto const factors = op.diagonal_factors();
  for (index_t row = 0; row < 3 * nodes; ++row) {
    std::vector<double> unit(static_cast<std::size_t>(3 * nodes), 0.0);
    unit[row] = 1;
    double const expected = reference_apply(grid, stiffness, moduli, mask, unit)[row];
    CHECK(d[row] == Approx(expected).epsilon(1e-13));
    if (!((mask[row % nodes] >> (row / nodes)) & 1))
      CHECK(s[row % nodes] * factors[row / nodes] == Approx(expected).epsilon(1e-13));
  }
}

template <class Space>
void energies_match() {
  using Operator = ElasticityOperator<Space, double>;
  BoxGrid const grid({6, 3, 5}, {1, 2, 3}, {true, false, false});
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
  Space const space;
  index_t const nodes = grid.node_count();
  auto const u = random_values(grid.dof_count(), 13);
  Operator op(space, grid, stiffness);
  op.set_moduli(to_device<CellField<double, typename Space::memory_space>>(
      space, std::vector<double>(static_cast<std::size_t>(grid.cell_count()), 0.5), grid.cell_count()));
  auto const energies = allocate<CellField<double, typename Space::memory_space>>(space, "energies", grid.cell_count());
  auto const device_u = to_device<typename Operator::vector_type>(space, u, nodes);
  op.accumulate_cell_energies(space, device_u, 0.75, false, energies);
  op.accumulate_cell_energies(space, device_u, 0.25, true, energies);
  auto const result = to_host(energies);
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        auto const corner = cell_nodes(grid, i, j, k);
        double expected = 0;
        for (int a = 0; a < 24; ++a)
          for (int b = 0; b < 24; ++b)
            expected += u[corner[a / 3] + (a % 3) * nodes] * stiffness[a][b] * u[corner[b / 3] + (b % 3) * nodes];
        CHECK(result[grid.cell_index(i, j, k)] == Approx(expected).epsilon(1e-12));
      }
}

}  // namespace

TEMPLATE_TEST_CASE("kernels equal the reference in FP64", "", BRICKWORK_TEST_SPACES) {
  compare_all<TestType, double>();
}
TEMPLATE_TEST_CASE("kernels equal the reference in FP32", "", BRICKWORK_TEST_SPACES) { compare_all<TestType, float>(); }
TEMPLATE_TEST_CASE("kernels take an orthotropic material", "", BRICKWORK_TEST_SPACES) { orthotropic<TestType>(); }
TEMPLATE_TEST_CASE("kernels run on boxes longer than a launch dimension", "", BRICKWORK_TEST_SPACES) {
  long_box<TestType>();
}
TEMPLATE_TEST_CASE("rigid modes give no force and the patch test is exact", "", BRICKWORK_TEST_SPACES) {
  rigid_and_patch<TestType>();
}
TEMPLATE_TEST_CASE("kernels are symmetric and the gathering ones repeatable", "", BRICKWORK_TEST_SPACES) {
  symmetric_and_repeatable<TestType, double>();
  symmetric_and_repeatable<TestType, float>();
}
TEMPLATE_TEST_CASE("the diagonal is exact", "", BRICKWORK_TEST_SPACES) { diagonal_matches<TestType>(); }
TEMPLATE_TEST_CASE("cell energies equal the quadratic form", "", BRICKWORK_TEST_SPACES) { energies_match<TestType>(); }

TEST_CASE("kernel selection refuses what cannot run and says why") {
  auto stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  CHECK(select_elasticity_kernel(ElasticityKernel::automatic, stiffness, 8) == ElasticityKernel::parity);
  stiffness[0][7] += 0.1;
  CHECK(select_elasticity_kernel(ElasticityKernel::automatic, stiffness, 8) == ElasticityKernel::node_gather);
  CHECK_THROWS_WITH(select_elasticity_kernel(ElasticityKernel::parity, stiffness, 4),
                    Catch::Matchers::Contains("node_gather"));
  CHECK_THROWS_AS(elasticity_kernel_from_string("warp"), InputError);
  CHECK_THROWS_WITH(select_elasticity_kernel(ElasticityKernel::fused_wmma, stiffness, 8),
                    Catch::Matchers::Contains("BF16") && Catch::Matchers::Contains("single"));
  CHECK_THROWS_WITH(select_elasticity_kernel(ElasticityKernel::fused_mma_fp64, stiffness, 4),
                    Catch::Matchers::Contains("double"));
  for (auto kernel : elasticity_kernels()) CHECK(elasticity_kernel_from_string(to_string(kernel)) == kernel);
}

TEST_CASE("wrong extents are refused with both numbers") {
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  BoxGrid const grid({2, 2, 2}, {1, 1, 1});
  ElasticityOperator<Space, double> op(space, grid, hex8_stiffness(elasticity_matrix(IsotropicMaterial{}), {1, 1, 1}));
  CHECK_THROWS_WITH(op.set_moduli(CellField<double, Space::memory_space>("moduli", 7)),
                    Catch::Matchers::Contains("7") && Catch::Matchers::Contains("8"));
  NodalVector<double, Space::memory_space> const u("u", 27), w("w", 27), small("small", 26);
  CHECK_THROWS_AS(op.apply(Space{}, u, w), InputError);  // no moduli yet
  op.set_moduli(CellField<double, Space::memory_space>("moduli", 8));
  CHECK_THROWS_WITH(op.apply(Space{}, u, small), Catch::Matchers::Contains("26"));
}
