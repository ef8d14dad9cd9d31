// SPDX-License-Identifier: BSD-3-Clause
// The portable parity kernel with each epilogue, in FP32, FP64 and mixed precision, against the plain-loop reference.
#include "brickwork/operators/detail/elasticity_parity_portable.hpp"

#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;
using detail::ElasticityData;

namespace {

struct Case {
  Index3 cells;
  std::array<bool, 3> periodic;
  index_t sides;
  Vec3 spacing;
};

// Odd, thin, long and periodic boxes; more than one tile per axis (540, 100 x 37), more than one block per row (257).
std::vector<Case> const cases{
    {{1, 1, 1}, {false, false, false}, 1, {1, 1, 1}},    {{1, 7, 2}, {false, false, false}, 3, {1, 2, 5}},
    {{37, 23, 19}, {false, false, false}, 2, {1, 1, 1}}, {{33, 1, 65}, {false, false, false}, 1, {1, 2, 5}},
    {{64, 9, 8}, {false, false, false}, 6, {1, 1, 1}},   {{5, 6, 7}, {true, true, true}, 6, {1, 1, 1}},
    {{2, 1, 3}, {true, false, true}, 1, {1, 2, 5}},      {{31, 4, 33}, {true, false, false}, 3, {1, 1, 1}},
    {{2, 2, 2}, {true, true, true}, 11, {1, 1, 1}},      {{3, 40, 2}, {false, true, false}, 2, {1, 2, 5}},
    {{2, 3, 5}, {true, true, true}, 6, {1, 2, 5}},       {{3, 3, 3}, {true, true, true}, 2, {1, 1, 1}},
    {{130, 3, 17}, {false, false, true}, 1, {1, 1, 1}},  {{257, 5, 4}, {true, false, false}, 2, {1, 1, 1}},
    {{540, 2, 3}, {false, false, false}, 2, {1, 1, 1}},  {{100, 37, 3}, {true, true, false}, 6, {1, 2, 5}}};

enum class Kind { product, product_dot, residual, residual_norm, first_relaxation, relaxation };
std::vector<Kind> const kinds{Kind::product,       Kind::product_dot,      Kind::residual,
                              Kind::residual_norm, Kind::first_relaxation, Kind::relaxation};

// `sides` vectors of 3 nodes values each, component stride `stride`, `next` apart; NaN between them.
struct Layout {
  index_t nodes, stride, next, sides;
  index_t size() const { return next * (sides - 1) + 3 * stride; }
};

std::vector<double> spread(Layout const& layout, std::vector<double> const& values) {
  std::vector<double> all(static_cast<std::size_t>(layout.size()), std::numeric_limits<double>::quiet_NaN());
  for (index_t side = 0; side < layout.sides; ++side)
    for (int d = 0; d < 3; ++d)
      for (index_t node = 0; node < layout.nodes; ++node)
        all[node + d * layout.stride + side * layout.next] = values[node + layout.nodes * (d + 3 * side)];
  return all;
}

std::vector<double> gather(Layout const& layout, std::vector<double> const& all) {
  std::vector<double> values(static_cast<std::size_t>(3 * layout.nodes * layout.sides));
  for (index_t side = 0; side < layout.sides; ++side)
    for (int d = 0; d < 3; ++d)
      for (index_t node = 0; node < layout.nodes; ++node)
        values[node + layout.nodes * (d + 3 * side)] = all[node + d * layout.stride + side * layout.next];
  return values;
}

// Nothing but the nodes' values may be written.
bool gaps_untouched(Layout const& layout, std::vector<double> all) {
  for (index_t side = 0; side < layout.sides; ++side)
    for (int d = 0; d < 3; ++d)
      for (index_t node = 0; node < layout.nodes; ++node)
        all[node + d * layout.stride + side * layout.next] = std::numeric_limits<double>::quiet_NaN();
  return std::all_of(all.begin(), all.end(), [](double value) { return std::isnan(value); });
}

template <class Space, class Scalar, class Value>
struct Problem {
  using Vector = CellField<Value, typename Space::memory_space>;

  Case test;
  BoxGrid grid;
  Hex8Matrix stiffness;
  index_t nodes;
  bool masked;
  Layout in, out;
  std::vector<double> moduli, u, f, inverse, old, expected;  // expected = K u
  std::vector<std::uint8_t> mask;
  CellField<Scalar, typename Space::memory_space> device_moduli;
  NodeMask<typename Space::memory_space> device_mask;
  Vector device_u, device_f, device_inverse;
  ElasticityData<Scalar> data;

  Problem(Case const& test_, bool masked_, double shift)
      : test(test_), grid(test.cells, test.spacing, test.periodic), nodes(grid.node_count()), masked(masked_) {
    Space const space;
    stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), test.spacing);
    in = {nodes, nodes + 5, 3 * (nodes + 5) + 7, test.sides};
    out = {nodes, nodes + 2, 3 * (nodes + 2) + 1, test.sides};
    moduli = rounded<Scalar>(random_values(grid.cell_count(), 1, 1e-9, 1));
    u = rounded<Value>(random_values(3 * nodes * test.sides, 2));
    f = rounded<Value>(random_values(3 * nodes * test.sides, 4));
    inverse = rounded<Value>(random_values(nodes, 5, 0.5, 1));
    old = rounded<Value>(random_values(3 * nodes * test.sides, 6));
    if (masked) mask = random_mask(nodes, 3);
    for (index_t side = 0; side < test.sides; ++side) {
      std::vector<double> const one(u.begin() + 3 * nodes * side, u.begin() + 3 * nodes * (side + 1));
      auto const product = reference_apply(grid, stiffness, moduli, mask, one);
      expected.insert(expected.end(), product.begin(), product.end());
    }
    for (double& value : u) value += shift;
    device_moduli = to_device<decltype(device_moduli)>(space, moduli, grid.cell_count());
    if (masked) device_mask = to_device<decltype(device_mask)>(space, mask, nodes);
    device_u = to_device<Vector>(space, spread(in, u), in.size());
    device_f = to_device<Vector>(space, spread(in, f), in.size());
    device_inverse = to_device<Vector>(space, inverse, nodes);
    data = detail::elasticity_data<Scalar>(grid, stiffness, parity_blocks(stiffness));
    data.moduli = device_moduli.data();
    data.mask = masked ? device_mask.data() : nullptr;
  }

  template <class Epilogue>
  std::vector<double> apply(index_t sides, Epilogue const& epilogue) const {
    Space const space;
    CellField<double, typename Space::memory_space> partials, sums;
    if (Epilogue::has_sum) {
      partials = allocate<decltype(partials)>(space, "partials", parity_portable_partials(space, data, sides));
      sums = allocate<decltype(sums)>(space, "sums", sides);
    }
    if (masked) {
      detail::apply_parity_portable<Space, Scalar, true, Value>(space, data, device_u.data(), in.stride, sides, in.next,
                                                                epilogue, partials.data(), sums.data());
    } else {
      detail::apply_parity_portable<Space, Scalar, false, Value>(space, data, device_u.data(), in.stride, sides,
                                                                 in.next, epilogue, partials.data(), sums.data());
    }
    return to_host(sums);
  }
};

struct Output {
  std::vector<double> values, sums;
  bool clean;
};

template <class Space, class Scalar, class Value>
Output run(Problem<Space, Scalar, Value> const& p, Kind kind) {
  using Vector = typename Problem<Space, Scalar, Value>::Vector;
  Space const space;
  Layout one = p.out;
  if (kind == Kind::first_relaxation || kind == Kind::relaxation) one.sides = 1;
  std::vector<double> const nothing(static_cast<std::size_t>(one.size()), std::numeric_limits<double>::quiet_NaN());
  auto const result = to_device<Vector>(space, nothing, one.size());
  Value const* const u = p.device_u.data();
  Value const* const f = p.device_f.data();
  index_t const su = p.in.stride, nu = p.in.next, so = p.out.stride, no = p.out.next;
  detail::StoreProduct<Value> const product{u, result.data(), su, so, nu, no};
  Output output;
  switch (kind) {
    case Kind::product:
      p.apply(p.test.sides, product);
      break;
    case Kind::product_dot:
      output.sums = p.apply(p.test.sides, detail::StoreProductDot<Value>{product});
      break;
    case Kind::residual:
      p.apply(p.test.sides, detail::StoreResidual<Value, Value, false>{u, f, result.data(), su, su, so, nu, nu, no});
      break;
    case Kind::residual_norm:
      output.sums =
          p.apply(p.test.sides, detail::StoreResidual<Value, Value, true>{u, f, result.data(), su, su, so, nu, nu, no});
      break;
    case Kind::first_relaxation:
    case Kind::relaxation: {
      Vector const old = to_device<Vector>(space, spread(one, p.old), one.size());
      auto const relax = [&](auto form) {
        form.u = u;
        form.f = f;
        form.inverse = p.device_inverse.data();
        form.old = old.data();
        form.result = result.data();
        form.stride_u = form.stride_f = su;
        form.stride_old = form.stride_result = so;
        form.s = Value(1.5);
        form.a = Value(0.25);
        form.b = Value(0.5);
        for (int d = 0; d < 3; ++d) form.factor[d] = Value(0.1 * (d + 1));
        p.apply(1, form);
      };
      if (kind == Kind::first_relaxation) {
        relax(detail::Relaxation<Value, true>{});
      } else {
        relax(detail::Relaxation<Value, false>{});
      }
      break;
    }
  }
  auto const all = to_host(result);
  output.values = gather(one, all);
  output.clean = gaps_untouched(one, all);
  return output;
}

template <class Space, class Scalar, class Value>
void check(Case const& test, bool masked) {
  Problem<Space, Scalar, Value> const p(test, masked, 0);
  INFO("cells " << test.cells[0] << " x " << test.cells[1] << " x " << test.cells[2] << ", periodic "
                << test.periodic[0] << test.periodic[1] << test.periodic[2] << ", sides " << test.sides << ", masked "
                << masked);
  double const bound = product_tolerance<Scalar>(p.stiffness);
  double const eps = std::numeric_limits<Value>::epsilon();
  double const factor[3] = {0.1, 0.2, 0.3};
  auto const fixed = [&](index_t row) { return masked && ((p.mask[row % p.nodes] >> (row / p.nodes % 3)) & 1); };
  for (Kind kind : kinds) {
    INFO("epilogue " << static_cast<int>(kind));
    auto const output = run(p, kind);
    auto const again = run(p, kind);
    CHECK(output.clean);
    CHECK(output.values == again.values);
    CHECK(output.sums == again.sums);
    auto const rows = static_cast<index_t>(output.values.size());
    double worst = 0;
    bool exact = true;
    // Per side: the sum, a bound of its error by that of the products, and the sum of absolute terms.
    std::vector<double> sums(test.sides, 0.0), errors(test.sides, 0.0);
    for (index_t row = 0; row < rows; ++row) {
      double const u = p.u[row], f = p.f[row], w = p.expected[row];
      double value = w;
      if (kind == Kind::residual || kind == Kind::residual_norm) value = f - w;
      if (kind == Kind::first_relaxation || kind == Kind::relaxation) {
        value = 1.5 * u + 0.5 * p.inverse[row % p.nodes] * factor[row / p.nodes % 3] * (f - w);
        if (kind == Kind::relaxation) value += 0.25 * p.old[row];
        if (fixed(row)) value = u;
      }
      double const difference = std::abs(output.values[row] - value);
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      if (fixed(row)) {
        double const kept = value == f - w ? static_cast<double>(static_cast<Value>(f) - static_cast<Value>(u)) : u;
        exact = exact && output.values[row] == kept;
      }
      index_t const side = row / (3 * p.nodes);
      if (kind == Kind::product_dot) {
        sums[side] += u * w;
        errors[side] += std::abs(u) * (bound + 4 * eps * std::abs(w));
      }
      if (kind == Kind::residual_norm) {
        sums[side] += value * value;
        errors[side] += std::abs(value) * (2 * bound + 4 * eps * std::abs(value)) + bound * bound;
      }
    }
    CHECK(worst < bound + 4 * eps);
    CHECK(exact);
    for (std::size_t side = 0; side < output.sums.size(); ++side) {
      CHECK(std::abs(output.sums[side] - sums[side]) <= errors[side]);
    }
  }
}

template <class Space, class Scalar, class Value>
void check_all() {
  for (auto const& test : cases)
    for (bool masked : {false, true}) check<Space, Scalar, Value>(test, masked);
}

// Neither a translation nor the absolute size of u costs digits: only differences across a cell round to FP32.
template <class Space>
void translated() {
  for (auto const& test : cases) {
    Problem<Space, float, double> const p(test, false, 1e6);
    INFO("cells " << test.cells[0] << " x " << test.cells[1] << " x " << test.cells[2]);
    auto const output = run(p, Kind::product);
    // Beside the FP32 tolerance: u + 1e6 and the sums of four of them round in FP64.
    double const shifted = product_tolerance<double>(p.stiffness) * 4e6;
    CHECK(max_difference(output.values, p.expected) < product_tolerance<float>(p.stiffness) + shifted);
  }
}

// A long bar under a gradient a thousand times the load's own: the error is that of the local differences, not that of
// values relative to one constant.
template <class Space>
void local_differences() {
  Case const test{{96, 3, 3}, {false, false, false}, 1, {1, 1, 1}};
  Problem<Space, float, double> p(test, false, 0);
  Space const space;
  std::fill(p.moduli.begin(), p.moduli.end(), 1.0);
  Kokkos::deep_copy(p.device_moduli, 1.0f);
  for (index_t row = 0; row < 3 * p.nodes; ++row) {
    p.u[row] = (row % p.nodes % 97) * 1.0 + 1e-3 * p.u[row];
  }
  p.device_u = to_device<decltype(p.device_u)>(space, spread(p.in, p.u), p.in.size());
  p.expected = reference_apply(p.grid, p.stiffness, p.moduli, {}, p.u);
  auto const output = run(p, Kind::product);
  CHECK(max_difference(output.values, p.expected) < product_tolerance<float>(p.stiffness));
}

// Every side of a launch gives what a launch of its own gives, to the last bit.
template <class Space>
void sides_are_independent() {
  Case const test{{37, 23, 5}, {false, true, false}, 6, {1, 1, 1}};
  Problem<Space, float, float> const all(test, true, 0);
  auto const together = run(all, Kind::product);
  auto one = all;
  one.test.sides = one.in.sides = one.out.sides = 1;
  for (index_t side = 0; side < test.sides; ++side) {
    one.device_u = to_device<decltype(one.device_u)>(
        Space{}, spread(one.in, {all.u.begin() + 3 * all.nodes * side, all.u.begin() + 3 * all.nodes * (side + 1)}),
        one.in.size());
    auto const alone = run(one, Kind::product);
    CHECK(std::equal(alone.values.begin(), alone.values.end(), together.values.begin() + 3 * all.nodes * side));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("portable parity kernel with every epilogue in FP64", "", BRICKWORK_TEST_SPACES) {
  check_all<TestType, double, double>();
}
TEMPLATE_TEST_CASE("portable parity kernel with every epilogue in FP32", "", BRICKWORK_TEST_SPACES) {
  check_all<TestType, float, float>();
}
TEMPLATE_TEST_CASE("portable parity kernel with every epilogue, FP32 product of FP64 vectors", "",
                   BRICKWORK_TEST_SPACES) {
  check_all<TestType, float, double>();
}
TEMPLATE_TEST_CASE("a translation costs the mixed parity kernel no digits", "", BRICKWORK_TEST_SPACES) {
  translated<TestType>();
}
TEMPLATE_TEST_CASE("the mixed parity kernel rounds local differences only", "", BRICKWORK_TEST_SPACES) {
  local_differences<TestType>();
}
TEMPLATE_TEST_CASE("right-hand sides of one launch are independent", "", BRICKWORK_TEST_SPACES) {
  sides_are_independent<TestType>();
}
TEST_CASE("cubes are recognized by their blocks") {
  detail::CubeParity<double> cube;
  double k[8][3][3];
  detail::copy_blocks(parity_blocks(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {2, 2, 2})), k);
  CHECK(detail::cube_parity(k, cube));
  detail::copy_blocks(parity_blocks(hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {2, 2, 2.001})), k);
  CHECK_FALSE(detail::cube_parity(k, cube));
}
