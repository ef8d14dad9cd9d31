// SPDX-License-Identifier: BSD-3-Clause
// Solves of the clamped biharmonic problem on the unit cube: Tables 5 to 8 of "Matrix-Free Local Multigrid for Hermite
// Discretizations on GPUs" (uniform and adaptive refinement, iteration counts, contraction, throughput, edge geometry).
//
// Usage: brickwork-perf-biharmonic [--table 5,7,8] [--uniform MIN:MAX] [--adaptive N_UNI:DEPTH]
//                                  [--region octant,ball,ring] [--solver NAMES] [--precision double,mixed,cell]
//                                  [--evaluation NAME] [--repeats N] [--random] [--history] [--csv FILE]
// Solvers: chebyshev (conjugate gradients), patch (conjugate gradients), patch-symmetric and patch-forward
// (stationary). Precisions: double and mixed (cycle in FP32) are vertex-wise; cell is FP64 in cell-wise storage, with
// the evaluation of the element that is named.
#include <algorithm>
#include <cmath>

#include "brickwork/operators/manufactured_solution.hpp"
#include "brickwork/solvers/hermite_cell_multigrid.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"
#include "brickwork/solvers/hermite_solver.hpp"
#include "perf_tests/support/measure.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage =
    "[--table 5,7,8] [--uniform MIN:MAX] [--adaptive N_UNI:DEPTH] [--region octant,ball,ring] [--solver NAMES] "
    "[--precision double,mixed,cell] [--evaluation NAME] [--repeats N] [--random] [--history] [--csv FILE]";

using Grid = AdaptiveGrid<Space, 3>;
using Field = HermitePrimal<double, Memory, 3>;
using Functional = HermiteDual<double, Memory, 3>;

bool contains(std::string const& list, std::string const& name) {
  auto const words = split(list);
  return std::find(words.begin(), words.end(), name) != words.end();
}

/// "A:B" of an option.
std::array<int, 2> pair_of(Options const& options, char const* name, char const* otherwise) {
  std::string const word = options.value(name, otherwise);
  std::array<int, 2> pair{};
  BRICKWORK_REQUIRE(std::sscanf(word.c_str(), "%d:%d", &pair[0], &pair[1]) == 2, name, " ", word,
                    ": two numbers A:B are needed");
  return pair;
}

struct Settings {
  std::string tables, regions, precisions, solvers;
  bool random, history;
  int repeats;
  HermiteEvaluation evaluation;
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

template <class Cycle>
HermiteSolveResult solve(Space const& space, typename Cycle::operator_type const& a, typename Cycle::dual_type const& b,
                         typename Cycle::primal_type const& x, std::string const& name, int repeats) {
  HermiteCycleOptions cycle;
  HermiteSolveOptions options;
  if (name != "chebyshev") cycle.smoother = HermiteSmoother::patch;
  if (name == "patch-forward") cycle.symmetric = false;
  if (name == "patch-symmetric" || name == "patch-forward") options.method = HermiteMethod::stationary;
  HermiteSolver<Cycle> solver(space, a, cycle);
  HermiteSolveResult best;
  for (int n = 0; n <= repeats; ++n) {  // the first one warms up and records
    Kokkos::deep_copy(space, x.values(), 0.0);
    auto const result = solver.solve(space, b, x, options);
    if (n == 0 || result.seconds < best.seconds) best = result;
  }
  return best;
}

/// The same in cell-wise storage, from and to vertices.
HermiteSolveResult solve_cells(Space const& space, HermiteOperator<Space, 3> const& a, Functional const& b,
                               Field const& x, std::string const& name, Settings const& options) {
  HermiteLeafOperator<Space, 3> const leaf_a(space, a.grid(), a.form(), PlateBoundary<3>{}, options.evaluation);
  LeafDual<Memory, 3> const leaf_b(space, a.grid(), "b");
  LeafPrimal<Memory, 3> const leaf_x(space, a.grid(), "x");
  a.constrain(space, b);
  leaf_a.distribute(space, b, leaf_b);
  auto const result = solve<HermiteCellMultigrid<Space, 3>>(space, leaf_a, leaf_b, leaf_x, name, options.repeats);
  leaf_a.collect(space, leaf_x, x);
  return result;
}

/// Faces of the finest level's cells at a refinement edge, or the cells that have any.
struct CountEdges {
  GridLevel<Memory, 3> level;
  bool cells;
  KOKKOS_FUNCTION void operator()(index_t cell, index_t& sum) const {
    auto const p = level.cell_position(cell);
    index_t faces = 0;
    for (int f = 0; f < 6; ++f) {
      auto q = p;
      q[f / 2] += f % 2 == 0 ? -1 : 1;
      bool const inside = q[f / 2] >= 0 && q[f / 2] < level.domain_cells[f / 2];
      faces += inside && level.find_cell(q) < 0 ? 1 : 0;
    }
    sum += cells && faces > 0 ? 1 : faces;
  }
};

double edges_per_cell(Space const& space, Grid const& grid, bool cells) {
  auto const& level = grid.level(grid.level_count() - 1);
  index_t count = 0;
  Kokkos::parallel_reduce("perf::edges", range(space, level.cell_count), CountEdges{level, cells}, count);
  return static_cast<double>(count) / static_cast<double>(level.cell_count);
}

void report(Space const& space, Settings const& options, Grid const& grid, std::string const& mesh, double& last_error,
            Csv& csv) {
  ManufacturedSolution<3> const solution(grid.base(), {});
  HermiteOperator<Space, 3> const a(space, grid, HermiteForm{}, PlateBoundary<3>{});
  Functional const b(space, grid, "b");
  Field const x(space, grid, "x");
  if (options.random) {
    Kokkos::parallel_for("random_load", range(space, b.size()), RandomLoad{b.values().data()});
  } else {
    add_load(space, grid, ManufacturedLoad<3>{solution, HermiteForm{}}, b);
  }
  for (std::string const precision : {"double", "mixed", "cell"}) {
    if (!contains(options.precisions, precision)) continue;
    for (std::string const name : {"chebyshev", "patch-forward", "patch-symmetric", "patch"}) {
      if (!contains(options.solvers, name)) continue;
      auto const result =
          precision == "double"  ? solve<HermiteMultigrid<Space, double, 3>>(space, a, b, x, name, options.repeats)
          : precision == "mixed" ? solve<HermiteMultigrid<Space, float, 3>>(space, a, b, x, name, options.repeats)
                                 : solve_cells(space, a, b, x, name, options);
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
      csv.row(mesh, grid.leaf_count(), a.unknown_count(), precision, name, to_string(result.status), result.iterations,
              result.contraction(), result.true_relative_residual, error, result.seconds, rate);
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

int run(int argc, char** argv) {
  Options const words = parse_options(
      argc, argv,
      {"--table", "--uniform", "--adaptive", "--region", "--solver", "--precision", "--evaluation", "--repeats"},
      {"--random", "--history"}, {});
  BRICKWORK_REQUIRE(words.sizes.empty(), "sizes are given by --uniform and --adaptive");
  auto const uniform = pair_of(words, "--uniform", "3:5"), adaptive = pair_of(words, "--adaptive", "4:2");
  Settings const options{words.value("--table", "5,7,8"),
                         words.value("--region", "octant,ball,ring"),
                         words.value("--precision", "double"),
                         words.value("--solver", "chebyshev,patch-forward,patch-symmetric,patch"),
                         words.flag("--random"),
                         words.flag("--history"),
                         words.count("--repeats", 1),
                         hermite_evaluation_from_string(words.value("--evaluation", "automatic"))};
  Csv csv(words.value("--csv"),
          "mesh,cells,unknowns,precision,solver,status,iterations,contraction,true_residual,l2_error,seconds,"
          "cells_per_second");
  Space const space;
  BaseGrid<3> const cube{{1, 1, 1}, {1, 1, 1}};
  if (contains(options.tables, "5")) {
    double error = 0;
    for (int l = uniform[0]; l <= uniform[1]; ++l)
      report(space, options, Grid(space, cube, l), "uniform " + std::to_string(l), error, csv);
  }
  for (std::string const name : {"octant", "ball", "ring"}) {
    if (!contains(options.regions, name)) continue;
    if (!contains(options.tables, "7") && !contains(options.tables, "8")) continue;
    Grid grid(space, cube, adaptive[0]);
    for (int depth = 1; depth <= adaptive[1]; ++depth) {
      auto const count = grid.refine(space, region_of(name));
      std::string const mesh = name + " " + std::to_string(adaptive[0]) + "+" + std::to_string(depth);
      std::printf(
          "%-16s %lld marked, %lld for balance; %.1f %% of the finest cells at the edge, %.3f edge faces per "
          "cell\n",
          mesh.c_str(), static_cast<long long>(count.marked), static_cast<long long>(count.balanced),
          100 * edges_per_cell(space, grid, true), edges_per_cell(space, grid, false));
      double none = 0;
      if (contains(options.tables, "7")) report(space, options, grid, mesh, none, csv);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
