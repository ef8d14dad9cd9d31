// SPDX-License-Identifier: BSD-3-Clause
// brickwork-homogenize: effective elasticity of periodic cells, and cells for a wanted elasticity.
//
// tensor: C_st = 1/|Y| sum_e E_e (chi^s - u^s)_e . K0 (chi^t - u^t)_e of an image (design/homogenized_tensor.hpp).
// design: minimizes f(C(rho)) under a volume constraint, and others (design/homogenize_optimizer.hpp). Sample runs:
//
//   brickwork-homogenize tensor cell.vti
//   brickwork-homogenize tensor scan.raw --config materials.toml --output results/scan
//   brickwork-homogenize design examples/cell_bulk.toml
//   brickwork-homogenize design examples/cell_shear.toml --grid 64,64,64 --set start.seed=3 --output results/shear3
//
// Exit codes: 0 finished, 2 bad input, 3 finished but some solve was capped, 4 out of memory, 1 anything else.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "brickwork/core/check.hpp"
#include "brickwork/io/homogenize_options.hpp"
#include "brickwork/io/resample.hpp"
#include "runs.hpp"
#include "support/driver.hpp"

using namespace brickwork;
using namespace brickwork::driver;

namespace {

// --force clears the results in the output directory; the input must not be among them.
void keep_input(std::string const& file, std::string const& directory, bool force) {
  std::error_code error;
  if (!force || file.empty() || !std::filesystem::exists(directory, error)) return;
  auto const parent = std::filesystem::absolute(file).parent_path();
  bool inside = false;  // also a frame, one folder below
  for (auto const& folder : {parent, parent.parent_path()}) {
    inside = inside || std::filesystem::equivalent(folder, directory, error);
  }
  BRICKWORK_REQUIRE(!inside, "'", file, "' lies in the output directory '", directory,
                    "', whose results --force removes; choose another with --output");
}

// Files are read before Kokkos starts: what is wrong with them is said at once.
int tensor(HomogenizeOptions const& options, char* program) {
  TensorConfig const config = read_tensor_config(options.image, options.config, options.overrides);
  if (options.print_config) {
    std::cout << to_toml(config);
    return finished;
  }
  keep_input(config.image.file, config.output.directory, options.force);
  VoxelImage image;
  if (!config.image.file.empty()) image = read_image(config.image);
  if (config.problem.materials.empty()) densities_from_bytes(image);
  return run_with_kokkos(program, config.threads, config.device,
                         [&] { return run_tensor(config, std::move(image), options.force); });
}

// The values of start.file on the problem's cells; none where the start is computed.
std::vector<float> read_start(HomogenizeProblem const& problem, std::vector<std::string>& warnings) {
  if (problem.start != "file") return {};
  std::string const subject = "start.file '" + problem.start_file + "': ";
  Index3 const& cells = problem.cell.cells;
  ImageSource source;
  source.file = problem.start_file;
  source.step = problem.start_step;
  // A surface has no cells of its own.
  if (std::filesystem::path(source.file).extension() == ".stl") source.cells = cells;
  VoxelImage image = read_image(source);
  densities_from_bytes(image);
  double sum = 0;
  for (std::size_t n = 0; n < image.values.size(); ++n) {
    auto const cell = static_cast<index_t>(n);
    index_t const nx = image.cells[0], ny = image.cells[1];
    BRICKWORK_REQUIRE(image.values[n] >= 0 && image.values[n] <= 1, subject, "cell (", cell % nx, ", ", cell / nx % ny,
                      ", ", cell / nx / ny, ") has the value ", image.values[n],
                      "; densities lie in [0, 1], or are bytes of a field 'density'");
    sum += image.values[n];
  }
  BRICKWORK_REQUIRE(problem.resample_start || image.cells == cells, subject, "holds ", triple(image.cells),
                    " cells, cell.cells are ", triple(cells), "; set start.resample = true, or the same cells");
  double const mean = sum / static_cast<double>(image.values.size());
  constexpr double rounding = 0.004;  // of bytes, and of a projection
  if (std::abs(mean - problem.volume_fraction) > rounding) {
    char note[120];
    std::snprintf(note, sizeof note,
                  "its mean density is %.4f, design.volume_fraction is %.4f: the first steps move it", mean,
                  problem.volume_fraction);
    warnings.push_back(subject + note);
  }
  return resample_cells(std::move(image.values), image.cells, cells);
}

int design(HomogenizeOptions const& options, char* program) {
  HomogenizeConfig config = read_homogenize_config(options.config, options.overrides);
  if (options.print_config) {
    std::cout << to_toml(config);
    return finished;
  }
  keep_input(config.problem.start_file, config.output.directory, options.force);
  std::vector<float> start = read_start(config.problem, config.warnings);
  return run_with_kokkos(program, config.threads, config.device,
                         [&] { return run_design(config, std::move(start), options.force); });
}

}  // namespace

int main(int argc, char* argv[]) {
  return report_errors("brickwork-homogenize", [&] {
    HomogenizeOptions const options = parse_homogenize_options(argc, argv, std::cout, std::cerr);
    if (options.exit_code) return *options.exit_code;
    return options.command == HomogenizeOptions::Command::tensor ? tensor(options, argv[0]) : design(options, argv[0]);
  });
}
