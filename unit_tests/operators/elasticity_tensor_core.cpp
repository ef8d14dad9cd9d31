// SPDX-License-Identifier: BSD-3-Clause
// The tensor-core kernels and their portable bodies against plain loops, with bounds derived entry by entry.
//
// Bounds. With d_j = u_j - mean of the cell, an entry of w = sum over cells of E sum_j K_ij d_j is wrong by at most
// (delta + 80 eps) S_i, S_i = sum over cells of E sum_j |K|_ij |d_j|. delta is the rounding of d: 0 (FP32, FP64), 2^-8
// (one BF16 value: half a unit in the eighth binary digit), 2^-17 (two: the rest is at most 2^-8 of the value's power
// of two, and its own rounding 2^-9 of that). The 80 eps (eps = 2^-23; 2^-52 in FP64): 24 products in each of two sums
// that tensor cores truncate rather than round (48), the factors, the modulus, the shift and the stored matrix (8), and
// the sum over eight cells (8), rounded up. |K| is sum_t c_t |M_t| for the integer forms: their terms may cancel in K.
// The rounded mean is the same for all corners of a cell and drops out; it adds 4 eps max|u| to |d_j|.
#include "brickwork/operators/detail/elasticity_tensor_core.hpp"

#include <algorithm>
#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/operators/detail/elasticity_tensor_cuda.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;
using namespace brickwork::detail;

namespace {

using Kernel = ElasticityKernel;

struct Case {
  Index3 cells;
  std::array<bool, 3> periodic;
};

std::vector<Case> const cases{
    {{1, 1, 1}, {false, false, false}},   {{1, 7, 1}, {false, false, false}},  {{37, 23, 9}, {false, false, false}},
    {{33, 1, 65}, {false, false, false}}, {{64, 9, 8}, {false, false, false}}, {{5, 6, 7}, {true, true, true}},
    {{31, 4, 33}, {true, false, false}},  {{2, 2, 2}, {true, true, true}},     {{3, 40, 2}, {false, true, false}},
    {{130, 3, 17}, {false, false, true}}, {{16, 5, 3}, {true, true, false}},   {{8, 3, 70}, {false, false, true}},
    {{9, 2, 1}, {false, false, false}}};

constexpr double no_rounding = 0;
double const one_bf16 = std::ldexp(1.0, -8);
double const two_bf16 = std::ldexp(1.0, -17);

// Independent of the code under test: by decimal exponent and significand, not by bits.
double to_bf16(double x) {
  int exponent = 0;
  double const significand = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, 8)), exponent - 8);
}

Hex8Matrix cube(double nu, double h = 1) {
  return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, nu}), {h, h, h});
}
Hex8Matrix box(double nu) { return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, nu}), {1, 2, 5}); }

Hex8Matrix absolute(Hex8Matrix k) {
  for (auto& row : k)
    for (auto& entry : row) entry = std::abs(entry);
  return k;
}

Hex8Matrix absolute(IntegerStiffness const& form) {
  Hex8Matrix k{};
  for (int term = 0; term < form.terms; ++term)
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) k[row][col] += std::abs(form.coefficient[term] * form.matrix[term][row][col]);
  return k;
}

// S of the header comment; without the shift d = u.
std::vector<double> magnitudes(BoxGrid const& grid, Hex8Matrix const& absolute_stiffness,
                               std::vector<double> const& moduli, std::vector<std::uint8_t> const& mask,
                               std::vector<double> const& u, bool shifted, double epsilon) {
  index_t const nodes = grid.node_count();
  std::vector<double> sum(u.size(), 0.0);
  double const slack = 4 * epsilon * max_abs(u);
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        auto const corner = cell_nodes(grid, i, j, k);
        double d[24], mean[3] = {0, 0, 0};
        for (int a = 0; a < 24; ++a) {
          bool const fixed = !mask.empty() && ((mask[corner[a / 3]] >> (a % 3)) & 1);
          d[a] = fixed ? 0 : u[corner[a / 3] + (a % 3) * nodes];
          mean[a % 3] += d[a] / 8;
        }
        for (int a = 0; a < 24; ++a) d[a] = std::abs(d[a] - (shifted ? mean[a % 3] : 0)) + (shifted ? slack : 0);
        for (int a = 0; a < 24; ++a)
          for (int b = 0; b < 24; ++b)
            sum[corner[a / 3] + (a % 3) * nodes] += moduli[grid.cell_index(i, j, k)] * absolute_stiffness[a][b] * d[b];
      }
  return sum;
}

// Largest |a - b| / (factor S + tiny); at most 1 where the bound holds.
double excess(std::vector<double> const& a, std::vector<double> const& b, std::vector<double> const& s, double factor) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const ratio = std::abs(a[i] - b[i]) / (factor * s[i] + 1e-30);
    worst = std::isfinite(ratio) ? std::max(worst, ratio) : INFINITY;
  }
  return worst;
}

double relative_error(std::vector<double> const& a, std::vector<double> const& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// Fields of one product on the device. u and w have strides of their own; what lies between components must stay.
template <class Space, class Scalar>
struct Fields {
  using Vector = Kokkos::View<Scalar*, Kokkos::LayoutLeft, typename Space::memory_space>;
  static constexpr double padding = 77;
  index_t nodes, stride_u, stride_w;
  Vector moduli, u, w;
  Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, typename Space::memory_space> mask;
  Kokkos::View<index_t*, Kokkos::LayoutLeft, typename Space::memory_space> constrained;
  ElasticityData<Scalar> data;

  Fields(Space const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, std::vector<double> const& moduli_,
         std::vector<std::uint8_t> const& mask_, std::vector<double> const& u_)
      : nodes(grid.node_count()), stride_u(nodes + 5), stride_w(nodes + 9) {
    std::vector<double> padded_u(static_cast<std::size_t>(3 * stride_u), std::numeric_limits<double>::quiet_NaN());
    std::vector<double> padded_w(static_cast<std::size_t>(3 * stride_w), padding);
    for (int d = 0; d < 3; ++d)
      for (index_t node = 0; node < nodes; ++node) {
        padded_u[node + d * stride_u] = u_[node + d * nodes];
        padded_w[node + d * stride_w] = std::numeric_limits<double>::quiet_NaN();
      }
    moduli = to_device<Vector>(space, moduli_, grid.cell_count());
    u = to_device<Vector>(space, padded_u, 3 * stride_u);
    w = to_device<Vector>(space, padded_w, 3 * stride_w);
    data = elasticity_data<Scalar>(grid, stiffness, ParityBlocks{});
    data.moduli = moduli.data();
    if (mask_.empty()) return;
    std::vector<index_t> list;
    for (index_t node = 0; node < nodes; ++node)
      if (mask_[node] != 0) list.push_back(node);
    mask = to_device<decltype(mask)>(space, mask_, nodes);
    constrained = to_device<decltype(constrained)>(space, list, static_cast<index_t>(list.size()));
    data.mask = mask.data();
    data.constrained = constrained.data();
    data.constrained_count = static_cast<index_t>(list.size());
  }

  Operands<Scalar> operands() const { return {u.data(), w.data(), stride_u, stride_w}; }

  std::vector<double> result(bool check_padding = true) const {
    auto const padded = to_host(w);
    std::vector<double> values(static_cast<std::size_t>(3 * nodes));
    bool untouched = true;
    for (int d = 0; d < 3; ++d)
      for (index_t i = 0; i < stride_w; ++i) {
        if (i < nodes) {
          values[i + d * nodes] = padded[i + d * stride_w];
        } else {
          untouched = untouched && padded[i + d * stride_w] == padding;
        }
      }
    if (check_padding) CHECK(untouched);
    return values;
  }
};

template <class Space, class Scalar>
std::vector<double> product(Kernel kernel, BoxGrid const& grid, Hex8Matrix const& stiffness,
                            std::vector<double> const& moduli, std::vector<std::uint8_t> const& mask,
                            std::vector<double> const& u) {
  Space const space;
  Fields<Space, Scalar> const fields(space, grid, stiffness, moduli, mask, u);
  auto const body = make_tensor_core<Space, Scalar>(kernel, grid, stiffness);
  body->apply(space, fields.data, fields.operands());
  space.fence();
  return fields.result();
}

/// What a kernel should give, the magnitudes S and the factor of S that bounds the error.
struct Expected {
  std::vector<double> values;
  std::vector<double> magnitude;
  double factor;
};

Expected expect(Kernel kernel, BoxGrid const& grid, Hex8Matrix const& stiffness, std::vector<double> const& moduli,
                std::vector<std::uint8_t> const& mask, std::vector<double> const& u) {
  double const single = 80 * std::ldexp(1.0, -23);
  if (kernel == Kernel::fused_wmma) {
    Hex8Matrix k = stiffness;
    for (auto& row : k)
      for (auto& entry : row) entry = to_bf16(static_cast<double>(static_cast<float>(entry)));
    auto coarse = u;
    for (auto& value : coarse) value = to_bf16(value);
    auto values = reference_apply(grid, k, moduli, mask, coarse);
    for (index_t node = 0; !mask.empty() && node < grid.node_count(); ++node)
      for (int d = 0; d < 3; ++d)
        if ((mask[node] >> d) & 1) values[node + d * grid.node_count()] = u[node + d * grid.node_count()];
    return {values, magnitudes(grid, absolute(k), moduli, mask, coarse, false, 0), single};
  }
  auto const values = reference_apply(grid, stiffness, moduli, mask, u);
  if (kernel == Kernel::fused_mma_fp64) {
    // K0 itself is rounded, in units of its largest entry: a row of these bounds what its row may lose.
    Hex8Matrix k = absolute(stiffness);
    double largest = 0;
    for (auto const& row : k)
      for (double entry : row) largest = std::max(largest, entry);
    for (auto& row : k)
      for (auto& entry : row) entry = largest;
    double const epsilon = std::ldexp(1.0, -52);
    return {values, magnitudes(grid, k, moduli, mask, u, true, epsilon), 80 * epsilon};
  }
  double const delta = kernel == Kernel::fused_wmma_exact ? one_bf16 : two_bf16;
  return {values,
          magnitudes(grid, absolute(integer_stiffness(kernel, stiffness)), moduli, mask, u, true, std::ldexp(1.0, -23)),
          delta + single};
}

void check_close(Kernel kernel, BoxGrid const& grid, std::vector<std::uint8_t> const& mask,
                 std::vector<double> const& u, std::vector<double> const& result, Expected const& expected) {
  INFO("cells " << grid.cells()[0] << " x " << grid.cells()[1] << " x " << grid.cells()[2] << ", periodic "
                << grid.periodic()[0] << grid.periodic()[1] << grid.periodic()[2] << ", kernel " << to_string(kernel)
                << ", masked " << !mask.empty());
  CHECK(excess(result, expected.values, expected.magnitude, expected.factor) < 1);
  bool exact = true;
  index_t const nodes = grid.node_count();
  for (index_t node = 0; !mask.empty() && node < nodes; ++node)
    for (int d = 0; d < 3; ++d)
      if ((mask[node] >> d) & 1) exact = exact && result[node + d * nodes] == u[node + d * nodes];
  CHECK(exact);
}

template <class Space, class Scalar>
void compare(Kernel kernel, Case const& test, Hex8Matrix const& stiffness, bool masked) {
  BoxGrid const grid(test.cells, {1, 1, 1}, test.periodic);
  auto const moduli = rounded<Scalar>(random_values(grid.cell_count(), 1, 1e-9, 1));
  auto const u = rounded<Scalar>(random_values(grid.dof_count(), 2));
  auto const mask = masked ? random_mask(grid.node_count(), 3) : std::vector<std::uint8_t>{};
  check_close(kernel, grid, mask, u, product<Space, Scalar>(kernel, grid, stiffness, moduli, mask, u),
              expect(kernel, grid, stiffness, moduli, mask, u));
}

template <class Space>
void compare_all() {
  for (auto const& test : cases)
    for (double nu : {0.3, 0.499})
      for (bool masked : {false, true}) {
        compare<Space, float>(Kernel::fused_wmma, test, box(nu), masked);
        compare<Space, float>(Kernel::fused_wmma_exact, test, cube(nu), masked);
        compare<Space, float>(Kernel::fused_wmma_split, test, cube(nu), masked);
        compare<Space, double>(Kernel::fused_mma_fp64, test, box(nu), masked);
      }
}

template <class Space>
void long_boxes() {
  Case const y{{2, 131072, 1}, {false, false, false}};
  compare<Space, float>(Kernel::fused_wmma, y, box(0.3), false);
  compare<Space, float>(Kernel::fused_wmma_exact, y, cube(0.3), true);
  compare<Space, float>(Kernel::fused_wmma_split, y, cube(0.3), false);
  compare<Space, double>(Kernel::fused_mma_fp64, y, box(0.3), true);
  compare<Space, float>(Kernel::fused_wmma_split, {{1, 1, 131072}, {false, false, true}}, cube(0.3), false);
  compare<Space, double>(Kernel::fused_mma_fp64, {{131072, 1, 1}, {true, false, false}}, box(0.3), false);
}

template <class Space, class Scalar, class Product>
void portable(Kernel kernel, Case const& test, Hex8Matrix const& stiffness, Product const& cell_product) {
  BoxGrid const grid(test.cells, {1, 1, 1}, test.periodic);
  auto const moduli = rounded<Scalar>(random_values(grid.cell_count(), 1, 1e-9, 1));
  auto u = rounded<Scalar>(random_values(grid.dof_count(), 2));
  auto const mask = random_mask(grid.node_count(), 3);
  // Without the identity on constrained components, which the body adds.
  for (index_t node = 0; node < grid.node_count(); ++node)
    for (int d = 0; d < 3; ++d)
      if ((mask[node] >> d) & 1) u[node + d * grid.node_count()] = 0;
  Space const space;
  Fields<Space, Scalar> const fields(space, grid, stiffness, moduli, mask, u);
  Kokkos::deep_copy(space, fields.w, Scalar(0));
  add_cell_products<true>(space, "test", fields.data, GridDofs<Scalar>{fields.data, fields.stride_u}, grid.cell_count(),
                          cell_product, fields.operands());
  space.fence();
  auto result = fields.result(false);
  auto const expected = expect(kernel, grid, stiffness, moduli, mask, u);
  for (index_t node = 0; node < grid.node_count(); ++node)
    for (int d = 0; d < 3; ++d)
      if ((mask[node] >> d) & 1) result[node + d * grid.node_count()] = 0;
  check_close(kernel, grid, mask, u, result, expected);
}

template <class Space>
void portable_bodies() {
  for (double nu : {0.3, 0.499}) {
    RoundedProduct coarse;
    DoubleProduct dense;
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) {
        coarse.matrix[row][col] = round_to_bf16(static_cast<float>(box(nu)[row][col]));
        dense.matrix[row][col] = box(nu)[row][col];
      }
    for (auto const& test : cases) {
      portable<Space, float>(Kernel::fused_wmma, test, box(nu), coarse);
      portable<Space, float>(Kernel::fused_wmma_exact, test, cube(nu),
                             IntegerProduct<false>{integer_stiffness(Kernel::fused_wmma_exact, cube(nu))});
      portable<Space, float>(Kernel::fused_wmma_split, test, cube(nu),
                             IntegerProduct<true>{integer_stiffness(Kernel::fused_wmma_split, cube(nu))});
      portable<Space, double>(Kernel::fused_mma_fp64, test, box(nu), dense);
    }
  }
}

template <class Space>
void translations() {
  BoxGrid const grid({19, 6, 13}, {1, 1, 1});
  index_t const nodes = grid.node_count();
  auto const moduli = rounded<float>(random_values(grid.cell_count(), 5, 0.1, 1));
  std::vector<double> u(static_cast<std::size_t>(3 * nodes));
  for (index_t node = 0; node < nodes; ++node) {
    u[node] = static_cast<double>(1.1f);
    u[node + nodes] = static_cast<double>(-2.3e6f);
    u[node + 2 * nodes] = static_cast<double>(0.7e-6f);
  }
  for (double nu : {0.3, 0.123}) {
    CHECK(max_abs(product<Space, float>(Kernel::fused_wmma_exact, grid, cube(nu), moduli, {}, u)) == 0);
    CHECK(max_abs(product<Space, float>(Kernel::fused_wmma_split, grid, cube(nu), moduli, {}, u)) == 0);
    CHECK(max_abs(product<Space, double>(Kernel::fused_mma_fp64, grid, cube(nu), moduli, {}, u)) == 0);
  }
  // For nu = 0.3 a row of q(K0) sums to 1.17e-3 of its diagonal entry (other ratios may be lucky); moduli are 0.1 or
  // more.
  auto const spring = max_abs(product<Space, float>(Kernel::fused_wmma, grid, cube(0.3), moduli, {}, u));
  CHECK(spring > 0.1 * 2.3e6 * 1e-3 * cube(0.3)[0][0]);
  CHECK(std::isfinite(spring));
}

template <class Space>
void relative_errors() {
  BoxGrid const grid({40, 24, 20}, {2, 1.2, 1});
  index_t const nodes = grid.node_count();
  auto const stiffness = cube(0.3);
  auto const moduli = rounded<float>(random_values(grid.cell_count(), 6, 0.1, 1));
  auto const random = rounded<float>(random_values(grid.dof_count(), 7));
  auto smooth = random;
  for (index_t node = 0; node < nodes; ++node) {
    Vec3 const x = grid.node_position(node);
    smooth[node] = std::sin(2 * x[0]) * x[1] + 3;
    smooth[node + nodes] = std::cos(x[1] + x[2]) * x[0];
    smooth[node + 2 * nodes] = x[0] * x[0] * x[2] - std::sin(3 * x[1]);
  }
  smooth = rounded<float>(smooth);
  auto const error = [&](Kernel kernel, std::vector<double> const& u) {
    return relative_error(product<Space, float>(kernel, grid, stiffness, moduli, {}, u),
                          reference_apply(grid, stiffness, moduli, {}, u));
  };
  // Independent errors of random values go through K as the values do: at most 2^-8 of u and 2^-8 of K0, both uniform
  // below that, so that their root mean square is less than half of it.
  CHECK(error(Kernel::fused_wmma, random) < 5e-3);
  CHECK(error(Kernel::fused_wmma_exact, random) < 5e-3);
  CHECK(error(Kernel::fused_wmma_split, random) < 2 * two_bf16);
  // The moduli vary from cell to cell, so that forces do not cancel: the errors stay those of the differences. Without
  // the shift the constant 3 alone leaves a force.
  CHECK(error(Kernel::fused_wmma_exact, smooth) < 5e-3);
  CHECK(error(Kernel::fused_wmma_split, smooth) < 1e-4);
  CHECK(error(Kernel::fused_wmma, smooth) > 0.1);
}

template <class Space, class Scalar, class Apply>
void with_table(Kernel kernel, Hex8Matrix const& stiffness, index_t cells, Apply const& apply) {
  // Any numbering: 24 different values of 5000 per cell.
  constexpr index_t count = 5000;
  std::mt19937 generator(42);
  std::vector<std::int32_t> table;
  for (index_t cell = 0; cell < cells; ++cell) {
    std::vector<std::int32_t> row;
    while (row.size() < 24) {
      auto const value = static_cast<std::int32_t>(generator() % count);
      if (std::find(row.begin(), row.end(), value) == row.end()) row.push_back(value);
    }
    table.insert(table.end(), row.begin(), row.end());
  }
  auto const moduli = rounded<Scalar>(random_values(cells, 8, 1e-9, 1));
  auto const u = rounded<Scalar>(random_values(count, 9));
  double const epsilon = sizeof(Scalar) == 4 ? std::ldexp(1.0, -23) : std::ldexp(1.0, -52);
  std::vector<double> expected(count, 0.0), magnitude(count, 0.0);
  std::vector<int> uses(count, 0);
  bool const rounds = kernel == Kernel::fused_wmma;
  Hex8Matrix const size = kernel == Kernel::fused_wmma_exact || kernel == Kernel::fused_wmma_split
                              ? absolute(integer_stiffness(kernel, stiffness))
                              : absolute(stiffness);
  for (index_t cell = 0; cell < cells; ++cell) {
    auto const* const row = &table[24 * cell];
    double mean[3] = {0, 0, 0};
    for (int j = 0; j < 24; ++j) mean[j % 3] += u[row[j]] / 8;
    for (int i = 0; i < 24; ++i) {
      ++uses[row[i]];
      for (int j = 0; j < 24; ++j) {
        double const k = rounds ? to_bf16(static_cast<double>(static_cast<float>(stiffness[i][j]))) : stiffness[i][j];
        double const value = rounds ? to_bf16(u[row[j]]) : u[row[j]];
        expected[row[i]] += moduli[cell] * k * value;
        magnitude[row[i]] += moduli[cell] * (size[i][j] + epsilon) *
                             (rounds ? std::abs(value) * 1.01 : std::abs(value - mean[j % 3]) + 4 * epsilon);
      }
    }
  }
  double const delta = kernel == Kernel::fused_wmma_exact   ? one_bf16
                       : kernel == Kernel::fused_wmma_split ? two_bf16
                                                            : no_rounding;
  // Many cells share a value here: as many additions, not eight.
  double const additions = *std::max_element(uses.begin(), uses.end());

  Space const space;
  using Vector = Kokkos::View<Scalar*, Kokkos::LayoutLeft, typename Space::memory_space>;
  using Table = Kokkos::View<std::int32_t*, Kokkos::LayoutLeft, typename Space::memory_space>;
  auto const device_table = to_device<Table>(space, table, static_cast<index_t>(table.size()));
  auto const device_moduli = to_device<Vector>(space, moduli, cells);
  auto const device_u = to_device<Vector>(space, u, count);
  auto const w = to_device<Vector>(space, std::vector<double>(count, 0.0), count);
  ElasticityData<Scalar> data{};
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) data.stiffness[row][col] = static_cast<Scalar>(stiffness[row][col]);
  data.moduli = device_moduli.data();
  apply(space, data, TableDofs{device_table.data()}, cells, Operands<Scalar>{device_u.data(), w.data(), 0, 0});
  space.fence();
  INFO("kernel " << to_string(kernel) << ", cells " << cells);
  CHECK(excess(to_host(w), expected, magnitude, delta + (80 + additions) * epsilon) < 1);
}

template <class Space>
void tables() {
  for (index_t cells : {1, 37, 1000}) {
    for (double nu : {0.3, 0.123}) {
      auto const k = cube(nu);
      // Aligned by hand: g++ 12 vectorizes the loop below for an alignment that it then does not give these variables.
      alignas(64) RoundedProduct coarse;
      alignas(64) DoubleProduct dense;
      for (int row = 0; row < 24; ++row)
        for (int col = 0; col < 24; ++col) {
          coarse.matrix[row][col] = round_to_bf16(static_cast<float>(k[row][col]));
          dense.matrix[row][col] = k[row][col];
        }
      auto const form = integer_stiffness(Kernel::fused_wmma_exact, k);
      with_table<Space, float>(Kernel::fused_wmma, k, cells, [&](auto&&... arguments) {
        auto const& [space, data, dofs, count, vectors] = std::tie(arguments...);
        add_cell_products<false>(space, "test", data, dofs, count, coarse, vectors);
      });
      with_table<Space, float>(Kernel::fused_wmma_exact, k, cells, [&](auto&&... arguments) {
        auto const& [space, data, dofs, count, vectors] = std::tie(arguments...);
        add_cell_products<false>(space, "test", data, dofs, count, IntegerProduct<false>{form}, vectors);
      });
      with_table<Space, float>(Kernel::fused_wmma_split, k, cells, [&](auto&&... arguments) {
        auto const& [space, data, dofs, count, vectors] = std::tie(arguments...);
        add_cell_products<false>(space, "test", data, dofs, count, IntegerProduct<true>{form}, vectors);
      });
      with_table<Space, double>(Kernel::fused_mma_fp64, k, cells, [&](auto&&... arguments) {
        auto const& [space, data, dofs, count, vectors] = std::tie(arguments...);
        add_cell_products<false>(space, "test", data, dofs, count, dense, vectors);
      });
#if BRICKWORK_TENSOR_CORES()
      with_table<Space, float>(Kernel::fused_wmma, k, cells,
                               [&](auto const&... arguments) { apply_fused_wmma_cuda<false>(arguments...); });
      with_table<Space, float>(Kernel::fused_wmma_exact, k, cells,
                               [&](auto const& space, auto const& data, auto const&... arguments) {
                                 apply_fused_wmma_exact_cuda<false>(space, data, form, arguments...);
                               });
      with_table<Space, float>(Kernel::fused_wmma_split, k, cells,
                               [&](auto const& space, auto const& data, auto const&... arguments) {
                                 apply_fused_wmma_split_cuda<false>(space, data, form, arguments...);
                               });
      with_table<Space, double>(Kernel::fused_mma_fp64, k, cells,
                                [&](auto const&... arguments) { apply_fused_mma_fp64_cuda<false>(arguments...); });
#endif
    }
  }
}

}  // namespace

TEST_CASE("BF16 rounding is to nearest even") {
  auto const unit = std::ldexp(1.0f, -7);
  CHECK(round_to_bf16(1 + 0.5f * unit) == 1);
  CHECK(round_to_bf16(1 + 1.5f * unit) == 1 + 2 * unit);
  CHECK(round_to_bf16(std::nextafter(1 + 0.5f * unit, 2.0f)) == 1 + unit);
  CHECK(round_to_bf16(-0.0f) == 0);
  CHECK(std::isnan(round_to_bf16(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isinf(round_to_bf16(std::numeric_limits<float>::max())));
  for (double value : rounded<float>(random_values(1000, 4)))
    CHECK(static_cast<double>(round_to_bf16(static_cast<float>(value))) == to_bf16(value));
}

TEST_CASE("the stiffness of a cube is an integer matrix, or two, exact in BF16") {
  for (double nu : {0.0, 0.2, 0.25, 0.3, 1.0 / 3, 0.4, 0.45, 0.49, 0.499, -0.3, 0.123}) {
    for (double h : {1.0, 0.5, 2.3}) {
      auto const k = cube(nu, h);
      auto const form = integer_stiffness(Kernel::fused_wmma_exact, k);
      double largest = 0, misfit = 0;
      bool exact = true;
      for (int row = 0; row < 24; ++row) {
        for (int col = 0; col < 24; ++col) {
          double sum = 0;
          for (int term = 0; term < form.terms; ++term) {
            auto const entry = form.matrix[term][row][col];
            exact = exact && std::abs(entry) <= 256 && round_to_bf16(entry) == entry;
            sum += form.coefficient[term] * entry;
          }
          largest = std::max(largest, std::abs(k[row][col]));
          misfit = std::max(misfit, std::abs(sum - k[row][col]));
        }
        for (int term = 0; term < form.terms; ++term)
          for (int d = 0; d < 3; ++d) {
            int sum = 0;
            for (int n = 0; n < 8; ++n) sum += form.matrix[term][row][3 * n + d];
            exact = exact && sum == 0;
          }
      }
      INFO("nu " << nu << ", h " << h);
      CHECK(exact);
      CHECK(misfit <= 1e-12 * largest);
    }
  }
  CHECK(integer_stiffness(Kernel::fused_wmma_exact, cube(0.3)).terms == 1);
  CHECK(integer_stiffness(Kernel::fused_wmma_exact, cube(0.45)).terms == 1);
  CHECK(integer_stiffness(Kernel::fused_wmma_exact, cube(0.123)).terms == 2);
  CHECK(integer_stiffness(Kernel::fused_wmma_exact, cube(0.499)).terms == 2);
  auto const two = integer_stiffness(Kernel::fused_wmma_exact, cube(0.499));
  int largest[2] = {0, 0};
  for (int term = 0; term < 2; ++term)
    for (auto const& row : two.matrix[term])
      for (int entry : row) largest[term] = std::max(largest[term], std::abs(entry));
  CHECK(largest[0] == 8);
  CHECK(largest[1] == 32);
}

TEST_CASE("tensor-core kernels refuse what cannot run and say why") {
  using Space = Kokkos::DefaultExecutionSpace;
  BoxGrid const grid({2, 2, 2}, {1, 1, 1});
  OrthotropicMaterial material;
  material.young = {3, 1, 2};
  auto const orthotropic = hex8_stiffness(elasticity_matrix(material), {1, 1, 1});
  for (auto kernel : {Kernel::fused_wmma_exact, Kernel::fused_wmma_split}) {
    CHECK_THROWS_AS((make_tensor_core<Space, float>(kernel, grid, box(0.3))), InputError);
    CHECK_THROWS_WITH((make_tensor_core<Space, float>(kernel, grid, box(0.3))), Catch::Matchers::Contains("cubes"));
    CHECK_THROWS_WITH((make_tensor_core<Space, float>(kernel, grid, orthotropic)),
                      Catch::Matchers::Contains("isotropic"));
  }
  for (auto kernel : {Kernel::fused_wmma, Kernel::fused_wmma_exact, Kernel::fused_wmma_split}) {
    CHECK_THROWS_WITH((make_tensor_core<Space, double>(kernel, grid, cube(0.3))),
                      Catch::Matchers::Contains("FP64") && Catch::Matchers::Contains("BF16"));
  }
  CHECK_THROWS_WITH((make_tensor_core<Space, float>(Kernel::fused_mma_fp64, grid, cube(0.3))),
                    Catch::Matchers::Contains("FP32"));
  CHECK_THROWS_AS((make_tensor_core<Space, float>(Kernel::parity, grid, cube(0.3))), InputError);
}

TEMPLATE_TEST_CASE("tensor-core kernels stay within their bounds", "", BRICKWORK_TEST_SPACES) {
  compare_all<TestType>();
}
TEMPLATE_TEST_CASE("tensor-core kernels run on boxes longer than a launch dimension", "", BRICKWORK_TEST_SPACES) {
  long_boxes<TestType>();
}
TEMPLATE_TEST_CASE("portable bodies of the tensor-core kernels stay within their bounds", "", BRICKWORK_TEST_SPACES) {
  portable_bodies<TestType>();
}
TEMPLATE_TEST_CASE("translations give no force, except where K is rounded entry by entry", "", BRICKWORK_TEST_SPACES) {
  translations<TestType>();
}
TEMPLATE_TEST_CASE("tensor-core kernels keep their relative errors", "", BRICKWORK_TEST_SPACES) {
  relative_errors<TestType>();
}
TEMPLATE_TEST_CASE("tensor-core kernels take a connectivity table", "", BRICKWORK_TEST_SPACES) { tables<TestType>(); }
