// SPDX-License-Identifier: BSD-3-Clause
#include "config_sections.hpp"

#include "brickwork/operators/elasticity_kernel.hpp"

namespace brickwork {

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return "fp64";
    case Precision::fp32:
      return "fp32";
    default:
      return "mixed";
  }
}
std::string to_string(SolverMethod method) {
  switch (method) {
    case SolverMethod::multigrid:
      return "multigrid";
    case SolverMethod::jacobi:
      return "jacobi";
    default:
      return "automatic";
  }
}
std::string to_string(FieldType type) { return type == FieldType::float32 ? "float32" : "uint8"; }

namespace detail {

std::vector<std::string> const stage_keys = {"penalization", "beta", "move", "radius"};

void read_stages(Section const& section, Schedule& schedule, Locations& locations) {
  schedule.name = "stages";
  schedule.stages.clear();
  for (toml::table const* table : section.tables("stage")) {
    std::string const number = std::to_string(schedule.stages.size() + 1);
    Section const fields(*table, "[[schedule.stage]] " + number,
                         {"first_step", "last_step", "penalization", "beta", "move", "radius"});
    ScheduleStage stage;
    stage.first_step = schedule.stages.empty() ? 1 : schedule.stages.back().last_step + 1;
    fields.require("last_step", "an integer");
    fields.get_integer("first_step", stage.first_step);
    fields.get_integer("last_step", stage.last_step);
    for (std::string const& key : stage_keys) fields.require(key, "a number");
    fields.get("penalization", stage.penalization);
    fields.get("beta", stage.beta);
    fields.get("move", stage.move);
    fields.get("radius", stage.radius);
    locations.emplace_back("schedule.stage " + number, fields.location());
    schedule.stages.push_back(stage);
  }
  if (schedule.stages.empty()) section.fail("stage", "is empty; a schedule needs at least one stage");
  schedule.steps = schedule.stages.back().last_step;
}

Schedule shorten_to_option(Schedule const& schedule, int steps) {
  try {
    return shorten(schedule, steps);
  } catch (InputError const& error) {
    throw InputError("--steps " + std::to_string(steps) + ": " + error.what() +
                     "; it shortens a schedule, so state more in [schedule] (steps, or stages)");
  }
}

std::vector<std::string> solver_keys() {
  return {"method",     "precision", "kernel",          "tolerance",     "max_iterations",
          "warm_start", "smoother",  "smoother_degree", "krylov_levels", "half_stencils"};
}

void read_solver_settings(Section const& section, SolverSettings& solver) {
  section.choose("method",
                 std::vector<std::pair<std::string, SolverMethod>>{{"automatic", SolverMethod::automatic},
                                                                   {"multigrid", SolverMethod::multigrid},
                                                                   {"jacobi", SolverMethod::jacobi}},
                 solver.method);
  section.choose("precision",
                 std::vector<std::pair<std::string, Precision>>{
                     {"mixed", Precision::mixed}, {"fp64", Precision::fp64}, {"fp32", Precision::fp32}},
                 solver.precision);
  std::vector<std::pair<std::string, std::string>> kernels{{"automatic", "automatic"}};
  for (auto kernel : elasticity_kernels()) kernels.emplace_back(to_string(kernel), to_string(kernel));
  section.choose("kernel", kernels, solver.kernel);
  section.get("tolerance", solver.tolerance);
  section.get_integer("max_iterations", solver.max_iterations);
  section.get("warm_start", solver.warm_start);
  std::vector<std::pair<std::string, Smoother>> known;
  for (auto smoother : smoothers()) known.emplace_back(to_string(smoother), smoother);
  section.choose("smoother", known, solver.smoother);
  section.get_integer("smoother_degree", solver.smoother_degree);
  section.get_integer("krylov_levels", solver.krylov_levels);
  section.get("half_stencils", solver.half_stencils);
}

std::vector<std::string> output_keys() { return {"directory", "every", "vti", "vtkhdf", "deflate", "float_type"}; }

void read_output_settings(Section const& section, OutputSettings& output) {
  section.get("directory", output.directory);
  if (section.has("directory") && output.directory.empty()) section.fail("directory", "is empty; name a directory");
  section.get_integer("every", output.every);
  if (output.every < 0) section.fail("every", "is " + std::to_string(output.every) + "; it must be at least 0");
  section.get("vti", output.vti);
  section.get("vtkhdf", output.vtkhdf);
  section.get_integer("deflate", output.deflate);
  if (output.deflate < 0 || output.deflate > 9) {
    section.fail("deflate", "is " + std::to_string(output.deflate) + "; it must lie in [0, 9]");
  }
  section.choose(
      "float_type",
      std::vector<std::pair<std::string, FieldType>>{{"float32", FieldType::float32}, {"uint8", FieldType::uint8}},
      output.field_type);
}

void read_run(Section const& root, int& threads, int& device, bool& quiet) {
  toml::table const* table = root.table("run");
  if (table == nullptr) return;
  Section const section(*table, "[run]", {"threads", "device", "quiet"});
  section.get_integer("threads", threads);
  if (threads < 0) section.fail("threads", "is " + std::to_string(threads) + "; it must be at least 0 (0 takes all)");
  section.get_integer("device", device);
  if (device < -1)
    section.fail("device", "is " + std::to_string(device) + "; it must be at least -1 (-1 lets Kokkos choose)");
  section.get("quiet", quiet);
}

std::string stages_to_toml(Schedule const& schedule) {
  std::string t;
  for (ScheduleStage const& stage : schedule.stages) {
    t += "\n[[schedule.stage]]\nfirst_step = " + std::to_string(stage.first_step) +
         "\nlast_step = " + std::to_string(stage.last_step) + "\npenalization = " + toml_real(stage.penalization) +
         "\nbeta = " + toml_real(stage.beta) + "\nmove = " + toml_real(stage.move) +
         "\nradius = " + toml_real(stage.radius) + "\n";
  }
  return t;
}

std::string to_toml(SolverSettings const& solver) {
  return "method = \"" + to_string(solver.method) + "\"\nprecision = \"" + to_string(solver.precision) +
         "\"\nkernel = " + json_string(solver.kernel) + "\ntolerance = " + toml_real(solver.tolerance) +
         "\nmax_iterations = " + std::to_string(solver.max_iterations) +
         "\nwarm_start = " + toml_boolean(solver.warm_start) + "\nsmoother = \"" + to_string(solver.smoother) +
         "\"\nsmoother_degree = " + std::to_string(solver.smoother_degree) +
         "\nkrylov_levels = " + std::to_string(solver.krylov_levels) +
         "\nhalf_stencils = " + toml_boolean(solver.half_stencils) + "\n";
}

std::string to_toml(OutputSettings const& output) {
  return "directory = " + json_string(output.directory) + "\nevery = " + std::to_string(output.every) +
         "\nvti = " + toml_boolean(output.vti) + "\nvtkhdf = " + toml_boolean(output.vtkhdf) +
         "\ndeflate = " + std::to_string(output.deflate) + "\nfloat_type = \"" + to_string(output.field_type) + "\"\n";
}

std::string run_to_toml(int threads, int device, bool quiet) {
  return "\n[run]\nthreads = " + std::to_string(threads) + "\ndevice = " + std::to_string(device) +
         "\nquiet = " + toml_boolean(quiet) + "\n";
}

}  // namespace detail

}  // namespace brickwork
