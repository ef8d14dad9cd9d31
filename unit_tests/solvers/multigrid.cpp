// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/multigrid.hpp"

#include <Eigen/Dense>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/galerkin_reference.hpp"
#include "support/multigrid_system.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr int most_iterations = 60;

BoxGrid box(Index3 cells, Vec3 h = {1, 1, 1}) {
  return BoxGrid(cells, {h[0] * static_cast<double>(cells[0]), h[1] * static_cast<double>(cells[1]),
                         h[2] * static_cast<double>(cells[2])});
}

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> random_residual(Body const& body, unsigned seed) {
  auto r = rounded<float>(random_values(body.grid.dof_count(), seed));
  for (index_t node = 0; node < body.grid.node_count(); ++node)
    for (int d = 0; d < 3; ++d)
      if (is_fixed(body.mask, node, d)) r[static_cast<std::size_t>(node + d * body.grid.node_count())] = 0;
  return r;
}

// A V-cycle is a symmetric positive definite operator, whatever the field.
template <class Space>
void symmetric_cycle() {
  for (auto const& cells : {Index3{9, 7, 6}, Index3{20, 3, 1}, Index3{4, 4, 4}}) {
    for (auto const& named : hard_fields()) {
      CAPTURE(cells[0], cells[1], cells[2], named.name);
      for (int const degree : {1, 2, 3}) {
        MultigridSettings settings = MultigridSystem<Space>::deep();
        settings.krylov_levels = 0;
        settings.degree = degree;
        Body const body = cantilever_body(box(cells), named.field);
        MultigridSystem<Space> const system(body, settings);
        auto const a = random_residual(body, 61), b = random_residual(body, 62);
        auto const za = system.precondition(a), zb = system.precondition(b);
        double const aa = dot(a, za), bb = dot(b, zb), ab = dot(a, zb), ba = dot(b, za);
        CHECK(aa > 0);
        CHECK(bb > 0);
        // Sums of some thousand FP32 terms.
        CHECK(std::abs(ab - ba) <= 1e-4 * std::sqrt(aa * bb));
      }
    }
  }
}

// On periodic grids of odd length too, and without a trace of the translations.
template <class Space>
void symmetric_periodic_cycle() {
  for (auto const& cells : {Index3{9, 7, 5}, Index3{8, 8, 8}, Index3{20, 3, 2}}) {
    for (auto const& named : hard_fields()) {
      CAPTURE(cells[0], cells[1], cells[2], named.name);
      MultigridSettings settings = MultigridSystem<Space>::deep();
      settings.krylov_levels = 0;
      BoxGrid const grid(cells, {1, 1, 1}, {true, true, true});
      auto const residual = [&](unsigned seed) {
        auto const forces = balanced_forces(grid, seed);
        std::vector<double> r(forces.size());
        for (std::size_t i = 0; i < r.size(); ++i) r[i / 3 + i % 3 * (r.size() / 3)] = forces[i];
        return rounded<float>(r);
      };
      Body body{grid, moduli_on(grid, named.field), {}, {0}, {1, 0, 0}};
      MultigridSystem<Space> const system(body, settings);
      auto const a = residual(61), b = residual(62);
      auto const za = system.precondition(a), zb = system.precondition(b);
      double const aa = dot(a, za), bb = dot(b, zb);
      CHECK(aa > 0);
      CHECK(bb > 0);
      CHECK(std::abs(dot(a, zb) - dot(b, za)) <= 1e-4 * std::sqrt(aa * bb));
    }
  }
}

// To a residual that plain loops confirm.
template <class Space>
void converges(BoxGrid const& grid, std::vector<NamedField> const& fields, int most,
               MultigridSettings const& settings = MultigridSystem<Space>::deep()) {
  for (auto const& named : fields) {
    CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2], grid.spacing()[0], grid.spacing()[2], named.name);
    MultigridSystem<Space> system(cantilever_body(grid, named.field), settings);
    auto const result = system.solve(1e-5, most);
    CHECK(result.status == SolveStatus::converged);
    CHECK(result.iterations <= most);
    CHECK(result.true_relative_residual <= 1e-5);
    CHECK(system.residual() == Approx(result.true_relative_residual).epsilon(1e-3).margin(1e-7));
  }
}

// A section of one or two cells bends, and linear interpolation is too stiff for that on every level: slender grids
// take more iterations the fewer degrees of freedom the coarsest level has.
template <class Space>
void thin_grids() {
  MultigridSettings settings;
  settings.coarsest_dofs = 400;
  for (auto const& grid : {box({40, 3, 1}), box({64, 1, 1}), box({1, 1, 1}), box({2, 1, 1}), box({64, 1, 2}),
                           box({128, 2, 2}), box({32, 32, 1})})
    converges<Space>(grid, connected_fields(), 150, settings);
}

// The same displacement as conjugate gradients in FP64.
template <class Space>
void same_solution() {
  for (auto const& grid : {box({17, 9, 13}), box({40, 3, 1}), box({24, 1, 1}), box({1, 1, 1}), box({2, 1, 1}),
                           box({20, 12, 6}), box({12, 1, 2}, {1, 0.5, 0.5}), box({6, 10, 8}, {8, 1, 2})}) {
    CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2]);
    Body const body = cantilever_body(grid, log_uniform(0.1, 7));
    MultigridSettings settings;
    settings.coarsest_dofs = 400;
    MultigridSystem<Space> system(body, settings);
    auto const result = system.solve(1e-8);
    CAPTURE(to_string(result.status), result.iterations, result.true_relative_residual);
    CHECK(result.converged());

    using vector = NodalVector<double, typename Space::memory_space>;
    ConjugateGradient<Space, double, double> cg(system.space, grid);
    auto const moduli =
        to_device<CellField<double, typename Space::memory_space>>(system.space, body.moduli, grid.cell_count());
    system.outer.set_moduli(moduli);
    auto const f = to_device<vector>(system.space, body.load(), grid.node_count());
    auto const expected = allocate<vector>(system.space, "expected", grid.node_count());
    REQUIRE(cg.solve(system.space, system.outer, system.outer, f, expected, {1e-9, 20000}).converged());
    auto const reference = to_host(expected);
    CHECK(max_difference(to_host(system.u), reference) <= 1e-4 * max_abs(reference));
  }
}

template <class Space>
void small_tolerances() {
  for (auto const& named : connected_fields()) {
    CAPTURE(named.name);
    MultigridSystem<Space> system(cantilever_body(box({10, 7, 5}), named.field));
    CHECK(system.solve(1e-9).converged());
    CHECK(system.residual() <= 1.01e-9);
    // From the solution there is nothing to do.
    auto const again = system.solve(1e-8);
    CHECK(again.converged());
    CHECK(again.iterations == 0);
  }
}

// Any start value leads to the solution.
template <class Space>
void any_start() {
  Body const body = cantilever_body(box({8, 5, 6}), log_uniform(1e-3, 8));
  MultigridSystem<Space> system(body);
  REQUIRE(system.solve(1e-9).converged());
  auto const expected = to_host(system.u);
  auto const start = random_residual(body, 71);
  using vector = NodalVector<double, typename Space::memory_space>;
  Kokkos::deep_copy(system.u, to_device<vector>(system.space, start, body.grid.node_count()));
  auto const result = system.solve(1e-9);
  CHECK(result.converged());
  CHECK(max_difference(to_host(system.u), expected) <= 1e-6 * max_abs(expected));
}

template <class Space>
void prescribed_displacement() {
  Body body = cantilever_body(box({6, 5, 4}), log_uniform(1e-2, 9));
  // A component of a loaded node is held at a value.
  body.mask[static_cast<std::size_t>(body.nodes[3])] = 4;
  body.forces[3 * 3 + 2] = 0.625;
  MultigridSystem<Space> system(body);
  CHECK(system.solve(1e-8).converged());
  CHECK(system.residual() <= 1.01e-8);
  CHECK(to_host(system.u)[static_cast<std::size_t>(body.nodes[3] + 2 * body.grid.node_count())] == 0.625);
}

template <class Space>
void failures() {
  Body const body = cantilever_body(box({6, 5, 4}), log_uniform(1e-2, 10));
  MultigridSystem<Space> system(body);
  auto const& space = system.space;
  // Zero, missing and non-finite loads
  auto const solve_with = [&](std::vector<index_t> const& nodes, std::vector<double> const& forces) {
    NodalForces<typename Space::memory_space> f;
    f.nodes = to_device<decltype(f.nodes)>(space, nodes, static_cast<index_t>(nodes.size()));
    f.forces = to_device<decltype(f.forces)>(space, forces, static_cast<index_t>(forces.size()));
    return system.cg.solve(space, system.outer, system.inner, *system.multigrid, f, system.u, {1e-5, 100});
  };
  CHECK_THROWS_AS(solve_with({40}, {0, 0, 0}), InputError);
  CHECK_THROWS_AS(solve_with({}, {}), InputError);
  CHECK_THROWS_AS(solve_with({40}, {1, std::numeric_limits<double>::quiet_NaN(), 0}), InputError);
  CHECK_THROWS_AS(solve_with({40}, {1, 0}), InputError);
  CHECK_THROWS_AS(system.solve(0), InputError);
  CHECK_THROWS_AS(system.solve(1), InputError);

  auto const capped = system.solve(1e-9, 2);
  CHECK(capped.status == SolveStatus::capped);
  CHECK(capped.iterations == 2);
  CHECK(capped.true_relative_residual > 1e-9);
  CHECK(system.residual() == Approx(capped.true_relative_residual).epsilon(1e-6));

  // No stiffness at all, and a modulus that is none
  Kokkos::deep_copy(system.u, 0.0);
  system.set_moduli(std::vector<double>(body.moduli.size(), 0.0));
  CHECK(system.solve().status == SolveStatus::breakdown);
  auto moduli = body.moduli;
  moduli[17] = std::numeric_limits<double>::quiet_NaN();
  system.set_moduli(moduli);
  CHECK(system.solve().status == SolveStatus::breakdown);
  // A preconditioner that overflows, made from moduli that are no longer there: u is spared and the solve fails.
  system.set_moduli(std::vector<double>(body.moduli.size(), 1e-39));
  Kokkos::deep_copy(
      space, system.moduli,
      to_device<CellField<float, typename Space::memory_space>>(space, body.moduli, body.grid.cell_count()));
  Kokkos::deep_copy(system.u, 0.0);
  auto const spoilt = system.solve();
  CHECK(spoilt.status == SolveStatus::breakdown);
  CHECK(spoilt.true_relative_residual == Approx(1));
  CHECK(max_abs(to_host(system.u)) == 0);

  auto const refused = [&](void (*change)(MultigridSettings&)) {
    MultigridSettings settings;
    change(settings);
    CHECK_THROWS_AS(ElasticityMultigrid<Space>(space, system.inner, settings, system.cg.temporary()), InputError);
  };
  refused([](MultigridSettings& s) { s.degree = 0; });
  refused([](MultigridSettings& s) { s.degree = 9; });
  refused([](MultigridSettings& s) { s.krylov_levels = -2; });
  refused([](MultigridSettings& s) { s.coarsest_dofs = -1; });
  refused([](MultigridSettings& s) { s.coarsest_dofs = 3601; });
  refused([](MultigridSettings& s) { s.safety = 0.9; });
  refused([](MultigridSettings& s) { s.safety = std::numeric_limits<double>::quiet_NaN(); });
  refused([](MultigridSettings& s) { s.power_iterations = 0; });
  using inner_vector = NodalVector<float, typename Space::memory_space>;
  inner_vector const small("small", 7);
  CHECK_THROWS_AS(ElasticityMultigrid<Space>(space, system.inner, {}, small), InputError);
  CHECK_THROWS_AS(system.multigrid->apply(space, small, system.cg.temporary()), InputError);
  ElasticityOperator<Space, float> const bare(space, body.grid, body.stiffness(), ElasticityKernel::parity);
  CHECK_THROWS_AS(ElasticityMultigrid<Space>(space, bare, {}, system.cg.temporary()), InputError);
  ElasticityOperator<Space, float> other(space, body.grid, body.stiffness(), ElasticityKernel::node_gather);
  other.set_moduli(system.moduli);
  CHECK_THROWS_AS(ElasticityMultigrid<Space>(space, other, {}, system.cg.temporary()), InputError);
}

// No supports: the rigid part is projected out.
template <class Space>
void floating_body() {
  for (auto const& grid : {box({17, 9, 7}), box({8, 8, 8}), box({3, 2, 2}), box({24, 3, 1})}) {
    for (auto const& named : connected_fields()) {
      CAPTURE(grid.cells()[0], named.name);
      Body body{grid, moduli_on(grid, named.field), {}, {}, {}};
      Index3 const m = grid.nodes();
      // Opposite forces along their own lines
      for (index_t j = 0; j < m[1]; ++j) {
        body.nodes.push_back(grid.node_index(0, j, 0));
        body.nodes.push_back(grid.node_index(m[0] - 1, j, 0));
        body.forces.insert(body.forces.end(), {-1, 0, 0, 1, 0, 0});
      }
      MultigridSettings settings;
      settings.coarsest_dofs = 400;
      MultigridSystem<Space> system(body, settings);
      system.cg.set_free_modes(free_rigid_motions(grid, {}));
      auto const result = system.solve();
      CHECK(result.converged());
      CHECK(result.iterations <= most_iterations);
      CHECK(system.residual() <= 1.1e-5);
    }
  }
}

std::array<bool, 3> const periodic_axes{true, true, true};

template <class Space>
void periodic_body() {
  for (auto const& grid :
       {BoxGrid({8, 8, 8}, {8, 8, 8}, periodic_axes), BoxGrid({12, 6, 4}, {12, 6, 4}, periodic_axes),
        BoxGrid({5, 3, 7}, {5, 3, 7}, periodic_axes), BoxGrid({2, 2, 2}, {2, 2, 2}, periodic_axes),
        BoxGrid({2, 3, 5}, {2, 3, 5}, periodic_axes), BoxGrid({17, 17, 17}, {1, 1, 1}, periodic_axes),
        BoxGrid({15, 13, 11}, {15, 13, 11}, periodic_axes), BoxGrid({40, 3, 2}, {40, 3, 2}, periodic_axes),
        BoxGrid({9, 18, 5}, {9, 9, 5}, periodic_axes), BoxGrid({8, 6, 5}, {8, 6, 5}, {true, false, true}),
        BoxGrid({13, 1, 9}, {13, 1, 9}, {true, false, true})}) {
    for (auto const& named : connected_fields()) {
      CAPTURE(grid.cells()[0], grid.cells()[1], grid.cells()[2], named.name);
      MultigridSystem<Space> system(periodic_cell(grid, moduli_on(grid, named.field), balanced_forces(grid, 81)));
      system.cg.set_free_modes(translations());
      auto const result = system.solve();
      CHECK(result.converged());
      CHECK(result.iterations <= 20);
      CHECK(system.residual() <= 1.1e-5);
    }
  }
}

// Cells of homogenization under unit strains: the contrast 1e9, solid islands and empty corners take few iterations,
// whatever the size and whatever the unit of the moduli.
template <class Space>
void homogenization_cells() {
  for (auto const& cells : {Index3{16, 16, 16}, Index3{17, 17, 17}, Index3{22, 13, 9}}) {
    BoxGrid const grid(cells,
                       {static_cast<double>(cells[0]), static_cast<double>(cells[1]), static_cast<double>(cells[2])},
                       periodic_axes);
    // Distance from the centre, in periods
    auto const radius = [&](Index3 const& c) {
      double sum = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        double const x = (static_cast<double>(c[axis]) + 0.5) / static_cast<double>(cells[axis]) - 0.5;
        sum += x * x;
      }
      return std::sqrt(sum);
    };
    constexpr double soft = 1e-9;
    for (NamedField const& named : std::vector<NamedField>{
             {"ball in void", [&](Index3 const& c) { return radius(c) < 0.3 ? 1 : soft; }},
             {"balls that touch", [&](Index3 const& c) { return radius(c) < 0.55 ? 1 : soft; }},
             {"void ball", [&](Index3 const& c) { return radius(c) < 0.4 ? soft : 1; }},
             {"two phases at random",
              [draw = random_moduli(1, 3)](Index3 const& c) { return draw(c) < 0.5 ? 1 : 1e-3; }},
             {"solid, a tenth void",
              [draw = random_moduli(1, 4)](Index3 const& c) { return draw(c) < 0.9 ? 1 : soft; }}}) {
      for (int const strain : {0, 3}) {
        CAPTURE(cells[0], cells[1], cells[2], named.name, strain);
        auto moduli = moduli_on(grid, named.field);
        MultigridSystem<Space> system(periodic_cell(grid, moduli, strain_forces(grid, moduli, strain)));
        system.cg.set_free_modes(translations());
        auto const result = system.solve(1e-6);
        CHECK(result.converged());
        CHECK(result.iterations <= 25);  // found 6 to 18
        for (double& modulus : moduli) modulus *= 210e9;
        MultigridSystem<Space> steel(periodic_cell(grid, moduli, strain_forces(grid, moduli, strain)));
        steel.cg.set_free_modes(translations());
        auto const other = steel.solve(1e-6);
        CHECK(other.converged());
        CHECK(other.iterations <= 25);
        // The energies agree. Displacements need not: the residual does not tell where a loose island is.
        double const energy = dot(system.body.load(), to_host(system.u)),
                     scaled = dot(steel.body.load(), to_host(steel.u));
        CHECK(scaled / 210e9 == Approx(energy).epsilon(1e-5));
      }
    }
  }
}

template <class Space>
void repeatable() {
  Body const body = cantilever_body(box({13, 9, 6}), random_moduli(3));
  MultigridSystem<Space> first(body), second(body);
  auto const a = first.solve(), b = second.solve();
  CHECK(a.iterations == b.iterations);
  CHECK(to_host(first.u) == to_host(second.u));
  Kokkos::deep_copy(second.u, 0.0);
  second.solve();
  CHECK(to_host(first.u) == to_host(second.u));
}

// Units: u scales with force / (modulus x length).
template <class Space>
void units() {
  Body const body = cantilever_body(box({12, 8, 5}), random_moduli(3));
  MultigridSystem<Space> one(body);
  auto const expected = one.solve(1e-9);
  auto const reference = to_host(one.u);
  struct Units {
    double modulus, force, length;
  };
  for (Units const& unit : {Units{2e11, 1e6, 1e-3}, Units{1e-6, 1e-9, 1e3}}) {
    CAPTURE(unit.modulus, unit.force, unit.length);
    Body scaled = body;
    Vec3 const h{unit.length, unit.length, unit.length};
    scaled.grid = box(body.grid.cells(), h);
    for (double& modulus : scaled.moduli) modulus *= unit.modulus;
    for (double& force : scaled.forces) force *= unit.force;
    MultigridSystem<Space> other(scaled);
    auto const result = other.solve(1e-9);
    CHECK(result.converged());
    CHECK(std::abs(result.iterations - expected.iterations) <= 2);
    auto u = to_host(other.u);
    for (double& value : u) value *= unit.modulus * unit.length / unit.force;
    CHECK(max_difference(u, reference) <= 1e-5 * max_abs(reference));
  }
}

// update() leaves nothing of the moduli before.
template <class Space>
void updates() {
  Body const body = cantilever_body(box({13, 9, 6}), log_uniform(1e-3, 11));
  MultigridSystem<Space> system(body);
  auto const r = random_residual(body, 63);
  auto const before = system.precondition(r);
  CHECK(system.precondition(r) == before);
  Body other = body;
  other.moduli = moduli_on(body.grid, hard_fields()[5].field);
  MultigridSystem<Space> const fresh(other);
  system.set_moduli(other.moduli);
  system.multigrid->update(system.space);
  CHECK(system.precondition(r) == fresh.precondition(r));
  CHECK(system.precondition(r) != before);
}

// Largest eigenvalues of D^-1 A: of one cell, and of equal cells (waves of 0 and pi: a periodic grid of two cells).
struct SpectralBounds {
  double single, uniform;
};
SpectralBounds spectral_bounds(Hex8Matrix const& stiffness) {
  auto const largest = [&](BoxGrid const& grid) {
    std::vector<double> const ones(static_cast<std::size_t>(grid.cell_count()), 1.0);
    Eigen::MatrixXd const a = dense_stiffness(grid, stiffness, ones, {});
    Eigen::VectorXd const root = a.diagonal().cwiseSqrt().cwiseInverse();
    Eigen::MatrixXd const scaled = root.asDiagonal() * a * root.asDiagonal();
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
  };
  return {largest(BoxGrid({1, 1, 1}, {1, 1, 1})), largest(BoxGrid({2, 2, 2}, {1, 1, 1}, {true, true, true}))};
}

// The largest eigenvalue of D'^-1 A, with D' of BoundedInverse; in exact arithmetic a Chebyshev smoother of the fourth
// kind needs at most 1.
template <class Space>
void bounded_inverse() {
  Space const space;
  std::vector<Vec3> const spacings{{1, 1, 1}, {1, 1, 4}, {1, 2, 0.5}};
  for (auto const& h : spacings) {
    for (auto const& periodic : {std::array<bool, 3>{false, false, false}, std::array<bool, 3>{true, true, true}}) {
      Index3 const cells{6, 4, 3};
      BoxGrid const grid(cells, {6 * h[0], 4 * h[1], 3 * h[2]}, periodic);
      for (double const poisson : {0.0, 0.3, 0.45}) {
        auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, poisson}), h);
        auto const bounds = spectral_bounds(stiffness);
        for (auto const& named : hard_fields()) {
          CAPTURE(h[0], h[1], h[2], periodic[0], poisson, named.name);
          auto const moduli = moduli_on(grid, named.field);
          auto const device_moduli =
              to_device<CellField<float, typename Space::memory_space>>(space, moduli, grid.cell_count());
          auto const inverse =
              allocate<CellField<float, typename Space::memory_space>>(space, "inverse", grid.node_count());
          detail::BoundedInverse kernel{detail::NodeBox(grid),
                                        {6, 4, 3},
                                        device_moduli.data(),
                                        inverse.data(),
                                        static_cast<float>(bounds.uniform),
                                        static_cast<float>(bounds.single)};
          for_each("test", space, grid.node_count(), kernel);
          auto const scale = to_host(inverse);
          auto const a = dense_stiffness(grid, stiffness, moduli, {});
          Eigen::VectorXd root(grid.dof_count());
          for (index_t node = 0; node < grid.node_count(); ++node)
            for (index_t d = 0; d < 3; ++d)
              root(node + d * grid.node_count()) =
                  std::sqrt(scale[static_cast<std::size_t>(node)] /
                            stiffness[static_cast<std::size_t>(d)][static_cast<std::size_t>(d)]);
          Eigen::MatrixXd const scaled = root.asDiagonal() * a * root.asDiagonal();
          Eigen::VectorXd x(grid.dof_count());
          auto const start = random_values(grid.dof_count(), 91);
          for (index_t i = 0; i < x.size(); ++i) x(i) = start[static_cast<std::size_t>(i)];
          double largest = 0;
          for (int i = 0; i < 60; ++i) {
            x.normalize();
            Eigen::VectorXd const next = scaled * x;
            largest = x.dot(next);
            x = next;
          }
          // Cubes of ordinary materials; elsewhere below 5/4, up to which a smoother of degree 2 still contracts.
          bool const ordinary = h[0] == h[1] && h[1] == h[2] && poisson <= 0.3;
          CHECK(largest < (ordinary ? 1.05 : 1.25));
          CHECK(largest > 0.3);
        }
      }
    }
  }
}

// What is allocated is what bytes() says.
std::uint64_t allocated = 0;
void count_allocation(Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t size) { allocated += size; }
std::uint64_t freed = 0;
void count_release(Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t size) { freed += size; }

template <class Space>
void predicted_bytes() {
  Space const space;
  for (auto const& grid : {box({96, 40, 60}), box({600, 150, 1}), box({40, 130, 8}),
                           BoxGrid({65, 63, 33}, {1, 1, 1}, {true, true, true})}) {
    bool const supported = !grid.periodic()[0];
    for (int const krylov_levels : {0, -1}) {
      CAPTURE(grid.cells()[0], krylov_levels);
      Body body = cantilever_body(grid, [](Index3 const&) { return 1.0; });
      if (!supported) body.mask.clear();
      MultigridSettings settings;
      settings.krylov_levels = krylov_levels;
      MultigridSystem<Space> const system(body, settings);
      allocated = freed = 0;
      Kokkos::Tools::Experimental::set_allocate_data_callback(count_allocation);
      Kokkos::Tools::Experimental::set_deallocate_data_callback(count_release);
      ElasticityMultigrid<Space> const multigrid(space, system.inner, settings, system.cg.temporary());
      Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
      Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
      auto const predicted = static_cast<double>(ElasticityMultigrid<Space>::bytes(grid, supported, settings));
      // Tables and workspaces of any grid; a GPU's are larger.
      constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
      CHECK(static_cast<double>(allocated - freed) == Approx(predicted).epsilon(0.03).margin(on_host ? 200e3 : 1e6));
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a V-cycle is symmetric and positive definite", "[multigrid]", BRICKWORK_TEST_SPACES) {
  symmetric_cycle<TestType>();
}
TEMPLATE_TEST_CASE("multigrid and FP64 conjugate gradients agree", "[multigrid]", BRICKWORK_TEST_SPACES) {
  same_solution<TestType>();
}
TEMPLATE_TEST_CASE("patterns with a contrast of 1e9 converge on odd grids", "[multigrid]", BRICKWORK_TEST_SPACES) {
  converges<TestType>(box({17, 9, 13}), hard_fields(), most_iterations);
  converges<TestType>(box({20, 12, 6}), hard_fields(), most_iterations);
}
TEMPLATE_TEST_CASE("moduli at random over nine decades converge", "[multigrid]", BRICKWORK_TEST_SPACES) {
  converges<TestType>(box({17, 9, 13}), {{"log-uniform", log_uniform(1e-9)}}, 400);
}
TEMPLATE_TEST_CASE("slender grids converge", "[multigrid]", BRICKWORK_TEST_SPACES) { thin_grids<TestType>(); }
TEMPLATE_TEST_CASE("stretched cells converge", "[multigrid]", BRICKWORK_TEST_SPACES) {
  for (auto const& grid : {box({6, 10, 8}, {8, 1, 2}), box({12, 10, 5}, {1, 1, 3}), box({24, 8, 8}, {0.1, 1, 1}),
                           box({8, 8, 3}, {1, 1, 64})})
    converges<TestType>(grid, connected_fields(), 100);
}
TEMPLATE_TEST_CASE("multigrid reaches tolerances below FP32, and keeps a solution", "[multigrid]",
                   BRICKWORK_TEST_SPACES) {
  small_tolerances<TestType>();
}
TEMPLATE_TEST_CASE("any start value leads to the solution", "[multigrid]", BRICKWORK_TEST_SPACES) {
  any_start<TestType>();
}
TEMPLATE_TEST_CASE("prescribed displacements are kept", "[multigrid]", BRICKWORK_TEST_SPACES) {
  prescribed_displacement<TestType>();
}
TEMPLATE_TEST_CASE("multigrid solves that fail say so", "[multigrid]", BRICKWORK_TEST_SPACES) { failures<TestType>(); }
TEMPLATE_TEST_CASE("multigrid solves a floating body up to its rigid modes", "[multigrid]", BRICKWORK_TEST_SPACES) {
  floating_body<TestType>();
}
TEMPLATE_TEST_CASE("multigrid solves periodic bodies under balanced loads", "[multigrid]", BRICKWORK_TEST_SPACES) {
  periodic_body<TestType>();
}
TEMPLATE_TEST_CASE("multigrid solves the cells of homogenization", "[multigrid]", BRICKWORK_TEST_SPACES) {
  homogenization_cells<TestType>();
}
TEMPLATE_TEST_CASE("a periodic V-cycle is symmetric and positive definite", "[multigrid]", BRICKWORK_TEST_SPACES) {
  symmetric_periodic_cycle<TestType>();
}
TEMPLATE_TEST_CASE("multigrid solves are bitwise repeatable", "[multigrid]", BRICKWORK_TEST_SPACES) {
  repeatable<TestType>();
}
TEMPLATE_TEST_CASE("units do not matter to multigrid", "[multigrid]", BRICKWORK_TEST_SPACES) { units<TestType>(); }
TEMPLATE_TEST_CASE("an updated multigrid equals a fresh one", "[multigrid]", BRICKWORK_TEST_SPACES) {
  updates<TestType>();
}
TEMPLATE_TEST_CASE("the local bound of the spectrum holds for any moduli", "[multigrid]", BRICKWORK_TEST_SPACES) {
  bounded_inverse<TestType>();
}
TEMPLATE_TEST_CASE("multigrid allocates what it predicts", "[multigrid]", BRICKWORK_TEST_SPACES) {
  predicted_bytes<TestType>();
}
