// SPDX-License-Identifier: BSD-3-Clause
// Products with two element matrices per cell, against plain loops over every cell's own element matrix.
#include "brickwork/operators/added_stiffness.hpp"

#include "brickwork/core/check.hpp"
#include "brickwork/fem/material.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

struct GridCase {
  Index3 cells;
  std::array<bool, 3> periodic;
};

// Odd, thin, single layers, every mix of axes; 131 cells are more than one block of a row.
GridCase const cases[] = {{{5, 3, 7}, {true, true, true}},    {{2, 2, 2}, {true, true, true}},
                          {{131, 3, 2}, {true, true, true}},  {{1, 9, 4}, {false, true, true}},
                          {{7, 1, 1}, {false, false, false}}, {{3, 33, 5}, {false, false, true}},
                          {{4, 2, 19}, {true, false, false}}};

std::vector<IsotropicMaterial> const materials = {{1, 0.3}, {0.5, 0.45}, {0.02, -0.4}, {0.8, 0.0}, {1e-6, 0.2}};

std::vector<std::size_t> random_materials(index_t cells, unsigned seed) {
  std::vector<std::size_t> which;
  for (double draw : random_values(cells, seed, 0, static_cast<double>(materials.size())))
    which.push_back(std::min(static_cast<std::size_t>(draw), materials.size() - 1));
  return which;
}

// The sum over materials of the product with the moduli of one, by its own element matrix.
std::vector<double> reference(BoxGrid const& grid, std::vector<std::size_t> const& which,
                              std::vector<std::uint8_t> const& mask, std::vector<double> const& u) {
  std::vector<double> sum(u.size(), 0.0);
  for (std::size_t m = 0; m < materials.size(); ++m) {
    std::vector<double> moduli;
    for (std::size_t cell : which) moduli.push_back(cell == m ? 1.0 : 0.0);
    auto const part =
        reference_apply(grid, hex8_stiffness(elasticity_matrix(materials[m]), grid.spacing()), moduli, mask, u);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  index_t const nodes = grid.node_count();
  for (index_t node = 0; node < nodes && !mask.empty(); ++node)
    for (int d = 0; d < 3; ++d)
      if ((mask[node] >> d) & 1) sum[node + d * nodes] = u[node + d * nodes];
  return sum;
}

template <class Space, class Scalar>
class TwoModuli {
 public:
  using Operator = ElasticityOperator<Space, Scalar>;
  using Vector = typename Operator::vector_type;

  TwoModuli(BoxGrid const& grid, std::vector<std::size_t> const& which, double ratio,
            std::vector<std::uint8_t> const& mask = {})
      : grid_(grid),
        first_(space_, grid, hex8_stiffness(IsotropicSplit{ratio}.first_matrix(), grid.spacing())),
        added_(space_, grid, hex8_stiffness(IsotropicSplit{ratio}.second_matrix(), grid.spacing())) {
    IsotropicSplit const split{ratio};
    std::vector<double> first, second;
    for (std::size_t cell : which) {
      first.push_back(split.first(materials[cell]));
      second.push_back(split.second(materials[cell]));
    }
    using Field = CellField<Scalar, typename Space::memory_space>;
    first_.set_moduli(to_device<Field>(space_, first, grid.cell_count()));
    added_.set_moduli(to_device<Field>(space_, second, grid.cell_count()));
    if (mask.empty()) return;
    auto const bits = to_device<NodeMask<typename Space::memory_space>>(space_, mask, grid.node_count());
    first_.set_constraints(space_, bits);
    added_.set_constraints(space_, bits);
  }

  std::vector<double> apply(std::vector<double> const& u, double* dot = nullptr) const {
    auto const device_u = to_device<Vector>(space_, u, grid_.node_count());
    auto const w = to_device<Vector>(space_, std::vector<double>(u.size(), NAN), grid_.node_count());
    first_.apply(space_, device_u, w);
    if (dot) {
      auto const sum = allocate<Kokkos::View<double*, typename Space::memory_space>>(space_, "dot", 1);
      added_.add_dot(space_, device_u, w, Kokkos::subview(sum, 0));
      *dot = to_host(sum)[0];
    } else {
      added_.add(space_, device_u, w);
    }
    return to_host(w);
  }

 private:
  Space space_;
  BoxGrid grid_;
  Operator first_;
  AddedStiffness<Space, Scalar> added_;
};

double dot_of(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class Space, class Scalar>
void compare(GridCase const& test, Vec3 const& spacing, double ratio, bool masked) {
  Vec3 lengths{};
  for (std::size_t axis = 0; axis < 3; ++axis) lengths[axis] = spacing[axis] * static_cast<double>(test.cells[axis]);
  BoxGrid const grid(test.cells, lengths, test.periodic);
  auto const which = random_materials(grid.cell_count(), 3);
  auto const mask = masked ? random_mask(grid.node_count(), 4) : std::vector<std::uint8_t>();
  auto const u = rounded<Scalar>(random_values(3 * grid.node_count(), 5));
  TwoModuli<Space, Scalar> const op(grid, which, ratio, mask);
  INFO("cells " << test.cells[0] << " x " << test.cells[1] << " x " << test.cells[2] << ", periodic "
                << test.periodic[0] << test.periodic[1] << test.periodic[2] << ", ratio " << ratio << ", masked "
                << masked);
  double dot = 0;
  auto const w = op.apply(u, &dot);
  // A bulk modulus of 0.45 is several times that at the other ratios: the tolerance is that of its element matrix.
  double const tolerance =
      product_tolerance<Scalar>(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.45}), grid.spacing()));
  CHECK(max_difference(w, reference(grid, which, mask, u)) < tolerance);
  CHECK(max_difference(op.apply(u), w) == 0);  // and repeatable
  CHECK(std::abs(dot - dot_of(u, w)) < tolerance * std::sqrt(static_cast<double>(u.size())));
}

template <class Space, class Scalar>
void compare_all() {
  for (GridCase const& test : cases)
    for (bool masked : {false, true}) {
      compare<Space, Scalar>(test, {1, 1, 1}, 0.3, masked);
      compare<Space, Scalar>(test, {1, 2, 0.6}, 0.45, masked);
      compare<Space, Scalar>(test, {1, 1, 1}, -0.4, masked);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("two element matrices per cell give the product of every cell's own material, FP64", "[operators]",
                   BRICKWORK_TEST_SPACES) {
  compare_all<TestType, double>();
}

TEMPLATE_TEST_CASE("two element matrices per cell give the product of every cell's own material, FP32", "[operators]",
                   BRICKWORK_TEST_SPACES) {
  compare_all<TestType, float>();
}

TEMPLATE_TEST_CASE("two element matrices per cell: symmetric, and translations are free", "[operators]",
                   BRICKWORK_TEST_SPACES) {
  for (GridCase const& test : cases) {
    BoxGrid const grid(test.cells, {1, 0.7, 2}, test.periodic);
    TwoModuli<TestType, double> const op(grid, random_materials(grid.cell_count(), 9), 0.2);
    index_t const nodes = grid.node_count();
    auto const u = random_values(3 * nodes, 10), v = random_values(3 * nodes, 11);
    auto const ku = op.apply(u), kv = op.apply(v);
    CAPTURE(test.cells[0], test.cells[1], test.cells[2]);
    CHECK(std::abs(dot_of(v, ku) - dot_of(u, kv)) < 1e-12 * std::sqrt(dot_of(ku, ku) * dot_of(v, v)));
    CHECK(dot_of(u, ku) > 0);
    for (int d = 0; d < 3; ++d) {
      std::vector<double> translation(u.size(), 0.0);
      std::fill_n(translation.begin() + d * nodes, nodes, 1.0);
      CHECK(max_abs(op.apply(translation)) < 1e-13 * max_abs(ku));
    }
  }
}

TEST_CASE("what the kernel parity alone can do in place is refused to others", "[operators]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  BoxGrid const grid({3, 3, 3}, {1, 1, 1});
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
  ElasticityOperator<Space, double> op(space, grid, stiffness, ElasticityKernel::node_gather);
  op.set_moduli(to_device<CellField<double, Space::memory_space>>(space, std::vector<double>(27, 1.0), 27));
  auto const u = allocate<NodalVector<double, Space::memory_space>>(space, "u", grid.node_count());
  auto const w = allocate<NodalVector<double, Space::memory_space>>(space, "w", grid.node_count());
  CHECK_THROWS_AS(op.residual(space, w, u, w), InputError);
  AddedStiffness<Space, double> added(space, grid, stiffness);
  CHECK_THROWS_AS(added.add(space, u, w), InputError);  // no moduli yet
}
