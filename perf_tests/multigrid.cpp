// SPDX-License-Identifier: BSD-3-Clause
// The multigrid preconditioner: what a call costs, in products of the finest level, and what it gains.
//
// Usage: brickwork-perf-multigrid [--csv FILE] [--k LIST] [--grid NX,NY,NZ] [--degree LIST] [--krylov LIST]
//                                 [--field LIST] [--smoother LIST] [--once]
//   --k       protocol B's box at k cells per unit length, 2k x k x k; default 40
//   --grid    another box, cubes as cells; with 2k x k x k replaced
//   --degree  of the smoother, or its sweeps; default 1,2,3
//   --krylov  coarse levels with a K-cycle, -1 = all but the coarsest; default 0,1,2,-1
//   --field   of moduli: uniform, random (in [1e-9, 1]), checker (1 and 1e-9), bars (1e-9 beside two-cell members of
//             1), log (log-uniform in [1e-9, 1]); default uniform,random,checker
//   --smoother chebyshev, block_jacobi, gauss_seidel, bf16 (solvers/smoother.hpp) or all; default chebyshev
//
//   --once    one update and one call and nothing else, for a profiler
//
// The face x = 0 is clamped, a force pulls the middle of the opposite face in z; solves start from zero and end at a
// true residual of 1e-5 in FP64. "call" is one application of the preconditioner, "product" the plain FP32 product,
// "update" the rebuilding of all levels after a change of the moduli, "MiB" what the multigrid allocates.
//
// The table of smoothers: --smoother all --degree 1,2 --krylov -1.
#include <cmath>

#include "brickwork/solvers/flexible_conjugate_gradient.hpp"
#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage =
    "[--csv FILE] [--k LIST] [--grid NX,NY,NZ] [--degree LIST] [--krylov LIST] [--field LIST] "
    "[--smoother LIST] [--once]";

struct Moduli {
  int kind;  // 0 uniform, 1 random, 2 checker, 3 bars, 4 log-uniform
  index_t nx, ny;
  float* moduli;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t const i = cell % nx, j = cell / nx % ny, k = cell / nx / ny;
    double value = 0.027;
    if (kind == 1 || kind == 4) {
      std::uint64_t h = static_cast<std::uint64_t>(cell) * 0x9E3779B97F4A7C15ull + 12345u;
      h ^= h >> 32;
      h *= 0xD6E8FEB86659FD93ull;
      h ^= h >> 32;
      double const share = static_cast<double>(h >> 11) * 0x1p-53;
      value = kind == 1 ? 1e-9 + share : math::pow(10.0, -9.0 * share);
    } else if (kind == 2) {
      value = (i + j + k) % 2 == 0 ? 1.0 : 1e-9;
    } else if (kind == 3) {
      value = i / 2 % 4 == 0 || j / 2 % 4 == 0 || k / 2 % 4 == 0 ? 1.0 : 1e-9;
    }
    moduli[cell] = static_cast<float>(value);
  }
};

struct ClampFace {
  index_t mx;
  std::uint8_t* mask;
  KOKKOS_FUNCTION void operator()(index_t node) const { mask[node] = node % mx == 0 ? 7 : 0; }
};

int kind_of(std::string const& field) {
  std::vector<std::string> const names{"uniform", "random", "checker", "bars", "log"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == field) return static_cast<int>(i);
  throw InputError("unknown field '" + field + "'; known: uniform, random, checker, bars, log");
}

void measure(Space const& space, Index3 const& cells, std::vector<std::string> const& fields,
             std::vector<Smoother> const& kinds, std::vector<int> const& degrees, std::vector<int> const& krylov,
             bool once, Csv& csv) {
  double const h = 1.0 / static_cast<double>(cells[1]);
  BoxGrid const grid(cells, {h * static_cast<double>(cells[0]), 1.0, h * static_cast<double>(cells[2])});
  index_t const nodes = grid.node_count();
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, 0.3}), {2, 2, 2});
  ElasticityOperator<Space, double> outer(space, grid, stiffness);
  ElasticityOperator<Space, float> inner(space, grid, stiffness);
  auto const moduli = allocate<CellField<float, Memory>>(space, "moduli", grid.cell_count());
  auto const mask = allocate<NodeMask<Memory>>(space, "mask", nodes);
  Kokkos::parallel_for("clamp", range(space, nodes), ClampFace{grid.nodes()[0], mask.data()});
  space.fence();
  inner.set_moduli(moduli);
  inner.set_constraints(space, mask);
  outer.set_constraints(space, mask);
  auto const u = allocate<NodalVector<double, Memory>>(space, "u", nodes);
  NodalForces<Memory> const force{
      upload<Kokkos::View<index_t*, Memory>>({grid.node_index(cells[0], cells[1] / 2, cells[2] / 2)}, "node"),
      upload<Kokkos::View<double*, Memory>>({0.0, 0.0, -1.0}, "force")};
  std::string const name = std::to_string(cells[0]) + "x" + std::to_string(cells[1]) + "x" + std::to_string(cells[2]);

  for (auto const& field : fields) {
    Kokkos::parallel_for("moduli", range(space, grid.cell_count()),
                         Moduli{kind_of(field), cells[0], cells[1], moduli.data()});
    for (Smoother kind : kinds) {
      for (int degree : degrees) {
        for (int levels : krylov) {
          MultigridSettings settings;
          settings.smoother = kind;
          settings.degree = degree;
          settings.krylov_levels = levels;
          FlexibleConjugateGradient<Space> cg(space, grid);
          ElasticityMultigrid<Space> multigrid(space, inner, settings, cg.temporary());
          multigrid.update(space);
          auto const r = filled_vector<float>(space, nodes, 1), z = filled_vector<float>(space, nodes, 2);
          if (once) {
            multigrid.apply(space, r, z);
            space.fence();
            continue;
          }
          double const update = median_seconds(space, [&](int) { multigrid.update(space); });
          double const product = median_seconds(space, [&](int) { multigrid.free_operator().apply(space, r, z); });
          double const call = median_seconds(space, [&](int) { multigrid.apply(space, r, z); });
          Kokkos::deep_copy(space, u, 0.0);
          space.fence();
          Stopwatch watch(space);
          watch.start();
          SolveResult const result = cg.solve(space, outer, inner, multigrid, force, u, {1e-5, 500});
          double const seconds = watch.stop();
          double const mib = static_cast<double>(ElasticityMultigrid<Space>::bytes(grid, true, settings)) / (1 << 20);
          std::printf("%-14s %-8s %-12s %6d %6d %6d %8.1f %9.1f %9.1f %9.1f %6.1f %6d %6d %10.3g %-10s %9.4f\n",
                      name.c_str(), field.c_str(), to_string(kind).c_str(), degree, multigrid.krylov_levels(),
                      multigrid.hierarchy().size(), mib, update * 1e6, product * 1e6, call * 1e6, call / product,
                      result.iterations, result.residual_evaluations, result.true_relative_residual,
                      to_string(result.status).c_str(), seconds);
          std::fflush(stdout);
          csv.row(name, field, to_string(kind), degree, multigrid.krylov_levels(), multigrid.hierarchy().size(), mib,
                  update * 1e6, product * 1e6, call * 1e6, call / product, result.iterations,
                  result.residual_evaluations, result.true_relative_residual, to_string(result.status), seconds);
        }
      }
    }
  }
}

std::vector<Smoother> smoothers_of(std::string const& list) {
  if (list == "all") return smoothers();
  std::vector<Smoother> kinds;
  for (auto const& word : split(list)) kinds.push_back(smoother_from_string(word));
  return kinds;
}

int run(int argc, char** argv) {
  Options const options = parse_options(
      argc, argv, {"--csv", "--k", "--grid", "--degree", "--krylov", "--field", "--smoother"}, {"--once"}, {});
  Space const space;
  print_machine(space);
  Csv csv(options.value("--csv", ""),
          "grid,field,smoother,degree,krylov,levels,MiB,update us,product us,call us,call/product,"
          "iterations,residual evaluations,residual,status,solve s");
  std::printf("%-14s %-8s %-12s %6s %6s %6s %8s %9s %9s %9s %6s %6s %6s %10s %-10s %9s\n", "grid", "field", "smoother",
              "degree", "krylov", "levels", "MiB", "update us", "prod. us", "call us", "ratio", "iter.", "checks",
              "residual", "status", "solve s");
  auto const fields = split(options.value("--field", "uniform,random,checker"));
  auto const kinds = smoothers_of(options.value("--smoother", "chebyshev"));
  auto const degrees = integers(options.value("--degree", "1,2,3"));
  auto const krylov = integers(options.value("--krylov", "0,1,2,-1"));
  std::vector<Index3> grids;
  std::string const grid = options.value("--grid", "");
  if (!grid.empty()) {
    auto const n = integers(grid);
    BRICKWORK_REQUIRE(n.size() == 3, "--grid ", grid, ": three numbers are needed");
    grids.push_back({n[0], n[1], n[2]});
  } else {
    for (int k : integers(options.value("--k", "40"))) grids.push_back({2 * k, k, k});
  }
  for (auto const& cells : grids) measure(space, cells, fields, kinds, degrees, krylov, options.flag("--once"), csv);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, usage, run); }
