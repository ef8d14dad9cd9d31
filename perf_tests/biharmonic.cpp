// SPDX-License-Identifier: BSD-3-Clause
// Solves of the clamped biharmonic problem on the unit cube: Tables 5 to 8 of "Matrix-Free Local Multigrid for Hermite
// Discretizations on GPUs" (uniform and adaptive refinement, iteration counts, contraction, throughput, edge geometry).
//
// usage: brickwork-perf-biharmonic [--table 5,7,8] [--uniform MIN:MAX] [--adaptive N_UNI:DEPTH] [--region
// octant,ball,ring]
//                                  [--solver NAMES] [--precision double,mixed] [--random] [--history] [--csv FILE]
// Solvers: chebyshev (conjugate gradients), patch (conjugate gradients), patch-symmetric and patch-forward
// (stationary).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "brickwork/operators/hermite_fields.hpp"
#include "brickwork/operators/manufactured_solution.hpp"
#include "brickwork/solvers/hermite_solver.hpp"

using namespace brickwork;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Grid = AdaptiveGrid<Space, 3>;

struct Options {
  std::string tables = "5,7,8", regions = "octant,ball,ring", precisions = "double";
  std::string solvers = "chebyshev,patch-forward,patch-symmetric,patch";
  int uniform[2] = {3, 5}, adaptive[2] = {4, 2};
  bool random = false, history = false;
  int repeats = 1;
  std::string csv;
};

bool contains(std::string const& list, std::string const& name) {
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');)
    if (item == name) return true;
  return false;
}

struct LoadOf {
  ManufacturedSolution<3> solution;
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, 3> const& x) const { return solution.load(HermiteForm{}, x); }
};

struct RandomLoad {
  double* values;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    auto bits = static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15ull;
    bits ^= bits >> 29;
    bits *= 0xBF58476D1CE4E5B9ull;
    values[i] = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  }
};

template <class Scalar>
HermiteSolveResult solve(Space const& space, HermiteOperator<Space, 3> const& a,
                         HermiteDual<double, Space::memory_space, 3> const& b,
                         HermitePrimal<double, Space::memory_space, 3> const& x, std::string const& name, int repeats) {
  HermiteCycleOptions cycle;
  HermiteSolveOptions options;
  if (name != "chebyshev") cycle.smoother = HermiteSmoother::patch;
  if (name == "patch-forward") cycle.symmetric = false;
  if (name == "patch-symmetric" || name == "patch-forward") options.method = HermiteMethod::stationary;
  HermiteSolver<Space, Scalar, 3> solver(space, a, cycle);
  HermiteSolveResult best;
  for (int n = 0; n <= repeats; ++n) {  // the first one warms up and records
    Kokkos::deep_copy(space, x.values(), 0.0);
    auto const result = solver.solve(space, b, x, options);
    if (n == 0 || result.seconds < best.seconds) best = result;
  }
  return best;
}

/// Fraction of the finest level's cells that have a face at a refinement edge, and such faces per cell.
void edge_geometry(Space const& space, Grid const& grid, double& fraction, double& faces) {
  auto const level = grid.level(grid.level_count() - 1);
  index_t touched = 0, count = 0;
  Kokkos::parallel_reduce(
      "edge_geometry", range(space, level.cell_count),
      KOKKOS_LAMBDA(index_t cell, index_t & sum) {
        auto const p = level.cell_position(cell);
        index_t own = 0;
        for (int f = 0; f < 6; ++f) {
          auto q = p;
          q[f / 2] += f % 2 == 0 ? -1 : 1;
          if (q[f / 2] >= 0 && q[f / 2] < level.domain_cells[f / 2] && level.find_cell(q) < 0) ++own;
        }
        sum += own;
      },
      count);
  Kokkos::parallel_reduce(
      "edge_geometry", range(space, level.cell_count),
      KOKKOS_LAMBDA(index_t cell, index_t & sum) {
        auto const p = level.cell_position(cell);
        for (int f = 0; f < 6; ++f) {
          auto q = p;
          q[f / 2] += f % 2 == 0 ? -1 : 1;
          if (q[f / 2] >= 0 && q[f / 2] < level.domain_cells[f / 2] && level.find_cell(q) < 0) {
            ++sum;
            return;
          }
        }
      },
      touched);
  faces = static_cast<double>(count) / static_cast<double>(level.cell_count);
  fraction = static_cast<double>(touched) / static_cast<double>(level.cell_count);
}

void report(Space const& space, Options const& options, Grid const& grid, std::string const& mesh, double& last_error,
            std::ostream* csv) {
  ManufacturedSolution<3> const solution(grid.base(), {});
  HermiteOperator<Space, 3> const a(space, grid, HermiteForm{}, PlateBoundary<3>{});
  HermiteDual<double, Space::memory_space, 3> b(space, grid, "b");
  HermitePrimal<double, Space::memory_space, 3> x(space, grid, "x");
  if (options.random) {
    Kokkos::parallel_for("random_load", range(space, b.size()), RandomLoad{b.values().data()});
  } else {
    add_load(space, grid, LoadOf{solution}, b);
  }
  for (std::string const precision : {"double", "mixed"}) {
    if (!contains(options.precisions, precision)) continue;
    for (std::string const name : {"chebyshev", "patch-forward", "patch-symmetric", "patch"}) {
      if (!contains(options.solvers, name)) continue;
      auto const result = precision == "double" ? solve<double>(space, a, b, x, name, options.repeats)
                                                : solve<float>(space, a, b, x, name, options.repeats);
      double const error = options.random ? 0 : hermite_errors<Space, 3>(space, grid, x, solution).l2;
      double const rate = static_cast<double>(grid.leaf_count()) / result.seconds;
      std::printf(
          "%-16s %10lld cells %11lld unknowns  %-6s %-15s %-9s it %3d  rho %.3f  true %.1e  L2 %.4e (order %5.2f)  "
          "%9.3f ms  %8.3f Mcells/s\n",
          mesh.c_str(), static_cast<long long>(grid.leaf_count()), static_cast<long long>(a.unknown_count()),
          precision.c_str(), name.c_str(), to_string(result.status).c_str(), result.iterations, result.contraction(),
          result.true_relative_residual, error, last_error > 0 && error > 0 ? std::log2(last_error / error) : 0.0,
          1e3 * result.seconds, 1e-6 * rate);
      if (options.history) {
        for (double const value : result.residuals) std::printf(" %.2e", value / result.residuals.front());
        std::printf("\n");
      }
      std::fflush(stdout);
      if (csv)
        *csv << mesh << ',' << grid.leaf_count() << ',' << a.unknown_count() << ',' << precision << ',' << name << ','
             << to_string(result.status) << ',' << result.iterations << ',' << result.contraction() << ','
             << result.true_relative_residual << ',' << error << ',' << result.seconds << ',' << rate << '\n';
      if (name == "chebyshev" && precision == "double") last_error = error;
    }
  }
}

RefinementRegion<3> region_of(std::string const& name) {
  RefinementRegion<3> region;
  region.upper = {0.5, 0.5, 0.5};
  region.centre = {0.5, 0.5, 0.5};
  region.radius = 0.25;
  using Kind = RefinementRegion<3>::Kind;
  region.kind = name == "octant" ? Kind::box : name == "ball" ? Kind::ball : Kind::ring;
  return region;
}

void run(Options const& options) {
  Space const space;
  std::ofstream file;
  if (!options.csv.empty()) {
    file.open(options.csv);
    file << "mesh,cells,unknowns,precision,solver,status,iterations,contraction,true_residual,l2_error,seconds,cells_"
            "per_second\n";
  }
  std::ostream* const csv = options.csv.empty() ? nullptr : &file;
  BaseGrid<3> const cube{{1, 1, 1}, {1, 1, 1}};
  if (contains(options.tables, "5")) {
    double error = 0;
    for (int l = options.uniform[0]; l <= options.uniform[1]; ++l) {
      double next = error;
      report(space, options, Grid(space, cube, l), "uniform " + std::to_string(l), next, csv);
      error = next;
    }
  }
  for (std::string const name : {"octant", "ball", "ring"}) {
    if (!contains(options.regions, name)) continue;
    if (!contains(options.tables, "7") && !contains(options.tables, "8")) continue;
    Grid grid(space, cube, options.adaptive[0]);
    for (int depth = 1; depth <= options.adaptive[1]; ++depth) {
      auto const count = grid.refine(space, region_of(name));
      std::string const mesh = name + " " + std::to_string(options.adaptive[0]) + "+" + std::to_string(depth);
      double fraction = 0, faces = 0;
      edge_geometry(space, grid, fraction, faces);
      std::printf(
          "%-16s %lld marked, %lld for balance; %.1f %% of the finest cells at the edge, %.3f edge faces per cell\n",
          mesh.c_str(), static_cast<long long>(count.marked), static_cast<long long>(count.balanced), 100 * fraction,
          faces);
      double none = 0;
      if (contains(options.tables, "7")) report(space, options, grid, mesh, none, csv);
    }
  }
}

Options parse(int argc, char** argv) {
  Options options;
  auto const usage = [&](std::string const& why) {
    std::cerr << argv[0] << ": " << why << '\n';
    std::exit(2);
  };
  auto const pair = [&](std::string const& text, int(&to)[2]) {
    if (std::sscanf(text.c_str(), "%d:%d", &to[0], &to[1]) != 2) usage("expected A:B, not '" + text + "'");
  };
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    if (name == "--history") {
      options.history = true;
      continue;
    }
    if (name == "--random") {
      options.random = true;
      continue;
    }
    if (i + 1 >= argc) usage("a value must follow " + name);
    std::string const value = argv[++i];
    if (name == "--table")
      options.tables = value;
    else if (name == "--region")
      options.regions = value;
    else if (name == "--precision")
      options.precisions = value;
    else if (name == "--solver")
      options.solvers = value;
    else if (name == "--uniform")
      pair(value, options.uniform);
    else if (name == "--adaptive")
      pair(value, options.adaptive);
    else if (name == "--repeats")
      options.repeats = std::atoi(value.c_str());
    else if (name == "--csv")
      options.csv = value;
    else
      usage("unknown option " + name);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options const options = parse(argc, argv);
  Kokkos::initialize();
  int status = 0;
  try {
    run(options);
  } catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    status = 1;
  }
  Kokkos::finalize();
  return status;
}
