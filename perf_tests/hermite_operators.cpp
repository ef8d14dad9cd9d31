// SPDX-License-Identifier: BSD-3-Clause
// Hermite operators, cell-wise and vertex-wise: tables 1 to 4 of "Matrix-Free Local Multigrid for Hermite
// Discretizations on GPUs" and what its roofline (figure 1) counts, for the biharmonic form of cubic elements in three
// dimensions, FP64.
//
// Usage: brickwork-perf-hermite-operators [--csv FILE] [--cells N] [--mesh N]
//   --cells  cells of tables 1 and 2; default 4194304 on a GPU (the source's), else 65536
//   --mesh   cells per axis of tables 3 and 4; default 128 on a GPU (the source's), else 32
//
// Effective bandwidth counts the field data that has to move, as the source does: 1024 bytes per cell and evaluation.
// A sweep over vertex blocks visits a cell once per complete vertex; per visit the source's kernel moves 1088 bytes
// (u and f whole, 64 stored), the control 1536, and this library's sweep 640 (of f only the vertex' own 64). Both rates
// are given. Shares are of the device copy measured in the same run, at the size of the evaluation.
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "brickwork/operators/hermite_transfer.hpp"
#include "brickwork/solvers/hermite_cell_smoother.hpp"
#include "perf_tests/support/measure.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--cells N] [--mesh N]";

constexpr double evaluation_bytes = 1024;

using Level = GridLevel<Memory, 3>;
using Primal = CellPrimal<Memory, 3>;
using Dual = CellDual<Memory, 3>;

index_t whole_number(Options const& options, char const* name, index_t otherwise, index_t most) {
  std::string const word = options.value(name);
  if (word.empty()) return otherwise;
  char* end = nullptr;
  errno = 0;
  long long const number = std::strtoll(word.c_str(), &end, 10);
  BRICKWORK_REQUIRE(errno == 0 && *end == '\0' && number >= 1 && number <= most, name, " ", word,
                    ": a whole number from 1 to ", most, " is needed");
  return number;
}

// Cells of one size in a box; an evaluation asks for no more of a level.
Level line_of_cells(index_t cells) {
  Level level{};
  level.domain_cells = {cells, 1, 1};
  level.box_cells = level.domain_cells;
  level.spacing = {1.0 / 128, 1.0 / 128, 1.0 / 128};
  level.is_box = true;
  level.cell_count = level.leaf_count = cells;
  level.vertex_count = 4 * (cells + 1);
  return level;
}

struct LargestValue {
  double const* values;
  KOKKOS_FUNCTION void operator()(index_t i, double& largest) const {
    largest = math::max(largest, math::abs(values[i]));
  }
};
struct LargestDifference {
  double const* a;
  double const* b;
  KOKKOS_FUNCTION void operator()(index_t i, double& largest) const {
    largest = math::max(largest, math::abs(a[i] - b[i]));
  }
};
template <class Functor>
double largest(Space const& space, index_t count, Functor const& functor) {
  double value = 0;
  Kokkos::parallel_reduce("perf::largest", range(space, count), functor, Kokkos::Max<double>(value));
  return value;
}

bool can_run(HermiteEvaluation evaluation, Space const& space, Level const& level) {
  try {
    HermiteCellOperator<Space, 3> const tried(space, level, {}, evaluation);
    return true;
  } catch (InputError const&) {
    return false;
  }
}

void print_operations(Csv& csv) {
  std::printf("\nTable 1: operations per cell (a multiply-add counts two)\n%-13s %8s %7s %10s %12s %9s %7s\n",
              "evaluation", "sectors", "size", "products", "butterflies", "of dense", "op/B");
  for (auto const evaluation : hermite_evaluations()) {
    unsigned const axes = hermite_evaluation_axes(evaluation, 3);
    int const split = static_cast<int>((axes & 1) + ((axes >> 1) & 1) + ((axes >> 2) & 1));
    auto const operations = hermite_operations(evaluation, 3);
    bool const diagonalized = evaluation == HermiteEvaluation::fdm;
    std::printf("%-13s %8d %7d %10.0f %12.0f %9.3f %7.2f\n", to_string(evaluation).c_str(),
                diagonalized ? 0 : 1 << split, diagonalized ? 4 : 64 >> split, operations.products,
                operations.butterflies, operations.products / 8192, operations.total() / evaluation_bytes);
    csv.row("operations", to_string(evaluation), 0, 0, 0, 0, 0, 0, operations.total(), 0);
  }
}

void measure_evaluations(Space const& space, index_t cells, double copy, Csv& csv) {
  std::printf("\nTable 2: one evaluation on %lld cells\n%-13s %9s %9s %9s %9s %9s %9s %7s\n",
              static_cast<long long>(cells), "evaluation", "ms", "GB/s", "Gcells/s", "% of copy", "deviation",
              "TFLOP/s", "op/B");
  Level const level = line_of_cells(cells);
  Primal const u(space, cells, "perf::u");
  Dual const expected(space, cells, "perf::expected"), w(space, cells, "perf::w");
  index_t const count = static_cast<index_t>(u.values().extent(0));
  fill(space, u.values().data(), count);
  HermiteCellOperator<Space, 3>(space, level, {}, HermiteEvaluation::assembled).apply(space, u, expected);
  double const scale = largest(space, count, LargestValue{expected.values().data()});
  for (auto const evaluation : hermite_evaluations()) {
    std::string const name = to_string(evaluation);
    if (!can_run(evaluation, space, level)) {
      std::printf("%-13s cannot run here\n", name.c_str());
      continue;
    }
    HermiteCellOperator<Space, 3> const a(space, level, {}, evaluation);
    a.apply(space, u, w);
    double const deviation =
        largest(space, count, LargestDifference{w.values().data(), expected.values().data()}) / scale;
    double const seconds = median_seconds(space, [&](int) { a.apply(space, u, w); });
    double const rate = static_cast<double>(cells) / seconds, bandwidth = rate * evaluation_bytes;
    double const operations = hermite_operations(evaluation, 3).total();
    std::printf("%-13s %9.4f %9.1f %9.4f %9.1f %9.1e %9.3f %7.2f\n", name.c_str(), 1e3 * seconds, 1e-9 * bandwidth,
                1e-9 * rate, 100 * bandwidth / copy, deviation, 1e-12 * rate * operations,
                operations / evaluation_bytes);
    std::fflush(stdout);
    csv.row("evaluation", name, cells, 1e3 * seconds, 1e-9 * bandwidth, 1e-9 * rate, bandwidth / copy, deviation,
            operations, 0);
  }
}

void measure_smoothers(Space const& space, index_t mesh, double copy, Csv& csv) {
  BaseGrid<3> base{{mesh, mesh, mesh}, {1, 1, 1}};
  AdaptiveGrid<Space, 3> const grid(space, base, 0);
  Level const level = grid.level(0);
  index_t const cells = level.cell_count;
  auto const adjacency = cell_adjacency<Space, 3>(space, level);
  auto const fixed = incomplete_vertices<Space, 3>(space, adjacency);
  std::printf("\nTable 3: one application on %lld^3 cells\n%-26s %9s %10s %12s\n", static_cast<long long>(mesh),
              "operation", "ms", "Mcells/s", "evaluations");
  double evaluation = 0;
  auto const row = [&](std::string const& name, double seconds) {
    if (evaluation == 0) evaluation = seconds;
    std::printf("%-26s %9.4f %10.1f %12.2f\n", name.c_str(), 1e3 * seconds, 1e-6 * static_cast<double>(cells) / seconds,
                seconds / evaluation);
    std::fflush(stdout);
    csv.row("smoother", name, cells, 1e3 * seconds, 0, 1e-9 * static_cast<double>(cells) / seconds, 0, 0, 0,
            seconds / evaluation);
  };

  HermiteCellOperator<Space, 3> const a(space, level, {});
  {
    Primal const u(space, cells, "perf::u");
    Dual const f(space, cells, "perf::f");
    fill(space, f.values().data(), static_cast<index_t>(f.values().extent(0)));
    {
      Dual const w(space, cells, "perf::w");
      double const seconds = median_seconds(space, [&](int) { a.apply(space, u, w); });
      row("operator " + to_string(a.evaluation()), seconds);
      for (auto const method : {SummationMethod::passes, SummationMethod::vertices}) {
        DirectStiffnessSummation<Space, 3> const dss(adjacency, method);
        fill(space, w.values().data(), static_cast<index_t>(w.values().extent(0)));
        row(method == SummationMethod::passes ? "summation, passes" : "summation, vertices",
            median_seconds(space, [&](int) { dss.sum(space, w); }));
      }
    }
    constexpr int stages = 3;
    for (auto const method : {SummationMethod::passes, SummationMethod::vertices}) {
      // Up to 2.2: above the largest eigenvalue, so that repeated smoothing converges.
      HermiteCellChebyshev<Space, 3> const smoother(space, a, adjacency, fixed, 0.2, 2.2, method);
      row(method == SummationMethod::passes ? "Chebyshev stage, passes" : "Chebyshev stage, vertices",
          median_seconds(space, [&](int) { smoother.smooth(space, f, u, stages); }) / stages);
    }
  }

  CellPrimal<Memory, 3, CellLayout::contiguous> const u(space, cells, "perf::u");
  CellDual<Memory, 3, CellLayout::contiguous> const f(space, cells, "perf::f");
  fill(space, f.values().data(), static_cast<index_t>(f.values().extent(0)));
  HermitePatchSmoother<Space, 3> const patches(space, adjacency, a.element());
  double const sweep = median_seconds(space, [&](int) { patches.sweep(space, f, u, ColorOrder::forward); });
  row("patch sweep", sweep);
  row("patch sweep, reversed", median_seconds(space, [&](int) { patches.sweep(space, f, u, ColorOrder::reversed); }));
  double const control = median_seconds(space, [&](int) { patches.addressing_control(space, f, u, 1e-6); });
  row("addressing control", control);

  auto const visits = static_cast<double>(patches.visits());
  std::printf("\nTable 4: rates of the sweep, %.2f visits per cell\n%-26s %9s %10s %8s %9s %9s\n",
              visits / static_cast<double>(cells), "operation", "ms", "Mcells/s", "B/visit", "GB/s", "% of copy");
  auto const rate = [&](char const* name, double seconds, double visited, double bytes) {
    double const bandwidth = visited * bytes / seconds;
    std::printf("%-26s %9.4f %10.1f %8.0f %9.1f %9.1f\n", name, 1e3 * seconds,
                1e-6 * static_cast<double>(cells) / seconds, bytes, 1e-9 * bandwidth, 100 * bandwidth / copy);
    csv.row("traffic", name, cells, 1e3 * seconds, 1e-9 * bandwidth, 1e-9 * static_cast<double>(cells) / seconds,
            bandwidth / copy, 0, 0, bytes);
  };
  rate("operator", evaluation, static_cast<double>(cells), evaluation_bytes);
  rate("patch sweep", sweep, visits, 640);
  rate("patch sweep (as source)", sweep, visits, 1088);
  rate("addressing control", control, visits, 1536);
}

/// The same in vertex-wise storage, FP64 and FP32: least traffic per vertex as values read and written.
template <class Scalar>
void measure_vertices(Space const& space, index_t mesh, double copy, Csv& csv) {
  int refinements = 0;
  while (mesh % (index_t(2) << refinements) == 0) ++refinements;
  BaseGrid<3> base;
  base.cells.fill(mesh >> refinements);
  base.lengths.fill(1);
  AdaptiveGrid<Space, 3> const grid(space, base, refinements);
  int const l = refinements;
  auto const& level = grid.level(l);
  using Vector = HermiteLevelVector<Scalar, Memory, 3>;
  std::vector<Kokkos::View<Scalar*, Memory>> storage;
  auto const vector = [&](index_t vertices) {
    storage.push_back(allocate<Kokkos::View<Scalar*, Memory>>(space, "perf::vector", 8 * vertices));
    return Vector(storage.back().data(), static_cast<std::size_t>(vertices));
  };
  auto const x = vector(level.vertex_count), b = vector(level.vertex_count), y = vector(level.vertex_count),
             old = vector(level.vertex_count);
  Kokkos::deep_copy(space, b, Scalar(1));
  HermiteLevel<Space, Scalar, 3> const a(space, {space, level, PlateBoundary<3>{}, true}, {});
  std::printf("\nVertex-wise storage, %s, %lld^3 cells\n%-26s %9s %10s %12s %8s %9s\n",
              sizeof(Scalar) == 8 ? "FP64" : "FP32", static_cast<long long>(mesh), "operation", "ms", "Mcells/s",
              "evaluations", "B/vertex", "% of copy");
  double evaluation = 0;
  auto const row = [&](char const* name, double values, double seconds) {
    if (evaluation == 0) evaluation = seconds;
    double const bytes = values * sizeof(Scalar);
    double const bandwidth = static_cast<double>(level.vertex_count) * bytes / seconds;
    std::printf("%-26s %9.4f %10.1f %12.2f %8.0f %9.1f\n", name, 1e3 * seconds,
                1e-6 * static_cast<double>(level.cell_count) / seconds, seconds / evaluation, bytes,
                100 * bandwidth / copy);
    std::fflush(stdout);
    csv.row(sizeof(Scalar) == 8 ? "vertex_fp64" : "vertex_fp32", name, level.cell_count, 1e3 * seconds,
            1e-9 * bandwidth, 1e-9 * static_cast<double>(level.cell_count) / seconds, bandwidth / copy, 0, 0, bytes);
  };
  row("operator", 16, median_seconds(space, [&](int) { a.apply(space, x, y); }));
  row("residual", 24, median_seconds(space, [&](int) { a.residual(space, b, x, y); }));
  row("Chebyshev stage, first", 16, median_seconds(space, [&](int) { a.start(space, 0.9, b, y, old); }));
  row("Chebyshev stage", 32, median_seconds(space, [&](int) { a.chebyshev_step(space, 0.3, 0.9, b, x, y, y); }));
  row("patch sweep", 32, median_seconds(space, [&](int) { a.sweep(space, false, b, x); }));
  if (refinements > 0) {
    HermiteTransfer<Space, 3> const transfer(space, grid.level(l - 1), level);
    auto const u = vector(grid.level(l - 1).vertex_count);
    row("prolongation", 17,
        median_seconds(space, [&](int) { transfer.template prolongate<Scalar>(space, u, x, y, {}); }));
    row("restriction", 9,
        median_seconds(space, [&](int) { transfer.template restrict_to<Scalar>(space, y, u, false); }));
  }
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {"--cells", "--mesh"}, {}, {});
  BRICKWORK_REQUIRE(options.sizes.empty(), "sizes are given by --cells and --mesh");
  index_t const cells = whole_number(options, "--cells", on_cuda ? 4194304 : 65536, index_t(1) << 28);
  index_t const mesh = whole_number(options, "--mesh", on_cuda ? 128 : 32, 512);
  Csv csv(options.value("--csv"),
          "table,name,cells,milliseconds,gbytes_per_second,gcells_per_second,of_copy,deviation,operations_per_cell,"
          "evaluations_or_bytes");
  Space const space;
  std::printf("Hermite operators, biharmonic form, three dimensions; cell-wise in FP64\n");
  print_machine(space);
  double const copy = copy_bandwidth(space, static_cast<index_t>(evaluation_bytes) * cells).best();
  csv.row("copy", "copy", cells, 0, 1e-9 * copy, 1e-9 * copy / evaluation_bytes, 1, 0, 0, 0);
  print_operations(csv);
  measure_evaluations(space, cells, copy, csv);
  measure_smoothers(space, mesh, copy, csv);
  measure_vertices<double>(space, mesh, copy, csv);
  measure_vertices<float>(space, mesh, copy, csv);
  std::printf(
      "\nsource, A100: two-axis 1.695 Gcells/s (85 %% of peak), 1.96 x FDM, 1.51 x dense; a Chebyshev stage is 6.7 "
      "evaluations, a patch sweep 11.9 (14.741 ms, control 14.281 ms)\n");
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
