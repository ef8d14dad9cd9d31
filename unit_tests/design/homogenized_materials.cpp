// SPDX-License-Identifier: BSD-3-Clause
// Homogenized tensors of cells whose materials differ in Poisson's ratio.
#include <Eigen/Dense>
#include <Eigen/Sparse>

#include "brickwork/core/check.hpp"
#include "brickwork/design/homogenized_tensor.hpp"
#include "brickwork/fem/material.hpp"
#include "brickwork/fem/unit_strain.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Materials = std::vector<IsotropicMaterial>;

BoxGrid cell_grid(Index3 cells, Vec3 lengths = {1, 1, 1}) { return BoxGrid(cells, lengths, {true, true, true}); }

SolverSettings tight(SolverMethod method = SolverMethod::automatic, double tolerance = 1e-8) {
  SolverSettings settings;
  settings.method = method;
  settings.tolerance = tolerance;
  return settings;
}

// Materials of the cells by a function of the cell's position.
template <class Choose>
Materials cells_of(BoxGrid const& grid, Choose const& choose) {
  Materials cells(static_cast<std::size_t>(grid.cell_count()));
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) cells[static_cast<std::size_t>(grid.cell_index(i, j, k))] = choose(i, j, k);
  return cells;
}

Materials random_cells(BoxGrid const& grid, unsigned seed, IsotropicMaterial const& a, IsotropicMaterial const& b) {
  auto const draw = random_values(grid.cell_count(), seed);
  Materials cells;
  for (double value : draw) cells.push_back(value > 0 ? a : b);
  return cells;
}

Materials sphere(BoxGrid const& grid, double radius, IsotropicMaterial const& inside,
                 IsotropicMaterial const& outside) {
  Vec3 const h = grid.spacing(), l = grid.lengths();
  return cells_of(grid, [&](index_t i, index_t j, index_t k) {
    double squared = 0;
    std::size_t axis = 0;
    for (index_t at : {i, j, k}) {
      squared += std::pow((static_cast<double>(at) + 0.5) * h[axis] - l[axis] / 2, 2);
      ++axis;
    }
    return squared < radius * radius ? inside : outside;
  });
}

template <class Space>
Tensor6 tensor_of(BoxGrid const& grid, Materials const& cells, SolverSettings const& settings = tight(),
                  HomogenizationReport* report = nullptr) {
  Space const space;
  std::vector<double> young, poisson;
  for (auto const& material : cells) {
    young.push_back(material.young);
    poisson.push_back(material.poisson);
  }
  using Field = CellField<double, typename Space::memory_space>;
  using ConstField = CellField<double const, typename Space::memory_space>;
  ConstField const moduli = to_device<Field>(space, young, static_cast<index_t>(young.size()));
  ConstField const ratios = to_device<Field>(space, poisson, static_cast<index_t>(poisson.size()));
  return homogenized_tensor<Space>(space, grid, moduli, ratios, settings, report);
}

double largest(Tensor6 const& c) {
  double value = 0;
  for (auto const& row : c)
    for (double entry : row) value = std::max(value, std::abs(entry));
  return value;
}

// Relative to the largest entry of b.
double distance(Tensor6 const& a, Tensor6 const& b) {
  double value = 0;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double const difference = std::abs(a[i][j] - b[i][j]);
      value = std::isfinite(difference) ? std::max(value, difference) : INFINITY;
    }
  return value / largest(b);
}

Matrix6 matrix_of(Tensor6 const& c) {
  Matrix6 m;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) m(i, j) = c[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  return m;
}

// By a sparse matrix assembled of every cell's own element matrix and a direct solver, node 0 pinned.
Tensor6 sparse_reference(BoxGrid const& grid, Materials const& cells) {
  index_t const nodes = grid.node_count();
  Index3 const n = grid.cells();
  Eigen::Matrix<double, 24, 6> chi;
  for (int s = 0; s < 6; ++s) {
    auto const corners = strain_displacements(unit_strain(static_cast<std::size_t>(s)), grid.spacing());
    for (int a = 0; a < 24; ++a) chi(a, s) = corners[static_cast<std::size_t>(a / 3)][static_cast<std::size_t>(a % 3)];
  }
  auto const visit = [&](auto const& body) {
    Eigen::Matrix<double, 24, 24> element;
    for (index_t z = 0; z < n[2]; ++z)
      for (index_t y = 0; y < n[1]; ++y)
        for (index_t x = 0; x < n[0]; ++x) {
          auto const& material = cells[static_cast<std::size_t>(grid.cell_index(x, y, z))];
          auto const k = hex8_stiffness(elasticity_matrix(material), grid.spacing());
          for (int a = 0; a < 24; ++a)
            for (int b = 0; b < 24; ++b) element(a, b) = k[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
          body(cell_nodes(grid, x, y, z), element);
        }
  };
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::MatrixXd f = Eigen::MatrixXd::Zero(3 * nodes - 3, 6);
  visit([&](auto const& corner, auto const& element) {
    Eigen::Matrix<double, 24, 6> const forces = element * chi;
    for (int a = 0; a < 24; ++a) {
      index_t const row = 3 * corner[a / 3] + a % 3 - 3;
      if (row < 0) continue;
      f.row(row) += forces.row(a);
      for (int b = 0; b < 24; ++b) {
        index_t const column = 3 * corner[b / 3] + b % 3 - 3;
        if (column >= 0) entries.emplace_back(static_cast<int>(row), static_cast<int>(column), element(a, b));
      }
    }
  });
  Eigen::SparseMatrix<double> k(3 * nodes - 3, 3 * nodes - 3);
  k.setFromTriplets(entries.begin(), entries.end());
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> const factors(k);
  Eigen::MatrixXd u = Eigen::MatrixXd::Zero(3 * nodes, 6);
  u.bottomRows(3 * nodes - 3) = factors.solve(f);
  Matrix6 c = Matrix6::Zero();
  visit([&](auto const& corner, auto const& element) {
    Eigen::Matrix<double, 24, 6> total = chi;
    for (int a = 0; a < 24; ++a) total.row(a) -= u.row(3 * corner[a / 3] + a % 3);
    c += total.transpose() * element * total;
  });
  c /= grid.lengths()[0] * grid.lengths()[1] * grid.lengths()[2];
  Tensor6 result;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) result[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = c(i, j);
  return result;
}

// Layers of equal thickness normal to an axis, in closed form (Postma 1955, Backus 1962).
Tensor6 laminate(Materials const& layers, std::size_t normal) {
  double count = 0, inverse_p = 0, coupling = 0, inverse_mu = 0, mean_mu = 0, plane = 0, cross = 0;
  for (auto const& m : layers) {
    double const mu = m.young / (2 * (1 + m.poisson));
    double const lambda = m.young * m.poisson / ((1 + m.poisson) * (1 - 2 * m.poisson));
    double const p = lambda + 2 * mu;
    count += 1;
    inverse_p += 1 / p;
    coupling += lambda / p;
    inverse_mu += 1 / mu;
    mean_mu += mu;
    plane += 4 * mu * (lambda + mu) / p;
    cross += 2 * lambda * mu / p;
  }
  double const c33 = count / inverse_p, c13 = coupling / count * c33, c44 = count / inverse_mu, c66 = mean_mu / count;
  double const rest = coupling / count * c13;
  Tensor6 c{};
  std::size_t const t = (normal + 1) % 3, s = (normal + 2) % 3;
  c[normal][normal] = c33;
  c[normal][t] = c[t][normal] = c[normal][s] = c[s][normal] = c13;
  c[t][t] = c[s][s] = plane / count + rest;
  c[t][s] = c[s][t] = cross / count + rest;
  c[3 + normal][3 + normal] = c66;
  c[3 + t][3 + t] = c[3 + s][3 + s] = c44;
  return c;
}

}  // namespace

TEMPLATE_TEST_CASE("laminates of materials of different ratios are exact, normal to every axis", "[design]",
                   BRICKWORK_TEST_SPACES) {
  for (Materials const& layers :
       {Materials{{10, 0.1}, {1, 0.45}}, Materials{{1, 0.45}, {300, 0.2}}, Materials{{2, -0.3}, {1, 0.4}, {5, 0.25}}})
    for (std::size_t normal = 0; normal < 3; ++normal) {
      Index3 cells{4, 6, 5};
      cells[normal] = 4 * static_cast<index_t>(layers.size());
      BoxGrid const grid = cell_grid(cells, {1, 0.8, 1.5});
      auto const image = cells_of(grid, [&](index_t i, index_t j, index_t k) {
        index_t const at[] = {i, j, k};
        return layers[static_cast<std::size_t>(at[normal] / 4)];
      });
      CAPTURE(normal, layers[0].young, layers[0].poisson);
      CHECK(distance(tensor_of<TestType>(grid, image), laminate(layers, normal)) < 1e-5);
    }
}

TEMPLATE_TEST_CASE("a uniform cell of any ratio has its material's tensor", "[design]", BRICKWORK_TEST_SPACES) {
  for (double nu : {-0.5, 0.0, 0.2, 0.3, 0.45}) {
    IsotropicMaterial const material{7, nu};
    BoxGrid const grid = cell_grid({5, 3, 4}, {1, 2, 0.5});
    Materials const uniform(60, material);
    CAPTURE(nu);
    CHECK(distance(tensor_of<TestType>(grid, uniform), elasticity_matrix(material)) < 1e-6);
    // The same where the element matrix is that of another ratio: second moduli that are not zero.
    using Space = TestType;
    Space const space;
    IsotropicSplit const split{0.35};
    HomogenizationSolver<Space> solver(space, grid, hex8_stiffness(split.first_matrix(), grid.spacing()),
                                       full_strain_plan(), tight(), FieldStorage::automatic, Translations::project,
                                       hex8_stiffness(split.second_matrix(), grid.spacing()));
    Kokkos::deep_copy(solver.moduli(), static_cast<float>(split.first(material)));
    Kokkos::deep_copy(solver.second_moduli(), static_cast<float>(split.second(material)));
    solver.moduli_changed();
    CHECK(solver.solve(space, {1e-8, 100}).iterations == 0);
    CHECK(distance(solver.tensor(space), elasticity_matrix(material)) < 1e-6);
  }
}

TEMPLATE_TEST_CASE("tensors of materials of different ratios agree with a direct solver", "[design]",
                   BRICKWORK_TEST_SPACES) {
  for (auto const& [cells, lengths] :
       {std::pair<Index3, Vec3>{{5, 3, 4}, {1, 0.7, 2}}, {{2, 3, 6}, {0.5, 1, 1}}, {{7, 2, 2}, {1, 1, 1}}}) {
    BoxGrid const grid = cell_grid(cells, lengths);
    for (auto const& [a, b] :
         {std::pair<IsotropicMaterial, IsotropicMaterial>{{1, 0.1}, {1e-3, 0.45}}, {{1, 0.45}, {0.05, -0.2}}}) {
      auto const image = random_cells(grid, 7, a, b);
      Tensor6 const expected = sparse_reference(grid, image);
      CAPTURE(cells[0], cells[1], cells[2], a.poisson);
      CHECK(distance(tensor_of<TestType>(grid, image), expected) < 1e-6);
      SolverSettings jacobi = tight(SolverMethod::jacobi);
      CHECK(distance(tensor_of<TestType>(grid, image, jacobi), expected) < 1e-6);
      jacobi.precision = Precision::fp64;
      CHECK(distance(tensor_of<TestType>(grid, image, jacobi), expected) < 1e-6);
      jacobi.kernel = "node_gather";
      CHECK(distance(tensor_of<TestType>(grid, image, jacobi), expected) < 1e-6);
      jacobi.kernel = "automatic";
      jacobi.precision = Precision::fp32;
      jacobi.tolerance = 1e-4;
      CHECK(distance(tensor_of<TestType>(grid, image, jacobi), expected) < 1e-4);
    }
  }
  SECTION("a sphere in a cube") {
    BoxGrid const grid = cell_grid({10, 10, 10});
    auto const image = sphere(grid, 0.35, {70, 0.2}, {3, 0.4});
    Tensor6 const c = tensor_of<TestType>(grid, image);
    CHECK(distance(c, sparse_reference(grid, image)) < 1e-6);
    CHECK(c[0][0] == Approx(c[2][2]).epsilon(1e-6));
    CHECK(c[3][3] == Approx(c[5][5]).epsilon(1e-6));
  }
  SECTION("with a void") {
    // A hole through a composite: void is 1e-9 of the stiffest, of its ratio.
    BoxGrid const grid = cell_grid({6, 6, 4});
    auto const with_hole = [&](IsotropicMaterial const& hole) {
      return cells_of(grid, [&](index_t i, index_t j, index_t k) -> IsotropicMaterial {
        if (i >= 2 && i < 4 && j >= 2 && j < 4) return hole;
        return k < 2 ? IsotropicMaterial{10, 0.1} : IsotropicMaterial{1, 0.4};
      });
    };
    Tensor6 const c = tensor_of<TestType>(grid, with_hole({0, 7}));  // a void's ratio does not count
    CHECK(distance(c, sparse_reference(grid, with_hole({1e-8, 0.1}))) < 1e-6);
  }
}

TEMPLATE_TEST_CASE("a pinned corner changes no tensor of different ratios", "[design]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  BoxGrid const grid = cell_grid({6, 5, 4});
  auto const image = random_cells(grid, 21, {1, 0.2}, {0.01, 0.4});
  Tensor6 const expected = sparse_reference(grid, image);
  IsotropicSplit const split{0.2};
  std::vector<double> first, second;
  for (auto const& material : image) {
    first.push_back(split.first(material));
    second.push_back(split.second(material));
  }
  using Field = CellField<float, typename Space::memory_space>;
  for (SolverMethod method : {SolverMethod::multigrid, SolverMethod::jacobi}) {
    HomogenizationSolver<Space> solver(space, grid, hex8_stiffness(split.first_matrix(), grid.spacing()),
                                       full_strain_plan(), tight(method), FieldStorage::fp64, Translations::pin,
                                       hex8_stiffness(split.second_matrix(), grid.spacing()));
    Kokkos::deep_copy(solver.moduli(), to_device<Field>(space, first, grid.cell_count()));
    Kokkos::deep_copy(solver.second_moduli(), to_device<Field>(space, second, grid.cell_count()));
    solver.moduli_changed();
    CHECK(solver.solve(space, {1e-8, 2000}).status == SolveStatus::converged);
    CHECK(distance(solver.tensor(space), expected) < 1e-6);
  }
}

TEMPLATE_TEST_CASE("tensors of different ratios lie between the means of stiffness and compliance", "[design]",
                   BRICKWORK_TEST_SPACES) {
  for (auto const& [a, b] :
       {std::pair<IsotropicMaterial, IsotropicMaterial>{{10, 0.1}, {1, 0.45}}, {{10, 0.45}, {8, -0.2}}}) {
    BoxGrid const grid = cell_grid({8, 7, 6});
    auto const image = random_cells(grid, 5, a, b);
    Matrix6 const c = matrix_of(tensor_of<TestType>(grid, image));
    Matrix6 voigt = Matrix6::Zero(), compliance = Matrix6::Zero();
    for (auto const& material : image) {
      Matrix6 const m = matrix_of(elasticity_matrix(material));
      voigt += m / static_cast<double>(image.size());
      compliance += m.inverse() / static_cast<double>(image.size());
    }
    auto const least = [](Matrix6 const& m) {
      return Eigen::SelfAdjointEigenSolver<Matrix6>(m, Eigen::EigenvaluesOnly).eigenvalues()(0);
    };
    // Strictly: no random cell is a laminate.
    CHECK(least(voigt - c) > 1e-4 * c.norm());
    CHECK(least(c - compliance.inverse()) > 1e-4 * c.norm());
  }
}

TEMPLATE_TEST_CASE("shifting an image of different ratios changes its tensor by rounding", "[design]",
                   BRICKWORK_TEST_SPACES) {
  BoxGrid const grid = cell_grid({6, 7, 5});
  auto const image = random_cells(grid, 3, {1, 0.1}, {0.01, 0.4});
  auto const shifted = cells_of(grid, [&](index_t i, index_t j, index_t k) {
    return image[static_cast<std::size_t>(grid.cell_index((i + 1) % 6, (j + 4) % 7, (k + 3) % 5))];
  });
  Tensor6 const c = tensor_of<TestType>(grid, image);
  CHECK(distance(tensor_of<TestType>(grid, shifted), c) < 1e-7);
}

TEMPLATE_TEST_CASE("equal ratios give the tensor of one ratio", "[design]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  BoxGrid const grid = cell_grid({8, 6, 7});
  double const nu = 0.25;
  auto const image = random_cells(grid, 13, {1, nu}, {1e-3, nu});
  std::vector<double> moduli;
  for (auto const& material : image) moduli.push_back(material.young);
  auto const field = to_device<CellField<double, typename Space::memory_space>>(space, moduli, grid.cell_count());
  HomogenizationReport one, two;
  Tensor6 const expected = homogenized_tensor<Space>(space, grid, field, nu, tight(), &one);
  CHECK(distance(tensor_of<Space>(grid, image, tight(), &two), expected) < 1e-7);
  CHECK(std::abs(two.iterations - one.iterations) <= 6);
}

TEMPLATE_TEST_CASE("contrast and ratios far apart converge", "[design]", BRICKWORK_TEST_SPACES) {
  BoxGrid const grid = cell_grid({16, 16, 16});
  for (auto const& [stiff, soft] :
       {std::pair<IsotropicMaterial, IsotropicMaterial>{{1, 0.1}, {1e-6, 0.45}}, {{1, 0.45}, {1e-6, 0.1}}}) {
    CAPTURE(stiff.poisson);
    HomogenizationReport report;
    Tensor6 const c =
        tensor_of<TestType>(grid, random_cells(grid, 17, stiff, soft), tight(SolverMethod::automatic, 1e-6), &report);
    CHECK(report.status == SolveStatus::converged);
    CHECK(report.most_iterations < 60);
    CHECK(c[0][0] > 0);
    // A soft matrix around a stiff sphere, and a stiff one around a soft.
    tensor_of<TestType>(grid, sphere(grid, 0.4, stiff, soft), tight(SolverMethod::automatic, 1e-6), &report);
    CHECK(report.status == SolveStatus::converged);
    CHECK(report.most_iterations < 60);
    tensor_of<TestType>(grid, sphere(grid, 0.4, soft, stiff), tight(SolverMethod::automatic, 1e-6), &report);
    CHECK(report.status == SolveStatus::converged);
    CHECK(report.most_iterations < 60);
  }
}

// Phases of one shear modulus: whatever their geometry, the mixture is isotropic with that shear modulus and a bulk
// modulus k of 1 / (k + 4/3 mu) = mean of 1 / (k_i + 4/3 mu) (Hill, 1963).
TEST_CASE("a cubic array of spheres converges to Hill's exact moduli", "[design]") {
  using Space = Kokkos::DefaultExecutionSpace;
  double const mu = 1;
  auto const of = [&](double poisson) { return IsotropicMaterial{2 * mu * (1 + poisson), poisson}; };
  auto const bulk = [&](double poisson) { return 2 * mu * (1 + poisson) / (3 * (1 - 2 * poisson)); };
  double const inside = 0.45, outside = 0.1;
  index_t const voxels = 8;
  BoxGrid const coarse = cell_grid({voxels, voxels, voxels});
  auto const image = sphere(coarse, 0.4, of(inside), of(outside));
  double share = 0;
  for (auto const& material : image) share += material.poisson == inside ? 1.0 / static_cast<double>(image.size()) : 0;
  CHECK(share > 0.2);
  double const exact =
      1 / (share / (bulk(inside) + 4.0 / 3 * mu) + (1 - share) / (bulk(outside) + 4.0 / 3 * mu)) - 4.0 / 3 * mu;
  double error = INFINITY;
  for (index_t times : {1, 2, 4}) {
    // The same voxels, each of more cells.
    BoxGrid const grid = cell_grid({voxels * times, voxels * times, voxels * times});
    Tensor6 const c =
        tensor_of<Space>(grid, cells_of(grid, [&](index_t i, index_t j, index_t k) {
                           return image[static_cast<std::size_t>(coarse.cell_index(i / times, j / times, k / times))];
                         }));
    double const k = (c[0][0] + 2 * c[0][1]) / 3;
    CAPTURE(times, k, exact, share);
    // A shear strain meets the same stress in both phases, on any grid.
    CHECK(c[3][3] == Approx(mu).epsilon(1e-6));
    CHECK(c[0][0] - c[0][1] == Approx(2 * mu).epsilon(1e-6));
    // From above, by the principle of least energy, and at the rate that edges and corners of voxels allow.
    CHECK(k - exact > 0);
    CHECK(k - exact < 0.5 * error);
    error = k - exact;
  }
  CHECK(error < 6e-3 * exact);
}

TEST_CASE("ratios that cannot be are refused", "[design]") {
  using Space = Kokkos::DefaultExecutionSpace;
  BoxGrid const grid = cell_grid({4, 4, 4});
  for (double nu : {0.5, -1.0, static_cast<double>(NAN)}) {
    Materials cells(64, {1, 0.3});
    cells[17].poisson = nu;
    CHECK_THROWS_AS(tensor_of<Space>(grid, cells), InputError);
    cells[17].young = 0;
    CHECK_NOTHROW(tensor_of<Space>(grid, cells));
  }
  CHECK_THROWS_AS(tensor_of<Space>(grid, Materials(63, {1, 0.3})), InputError);
}
