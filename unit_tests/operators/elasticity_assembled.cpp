// SPDX-License-Identifier: BSD-3-Clause
// The assembled kernel: its graph, its values and what it refuses, against plain loops over cells.
#include "brickwork/operators/detail/elasticity_assembled.hpp"

#include <algorithm>
#include <set>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"
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

// The graph and its values are made from plain extents, so they are tested on one periodic cell too, which BoxGrid
// refuses.
std::vector<Box> const boxes{
    {{1, 1, 1}, {false, false, false}}, {{1, 1, 1}, {true, true, true}},   {{2, 2, 2}, {true, true, true}},
    {{3, 3, 3}, {true, true, true}},    {{1, 2, 4}, {true, true, true}},   {{2, 1, 3}, {true, false, false}},
    {{4, 3, 2}, {false, false, false}}, {{5, 1, 2}, {false, true, false}}, {{1, 1, 6}, {false, false, true}}};

Hex8Matrix sample_stiffness() { return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 2, 5}); }

template <class Scalar>
detail::ElasticityData<Scalar> extents(Box const& box) {
  detail::ElasticityData<Scalar> data{};
  index_t nodes[3];
  for (int axis = 0; axis < 3; ++axis) {
    data.periodic[axis] = box.periodic[axis];
    nodes[axis] = box.cells[axis] + (box.periodic[axis] ? 0 : 1);
  }
  data.nx = box.cells[0], data.ny = box.cells[1], data.nz = box.cells[2];
  data.mx = nodes[0], data.my = nodes[1], data.mz = nodes[2];
  auto const stiffness = sample_stiffness();
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) data.stiffness[row][col] = static_cast<Scalar>(stiffness[row][col]);
  return data;
}

/// Calls body(cell, the 24 degrees of freedom) for each cell.
template <class Scalar, class Body>
void for_cells(detail::ElasticityData<Scalar> const& data, Body const& body) {
  index_t const nodes = data.mx * data.my * data.mz;
  for (index_t k = 0; k < data.nz; ++k)
    for (index_t j = 0; j < data.ny; ++j)
      for (index_t i = 0; i < data.nx; ++i) {
        std::array<index_t, 24> dofs{};
        for (int n = 0; n < 8; ++n)
          for (int d = 0; d < 3; ++d) {
            index_t const x = (i + (n & 1)) % data.mx, y = (j + ((n >> 1) & 1)) % data.my, z = (k + (n >> 2)) % data.mz;
            dofs[3 * n + d] = x + data.mx * (y + data.my * z) + d * nodes;
          }
        body(i + data.nx * (j + data.ny * k), dofs);
      }
}

template <class View>
auto host_copy(View const& view) {
  Kokkos::fence();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  return std::vector<typename View::non_const_value_type>(host.data(), host.data() + host.size());
}

struct Graph {
  std::vector<std::int64_t> row_map;
  std::vector<std::int32_t> columns;
};

template <class Space, class Scalar>
Graph built_graph(detail::ElasticityData<Scalar> const& data) {
  using Memory = typename Space::memory_space;
  index_t const rows = 3 * data.mx * data.my * data.mz;
  Kokkos::View<std::int64_t*, Memory> const row_map("row_map", static_cast<std::size_t>(rows) + 1);
  Kokkos::View<std::int32_t*, Memory> const columns("columns",
                                                    static_cast<std::size_t>(detail::box_stencil(data).nonzeros()));
  detail::fill_assembled_graph(Space{}, data, row_map.data(), columns.data());
  return {host_copy(row_map), host_copy(columns)};
}

template <class Space>
void graph_matches() {
  for (auto const& box : boxes) {
    INFO("cells " << box.cells[0] << " x " << box.cells[1] << " x " << box.cells[2] << ", periodic " << box.periodic[0]
                  << box.periodic[1] << box.periodic[2]);
    auto const data = extents<double>(box);
    auto const rows = static_cast<std::size_t>(3 * data.mx * data.my * data.mz);
    std::vector<std::set<std::int32_t>> expected(rows);
    for_cells(data, [&](index_t, std::array<index_t, 24> const& dofs) {
      for (index_t a : dofs)
        for (index_t b : dofs) expected[static_cast<std::size_t>(a)].insert(static_cast<std::int32_t>(b));
    });
    auto const graph = built_graph<Space>(data);
    REQUIRE(graph.row_map.front() == 0);
    REQUIRE(graph.row_map.back() == static_cast<std::int64_t>(graph.columns.size()));
    bool same = true, symmetric = true;
    for (std::size_t row = 0; row < rows; ++row) {
      REQUIRE(graph.row_map[row + 1] - graph.row_map[row] == static_cast<std::int64_t>(expected[row].size()));
      auto const begin = graph.columns.begin() + graph.row_map[row];
      auto const end = graph.columns.begin() + graph.row_map[row + 1];
      same = same && std::equal(begin, end, expected[row].begin());  // a set ascends
      for (auto column = begin; column != end; ++column) {
        symmetric = symmetric && std::binary_search(graph.columns.begin() + graph.row_map[*column],
                                                    graph.columns.begin() + graph.row_map[*column + 1],
                                                    static_cast<std::int32_t>(row));
      }
    }
    CHECK(same);
    CHECK(symmetric);
  }
}

// Up to eight cells (64 pairs of corners where one periodic cell wraps onto itself) are added per entry, each
// |E| max|K| at most; (8 + 1) eps per term for their products and sums, with the largest entry of the matrix as unit.
template <class Space, class Scalar>
void values_match() {
  using Memory = typename Space::memory_space;
  Space const space;
  for (auto const& box : boxes)
    for (bool masked : {false, true}) {
      INFO("cells " << box.cells[0] << " x " << box.cells[1] << " x " << box.cells[2] << ", periodic "
                    << box.periodic[0] << box.periodic[1] << box.periodic[2] << ", masked " << masked);
      auto data = extents<Scalar>(box);
      index_t const nodes = data.mx * data.my * data.mz;
      auto const rows = static_cast<std::size_t>(3 * nodes);
      auto const moduli = random_values(data.nx * data.ny * data.nz, 1, 0.1, 1);
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(nodes), 0);
      if (masked) {
        for (std::size_t node = 0; node < mask.size(); ++node) mask[node] = (5 * node + 3) % 8;
      }
      auto const fixed = [&](std::size_t dof) {
        return (mask[dof % static_cast<std::size_t>(nodes)] >> (dof / static_cast<std::size_t>(nodes))) & 1;
      };
      std::vector<double> expected(rows * rows, 0.0);
      auto const stiffness = sample_stiffness();
      double largest = 1;
      for_cells(data, [&](index_t cell, std::array<index_t, 24> const& dofs) {
        for (int a = 0; a < 24; ++a)
          for (int b = 0; b < 24; ++b)
            expected[static_cast<std::size_t>(dofs[a]) * rows + static_cast<std::size_t>(dofs[b])] +=
                moduli[static_cast<std::size_t>(cell)] * stiffness[a][b];
      });
      for (double entry : expected) largest = std::max(largest, std::abs(entry));
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t col = 0; col < rows; ++col)
          if (fixed(row) || fixed(col)) expected[row * rows + col] = row == col ? 1 : 0;

      auto const device_moduli = to_device<CellField<Scalar, Memory>>(space, moduli, data.nx * data.ny * data.nz);
      auto const device_mask = to_device<NodeMask<Memory>>(space, mask, nodes);
      data.moduli = device_moduli.data();
      data.mask = masked ? device_mask.data() : nullptr;
      auto const graph = built_graph<Space>(data);
      Kokkos::View<Scalar*, Memory> const values("values", graph.columns.size());
      Kokkos::deep_copy(values, std::numeric_limits<Scalar>::quiet_NaN());
      detail::fill_assembled_values(space, data, values.data());
      auto const result = host_copy(values);
      std::vector<double> dense(rows * rows, 0.0);
      for (std::size_t row = 0; row < rows; ++row)
        for (auto entry = static_cast<std::size_t>(graph.row_map[row]);
             entry < static_cast<std::size_t>(graph.row_map[row + 1]); ++entry)
          dense[row * rows + static_cast<std::size_t>(graph.columns[entry])] = static_cast<double>(result[entry]);
      CHECK(max_difference(dense, expected) < 9 * std::numeric_limits<Scalar>::epsilon() * largest);
      detail::fill_assembled_values(space, data, values.data());
      CHECK(host_copy(values) == result);
    }
}

#if BRICKWORK_HAS_KOKKOS_KERNELS()
template <class Space, class Scalar>
void product_matches() {
  using Memory = typename Space::memory_space;
  using Vector = NodalVector<Scalar, Memory>;
  Space const space;
  auto const stiffness = sample_stiffness();
  for (auto const& box : boxes) {
    if ((box.periodic[0] && box.cells[0] == 1) || (box.periodic[1] && box.cells[1] == 1)) continue;
    BoxGrid const grid(box.cells, {1, 2, 5}, box.periodic);
    index_t const nodes = grid.node_count();
    auto const body = detail::make_assembled<Space, Scalar>(grid);
    auto data = detail::elasticity_data<Scalar>(grid, stiffness, ParityBlocks{});
    auto const u = random_values(3 * nodes, 2);
    auto const device_u = to_device<Vector>(space, u, nodes);
    Vector const w("w", static_cast<std::size_t>(nodes));
    Kokkos::deep_copy(w, std::numeric_limits<Scalar>::quiet_NaN());
    detail::Operands<Scalar> const vectors{device_u.data(), w.data(), nodes, nodes};
    CHECK_THROWS_WITH(body->apply(space, data, vectors), Catch::Matchers::Contains("update()"));

    double largest = 0;
    for (auto const& row : stiffness)
      for (double entry : row) largest = std::max(largest, std::abs(entry));
    // As for the other kernels: 8 cells x 24 products a row, bounded by max|K| max|u| max|E|.
    double const tolerance = 64 * std::numeric_limits<Scalar>::epsilon() * largest * 8;
    std::vector<double> before;
    for (unsigned seed : {1u, 5u}) {  // the second round changes moduli and constraints under the same body
      auto const moduli = random_values(grid.cell_count(), seed, 0.1, 1);
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(nodes));
      for (std::size_t node = 0; node < mask.size(); ++node) mask[node] = (node + seed) % 5 == 0 ? seed : 0;
      auto const device_moduli = to_device<CellField<Scalar, Memory>>(space, moduli, grid.cell_count());
      auto const device_mask = to_device<NodeMask<Memory>>(space, mask, nodes);
      data.moduli = device_moduli.data();
      data.mask = device_mask.data();
      if (!before.empty()) {
        body->apply(space, data, vectors);
        CHECK(to_host(w) == before);  // the matrix is what update() last read
      }
      body->update(space, data);
      body->apply(space, data, vectors);
      before = to_host(w);
      CHECK(max_difference(before, reference_apply(grid, stiffness, moduli, mask, u)) < tolerance);
    }
    auto const entries = detail::box_stencil(data).nonzeros();
    CHECK(body->bytes() == entries * static_cast<index_t>(4 + sizeof(Scalar)) + 8 * (3 * nodes + 1));
    detail::Operands<Scalar> const padded{device_u.data(), w.data(), nodes + 1, nodes};
    CHECK_THROWS_WITH(body->apply(space, data, padded), Catch::Matchers::Contains(std::to_string(nodes + 1)));
  }
}
#endif

}  // namespace

TEMPLATE_TEST_CASE("the assembled graph is that of the cells", "", BRICKWORK_TEST_SPACES) { graph_matches<TestType>(); }
TEMPLATE_TEST_CASE("assembled values equal a dense assembly", "", BRICKWORK_TEST_SPACES) {
  values_match<TestType, double>();
  values_match<TestType, float>();
}

TEST_CASE("the number of non-zeros may pass 2^31") {
  // 300^3 cells: 27.3 million nodes, 81.8 million rows, 6.6e9 entries; only the closed form is evaluated.
  detail::BoxStencil const stencil{{301, 301, 301}, {false, false, false}};
  index_t const line = 3 * 301 - 2;
  CHECK(stencil.nonzeros() == 9 * line * line * line);
  CHECK(stencil.row_begin(stencil.node_count() - 1, 2) == stencil.nonzeros() - 3 * 8);
}

#if BRICKWORK_HAS_KOKKOS_KERNELS()

TEMPLATE_TEST_CASE("the assembled product equals the reference after each update", "", BRICKWORK_TEST_SPACES) {
  product_matches<TestType, double>();
  product_matches<TestType, float>();
}

TEST_CASE("the assembled kernel refuses what 32-bit columns cannot number") {
  using Space = Kokkos::DefaultExecutionSpace;
  BoxGrid const grid({1023, 1023, 1023}, {1, 1, 1});
  CHECK_THROWS_WITH((detail::make_assembled<Space, double>(grid)), Catch::Matchers::Contains("3221225472"));
}

#else

TEST_CASE("without Kokkos Kernels the assembled kernel says so") {
  using Space = Kokkos::DefaultExecutionSpace;
  BoxGrid const grid({2, 2, 2}, {1, 1, 1});
  CHECK_THROWS_WITH((detail::make_assembled<Space, double>(grid)), Catch::Matchers::Contains("Kokkos Kernels"));
}

#endif
