// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <csignal>
#include <optional>

#include "brickwork/core/check.hpp"
#include "brickwork/design/homogenized_tensor.hpp"
#include "brickwork/design/start_density.hpp"
#include "brickwork/design/state_solver.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/fem/material.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "brickwork/io/progress.hpp"
#include "runs.hpp"
#include "support/density_files.hpp"
#include "support/driver.hpp"

namespace brickwork::driver {

namespace {

// 0 and 1 on either side of a triply periodic minimal surface.
std::vector<float> surface_cells(Space const& space, BoxGrid const& grid, ImageSource const& image) {
  StartSettings settings;
  settings.kind = start_density_from_string(image.surface);
  settings.mean = image.fraction;
  settings.periods = image.periods;
  settings.sheet = image.sheet;
  settings.width = 0;
  settings.lower = 0;
  auto const density =
      allocate<CellField<float, Space::memory_space>>(space, "brickwork::run_tensor::surface", grid.cell_count());
  start_density<Space, float>(space, grid, settings, density);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), density);
  return std::vector<float>(host.data(), host.data() + host.extent(0));
}

// The image as it was understood, before its values become moduli. Returns a warning, or nothing.
std::string write_image(CellOutputSettings const& output, RunDirectory const& directory, ImageGeometry const& geometry,
                        std::vector<float> const& values) {
  ImageField const field("density", values.data(), static_cast<index_t>(values.size()));
  DensityFiles files(output, directory, geometry);
  files.frame(0, [&] { return field; });
  files.last([&] { return field; });
  return write_cell(output, directory, geometry, field);
}

// A periodic axis needs two cells: a flat image is repeated, in the same length, which changes no tensor.
void repeat_flat_axes(Index3& cells, std::vector<float>& values) {
  Index3 const from = cells;
  for (index_t& n : cells) n = std::max<index_t>(n, 2);
  if (cells == from) return;
  std::vector<float> repeated;
  repeated.reserve(static_cast<std::size_t>(cells[0] * cells[1] * cells[2]));
  for (index_t k = 0; k < cells[2]; ++k)
    for (index_t j = 0; j < cells[1]; ++j)
      for (index_t i = 0; i < cells[0]; ++i)
        repeated.push_back(
            values[static_cast<std::size_t>(i % from[0] + from[0] * (j % from[1] + from[1] * (k % from[2])))]);
  values = std::move(repeated);
}

}  // namespace

int run_tensor(TensorConfig config, VoxelImage image, bool force) {
  auto const start = std::chrono::steady_clock::now();
  TensorProblem& problem = config.problem;
  Progress progress = Progress::console(config.quiet);
  Space const space;

  // Cell: size and sides are stated, or the image's own.
  if (!config.image.file.empty()) problem.cell.cells = image.cells;
  Vec3& lengths = problem.cell.lengths;
  if (lengths == Vec3{0, 0, 0} && image.has_geometry) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      lengths[axis] = image.spacing[axis] * static_cast<double>(problem.cell.cells[axis]);
    }
  }
  if (lengths == Vec3{0, 0, 0}) lengths = cubic_lengths(problem.cell.cells);
  if (!image.values.empty()) repeat_flat_axes(problem.cell.cells, image.values);
  Index3 const cells = problem.cell.cells;
  validate(problem);
  BoxGrid const grid(cells, lengths, {true, true, true}, image.origin);
  if (!config.image.surface.empty()) image.values = surface_cells(space, grid, config.image);

  // Memory, before anything else is allocated.
  SolverSettings const& solver_settings = problem.cell.solver;
  IsotropicSplit const split{reference_poisson(problem)};
  Hex8Matrix const stiffness = hex8_stiffness(split.first_matrix(), grid.spacing());
  std::optional<Hex8Matrix> second;
  if (has_several_ratios(problem)) second = hex8_stiffness(split.second_matrix(), grid.spacing());
  StrainPlan const plan = full_strain_plan();
  using Solver = HomogenizationSolver<Space>;
  index_t const bytes = Solver::bytes(grid, stiffness, plan, solver_settings, problem.cell.storage, second.has_value());
  MemoryState const memory = memory_state();
  require_memory(cells, bytes, memory, " or solver.storage = \"int16\"");

  CellSummary summary;
  fill_facts(summary, problem.name, problem.cell, memory);
  CellOutputSettings const& files = config.output;
  std::vector<float> const shown =
      files.vti || files.vtkhdf || files.npy || files.stl ? image.values : std::vector<float>();
  std::vector<float>& moduli = image.values;
  ImageContent content;
  std::string const source = config.image.file.empty() ? config.image.surface : config.image.file;
  try {
    content = image_moduli(problem, cells, moduli);
  } catch (InputError const& error) {
    throw InputError("'" + source + "': " + error.what());
  }
  summary.volume = content.volume;
  summary.young = problem.young;
  for (std::size_t i = 0; i < problem.materials.size(); ++i) {
    LabelMaterial const& material = problem.materials[i];
    summary.phases.push_back({material.young, material.poisson, content.shares[i]});
  }
  Settings header{
      {"brickwork-homogenize", BRICKWORK_VERSION},
      {"cell", problem.name + ", from " + source},
      {"grid", triple(cells) + " cells, " + std::to_string(grid.cell_count()) + " in all"},
      {"unknowns", std::to_string(grid.dof_count()) + ", six strains"},
      {"memory", describe_bytes(bytes, grid.cell_count()) + ", of " + format_bytes(double(memory.available)) + " free"},
      {"backend", std::string(Space::name()) + ", Kokkos " + BRICKWORK_KOKKOS_VERSION},
      {"device", memory.device},
      {"output", config.output.directory}};
  if (second) {
    char text[80];
    std::snprintf(text, sizeof text, "several Poisson's ratios, preconditioned with %.4g", split.reference);
    header.insert(header.begin() + 4, {"materials", text});
  }
  progress.header(header);
  Solver solver(space, grid, stiffness, plan, solver_settings, problem.cell.storage, problem.cell.translations, second);
  // Everything that can be refused has been: from here on the output directory may be touched.
  RunDirectory directory(config.output.directory, force);
  directory.write_config(to_toml(config));
  if (!shown.empty()) {
    std::string warning = write_image(files, directory, {cells, grid.origin(), grid.spacing()}, shown);
    if (!warning.empty()) config.warnings.push_back(std::move(warning));
  }
  for (auto const& warning : config.warnings) progress.warning(warning);

  // Solve. Nothing is lost by a Ctrl-C here, so it ends the program at once.
  std::signal(SIGINT, SIG_DFL);
  using HostField = Kokkos::View<float const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(space, solver.moduli(), HostField(moduli.data(), moduli.size()));
  if (second) {
    std::vector<float> const& values = content.second_moduli;
    Kokkos::deep_copy(space, solver.second_moduli(), HostField(values.data(), values.size()));
  }
  solver.moduli_changed();
  auto const solve_start = std::chrono::steady_clock::now();
  HomogenizationReport const report =
      solver.solve(space, SolveOptions{solver_settings.tolerance, solver_settings.max_iterations});
  summary.tensor = solver.tensor(space);
  double const solve_seconds = seconds_since(solve_start);
  for (auto& row : summary.tensor) {
    for (double& entry : row) entry *= modulus_unit(problem);
  }

  // Output.
  summary.kernel = to_string(state_kernels(stiffness, solver_settings).inner);
  summary.method = to_string(solver.method());
  summary.storage = to_string(solver.storage());
  summary.iterations_total = report.iterations;
  summary.worst_true_residual = report.true_residual;
  bool const is_capped = report.status != SolveStatus::converged;
  summary.capped_solves = is_capped ? 1 : 0;
  summary.status = is_capped ? "capped" : "finished";
  summary.seconds_total = seconds_since(start);
  summary.seconds_per_phase = {{"solve", solve_seconds}};
  summary.peak_bytes = static_cast<double>(memory_state().used_peak - memory.used_peak);
  summary.predicted_bytes = static_cast<double>(bytes);
  summary.warnings = config.warnings;
  char note[80];
  std::snprintf(note, sizeof note, "a solve ended above the tolerance %g", solver_settings.tolerance);
  if (is_capped) summary.warnings.emplace_back(note);
  write_text_file(directory.file("C.csv"), tensor_csv(summary.tensor));
  directory.write_summary(to_json(summary));
  char text[160];
  std::snprintf(text, sizeof text, "%s after %d iterations at a true residual of %.2e, %.1f s, results in ",
                summary.status.c_str(), report.iterations, report.true_residual, summary.seconds_total);
  progress.finish(describe(summary) + text + directory.path());
  if (is_capped) {
    progress.warning(note);
    return capped;
  }
  return finished;
}

}  // namespace brickwork::driver
