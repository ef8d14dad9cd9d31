// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_problem.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "brickwork/core/check.hpp"
#include "problem_checks.hpp"

namespace brickwork {

// ---------------------------------------------------------------------------------------------------- schedules

Schedule protocol_a() {
  Schedule schedule;
  schedule.name = "A";
  schedule.steps = 120;
  schedule.stages = {{1, 1, 3.0, 1, 0.20, 1.50},   {2, 16, 1.5, 1, 0.20, 1.50},   {17, 17, 3.5, 4, 0.15, 1.40},
                     {18, 41, 3.5, 4, 0.15, 1.35}, {42, 66, 4.5, 16, 0.08, 1.25}, {67, 120, 4.5, 32, 0.05, 1.20}};
  return schedule;
}

Schedule protocol_b() {
  Schedule schedule;
  schedule.name = "B";
  schedule.steps = 76;
  schedule.stages = {{1, 15, 1.5, 1, 0.20, 1.50},
                     {16, 40, 3.5, 4, 0.15, 1.35},
                     {41, 65, 4.5, 16, 0.08, 1.25},
                     {66, 76, 4.5, 32, 0.05, 1.20}};
  schedule.density_lower_bound = 0;
  schedule.select_best = false;
  schedule.restart_ratio = 0;
  schedule.floor_sensitivities = false;
  schedule.final_solve = true;
  return schedule;
}

Schedule constant_schedule(int steps, double penalization, double beta, double move, double radius) {
  BRICKWORK_REQUIRE(steps >= 1, "schedule.steps = ", steps, ": must be at least 1");
  Schedule schedule;
  schedule.name = "constant";
  schedule.steps = steps;
  schedule.stages = {{1, steps, penalization, beta, move, radius}};
  schedule.select_best = false;
  schedule.restart_ratio = 0;
  return schedule;
}

ScheduleStage const& stage_of(Schedule const& schedule, int step) {
  for (auto const& stage : schedule.stages) {
    if (step >= stage.first_step && step <= stage.last_step) return stage;
  }
  throw InputError("schedule '" + schedule.name + "' has no stage for step " + std::to_string(step));
}

Schedule shorten(Schedule schedule, int steps) {
  BRICKWORK_REQUIRE(steps >= 1 && steps <= schedule.steps, "the schedule has steps 1 to ", schedule.steps, ", not ",
                    steps);
  schedule.steps = steps;
  auto const beyond = [&](ScheduleStage const& stage) { return stage.first_step > steps; };
  schedule.stages.erase(std::remove_if(schedule.stages.begin(), schedule.stages.end(), beyond), schedule.stages.end());
  if (!schedule.stages.empty()) schedule.stages.back().last_step = std::min(schedule.stages.back().last_step, steps);
  return schedule;
}

// ------------------------------------------------------------------------------------------------------ presets

namespace {

struct Preset {
  char const* name;
  Index3 cells;
  Vec3 lengths;
  double volume_fraction;
  bool protocol_b;
  void (*fill)(SimpProblem&);
};

Support fixed_face_x0() { return {"wall", PlaneRegion{0, 0.0}, {true, true, true}}; }

Load total_force(std::string name, Region region, Vec3 const& force) {
  return {std::move(name), std::move(region), Load::Kind::total, force, 0};
}

// [lower, upper] along an axis of `cells` cells, or its midpoint (which snaps to the nearest node) on grids so coarse
// that no node lies within.
std::pair<double, double> interval_with_node(double lower, double upper, index_t cells, double length) {
  double const n = static_cast<double>(cells);
  double const first = std::ceil(lower / length * n - 1e-6);
  double const last = std::floor(upper / length * n + 1e-6);
  if (first > last) return {0.5 * (lower + upper), 0.5 * (lower + upper)};
  return {lower, upper};
}

void cantilever_a(SimpProblem& p) {
  p.supports = {fixed_face_x0()};
  p.loads = {total_force("tip", PointRegion{{2, 0.5, 0.25}}, {0, -1, 0})};
}

void torsion_a(SimpProblem& p) {
  p.supports = {fixed_face_x0()};
  p.loads = {total_force("upper", PointRegion{{3, 1, 0.5}}, {0, -0.5, 0.5}),
             total_force("lower", PointRegion{{3, 0, 0.5}}, {0, 0.5, -0.5})};
}

void mbb_a(SimpProblem& p) {
  p.supports = {{"symmetry", PlaneRegion{0, 0.0}, {true, false, false}},
                {"roller", PointRegion{{3, 0, 0.25}}, {false, true, false}}};
  p.loads = {total_force("top", PointRegion{{0, 1, 0.25}}, {0, -1, 0})};
}

void mbb_supported_a(SimpProblem& p) {
  mbb_a(p);
  p.supports.push_back({"roller z", PointRegion{{3, 0, 0.25}}, {false, false, true}});
  p.supports.push_back({"line z", BoxRegion{{0, 0, 0}, {0, 0, p.lengths[2]}}, {false, false, true}});
  // All of the above lies at y = 0 and leaves the rotation about x. The loaded node bears no force along z.
  p.supports.push_back({"top z", PointRegion{{0, 1, 0.25}}, {false, false, true}});
}

void bridge_a(SimpProblem& p) {
  for (int k : {0, 6, 12, 19, 25}) {
    double const z = k / 25.0 * p.lengths[2];
    p.supports.push_back({"left " + std::to_string(k), PointRegion{{0, 0, z}}, {true, true, true}});
    p.supports.push_back({"right " + std::to_string(k), PointRegion{{3, 0, z}}, {false, true, true}});
  }
  p.loads = {{"deck", PlaneRegion{1, 1.0}, Load::Kind::traction, {0, -1, 0}, 0}};
}

void cantilever_b(SimpProblem& p) {
  p.supports = {fixed_face_x0()};
  BoxRegion patch{{2, 0, 0}, {2, 0, 0}};
  for (int axis : {1, 2}) {
    index_t const n = p.cells[axis];
    index_t const center = (n + 1) / 2;
    index_t const half_width = n / 20;  // floor(.05 k) nodes to either side of the centre node
    double const h = p.lengths[axis] / static_cast<double>(n);
    patch.lower[axis] = static_cast<double>(center - half_width) * h;
    patch.upper[axis] = static_cast<double>(center + half_width) * h;
  }
  p.loads = {total_force("patch", patch, {0, 0, -1})};
}

void torsion_b(SimpProblem& p) {
  p.supports = {fixed_face_x0()};
  auto const z = interval_with_node(0.425, 0.575, p.cells[2], p.lengths[2]);
  p.loads = {total_force("lower", BoxRegion{{2, 0, z.first}, {2, 0.075, z.second}}, {0, 0.5, -0.5}),
             total_force("upper", BoxRegion{{2, 0.925, z.first}, {2, 1, z.second}}, {0, -0.5, 0.5})};
}

void bridge_b(SimpProblem& p) {
  p.supports = {{"left", BoxRegion{{0, 0, 0}, {0, 1, 0}}, {true, true, true}},
                {"right", BoxRegion{{2, 0, 0}, {2, 1, 0}}, {false, true, true}}};
  auto const x = interval_with_node(0.95, 1.05, p.cells[0], p.lengths[0]);
  p.loads = {total_force("strip", BoxRegion{{x.first, 0, 1}, {x.second, 1, 1}}, {0, 0, -1})};
}

Preset const presets[] = {
    {"cantilever", {80, 40, 20}, {2, 1, 0.5}, 0.30, false, cantilever_a},
    {"torsion", {165, 55, 55}, {3, 1, 1}, 0.25, false, torsion_a},
    {"mbb", {150, 50, 25}, {3, 1, 0.5}, 0.50, false, mbb_a},
    {"mbb_supported", {150, 50, 25}, {3, 1, 0.5}, 0.50, false, mbb_supported_a},
    {"bridge", {150, 50, 25}, {3, 1, 0.5}, 0.30, false, bridge_a},
    {"cantilever_b", {160, 80, 80}, {2, 1, 1}, 0.30, true, cantilever_b},
    {"torsion_b", {160, 80, 80}, {2, 1, 1}, 0.25, true, torsion_b},
    {"bridge_b", {160, 80, 80}, {2, 1, 1}, 0.20, true, bridge_b},
};

}  // namespace

std::vector<std::string> simp_preset_names() {
  std::vector<std::string> names;
  for (Preset const& preset : presets) names.emplace_back(preset.name);
  return names;
}

SimpProblem simp_preset(std::string const& name, Index3 cells) {
  for (Preset const& preset : presets) {
    if (name != preset.name) continue;
    SimpProblem problem;
    problem.name = name;
    problem.cells = cells == Index3{0, 0, 0} ? preset.cells : cells;
    for (index_t n : problem.cells) {
      BRICKWORK_REQUIRE(n >= 1, "grid.cells = [", problem.cells[0], ", ", problem.cells[1], ", ", problem.cells[2],
                        "]: every axis needs at least 1 cell");
    }
    problem.lengths = preset.lengths;
    problem.volume_fraction = preset.volume_fraction;
    problem.stiffness = StiffnessScale::reference_cube;
    problem.schedule = preset.protocol_b ? protocol_b() : protocol_a();
    preset.fill(problem);
    return problem;
  }
  std::string known;
  for (Preset const& preset : presets) known += (known.empty() ? "" : ", ") + std::string(preset.name);
  throw InputError("unknown preset '" + name + "'; known: " + known);
}

// --------------------------------------------------------------------------------------------------- validation
//
// Messages begin with their subject ("design.volume_fraction", "load 'tip'"), by which configuration readers find the
// line that it came from.

namespace {

constexpr double tolerance_in_cells = 1e-6;  // as mesh/selection.hpp

bool finite(Vec3 const& v) { return std::isfinite(v[0]) && std::isfinite(v[1]) && std::isfinite(v[2]); }

std::string triple(Vec3 const& v) { return detail::concatenate("[", v[0], ", ", v[1], ", ", v[2], "]"); }
std::string triple(Index3 const& v) { return detail::concatenate("[", v[0], ", ", v[1], ", ", v[2], "]"); }

// Sample points of one axis: nodes i h (i = 0..n) or cell centres (i + 1/2) h (i = 0..n-1).
struct Samples {
  double h;
  double first;  // coordinate of sample 0
  index_t count;

  bool any_in(double lower, double upper) const {
    double const a = std::ceil((lower - first) / h - tolerance_in_cells);
    double const b = std::floor((upper - first) / h + tolerance_in_cells);
    return std::max(a, 0.0) <= std::min(b, static_cast<double>(count - 1));
  }
  double nearest_distance(double x) const {
    double const i = std::clamp(std::round((x - first) / h), 0.0, static_cast<double>(count - 1));
    return std::abs(first + i * h - x);
  }
};

Samples node_samples(SimpProblem const& p, int axis) {
  return {p.lengths[axis] / static_cast<double>(p.cells[axis]), 0.0, p.cells[axis] + 1};
}
Samples cell_samples(SimpProblem const& p, int axis) {
  double const h = p.lengths[axis] / static_cast<double>(p.cells[axis]);
  return {h, 0.5 * h, p.cells[axis]};
}

bool is_flat(SimpProblem const& p, int axis, double lower, double upper) {
  return (upper - lower) * static_cast<double>(p.cells[axis]) <= 2 * tolerance_in_cells * p.lengths[axis];
}

// A coordinate that snaps to the nearest node: within half a cell of the domain.
bool snaps(SimpProblem const& p, int axis, double x) {
  double const h = p.lengths[axis] / static_cast<double>(p.cells[axis]);
  return x >= -0.5 * h && x <= p.lengths[axis] + 0.5 * h;
}

// Whether the region selects at least one node. Exact: on a product grid the sample nearest to a centre decides.
bool selects_node(SimpProblem const& p, Region const& region) {
  if (auto const* plane = std::get_if<PlaneRegion>(&region)) return snaps(p, plane->axis, plane->position);
  if (auto const* point = std::get_if<PointRegion>(&region)) {
    for (int axis = 0; axis < 3; ++axis) {
      if (!snaps(p, axis, point->position[axis])) return false;
    }
    return true;
  }
  auto const interval = [&](int axis, double lower, double upper) {
    return is_flat(p, axis, lower, upper) ? snaps(p, axis, 0.5 * (lower + upper))
                                          : node_samples(p, axis).any_in(lower, upper);
  };
  if (auto const* box = std::get_if<BoxRegion>(&region)) {
    for (int axis = 0; axis < 3; ++axis) {
      if (!interval(axis, box->lower[axis], box->upper[axis])) return false;
    }
    return true;
  }
  if (auto const* sphere = std::get_if<SphereRegion>(&region)) {
    double squared = 0;
    for (int axis = 0; axis < 3; ++axis) {
      squared += std::pow(node_samples(p, axis).nearest_distance(sphere->center[axis]), 2);
    }
    return std::sqrt(squared) <= sphere->radius * (1 + 1e-12);
  }
  auto const& cylinder = std::get<CylinderRegion>(region);
  double squared = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (axis == cylinder.axis) continue;
    squared += std::pow(node_samples(p, axis).nearest_distance(cylinder.center[axis]), 2);
  }
  return std::sqrt(squared) <= cylinder.radius * (1 + 1e-12) && interval(cylinder.axis, cylinder.lower, cylinder.upper);
}

// Cells of row (j, k) whose centres the region contains, as the half-open range [first, last).
std::pair<index_t, index_t> cell_row(SimpProblem const& p, Region const& region, index_t j, index_t k) {
  Vec3 lower{}, upper{};
  Samples const xs = cell_samples(p, 0);
  double const y = cell_samples(p, 1).first + static_cast<double>(j) * cell_samples(p, 1).h;
  double const z = cell_samples(p, 2).first + static_cast<double>(k) * cell_samples(p, 2).h;
  double const slack_y = tolerance_in_cells * cell_samples(p, 1).h;
  double const slack_z = tolerance_in_cells * cell_samples(p, 2).h;
  std::pair<index_t, index_t> const none{0, 0};
  auto const outside = [](double x, double a, double b, double slack) { return x < a - slack || x > b + slack; };
  if (auto const* box = std::get_if<BoxRegion>(&region)) {
    lower = box->lower;
    upper = box->upper;
    if (outside(y, lower[1], upper[1], slack_y) || outside(z, lower[2], upper[2], slack_z)) return none;
  } else if (auto const* sphere = std::get_if<SphereRegion>(&region)) {
    double const rest =
        sphere->radius * sphere->radius - std::pow(y - sphere->center[1], 2) - std::pow(z - sphere->center[2], 2);
    if (rest < 0) return none;
    lower[0] = sphere->center[0] - std::sqrt(rest);
    upper[0] = sphere->center[0] + std::sqrt(rest);
  } else if (auto const* cylinder = std::get_if<CylinderRegion>(&region)) {
    if (cylinder->axis == 0) {
      double const squared = std::pow(y - cylinder->center[1], 2) + std::pow(z - cylinder->center[2], 2);
      if (squared > cylinder->radius * cylinder->radius) return none;
      lower[0] = cylinder->lower;
      upper[0] = cylinder->upper;
    } else {
      bool const along_y = cylinder->axis == 1;
      if (outside(along_y ? y : z, cylinder->lower, cylinder->upper, along_y ? slack_y : slack_z)) return none;
      double const across = along_y ? z - cylinder->center[2] : y - cylinder->center[1];
      double const rest = cylinder->radius * cylinder->radius - across * across;
      if (rest < 0) return none;
      lower[0] = cylinder->center[0] - std::sqrt(rest);
      upper[0] = cylinder->center[0] + std::sqrt(rest);
    }
  } else {
    return none;
  }
  double const last = static_cast<double>(xs.count - 1);
  double const a = std::max(std::ceil((lower[0] - xs.first) / xs.h - tolerance_in_cells), 0.0);
  double const b = std::min(std::floor((upper[0] - xs.first) / xs.h + tolerance_in_cells), last);
  return a > b ? none : std::pair<index_t, index_t>{static_cast<index_t>(a), static_cast<index_t>(b) + 1};
}

struct PassiveCount {
  index_t solid = 0;
  index_t hollow = 0;
  std::vector<index_t> by_region;  // cells that each region contains, whoever wins them
};

// Where passive regions overlap, the one listed last wins. Works row by row, so it needs no grid-sized memory.
PassiveCount count_passive(SimpProblem const& p) {
  PassiveCount count;
  count.by_region.assign(p.passive.size(), 0);
  if (p.passive.empty()) return count;
  std::vector<std::pair<index_t, index_t>> rows(p.passive.size());
  std::vector<index_t> cuts;
  for (index_t k = 0; k < p.cells[2]; ++k) {
    for (index_t j = 0; j < p.cells[1]; ++j) {
      cuts.clear();
      for (std::size_t r = 0; r < p.passive.size(); ++r) {
        rows[r] = cell_row(p, p.passive[r].region, j, k);
        if (rows[r].first == rows[r].second) continue;
        count.by_region[r] += rows[r].second - rows[r].first;
        cuts.push_back(rows[r].first);
        cuts.push_back(rows[r].second);
      }
      std::sort(cuts.begin(), cuts.end());
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
        for (std::size_t r = p.passive.size(); r-- > 0;) {
          if (rows[r].first <= cuts[c] && cuts[c + 1] <= rows[r].second) {
            (p.passive[r].solid ? count.solid : count.hollow) += cuts[c + 1] - cuts[c];
            break;
          }
        }
      }
    }
  }
  return count;
}

void check_region(std::string const& subject, Region const& region) {
  auto const check_axis = [&](int axis) {
    BRICKWORK_REQUIRE(axis >= 0 && axis < 3, subject, ": axis ", axis, " must be 0, 1 or 2");
  };
  auto const check_radius = [&](double radius) {
    BRICKWORK_REQUIRE(std::isfinite(radius) && radius > 0, subject, ": radius ", radius, " must be above 0 and finite");
  };
  bool is_finite = true;
  if (auto const* box = std::get_if<BoxRegion>(&region)) {
    is_finite = finite(box->lower) && finite(box->upper);
    for (int axis = 0; axis < 3 && is_finite; ++axis) {
      BRICKWORK_REQUIRE(box->lower[axis] <= box->upper[axis], subject, ": box has lower ", box->lower[axis],
                        " above upper ", box->upper[axis], " along ", static_cast<char>('x' + axis));
    }
  } else if (auto const* sphere = std::get_if<SphereRegion>(&region)) {
    is_finite = finite(sphere->center);
    check_radius(sphere->radius);
  } else if (auto const* cylinder = std::get_if<CylinderRegion>(&region)) {
    is_finite = finite(cylinder->center) && std::isfinite(cylinder->lower) && std::isfinite(cylinder->upper);
    check_axis(cylinder->axis);
    check_radius(cylinder->radius);
    BRICKWORK_REQUIRE(cylinder->lower <= cylinder->upper, subject, ": cylinder has lower ", cylinder->lower,
                      " above upper ", cylinder->upper);
  } else if (auto const* plane = std::get_if<PlaneRegion>(&region)) {
    is_finite = std::isfinite(plane->position);
    check_axis(plane->axis);
  } else {
    is_finite = finite(std::get<PointRegion>(region).position);
  }
  BRICKWORK_REQUIRE(is_finite, subject, ": the ", describe(region), " must be finite");
}

void check_selects_node(SimpProblem const& p, std::string const& subject, Region const& region) {
  BRICKWORK_REQUIRE(selects_node(p, region), subject, ": the ", describe(region),
                    " selects no node of the domain (0, 0, 0) to (", p.lengths[0], ", ", p.lengths[1], ", ",
                    p.lengths[2], "), whose cells measure ", p.lengths[0] / static_cast<double>(p.cells[0]), " x ",
                    p.lengths[1] / static_cast<double>(p.cells[1]), " x ",
                    p.lengths[2] / static_cast<double>(p.cells[2]));
}

std::string subject_of(char const* kind, std::string const& name, std::size_t index) {
  return name.empty() ? detail::concatenate(kind, " ", index + 1) : detail::concatenate(kind, " '", name, "'");
}

void check_grid(SimpProblem const& p) {
  double dofs = 3;
  for (index_t n : p.cells) {
    BRICKWORK_REQUIRE(n >= 1, "grid.cells = ", triple(p.cells), ": every axis needs at least 1 cell");
    dofs *= static_cast<double>(n) + 1;
  }
  BRICKWORK_REQUIRE(dofs < std::ldexp(1.0, 62), "grid.cells = ", triple(p.cells),
                    ": more than 2^62 degrees of freedom cannot be numbered");
  for (double length : p.lengths) {
    BRICKWORK_REQUIRE(std::isfinite(length) && length > 0, "grid.lengths = ", triple(p.lengths),
                      ": every length must be above 0 and finite");
  }
}

void check_material(SimpProblem const& p, std::vector<std::string>& warnings) {
  detail::check_material(p.young, p.young_min_ratio, p.poisson, warnings);
  if (p.stiffness == StiffnessScale::reference_cube) {
    double const h[3] = {p.lengths[0] / static_cast<double>(p.cells[0]), p.lengths[1] / static_cast<double>(p.cells[1]),
                         p.lengths[2] / static_cast<double>(p.cells[2])};
    if (*std::max_element(h, h + 3) > 1.01 * *std::min_element(h, h + 3)) {
      warnings.push_back(
          detail::concatenate("material.stiffness = \"reference_cube\" treats cells as cubes, but they measure ", h[0],
                              " x ", h[1], " x ", h[2]));
    }
  }
}

void check_schedule(SimpProblem const& p, std::vector<std::string>& warnings) {
  Schedule const& s = p.schedule;
  double const h_min =
      std::min({p.lengths[0] / static_cast<double>(p.cells[0]), p.lengths[1] / static_cast<double>(p.cells[1]),
                p.lengths[2] / static_cast<double>(p.cells[2])});
  detail::check_stages(s, p.radius_in_lengths ? h_min : 1, warnings);
  BRICKWORK_REQUIRE(s.density_lower_bound >= 0 && s.density_lower_bound < 1,
                    "schedule.density_lower_bound = ", s.density_lower_bound, ": must lie in [0, 1)");
  BRICKWORK_REQUIRE(s.restart_ratio == 0 || (std::isfinite(s.restart_ratio) && s.restart_ratio > 1),
                    "schedule.restart_ratio = ", s.restart_ratio, ": must be above 1, or 0 for never");
  BRICKWORK_REQUIRE(std::isfinite(s.best_min_penalization),
                    "schedule.best_min_penalization = ", s.best_min_penalization, ": must be finite");
  BRICKWORK_REQUIRE(s.best_max_grayness >= 0, "schedule.best_max_grayness = ", s.best_max_grayness,
                    ": must be at least 0");
}

void check_loads(SimpProblem const& p) {
  BRICKWORK_REQUIRE(!p.loads.empty(), "load: the problem has no load; state at least one [[load]]");
  std::set<int> cases;
  for (std::size_t i = 0; i < p.loads.size(); ++i) {
    Load const& load = p.loads[i];
    std::string const subject = subject_of("load", load.name, i);
    char const* what = load.kind == Load::Kind::total ? "force" : "traction";
    BRICKWORK_REQUIRE(finite(load.force), subject, ": ", what, " ", triple(load.force), " must be finite");
    BRICKWORK_REQUIRE(load.force[0] != 0 || load.force[1] != 0 || load.force[2] != 0, subject, ": ", what,
                      " is zero; there is nothing to carry");
    BRICKWORK_REQUIRE(load.load_case >= 0, subject, ": case ", load.load_case, " must be at least 0");
    check_region(subject, load.region);
    if (load.kind == Load::Kind::traction) {
      bool flat = std::holds_alternative<PlaneRegion>(load.region);
      if (auto const* box = std::get_if<BoxRegion>(&load.region)) {
        int flat_axes = 0;
        for (int axis = 0; axis < 3; ++axis) flat_axes += is_flat(p, axis, box->lower[axis], box->upper[axis]) ? 1 : 0;
        flat = flat_axes == 1;
      }
      BRICKWORK_REQUIRE(flat, subject,
                        ": a traction needs an area: a plane or a box that is flat on exactly one axis, not a ",
                        describe(load.region));
    }
    check_selects_node(p, subject, load.region);
    cases.insert(load.load_case);
  }
  int const count = static_cast<int>(cases.size());
  BRICKWORK_REQUIRE(*cases.rbegin() == count - 1, "load: load cases must be numbered 0, 1, ... without gaps, but ",
                    count, " distinct number(s) go up to ", *cases.rbegin());
  if (!p.load_case_weights.empty()) {
    BRICKWORK_REQUIRE(static_cast<int>(p.load_case_weights.size()) == count, "design.load_case_weights: has ",
                      p.load_case_weights.size(), " entries for ", count, " load case(s)");
    double sum = 0;
    for (double weight : p.load_case_weights) {
      BRICKWORK_REQUIRE(std::isfinite(weight) && weight >= 0, "design.load_case_weights: weight ", weight,
                        " must be at least 0 and finite");
      sum += weight;
    }
    BRICKWORK_REQUIRE(sum > 0, "design.load_case_weights: all weights are zero");
  }
}

void check_supports(SimpProblem const& p) {
  BRICKWORK_REQUIRE(
      !p.supports.empty(),
      "support: the problem has no support, so all six rigid modes are free; state at least one [[support]]");
  for (std::size_t i = 0; i < p.supports.size(); ++i) {
    Support const& support = p.supports[i];
    std::string const subject = subject_of("support", support.name, i);
    BRICKWORK_REQUIRE(support.fixed[0] || support.fixed[1] || support.fixed[2], subject,
                      ": fixes no component; fix at least one of x, y, z");
    check_region(subject, support.region);
    check_selects_node(p, subject, support.region);
  }
}

void check_volume(SimpProblem const& p, std::vector<std::string>& warnings) {
  double const v = p.volume_fraction;
  BRICKWORK_REQUIRE(std::isfinite(v) && v > 0 && v <= 1, "design.volume_fraction = ", v, ": must lie in (0, 1]");
  BRICKWORK_REQUIRE(p.projection_eta > 0 && p.projection_eta < 1, "design.eta = ", p.projection_eta,
                    ": must lie in (0, 1)");
  if (v == 1) warnings.push_back("design.volume_fraction = 1: the whole domain is solid, nothing is optimized");
  if (v < 0.01) {
    warnings.push_back(
        detail::concatenate("design.volume_fraction = ", v, ": so little material seldom connects loads to supports"));
  }
  for (std::size_t i = 0; i < p.passive.size(); ++i) {
    PassiveRegion const& passive = p.passive[i];
    std::string const subject = subject_of("passive", passive.name, i);
    check_region(subject, passive.region);
    BRICKWORK_REQUIRE(
        !std::holds_alternative<PlaneRegion>(passive.region) && !std::holds_alternative<PointRegion>(passive.region),
        subject, ": a ", describe(passive.region), " holds no cells; use a box, a sphere or a cylinder");
  }
  PassiveCount const count = count_passive(p);
  for (std::size_t i = 0; i < p.passive.size(); ++i) {
    BRICKWORK_REQUIRE(count.by_region[i] > 0, subject_of("passive", p.passive[i].name, i), ": the ",
                      describe(p.passive[i].region), " selects nothing: no cell centre of the domain (0, 0, 0) to (",
                      p.lengths[0], ", ", p.lengths[1], ", ", p.lengths[2], ") lies within");
  }
  double const cells =
      static_cast<double>(p.cells[0]) * static_cast<double>(p.cells[1]) * static_cast<double>(p.cells[2]);
  double const solid = static_cast<double>(count.solid) / cells;
  double const hollow = static_cast<double>(count.hollow) / cells;
  double const rounding = 1e-12;
  if (!p.passive.empty()) {
    BRICKWORK_REQUIRE(static_cast<double>(count.solid) + static_cast<double>(count.hollow) < cells,
                      "passive: the passive regions cover every cell; nothing is left to optimize");
    BRICKWORK_REQUIRE(v >= solid - rounding && v <= 1 - hollow + rounding, "design.volume_fraction = ", v,
                      ": infeasible, the passive regions leave [", solid, ", ", 1 - hollow, "]");
  }
  if (v < solid + p.schedule.density_lower_bound * (1 - solid - hollow)) {
    warnings.push_back(detail::concatenate("schedule.density_lower_bound = ", p.schedule.density_lower_bound,
                                           ": above what design.volume_fraction = ", v,
                                           " leaves for the free cells; the volume constraint may not be met"));
  }
}

}  // namespace

std::vector<std::string> validate(SimpProblem const& problem) {
  std::vector<std::string> warnings;
  check_grid(problem);
  check_material(problem, warnings);
  check_schedule(problem, warnings);
  check_supports(problem);
  check_loads(problem);
  check_volume(problem, warnings);
  detail::check_solver(problem.solver);
  return warnings;
}

}  // namespace brickwork
