// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/homogenize_problem.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "brickwork/core/check.hpp"
#include "brickwork/design/cell_kinds.hpp"
#include "brickwork/fem/material.hpp"
#include "problem_checks.hpp"

namespace brickwork {

// Messages begin with their subject ("design.volume_fraction", "constraint 2"), by which configuration readers find the
// line that it came from.

namespace {

using detail::concatenate;

std::vector<std::string> start_names() {
  std::vector<std::string> names = start_density_names();
  names.emplace_back("file");
  return names;
}

std::string join(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool contains(std::vector<std::string> const& words, std::string const& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string triple(Index3 const& n) { return concatenate("[", n[0], ", ", n[1], ", ", n[2], "]"); }
std::string triple(Vec3 const& v) { return concatenate("[", v[0], ", ", v[1], ", ", v[2], "]"); }

void check_cells(Index3 const& cells) {
  double count = 3;
  for (index_t n : cells) {
    BRICKWORK_REQUIRE(n >= 2, "cell.cells = ", triple(cells), ": a periodic axis needs at least 2 cells");
    count *= static_cast<double>(n);
  }
  BRICKWORK_REQUIRE(count < std::ldexp(1.0, 62), "cell.cells = ", triple(cells),
                    ": more than 2^62 degrees of freedom cannot be numbered");
}

void check_lengths(Vec3 const& lengths) {
  for (double length : lengths) {
    BRICKWORK_REQUIRE(std::isfinite(length) && length > 0, "cell.lengths = ", triple(lengths),
                      ": every length must be above 0 and finite");
  }
}

// What the cell problems cannot do, whatever the image.
void check_cell_solver(SolverSettings const& solver) {
  detail::check_solver(solver);
  BRICKWORK_REQUIRE(solver.method != SolverMethod::multigrid || solver.precision == Precision::mixed,
                    "solver.precision: method \"multigrid\" runs in mixed precision only; take \"mixed\", or method = "
                    "\"jacobi\"");
}

void check_bounds(HomogenizeProblem const& p) {
  double const v = p.volume_fraction;
  BRICKWORK_REQUIRE(std::isfinite(v) && v > 0 && v < 1, "design.volume_fraction = ", v, ": must lie in (0, 1)");
  BRICKWORK_REQUIRE(p.lower >= 0 && p.lower < 1, "design.lower = ", p.lower, ": must lie in [0, 1)");
  BRICKWORK_REQUIRE(p.upper > 0 && p.upper <= 1, "design.upper = ", p.upper, ": must lie in (0, 1]");
  BRICKWORK_REQUIRE(p.lower < v, "design.lower = ", p.lower, ": must be below design.volume_fraction = ", v,
                    ", else no design meets the volume");
  BRICKWORK_REQUIRE(p.upper > v, "design.upper = ", p.upper, ": must be above design.volume_fraction = ", v,
                    ", else no design meets the volume");
  BRICKWORK_REQUIRE(p.damping > 0 && p.damping <= 1, "design.damping = ", p.damping, ": must lie in (0, 1]");
  BRICKWORK_REQUIRE(p.projection_eta > 0 && p.projection_eta < 1, "design.eta = ", p.projection_eta,
                    ": must lie in (0, 1)");
}

void check_objective(HomogenizeProblem const& p) {
  if (p.objective == "expression") {
    BRICKWORK_REQUIRE(!p.expression.empty(),
                      "objective.expression: is missing or empty, but the objective is \"expression\"");
    try {
      parse_tensor_objective(p.expression);
    } catch (InputError const& error) {
      throw InputError(std::string("objective.expression: ") + error.what());
    }
    BRICKWORK_REQUIRE(p.parameters.isotropy == 0,
                      "objective.isotropy: is added to named objectives only; write it into the expression");
    return;
  }
  std::vector<std::string> known = tensor_objective_names();
  BRICKWORK_REQUIRE(contains(known, p.objective), "objective.name = \"", p.objective,
                    "\": unknown; known: ", join(known), ", expression");
  BRICKWORK_REQUIRE(p.expression.empty(), "objective.expression: stands beside name = \"", p.objective,
                    "\"; it belongs to \"expression\"");
  ObjectiveParameters parameters = p.parameters;
  parameters.young = p.young;
  make_tensor_objective(p.objective, parameters);  // its messages begin with "objective NAME: "
}

char const* kind_name(TensorConstraint::Kind kind) {
  switch (kind) {
    case TensorConstraint::Kind::zener:
      return "zener";
    case TensorConstraint::Kind::bulk_at_least:
      return "bulk_at_least";
    case TensorConstraint::Kind::shear_at_least:
      return "shear_at_least";
    default:
      return "expression_at_most";
  }
}

void check_constraints(HomogenizeProblem const& p, std::vector<std::string>& warnings) {
  if (p.constraints.empty()) return;
  BRICKWORK_REQUIRE(p.update == DesignUpdateMethod::moving_asymptotes,
                    "constraint: design.update = \"oc\" knows the volume constraint only; take update = \"mma\"");
  std::size_t const most = 3;  // MovingAsymptotes: 4 with the volume
  BRICKWORK_REQUIRE(p.constraints.size() <= most, "constraint: ", p.constraints.size(), " are stated, ", most,
                    " are possible beside the volume");
  double const v = p.volume_fraction, bulk = hashin_shtrikman_bulk(p.young, p.cell.poisson, v),
               shear = hashin_shtrikman_shear(p.young, p.cell.poisson, v),
               most_shear = v * p.young / (2 * (1 + p.cell.poisson));
  std::set<TensorConstraint::Kind> kinds;
  for (std::size_t i = 0; i < p.constraints.size(); ++i) {
    TensorConstraint const& c = p.constraints[i];
    std::string const subject = concatenate("constraint ", i + 1);
    BRICKWORK_REQUIRE(std::isfinite(c.bound), subject, ": bound ", c.bound, " must be finite");
    bool const is_expression = c.kind == TensorConstraint::Kind::expression_at_most;
    BRICKWORK_REQUIRE(is_expression || kinds.insert(c.kind).second, subject, ": kind ", kind_name(c.kind),
                      " is constrained already; state it once");
    BRICKWORK_REQUIRE(is_expression || c.expression.empty(), subject, ": an expression belongs to kind ",
                      kind_name(TensorConstraint::Kind::expression_at_most), ", not to ", kind_name(c.kind));
    switch (c.kind) {
      case TensorConstraint::Kind::zener:
        BRICKWORK_REQUIRE(c.bound > 0, subject, ": bound ", c.bound,
                          " of |Zener ratio - 1| must be above 0 (0.05, say), since no cell meets it exactly");
        break;
      case TensorConstraint::Kind::bulk_at_least:
        BRICKWORK_REQUIRE(c.bound > 0 && c.bound < bulk, subject, ": bulk modulus >= ", c.bound,
                          " must be above 0 and below ", bulk,
                          ", the Hashin-Shtrikman bound at design.volume_fraction = ", v);
        break;
      case TensorConstraint::Kind::shear_at_least:
        BRICKWORK_REQUIRE(c.bound > 0 && c.bound < most_shear, subject, ": shear modulus >= ", c.bound,
                          " must be above 0 and below ", most_shear,
                          ", what a laminate of design.volume_fraction = ", v, " has at most");
        if (c.bound > shear) {
          warnings.push_back(concatenate(subject, ": shear modulus >= ", c.bound,
                                         " is above the Hashin-Shtrikman bound ", shear,
                                         " of isotropic cells; only an anisotropic cell can have it"));
        }
        break;
      default:
        BRICKWORK_REQUIRE(!c.expression.empty(), subject, ": the expression is missing");
        try {
          parse_tensor_objective(c.expression);
        } catch (InputError const& error) {
          throw InputError(subject + ": " + error.what());
        }
    }
  }
  for (TensorConstraint const& c : p.constraints) {
    BRICKWORK_REQUIRE(c.kind != TensorConstraint::Kind::shear_at_least || c.bound <= shear ||
                          kinds.count(TensorConstraint::Kind::zener) == 0,
                      "constraint: a shear modulus >= ", c.bound, " is above ", shear,
                      ", the Hashin-Shtrikman bound of isotropic cells, and contradicts the bound on the Zener ratio");
  }
}

void check_symmetry(HomogenizeProblem const& p) {
  BRICKWORK_REQUIRE(contains(cell_symmetry_names(), p.symmetry), "design.symmetry = \"", p.symmetry,
                    "\": unknown; known: ", join(cell_symmetry_names()));
  if (!is_cubic(cell_symmetry_from_string(p.symmetry))) return;
  Index3 const& n = p.cell.cells;
  Vec3 const& l = p.cell.lengths;
  BRICKWORK_REQUIRE(n[0] == n[1] && n[1] == n[2], "design.symmetry = \"", p.symmetry,
                    "\": turns axes into each other and needs as many cells along each, not cell.cells = ", triple(n),
                    "; take \"reflect3\" or \"none\"");
  double const rounding = 1e-12;
  BRICKWORK_REQUIRE(std::abs(l[0] - l[1]) <= rounding * l[0] && std::abs(l[0] - l[2]) <= rounding * l[0],
                    "design.symmetry = \"", p.symmetry,
                    "\": turns axes into each other and needs equal cell.lengths, not ", triple(l),
                    "; take \"reflect3\" or \"none\"");
}

void check_start(HomogenizeProblem const& p, std::vector<std::string>& warnings) {
  BRICKWORK_REQUIRE(contains(start_names(), p.start), "start.density = \"", p.start,
                    "\": unknown; known: ", join(start_names()));
  BRICKWORK_REQUIRE(p.start != "file" || !p.start_file.empty(), "start.file: is missing, but start.density = \"file\"");
  BRICKWORK_REQUIRE(p.start == "file" || p.start_file.empty(), "start.file: stands beside density = \"", p.start,
                    "\"; set start.density = \"file\", or leave it out");
  BRICKWORK_REQUIRE(p.start_waves >= 1 && p.start_waves <= 8, "start.waves = ", p.start_waves, ": must lie in [1, 8]");
  index_t const fewest = *std::min_element(p.cell.cells.begin(), p.cell.cells.end());
  BRICKWORK_REQUIRE(p.start_periods >= 1 && p.start_periods <= fewest / 2, "start.periods = ", p.start_periods,
                    ": must lie in [1, ", fewest / 2, "], two cells of each axis at least");
  BRICKWORK_REQUIRE((p.start != "gyroid" && p.start != "diamond") || p.symmetry == "none", "start.density = \"",
                    p.start, "\": has no mirror planes or axes through the cell's centre, so design.symmetry = \"",
                    p.symmetry,
                    "\" would leave a uniform density of it; take symmetry \"none\", or start from \"schwarz_p\" or "
                    "\"iwp\"");
  if (p.start == "uniform") {
    warnings.push_back(
        "start.density = \"uniform\": every cell of a uniform density has the same sensitivity, so a design cannot "
        "leave it");
  }
}

void check_stop(StoppingRule const& stop) {
  BRICKWORK_REQUIRE(std::isfinite(stop.relative_change) && stop.relative_change >= 0,
                    "stop.relative_change = ", stop.relative_change, ": must be at least 0 (0 never stops) and finite");
  BRICKWORK_REQUIRE(stop.times >= 1, "stop.times = ", stop.times, ": must be at least 1");
  BRICKWORK_REQUIRE(stop.first_step >= 1, "stop.first_step = ", stop.first_step, ": must be at least 1");
  BRICKWORK_REQUIRE(stop.most_steps >= 1, "schedule.steps = ", stop.most_steps, ": must be at least 1");
}

void check_filter(HomogenizeProblem const& p, std::vector<std::string>& warnings) {
  std::vector<std::string> radii;
  detail::check_stages(p.schedule, 1, radii);
  index_t const fewest = *std::min_element(p.cell.cells.begin(), p.cell.cells.end());
  for (std::size_t i = 0; p.filter != DesignFilter::none && i < p.schedule.stages.size(); ++i) {
    double const radius = p.schedule.stages[i].radius;
    BRICKWORK_REQUIRE(radius > 0 && radius <= static_cast<double>(fewest), "schedule.stage ", i + 1, ": radius ",
                      radius, " must be above 0 and at most ", fewest,
                      ", the fewest cells along an axis (filter = \"none\" goes without)");
  }
  if (p.filter != DesignFilter::none) warnings.insert(warnings.end(), radii.begin(), radii.end());
  bool sharper = false;
  for (ScheduleStage const& stage : p.schedule.stages) sharper = sharper || stage.beta > 1;
  if (p.projection && p.filter != DesignFilter::density) {
    warnings.push_back("design.projection: without filter = \"density\" nothing sets a least size of features");
  }
  if (!p.projection && sharper) {
    warnings.push_back("schedule: beta has no effect without design.projection = true");
  }
}

// Where a cell is, for messages.
std::string cell_name(Index3 const& cells, std::size_t cell) {
  auto const e = static_cast<index_t>(cell);
  return concatenate("cell (", e % cells[0], ", ", e / cells[0] % cells[1], ", ", e / cells[0] / cells[1], ")");
}

}  // namespace

std::vector<std::string> validate(HomogenizeProblem const& problem) {
  std::vector<std::string> warnings;
  check_cells(problem.cell.cells);
  check_lengths(problem.cell.lengths);
  detail::check_material(problem.young, problem.young_min_ratio, problem.cell.poisson, warnings);
  check_bounds(problem);
  check_objective(problem);
  check_constraints(problem, warnings);
  check_symmetry(problem);
  check_start(problem, warnings);
  check_filter(problem, warnings);
  check_stop(problem.stop);
  check_cell_solver(problem.cell.solver);
  return warnings;
}

std::vector<std::string> validate(TensorProblem const& problem) {
  std::vector<std::string> warnings;
  if (problem.cell.cells != Index3{0, 0, 0}) check_cells(problem.cell.cells);
  if (problem.cell.lengths != Vec3{0, 0, 0}) check_lengths(problem.cell.lengths);
  detail::check_material(problem.young, problem.young_min_ratio, problem.cell.poisson, warnings);
  std::set<int> labels;
  bool any = problem.materials.empty();
  for (std::size_t i = 0; i < problem.materials.size(); ++i) {
    LabelMaterial const& material = problem.materials[i];
    std::string const subject = concatenate("material ", i + 1);
    BRICKWORK_REQUIRE(std::isfinite(material.young) && material.young >= 0, subject, ": young ", material.young,
                      " must be at least 0 (0 is void) and finite");
    double const nu = material.poisson;
    BRICKWORK_REQUIRE(std::isfinite(nu) && nu > -1 && nu < 0.5, subject, ": poisson ", nu, " must lie in (-1, 0.5)");
    if (material.young > 0 && nu >= 0.49) {
      warnings.push_back(concatenate(subject, ": poisson ", nu,
                                     ": trilinear elements lock volumetrically this near to 0.5; the cell appears too "
                                     "stiff"));
    }
    // Images hold FP32.
    BRICKWORK_REQUIRE(std::abs(material.label) <= (1 << 24), subject, ": label ", material.label,
                      " must lie in [-16777216, 16777216]");
    BRICKWORK_REQUIRE(labels.insert(material.label).second, subject, ": label ", material.label,
                      " has a material already");
    any = any || material.young > 0;
  }
  BRICKWORK_REQUIRE(any, "material 1: all materials are void; one needs young > 0");
  BRICKWORK_REQUIRE(std::isfinite(problem.penalization) && problem.penalization > 0,
                    "material.penalization = ", problem.penalization, ": must be above 0 and finite");
  BRICKWORK_REQUIRE(!problem.threshold || (*problem.threshold > 0 && *problem.threshold <= 1),
                    "material.threshold = ", *problem.threshold, ": must lie in (0, 1]");
  check_cell_solver(problem.cell.solver);
  return warnings;
}

double modulus_unit(TensorProblem const& problem) {
  if (problem.materials.empty()) return problem.young;
  double unit = 0;
  for (LabelMaterial const& material : problem.materials) unit = std::max(unit, material.young);
  return unit;
}

double reference_poisson(TensorProblem const& problem) {
  double poisson = problem.cell.poisson, largest = 0;
  for (LabelMaterial const& material : problem.materials) {
    if (material.young > largest) largest = material.young, poisson = material.poisson;
  }
  return poisson;
}

bool has_several_ratios(TensorProblem const& problem) {
  double const reference = reference_poisson(problem);
  return std::any_of(problem.materials.begin(), problem.materials.end(),
                     [&](LabelMaterial const& m) { return m.young > 0 && m.poisson != reference; });
}

ImageContent image_moduli(TensorProblem const& problem, Index3 const& cells, std::vector<float>& values) {
  check_cells(cells);
  BRICKWORK_REQUIRE(static_cast<index_t>(values.size()) == cells[0] * cells[1] * cells[2], "image: ", values.size(),
                    " values for ", triple(cells), " cells");
  double const floor = problem.young_min_ratio;
  double sum = 0, largest = 0;
  if (problem.materials.empty()) {
    for (std::size_t e = 0; e < values.size(); ++e) {
      double density = values[e];
      BRICKWORK_REQUIRE(
          density >= 0 && density <= 1, "image: ", cell_name(cells, e), " has the value ", density,
          "; a density must lie in [0, 1], or be a byte of a field 'density' (labels need [[material]] entries)");
      if (problem.threshold) density = density >= *problem.threshold ? 1 : 0;
      sum += density;
      largest = std::max(largest, density);
      double const power = density == 0 || density == 1 ? density : std::pow(density, problem.penalization);
      values[e] = static_cast<float>(floor + (1 - floor) * power);
    }
    BRICKWORK_REQUIRE(largest > 0, "image: the cell is empty",
                      problem.threshold ? concatenate(": no density reaches material.threshold = ", *problem.threshold)
                                        : std::string(": every density is 0"));
    return {sum / static_cast<double>(values.size()), {}, {}};
  }
  double const unit = modulus_unit(problem);
  IsotropicSplit const split{reference_poisson(problem)};
  bool const several = has_several_ratios(problem);
  struct Moduli {
    std::size_t material;
    float first, second;
  };
  std::map<float, Moduli> moduli;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < problem.materials.size(); ++i) {
    LabelMaterial const& m = problem.materials[i];
    bool const is_void = m.young / unit <= floor;
    IsotropicMaterial const material{m.young / unit, m.poisson};
    double const first = is_void ? floor : (several ? split.first(material) : material.young);
    double const second = is_void || !several ? 0.0 : split.second(material);
    moduli[static_cast<float>(m.label)] = {i, static_cast<float>(first), static_cast<float>(second)};
    known.push_back(std::to_string(m.label));
  }
  ImageContent content;
  if (several) content.second_moduli.reserve(values.size());
  std::vector<index_t> counts(problem.materials.size(), 0);
  auto found = moduli.end();
  for (std::size_t e = 0; e < values.size(); ++e) {
    // Neighbours mostly have the same label.
    if (found == moduli.end() || found->first != values[e]) {
      found = std::isfinite(values[e]) ? moduli.find(values[e]) : moduli.end();
    }
    BRICKWORK_REQUIRE(found != moduli.end(), "image: ", cell_name(cells, e), " has the label ", values[e],
                      ", which has no material; [[material]] knows ", join(known));
    Moduli const& of_cell = found->second;
    values[e] = of_cell.first;
    if (several) content.second_moduli.push_back(of_cell.second);
    ++counts[of_cell.material];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    content.shares.push_back(static_cast<double>(counts[i]) / static_cast<double>(values.size()));
    if (problem.materials[i].young / unit > floor) sum += static_cast<double>(counts[i]);
  }
  BRICKWORK_REQUIRE(sum > 0, "image: the cell is empty: all of its labels are void");
  content.volume = sum / static_cast<double>(values.size());
  return content;
}

Vec3 cubic_lengths(Index3 const& cells) {
  double const longest = static_cast<double>(*std::max_element(cells.begin(), cells.end()));
  Vec3 lengths{};
  for (std::size_t axis = 0; axis < 3; ++axis) lengths[axis] = static_cast<double>(cells[axis]) / longest;
  return lengths;
}

}  // namespace brickwork
