// SPDX-License-Identifier: BSD-3-Clause
// fused_scatter, fused_scatter_table, three_stage and node_gather as bodies: products with and without constraints,
// padded vectors, the stages over a table, bytes, and what is refused.
#include "brickwork/core/check.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"
#include "brickwork/operators/detail/elasticity_three_stage.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

struct Box {
  Index3 cells;
  std::array<bool, 3> periodic;
};
std::vector<Box> const boxes{{{1, 1, 1}, {false, false, false}},   {{1, 7, 1}, {false, false, false}},
                             {{37, 23, 9}, {false, false, false}}, {{5, 6, 7}, {true, true, true}},
                             {{2, 2, 2}, {true, true, true}},      {{3, 40, 2}, {false, true, false}},
                             {{130, 3, 17}, {false, false, true}}};

/// A grid with fields on host and device.
template <class Space, class Scalar>
struct Problem {
  using Memory = typename Space::memory_space;
  Space space;
  BoxGrid grid;
  Hex8Matrix stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 2, 5});
  index_t nodes = grid.node_count();
  std::vector<double> moduli = random_values(grid.cell_count(), 1, 0.1, 1);
  std::vector<double> u = random_values(3 * nodes, 2);
  std::vector<std::uint8_t> mask;
  CellField<Scalar, Memory> device_moduli;
  NodeMask<Memory> device_mask;
  Kokkos::View<index_t*, Memory> constrained;
  detail::ElasticityData<Scalar> data;
  double tolerance = product_tolerance<Scalar>(stiffness);

  Problem(Box const& box, bool masked) : grid(box.cells, {1, 2, 5}, box.periodic) {
    device_moduli = to_device<CellField<Scalar, Memory>>(space, moduli, grid.cell_count());
    data = detail::elasticity_data<Scalar>(grid, stiffness, ParityBlocks{});
    data.moduli = device_moduli.data();
    if (masked) {
      std::vector<index_t> list;
      mask.assign(static_cast<std::size_t>(nodes), 0);
      for (std::size_t node = 0; node < mask.size(); ++node) {
        mask[node] = node % 3 == 0 ? static_cast<std::uint8_t>(node % 8) : 0;
        if (mask[node] != 0) list.push_back(static_cast<index_t>(node));
      }
      device_mask = to_device<NodeMask<Memory>>(space, mask, nodes);
      constrained = upload<Kokkos::View<index_t*, Memory>>(list, "constrained");
      data.mask = device_mask.data();
      data.constrained = constrained.data();
      data.constrained_count = static_cast<index_t>(list.size());
    }
  }
  std::vector<double> expected() const { return reference_apply(grid, stiffness, moduli, mask, u); }
  /// u, or NaN, with the components `stride` apart; NaN between them.
  Kokkos::View<Scalar*, Memory> vector(index_t stride, bool with_u) const {
    std::vector<double> padded(static_cast<std::size_t>(3 * stride), std::numeric_limits<double>::quiet_NaN());
    for (index_t node = 0; with_u && node < nodes; ++node)
      for (int d = 0; d < 3; ++d) padded[node + d * stride] = u[node + d * nodes];
    return to_device<Kokkos::View<Scalar*, Memory>>(space, padded, 3 * stride);
  }
  std::vector<double> compact(Kokkos::View<Scalar*, Memory> const& w, index_t stride) const {
    auto const padded = to_host(w);
    std::vector<double> values(u.size());
    for (index_t node = 0; node < nodes; ++node)
      for (int d = 0; d < 3; ++d) values[node + d * nodes] = padded[node + d * stride];
    return values;
  }
};

template <class Space, class Scalar>
void bodies_match() {
  for (auto const& box : boxes)
    for (bool masked : {false, true}) {
      Problem<Space, Scalar> const p(box, masked);
      INFO("cells " << box.cells[0] << " x " << box.cells[1] << " x " << box.cells[2] << ", masked " << masked);
      for (auto kernel : {ElasticityKernel::fused_scatter, ElasticityKernel::fused_scatter_table,
                          ElasticityKernel::three_stage, ElasticityKernel::node_gather}) {
        INFO("kernel " << to_string(kernel));
        auto const body = kernel == ElasticityKernel::node_gather
                              ? detail::make_node_gather<Space, Scalar>(p.grid)
                              : detail::make_cell_kernel<Space, Scalar>(kernel, p.grid);
        bool const table = kernel == ElasticityKernel::fused_scatter_table;
        for (index_t pad : {index_t(0), index_t(5)}) {
          auto const u = p.vector(p.nodes + pad, true);
          auto const w = p.vector(p.nodes + 2 * pad, false);
          detail::Operands<Scalar> const vectors{u.data(), w.data(), p.nodes + pad, p.nodes + 2 * pad};
          if (table && pad > 0) {
            CHECK_THROWS_WITH(body->apply(p.space, p.data, vectors),
                              Catch::Matchers::Contains(std::to_string(p.nodes + pad)));
            continue;
          }
          body->apply(p.space, p.data, vectors);
          CHECK(max_difference(p.compact(w, p.nodes + 2 * pad), p.expected()) < p.tolerance);
          if (pad > 0) CHECK(std::isnan(to_host(w)[static_cast<std::size_t>(p.nodes)]));  // padding untouched
          for (index_t node = 0; masked && node < p.nodes; ++node)
            for (int d = 0; d < 3; ++d)
              if ((p.mask[node] >> d) & 1)
                REQUIRE(to_host(w)[node + d * (p.nodes + 2 * pad)] == to_host(u)[node + d * (p.nodes + pad)]);
        }
        index_t const per_cell = table ? 96 : kernel == ElasticityKernel::three_stage ? 48 * sizeof(Scalar) : 0;
        CHECK(body->bytes() == per_cell * p.grid.cell_count());
      }
    }
}

template <class Space, class Scalar>
void stages_over_a_table_match() {
  Problem<Space, Scalar> const p({{6, 5, 4}, {true, false, false}}, true);
  using Memory = typename Space::memory_space;
  index_t const cells = p.grid.cell_count();
  Kokkos::View<std::int32_t*, Memory> const table("table", 24 * cells);
  Kokkos::View<Scalar*, Memory> const local_u("local_u", 24 * cells), local_w("local_w", 24 * cells);
  detail::fill_dof_table(p.space, p.data, p.nodes, table.data());
  detail::TableDofs const dofs{table.data()};
  auto const u = p.vector(p.nodes, true), w = p.vector(p.nodes, false);
  Scalar const* const from = u.data();
  detail::three_stage_gather<true>(p.space, p.data, dofs, cells, from, local_u.data());
  detail::three_stage_product(p.space, p.data, cells, static_cast<Scalar const*>(local_u.data()), local_w.data());
  detail::clear_components(p.space, p.data, p.nodes, w.data());
  detail::three_stage_scatter(p.space, dofs, cells, static_cast<Scalar const*>(local_w.data()), w.data());
  detail::restore_constrained(p.space, p.data, p.nodes, p.nodes, from, w.data());
  CHECK(max_difference(to_host(w), p.expected()) < p.tolerance);
}

}  // namespace

TEMPLATE_TEST_CASE("cell kernels as bodies equal the reference", "", BRICKWORK_TEST_SPACES) {
  bodies_match<TestType, double>();
  bodies_match<TestType, float>();
}
TEMPLATE_TEST_CASE("the three stages run over a connectivity table", "", BRICKWORK_TEST_SPACES) {
  stages_over_a_table_match<TestType, double>();
  stages_over_a_table_match<TestType, float>();
}
TEST_CASE("a table refuses more degrees of freedom than 32 bits number, other kernels are refused by name") {
  using Space = Kokkos::DefaultExecutionSpace;
  BoxGrid const grid({1023, 1023, 1023}, {1, 1, 1});
  CHECK_THROWS_WITH((detail::make_cell_kernel<Space, float>(ElasticityKernel::fused_scatter_table, grid)),
                    Catch::Matchers::Contains("3221225472"));
  CHECK_THROWS_WITH((detail::make_cell_kernel<Space, float>(ElasticityKernel::parity, grid)),
                    Catch::Matchers::Contains("parity"));
  CHECK(detail::make_cell_kernel<Space, float>(ElasticityKernel::fused_scatter, grid)->bytes() == 0);
}
