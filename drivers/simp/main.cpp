// SPDX-License-Identifier: BSD-3-Clause
// brickwork-simp: 3D topology optimization by SIMP on a box of brick cells.
//
// Minimizes the compliance c = sum of weight f.u under a volume constraint, with K(rho) u = f solved matrix-free
// (design/simp_optimizer.hpp has the equations). Sample runs:
//
//   brickwork-simp examples/cantilever.toml
//   brickwork-simp examples/cantilever.toml --grid 40,20,10 --steps 20 --output results/small
//   brickwork-simp examples/bracket.toml --set solver.precision=fp64 --set design.volume_fraction=0.2
//
// Exit codes: 0 finished, 2 bad input, 3 finished but some solve was capped, 4 out of memory, 1 anything else.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "brickwork/core/config.hpp"
#include "brickwork/core/device_memory.hpp"
#include "brickwork/core/revision.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/design/simp_optimizer.hpp"
#include "brickwork/io/device_field.hpp"
#include "brickwork/io/progress.hpp"
#include "brickwork/io/run_directory.hpp"
#include "brickwork/io/simp_config.hpp"
#include "brickwork/io/simp_options.hpp"
#include "support/density_files.hpp"
#include "support/driver.hpp"

using namespace brickwork;
using namespace brickwork::driver;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

using Settings = std::vector<std::pair<std::string, std::string>>;

// In mixed precision the design lives in FP32 too.
bool single_fields(SimpProblem const& problem) { return problem.solver.precision == Precision::mixed; }

SimpMemory plan_memory(SimpProblem const& problem, MemoryState const& memory) {
  SimpMemory const plan = simp_memory(problem, single_fields(problem) ? 4 : 8);
  require_memory(problem.cells, plan.total(), memory,
                 problem.solver.precision == Precision::fp64 ? " or solver.precision = \"mixed\"" : "");
  return plan;
}

Settings describe_run(SimpConfig const& config, BoundaryConditions const& conditions, MemoryState const& memory,
                      SimpMemory const& plan) {
  SimpProblem const& problem = config.problem;
  BoxGrid const grid = simp_grid(problem);
  auto const part = [&](index_t bytes) { return describe_bytes(bytes, grid.cell_count()); };
  Settings settings{{"brickwork-simp", BRICKWORK_VERSION},
                    {"problem", problem.name},
                    {"grid", triple(problem.cells) + " cells, " + std::to_string(grid.cell_count()) + " in all"},
                    {"unknowns", std::to_string(grid.dof_count())},
                    {"stiffness", to_string(problem.stiffness)},
                    {"schedule", problem.schedule.name + ", " + std::to_string(problem.schedule.steps) + " steps"},
                    {"memory", part(plan.total()) + ", of " + format_bytes(double(memory.available)) + " free"},
                    {"  design fields", part(plan.fields)},
                    {"  state solver", part(plan.solver)},
                    {"  kernels", part(plan.kernels)},
                    {"kernel", to_string(simp_kernel(problem)) + ", " + to_string(problem.solver.precision)},
                    {"backend", std::string(Space::name()) + ", Kokkos " + BRICKWORK_KOKKOS_VERSION},
                    {"device", memory.device},
                    {"output", config.output.directory}};
  auto const& resultants = conditions.resultants;
  for (std::size_t c = 0; c < resultants.size(); ++c) {
    char text[128];
    std::snprintf(text, sizeof text, "case %zu, resultant (%g, %g, %g)", c, resultants[c][0], resultants[c][1],
                  resultants[c][2]);
    settings.emplace_back("load", text);
  }
  return settings;
}

HistoryRow history_row(SimpStep const& step) {
  HistoryRow row;
  row.step = step.step;
  row.compliance = step.compliance;
  row.volume = step.volume;
  row.grayness = step.grayness;
  row.change = step.change;
  row.iterations = step.iterations;
  row.true_residual = step.true_residual;
  row.capped = step.status != SolveStatus::converged;
  row.penalization = step.parameters.penalization;
  row.beta = step.parameters.beta;
  row.move = step.parameters.move;
  row.radius = step.parameters.radius;
  row.seconds_filter = step.seconds_filter;
  row.seconds_solve = step.seconds_solve;
  row.seconds_update = step.seconds_update;
  row.seconds = step.seconds;
  return row;
}

// Optimizer: a SimpOptimizer; its Real is the precision of the cell fields.
template <class Optimizer>
int run(SimpConfig const& config, bool force) {
  auto const start = std::chrono::steady_clock::now();
  SimpProblem const& problem = config.problem;
  Progress progress = Progress::console(config.quiet);

  // Mesh, operator, solver: checked against the memory first, then allocated once.
  MemoryState const memory = memory_state();
  SimpMemory const plan = plan_memory(problem, memory);
  BoundaryConditions const conditions = boundary_conditions(problem, simp_grid(problem));
  progress.header(describe_run(config, conditions, memory, plan));
  Space const space;
  Optimizer optimizer(space, problem, &conditions);
  // Everything that can be refused has been: from here on the output directory may be touched.
  RunDirectory directory(config.output.directory, force);
  for (auto const& warning : optimizer.warnings()) progress.warning(warning);
  directory.write_config(to_toml(config));
  BoxGrid const& grid = optimizer.grid();
  DensityFiles files(config.output, directory, {grid.cells(), grid.origin(), grid.spacing()});
  auto const density = [&] {
    optimizer.result();
    return density_field(space, "density", optimizer.density(), config.output.field_type);
  };

  // Design.
  RunSummary summary;
  auto const count = [&](SimpStep const& step) {
    summary.iterations_total += step.iterations;
    summary.worst_true_residual = std::max(summary.worst_true_residual, step.true_residual);
    summary.capped_solves += step.status != SolveStatus::converged ? 1 : 0;
  };
  double filter = 0, solve = 0, update = 0;
  while (!optimizer.finished() && !interrupted) {
    SimpStep const step = optimizer.step();
    count(step);
    filter += step.seconds_filter, solve += step.seconds_solve, update += step.seconds_update;
    directory.append_history(history_row(step));
    progress.step(history_row(step), problem.schedule.steps);
    if (step.restarted) progress.note("step " + std::to_string(step.step) + ": back to the best valid design");
    bool const frame = config.output.every > 0 && step.step % config.output.every == 0;
    if (frame && !optimizer.finished()) files.frame(step.step, density);
  }

  // Output.
  SimpResult const result = optimizer.result();
  count(optimizer.final_step());
  solve += optimizer.final_step().seconds_solve;
  files.frame(std::max(optimizer.steps_done(), files.last_step() + 1), density);
  files.last(density);

  MemoryState const after = memory_state();
  summary.name = problem.name;
  summary.status = interrupted ? "interrupted" : (summary.capped_solves > 0 ? "capped" : "finished");
  summary.compliance = result.compliance;
  summary.volume = result.volume;
  summary.grayness = result.grayness;
  summary.steps = optimizer.steps_done();
  summary.reported_step = result.step;
  summary.cells = problem.cells;
  summary.degrees_of_freedom = grid.dof_count();
  summary.backend = Space::name();
  summary.kernel = to_string(optimizer.kernel());
  summary.precision = to_string(problem.solver.precision);
  summary.device = memory.device;
  summary.stiffness = to_string(problem.stiffness);
  summary.seconds_total = seconds_since(start);
  summary.seconds_per_phase = {{"filter", filter}, {"solve", solve}, {"update", update}};
  summary.peak_bytes = static_cast<double>(after.used_peak - memory.used_peak);
  summary.predicted_bytes = static_cast<double>(plan.total());
  summary.load_resultants = optimizer.conditions().resultants;
  summary.versions = {{"brickwork", BRICKWORK_VERSION}, {"revision", revision()}, {"kokkos", BRICKWORK_KOKKOS_VERSION}};
  summary.warnings = optimizer.warnings();
  directory.write_summary(summary);

  char text[256];
  std::snprintf(text, sizeof text,
                "%s after %d steps: compliance %.6g (step %d), volume %.4f, grayness %.2e, %.1f s, results in ",
                summary.status.c_str(), summary.steps, summary.compliance, summary.reported_step, summary.volume,
                summary.grayness, summary.seconds_total);
  progress.finish(text + directory.path());
  if (summary.capped_solves > 0) {
    progress.warning(std::to_string(summary.capped_solves) +
                     " solve(s) ended above the tolerance; history.csv says which");
    return interrupted ? failed : capped;
  }
  return interrupted ? failed : finished;
}

}  // namespace

int main(int argc, char* argv[]) {
  return report_errors("brickwork-simp", [&] {
    SimpOptions const options = parse_simp_options(argc, argv, std::cout, std::cerr);
    if (options.exit_code) return *options.exit_code;
    SimpConfig const config = read_simp_config(options.config, options.overrides);
    if (options.print_config) {
      std::cout << to_toml(config);
      return static_cast<int>(finished);
    }
    return run_with_kokkos(argv[0], config.threads, config.device, [&] {
      return single_fields(config.problem) ? run<SimpOptimizer<Space, float>>(config, options.force)
                                           : run<SimpOptimizer<Space, double>>(config, options.force);
    });
  });
}
