// SPDX-License-Identifier: BSD-3-Clause
// What validate() of homogenization problems rejects, moduli from images, and what is written of a tensor.
#include "brickwork/design/homogenize_problem.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "brickwork/core/check.hpp"
#include "brickwork/fem/material.hpp"
#include "brickwork/io/homogenize_results.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;

namespace {

HomogenizeProblem problem() {
  HomogenizeProblem p;
  p.cell.cells = {8, 8, 8};
  p.schedule = constant_schedule(300, 3, 1, 0.05, 2);
  return p;
}

std::string error_of(std::function<void(HomogenizeProblem&)> const& change) {
  HomogenizeProblem p = problem();
  change(p);
  return message_of<InputError>([&] { validate(p); });
}

std::vector<std::string> warnings_of(std::function<void(HomogenizeProblem&)> const& change) {
  HomogenizeProblem p = problem();
  change(p);
  return validate(p);
}

void with_constraint(HomogenizeProblem& p, TensorConstraint::Kind kind, double bound) {
  p.update = DesignUpdateMethod::moving_asymptotes;
  p.constraints.push_back({kind, bound, ""});
}

TensorProblem labels() {
  TensorProblem p;
  p.materials = {{0, 0}, {1, 5}, {7, 10}};
  return p;
}

// The first digits, as they stand in a file.
std::string shown(double value) {
  std::ostringstream text;
  text.precision(10);
  text << value;
  return text.str().substr(0, 10);
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a plain design problem is accepted without warnings") { CHECK(validate(problem()).empty()); }

TEST_CASE("sizes, ranges and names of a design problem") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(error_of([](auto& p) { p.cell.cells = {8, 1, 8}; }), "cell.cells = [8, 1, 8]"));
  CHECK(contains(error_of([&](auto& p) { p.cell.lengths = {1, nan, 1}; }), "cell.lengths"));
  CHECK(contains(error_of([](auto& p) { p.young = 0; }), "material.young = 0"));
  CHECK(contains(error_of([](auto& p) { p.cell.poisson = 0.5; }), "material.poisson"));
  for (double v : {0.0, 1.0, -0.1, nan}) {
    CHECK(contains(error_of([&](auto& p) { p.volume_fraction = v; }), "design.volume_fraction = "));
  }
  CHECK(contains(error_of([](auto& p) { p.lower = 0.3; }), "design.lower = 0.3: must be below"));
  CHECK(contains(error_of([](auto& p) { p.upper = 0.3; }), "design.upper = 0.3: must be above"));
  CHECK(contains(error_of([](auto& p) { p.upper = 1.5; }), "design.upper = 1.5"));
  CHECK(contains(error_of([](auto& p) { p.damping = 0; }), "design.damping = 0"));
  CHECK(contains(error_of([](auto& p) { p.projection_eta = 1; }), "design.eta = 1"));
  CHECK(contains(error_of([](auto& p) { p.objective = "bulkk"; }), "objective.name = \"bulkk\": unknown"));
  CHECK(contains(error_of([](auto& p) { p.start = "chaos"; }), "start.density = \"chaos\": unknown"));
  CHECK(contains(error_of([](auto& p) { p.symmetry = "reflect4"; }), "design.symmetry = \"reflect4\": unknown"));
  CHECK(contains(error_of([](auto& p) { p.start = "file"; }), "start.file: is missing"));
  CHECK(contains(error_of([](auto& p) { p.start_file = "x.npy"; }), "start.file: stands beside"));
  CHECK(contains(error_of([](auto& p) { p.start_waves = 9; }), "start.waves = 9"));
  CHECK(contains(error_of([](auto& p) { p.start_periods = 0; }), "start.periods = 0"));
  CHECK(contains(error_of([](auto& p) { p.start_periods = 5; }), "start.periods = 5: must lie in [1, 4]"));
  CHECK(contains(error_of([&](auto& p) { p.stop.relative_change = nan; }), "stop.relative_change"));
  CHECK(contains(error_of([](auto& p) { p.stop.times = 0; }), "stop.times = 0"));
  CHECK(contains(error_of([](auto& p) { p.schedule.stages[0].move = 0; }), "schedule.stage 1: move 0"));
  CHECK(contains(error_of([](auto& p) { p.cell.solver.tolerance = 0; }), "solver.tolerance = 0"));
}

TEST_CASE("symmetries that turn axes need a cube of cells") {
  for (char const* symmetry : {"rotate3", "reflect6"}) {
    CHECK(contains(error_of([&](auto& p) { p.symmetry = symmetry, p.cell.cells = {8, 8, 9}; }), "cell.cells"));
    CHECK(contains(error_of([&](auto& p) { p.symmetry = symmetry, p.cell.lengths = {1, 1, 2}; }), "cell.lengths"));
  }
  for (char const* symmetry : {"none", "reflect3"}) {
    CHECK(warnings_of([&](auto& p) { p.symmetry = symmetry, p.cell.cells = {8, 5, 9}; }).empty());
  }
}

TEST_CASE("starts that the symmetry would wipe out are refused") {
  for (char const* start : {"gyroid", "diamond"}) {
    for (char const* symmetry : {"reflect3", "reflect6", "rotate3"}) {
      CHECK(contains(error_of([&](auto& p) { p.start = start, p.symmetry = symmetry; }), "no mirror planes or axes"));
    }
    CHECK(warnings_of([&](auto& p) { p.start = start, p.symmetry = "none"; }).empty());
  }
  for (char const* start : {"randc", "schwarz_p", "iwp"}) {
    CHECK(warnings_of([&](auto& p) { p.start = start, p.symmetry = "reflect6"; }).empty());
  }
}

TEST_CASE("constraints that contradict each other or what is possible") {
  using Kind = TensorConstraint::Kind;
  CHECK(contains(error_of([](auto& p) {
                   with_constraint(p, Kind::zener, 0.1);
                   p.update = DesignUpdateMethod::optimality_criteria;
                 }),
                 "take update = \"mma\""));
  double const bulk = hashin_shtrikman_bulk(1, 0.3, 0.3), shear = hashin_shtrikman_shear(1, 0.3, 0.3);
  CHECK(contains(error_of([&](auto& p) { with_constraint(p, Kind::bulk_at_least, 1.001 * bulk); }),
                 "Hashin-Shtrikman bound at design.volume_fraction = 0.3"));
  CHECK(warnings_of([&](auto& p) { with_constraint(p, Kind::bulk_at_least, 0.999 * bulk); }).empty());
  CHECK(contains(error_of([](auto& p) { with_constraint(p, Kind::bulk_at_least, 0); }), "above 0"));
  CHECK(contains(error_of([](auto& p) { with_constraint(p, Kind::shear_at_least, 0.3 / 2.6 * 1.001); }), "laminate"));
  // Anisotropic cells may pass the isotropic bound, isotropic ones may not.
  CHECK(warnings_of([&](auto& p) { with_constraint(p, Kind::shear_at_least, 1.1 * shear); }).size() == 1);
  CHECK(contains(error_of([&](auto& p) {
                   with_constraint(p, Kind::shear_at_least, 1.1 * shear);
                   with_constraint(p, Kind::zener, 0.1);
                 }),
                 "contradicts the bound on the Zener ratio"));
  CHECK(contains(error_of([](auto& p) { with_constraint(p, Kind::zener, 0); }), "constraint 1: bound 0"));
  CHECK(contains(error_of([](auto& p) {
                   with_constraint(p, Kind::zener, 0.1);
                   with_constraint(p, Kind::zener, 0.2);
                 }),
                 "constraint 2: kind zener is constrained already"));
  CHECK(contains(error_of([](auto& p) { with_constraint(p, Kind::expression_at_most, 1); }), "is missing"));
  CHECK(contains(error_of([](auto& p) {
                   with_constraint(p, Kind::expression_at_most, 1);
                   p.constraints[0].expression = "C11 +";
                 }),
                 "constraint 1: "));
  CHECK(contains(error_of([](auto& p) {
                   for (int i = 0; i < 4; ++i) {
                     with_constraint(p, Kind::expression_at_most, 1);
                     p.constraints.back().expression = "C11";
                   }
                 }),
                 "3 are possible"));
}

TEST_CASE("expressions are checked before a run") {
  auto const expression = [](std::string const& text) {
    return error_of([&](auto& p) { p.objective = "expression", p.expression = text; });
  };
  CHECK(contains(expression("C11 + stiffness"), "objective.expression: "));
  CHECK(contains(expression("C11 + stiffness"), "stiffness"));
  CHECK(contains(expression("(C11"), "objective.expression: "));
  CHECK(contains(expression(""), "is missing or empty"));
  CHECK(warnings_of([](auto& p) { p.objective = "expression", p.expression = "-C11 / (1 + C12)"; }).empty());
}

TEST_CASE("what is odd in a design problem is warned of") {
  CHECK(warnings_of([](auto& p) { p.start = "uniform"; }).size() == 1);
  CHECK(warnings_of([](auto& p) { p.projection = true; }).size() == 1);
  CHECK(warnings_of([](auto& p) { p.projection = true, p.filter = DesignFilter::density; }).empty());
  CHECK(warnings_of([](auto& p) { p.schedule.stages[0].beta = 4; }).size() == 1);
  CHECK(warnings_of([](auto& p) { p.schedule.stages[0].radius = 1; }).size() == 1);
  CHECK(warnings_of([](auto& p) { p.schedule.stages[0].radius = 1, p.filter = DesignFilter::none; }).empty());
}

TEST_CASE("moduli from densities") {
  TensorProblem p;
  p.young = 210e9;
  p.young_min_ratio = 1e-6;
  p.penalization = 2;
  Index3 const cells{3, 2, 2};
  std::vector<float> values{0, 1, 0.5f, 0.25f, 0, 0, 1, 1, 0.75f, 0, 0, 0};
  std::vector<float> moduli = values;
  ImageContent const content = image_moduli(p, cells, moduli);
  double sum = 0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    sum += values[e];
    CHECK(moduli[e] == Approx(1e-6 + (1 - 1e-6) * values[e] * values[e]).epsilon(1e-6));
  }
  CHECK(content.volume == Approx(sum / 12).epsilon(1e-12));
  CHECK(content.shares.empty());
  CHECK(content.second_moduli.empty());
  CHECK(modulus_unit(p) == 210e9);

  p.threshold = 0.5;
  moduli = values;
  CHECK(image_moduli(p, cells, moduli).volume == Approx(5.0 / 12).epsilon(1e-12));
  CHECK(moduli[2] == 1);
  CHECK(moduli[3] == Approx(1e-6));
}

TEST_CASE("moduli from labels") {
  TensorProblem const p = labels();
  std::vector<float> values{0, 1, 7, 7, 1, 0, 0, 0};
  CHECK(validate(p).empty());
  CHECK(modulus_unit(p) == 10);
  ImageContent const content = image_moduli(p, {2, 2, 2}, values);
  CHECK(content.volume == 0.5);
  CHECK(content.shares == std::vector<double>{0.5, 0.25, 0.25});
  CHECK(content.second_moduli.empty());
  std::vector<float> const expected{1e-9f, 0.5f, 1, 1, 0.5f, 1e-9f, 1e-9f, 1e-9f};
  CHECK(values == expected);
}

TEST_CASE("moduli from labels of materials of different Poisson's ratios") {
  TensorProblem p;
  p.materials = {{0, 0, 0.1}, {1, 5, 0.4}, {7, 10, 0.2}};
  CHECK(validate(p).empty());
  CHECK(has_several_ratios(p));
  CHECK(reference_poisson(p) == 0.2);  // the stiffest
  std::vector<float> values{0, 1, 7, 7, 1, 0, 0, 0};
  ImageContent const content = image_moduli(p, {2, 2, 2}, values);
  CHECK(content.volume == 0.5);
  IsotropicSplit const split{0.2};
  auto const first = static_cast<float>(split.first({0.5, 0.4})), second = static_cast<float>(split.second({0.5, 0.4}));
  CHECK(values == std::vector<float>{1e-9f, first, 1, 1, first, 1e-9f, 1e-9f, 1e-9f});
  CHECK(content.second_moduli == std::vector<float>{0, second, 0, 0, second, 0, 0, 0});
  // A void's ratio makes no difference, nor does the cell's own.
  p.materials = {{0, 0, 0.1}, {1, 5, 0.2}, {7, 10, 0.2}};
  p.cell.poisson = 0.45;
  CHECK(!has_several_ratios(p));
  CHECK(reference_poisson(p) == 0.2);
  p.materials.clear();
  CHECK(reference_poisson(p) == 0.45);
}

TEST_CASE("Poisson's ratios of labels are checked") {
  for (double poisson : {0.5, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    TensorProblem p = labels();
    p.materials[1].poisson = poisson;
    CHECK(contains(message_of<InputError>([&] { validate(p); }), "material 2: poisson "));
    CHECK(contains(message_of<InputError>([&] { validate(p); }), "must lie in (-1, 0.5)"));
  }
  TensorProblem p = labels();
  p.materials[2].poisson = 0.495;
  REQUIRE(validate(p).size() == 1);
  CHECK(contains(validate(p)[0], "material 3: poisson 0.495: trilinear elements lock"));
  p.materials[2].young = 0;
  CHECK(validate(p).empty());
}

TEST_CASE("images that cannot be meant are refused, with the first cell that is wrong") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  auto const error = [](TensorProblem const& p, std::vector<float> values) {
    return message_of<InputError>([&] { image_moduli(p, {2, 3, 2}, values); });
  };
  std::vector<float> values(12, 0.5f);
  CHECK(contains(error({}, std::vector<float>(11, 0.5f)), "11 values for [2, 3, 2] cells"));
  values[9] = 1.5f;
  CHECK(contains(error({}, values), "cell (1, 1, 1) has the value 1.5; a density must lie in [0, 1]"));
  values[9] = -0.1f;
  CHECK(contains(error({}, values), "cell (1, 1, 1)"));
  values[4] = nan;
  CHECK(contains(error({}, values), "cell (0, 2, 0) has the value nan"));
  CHECK(contains(error({}, std::vector<float>(12, 0)), "the cell is empty"));
  TensorProblem sharp;
  sharp.threshold = 0.6;
  CHECK(contains(error(sharp, std::vector<float>(12, 0.5f)), "no density reaches material.threshold = 0.6"));
  std::vector<float> image(12, 7);
  image[5] = 2;
  CHECK(contains(error(labels(), image), "cell (1, 2, 0) has the label 2, which has no material"));
  image[5] = nan;
  CHECK(contains(error(labels(), image), "cell (1, 2, 0)"));
  CHECK(contains(error(labels(), std::vector<float>(12, 0)), "the cell is empty"));
}

TEST_CASE("C.csv states the tensor in two orders") {
  Tensor6 c{};
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) c[i][j] = static_cast<double>(10 * (std::min(i, j) + 1) + std::max(i, j) + 1);
  }
  std::vector<std::string> const lines = lines_of(tensor_csv(c));
  REQUIRE(lines.size() == 16);
  CHECK(contains(lines[0], "# order xx,yy,zz,yz,xz,xy"));
  CHECK(lines[1] == "stress,xx,yy,zz,yz,xz,xy");
  CHECK(lines[2] == "xx,11,12,13,14,15,16");
  CHECK(lines[5] == "yz,14,24,34,44,45,46");
  CHECK(contains(lines[8], "# order xx,yy,zz,xy,yz,xz"));
  CHECK(lines[9] == "stress,xx,yy,zz,xy,yz,xz");
  CHECK(lines[10] == "xx,11,12,13,16,14,15");
  CHECK(lines[13] == "xy,16,26,36,66,46,56");
  CHECK(lines[15] == "xz,15,25,35,56,45,55");
}

TEST_CASE("history rows have as many fields as their header, and nan for what was not solved for") {
  CellHistoryRow row;
  row.step = 3;
  row.objective = -0.5;
  row.tensor[0][0] = 2;
  row.tensor[0][1] = 1;
  row.known[0][0] = true;
  std::string const header = cell_history_header(), line = to_csv(row);
  CHECK(std::count(header.begin(), header.end(), ',') == std::count(line.begin(), line.end(), ','));
  CHECK(header.rfind("step,objective,volume,grayness,change,constraint,bulk,C11,C12,", 0) == 0);
  CHECK(line.rfind("3,-0.5,0,0,0,0,0,2,nan,", 0) == 0);
  CHECK(line.back() == '\n');
}

TEST_CASE("a summary shows the constants of a solid cell, and null where there are none") {
  CellSummary summary;
  summary.young = 10;
  summary.poisson = 0.3;
  summary.volume = 1;
  summary.tensor = elasticity_matrix(IsotropicMaterial{10, 0.3});
  std::string const json = to_json(summary);
  CHECK(contains(json, "\"tensor_order\": \"xx,yy,zz,yz,xz,xy\""));
  CHECK(contains(json, "\"bulk_voigt\": 8.33333333333333"));
  CHECK(contains(json, "\"hashin_shtrikman_bulk\": 8.33333333333333"));
  CHECK(!contains(json, "null"));
  CHECK(!contains(json, "objective"));
  CHECK(contains(describe(summary), "100.0% of the Hashin-Shtrikman bound"));
  summary.tensor = {};
  summary.objective_name = "bulk";
  std::string const empty = to_json(summary);
  CHECK(contains(empty, "\"zener\": null"));
  CHECK(contains(empty, "\"objective\": \"bulk\""));
  CHECK(!contains(empty, "nan"));
  CHECK(contains(describe(summary), "no compliance"));
}

TEST_CASE("a summary of several materials has both Hashin-Shtrikman bounds and the shares") {
  CellSummary summary;
  summary.tensor = elasticity_matrix(IsotropicMaterial{5, 0.3});
  summary.phases = {{10, 0.2, 0.25}, {1, 0.4, 0.75}};
  IsotropicBounds const bounds = hashin_shtrikman_bounds(summary.phases);
  std::string const json = to_json(summary);
  CHECK(contains(json, "\"hashin_shtrikman_bulk\": " + shown(bounds.bulk_upper)));
  CHECK(contains(json, "\"hashin_shtrikman_shear\": " + shown(bounds.shear_upper)));
  CHECK(contains(json, "\"hashin_shtrikman_bulk_lower\": " + shown(bounds.bulk_lower)));
  CHECK(contains(json, "\"hashin_shtrikman_shear_lower\": " + shown(bounds.shear_lower)));
  CHECK(contains(json, "\"materials\": [{\"young\": 10, \"poisson\": 0.2, \"share\": 0.25}, {"));
  CHECK(contains(describe(summary), "Hashin-Shtrikman bounds"));
}
