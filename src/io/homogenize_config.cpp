// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/homogenize_config.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/design/cell_kinds.hpp"
#include "config_sections.hpp"
#include "toml_section.hpp"

namespace brickwork {

namespace {

using detail::join;
using detail::json_string;
using detail::Locations;
using detail::nearest;
using detail::Section;
using detail::toml_boolean;
using detail::toml_list;
using detail::toml_real;

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// Each enumeration once: for reading and for writing.
Choices<Translations> const translation_kinds = {{"project", Translations::project}, {"pin", Translations::pin}};
Choices<FieldStorage> const storages = {{"automatic", FieldStorage::automatic},
                                        {"fp64", FieldStorage::fp64},
                                        {"fp32", FieldStorage::fp32},
                                        {"int16", FieldStorage::int16}};
Choices<DesignFilter> const filters = {
    {"none", DesignFilter::none}, {"density", DesignFilter::density}, {"sensitivity", DesignFilter::sensitivity}};
Choices<FilterKernel> const kernels = {{"linear", FilterKernel::linear}, {"spline4", FilterKernel::spline4}};
Choices<DesignUpdateMethod> const updates = {{"oc", DesignUpdateMethod::optimality_criteria},
                                             {"mma", DesignUpdateMethod::moving_asymptotes}};
Choices<TensorConstraint::Kind> const constraint_kinds = {
    {"zener", TensorConstraint::Kind::zener},
    {"bulk_at_least", TensorConstraint::Kind::bulk_at_least},
    {"shear_at_least", TensorConstraint::Kind::shear_at_least},
    {"expression_at_most", TensorConstraint::Kind::expression_at_most}};

template <class Value>
std::string name_of(Choices<Value> const& choices, Value value) {
  for (auto const& choice : choices) {
    if (choice.second == value) return choice.first;
  }
  return "?";
}

Choices<std::string> words(std::vector<std::string> const& list) {
  Choices<std::string> choices;
  for (std::string const& word : list) choices.emplace_back(word, word);
  return choices;
}

// As image readers know them.
std::vector<std::string> const raw_types = {"uint8", "int8",   "uint16", "int16",   "uint32",
                                            "int32", "uint64", "int64",  "float32", "float64"};
std::vector<std::string> const surfaces = {"gyroid", "schwarz_p", "diamond", "iwp"};

void check_cells(Section const& section, std::string const& key, Index3 const& cells) {
  for (index_t n : cells) {
    if (section.has(key) && n < 2) {
      section.fail(key, "holds " + std::to_string(n) + "; a periodic axis needs at least 2 cells");
    }
  }
}

void read_solver(Section const& root, PeriodicCell& cell, Locations& locations) {
  toml::table const* table = root.table("solver");
  if (table == nullptr) return;
  std::vector<std::string> keys = detail::solver_keys();
  keys.push_back("storage");
  keys.push_back("translations");
  Section const section(*table, "[solver]", keys);
  detail::read_solver_settings(section, cell.solver);
  section.choose("storage", storages, cell.storage);
  section.choose("translations", translation_kinds, cell.translations);
  remember(locations, section, "solver", keys);
}

void read_output(Section const& root, CellOutputSettings& output) {
  toml::table const* table = root.table("output");
  if (table == nullptr) return;
  std::vector<std::string> keys = detail::output_keys();
  keys.insert(keys.end(), {"npy", "stl", "stl_level", "stl_tiles", "stl_caps"});
  Section const section(*table, "[output]", keys);
  detail::read_output_settings(section, output);
  section.get("npy", output.npy);
  section.get("stl", output.stl);
  section.get("stl_level", output.stl_level);
  if (output.stl_level <= 0 || output.stl_level >= 1) {
    section.fail("stl_level", "is " + detail::format_double(output.stl_level) + "; it must lie in (0, 1)");
  }
  section.get_integer("stl_tiles", output.stl_tiles);
  if (output.stl_tiles < 1 || output.stl_tiles > 10) {
    section.fail("stl_tiles", "is " + std::to_string(output.stl_tiles) + "; it must lie in [1, 10]");
  }
  section.get("stl_caps", output.stl_caps);
}

std::string output_to_toml(CellOutputSettings const& output) {
  return "\n[output]\n" + detail::to_toml(static_cast<OutputSettings const&>(output)) +
         "npy = " + toml_boolean(output.npy) + "\nstl = " + toml_boolean(output.stl) +
         "\nstl_level = " + toml_real(output.stl_level) + "\nstl_tiles = " + std::to_string(output.stl_tiles) +
         "\nstl_caps = " + toml_boolean(output.stl_caps) + "\n";
}

std::string solver_to_toml(PeriodicCell const& cell) {
  return "\n[solver]\n" + detail::to_toml(cell.solver) + "storage = \"" + to_string(cell.storage) +
         "\"\ntranslations = \"" + name_of(translation_kinds, cell.translations) + "\"\n";
}

template <class Config>
void apply_overrides(Config& config, ConfigOverrides const& overrides) {
  if (overrides.output) config.output.directory = *overrides.output;
  if (overrides.threads) config.threads = *overrides.threads;
  if (overrides.device) config.device = *overrides.device;
  config.quiet = config.quiet || overrides.quiet;
}

// In lower case, as the readers take it.
std::string extension_of(std::string const& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

std::string stem_of(std::string const& path) { return std::filesystem::path(path).stem().string(); }

// ------------------------------------------------------------------------------------------------- design runs

void read_cell(Section const& root, PeriodicCell& cell, ConfigOverrides const& overrides, Locations& locations) {
  cell.cells = {32, 32, 32};
  bool has_lengths = false;
  if (toml::table const* table = root.table("cell")) {
    Section const section(*table, "[cell]", {"cells", "lengths"});
    section.get("cells", cell.cells);
    check_cells(section, "cells", cell.cells);
    has_lengths = section.get("lengths", cell.lengths);
    remember(locations, section, "cell", {"cells", "lengths"});
  }
  if (overrides.grid) {
    cell.cells = *overrides.grid;
    locations.insert(locations.begin(), {"cell.cells", "--grid: "});
  }
  if (!has_lengths) cell.lengths = cubic_lengths(cell.cells);
}

void read_material(Section const& root, HomogenizeProblem& problem, Locations& locations) {
  toml::table const* table = root.table("material");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"young", "young_min_ratio", "poisson"};
  Section const section(*table, "[material]", keys);
  section.get("young", problem.young);
  section.get("young_min_ratio", problem.young_min_ratio);
  section.get("poisson", problem.cell.poisson);
  remember(locations, section, "material", keys);
}

void read_tensor(Section const& section, std::string const& key, Tensor6& tensor) {
  std::vector<std::vector<double>> rows;
  if (!section.get(key, rows)) return;
  bool fits = rows.size() == 6;
  for (auto const& row : rows) fits = fits && row.size() == 6;
  if (!fits) section.fail(key, "must be six lists of six numbers, in the order xx, yy, zz, yz, xz, xy");
  for (std::size_t i = 0; i < 6; ++i) std::copy(rows[i].begin(), rows[i].end(), tensor[i].begin());
}

void read_objective(Section const& root, HomogenizeProblem& problem, Locations& locations) {
  toml::table const* table = root.table("objective");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"name", "expression", "beta",   "eta",    "gamma",
                                         "tau",  "isotropy",   "target", "weights"};
  Section const section(*table, "[objective]", keys);
  std::vector<std::string> known = tensor_objective_names();
  known.emplace_back("expression");
  if (section.get("expression", problem.expression)) problem.objective = "expression";
  section.choose("name", words(known), problem.objective);
  ObjectiveParameters& p = problem.parameters;
  // A parameter of another objective would be ignored in silence.
  Choices<std::vector<std::string>> const owners = {{"beta", {"npr"}},      {"eta", {"npr_log"}},
                                                    {"gamma", {"npr_log"}}, {"tau", {"npr_log"}},
                                                    {"target", {"target"}}, {"weights", {"target"}}};
  for (auto const& [key, owner] : owners) {
    if (section.has(key) && owner.front() != problem.objective) {
      section.fail(key, "belongs to the objective \"" + owner.front() + "\", not to \"" + problem.objective + "\"");
    }
  }
  if (problem.objective == "target") section.require("target", "six lists of six numbers");
  section.get("beta", p.beta);
  section.get("eta", p.eta);
  section.get("gamma", p.gamma);
  section.get("tau", p.tau);
  section.get("isotropy", p.isotropy);
  read_tensor(section, "target", p.target);
  read_tensor(section, "weights", p.weights);
  remember(locations, section, "objective", keys);
  locations.emplace_back("objective", section.location());
}

void read_constraints(Section const& root, HomogenizeProblem& problem, Locations& locations) {
  for (toml::table const* table : root.tables("constraint")) {
    std::string const number = std::to_string(problem.constraints.size() + 1);
    Section const section(*table, "[[constraint]] " + number, {"kind", "bound", "expression"});
    TensorConstraint constraint;
    section.require("kind", "zener, bulk_at_least, shear_at_least or expression_at_most");
    section.require("bound", "a number");
    section.choose("kind", constraint_kinds, constraint.kind);
    section.get("bound", constraint.bound);
    section.get("expression", constraint.expression);
    if (problem.constraints.empty()) locations.emplace_back("constraint:", section.location());
    locations.emplace_back("constraint " + number, section.location());
    problem.constraints.push_back(std::move(constraint));
  }
}

void read_design(Section const& root, HomogenizeProblem& problem, Locations& locations) {
  toml::table const* table = root.table("design");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"volume_fraction", "symmetry", "update", "damping",    "lower",
                                         "upper",           "filter",   "kernel", "projection", "eta"};
  Section const section(*table, "[design]", keys);
  section.get("volume_fraction", problem.volume_fraction);
  section.choose("symmetry", words(cell_symmetry_names()), problem.symmetry);
  section.choose("update", updates, problem.update);
  section.get("damping", problem.damping);
  section.get("lower", problem.lower);
  section.get("upper", problem.upper);
  section.choose("filter", filters, problem.filter);
  section.choose("kernel", kernels, problem.kernel);
  section.get("projection", problem.projection);
  section.get("eta", problem.projection_eta);
  remember(locations, section, "design", keys);
}

void read_series_step(Section const& section, std::string const& file, std::optional<index_t>& step) {
  index_t number = 0;
  if (!section.get_integer("step", number)) return;
  if (extension_of(file) != ".series") {
    section.fail("step", "belongs to a series (density.vtkhdf.series), not to '" + file + "'");
  }
  step = number;
}

void read_start(Section const& root, HomogenizeProblem& problem, Locations& locations) {
  toml::table const* table = root.table("start");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"density", "file", "step", "resample", "seed", "waves", "periods"};
  Section const section(*table, "[start]", keys);
  if (section.get("file", problem.start_file)) problem.start = "file";
  std::vector<std::string> known = start_density_names();
  known.emplace_back("file");
  section.choose("density", words(known), problem.start);
  read_series_step(section, problem.start_file, problem.start_step);
  std::string const extension = extension_of(problem.start_file);
  if (extension == ".raw" || extension == ".bin") {
    section.fail("file", "is '" + problem.start_file + "', which has no header; give the density as .npy or .vti");
  }
  section.get("resample", problem.resample_start);
  std::int64_t seed = static_cast<std::int64_t>(problem.seed);
  section.get_integer("seed", seed);
  if (seed < 0) section.fail("seed", "is " + std::to_string(seed) + "; it must be at least 0");
  problem.seed = static_cast<std::uint64_t>(seed);
  section.get_integer("waves", problem.start_waves);
  section.get_integer("periods", problem.start_periods);
  remember(locations, section, "start", keys);
}

void read_schedule(Section const& root, Schedule& schedule, Locations& locations) {
  schedule = constant_schedule(300, 3, 1, 0.05, 2);
  toml::table const* table = root.table("schedule");
  if (table == nullptr) return;
  std::vector<std::string> keys = detail::stage_keys;
  keys.insert(keys.end(), {"steps", "stage"});
  Section const section(*table, "[schedule]", keys);
  int steps = 0;
  bool const has_steps = section.get_integer("steps", steps);
  if (has_steps && steps < 1) section.fail("steps", "is " + std::to_string(steps) + "; it must be at least 1");
  if (section.has("stage")) {
    for (std::string const& key : detail::stage_keys) {
      if (section.has(key)) section.fail(key, "stands beside [[schedule.stage]]; state it in the stages");
    }
    detail::read_stages(section, schedule, locations);
    if (has_steps && steps > schedule.steps) {
      section.fail("steps",
                   "is " + std::to_string(steps) + "; these stages have steps 1 to " + std::to_string(schedule.steps));
    }
    if (has_steps) schedule = shorten(schedule, steps);
  } else {
    ScheduleStage& stage = schedule.stages.front();
    section.get("penalization", stage.penalization);
    section.get("beta", stage.beta);
    section.get("move", stage.move);
    section.get("radius", stage.radius);
    if (has_steps) schedule.steps = stage.last_step = steps;
    locations.emplace_back("schedule.stage 1", section.location());
  }
  remember(locations, section, "schedule", keys);
}

void read_stop(Section const& root, StoppingRule& stop, Locations& locations) {
  toml::table const* table = root.table("stop");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"relative_change", "times", "first_step"};
  Section const section(*table, "[stop]", keys);
  section.get("relative_change", stop.relative_change);
  section.get_integer("times", stop.times);
  section.get_integer("first_step", stop.first_step);
  remember(locations, section, "stop", keys);
}

HomogenizeConfig resolve_design(toml::table const& table, std::string const& name, ConfigOverrides const& overrides) {
  Section const root(table, "the configuration",
                     {"name", "cell", "material", "objective", "constraint", "design", "start", "schedule", "stop",
                      "solver", "output", "run"});
  HomogenizeConfig config;
  HomogenizeProblem& problem = config.problem;
  Locations locations;
  std::string const stem = stem_of(name);
  problem.name = stem;
  root.get("name", problem.name);
  read_cell(root, problem.cell, overrides, locations);
  read_material(root, problem, locations);
  read_objective(root, problem, locations);
  read_constraints(root, problem, locations);
  read_design(root, problem, locations);
  read_start(root, problem, locations);
  read_schedule(root, problem.schedule, locations);
  read_stop(root, problem.stop, locations);
  read_solver(root, problem.cell, locations);
  config.output.directory = "results/" + (stem.empty() ? std::string("cell") : stem);
  read_output(root, config.output);
  detail::read_run(root, config.threads, config.device, config.quiet);
  if (overrides.steps) problem.schedule = detail::shorten_to_option(problem.schedule, *overrides.steps);
  problem.stop.most_steps = problem.schedule.steps;
  problem.parameters.young = problem.young;
  apply_overrides(config, overrides);
  config.warnings = detail::validate_with_locations(locations, name, [&] { return validate(problem); });
  return config;
}

std::string to_toml(Tensor6 const& tensor) {
  std::string rows;
  for (auto const& row : tensor) {
    std::string numbers;
    for (double value : row) numbers += (numbers.empty() ? "" : ", ") + toml_real(value);
    rows += (rows.empty() ? "[" : ", [") + numbers + "]";
  }
  return "[" + rows + "]";
}

std::string objective_to_toml(HomogenizeProblem const& p) {
  ObjectiveParameters const& o = p.parameters;
  std::string t = "\n[objective]\nname = " + json_string(p.objective) + "\n";
  if (p.objective == "expression") return t + "expression = " + json_string(p.expression) + "\n";
  t += "isotropy = " + toml_real(o.isotropy) + "\n";
  if (p.objective == "npr") t += "beta = " + toml_real(o.beta) + "\n";
  if (p.objective == "npr_log") {
    t += "eta = " + toml_real(o.eta) + "\ngamma = " + toml_real(o.gamma) + "\ntau = " + toml_real(o.tau) + "\n";
  }
  if (p.objective == "target") {
    t += "target = " + to_toml(o.target) + "\n";
    if (o.weights != Tensor6{}) t += "weights = " + to_toml(o.weights) + "\n";
  }
  return t;
}

// ------------------------------------------------------------------------------------------------- tensor runs

void read_box(Section const& section, ImageSource& image) {
  toml::table const* table = section.table("box");
  if (table == nullptr) return;
  Section const box(*table, "'box' of [image]", {"lower", "upper"});
  box.require("lower", "[x, y, z]");
  box.require("upper", "[x, y, z]");
  box.get("lower", image.box_lower);
  box.get("upper", image.box_upper);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(image.box_lower[axis] < image.box_upper[axis])) box.fail("upper", "must be above 'lower' along every axis");
  }
}

void read_image(Section const& root, ImageSource& image, std::string const& argument, ConfigOverrides const& overrides,
                std::string const& name) {
  std::string location = name.empty() ? "" : name + ": ";
  bool is_surface = false;
  if (toml::table const* table = root.table("image")) {
    Section const section(*table, "[image]",
                          {"file", "step", "field", "cells", "type", "big_endian", "header_bytes", "box", "surface",
                           "fraction", "periods", "sheet"});
    location = section.location();
    section.get("file", image.file);
    read_series_step(section, argument.empty() ? image.file : argument, image.step);
    section.get("field", image.field);
    section.get("cells", image.cells);
    check_cells(section, "cells", image.cells);
    section.choose("type", words(raw_types), image.type);
    section.get("big_endian", image.big_endian);
    section.get_integer("header_bytes", image.header_bytes);
    if (image.header_bytes < 0) {
      section.fail("header_bytes", "is " + std::to_string(image.header_bytes) + "; it must be at least 0");
    }
    read_box(section, image);
    is_surface = section.choose("surface", words(surfaces), image.surface);
    if (is_surface && !argument.empty()) {
      section.fail("surface", "stands beside the image '" + argument + "'; state one of them");
    }
    if (is_surface && section.has("file")) section.fail("surface", "stands beside 'file'; state one of them");
    for (std::string const key : {"fraction", "periods", "sheet"}) {
      if (!is_surface && section.has(key)) section.fail(key, "belongs to a surface");
    }
    section.get("fraction", image.fraction);
    if (image.fraction <= 0 || image.fraction >= 1) {
      section.fail("fraction", "is " + detail::format_double(image.fraction) + "; it must lie in (0, 1)");
    }
    section.get_integer("periods", image.periods);
    if (image.periods < 1) section.fail("periods", "is " + std::to_string(image.periods) + "; it must be at least 1");
    section.get("sheet", image.sheet);
  }
  if (!argument.empty()) image.file = argument;
  if (overrides.grid) {
    image.cells = *overrides.grid;
    for (index_t n : image.cells) {
      BRICKWORK_REQUIRE(n >= 2, "--grid ", image.cells[0], ",", image.cells[1], ",", image.cells[2],
                        ": a periodic axis needs at least 2 cells");
    }
  }
  BRICKWORK_REQUIRE(is_surface || !image.file.empty(), location,
                    "needs an image: name a file, or write [image] with 'file' or 'surface'");
  BRICKWORK_REQUIRE(!is_surface || image.cells != Index3{}, location, "[image] 'surface' needs 'cells', or --grid");
  std::string const extension = extension_of(image.file);
  bool const raw = extension == ".raw" || extension == ".bin";
  BRICKWORK_REQUIRE(!raw || (image.cells != Index3{} && !image.type.empty()), location, "'", image.file,
                    "' has no header: [image] needs 'cells' and 'type' (", join(raw_types), ")");
  bool const named = image.field.empty() || extension == ".vti" || extension == ".vtkhdf" || extension == ".series";
  BRICKWORK_REQUIRE(named, location, "[image] 'field' belongs to files with named fields (.vti, .vtkhdf), not to '",
                    image.file, "'");
  BRICKWORK_REQUIRE(extension != ".toml", location, "'", image.file,
                    "' is a configuration, not an image; it goes behind --config (or to `design`)");
  BRICKWORK_REQUIRE(raw || (image.type.empty() && !image.big_endian && image.header_bytes == 0), location,
                    "[image] 'type', 'big_endian' and 'header_bytes' belong to raw files (.raw, .bin), not to '",
                    image.file, "'");
  BRICKWORK_REQUIRE(extension == ".stl" || image.box_lower == image.box_upper, location,
                    "[image] 'box' belongs to an STL, not to '", image.file, "'");
  BRICKWORK_REQUIRE(extension != ".stl" || image.cells != Index3{}, location, "'", image.file,
                    "' is a surface: [image] needs 'cells', or --grid");
  index_t const fewest = *std::min_element(image.cells.begin(), image.cells.end());
  BRICKWORK_REQUIRE(!is_surface || image.periods <= fewest / 2, location, "[image] 'periods' is ", image.periods,
                    "; it must lie in [1, ", fewest / 2, "], two cells for each along every axis");
}

void read_label_materials(Section const& root, TensorProblem& problem, Locations& locations) {
  // Not one for all where some state their own: a forgotten ratio would be taken in silence.
  bool any_states = false;
  std::string missing;
  for (toml::table const* table : root.tables("material")) {
    std::string const number = std::to_string(problem.materials.size() + 1);
    Section const section(*table, "[[material]] " + number, {"label", "young", "poisson"});
    LabelMaterial material;
    section.require("label", "an integer");
    section.require("young", "Young's modulus, 0 for void");
    section.get_integer("label", material.label);
    section.get("young", material.young);
    bool const states = section.get("poisson", material.poisson);
    if (material.young > 0) {
      any_states = any_states || states;
      if (!states && missing.empty()) missing = section.location() + "[[material]] " + number;
    }
    locations.emplace_back("material " + number + ": poisson", section.location("poisson"));
    locations.emplace_back("material " + number, section.location());
    problem.materials.push_back(material);
  }
  BRICKWORK_REQUIRE(missing.empty() || !any_states, missing, " needs 'poisson' (Poisson's ratio, in (-1, 0.5)), as ",
                    "another material states its own; it is 0.3 where none does");
}

void read_materials(Section const& root, TensorProblem& problem, Locations& locations) {
  toml::node const* node = root.find("material");
  if (node == nullptr) return;
  if (node->is_array()) {
    read_label_materials(root, problem, locations);
    if (problem.materials.empty()) root.fail("material", "is empty; state at least one [[material]]");
    return;
  }
  std::vector<std::string> const keys = {"young", "young_min_ratio", "poisson", "penalization", "threshold"};
  Section const section(*root.table("material"), "[material]", keys);
  section.get("young", problem.young);
  section.get("young_min_ratio", problem.young_min_ratio);
  section.get("poisson", problem.cell.poisson);
  section.get("penalization", problem.penalization);
  double threshold = 0;
  if (section.get("threshold", threshold)) problem.threshold = threshold;
  remember(locations, section, "material", keys);
}

TensorConfig resolve_tensor(std::string const& image, toml::table const& table, std::string const& name,
                            ConfigOverrides const& overrides) {
  Section const root(table, "the configuration", {"name", "image", "cell", "material", "solver", "output", "run"});
  TensorConfig config;
  TensorProblem& problem = config.problem;
  Locations locations;
  // The tensor's error is of second order in the residual, so this is far more than enough for what it is read for.
  problem.cell.solver.tolerance = 1e-6;
  problem.cell.lengths = {0, 0, 0};
  read_image(root, config.image, image, overrides, name);
  std::string const stem = config.image.file.empty() ? config.image.surface : stem_of(config.image.file);
  problem.name = stem;
  root.get("name", problem.name);
  problem.cell.cells = config.image.cells;
  if (toml::table const* cell = root.table("cell")) {
    Section const section(*cell, "[cell]", {"lengths"});
    section.get("lengths", problem.cell.lengths);
    if (section.has("lengths") && problem.cell.lengths == Vec3{0, 0, 0}) {
      section.fail("lengths", "are zero; every length must be above 0");
    }
    remember(locations, section, "cell", {"lengths"});
  }
  read_materials(root, problem, locations);
  read_solver(root, problem.cell, locations);
  config.output.directory = "results/" + (stem.empty() ? std::string("tensor") : stem);
  config.output.vti = config.output.vtkhdf = config.output.npy = config.output.stl = false;
  read_output(root, config.output);
  detail::read_run(root, config.threads, config.device, config.quiet);
  apply_overrides(config, overrides);
  config.warnings = detail::validate_with_locations(locations, name, [&] { return validate(problem); });
  return config;
}

}  // namespace

HomogenizeConfig parse_homogenize_config(std::string const& text, std::string const& name,
                                         ConfigOverrides const& overrides) {
  return resolve_design(detail::parse_toml(text, name, overrides.set), name, overrides);
}

HomogenizeConfig read_homogenize_config(std::string const& path, ConfigOverrides const& overrides) {
  return parse_homogenize_config(detail::read_config_text(path), path, overrides);
}

TensorConfig parse_tensor_config(std::string const& image, std::string const& text, std::string const& name,
                                 ConfigOverrides const& overrides) {
  return resolve_tensor(image, detail::parse_toml(text, name, overrides.set), name, overrides);
}

TensorConfig read_tensor_config(std::string const& image, std::string const& path, ConfigOverrides const& overrides) {
  if (path.empty()) return parse_tensor_config(image, "", image, overrides);
  return parse_tensor_config(image, detail::read_config_text(path), path, overrides);
}

// ------------------------------------------------------------------------------------------------------- writing

std::string to_string(FieldStorage storage) { return name_of(storages, storage); }
std::string to_string(DesignFilter filter) { return name_of(filters, filter); }
std::string to_string(FilterKernel kernel) { return name_of(kernels, kernel); }
std::string to_string(DesignUpdateMethod method) { return name_of(updates, method); }
std::string to_string(TensorConstraint::Kind kind) { return name_of(constraint_kinds, kind); }

std::string to_toml(HomogenizeConfig const& config) {
  HomogenizeProblem const& p = config.problem;
  std::string t = "# Resolved configuration of a brickwork-homogenize design run; reading it gives the same run.\n";
  t += "name = " + json_string(p.name) + "\n\n[cell]\ncells = " + toml_list(p.cell.cells) +
       "\nlengths = " + toml_list(p.cell.lengths) + "\n\n[material]\nyoung = " + toml_real(p.young) +
       "\nyoung_min_ratio = " + toml_real(p.young_min_ratio) + "\npoisson = " + toml_real(p.cell.poisson) + "\n";
  t += objective_to_toml(p);
  for (TensorConstraint const& c : p.constraints) {
    t += "\n[[constraint]]\nkind = \"" + to_string(c.kind) + "\"\nbound = " + toml_real(c.bound) + "\n";
    if (!c.expression.empty()) t += "expression = " + json_string(c.expression) + "\n";
  }
  t += "\n[design]\nvolume_fraction = " + toml_real(p.volume_fraction) + "\nsymmetry = \"" + p.symmetry +
       "\"\nupdate = \"" + to_string(p.update) + "\"\ndamping = " + toml_real(p.damping) +
       "\nlower = " + toml_real(p.lower) + "\nupper = " + toml_real(p.upper) + "\nfilter = \"" + to_string(p.filter) +
       "\"\nkernel = \"" + to_string(p.kernel) + "\"\nprojection = " + toml_boolean(p.projection) +
       "\neta = " + toml_real(p.projection_eta) + "\n";
  t += "\n[start]\ndensity = \"" + p.start + "\"\n";
  if (p.start == "file") {
    t += "file = " + json_string(p.start_file) + "\nresample = " + toml_boolean(p.resample_start) + "\n";
    if (p.start_step) t += "step = " + std::to_string(*p.start_step) + "\n";
  }
  t += "seed = " + std::to_string(p.seed) + "\nwaves = " + std::to_string(p.start_waves) +
       "\nperiods = " + std::to_string(p.start_periods) + "\n";
  t += detail::stages_to_toml(p.schedule);
  t += "\n[stop]\nrelative_change = " + toml_real(p.stop.relative_change) +
       "\ntimes = " + std::to_string(p.stop.times) + "\nfirst_step = " + std::to_string(p.stop.first_step) + "\n";
  return t + solver_to_toml(p.cell) + output_to_toml(config.output) +
         detail::run_to_toml(config.threads, config.device, config.quiet);
}

std::string to_toml(TensorConfig const& config) {
  TensorProblem const& p = config.problem;
  ImageSource const& image = config.image;
  std::string t = "# Resolved configuration of a brickwork-homogenize tensor run; reading it gives the same run.\n";
  t += "name = " + json_string(p.name) + "\n\n[image]\n";
  if (!image.file.empty()) t += "file = " + json_string(image.file) + "\n";
  if (image.step) t += "step = " + std::to_string(*image.step) + "\n";
  if (!image.field.empty()) t += "field = " + json_string(image.field) + "\n";
  if (image.cells != Index3{}) t += "cells = " + toml_list(image.cells) + "\n";
  if (!image.type.empty()) {
    t += "type = \"" + image.type + "\"\nbig_endian = " + toml_boolean(image.big_endian) +
         "\nheader_bytes = " + std::to_string(image.header_bytes) + "\n";
  }
  if (image.box_lower != image.box_upper) {
    t += "box = {lower = " + toml_list(image.box_lower) + ", upper = " + toml_list(image.box_upper) + "}\n";
  }
  if (!image.surface.empty()) {
    t += "surface = \"" + image.surface + "\"\nfraction = " + toml_real(image.fraction) +
         "\nperiods = " + std::to_string(image.periods) + "\nsheet = " + toml_boolean(image.sheet) + "\n";
  }
  if (p.cell.lengths != Vec3{0, 0, 0}) t += "\n[cell]\nlengths = " + toml_list(p.cell.lengths) + "\n";
  for (LabelMaterial const& material : p.materials) {
    t += "\n[[material]]\nlabel = " + std::to_string(material.label) + "\nyoung = " + toml_real(material.young) +
         "\npoisson = " + toml_real(material.poisson) + "\n";
  }
  if (p.materials.empty()) {
    t += "\n[material]\nyoung = " + toml_real(p.young) + "\nyoung_min_ratio = " + toml_real(p.young_min_ratio) +
         "\npoisson = " + toml_real(p.cell.poisson) + "\npenalization = " + toml_real(p.penalization) + "\n";
    if (p.threshold) t += "threshold = " + toml_real(*p.threshold) + "\n";
  }
  return t + solver_to_toml(p.cell) + output_to_toml(config.output) +
         detail::run_to_toml(config.threads, config.device, config.quiet);
}

}  // namespace brickwork
