// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/homogenized_tensor.hpp"

#include <Eigen/Dense>

#include "brickwork/core/check.hpp"
#include "brickwork/fem/unit_strain.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

constexpr std::array<bool, 3> all_axes{true, true, true};

BoxGrid cell_grid(Index3 cells, Vec3 lengths = {1, 1, 1}) { return BoxGrid(cells, lengths, all_axes); }

Hex8Matrix stiffness_of(BoxGrid const& grid, double poisson = 0.3) {
  return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, poisson}), grid.spacing());
}

SolverSettings tight(SolverMethod method = SolverMethod::automatic, double tolerance = 1e-9) {
  SolverSettings settings;
  settings.method = method;
  settings.tolerance = tolerance;
  return settings;
}

template <class Space>
Tensor6 tensor_of(BoxGrid const& grid, std::vector<double> const& moduli, SolverSettings const& settings = tight()) {
  Space const space;
  auto const field =
      to_device<CellField<double, typename Space::memory_space>>(space, moduli, static_cast<index_t>(moduli.size()));
  return homogenized_tensor<Space>(space, grid, field, 0.3, settings);
}

double distance(Tensor6 const& a, Tensor6 const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double const difference = std::abs(a[i][j] - b[i][j]);
      largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
    }
  return largest;
}

// The same by a dense matrix and plain loops: pinned at node 0, which changes no energy.
Tensor6 dense_reference(BoxGrid const& grid, std::vector<double> const& moduli) {
  Hex8Matrix const k0 = stiffness_of(grid);
  index_t const nodes = grid.node_count();
  Eigen::MatrixXd k = Eigen::MatrixXd::Zero(3 * nodes, 3 * nodes);
  Eigen::MatrixXd f = Eigen::MatrixXd::Zero(3 * nodes, 6);
  Index3 const n = grid.cells();
  Eigen::Matrix<double, 24, 6> chi;
  for (int s = 0; s < 6; ++s) {
    auto const corners = strain_displacements(unit_strain(static_cast<std::size_t>(s)), grid.spacing());
    for (int a = 0; a < 24; ++a) chi(a, s) = corners[static_cast<std::size_t>(a / 3)][static_cast<std::size_t>(a % 3)];
  }
  Eigen::Matrix<double, 24, 24> element;
  for (int a = 0; a < 24; ++a)
    for (int b = 0; b < 24; ++b) element(a, b) = k0[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  auto const visit = [&](auto const& body) {
    for (index_t z = 0; z < n[2]; ++z)
      for (index_t y = 0; y < n[1]; ++y)
        for (index_t x = 0; x < n[0]; ++x) body(cell_nodes(grid, x, y, z), moduli[grid.cell_index(x, y, z)]);
  };
  visit([&](auto const& corner, double modulus) {
    Eigen::Matrix<double, 24, 6> const forces = modulus * element * chi;
    for (int a = 0; a < 24; ++a) {
      index_t const row = 3 * corner[a / 3] + a % 3;
      f.row(row) += forces.row(a);
      for (int b = 0; b < 24; ++b) k(row, 3 * corner[b / 3] + b % 3) += modulus * element(a, b);
    }
  });
  index_t const free = 3 * nodes - 3;
  Eigen::MatrixXd u = Eigen::MatrixXd::Zero(3 * nodes, 6);
  u.bottomRows(free) = k.bottomRightCorner(free, free).ldlt().solve(f.bottomRows(free));
  Eigen::Matrix<double, 6, 6> c = Eigen::Matrix<double, 6, 6>::Zero();
  visit([&](auto const& corner, double modulus) {
    Eigen::Matrix<double, 24, 6> total = chi;
    for (int a = 0; a < 24; ++a) total.row(a) -= u.row(3 * corner[a / 3] + a % 3);
    c += modulus * total.transpose() * element * total;
  });
  double const volume = grid.lengths()[0] * grid.lengths()[1] * grid.lengths()[2];
  Tensor6 result;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) result[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = c(i, j) / volume;
  return result;
}

std::vector<double> two_phase(BoxGrid const& grid, unsigned seed, double low, double high = 1) {
  auto values = random_values(grid.cell_count(), seed);
  for (double& value : values) value = value > 0 ? high : low;
  return values;
}

}  // namespace

TEST_CASE("a cell under a constant strain resists it with its stress", "[fem]") {
  Vec3 const h{0.5, 0.25, 2};
  Hex8Matrix const k = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), h);
  auto const c = elasticity_matrix(IsotropicMaterial{1, 0.3});
  Vector6 const strain{0.3, -0.1, 0.2, 0.5, -0.4, 0.7};
  auto const forces = strain_forces(k, h, strain);
  auto const corners = strain_displacements(strain, h);
  double energy = 0, expected = 0;
  for (std::size_t n = 0; n < 8; ++n)
    for (std::size_t d = 0; d < 3; ++d) energy += forces[n][d] * corners[n][d];
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) expected += strain[i] * c[i][j] * strain[j] * h[0] * h[1] * h[2];
  CHECK(energy == Approx(expected).epsilon(1e-12));
  // gradient of the corner displacements along x is the strain's first column
  CHECK(corners[1][0] / h[0] == Approx(strain[0]));
  CHECK(corners[1][1] / h[0] + corners[2][0] / h[1] == Approx(strain[5]));
}

TEMPLATE_TEST_CASE("homogenized tensors of solid, uniform and laminate are exact", "[design]", BRICKWORK_TEST_SPACES) {
  SECTION("solid") {
    for (Index3 cells : {Index3{4, 4, 4}, Index3{5, 3, 7}, Index3{2, 9, 2}}) {
      BoxGrid const grid = cell_grid(cells, {1, 2, 0.5});
      Tensor6 const c = tensor_of<TestType>(grid, std::vector<double>(static_cast<std::size_t>(grid.cell_count()), 10));
      CHECK(distance(c, elasticity_matrix(IsotropicMaterial{10, 0.3})) < 1e-6);
      CHECK(c[0][0] == Approx(13.461538).epsilon(1e-6));
      CHECK(c[0][1] == Approx(5.769231).epsilon(1e-6));
      CHECK(c[3][3] == Approx(3.846154).epsilon(1e-6));
    }
  }
  SECTION("uniform") {
    BoxGrid const grid = cell_grid({6, 6, 6});
    double const modulus = 10 * std::pow(0.5, 3);
    Tensor6 const c =
        tensor_of<TestType>(grid, std::vector<double>(static_cast<std::size_t>(grid.cell_count()), modulus));
    CHECK(c[0][0] == Approx(1.682692).epsilon(1e-5));
    CHECK(c[0][1] == Approx(0.721154).epsilon(1e-5));
    CHECK(c[3][3] == Approx(0.480769).epsilon(1e-5));
  }
  SECTION("laminate") {
    BoxGrid const grid = cell_grid({8, 8, 32});
    std::vector<double> moduli(static_cast<std::size_t>(grid.cell_count()), 10.0);
    std::fill(moduli.begin() + static_cast<std::ptrdiff_t>(moduli.size() / 2), moduli.end(), 1.0);
    Tensor6 const c = tensor_of<TestType>(grid, moduli);
    CHECK(c[0][0] == Approx(6.493506).epsilon(1e-5));
    CHECK(c[0][1] == Approx(2.262737).epsilon(1e-5));
    CHECK(c[0][2] == Approx(1.048951).epsilon(1e-5));
    CHECK(c[2][2] == Approx(2.447552).epsilon(1e-5));
    CHECK(c[3][3] == Approx(0.699301).epsilon(1e-5));
    CHECK(c[4][4] == Approx(0.699301).epsilon(1e-5));
    CHECK(c[5][5] == Approx(2.115385).epsilon(1e-5));
  }
}

TEMPLATE_TEST_CASE("homogenized tensors agree with a dense reference", "[design]", BRICKWORK_TEST_SPACES) {
  for (auto const& [cells, lengths] : {std::pair<Index3, Vec3>{{4, 4, 4}, {1, 1, 1}},
                                       {{5, 3, 4}, {1, 0.7, 2}},
                                       {{2, 3, 6}, {0.5, 1, 1}},
                                       {{7, 2, 2}, {1, 1, 1}}}) {
    BoxGrid const grid = cell_grid(cells, lengths);
    auto const moduli = two_phase(grid, 7, 1e-3);
    Tensor6 const expected = dense_reference(grid, moduli);
    CAPTURE(cells[0], cells[1], cells[2]);
    CHECK(distance(tensor_of<TestType>(grid, moduli), expected) < 1e-6);
    SolverSettings jacobi = tight(SolverMethod::jacobi);
    jacobi.precision = Precision::fp64;
    CHECK(distance(tensor_of<TestType>(grid, moduli, jacobi), expected) < 1e-6);
    jacobi.precision = Precision::fp32;
    jacobi.tolerance = 1e-4;
    CHECK(distance(tensor_of<TestType>(grid, moduli, jacobi), expected) < 1e-4);
  }
}

TEMPLATE_TEST_CASE("a pinned corner gives the tensor of projected translations", "[design]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  BoxGrid const grid = cell_grid({6, 5, 4});
  auto const moduli = two_phase(grid, 21, 1e-2);
  Tensor6 const expected = dense_reference(grid, moduli);
  for (SolverMethod method : {SolverMethod::multigrid, SolverMethod::jacobi}) {
    HomogenizationSolver<Space> solver(space, grid, stiffness_of(grid), full_strain_plan(), tight(method),
                                       FieldStorage::fp64, Translations::pin);
    Kokkos::deep_copy(solver.moduli(),
                      to_device<CellField<float, typename Space::memory_space>>(space, moduli, grid.cell_count()));
    solver.moduli_changed();
    CHECK(solver.solve(space, {1e-8, 2000}).status == SolveStatus::converged);
    CHECK(distance(solver.tensor(space), expected) < 1e-6);
    auto const u = allocate<NodalVector<double, typename Space::memory_space>>(space, "u", grid.node_count());
    solver.field(space, 3, u);
    CHECK(to_host(u)[0] == 0);
  }
}

TEMPLATE_TEST_CASE("shifting and turning an image shifts and turns the tensor", "[design]", BRICKWORK_TEST_SPACES) {
  Index3 const n{6, 6, 6};
  BoxGrid const grid = cell_grid(n);
  auto const moduli = two_phase(grid, 3, 1e-2);
  Tensor6 const c = tensor_of<TestType>(grid, moduli);
  auto const image = [&](auto const& from) {
    std::vector<double> moved(moduli.size());
    for (index_t k = 0; k < 6; ++k)
      for (index_t j = 0; j < 6; ++j)
        for (index_t i = 0; i < 6; ++i) moved[grid.cell_index(i, j, k)] = moduli[from(i, j, k)];
    return moved;
  };
  auto const shifted =
      image([&](index_t i, index_t j, index_t k) { return grid.cell_index((i + 1) % 6, (j + 4) % 6, (k + 3) % 6); });
  CHECK(distance(tensor_of<TestType>(grid, shifted), c) < 1e-7);
  // x -> y -> z -> x
  auto const turned = image([&](index_t i, index_t j, index_t k) { return grid.cell_index(j, k, i); });
  Tensor6 const r = tensor_of<TestType>(grid, turned);
  std::size_t const to[6] = {1, 2, 0, 4, 5, 3};
  Tensor6 expected;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) expected[to[i]][to[j]] = c[i][j];
  CHECK(distance(r, expected) < 1e-7);
}

TEMPLATE_TEST_CASE("plans of strains give the parts of one tensor", "[design]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  Index3 const n{6, 6, 6};
  BoxGrid const grid = cell_grid(n);
  // A cubic cell: the mean over the orbits of a function of the distances to the centre planes.
  std::vector<double> moduli(216);
  for (index_t k = 0; k < 6; ++k)
    for (index_t j = 0; j < 6; ++j)
      for (index_t i = 0; i < 6; ++i) {
        auto const a = [](index_t x) { return std::abs(static_cast<double>(x) - 2.5); };
        moduli[grid.cell_index(i, j, k)] = a(i) + a(j) + a(k) > 4 ? 1.0 : 0.01 + 0.1 * a(i) * a(j) * a(k);
      }
  Tensor6 const whole = tensor_of<Space>(grid, moduli);
  auto const solve = [&](StrainPlan const& plan, FieldStorage storage) {
    HomogenizationSolver<Space> solver(space, grid, stiffness_of(grid), plan, tight(), storage);
    auto const values = to_device<CellField<float, typename Space::memory_space>>(space, moduli, grid.cell_count());
    Kokkos::deep_copy(solver.moduli(), values);
    solver.moduli_changed();
    CHECK(solver.solve(space, {1e-9, 1000}).status == SolveStatus::converged);
    return solver.tensor(space);
  };
  CHECK(distance(solve(full_strain_plan(true), FieldStorage::fp64), whole) < 1e-6);
  CHECK(full_strain_plan(true).strains.size() == 2);
  CHECK(distance(solve(full_strain_plan(), FieldStorage::fp32), whole) < 1e-6);
  CHECK(distance(solve(full_strain_plan(), FieldStorage::int16), whole) < 1e-5);
  Vector6 const bulk{1, 1, 1, 0, 0, 0};
  Tensor6 const single = solve(strain_plan({}, bulk, true), FieldStorage::automatic);
  double sum = 0, sum_single = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) sum += whole[i][j], sum_single += single[i][j];
  CHECK(sum_single == Approx(sum).epsilon(1e-6));
  TensorEntries entries{};
  entries[0][1] = entries[5][5] = true;
  StrainPlan const part = strain_plan(entries, {}, false);
  CHECK(part.strains.size() == 3);
  Tensor6 const partial = solve(part, FieldStorage::automatic);
  CHECK(partial[0][1] == Approx(whole[0][1]).margin(1e-6));
  CHECK(partial[5][5] == Approx(whole[5][5]).epsilon(1e-6));
  CHECK(partial[2][2] == 0);
}

TEMPLATE_TEST_CASE("sensitivities of the tensor are its differences", "[design]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  using field = CellField<double, typename Space::memory_space>;
  Space const space;
  BoxGrid const grid = cell_grid({5, 4, 6}, {1, 1, 2});
  auto moduli = random_values(grid.cell_count(), 11, 0.2, 1);
  Tensor6 derivative{};
  auto const draw = random_values(36, 5);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j <= i; ++j) derivative[i][j] = derivative[j][i] = draw[6 * i + j];
  auto const check = [&](StrainPlan const& plan, Tensor6 const& weights) {
    HomogenizationSolver<Space> solver(space, grid, stiffness_of(grid), plan, tight(), FieldStorage::fp64);
    auto const value = [&](std::vector<double> const& at) {
      Kokkos::deep_copy(solver.moduli(),
                        to_device<CellField<float, typename Space::memory_space>>(space, at, grid.cell_count()));
      solver.moduli_changed();
      REQUIRE(solver.solve(space, {1e-10, 2000}).status == SolveStatus::converged);
      Tensor6 const c = solver.tensor(space);
      double sum = 0;
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 0; j < 6; ++j) sum += weights[i][j] * c[i][j];
      return sum;
    };
    value(moduli);
    auto const slope = allocate<field>(space, "slope", grid.cell_count());
    solver.template sensitivity<double>(space, weights, 2.0, slope);
    auto const slopes = to_host(slope);
    for (std::size_t cell : {std::size_t(0), std::size_t(17), std::size_t(64), std::size_t(119)}) {
      double const step = 1.0 / 128;  // exact in FP32 beside values that are
      auto up = moduli, down = moduli;
      double const at = static_cast<double>(static_cast<float>(moduli[cell]));
      up[cell] = at + step;
      down[cell] = at - step;
      double const difference = (value(up) - value(down)) / (2 * step);
      CAPTURE(cell);
      CHECK(slopes[cell] == Approx(2 * difference).epsilon(3e-3).margin(1e-6));
    }
  };
  check(full_strain_plan(), derivative);
  Vector6 const v{1, 1, 1, 0, 0, 0};
  Tensor6 bulk{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) bulk[i][j] = 1.0 / 9;
  check(strain_plan({}, v, false), bulk);
}

TEMPLATE_TEST_CASE("cells of high contrast are solved wherever the material lies", "[design]", BRICKWORK_TEST_SPACES) {
  BoxGrid const grid = cell_grid({12, 12, 12});
  auto const ball = [&](double radius, bool inside) {
    std::vector<double> moduli;
    for (index_t cell = 0; cell < grid.cell_count(); ++cell) {
      double squared = 0;
      for (index_t x : {cell % 12, cell / 12 % 12, cell / 144}) squared += std::pow(static_cast<double>(x) - 5.5, 2);
      moduli.push_back((squared < radius * radius) == inside ? 210e9 : 0.0);
    }
    return moduli;
  };
  Tensor6 const island = tensor_of<TestType>(grid, ball(4, true), tight(SolverMethod::automatic, 1e-6));
  CHECK(island[0][0] > 0);
  CHECK(island[0][0] < 210e9 * 1e-7);  // void of 1e-9 carries it
  Tensor6 const shell = tensor_of<TestType>(grid, ball(5, false), tight(SolverMethod::automatic, 1e-6));
  CHECK(shell[0][0] > 0.3 * 210e9);
  CHECK(std::abs(shell[0][0] - shell[1][1]) < 1e-5 * shell[0][0]);
}

TEST_CASE("homogenization refuses what cannot be", "[design]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  BoxGrid const open({4, 4, 4}, {1, 1, 1}, {true, false, true});
  CHECK_THROWS_AS(HomogenizationSolver<Space>(space, open, stiffness_of(open), full_strain_plan(), {}), InputError);
  BoxGrid const unequal = cell_grid({4, 4, 6});
  CHECK_THROWS_AS(HomogenizationSolver<Space>(space, unequal, stiffness_of(unequal), full_strain_plan(true), {}),
                  InputError);
  BoxGrid const grid = cell_grid({4, 4, 4});
  CHECK_THROWS_AS(tensor_of<Space>(grid, std::vector<double>(64, 0.0)), InputError);
  CHECK_THROWS_AS(tensor_of<Space>(grid, std::vector<double>(64, -1.0)), InputError);
  std::vector<double> hole(64, 1.0);
  hole[5] = NAN;
  CHECK_THROWS_AS(tensor_of<Space>(grid, hole), InputError);
  CHECK_THROWS_AS(tensor_of<Space>(grid, std::vector<double>(63, 1.0)), InputError);
}
