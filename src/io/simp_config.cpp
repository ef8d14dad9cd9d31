// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_config.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "brickwork/core/check.hpp"
#include "config_sections.hpp"
#include "toml_section.hpp"

namespace brickwork {

namespace {

using detail::join;
using detail::json_string;
using detail::Locations;
using detail::nearest;
using detail::Section;
using detail::stage_keys;
using detail::toml_boolean;
using detail::toml_list;
using detail::toml_real;

std::vector<std::pair<std::string, int>> const axis_names = {{"x", 0}, {"y", 1}, {"z", 2}};
std::vector<std::string> const region_keys = {"plane", "point", "box", "sphere", "cylinder"};

Region read_region(Section const& section, SimpProblem const& problem) {
  std::string kind;
  for (std::string const& key : region_keys) {
    if (!section.has(key)) continue;
    if (!kind.empty()) section.fail(key, "stands beside '" + kind + "'; state one region");
    kind = key;
  }
  if (kind.empty()) {
    throw InputError(section.location() + section.label() + " needs a region: one of " + join(region_keys));
  }
  if (kind == "point") {
    PointRegion point;
    section.get("point", point.position);
    return point;
  }
  toml::table const& table = *section.table(kind);
  std::string const label = "'" + kind + "' of " + section.label();
  if (kind == "plane") {
    Section const fields(table, label, {"axis", "at"});
    PlaneRegion plane;
    fields.require("axis", "\"x\", \"y\" or \"z\"");
    fields.require("at", "a coordinate");
    fields.choose("axis", axis_names, plane.axis);
    fields.get("at", plane.position);
    return plane;
  }
  if (kind == "box") {
    Section const fields(table, label, {"lower", "upper"});
    BoxRegion box;
    fields.require("lower", "[x, y, z]");
    fields.require("upper", "[x, y, z]");
    fields.get("lower", box.lower);
    fields.get("upper", box.upper);
    return box;
  }
  if (kind == "sphere") {
    Section const fields(table, label, {"center", "radius"});
    SphereRegion sphere;
    fields.require("center", "[x, y, z]");
    fields.require("radius", "a length");
    fields.get("center", sphere.center);
    fields.get("radius", sphere.radius);
    return sphere;
  }
  Section const fields(table, label, {"center", "radius", "axis", "lower", "upper"});
  CylinderRegion cylinder;
  fields.require("center", "[x, y, z]");
  fields.require("radius", "a length");
  fields.require("axis", "\"x\", \"y\" or \"z\"");
  fields.get("center", cylinder.center);
  fields.get("radius", cylinder.radius);
  fields.choose("axis", axis_names, cylinder.axis);
  cylinder.lower = 0;
  cylinder.upper = problem.lengths[static_cast<std::size_t>(cylinder.axis)];
  fields.get("lower", cylinder.lower);
  fields.get("upper", cylinder.upper);
  return cylinder;
}

std::vector<std::string> with_region_keys(std::vector<std::string> keys) {
  keys.insert(keys.end(), region_keys.begin(), region_keys.end());
  return keys;
}

// The label of entry `index` in the list [[kind]], and the subject by which validate() calls it.
std::string subject_of(std::string const& kind, std::string const& name, std::size_t index) {
  return name.empty() ? kind + " " + std::to_string(index + 1) : kind + " '" + name + "'";
}

void read_supports(Section const& root, SimpProblem& problem, Locations& locations) {
  if (!root.has("support")) return;
  problem.supports.clear();
  for (toml::table const* table : root.tables("support")) {
    std::size_t const index = problem.supports.size();
    Section const section(*table, "[[support]] " + std::to_string(index + 1), with_region_keys({"name", "fix"}));
    Support support;
    section.get("name", support.name);
    support.region = read_region(section, problem);
    std::string fix = "xyz";
    section.get("fix", fix);
    support.fixed = {false, false, false};
    for (char c : fix) {
      if (c < 'x' || c > 'z') section.fail("fix", "is \"" + fix + "\"; it must hold letters of \"xyz\" only");
      support.fixed[static_cast<std::size_t>(c - 'x')] = true;
    }
    if (fix.empty()) section.fail("fix", "is empty; name at least one of x, y, z");
    locations.emplace_back(subject_of("support", support.name, index), section.location());
    problem.supports.push_back(std::move(support));
  }
}

void read_loads(Section const& root, SimpProblem& problem, Locations& locations) {
  if (!root.has("load")) return;
  problem.loads.clear();
  for (toml::table const* table : root.tables("load")) {
    std::size_t const index = problem.loads.size();
    Section const section(*table, "[[load]] " + std::to_string(index + 1),
                          with_region_keys({"name", "force", "traction", "case"}));
    Load load;
    section.get("name", load.name);
    load.region = read_region(section, problem);
    if (section.has("force") && section.has("traction")) {
      section.fail("traction", "stands beside 'force'; state one of them");
    }
    if (section.get("traction", load.force)) {
      load.kind = Load::Kind::traction;
    } else {
      section.require("force", "the resultant [x, y, z]; or 'traction', a force per area");
      section.get("force", load.force);
    }
    section.get_integer("case", load.load_case);
    locations.emplace_back(subject_of("load", load.name, index), section.location());
    problem.loads.push_back(std::move(load));
  }
}

void read_passive(Section const& root, SimpProblem& problem, Locations& locations) {
  if (!root.has("passive")) return;
  problem.passive.clear();
  for (toml::table const* table : root.tables("passive")) {
    std::size_t const index = problem.passive.size();
    Section const section(*table, "[[passive]] " + std::to_string(index + 1), with_region_keys({"name", "state"}));
    PassiveRegion passive;
    section.get("name", passive.name);
    passive.region = read_region(section, problem);
    section.require("state", "\"solid\" or \"void\"");
    section.choose("state", std::vector<std::pair<std::string, bool>>{{"solid", true}, {"void", false}}, passive.solid);
    locations.emplace_back(subject_of("passive", passive.name, index), section.location());
    problem.passive.push_back(std::move(passive));
  }
}

void read_schedule(Section const& root, SimpProblem& problem, Locations& locations) {
  toml::table const* table = root.table("schedule");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"protocol",
                                         "steps",
                                         "penalization",
                                         "beta",
                                         "move",
                                         "radius",
                                         "radius_unit",
                                         "stage",
                                         "name",
                                         "select_best",
                                         "final_solve",
                                         "restart_ratio",
                                         "density_lower_bound",
                                         "floor_sensitivities",
                                         "best_min_penalization",
                                         "best_max_grayness"};
  Section const section(*table, "[schedule]", keys);
  Schedule& schedule = problem.schedule;

  section.choose("radius_unit", std::vector<std::pair<std::string, bool>>{{"cells", false}, {"length", true}},
                 problem.radius_in_lengths);

  std::string protocol;
  bool const named = section.choose(
      "protocol", std::vector<std::pair<std::string, std::string>>{{"A", "A"}, {"B", "B"}, {"constant", "constant"}},
      protocol);
  if (named && section.has("stage")) section.fail("stage", "stands beside 'protocol'; state one of them");
  if (protocol == "A") schedule = protocol_a();
  if (protocol == "B") schedule = protocol_b();
  if (protocol == "constant") {
    ScheduleStage values;
    int steps = 50;
    section.get_integer("steps", steps);
    section.get("penalization", values.penalization);
    section.get("beta", values.beta);
    section.get("move", values.move);
    section.get("radius", values.radius);
    if (steps < 1) section.fail("steps", "is " + std::to_string(steps) + "; it must be at least 1");
    schedule = constant_schedule(steps, values.penalization, values.beta, values.move, values.radius);
    locations.emplace_back("schedule.stage 1", section.location());
  } else {
    for (std::string const& key : stage_keys) {
      if (section.has(key)) {
        section.fail(key, "belongs to protocol = \"constant\" or to a [[schedule.stage]]");
      }
    }
    if (section.has("stage")) {
      detail::read_stages(section, schedule, locations);
    }
    int steps = 0;
    if (section.get_integer("steps", steps)) {
      if (steps < 1 || steps > schedule.steps) {
        section.fail("steps", "is " + std::to_string(steps) + "; this schedule has steps 1 to " +
                                  std::to_string(schedule.steps));
      }
      schedule = shorten(std::move(schedule), steps);
    }
  }
  section.get("name", schedule.name);
  section.get("density_lower_bound", schedule.density_lower_bound);
  section.get("select_best", schedule.select_best);
  section.get("best_min_penalization", schedule.best_min_penalization);
  section.get("best_max_grayness", schedule.best_max_grayness);
  section.get("restart_ratio", schedule.restart_ratio);
  section.get("floor_sensitivities", schedule.floor_sensitivities);
  section.get("final_solve", schedule.final_solve);
  remember(locations, section, "schedule", keys);
}

void read_material(Section const& root, SimpProblem& problem, Locations& locations) {
  toml::table const* table = root.table("material");
  if (table == nullptr) return;
  std::vector<std::string> const keys = {"young", "young_min_ratio", "poisson", "stiffness"};
  Section const section(*table, "[material]", keys);
  section.get("young", problem.young);
  section.get("young_min_ratio", problem.young_min_ratio);
  section.get("poisson", problem.poisson);
  section.choose("stiffness",
                 std::vector<std::pair<std::string, StiffnessScale>>{
                     {"physical", StiffnessScale::physical}, {"reference_cube", StiffnessScale::reference_cube}},
                 problem.stiffness);
  remember(locations, section, "material", keys);
}

void read_design(Section const& root, SimpProblem& problem, bool has_preset, Locations& locations) {
  toml::table const* table = root.table("design");
  if (table == nullptr) {
    if (!has_preset) {
      throw InputError(root.location() + "without a preset the configuration needs [design] with 'volume_fraction'");
    }
    return;
  }
  std::vector<std::string> const keys = {"volume_fraction", "eta", "load_case_weights"};
  Section const section(*table, "[design]", keys);
  if (!has_preset) section.require("volume_fraction", "a number in (0, 1]");
  section.get("volume_fraction", problem.volume_fraction);
  section.get("eta", problem.projection_eta);
  section.get("load_case_weights", problem.load_case_weights);
  remember(locations, section, "design", keys);
}

void read_solver(Section const& root, SimpProblem& problem, Locations& locations) {
  toml::table const* table = root.table("solver");
  if (table == nullptr) return;
  std::vector<std::string> keys = detail::solver_keys();
  keys.push_back("free_modes");
  Section const section(*table, "[solver]", keys);
  detail::read_solver_settings(section, problem.solver);
  section.choose(
      "free_modes",
      std::vector<std::pair<std::string, FreeModes>>{{"error", FreeModes::error}, {"project", FreeModes::project}},
      problem.free_modes);
  remember(locations, section, "solver", keys);
}

void read_grid(Section const& root, SimpProblem& problem, SimpOverrides const& overrides, std::string const& name,
               Locations& locations) {
  std::string preset;
  bool const has_preset = root.get("preset", preset);
  Index3 cells{0, 0, 0};
  Vec3 lengths{0, 0, 0};
  bool has_cells = false;
  bool has_lengths = false;
  if (toml::table const* table = root.table("grid")) {
    Section const section(*table, "[grid]", {"cells", "lengths"});
    has_cells = section.get("cells", cells);
    has_lengths = section.get("lengths", lengths);
    if (has_preset && has_lengths) {
      section.fail("lengths",
                   "belongs to the preset, whose supports and loads are stated in them; leave it out, or write "
                   "the problem without a preset");
    }
    if (!has_preset && !overrides.grid) section.require("cells", "a list of three integers [x, y, z]");
    if (!has_preset) section.require("lengths", "a list of three numbers [x, y, z]");
    remember(locations, section, "grid", {"cells", "lengths"});
    for (index_t n : cells) {
      if (has_cells && n < 1)
        section.fail("cells", "holds " + std::to_string(n) + "; every axis needs at least 1 cell");
    }
  } else if (!has_preset) {
    throw InputError(name + ": needs either 'preset' (" + join(simp_preset_names()) +
                     ") or a problem that begins with [grid] cells and lengths");
  }
  if (overrides.grid) {
    cells = *overrides.grid;
    locations.insert(locations.begin(), {"grid.cells", "--grid: "});
    for (index_t n : cells) {
      BRICKWORK_REQUIRE(n >= 1, "--grid ", cells[0], ",", cells[1], ",", cells[2],
                        ": every axis needs at least 1 cell");
    }
  }
  if (has_preset) {
    std::vector<std::string> const known = simp_preset_names();
    if (std::find(known.begin(), known.end(), preset) == known.end()) {
      root.fail("preset",
                "is \"" + preset + "\"; did you mean \"" + nearest(preset, known) + "\"? Known: " + join(known));
    }
    problem = simp_preset(preset, cells);
  } else {
    problem.cells = cells;
    problem.lengths = lengths;
    problem.schedule = protocol_a();
  }
}

SimpConfig resolve(toml::table const& table, std::string const& name, SimpOverrides const& overrides) {
  Section const root(table, "the configuration",
                     {"preset", "name", "grid", "material", "design", "support", "load", "passive", "schedule",
                      "solver", "output", "run"});
  SimpConfig config;
  SimpProblem& problem = config.problem;
  Locations locations;
  read_grid(root, problem, overrides, name, locations);
  bool const has_preset = root.has("preset");
  std::string const stem = std::filesystem::path(name).stem().string();
  if (!root.get("name", problem.name) && !has_preset) problem.name = stem;
  read_material(root, problem, locations);
  read_design(root, problem, has_preset, locations);
  read_supports(root, problem, locations);
  read_loads(root, problem, locations);
  read_passive(root, problem, locations);
  read_schedule(root, problem, locations);
  read_solver(root, problem, locations);
  config.output.directory = "results/" + (stem.empty() ? std::string("simp") : stem);
  if (toml::table const* section = root.table("output")) {
    detail::read_output_settings(Section(*section, "[output]", detail::output_keys()), config.output);
  }
  detail::read_run(root, config.threads, config.device, config.quiet);

  if (overrides.steps) problem.schedule = detail::shorten_to_option(problem.schedule, *overrides.steps);
  if (overrides.output) config.output.directory = *overrides.output;
  if (overrides.threads) config.threads = *overrides.threads;
  if (overrides.device) config.device = *overrides.device;
  config.quiet = config.quiet || overrides.quiet;

  config.warnings = detail::validate_with_locations(locations, name, [&] { return validate(problem); });
  return config;
}

}  // namespace

SimpConfig parse_simp_config(std::string const& text, std::string const& name, SimpOverrides const& overrides) {
  return resolve(detail::parse_toml(text, name, overrides.set), name, overrides);
}

SimpConfig read_simp_config(std::string const& path, SimpOverrides const& overrides) {
  return parse_simp_config(detail::read_config_text(path), path, overrides);
}

// ------------------------------------------------------------------------------------------------------- writing

std::string to_string(StiffnessScale scale) {
  return scale == StiffnessScale::physical ? "physical" : "reference_cube";
}
std::string to_string(FreeModes modes) { return modes == FreeModes::error ? "error" : "project"; }

namespace {

std::string axis_name(int axis) { return std::string("\"") + static_cast<char>('x' + axis) + "\""; }

struct RegionToToml {
  std::string operator()(BoxRegion const& r) const {
    return "box = {lower = " + toml_list(r.lower) + ", upper = " + toml_list(r.upper) + "}\n";
  }
  std::string operator()(SphereRegion const& r) const {
    return "sphere = {center = " + toml_list(r.center) + ", radius = " + toml_real(r.radius) + "}\n";
  }
  std::string operator()(CylinderRegion const& r) const {
    return "cylinder = {center = " + toml_list(r.center) + ", radius = " + toml_real(r.radius) +
           ", axis = " + axis_name(r.axis) + ", lower = " + toml_real(r.lower) + ", upper = " + toml_real(r.upper) +
           "}\n";
  }
  std::string operator()(PlaneRegion const& r) const {
    return "plane = {axis = " + axis_name(r.axis) + ", at = " + toml_real(r.position) + "}\n";
  }
  std::string operator()(PointRegion const& r) const { return "point = " + toml_list(r.position) + "\n"; }
};

std::string named_region(std::string const& name, Region const& region) {
  return (name.empty() ? std::string() : "name = " + json_string(name) + "\n") + std::visit(RegionToToml{}, region);
}

}  // namespace

std::string to_toml(SimpConfig const& config) {
  SimpProblem const& p = config.problem;
  Schedule const& s = p.schedule;
  std::string t = "# Resolved configuration of a brickwork-simp run; reading it gives the same run.\n";
  t += "name = " + json_string(p.name) + "\n\n[grid]\ncells = " + toml_list(p.cells) +
       "\nlengths = " + toml_list(p.lengths) + "\n";
  t += "\n[material]\nyoung = " + toml_real(p.young) + "\nyoung_min_ratio = " + toml_real(p.young_min_ratio) +
       "\npoisson = " + toml_real(p.poisson) + "\nstiffness = \"" + to_string(p.stiffness) + "\"\n";
  t +=
      "\n[design]\nvolume_fraction = " + toml_real(p.volume_fraction) + "\neta = " + toml_real(p.projection_eta) + "\n";
  if (!p.load_case_weights.empty()) {
    std::string weights;
    for (double weight : p.load_case_weights) weights += (weights.empty() ? "" : ", ") + toml_real(weight);
    t += "load_case_weights = [" + weights + "]\n";
  }
  for (Support const& support : p.supports) {
    std::string fix;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (support.fixed[axis]) fix += static_cast<char>('x' + axis);
    }
    t += "\n[[support]]\n" + named_region(support.name, support.region) + "fix = \"" + fix + "\"\n";
  }
  for (Load const& load : p.loads) {
    t += "\n[[load]]\n" + named_region(load.name, load.region) +
         (load.kind == Load::Kind::total ? "force = " : "traction = ") + toml_list(load.force) +
         "\ncase = " + std::to_string(load.load_case) + "\n";
  }
  for (PassiveRegion const& passive : p.passive) {
    t += "\n[[passive]]\n" + named_region(passive.name, passive.region) + "state = \"" +
         (passive.solid ? "solid" : "void") + "\"\n";
  }
  t += "\n[schedule]\nname = " + json_string(s.name) + "\nradius_unit = \"" +
       (p.radius_in_lengths ? "length" : "cells") + "\"\ndensity_lower_bound = " + toml_real(s.density_lower_bound) +
       "\nselect_best = " + toml_boolean(s.select_best) +
       "\nbest_min_penalization = " + toml_real(s.best_min_penalization) +
       "\nbest_max_grayness = " + toml_real(s.best_max_grayness) + "\nrestart_ratio = " + toml_real(s.restart_ratio) +
       "\nfloor_sensitivities = " + toml_boolean(s.floor_sensitivities) +
       "\nfinal_solve = " + toml_boolean(s.final_solve) + "\n";
  t += detail::stages_to_toml(s) + "\n[solver]\n" + detail::to_toml(p.solver) + "free_modes = \"" +
       to_string(p.free_modes) + "\"\n\n[output]\n" + detail::to_toml(config.output) +
       detail::run_to_toml(config.threads, config.device, config.quiet);
  return t;
}

}  // namespace brickwork
