// SPDX-License-Identifier: BSD-3-Clause
// Homogenization: seconds per design step and per tensor, bytes per cell, and what precision and tolerance change.
//
// Usage: brickwork-perf-homogenization [--csv FILE] [--task LIST] [--cells LIST] [--steps N] [--objective NAME]
//                                      [--symmetry NAME] [--storage LIST] [--tolerance LIST] [--contrast LIST]
//                                      [--starts N] [--volume V] [--fraction F] [--degree LIST] [--krylov LIST]
//   --task      design     steps of inverse homogenization: seconds of the first and of the later steps
//               tensor     the whole tensor of a random two-phase image
//               precision  a bulk design per precision and storage of the fields (the source's Table 1 and Figure 5)
//               tolerance  a bulk design per tolerance of the solves (the source's Figure 6)
//               starts     bulk designs from several random starts, plain and with projection and continuation
//               default design,tensor
//   --cells     per axis; default 32
//   --steps     of a design; default 6 (precision, tolerance, starts: 60, 60, 200)
//   --objective bulk, shear, npr, ...; default bulk
//   --symmetry  reflect6, rotate3, reflect3, none; default reflect6
//   --storage   automatic, fp64, fp32, int16; default automatic
//   --tolerance of the solves; default 1e-5 (tensor: 1e-6; the task tolerance: 1e-1,1e-2,1e-3,1e-4,1e-5,1e-6)
//   --contrast  of the two phases; default 1000
//   --fraction  share of the stiff phase; default 0.5
//   --degree    of the smoother; default 2
//   --krylov    coarse levels with a K-cycle, -1 = chosen by the solver; default -1
//   --starts    seeds 1 .. N; default 4
//   --volume    fraction of a design; default 0.3
//
// The CSV has one set of columns for all tasks (`columns` below); a task leaves empty what it does not measure. Bytes
// are per cell, iterations those of all solves of the row, `relative` is the bulk modulus relative to the first of its
// table. "peak" is the device memory in use after the first step beyond that before, "plan" what was predicted.
#include <algorithm>
#include <cmath>

#include "brickwork/design/homogenize_optimizer.hpp"
#include "brickwork/fem/material.hpp"
#include "brickwork/io/homogenize_config.hpp"
#include "perf_tests/support/measure.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage =
    "[--csv FILE] [--task LIST] [--cells LIST] [--steps N] [--objective NAME] [--symmetry NAME] [--storage LIST] "
    "[--tolerance LIST] [--contrast LIST] [--starts N] [--volume V] [--fraction F] [--degree LIST] [--krylov LIST]";

FieldStorage storage_of(std::string const& name) {
  if (name == "automatic") return FieldStorage::automatic;
  if (name == "fp64") return FieldStorage::fp64;
  if (name == "fp32") return FieldStorage::fp32;
  BRICKWORK_REQUIRE(name == "int16", "--storage ", name, ": automatic, fp64, fp32 or int16 is needed");
  return FieldStorage::int16;
}

double number(Options const& options, std::string const& name, double otherwise) {
  std::string const text = options.value(name, "");
  if (text.empty()) return otherwise;
  std::size_t used = 0;
  double const value = std::stod(text, &used);
  BRICKWORK_REQUIRE(used == text.size(), name, " ", text, ": a number is needed");
  return value;
}

HomogenizeProblem problem_of(Options const& options, index_t cells, int steps) {
  HomogenizeProblem problem;
  problem.cell.cells = {cells, cells, cells};
  problem.objective = options.value("--objective", "bulk");
  problem.symmetry = options.value("--symmetry", "reflect6");
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)  // of the objective `target`: what a good cell of 30 % has
      problem.parameters.target[i][j] = i == j ? (i < 3 ? 0.2 : 0.06) : (i < 3 && j < 3 ? 0.07 : 0.0);
  problem.volume_fraction = number(options, "--volume", 0.3);
  problem.schedule = constant_schedule(steps, 3, 1, 0.05, 2);
  problem.stop.most_steps = steps;
  problem.stop.times = steps;  // never: all steps are wanted
  return problem;
}

std::vector<std::string> const columns = {"task",
                                          "cells",
                                          "case",
                                          "objective",
                                          "storage",
                                          "contrast",
                                          "tolerance",
                                          "degree",
                                          "krylov",
                                          "solves",
                                          "steps",
                                          "iterations",
                                          "residual",
                                          "status",
                                          "seconds",
                                          "seconds_first_step",
                                          "seconds_step",
                                          "seconds_filter",
                                          "seconds_solve",
                                          "seconds_tensor",
                                          "seconds_update",
                                          "C11",
                                          "C12",
                                          "C44",
                                          "bulk",
                                          "relative",
                                          "share_of_bound",
                                          "grayness",
                                          "bytes_peak",
                                          "bytes_predicted"};

// A row of the CSV, by the names of its columns.
class Record {
 public:
  explicit Record(std::string const& task) : fields_(columns.size()) { set("task", task); }

  Record& set(std::string const& column, std::string const& value) {
    auto const found = std::find(columns.begin(), columns.end(), column);
    BRICKWORK_REQUIRE(found != columns.end(), "no column '", column, "'");
    fields_[static_cast<std::size_t>(found - columns.begin())] = value;
    return *this;
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Record& set(std::string const& column, Number value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return set(column, std::string(text));
  }
  void write(Csv& csv) const { csv.texts(fields_); }

 private:
  std::vector<std::string> fields_;
};

std::string header() {
  std::string text;
  for (std::string const& column : columns) text += (text.empty() ? "" : ",") + column;
  return text;
}

double bytes_per_cell(index_t bytes, index_t cells) {
  return static_cast<double>(bytes) / static_cast<double>(cells * cells * cells);
}

using Optimizer = HomogenizeOptimizer<Space, float>;

struct Totals {
  HomogenizeStep last;
  int iterations = 0, most = 0;
  double seconds = 0, first = 0, filter = 0, solve = 0, sensitivity = 0, update = 0, worst = 0;
};

Totals run_steps(Optimizer& optimizer) {
  Totals totals;
  while (!optimizer.finished()) {
    totals.last = optimizer.step();
    totals.iterations += totals.last.iterations;
    totals.most = std::max(totals.most, totals.last.iterations);
    totals.seconds += totals.last.seconds;
    totals.filter += totals.last.seconds_filter;
    totals.solve += totals.last.seconds_solve;
    totals.sensitivity += totals.last.seconds_sensitivity;
    totals.update += totals.last.seconds_update;
    totals.worst = std::max(totals.worst, totals.last.true_residual);
    if (totals.last.step == 1) totals.first = totals.last.seconds;
  }
  return totals;
}

void design(Options const& options, Csv& csv) {
  std::printf("%-10s %6s %-9s %-9s %6s %9s %9s %9s %7s %9s %8s %8s\n", "design", "cells", "objective", "storage",
              "solves", "first s", "s/step", "solve s", "iter.", "residual", "peak B", "plan B");
  for (int cells : integers(options.value("--cells", "32")))
    for (auto const& storage : split(options.value("--storage", "automatic"))) {
      int const steps = options.count("--steps", 6);
      HomogenizeProblem problem = problem_of(options, cells, steps);
      problem.cell.storage = storage_of(storage);
      problem.cell.solver.tolerance = number(options, "--tolerance", 1e-5);
      problem.cell.solver.smoother_degree = options.count("--degree", 2);
      if (!options.value("--krylov", "").empty())
        problem.cell.solver.krylov_levels = integers(options.value("--krylov", "-1")).front();
      Space const space;
      index_t const before = used_memory();
      Optimizer optimizer(space, problem);
      HomogenizeStep const first = optimizer.step();
      double const peak = bytes_per_cell(used_memory() - before, cells);
      Totals const totals = run_steps(optimizer);
      double const later = std::max(1, steps - 1);
      std::printf("%-10s %6d %-9s %-9s %6zu %9.4f %9.4f %9.4f %7.1f %9.2e %8.1f %8.1f\n", "design", cells,
                  problem.objective.c_str(), storage.c_str(), optimizer.plan().strains.size(), first.seconds,
                  totals.seconds / later, totals.solve / later, totals.iterations / later, totals.worst, peak,
                  bytes_per_cell(Optimizer::bytes(problem), cells));
      std::fflush(stdout);
      Record("design")
          .set("cells", cells)
          .set("objective", problem.objective)
          .set("storage", storage)
          .set("tolerance", problem.cell.solver.tolerance)
          .set("degree", problem.cell.solver.smoother_degree)
          .set("krylov", problem.cell.solver.krylov_levels)
          .set("solves", optimizer.plan().strains.size())
          .set("steps", steps)
          .set("iterations", first.iterations + totals.iterations)
          .set("residual", std::max(first.true_residual, totals.worst))
          .set("seconds", first.seconds + totals.seconds)
          .set("seconds_first_step", first.seconds)
          .set("seconds_step", totals.seconds / later)
          .set("seconds_filter", totals.filter / later)
          .set("seconds_solve", totals.solve / later)
          .set("seconds_tensor", totals.sensitivity / later)
          .set("seconds_update", totals.update / later)
          .set("bytes_peak", peak)
          .set("bytes_predicted", bytes_per_cell(Optimizer::bytes(problem), cells))
          .write(csv);
    }
}

struct TwoPhases {
  double fraction;
  float low;
  float* moduli;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    std::uint64_t h = static_cast<std::uint64_t>(cell) * 0x9E3779B97F4A7C15ull + 4711u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ull;
    h ^= h >> 32;
    moduli[cell] = static_cast<double>(h >> 11) * 0x1p-53 < fraction ? 1.0f : low;
  }
};

void tensor(Options const& options, Csv& csv) {
  std::printf("%-10s %6s %9s %9s %6s %6s %9s %9s %7s %9s %10s %10s %10s %8s\n", "tensor", "cells", "contrast",
              "tolerance", "degree", "krylov", "s", "s tensor", "iter.", "residual", "C11", "C12", "C44", "bytes");
  for (int cells : integers(options.value("--cells", "32")))
    for (auto const& contrast : split(options.value("--contrast", "1000")))
      for (auto const& tolerance : split(options.value("--tolerance", "1e-6")))
        for (int degree : integers(options.value("--degree", "2")))
          for (int krylov : integers(options.value("--krylov", "-1"))) {
            Space const space;
            BoxGrid const grid({cells, cells, cells}, {1, 1, 1}, {true, true, true});
            SolverSettings settings;
            settings.smoother_degree = degree;
            settings.krylov_levels = krylov;
            index_t const before = used_memory();
            HomogenizationSolver<Space> solver(
                space, grid, hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, 0.3}), grid.spacing()),
                full_strain_plan(), settings);
            Kokkos::parallel_for("moduli", range(space, grid.cell_count()),
                                 TwoPhases{number(options, "--fraction", 0.5),
                                           static_cast<float>(1 / std::stod(contrast)), solver.moduli().data()});
            solver.moduli_changed();
            space.fence();
            Stopwatch watch(space);
            watch.start();
            HomogenizationReport const report = solver.solve(space, {std::stod(tolerance), settings.max_iterations});
            double const solved = watch.stop();
            watch.start();
            Tensor6 const c = solver.tensor(space);
            double const contracted = watch.stop();
            double const bytes = bytes_per_cell(used_memory() - before, cells);
            std::printf("%-10s %6d %9s %9s %6d %6d %9.4f %9.4f %7d %9.2e %10.7f %10.7f %10.7f %8.1f %s\n", "tensor",
                        cells, contrast.c_str(), tolerance.c_str(), degree, krylov, solved + contracted, contracted,
                        report.iterations, report.true_residual, c[0][0], c[0][1], c[3][3], bytes,
                        to_string(report.status).c_str());
            std::fflush(stdout);
            Record("tensor")
                .set("cells", cells)
                .set("contrast", contrast)
                .set("tolerance", tolerance)
                .set("degree", degree)
                .set("krylov", krylov)
                .set("solves", 6)
                .set("iterations", report.iterations)
                .set("residual", report.true_residual)
                .set("status", to_string(report.status))
                .set("seconds", solved + contracted)
                .set("seconds_solve", solved)
                .set("seconds_tensor", contracted)
                .set("C11", c[0][0])
                .set("C12", c[0][1])
                .set("C44", c[3][3])
                .set("bytes_peak", bytes)
                .write(csv);
          }
}

// One design, reported beside the first of its table.
void row_of_design(char const* task, std::string const& name, HomogenizeProblem const& problem, Csv& csv,
                   double& reference) {
  Space const space;
  Optimizer optimizer(space, problem);
  Totals const totals = run_steps(optimizer);
  double const bulk = totals.last.bulk;
  if (reference == 0) reference = bulk;
  double const bound = hashin_shtrikman_bulk(problem.young, problem.cell.poisson, totals.last.volume);
  std::printf("%-10s %6d %-28s %11.7f %9.2e %7.3f %8.4f %7.1f %9.2e %9.3f %8.1f\n", task,
              static_cast<int>(problem.cell.cells[0]), name.c_str(), bulk, (bulk - reference) / reference, bulk / bound,
              totals.last.grayness, totals.iterations / double(totals.last.step), totals.worst, totals.seconds,
              bytes_per_cell(Optimizer::bytes(problem), problem.cell.cells[0]));
  std::fflush(stdout);
  Record(task)
      .set("cells", problem.cell.cells[0])
      .set("case", name)
      .set("objective", problem.objective)
      .set("storage", to_string(problem.cell.storage))
      .set("tolerance", problem.cell.solver.tolerance)
      .set("degree", problem.cell.solver.smoother_degree)
      .set("krylov", problem.cell.solver.krylov_levels)
      .set("solves", optimizer.plan().strains.size())
      .set("steps", totals.last.step)
      .set("iterations", totals.iterations)
      .set("residual", totals.worst)
      .set("seconds", totals.seconds)
      .set("seconds_first_step", totals.first)
      .set("seconds_step", totals.seconds / totals.last.step)
      .set("seconds_filter", totals.filter / totals.last.step)
      .set("seconds_solve", totals.solve / totals.last.step)
      .set("seconds_tensor", totals.sensitivity / totals.last.step)
      .set("seconds_update", totals.update / totals.last.step)
      .set("bulk", bulk)
      .set("relative", (bulk - reference) / reference)
      .set("share_of_bound", bulk / bound)
      .set("grayness", totals.last.grayness)
      .set("bytes_predicted", bytes_per_cell(Optimizer::bytes(problem), problem.cell.cells[0]))
      .write(csv);
}

void title_of_designs(char const* task) {
  std::printf("%-10s %6s %-28s %11s %9s %7s %8s %7s %9s %9s %8s\n", task, "cells", "", "bulk", "relative", "/bound",
              "gray", "it/step", "residual", "s", "plan B");
}

void precision(Options const& options, Csv& csv) {
  title_of_designs("precision");
  for (int cells : integers(options.value("--cells", "32"))) {
    double reference = 0;
    HomogenizeProblem problem = problem_of(options, cells, options.count("--steps", 60));
    problem.cell.solver.tolerance = number(options, "--tolerance", 1e-5);
    SolverSettings& solver = problem.cell.solver;
    auto const row = [&](char const* name) { row_of_design("precision", name, problem, csv, reference); };
    solver.method = SolverMethod::jacobi;
    solver.precision = Precision::fp64;
    row("FP64, diagonal");
    solver.precision = Precision::fp32;
    solver.tolerance = std::max(solver.tolerance, 1e-3);  // below it FP32 alone does not come
    row("FP32, diagonal, 1e-3");
    solver.tolerance = number(options, "--tolerance", 1e-5);
    solver.precision = Precision::mixed;
    row("FP64/FP32, diagonal");
    solver.method = SolverMethod::multigrid;
    problem.cell.storage = FieldStorage::fp64;
    row("FP64/FP32, multigrid");
    problem.cell.storage = FieldStorage::fp32;
    row("the same, fields FP32");
    problem.cell.storage = FieldStorage::int16;
    row("the same, fields 16 bits");
    problem.cell.storage = FieldStorage::automatic;
    solver.smoother = Smoother::gauss_seidel;
    solver.smoother_degree = 1;
    solver.krylov_levels = 0;
    row("Gauss-Seidel V(1,1)");
    solver.half_stencils = true;
    row("Gauss-Seidel V(1,1), FP16");
    problem.cell.translations = Translations::pin;
    row("the same, corner pinned");
    solver.smoother = Smoother::chebyshev;
    solver.smoother_degree = 2;
    solver.krylov_levels = -1;
    problem.cell.translations = Translations::project;
    row("Chebyshev, FP16 stencils");
  }
}

void tolerance(Options const& options, Csv& csv) {
  title_of_designs("tolerance");
  for (int cells : integers(options.value("--cells", "32"))) {
    double reference = 0;
    for (auto const& word : split(options.value("--tolerance", "1e-6,1e-5,1e-4,1e-3,1e-2,1e-1"))) {
      HomogenizeProblem problem = problem_of(options, cells, options.count("--steps", 60));
      problem.cell.solver.tolerance = std::stod(word);
      row_of_design("tolerance", word, problem, csv, reference);
    }
  }
}

// Continuation: soft penalization and a wide filter first, then a sharp projection.
HomogenizeProblem with_continuation(HomogenizeProblem problem, int steps) {
  problem.filter = DesignFilter::density;
  problem.projection = true;
  Schedule schedule;
  schedule.name = "continuation";
  schedule.steps = steps;
  struct Row {
    double share, penalization, beta, move, radius;
  };
  Row const rows[] = {{0.15, 1.5, 1, 0.1, 2}, {0.3, 2.2, 2, 0.1, 2},    {0.5, 3, 4, 0.1, 2},
                      {0.7, 3, 8, 0.1, 1.5},  {0.85, 3, 16, 0.05, 1.5}, {1, 3, 32, 0.05, 1.5}};
  int first = 1;
  for (Row const& row : rows) {
    int const last = static_cast<int>(std::lround(row.share * steps));
    if (last < first) continue;
    schedule.stages.push_back({first, last, row.penalization, row.beta, row.move, row.radius});
    first = last + 1;
  }
  problem.schedule = schedule;
  return problem;
}

void starts(Options const& options, Csv& csv) {
  title_of_designs("starts");
  int const steps = options.count("--steps", 200);
  for (int cells : integers(options.value("--cells", "32")))
    for (int seed = 1; seed <= options.count("--starts", 4); ++seed) {
      double reference = 0;
      HomogenizeProblem problem = problem_of(options, cells, steps);
      problem.seed = static_cast<std::uint64_t>(seed);
      row_of_design("starts", "seed " + std::to_string(seed) + ", plain", problem, csv, reference);
      row_of_design("starts", "seed " + std::to_string(seed) + ", continuation", with_continuation(problem, steps), csv,
                    reference);
    }
}

int run(int argc, char** argv) {
  Options const options =
      parse_options(argc, argv,
                    {"--csv", "--task", "--cells", "--steps", "--objective", "--symmetry", "--storage", "--tolerance",
                     "--contrast", "--starts", "--volume", "--fraction", "--degree", "--krylov"},
                    {}, {});
  Space const space;
  print_machine(space);
  Csv csv(options.value("--csv", ""), header().c_str());
  for (auto const& task : split(options.value("--task", "design,tensor"))) {
    if (task == "design") {
      design(options, csv);
    } else if (task == "tensor") {
      tensor(options, csv);
    } else if (task == "precision") {
      precision(options, csv);
    } else if (task == "tolerance") {
      tolerance(options, csv);
    } else if (task == "starts") {
      starts(options, csv);
    } else {
      throw InputError("--task " + task + ": design, tensor, precision, tolerance or starts is needed");
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, usage, run); }
