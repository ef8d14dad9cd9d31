// SPDX-License-Identifier: BSD-3-Clause
// The local smoother: its list and its result against dense algebra, and a cycle with it.
#include "brickwork/solvers/detail/local_smoother.hpp"

#include <Eigen/Dense>

#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/galerkin_reference.hpp"
#include "support/multigrid_system.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr double uniform_bound = 3, single_bound = 5.4;

// Solid below a third of the height, void above, grey where `grey` says so.
ModulusField design(BoxGrid const& grid, std::function<bool(Index3 const&)> const& grey) {
  return [grid, grey, draw = random_moduli(1, 7)](Index3 const& c) {
    if (grey(c)) return 2 * (0.01 + 0.4 * draw(c));
    return 3 * c[2] < grid.cells()[2] ? 2.0 : 2e-9;
  };
}

struct Case {
  char const* name;
  BoxGrid grid;
  std::function<bool(Index3 const&)> grey;
};

std::vector<Case> cases() {
  return {
      {"odd", BoxGrid({13, 9, 7}, {13, 9, 7}), [](Index3 const& c) { return c[0] > 6 && c[0] < 10 && c[1] == 4; }},
      {"at the corners of the box", BoxGrid({9, 7, 11}, {9, 7, 11}),
       [](Index3 const& c) { return c[0] % 8 == 0 && c[1] % 6 == 0 && c[2] % 10 == 0; }},
      {"thin", BoxGrid({70, 2, 1}, {70, 4, 0.5}), [](Index3 const& c) { return c[0] == 30 || c[0] == 31; }},
      {"across the seams", BoxGrid({9, 8, 7}, {9, 8, 14}, {true, true, true}),
       [](Index3 const& c) { return (c[0] == 0 || c[0] == 8) && c[1] == 7 && c[2] % 6 == 0; }},
      {"periodic and thin", BoxGrid({2, 3, 64}, {2, 3, 64}, {true, true, false}),
       [](Index3 const& c) { return c[2] == 40; }},
  };
}

// Some constraints of every kind.
std::vector<std::uint8_t> supports(BoxGrid const& grid) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(grid.node_count()), 0);
  for (std::size_t node = 0; node < mask.size(); ++node) mask[node] = node % 5 == 0 ? (node / 5) % 8 : 0;
  return mask;
}

std::vector<index_t> grey_nodes(BoxGrid const& grid, std::vector<double> const& moduli) {
  using Smoother = detail::LocalSmoother<Kokkos::DefaultHostExecutionSpace>;
  double const largest = *std::max_element(moduli.begin(), moduli.end());
  std::vector<bool> grey(static_cast<std::size_t>(grid.node_count()), false);
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        double const ratio = moduli[static_cast<std::size_t>(grid.cell_index(i, j, k))] / largest;
        if (!(ratio > double(Smoother::lower) && ratio < double(Smoother::upper))) continue;
        for (index_t node : cell_nodes(grid, i, j, k)) grey[static_cast<std::size_t>(node)] = true;
      }
  std::vector<index_t> nodes;
  for (std::size_t node = 0; node < grey.size(); ++node)
    if (grey[node]) nodes.push_back(static_cast<index_t>(node));
  return nodes;
}

// c + R^T p(D^-1 A_S) D^-1 R (r - A c) in double precision.
Eigen::VectorXd reference(BoxGrid const& grid, Hex8Matrix const& stiffness, std::vector<double> const& moduli,
                          std::vector<std::uint8_t> const& mask, Eigen::VectorXd const& r, Eigen::VectorXd const& c) {
  using Smoother = detail::LocalSmoother<Kokkos::DefaultHostExecutionSpace>;
  index_t const nodes = grid.node_count();
  Eigen::MatrixXd const a = dense_stiffness(grid, stiffness, moduli, {});
  Eigen::VectorXd inverse = Eigen::VectorXd::Zero(a.rows());
  for (index_t node : grey_nodes(grid, moduli)) {
    // The moduli around the node, each once per corner that it has there.
    double sum = 0, largest = 0;
    Index3 const n = grid.cells();
    for (index_t cell = 0; cell < grid.cell_count(); ++cell) {
      double const modulus = moduli[static_cast<std::size_t>(cell)];
      for (index_t corner : cell_nodes(grid, cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1])) {
        if (corner != node) continue;
        sum += modulus;
        largest = std::max(largest, modulus);
      }
    }
    double const share = std::pow(std::max(largest / sum - 0.125, 0.0) / 0.875, 0.8);
    double const bound = double(Smoother::margin) * (uniform_bound + (single_bound - uniform_bound) * share);
    for (int d = 0; d < 3; ++d)
      if (!is_fixed(mask, node, d))
        inverse(node + d * nodes) =
            1 / (bound * sum * stiffness[static_cast<std::size_t>(d)][static_cast<std::size_t>(d)]);
  }
  Eigen::VectorXd const b = r - a * c;
  Eigen::VectorXd x = 4.0 / 3 * inverse.cwiseProduct(b), old = Eigen::VectorXd::Zero(x.size());
  for (int k = 1; k < Smoother::degree; ++k) {
    // Off the list and on constrained components the inverse is zero, and so stays x.
    Eigen::VectorXd const next =
        x + (2.0 * k - 1) / (2 * k + 3) * (x - old) + (8.0 * k + 4) / (2 * k + 3) * inverse.cwiseProduct(b - a * x);
    old = x;
    x = next;
  }
  return c + x;
}

template <class Space>
void against_dense_algebra() {
  using Memory = typename Space::memory_space;
  using Vector = NodalVector<float, Memory>;
  Space const space;
  for (auto const& at : cases()) {
    for (bool const constrained : {false, true}) {
      CAPTURE(at.name, constrained);
      BoxGrid const& grid = at.grid;
      index_t const nodes = grid.node_count();
      auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), grid.spacing());
      auto const moduli = moduli_on(grid, design(grid, at.grey));
      auto const mask = constrained ? supports(grid) : std::vector<std::uint8_t>();
      auto const device_moduli = to_device<CellField<float, Memory>>(space, moduli, grid.cell_count());
      auto const device_mask = to_device<NodeMask<Memory>>(space, mask, static_cast<index_t>(mask.size()));
      auto const temporary = allocate<Vector>(space, "temporary", nodes);
      Kokkos::deep_copy(temporary, std::numeric_limits<float>::quiet_NaN());
      detail::LocalSmoother<Space> smoother(space, grid, stiffness, device_moduli.data(),
                                            constrained ? device_mask.data() : nullptr, uniform_bound, single_bound,
                                            temporary.data());
      auto const listed = grey_nodes(grid, moduli);
      REQUIRE(static_cast<index_t>(listed.size()) <= smoother.most_nodes(grid));
      REQUIRE(!listed.empty());
      CHECK(smoother.list(space) == static_cast<index_t>(listed.size()));
      CHECK(to_host(smoother.nodes()) == std::vector<double>(listed.begin(), listed.end()));

      auto const ref = [&](Vector const& v) { return detail::VectorRef{v.data(), nodes}; };
      auto values = rounded<float>(random_values(3 * nodes, 3)), start = rounded<float>(random_values(3 * nodes, 4));
      for (index_t node = 0; node < nodes; ++node)
        for (int d = 0; d < 3; ++d)
          if (is_fixed(mask, node, d)) values[node + d * nodes] = start[node + d * nodes] = 0;
      auto const r = to_device<Vector>(space, values, nodes), c = to_device<Vector>(space, start, nodes);
      auto const map = [](std::vector<double> const& v) {
        return Eigen::VectorXd(Eigen::Map<Eigen::VectorXd const>(v.data(), static_cast<Eigen::Index>(v.size())));
      };
      auto const check = [&](Eigen::VectorXd const& expected) {
        auto const found = to_host(c);
        CHECK(max_difference(found, {expected.data(), expected.data() + expected.size()}) <=
              2e-5 * expected.lpNorm<Eigen::Infinity>());
        for (index_t node = 0; node < nodes; ++node)
          for (int d = 0; d < 3; ++d)
            if (is_fixed(mask, node, d)) CHECK(found[node + d * nodes] == 0);
      };
      smoother.correct(space, ref(r), ref(c));
      check(reference(grid, stiffness, moduli, mask, map(values), map(start)));
      smoother.smooth_from_zero(space, ref(r), ref(c));
      check(reference(grid, stiffness, moduli, mask, map(values), Eigen::VectorXd::Zero(3 * nodes)));
      auto const first = to_host(c);
      smoother.smooth_from_zero(space, ref(r), ref(c));
      CHECK(to_host(c) == first);
    }
  }
}

template <class Space>
void lists() {
  BoxGrid const grid({16, 7, 5}, {16, 7, 5});
  Body const plain = cantilever_body(grid, [](Index3 const&) { return 1.0; });
  MultigridSystem<Space> system(plain);
  CHECK_FALSE(system.multigrid->list_grey(system.space));  // none
  auto const moduli_with = [&](index_t grey_cells) {
    auto moduli = plain.moduli;
    for (index_t i = 0; i < grey_cells; ++i) moduli[static_cast<std::size_t>(grid.cell_index(i, 0, 0))] = 0.1;
    return moduli;
  };
  // n cells in a row along an edge have 4 (n + 1) nodes; an eighth of 17 x 8 x 6 is 102.
  system.set_moduli(moduli_with(16));
  CHECK(system.multigrid->list_grey(system.space));
  auto many = moduli_with(16);
  for (index_t i = 0; i < 16; ++i) many[static_cast<std::size_t>(grid.cell_index(i, 2, 0))] = 0.1;
  system.set_moduli(many);
  CHECK_FALSE(system.multigrid->list_grey(system.space));
  auto const r = random_values(grid.dof_count(), 5);
  CHECK(system.precondition(r, {-1, true}) == system.precondition(r));  // no effect
  CHECK_THROWS_AS(system.precondition(r, {-2, true}), InputError);
}

// Symmetric and positive with every smoother, on periodic grids too; zero where constrained.
template <class Space>
void symmetric_cycle() {
  for (auto const& at : cases()) {
    for (Smoother const kind : smoothers()) {
      Vec3 const h = at.grid.spacing();
      if (kind == Smoother::bf16 && !(h[0] == h[1] && h[1] == h[2])) continue;
      if (kind == Smoother::gauss_seidel && at.grid.periodic()[0]) continue;  // odd
      CAPTURE(at.name, to_string(kind));
      Body body = cantilever_body(at.grid, design(at.grid, at.grey));
      if (at.grid.periodic()[0]) {
        body.mask.clear();
      } else {
        for (std::size_t node = 0; node < body.mask.size(); node += 11) body.mask[node] |= 2;
      }
      MultigridSettings settings = MultigridSystem<Space>::deep();
      settings.krylov_levels = 0;
      settings.smoother = kind;
      MultigridSystem<Space> const system(body, settings);
      REQUIRE(system.multigrid->list_grey(system.space));
      auto const residual = [&](unsigned seed) {
        auto r = rounded<float>(random_values(at.grid.dof_count(), seed));
        for (index_t node = 0; node < at.grid.node_count(); ++node)
          for (int d = 0; d < 3; ++d)
            if (is_fixed(body.mask, node, d)) r[node + d * at.grid.node_count()] = 0;
        if (body.mask.empty()) {
          auto const forces = balanced_forces(at.grid, seed);
          for (std::size_t i = 0; i < r.size(); ++i) r[i / 3 + i % 3 * (r.size() / 3)] = forces[i];
        }
        return rounded<float>(r);
      };
      auto const a = residual(61), b = residual(62);
      auto const za = system.precondition(a, {-1, true}), zb = system.precondition(b, {-1, true});
      auto const dot = [](std::vector<double> const& x, std::vector<double> const& y) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
        return sum;
      };
      double const aa = dot(a, za), bb = dot(b, zb);
      CHECK(aa > 0);
      CHECK(bb > 0);
      CHECK(std::abs(dot(a, zb) - dot(b, za)) <= 1e-4 * std::sqrt(aa * bb));
      CHECK(system.precondition(a) != za);
      CAPTURE(to_string(kind), at.grid.cells()[0], at.grid.periodic()[0]);
      // The tensor-core kernel adds with atomics.
      CHECK(max_difference(system.precondition(a, {-1, true}), za) <=
            (kind == Smoother::bf16 ? 1e-4 * max_abs(za) : 0));
      for (index_t node = 0; node < at.grid.node_count(); ++node)
        for (int d = 0; d < 3; ++d)
          if (is_fixed(body.mask, node, d)) CHECK(za[node + d * at.grid.node_count()] == 0);
    }
  }
}

// A wavy grey sheet, loose in void above a solid.
template <class Space>
void loose_sheet() {
  BoxGrid const grid({48, 33, 24}, {48, 33, 24});
  MultigridSystem<Space> system(cantilever_body(grid, [](Index3 const& c) {
    double const sheet = 7 + 2 * std::sin(0.4 * static_cast<double>(c[0])) * std::cos(0.3 * static_cast<double>(c[2]));
    if (c[1] < 4) return 1.0;
    return std::abs(static_cast<double>(c[1]) - sheet) < 0.8 ? 0.05 : 1e-5;
  }));
  auto const solve = [&](bool adaptive) {
    Kokkos::deep_copy(system.space, system.u, 0.0);
    SolveOptions options{1e-5, 300};
    options.adaptive_cycle = adaptive;
    auto const result =
        system.cg.solve(system.space, system.outer, system.inner, *system.multigrid, system.forces, system.u, options);
    CHECK(result.converged());
    CHECK(system.residual() <= 1.1e-5);
    return result.iterations;
  };
  int const plain = solve(false), first = solve(true);
  int const second = solve(true);
  CAPTURE(plain, first, second);
  CHECK(first <= 0.7 * plain);  // found 132 and 82
  CHECK(second < first);        // local smoothing from the start: 67
  CHECK(solve(true) == second);
}

}  // namespace

TEMPLATE_TEST_CASE("the local smoother agrees with dense algebra", "[multigrid]", BRICKWORK_TEST_SPACES) {
  against_dense_algebra<TestType>();
}
TEMPLATE_TEST_CASE("few grey nodes are listed, many are not smoothed", "[multigrid]", BRICKWORK_TEST_SPACES) {
  lists<TestType>();
}
TEMPLATE_TEST_CASE("a cycle with the local smoother is symmetric and positive definite", "[multigrid]",
                   BRICKWORK_TEST_SPACES) {
  symmetric_cycle<TestType>();
}
TEMPLATE_TEST_CASE("the local smoother shortens a hard solve", "[multigrid]", BRICKWORK_TEST_SPACES) {
  loose_sheet<TestType>();
}
