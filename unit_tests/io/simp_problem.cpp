// SPDX-License-Identifier: BSD-3-Clause
// Presets, schedules and validation (design/simp_problem.hpp is host-only, so its tests stand with the
// configuration's).
#include "brickwork/design/simp_problem.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "brickwork/core/check.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;

namespace {

std::string rejected(std::function<void(SimpProblem&)> const& change) {
  SimpProblem problem = simp_preset("cantilever", {16, 8, 4});
  change(problem);
  std::string const message = message_of<InputError>([&] { validate(problem); });
  CHECK(!contains(message, "\n"));
  return message;
}

std::vector<std::string> warnings(std::function<void(SimpProblem&)> const& change) {
  SimpProblem problem = simp_preset("cantilever", {16, 8, 4});
  change(problem);
  return validate(problem);
}

double const not_a_number = std::numeric_limits<double>::quiet_NaN();
double const infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("protocols A and B are those of the specification") {
  Schedule const a = protocol_a();
  CHECK(a.steps == 120);
  CHECK(a.density_lower_bound == 1e-3);
  CHECK(a.select_best);
  REQUIRE(a.stages.size() == 6);
  CHECK(a.stages[0].penalization == 3.0);
  CHECK(a.stages[0].last_step == 1);
  CHECK(a.stages[1].penalization == 1.5);
  CHECK(a.stages[2].radius == 1.40);
  CHECK(a.stages[2].last_step == 17);
  CHECK(a.stages[3].radius == 1.35);
  CHECK(a.stages[4].beta == 16);
  CHECK(a.stages[5].first_step == 67);
  CHECK(a.stages[5].move == 0.05);
  Schedule const b = protocol_b();
  CHECK(b.steps == 76);
  CHECK(b.density_lower_bound == 0);
  CHECK(b.final_solve);
  CHECK(!b.select_best);
  REQUIRE(b.stages.size() == 4);
  CHECK(b.stages[1].first_step == 16);
  CHECK(b.stages[1].penalization == 3.5);
  CHECK(b.stages[3].radius == 1.20);
}

TEST_CASE("every preset validates without warnings on its own and on other grids") {
  for (std::string const& name : simp_preset_names()) {
    INFO(name);
    CHECK(validate(simp_preset(name)).empty());
    // torsion_b's patch and others shrink to the nearest node where no node lies within
    bool const wide = name.find("_b") != std::string::npos;
    for (index_t k : {1, 2, 3, 5, 7, 40}) {
      Index3 const cells = wide ? Index3{2 * k, k, k} : Index3{4 * k, 2 * k, k};
      CHECK_NOTHROW(validate(simp_preset(name, cells)));
    }
  }
  CHECK(contains(message_of<InputError>([] { simp_preset("brige"); }), "unknown preset 'brige'; known: cantilever"));
  CHECK(contains(message_of<InputError>([] { simp_preset("bridge", {0, 1, 1}); }), "at least 1 cell"));
}

TEST_CASE("preset values") {
  SimpProblem const cantilever = simp_preset("cantilever");
  CHECK(cantilever.cells == Index3{80, 40, 20});
  CHECK(cantilever.lengths == Vec3{2, 1, 0.5});
  CHECK(cantilever.volume_fraction == 0.3);
  CHECK(cantilever.stiffness == StiffnessScale::reference_cube);
  CHECK(cantilever.loads[0].force == Vec3{0, -1, 0});
  CHECK(std::get<PointRegion>(cantilever.loads[0].region).position == Vec3{2, 0.5, 0.25});
  CHECK(simp_preset("torsion").cells == Index3{165, 55, 55});
  CHECK(simp_preset("torsion").volume_fraction == 0.25);
  CHECK(simp_preset("mbb").volume_fraction == 0.5);
  CHECK(simp_preset("mbb").supports.size() == 2);
  CHECK(simp_preset("mbb_supported").supports.size() == 5);
  SimpProblem const bridge = simp_preset("bridge");
  REQUIRE(bridge.supports.size() == 10);
  CHECK(bridge.supports[0].fixed == std::array<bool, 3>{true, true, true});
  CHECK(bridge.supports[1].fixed == std::array<bool, 3>{false, true, true});
  double const h = 0.5 / 25;
  int const rows[] = {0, 6, 12, 19, 25};
  for (int i = 0; i < 5; ++i) {
    CHECK(std::get<PointRegion>(bridge.supports[static_cast<std::size_t>(2 * i)].region).position[2] / h ==
          Approx(rows[i]));
  }
  CHECK(bridge.loads[0].kind == Load::Kind::traction);

  // Protocol B's cantilever patch: the centre node and floor(.05 k) nodes to either side.
  for (index_t k : {10, 20, 39, 80, 81, 320}) {
    SimpProblem const b = simp_preset("cantilever_b", {2 * k, k, k});
    BoxRegion const& patch = std::get<BoxRegion>(b.loads[0].region);
    CHECK(std::round((patch.upper[1] - patch.lower[1]) * static_cast<double>(k)) == 2 * (k / 20));
    double const lower = patch.lower[1] * static_cast<double>(k);
    CHECK(lower == Approx(std::round(lower)));
    CHECK(patch.lower[0] == 2);
  }
  CHECK(simp_preset("bridge_b").volume_fraction == 0.2);
  CHECK(simp_preset("torsion_b").loads[0].force == Vec3{0, 0.5, -0.5});
}

TEST_CASE("sizes and material are checked") {
  CHECK(contains(rejected([](auto& p) { p.cells[1] = 0; }), "grid.cells"));
  CHECK(contains(rejected([](auto& p) { p.cells = {3000000, 3000000, 3000000}; }), "2^62"));
  CHECK(contains(rejected([](auto& p) { p.lengths[2] = 0; }), "grid.lengths"));
  CHECK(contains(rejected([](auto& p) { p.lengths[2] = not_a_number; }), "grid.lengths"));
  CHECK(
      contains(rejected([](auto& p) { p.poisson = 0.5; }), "incompressible material is not supported, must be < 0.5"));
  CHECK(contains(rejected([](auto& p) { p.poisson = -1; }), "material.poisson"));
  CHECK(contains(rejected([](auto& p) { p.young = 0; }), "material.young"));
  CHECK(contains(rejected([](auto& p) { p.young_min_ratio = 0; }), "material.young_min_ratio"));
  for (double nu : {0.0, 0.3, 0.45, -0.5}) CHECK(warnings([&](auto& p) { p.poisson = nu; }).empty());
  REQUIRE(warnings([](auto& p) { p.poisson = 0.499; }).size() == 1);
  CHECK(contains(warnings([](auto& p) { p.poisson = 0.499; })[0], "lock"));
  CHECK(contains(warnings([](auto& p) { p.cells[0] = 32; })[0], "reference_cube"));
}

TEST_CASE("volume is checked against its range and the passive regions") {
  for (double v : {0.0, -0.1, 1.2, not_a_number}) {
    CHECK(contains(rejected([&](auto& p) { p.volume_fraction = v; }), "must lie in (0, 1]"));
  }
  CHECK(contains(warnings([](auto& p) { p.volume_fraction = 1; })[0], "solid"));
  CHECK(!warnings([](auto& p) { p.volume_fraction = 1e-4; }).empty());
  auto const box = [](double x0, double x1, bool solid) {
    return PassiveRegion{"b", BoxRegion{{x0, 0, 0}, {x1, 1, 0.5}}, solid};
  };
  CHECK(contains(rejected([&](auto& p) { p.passive = {box(0, 1, true)}; }), "leave [0.5, 1]"));
  CHECK(contains(rejected([&](auto& p) { p.passive = {box(0, 1.5, false)}; }), "leave [0, 0.25]"));
  CHECK(warnings([&](auto& p) { p.passive = {box(0, 0.5, true)}; }).empty());
  // The one listed last wins: a void half takes back the solid that it covers.
  CHECK(warnings([&](auto& p) { p.passive = {box(0, 1, true), box(0.25, 1.25, false)}; }).empty());
  CHECK(contains(rejected([&](auto& p) {
                   p.passive = {box(0.25, 1.25, false), box(0, 1, true)};
                 }),
                 "leave [0.5, 0.875]"));
  CHECK(contains(rejected([&](auto& p) { p.passive = {box(0, 2, true)}; }), "nothing is left"));
  CHECK(contains(rejected([&](auto& p) { p.passive = {box(5, 6, true)}; }), "selects nothing"));
  CHECK(contains(rejected([&](auto& p) { p.passive = {{"s", SphereRegion{{0, 0, 9}, 1}, true}}; }), "selects nothing"));
  CHECK(contains(rejected([&](auto& p) { p.passive = {{"p", PlaneRegion{0, 0}, true}}; }), "holds no cells"));
  // A row count of a cylinder and a sphere against plain loops.
  for (bool sphere : {false, true}) {
    SimpProblem p = simp_preset("cantilever", {20, 10, 5});
    if (sphere) {
      p.passive = {{"", SphereRegion{{1, 0.5, 0.25}, 0.31}, true}};
    } else {
      p.passive = {{"", CylinderRegion{{1, 0.5, 0.25}, 0.31, 1, 0.1, 0.9}, true}};
    }
    int inside = 0;
    for (int k = 0; k < 5; ++k) {
      for (int j = 0; j < 10; ++j) {
        for (int i = 0; i < 20; ++i) {
          double const x = (i + 0.5) * 0.1 - 1, y = (j + 0.5) * 0.1 - 0.5, z = (k + 0.5) * 0.1 - 0.25;
          double const squared = x * x + z * z + (sphere ? y * y : 0);
          inside += squared <= 0.31 * 0.31 && (sphere || std::abs(y) <= 0.4) ? 1 : 0;
        }
      }
    }
    p.volume_fraction = inside / 1000.0;
    CHECK_NOTHROW(validate(p));
    p.volume_fraction = (inside - 1) / 1000.0;
    CHECK_THROWS_AS(validate(p), InputError);
  }
}

TEST_CASE("loads and supports are checked and named") {
  CHECK(contains(rejected([](auto& p) { p.supports.clear(); }), "no support"));
  CHECK(contains(rejected([](auto& p) { p.supports[0].fixed = {false, false, false}; }), "support 'wall'"));
  CHECK(contains(rejected([](auto& p) {
                   p.supports[0].region = PlaneRegion{0, -3};
                 }),
                 "support 'wall': the plane x = -3"));
  CHECK(contains(rejected([](auto& p) { p.loads.clear(); }), "no load"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].force = {0, 0, 0}; }), "load 'tip': force is zero"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].force = {0, not_a_number, 0}; }), "load 'tip': force"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].force = {0, infinity, 0}; }), "must be finite"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].region = PointRegion{{2, 5, 0}}; }), "selects no node"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].region = PointRegion{{not_a_number, 5, 0}}; }), "must be finite"));
  CHECK(contains(rejected([](auto& p) {
                   p.loads[0].region = SphereRegion{{2.06, 0.56, 0.3}, 0.01};
                 }),
                 "selects no node"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].region = SphereRegion{{2, 0.5, 0.25}, 0}; }), "radius 0"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].region = BoxRegion{{1, 0, 0}, {0, 1, 1}}; }), "above upper"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].load_case = 1; }), "without gaps"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].load_case = -1; }), "at least 0"));
  CHECK(contains(rejected([](auto& p) { p.loads[0].kind = Load::Kind::traction; }), "needs an area"));
  CHECK(contains(rejected([](auto& p) {
                   p.loads[0].kind = Load::Kind::traction;
                   p.loads[0].region = BoxRegion{{2, 0, 0}, {2, 0, 0.5}};
                 }),
                 "needs an area"));
  CHECK(warnings([](auto& p) {
          p.loads[0].kind = Load::Kind::traction;
          p.loads[0].region = BoxRegion{{2, 0, 0}, {2, 1, 0.5}};
        }).empty());
  CHECK(contains(rejected([](auto& p) { p.load_case_weights = {1, 2}; }), "load_case_weights"));
  CHECK(contains(rejected([](auto& p) { p.load_case_weights = {0}; }), "all weights are zero"));
  CHECK(contains(rejected([](auto& p) { p.load_case_weights = {-1}; }), "load_case_weights"));
}

TEST_CASE("schedule and solver settings are checked") {
  auto const stage = [](auto change) { return rejected([&](SimpProblem& p) { change(p.schedule.stages[1]); }); };
  CHECK(contains(stage([](auto& s) { s.penalization = 0.9; }), "schedule.stage 2: penalization"));
  CHECK(contains(stage([](auto& s) { s.beta = 0; }), "beta"));
  CHECK(contains(stage([](auto& s) { s.move = 0; }), "move"));
  CHECK(contains(stage([](auto& s) { s.move = 1.1; }), "move"));
  CHECK(contains(stage([](auto& s) { s.move = not_a_number; }), "move"));
  CHECK(contains(stage([](auto& s) { s.radius = -1; }), "radius"));
  CHECK(contains(stage([](auto& s) { s.first_step = 3; }), "must begin at step 2"));
  CHECK(contains(rejected([](auto& p) { p.schedule.steps = 130; }), "cover steps 1 to 120"));
  CHECK(contains(rejected([](auto& p) { p.schedule.stages.clear(); }), "no stages"));
  for (double radius : {0.0, 0.5, 1.0}) {
    auto const remarks = warnings([&](auto& p) { p.schedule.stages[5].radius = radius; });
    REQUIRE(remarks.size() == 1);
    CHECK(contains(remarks[0], "filter inactive"));
  }
  CHECK(warnings([](auto& p) { p.schedule.stages[5].radius = 1000; }).empty());
  CHECK(warnings([](auto& p) {
          p.radius_in_lengths = true;
          for (auto& s : p.schedule.stages) s.radius = 0.13;  // cells measure 0.125
        }).empty());
  for (double tolerance : {0.0, 1.0, not_a_number}) {
    CHECK(contains(rejected([&](auto& p) { p.solver.tolerance = tolerance; }), "solver.tolerance"));
  }
  CHECK(contains(rejected([](auto& p) { p.solver.max_iterations = 0; }), "solver.max_iterations"));
  CHECK(contains(rejected([](auto& p) { p.solver.kernel = "fast"; }), "solver.kernel"));
  CHECK_THROWS_AS(constant_schedule(0, 3, 1, 0.2, 1.5), InputError);
}
