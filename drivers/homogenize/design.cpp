// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "brickwork/design/homogenize_optimizer.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "brickwork/io/device_field.hpp"
#include "brickwork/io/progress.hpp"
#include "runs.hpp"
#include "support/density_files.hpp"
#include "support/driver.hpp"

namespace brickwork::driver {

namespace {

Settings describe_run(HomogenizeConfig const& config, MemoryState const& memory, index_t bytes) {
  HomogenizeProblem const& p = config.problem;
  index_t const cells = p.cell.cells[0] * p.cell.cells[1] * p.cell.cells[2];
  return {{"brickwork-homogenize", BRICKWORK_VERSION},
          {"problem", p.name},
          {"grid", triple(p.cell.cells) + " cells, " + std::to_string(cells) + " in all"},
          {"unknowns", std::to_string(3 * cells) + " per strain"},
          {"objective", p.objective == "expression" ? p.expression : p.objective},
          {"symmetry", p.symmetry},
          {"start", p.start == "file" ? p.start_file : p.start + ", seed " + std::to_string(p.seed)},
          {"update", to_string(p.update) + ", filter " + to_string(p.filter)},
          {"memory", describe_bytes(bytes, cells) + ", of " + format_bytes(double(memory.available)) + " free"},
          {"backend", std::string(Space::name()) + ", Kokkos " + BRICKWORK_KOKKOS_VERSION},
          {"device", memory.device},
          {"output", config.output.directory}};
}

CellHistoryRow history_row(HomogenizeStep const& step) {
  CellHistoryRow row;
  row.step = step.step;
  row.objective = step.objective;
  row.volume = step.volume;
  row.grayness = step.grayness;
  row.change = step.change;
  row.constraint = step.constraint;
  row.bulk = step.bulk;
  row.tensor = step.tensor;
  row.known = step.known;
  row.iterations = step.iterations;
  row.true_residual = step.true_residual;
  row.capped = step.status != SolveStatus::converged;
  row.penalization = step.parameters.penalization;
  row.beta = step.parameters.beta;
  row.move = step.parameters.move;
  row.radius = step.parameters.radius;
  row.seconds_filter = step.seconds_filter;
  row.seconds_solve = step.seconds_solve;
  row.seconds_sensitivity = step.seconds_sensitivity;
  row.seconds_update = step.seconds_update;
  row.seconds = step.seconds;
  return row;
}

template <class Real>
int run(HomogenizeConfig const& config, std::vector<float> const& start, bool force) {
  using Optimizer = HomogenizeOptimizer<Space, Real>;
  auto const begin = std::chrono::steady_clock::now();
  HomogenizeProblem const& problem = config.problem;
  CellOutputSettings const& output = config.output;
  Progress progress = Progress::console(config.quiet);

  // Cell, operator, solver: checked against the memory first, then allocated once.
  MemoryState const memory = memory_state();
  index_t const bytes = Optimizer::bytes(problem);
  require_memory(problem.cell.cells, bytes, memory, " or solver.storage = \"int16\"");
  progress.header(describe_run(config, memory, bytes));
  Space const space;
  Optimizer optimizer(space, problem);
  if (!start.empty()) optimizer.set_design(start);
  // Everything that can be refused has been: from here on the output directory may be touched.
  RunDirectory directory(output.directory, force);
  for (auto const& warning : config.warnings) progress.warning(warning);
  directory.write_config(to_toml(config));
  BoxGrid const& grid = optimizer.grid();
  DensityFiles files(output, directory, {grid.cells(), grid.origin(), grid.spacing()});
  auto const density = [&](FieldType type) { return density_field(space, "density", optimizer.density(), type); };
  auto const shown = [&] { return density(output.field_type); };

  // Design.
  CellSummary summary;
  CellHistoryRow row;
  double filter = 0, solve = 0, sensitivity = 0, update = 0;
  while (!optimizer.finished() && !interrupted) {
    row = history_row(optimizer.step());
    summary.iterations_total += row.iterations;
    summary.worst_true_residual = std::max(summary.worst_true_residual, row.true_residual);
    summary.capped_solves += row.capped ? 1 : 0;
    filter += row.seconds_filter, solve += row.seconds_solve;
    sensitivity += row.seconds_sensitivity, update += row.seconds_update;
    directory.append_history(cell_history_header(), to_csv(row));
    progress.row(cell_step_titles(), cell_step_line(row), row.step, problem.schedule.steps, row.seconds);
    bool const frame = output.every > 0 && row.step % output.every == 0;
    if (frame && !optimizer.finished()) files.frame(row.step, shown);
  }

  // The design that is reported: the one after the last update.
  HomogenizeStep const end = optimizer.final_analysis();
  summary.tensor = end.tensor;
  summary.iterations_total += end.iterations;
  summary.worst_true_residual = std::max(summary.worst_true_residual, end.true_residual);
  summary.capped_solves += end.status != SolveStatus::converged ? 1 : 0;
  summary.warnings = config.warnings;
  constexpr double slack = 1e-3;
  char note[120];
  if (end.volume > problem.volume_fraction + slack) {
    std::snprintf(note, sizeof note, "the volume is %.5f, above the %.5f asked for", end.volume,
                  problem.volume_fraction);
    summary.warnings.emplace_back(note);
  }
  if (end.constraint > slack) {
    std::snprintf(note, sizeof note, "a constraint g <= 0 is not met: the largest g is %.3g", end.constraint);
    summary.warnings.emplace_back(note);
  }
  double const uniform = 4 * problem.volume_fraction * (1 - problem.volume_fraction);
  if (end.grayness > 0.98 * uniform)
    summary.warnings.emplace_back("the design is nearly uniform: take more cells, another seed or a smaller radius");

  // Output, the small files first: a full disk must not cost them.
  fill_facts(summary, problem.name, problem.cell, memory);
  summary.kernel = to_string(optimizer.kernel());
  summary.method = to_string(optimizer.method());
  summary.storage = to_string(optimizer.storage());
  summary.status = interrupted ? "interrupted" : (summary.capped_solves > 0 ? "capped" : "finished");
  summary.young = problem.young;
  summary.volume = end.volume;
  summary.objective_name = problem.objective == "expression" ? problem.expression : problem.objective;
  summary.objective = end.objective;
  summary.constraint = end.constraint;
  summary.grayness = end.grayness;
  summary.steps = row.step;
  summary.stopped_by = interrupted ? "interrupt" : (row.step < problem.schedule.steps ? "change" : "steps");
  summary.symmetry = problem.symmetry;
  summary.start = problem.start == "file" ? problem.start_file : problem.start;
  summary.seed = problem.seed;
  summary.seconds_per_phase = {{"filter", filter}, {"solve", solve}, {"sensitivity", sensitivity}, {"update", update}};
  summary.peak_bytes = static_cast<double>(memory_state().used_peak - memory.used_peak);
  summary.predicted_bytes = static_cast<double>(bytes);
  summary.seconds_total = seconds_since(begin);
  write_text_file(directory.file("C.csv"), tensor_csv(summary.tensor));
  directory.write_summary(to_json(summary));
  files.frame(std::max(row.step, files.last_step() + 1), shown);
  files.last(shown);
  std::string const no_surface = write_cell(output, directory, files.geometry(), density(FieldType::float32));
  if (!no_surface.empty()) {
    summary.warnings.push_back(no_surface);
    directory.write_summary(to_json(summary));
  }

  char text[256];
  std::snprintf(text, sizeof text, "%s after %d steps: objective %.6g, volume %.4f, grayness %.2e, %.1f s, results in ",
                summary.status.c_str(), summary.steps, summary.objective, summary.volume, summary.grayness,
                summary.seconds_total);
  progress.finish(describe(summary) + text + directory.path());
  for (std::size_t i = config.warnings.size(); i < summary.warnings.size(); ++i) progress.warning(summary.warnings[i]);
  if (summary.capped_solves > 0) {
    progress.warning(std::to_string(summary.capped_solves) +
                     " step(s) had a solve that ended above the tolerance; history.csv says which");
  }
  if (interrupted) return failed;
  return summary.capped_solves > 0 ? capped : finished;
}

}  // namespace

int run_design(HomogenizeConfig const& config, std::vector<float> start, bool force) {
  return config.problem.cell.solver.precision == Precision::mixed ? run<float>(config, start, force)
                                                                  : run<double>(config, start, force);
}

}  // namespace brickwork::driver
