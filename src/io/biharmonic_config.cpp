// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/biharmonic_config.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "brickwork/core/check.hpp"
#include "config_sections.hpp"
#include "toml_section.hpp"

namespace brickwork {

namespace {

using detail::format_double;
using detail::json_string;
using detail::Section;
using detail::toml_boolean;
using detail::toml_real;

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// Each enumeration once: for reading and for writing.
Choices<RefinementKind> const region_kinds = {{"none", RefinementKind::none}, {"octant", RefinementKind::octant},
                                              {"ball", RefinementKind::ball}, {"ring", RefinementKind::ring},
                                              {"box", RefinementKind::box},   {"indicator", RefinementKind::indicator}};
Choices<LoadKind> const load_kinds = {
    {"manufactured", LoadKind::manufactured}, {"constant", LoadKind::constant}, {"point", LoadKind::point}};
Choices<bool> const methods = {{"cg", false}, {"stationary", true}};
Choices<bool> const smoother_names = {{"chebyshev", false}, {"patch", true}};
Choices<bool> const precisions = {{"double", false}, {"mixed", true}};
Choices<bool> const storages = {{"vertex", false}, {"cell", true}};
Choices<PlateEdge> const edges = {{"clamped", PlateEdge::clamped}, {"simply_supported", PlateEdge::simply_supported}};

template <class Value>
std::string name_of(Choices<Value> const& choices, Value value) {
  for (auto const& choice : choices) {
    if (choice.second == value) return choice.first;
  }
  return "?";
}

std::string axes(int dimension) { return dimension == 2 ? "[x, y]" : "[x, y, z]"; }

void copy_axes(Section const& section, std::string const& key, int dimension, std::vector<double> const& values,
               Vec3& to) {
  if (values.size() != static_cast<std::size_t>(dimension)) {
    section.fail(key, "must be a list of " + std::to_string(dimension) + " numbers " + axes(dimension) +
                          ", not a list of " + std::to_string(values.size()));
  }
  std::copy(values.begin(), values.end(), to.begin());
}

bool get_axes(Section const& section, std::string const& key, int dimension, Vec3& value) {
  std::vector<double> list;
  if (!section.get(key, list)) return false;
  copy_axes(section, key, dimension, list, value);
  return true;
}

void at_least(Section const& section, std::string const& key, int value, int least) {
  if (value < least)
    section.fail(key, "is " + std::to_string(value) + "; it must be at least " + std::to_string(least));
}

void check_refinements(Section const& section, std::string const& key, int value) {
  if (value < 0 || value > 30) {
    section.fail(key, (section.find(key)->is_array() ? "holds " : "is ") + std::to_string(value) +
                          "; a number of refinements must lie in [0, 30]");
  }
}

void check_inside(Section const& section, std::string const& key, BiharmonicConfig const& config, Vec3 const& point) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(config.dimension); ++d) {
    double const lower = config.origin[d], upper = lower + config.lengths[d];
    if (point[d] < lower || point[d] > upper) {
      section.fail(key, std::string("lies outside the domain: ") + "xyz"[d] + " is " + format_double(point[d]) +
                            ", the domain has [" + format_double(lower) + ", " + format_double(upper) + "]");
    }
  }
}

void read_domain(Section const& root, BiharmonicConfig& config, ConfigOverrides const& overrides) {
  if (toml::table const* table = root.table("domain")) {
    Section const section(*table, "[domain]", {"dimension", "cells", "lengths", "origin", "refinements"});
    section.get_integer("dimension", config.dimension);
    if (config.dimension != 2 && config.dimension != 3) {
      section.fail("dimension", "is " + std::to_string(config.dimension) + "; it must be 2 or 3");
    }
    std::vector<index_t> cells;
    if (section.get("cells", cells)) {
      if (cells.size() != static_cast<std::size_t>(config.dimension)) {
        section.fail("cells", "must be a list of " + std::to_string(config.dimension) + " integers " +
                                  axes(config.dimension) + ", not a list of " + std::to_string(cells.size()));
      }
      std::copy(cells.begin(), cells.end(), config.base.begin());
      for (index_t n : cells) {
        if (n < 1) section.fail("cells", "holds " + std::to_string(n) + "; every axis needs at least 1 cell");
      }
    }
    get_axes(section, "lengths", config.dimension, config.lengths);
    for (int d = 0; d < config.dimension; ++d) {
      double const length = config.lengths[static_cast<std::size_t>(d)];
      if (length <= 0) section.fail("lengths", "holds " + format_double(length) + "; every length must be above 0");
    }
    get_axes(section, "origin", config.dimension, config.origin);
    int refinements = config.refinements.front();
    if (section.get_integer("refinements", refinements)) check_refinements(section, "refinements", refinements);
    config.refinements = {refinements};
  }
  if (overrides.grid) config.base = *overrides.grid;
  if (config.dimension == 2) {
    BRICKWORK_REQUIRE(!overrides.grid || config.base[2] == 1, "--grid ", config.base[0], ",", config.base[1], ",",
                      config.base[2], ": in two dimensions the last number must be 1");
    config.base[2] = 1;
    config.lengths[2] = 1;
    config.origin[2] = 0;
  }
}

void read_study(Section const& root, BiharmonicConfig& config) {
  toml::table const* table = root.table("study");
  if (table == nullptr) return;
  Section const section(*table, "[study]", {"refinements"});
  std::vector<index_t> list;
  if (!section.get("refinements", list)) return;
  if (list.empty()) section.fail("refinements", "is empty; name at least one number of refinements");
  config.refinements.clear();
  for (index_t value : list) {
    check_refinements(section, "refinements", static_cast<int>(std::clamp<index_t>(value, -1, 31)));
    config.refinements.push_back(static_cast<int>(value));
  }
}

void read_boundary(Section const& root, BiharmonicConfig& config) {
  toml::table const* table = root.table("boundary");
  if (table == nullptr) return;
  static std::string const faces[] = {"x_lower", "x_upper", "y_lower", "y_upper", "z_lower", "z_upper"};
  std::vector<std::string> keys(faces, faces + 6);
  keys.emplace_back("all");
  Section const section(*table, "[boundary]", keys);
  PlateEdge all = PlateEdge::clamped;
  section.choose("all", edges, all);
  for (std::size_t face = 0; face < 6; ++face) {
    if (face < 2 * static_cast<std::size_t>(config.dimension)) {
      config.boundary[face] = all;
      section.choose(faces[face], edges, config.boundary[face]);
    } else if (section.has(faces[face])) {
      section.fail(faces[face], "belongs to three dimensions; domain.dimension is 2");
    }
  }
}

void read_adaptive(Section const& root, BiharmonicConfig& config) {
  toml::table const* table = root.table("adaptive");
  if (table == nullptr) return;
  Section const section(*table, "[adaptive]", {"region", "depth", "theta", "centre", "radius", "lower", "upper"});
  RefinementSettings& a = config.adaptive;
  section.choose("region", region_kinds, a.region);
  bool const is_none = a.region == RefinementKind::none;
  a.depth = is_none ? 0 : 1;
  section.get_integer("depth", a.depth);
  at_least(section, "depth", a.depth, is_none ? 0 : 1);
  if (a.depth > 30) section.fail("depth", "is " + std::to_string(a.depth) + "; it must be at most 30");
  if (is_none && a.depth > 0) section.require("region", "octant, ball, ring, box or indicator");
  // A parameter of another region would be ignored in silence.
  Choices<std::vector<RefinementKind>> const owners = {{"theta", {RefinementKind::indicator}},
                                                       {"centre", {RefinementKind::ball, RefinementKind::ring}},
                                                       {"radius", {RefinementKind::ball, RefinementKind::ring}},
                                                       {"lower", {RefinementKind::box}},
                                                       {"upper", {RefinementKind::box}}};
  for (auto const& [key, kinds] : owners) {
    if (section.has(key) && std::find(kinds.begin(), kinds.end(), a.region) == kinds.end()) {
      section.fail(
          key, "belongs to the region \"" + to_string(kinds.front()) + "\", not to \"" + to_string(a.region) + "\"");
    }
  }
  section.get("theta", a.theta);
  if (!(a.theta > 0 && a.theta <= 1)) {
    section.fail("theta", "is " + format_double(a.theta) + "; it must lie in (0, 1]");
  }
  a.radius = 0.25 * *std::min_element(config.lengths.begin(), config.lengths.begin() + config.dimension);
  for (std::size_t d = 0; d < 3; ++d) a.centre[d] = config.origin[d] + 0.5 * config.lengths[d];
  get_axes(section, "centre", config.dimension, a.centre);
  section.get("radius", a.radius);
  if (a.radius <= 0) section.fail("radius", "is " + format_double(a.radius) + "; it must be above 0");
  if (a.region == RefinementKind::box) {
    section.require("lower", axes(config.dimension));
    section.require("upper", axes(config.dimension));
    get_axes(section, "lower", config.dimension, a.lower);
    get_axes(section, "upper", config.dimension, a.upper);
    for (std::size_t d = 0; d < static_cast<std::size_t>(config.dimension); ++d) {
      if (!(a.lower[d] < a.upper[d])) section.fail("upper", "must be above 'lower' along every axis");
    }
  }
}

void read_load(Section const& root, BiharmonicConfig& config) {
  toml::table const* table = root.table("load");
  if (table == nullptr) return;
  Section const section(*table, "[load]", {"kind", "value", "position", "quadrature"});
  LoadSettings& load = config.load;
  section.choose("kind", load_kinds, load.kind);
  if (load.kind == LoadKind::manufactured && section.has("value")) {
    section.fail("value", "belongs to a constant or a point load; the manufactured one follows from its solution");
  }
  if (load.kind != LoadKind::point && section.has("position")) {
    section.fail("position", "belongs to the load \"point\", not to \"" + to_string(load.kind) + "\"");
  }
  section.get("value", load.value);
  if (load.value == 0) section.fail("value", "is 0; a load that is not 0 is needed");
  for (std::size_t d = 0; d < 3; ++d) load.position[d] = config.origin[d] + 0.5 * config.lengths[d];
  if (get_axes(section, "position", config.dimension, load.position)) {
    check_inside(section, "position", config, load.position);
  }
  section.get_integer("quadrature", load.points);
  if (load.points < 1 || load.points > 8) {
    section.fail("quadrature", "is " + std::to_string(load.points) + "; Gauss points per axis must lie in [1, 8]");
  }
}

void read_form(Section const& root, BiharmonicConfig& config) {
  toml::table const* table = root.table("form");
  if (table == nullptr) return;
  HermiteForm& form = config.form;
  Section const section(*table, "[form]", {"mass", "laplace", "biharmonic"});
  for (auto const& [key, value] :
       Choices<double*>{{"mass", &form.mass}, {"laplace", &form.laplace}, {"biharmonic", &form.biharmonic}}) {
    section.get(key, *value);
    if (*value < 0) section.fail(key, "is " + format_double(*value) + "; a stiffness must not be negative");
  }
  // Clamping constrains the normal derivative, which lower forms do not control.
  if (form.biharmonic == 0) {
    section.fail("biharmonic", "is 0; the stiffness of the plate must be above 0");
  }
}

/// On cells that are no cubes the largest eigenvalue of D^-1 A passes the usual bound, and the cycle is not positive.
bool has_cubes(BiharmonicConfig const& config) {
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(config.dimension); ++d) {
    double const h = config.lengths[d] / static_cast<double>(config.base[d]);
    smallest = std::min(smallest, h);
    largest = std::max(largest, h);
  }
  return largest <= 1.001 * smallest;
}

void read_storage(Section const& section, BiharmonicConfig& config) {
  HermiteSolverSettings& solver = config.solver;
  section.choose("storage", storages, solver.cell_wise);
  std::string evaluation;
  if (section.get("evaluation", evaluation)) {
    if (!solver.cell_wise) {
      section.fail("evaluation", "belongs to storage = \"cell\"; vertex-wise rows have one of their own");
    }
    try {
      solver.evaluation = hermite_evaluation_from_string(evaluation);
      select_hermite_evaluation(solver.evaluation, config.dimension, true);
    } catch (InputError const& error) {
      section.fail("evaluation", "is \"" + evaluation + "\": " + error.what());
    }
  }
  if (!solver.cell_wise) return;
  if (solver.mixed) section.fail("precision", "is \"mixed\", but cell-wise storage is FP64: set storage = \"vertex\"");
  auto const faces = config.boundary.begin() + 2 * config.dimension;
  if (solver.patch &&
      std::any_of(config.boundary.begin(), faces, [](PlateEdge e) { return e != PlateEdge::clamped; })) {
    section.fail("smoother",
                 "is \"patch\", which in cell-wise storage needs a clamped boundary (a patch has all its "
                 "cells): set storage = \"vertex\" or smoother = \"chebyshev\"");
  }
}

void read_solver(Section const& root, BiharmonicConfig& config) {
  HermiteSolverSettings& solver = config.solver;
  toml::table const* table = root.table("solver");
  if (table == nullptr) return;
  Section const section(*table, "[solver]",
                        {"method", "smoother", "symmetric", "precision", "storage", "evaluation", "tolerance",
                         "max_iterations", "stages", "coarsest_stages", "sweeps", "coarsest_sweeps", "interval"});
  section.choose("method", methods, solver.stationary);
  section.choose("smoother", smoother_names, solver.patch);
  section.get("symmetric", solver.symmetric);
  if (section.has("symmetric") && !solver.patch) {
    section.fail("symmetric", "belongs to the smoother \"patch\"; the other one always is");
  }
  if (!solver.symmetric && !solver.stationary) {
    section.fail("symmetric", "is false, but conjugate gradients need a symmetric cycle: set method = \"stationary\"");
  }
  section.choose("precision", precisions, solver.mixed);
  read_storage(section, config);
  section.get("tolerance", solver.tolerance);
  if (!(solver.tolerance > 0 && solver.tolerance < 1)) {
    section.fail("tolerance", "is " + format_double(solver.tolerance) + "; it must lie in (0, 1)");
  }
  for (auto const& [key, value] : Choices<int*>{{"max_iterations", &solver.max_iterations},
                                                {"stages", &solver.stages},
                                                {"coarsest_stages", &solver.coarsest_stages},
                                                {"sweeps", &solver.sweeps},
                                                {"coarsest_sweeps", &solver.coarsest_sweeps}}) {
    section.get_integer(key, *value);
    at_least(section, key, *value, 1);
    if (key != "max_iterations" && *value > 1000) {
      section.fail(key, "is " + std::to_string(*value) + "; it must be at most 1000");
    }
  }
  toml::node const* interval = section.find("interval");
  if (interval == nullptr) return;
  if (interval->is_string()) {
    section.choose("interval", Choices<bool>{{"estimated", true}}, solver.estimate_interval);
    return;
  }
  std::vector<double> ends;
  section.get("interval", ends);
  if (ends.size() != 2 || !(0 < ends[0] && ends[0] < ends[1])) {
    section.fail("interval", "must be [lower, upper] with 0 < lower < upper, or \"estimated\"");
  }
  solver.estimate_interval = false;
  solver.lower = ends[0];
  solver.upper = ends[1];
}

void read_output(Section const& root, BiharmonicConfig& config) {
  for (std::size_t d = 0; d < 3; ++d) {
    config.points.resize(1);
    config.points[0][d] = config.origin[d] + 0.5 * config.lengths[d];
  }
  toml::table const* table = root.table("output");
  if (table == nullptr) return;
  Section const section(*table, "[output]", {"directory", "vtkhdf", "points"});
  section.get("directory", config.directory);
  if (section.has("directory") && config.directory.empty()) section.fail("directory", "is empty; name a directory");
  section.get("vtkhdf", config.vtkhdf);
  std::vector<std::vector<double>> points;
  if (!section.get("points", points)) return;
  config.points.clear();
  for (auto const& point : points) {
    config.points.emplace_back();
    copy_axes(section, "points", config.dimension, point, config.points.back());
    check_inside(section, "points", config, config.points.back());
  }
}

BiharmonicConfig resolve(toml::table const& table, std::string const& name, ConfigOverrides const& overrides) {
  Section const root(table, "the configuration",
                     {"name", "domain", "study", "boundary", "adaptive", "load", "form", "solver", "output", "run"});
  BiharmonicConfig config;
  std::string const stem = std::filesystem::path(name).stem().string();
  config.name = stem;
  root.get("name", config.name);
  read_domain(root, config, overrides);
  read_study(root, config);
  read_boundary(root, config);
  read_adaptive(root, config);
  read_load(root, config);
  read_form(root, config);
  config.solver.estimate_interval = !has_cubes(config) || config.form.mass > 0 || config.form.laplace > 0;
  read_solver(root, config);
  config.directory = "results/" + (stem.empty() ? std::string("biharmonic") : stem);
  read_output(root, config);
  detail::read_run(root, config.threads, config.device, config.quiet);
  if (overrides.output) config.directory = *overrides.output;
  if (overrides.threads) config.threads = *overrides.threads;
  if (overrides.device) config.device = *overrides.device;
  config.quiet = config.quiet || overrides.quiet;
  if (config.adaptive.region == RefinementKind::indicator && config.load.kind == LoadKind::point) {
    config.warnings.emplace_back(
        "the indicator does not see the force at a point itself, only the jumps that it causes around it");
  }
  return config;
}

template <class List>
std::string list_of(List const& list, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(list[0])>>) {
      text += (i == 0 ? "" : ", ") + toml_real(list[i]);
    } else {
      text += (i == 0 ? "" : ", ") + std::to_string(list[i]);
    }
  }
  return "[" + text + "]";
}

}  // namespace

BiharmonicConfig parse_biharmonic_config(std::string const& text, std::string const& name,
                                         ConfigOverrides const& overrides) {
  return resolve(detail::parse_toml(text, name, overrides.set), name, overrides);
}

BiharmonicConfig read_biharmonic_config(std::string const& path, ConfigOverrides const& overrides) {
  return parse_biharmonic_config(detail::read_config_text(path), path, overrides);
}

std::string to_string(RefinementKind kind) { return name_of(region_kinds, kind); }
std::string to_string(LoadKind kind) { return name_of(load_kinds, kind); }

std::string to_toml(BiharmonicConfig const& c) {
  auto const dim = static_cast<std::size_t>(c.dimension);
  std::string t = "# Resolved configuration of a brickwork-biharmonic run; reading it gives the same run.\n";
  t += "name = " + json_string(c.name) + "\n\n[domain]\ndimension = " + std::to_string(c.dimension) +
       "\ncells = " + list_of(c.base, dim) + "\nlengths = " + list_of(c.lengths, dim) +
       "\norigin = " + list_of(c.origin, dim) + "\n";
  t += "\n[study]\nrefinements = " + list_of(c.refinements, c.refinements.size()) + "\n\n[boundary]\n";
  for (std::size_t face = 0; face < 2 * dim; ++face) {
    t += std::string(1, "xyz"[face / 2]) + (face % 2 == 0 ? "_lower" : "_upper") + " = \"" +
         name_of(edges, c.boundary[face]) + "\"\n";
  }
  RefinementSettings const& a = c.adaptive;
  t += "\n[adaptive]\nregion = \"" + to_string(a.region) + "\"\ndepth = " + std::to_string(a.depth) + "\n";
  if (a.region == RefinementKind::indicator) t += "theta = " + toml_real(a.theta) + "\n";
  if (a.region == RefinementKind::ball || a.region == RefinementKind::ring) {
    t += "centre = " + list_of(a.centre, dim) + "\nradius = " + toml_real(a.radius) + "\n";
  }
  if (a.region == RefinementKind::box) {
    t += "lower = " + list_of(a.lower, dim) + "\nupper = " + list_of(a.upper, dim) + "\n";
  }
  t += "\n[load]\nkind = \"" + to_string(c.load.kind) + "\"\n";
  if (c.load.kind != LoadKind::manufactured) t += "value = " + toml_real(c.load.value) + "\n";
  if (c.load.kind == LoadKind::point) t += "position = " + list_of(c.load.position, dim) + "\n";
  t += "quadrature = " + std::to_string(c.load.points) + "\n\n[form]\nmass = " + toml_real(c.form.mass) +
       "\nlaplace = " + toml_real(c.form.laplace) + "\nbiharmonic = " + toml_real(c.form.biharmonic) + "\n";
  HermiteSolverSettings const& s = c.solver;
  t += "\n[solver]\nmethod = \"" + name_of(methods, s.stationary) + "\"\nsmoother = \"" +
       name_of(smoother_names, s.patch) + "\"\n";
  if (s.patch) t += "symmetric = " + toml_boolean(s.symmetric) + "\n";
  t += "precision = \"" + name_of(precisions, s.mixed) + "\"\nstorage = \"" + name_of(storages, s.cell_wise) + "\"\n";
  if (s.cell_wise) t += "evaluation = \"" + to_string(s.evaluation) + "\"\n";
  t += "tolerance = " + toml_real(s.tolerance) + "\nmax_iterations = " + std::to_string(s.max_iterations) +
       "\nstages = " + std::to_string(s.stages) + "\ncoarsest_stages = " + std::to_string(s.coarsest_stages) +
       "\nsweeps = " + std::to_string(s.sweeps) + "\ncoarsest_sweeps = " + std::to_string(s.coarsest_sweeps) +
       "\ninterval = " +
       (s.estimate_interval ? std::string("\"estimated\"")
                            : "[" + toml_real(s.lower) + ", " + toml_real(s.upper) + "]") +
       "\n";
  t += "\n[output]\ndirectory = " + json_string(c.directory) + "\nvtkhdf = " + toml_boolean(c.vtkhdf) + "\npoints = [";
  for (std::size_t i = 0; i < c.points.size(); ++i) t += (i == 0 ? "" : ", ") + list_of(c.points[i], dim);
  return t + "]\n" + detail::run_to_toml(c.threads, c.device, c.quiet);
}

}  // namespace brickwork
