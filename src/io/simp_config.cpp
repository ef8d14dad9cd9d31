// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"
#include "format.hpp"

namespace brickwork {

namespace {

using detail::format_double;
using detail::json_string;

std::string single_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

// "file:12: ", or the option that a value came from.
std::string where(toml::source_region const& source) {
  std::string const path = source.path ? *source.path : std::string();
  if (path.rfind("--", 0) == 0) return path + ": ";
  if (source.begin.line == 0) return path.empty() ? std::string() : path + ": ";
  return path + ":" + std::to_string(source.begin.line) + ": ";
}

std::size_t edit_distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Names that other codes use for our keys; edit distance alone would not find them.
std::string synonym(std::string const& key) {
  static std::map<std::string, std::string> const names = {{"volfrac", "volume_fraction"},
                                                           {"vol", "volume_fraction"},
                                                           {"rmin", "radius"},
                                                           {"filter_radius", "radius"},
                                                           {"penal", "penalization"},
                                                           {"p", "penalization"},
                                                           {"nu", "poisson"},
                                                           {"e", "young"},
                                                           {"e0", "young"},
                                                           {"emin", "young_min_ratio"},
                                                           {"maxiter", "max_iterations"},
                                                           {"maxitr", "max_iterations"},
                                                           {"maxloop", "steps"},
                                                           {"tol", "tolerance"},
                                                           {"nel", "cells"},
                                                           {"size", "lengths"},
                                                           {"boundary", "support"},
                                                           {"constraint", "support"},
                                                           {"dir", "directory"},
                                                           {"workdir", "directory"},
                                                           {"move_limit", "move"},
                                                           {"center", "center"},
                                                           {"centre", "center"},
                                                           {"supports", "support"},
                                                           {"loads", "load"},
                                                           {"obstacle", "passive"},
                                                           {"dofs", "fix"}};
  std::string lower;
  for (char c : key) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto const found = names.find(lower);
  return found == names.end() ? lower : found->second;
}

std::string nearest(std::string const& key, std::vector<std::string> const& known) {
  std::string const alias = synonym(key);
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (std::string const& candidate : known) {
    std::size_t distance = std::min(edit_distance(key, candidate), edit_distance(alias, candidate));
    // "iterations" for "max_iterations": a key that is part of a known one is near it.
    if (key.size() >= 3 && candidate.find(key) != std::string::npos) distance = std::min<std::size_t>(distance, 2);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string type_name(toml::node const& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a real number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

// A table of the configuration that knows its keys. Getters leave the value alone where the key is absent.
class Section {
 public:
  Section(toml::table const& table, std::string label, std::vector<std::string> const& known)
      : table_(table), label_(std::move(label)) {
    for (auto const& [key, node] : table_) {
      std::string const name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      // A key inserted by --set carries its own source; one without falls back to its value's.
      toml::source_region const& source = key.source().begin.line != 0 ? key.source() : node.source();
      throw InputError(where(source) + "unknown key '" + name + "' in " + label_ + "; did you mean '" +
                       nearest(name, known) + "'? Known: " + join(known));
    }
  }

  std::string const& label() const { return label_; }
  toml::node const* find(std::string const& key) const { return table_.get(key); }
  bool has(std::string const& key) const { return find(key) != nullptr; }
  std::string location() const { return where(table_.source()); }
  std::string location(std::string const& key) const { return has(key) ? where(find(key)->source()) : location(); }

  [[noreturn]] void fail(std::string const& key, std::string const& problem) const {
    throw InputError(location(key) + "'" + key + "' in " + label_ + " " + problem);
  }
  [[noreturn]] void wrong_type(std::string const& key, std::string const& expected) const {
    fail(key, "must be " + expected + ", not " + type_name(*find(key)));
  }
  void require(std::string const& key, std::string const& expected) const {
    if (!has(key)) throw InputError(location() + label_ + " needs the key '" + key + "' (" + expected + ")");
  }

  bool get(std::string const& key, double& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    value = number(key, *node, "a number");
    return true;
  }
  template <class Integer>
  bool get_integer(std::string const& key, Integer& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    value = integer<Integer>(key, *node, "an integer");
    return true;
  }
  bool get(std::string const& key, bool& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) wrong_type(key, "true or false");
    value = **node->as_boolean();
    return true;
  }
  bool get(std::string const& key, std::string& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_string()) wrong_type(key, "a string");
    value = **node->as_string();
    return true;
  }
  bool get(std::string const& key, Vec3& value) const {
    toml::array const* list = triple(key, "a list of three numbers [x, y, z]");
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < 3; ++i) value[i] = number(key, (*list)[i], "a list of three numbers [x, y, z]");
    return true;
  }
  bool get(std::string const& key, Index3& value) const {
    toml::array const* list = triple(key, "a list of three integers [x, y, z]");
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < 3; ++i) {
      value[i] = integer<index_t>(key, (*list)[i], "a list of three integers [x, y, z]");
    }
    return true;
  }
  bool get(std::string const& key, std::vector<double>& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_array()) wrong_type(key, "a list of numbers");
    value.clear();
    for (toml::node const& item : *node->as_array()) value.push_back(number(key, item, "a list of numbers"));
    return true;
  }
  template <class Value>
  bool choose(std::string const& key, std::vector<std::pair<std::string, Value>> const& choices, Value& value) const {
    std::string word;
    if (!get(key, word)) return false;
    std::vector<std::string> names;
    for (auto const& choice : choices) {
      if (choice.first == word) {
        value = choice.second;
        return true;
      }
      names.push_back(choice.first);
    }
    fail(key, "is \"" + word + "\"; did you mean \"" + nearest(word, names) + "\"? Known: " + join(names));
  }
  toml::table const* table(std::string const& key) const {
    toml::node const* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong_type(key, "a table");
    return node->as_table();
  }
  /// The tables of a list [[key]].
  std::vector<toml::table const*> tables(std::string const& key) const {
    std::vector<toml::table const*> list;
    toml::node const* node = find(key);
    if (node == nullptr) return list;
    if (!node->is_array()) wrong_type(key, "a list of tables (write [[" + key + "]])");
    for (toml::node const& item : *node->as_array()) {
      if (!item.is_table()) fail(key, "must be a list of tables (write [[" + key + "]])");
      list.push_back(item.as_table());
    }
    return list;
  }

 private:
  double number(std::string const& key, toml::node const& node, std::string const& expected) const {
    double value = 0;
    if (node.is_floating_point()) {
      value = **node.as_floating_point();
    } else if (node.is_integer()) {
      value = static_cast<double>(**node.as_integer());
    } else if (&node == find(key)) {
      wrong_type(key, expected);
    } else {
      fail(key, "must be " + expected + ", but holds " + type_name(node));
    }
    if (!std::isfinite(value)) fail(key, "is " + format_double(value) + ", but must be finite");
    return value;
  }
  template <class Integer>
  Integer integer(std::string const& key, toml::node const& node, std::string const& expected) const {
    if (!node.is_integer()) {
      if (&node == find(key)) wrong_type(key, expected);
      fail(key, "must be " + expected + ", but holds " + type_name(node));
    }
    std::int64_t const value = **node.as_integer();
    if (value < std::numeric_limits<Integer>::min() || value > std::numeric_limits<Integer>::max()) {
      fail(key, "is " + std::to_string(value) + ", too large in magnitude");
    }
    return static_cast<Integer>(value);
  }
  toml::array const* triple(std::string const& key, std::string const& expected) const {
    toml::node const* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array()) wrong_type(key, expected);
    std::size_t const size = node->as_array()->size();
    if (size != 3) fail(key, "must be " + expected + ", not a list of " + std::to_string(size));
    return node->as_array();
  }

  toml::table const& table_;
  std::string label_;
};

// ------------------------------------------------------------------------------------------------------- parsing

std::string parse_failure(toml::parse_error const& error) {
  std::string text;
  if (error.source().path) text += *error.source().path + ":";
  text += std::to_string(error.source().begin.line) + ":" + std::to_string(error.source().begin.column) + ": ";
  return single_line(text + std::string(error.description()));
}

// Moves every value of `patch` into `target`, table by table. Moving keeps the values' sources (copying loses them).
void merge(toml::table& target, toml::table& patch, std::string const& option) {
  for (auto&& [key, node] : patch) {
    toml::node* existing = target.get(key.str());
    if (existing != nullptr && node.is_table()) {
      if (!existing->is_table()) {
        throw InputError(option + ": '" + std::string(key.str()) +
                         "' is not a table; give the whole value, or edit the file");
      }
      merge(*existing->as_table(), *node.as_table(), option);
    } else {
      node.visit([&, k = key](auto& value) { target.insert_or_assign(k, std::move(value)); });
    }
  }
}

void apply_set(toml::table& root, std::string const& assignment) {
  std::string const option = "--set " + assignment;
  std::size_t const equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(option + ": must have the form section.key=value");
  }
  std::string const key = assignment.substr(0, equals);
  std::string const value = assignment.substr(equals + 1);
  for (char c : key) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') {
      throw InputError(option + ": '" + key + "' is not a key; it must have the form section.key=value");
    }
  }
  if (value.empty()) throw InputError(option + ": the value is empty");
  toml::table patch;
  try {
    patch = toml::parse(key + " = " + value, option);
  } catch (toml::parse_error const&) {
    // A word that is not TOML is a string: --set solver.kernel=parity. Brackets and quotes cannot have been meant as
    // one.
    if (value.find_first_of("[]{}\"'\n") != std::string::npos) {
      throw InputError(option + ": '" + single_line(value) + "' is not a TOML value");
    }
    try {
      patch = toml::parse(key + " = " + json_string(value), option);
    } catch (toml::parse_error const& error) {
      throw InputError(single_line(option + ": " + std::string(error.description())));
    }
  }
  merge(root, patch, option);
}

// Where each subject of validate()'s messages was stated.
using Locations = std::vector<std::pair<std::string, std::string>>;

// A location for a whole section's keys, so that messages of validate() find their line.
void remember(Locations& locations, Section const& section, std::string const& prefix,
              std::vector<std::string> const& keys) {
  for (std::string const& key : keys) {
    if (section.has(key)) locations.emplace_back(prefix + "." + key, section.location(key));
  }
  locations.emplace_back(prefix + ".", section.location());
}

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
      read_stages(section, schedule, locations);
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
  std::vector<std::string> const keys = {"method",     "precision",  "kernel",   "tolerance",       "max_iterations",
                                         "warm_start", "free_modes", "smoother", "smoother_degree", "krylov_levels"};
  Section const section(*table, "[solver]", keys);
  SolverSettings& solver = problem.solver;
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
  section.choose(
      "free_modes",
      std::vector<std::pair<std::string, FreeModes>>{{"error", FreeModes::error}, {"project", FreeModes::project}},
      problem.free_modes);
  remember(locations, section, "solver", keys);
}

void read_output(Section const& root, OutputSettings& output) {
  toml::table const* table = root.table("output");
  if (table == nullptr) return;
  Section const section(*table, "[output]", {"directory", "every", "vti", "vtkhdf", "deflate", "float_type"});
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

void read_run(Section const& root, SimpConfig& config) {
  toml::table const* table = root.table("run");
  if (table == nullptr) return;
  Section const section(*table, "[run]", {"threads", "device", "quiet"});
  section.get_integer("threads", config.threads);
  if (config.threads < 0) section.fail("threads", "is " + std::to_string(config.threads) + "; 0 takes all");
  section.get_integer("device", config.device);
  if (config.device < -1) section.fail("device", "is " + std::to_string(config.device) + "; -1 lets Kokkos choose");
  section.get("quiet", config.quiet);
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
  read_output(root, config.output);
  read_run(root, config);

  if (overrides.steps) {
    try {
      problem.schedule = shorten(problem.schedule, *overrides.steps);
    } catch (InputError const& error) {
      throw InputError("--steps " + std::to_string(*overrides.steps) + ": " + error.what());
    }
  }
  if (overrides.output) config.output.directory = *overrides.output;
  if (overrides.threads) config.threads = *overrides.threads;
  if (overrides.device) config.device = *overrides.device;
  config.quiet = config.quiet || overrides.quiet;

  try {
    config.warnings = validate(problem);
  } catch (InputError const& error) {
    std::string const message = error.what();
    for (auto const& [subject, location] : locations) {
      if (!location.empty() && message.rfind(subject, 0) == 0) throw InputError(location + message);
    }
    throw InputError(name + ": " + message);
  }
  return config;
}

}  // namespace

Schedule shorten(Schedule schedule, int steps) {
  BRICKWORK_REQUIRE(steps >= 1 && steps <= schedule.steps, "the schedule has steps 1 to ", schedule.steps, ", not ",
                    steps);
  schedule.steps = steps;
  auto const beyond = [&](ScheduleStage const& stage) { return stage.first_step > steps; };
  schedule.stages.erase(std::remove_if(schedule.stages.begin(), schedule.stages.end(), beyond), schedule.stages.end());
  if (!schedule.stages.empty()) schedule.stages.back().last_step = std::min(schedule.stages.back().last_step, steps);
  return schedule;
}

SimpConfig parse_simp_config(std::string const& text, std::string const& name, SimpOverrides const& overrides) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (toml::parse_error const& error) {
    throw InputError(parse_failure(error));
  }
  for (std::string const& assignment : overrides.set) apply_set(table, assignment);
  return resolve(table, name, overrides);
}

SimpConfig read_simp_config(std::string const& path, SimpOverrides const& overrides) {
  std::error_code error;
  BRICKWORK_REQUIRE(!std::filesystem::is_directory(path, error), "cannot read '", path, "': it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  BRICKWORK_REQUIRE(file.is_open(), "cannot read '", path, "': ", std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  BRICKWORK_REQUIRE(!file.bad(), "cannot read '", path, "'");
  return parse_simp_config(text.str(), path, overrides);
}

// ------------------------------------------------------------------------------------------------------- writing

std::string to_string(StiffnessScale scale) {
  return scale == StiffnessScale::physical ? "physical" : "reference_cube";
}
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
std::string to_string(FreeModes modes) { return modes == FreeModes::error ? "error" : "project"; }
std::string to_string(FieldType type) { return type == FieldType::float32 ? "float32" : "uint8"; }

namespace {

// A TOML float needs a point or an exponent.
std::string real(double value) {
  std::string text = format_double(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string list(Vec3 const& v) { return "[" + real(v[0]) + ", " + real(v[1]) + ", " + real(v[2]) + "]"; }

std::string boolean(bool value) { return value ? "true" : "false"; }

std::string axis_name(int axis) { return std::string("\"") + static_cast<char>('x' + axis) + "\""; }

struct RegionToToml {
  std::string operator()(BoxRegion const& r) const {
    return "box = {lower = " + list(r.lower) + ", upper = " + list(r.upper) + "}\n";
  }
  std::string operator()(SphereRegion const& r) const {
    return "sphere = {center = " + list(r.center) + ", radius = " + real(r.radius) + "}\n";
  }
  std::string operator()(CylinderRegion const& r) const {
    return "cylinder = {center = " + list(r.center) + ", radius = " + real(r.radius) + ", axis = " + axis_name(r.axis) +
           ", lower = " + real(r.lower) + ", upper = " + real(r.upper) + "}\n";
  }
  std::string operator()(PlaneRegion const& r) const {
    return "plane = {axis = " + axis_name(r.axis) + ", at = " + real(r.position) + "}\n";
  }
  std::string operator()(PointRegion const& r) const { return "point = " + list(r.position) + "\n"; }
};

std::string named_region(std::string const& name, Region const& region) {
  return (name.empty() ? std::string() : "name = " + json_string(name) + "\n") + std::visit(RegionToToml{}, region);
}

}  // namespace

std::string to_toml(SimpConfig const& config) {
  SimpProblem const& p = config.problem;
  Schedule const& s = p.schedule;
  std::string t = "# Resolved configuration of a brickwork-simp run; reading it gives the same run.\n";
  t += "name = " + json_string(p.name) + "\n\n[grid]\ncells = [" + std::to_string(p.cells[0]) + ", " +
       std::to_string(p.cells[1]) + ", " + std::to_string(p.cells[2]) + "]\nlengths = " + list(p.lengths) + "\n";
  t += "\n[material]\nyoung = " + real(p.young) + "\nyoung_min_ratio = " + real(p.young_min_ratio) +
       "\npoisson = " + real(p.poisson) + "\nstiffness = \"" + to_string(p.stiffness) + "\"\n";
  t += "\n[design]\nvolume_fraction = " + real(p.volume_fraction) + "\neta = " + real(p.projection_eta) + "\n";
  if (!p.load_case_weights.empty()) {
    std::string weights;
    for (double weight : p.load_case_weights) weights += (weights.empty() ? "" : ", ") + real(weight);
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
         (load.kind == Load::Kind::total ? "force = " : "traction = ") + list(load.force) +
         "\ncase = " + std::to_string(load.load_case) + "\n";
  }
  for (PassiveRegion const& passive : p.passive) {
    t += "\n[[passive]]\n" + named_region(passive.name, passive.region) + "state = \"" +
         (passive.solid ? "solid" : "void") + "\"\n";
  }
  t += "\n[schedule]\nname = " + json_string(s.name) + "\nradius_unit = \"" +
       (p.radius_in_lengths ? "length" : "cells") + "\"\ndensity_lower_bound = " + real(s.density_lower_bound) +
       "\nselect_best = " + boolean(s.select_best) + "\nbest_min_penalization = " + real(s.best_min_penalization) +
       "\nbest_max_grayness = " + real(s.best_max_grayness) + "\nrestart_ratio = " + real(s.restart_ratio) +
       "\nfloor_sensitivities = " + boolean(s.floor_sensitivities) + "\nfinal_solve = " + boolean(s.final_solve) + "\n";
  for (ScheduleStage const& stage : s.stages) {
    t += "\n[[schedule.stage]]\nfirst_step = " + std::to_string(stage.first_step) +
         "\nlast_step = " + std::to_string(stage.last_step) + "\npenalization = " + real(stage.penalization) +
         "\nbeta = " + real(stage.beta) + "\nmove = " + real(stage.move) + "\nradius = " + real(stage.radius) + "\n";
  }
  t += "\n[solver]\nmethod = \"" + to_string(p.solver.method) + "\"\nprecision = \"" + to_string(p.solver.precision) +
       "\"\nkernel = " + json_string(p.solver.kernel) + "\ntolerance = " + real(p.solver.tolerance) +
       "\nmax_iterations = " + std::to_string(p.solver.max_iterations) +
       "\nwarm_start = " + boolean(p.solver.warm_start) + "\nfree_modes = \"" + to_string(p.free_modes) +
       "\"\nsmoother = \"" + to_string(p.solver.smoother) +
       "\"\nsmoother_degree = " + std::to_string(p.solver.smoother_degree) +
       "\nkrylov_levels = " + std::to_string(p.solver.krylov_levels) + "\n";
  t += "\n[output]\ndirectory = " + json_string(config.output.directory) +
       "\nevery = " + std::to_string(config.output.every) + "\nvti = " + boolean(config.output.vti) +
       "\nvtkhdf = " + boolean(config.output.vtkhdf) + "\ndeflate = " + std::to_string(config.output.deflate) +
       "\nfloat_type = \"" + to_string(config.output.field_type) + "\"\n";
  t += "\n[run]\nthreads = " + std::to_string(config.threads) + "\ndevice = " + std::to_string(config.device) +
       "\nquiet = " + boolean(config.quiet) + "\n";
  return t;
}

}  // namespace brickwork
