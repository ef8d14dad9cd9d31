// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_config.hpp"

#include <vector>

#include "brickwork/core/check.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::TemporaryDirectory;

namespace {

std::string const full_problem = R"(
name = "full \"quoted\""
[grid]
cells = [12, 7, 5]
lengths = [0.24, 0.14, 0.1]
[material]
young = 210e9
young_min_ratio = 1e-6
poisson = 0.25
stiffness = "physical"
[design]
volume_fraction = 0.4
eta = 0.45
load_case_weights = [1, 0.1]
[[support]]
name = "wall"
plane = {axis = "x", at = 0}
fix = "xz"
[[support]]
sphere = {center = [0.24, 0, 0], radius = 0.03}
[[load]]
name = "tip"
point = [0.24, 0.07, 0.05]
force = [1, -2, 3]
[[load]]
name = "deck"
box = {lower = [0, 0.14, 0], upper = [0.24, 0.14, 0.1]}
traction = [0, -5, 0]
case = 1
[[passive]]
name = "bore"
cylinder = {center = [0.12, 0.07, 0.05], radius = 0.03, axis = "z"}
state = "void"
[[passive]]
box = {lower = [0.2, 0, 0], upper = [0.24, 0.14, 0.1]}
state = "solid"
[schedule]
radius_unit = "length"
restart_ratio = 0
[[schedule.stage]]
last_step = 3
penalization = 1.5
beta = 1
move = 0.2
radius = 0.05
[[schedule.stage]]
last_step = 9
penalization = 3
beta = 8
move = 0.1
radius = 0.04
[solver]
precision = "fp64"
kernel = "node_gather"
tolerance = 1e-8
max_iterations = 500
warm_start = false
free_modes = "project"
smoother = "gauss_seidel"
[output]
directory = "some/where"
every = 0
vti = false
vtkhdf = false
deflate = 2
float_type = "uint8"
[run]
threads = 3
device = 1
quiet = true
)";

SimpConfig parse(std::string const& text, SimpOverrides const& overrides = {}) {
  return parse_simp_config(text, "file.toml", overrides);
}

std::string error_of(std::string const& text, SimpOverrides const& overrides = {}) {
  std::string const message = message_of<InputError>([&] { parse(text, overrides); });
  CHECK(!contains(message, "\n"));  // one line
  return message;
}

std::string set_error(std::string const& assignment) {
  SimpOverrides overrides;
  overrides.set = {assignment};
  return error_of("preset = \"cantilever\"\n", overrides);
}

}  // namespace

TEST_CASE("a full problem is read as stated") {
  SimpConfig const config = parse(full_problem);
  SimpProblem const& p = config.problem;
  CHECK(p.name == "full \"quoted\"");
  CHECK(p.cells == Index3{12, 7, 5});
  CHECK(p.lengths == Vec3{0.24, 0.14, 0.1});
  CHECK(p.young == 210e9);
  CHECK(p.young_min_ratio == 1e-6);
  CHECK(p.poisson == 0.25);
  CHECK(p.stiffness == StiffnessScale::physical);
  CHECK(p.volume_fraction == 0.4);
  CHECK(p.projection_eta == 0.45);
  CHECK(p.load_case_weights == std::vector<double>{1, 0.1});
  REQUIRE(p.supports.size() == 2);
  CHECK(p.supports[0].name == "wall");
  CHECK(p.supports[0].fixed == std::array<bool, 3>{true, false, true});
  CHECK(std::get<PlaneRegion>(p.supports[0].region).axis == 0);
  CHECK(p.supports[1].fixed == std::array<bool, 3>{true, true, true});
  CHECK(std::get<SphereRegion>(p.supports[1].region).radius == 0.03);
  REQUIRE(p.loads.size() == 2);
  CHECK(p.loads[0].kind == Load::Kind::total);
  CHECK(p.loads[0].force == Vec3{1, -2, 3});
  CHECK(std::get<PointRegion>(p.loads[0].region).position == Vec3{0.24, 0.07, 0.05});
  CHECK(p.loads[1].kind == Load::Kind::traction);
  CHECK(p.loads[1].load_case == 1);
  CHECK(std::get<BoxRegion>(p.loads[1].region).upper == Vec3{0.24, 0.14, 0.1});
  REQUIRE(p.passive.size() == 2);
  CHECK(!p.passive[0].solid);
  CylinderRegion const& bore = std::get<CylinderRegion>(p.passive[0].region);
  CHECK(bore.axis == 2);
  CHECK(bore.lower == 0);
  CHECK(bore.upper == 0.1);
  CHECK(p.radius_in_lengths);
  REQUIRE(p.schedule.stages.size() == 2);
  CHECK(p.schedule.steps == 9);
  CHECK(p.schedule.restart_ratio == 0);
  CHECK(p.schedule.stages[1].first_step == 4);
  CHECK(p.schedule.stages[1].beta == 8);
  CHECK(p.solver.precision == Precision::fp64);
  CHECK(p.solver.kernel == "node_gather");
  CHECK(p.solver.tolerance == 1e-8);
  CHECK(p.solver.max_iterations == 500);
  CHECK(!p.solver.warm_start);
  CHECK(p.solver.smoother == Smoother::gauss_seidel);
  CHECK(p.free_modes == FreeModes::project);
  CHECK(config.output.directory == "some/where");
  CHECK(config.output.every == 0);
  CHECK(!config.output.vti);
  CHECK(!config.output.vtkhdf);
  CHECK(config.output.deflate == 2);
  CHECK(config.output.field_type == FieldType::uint8);
  CHECK(config.threads == 3);
  CHECK(config.device == 1);
  CHECK(config.quiet);
}

TEST_CASE("the resolved configuration reads back as the same run") {
  std::string const resolved = to_toml(parse(full_problem));
  CHECK(to_toml(parse(resolved)) == resolved);
  for (std::string const& preset : simp_preset_names()) {
    INFO(preset);
    SimpConfig const config = parse("preset = \"" + preset + "\"\n");
    std::string const text = to_toml(config);
    SimpConfig const again = parse(text);
    CHECK(to_toml(again) == text);
    CHECK(again.problem.name == preset);
    CHECK(again.problem.loads.size() == config.problem.loads.size());
    CHECK(again.problem.schedule.density_lower_bound == config.problem.schedule.density_lower_bound);
  }
}

TEST_CASE("numbers survive the round trip exactly") {
  for (double value : {0.1, 1.0 / 3.0, 0.30000000000000004, 1e-300, 123456789.123456789}) {
    SimpConfig config = parse("preset = \"cantilever\"\n");
    config.problem.young = value;
    CHECK(parse(to_toml(config)).problem.young == value);
  }
}

TEST_CASE("defaults and overrides") {
  SimpConfig const plain = parse("preset = \"bridge\"\n");
  CHECK(plain.output.directory == "results/file");
  CHECK(plain.problem.schedule.steps == 120);
  CHECK(plain.threads == 0);

  SimpOverrides overrides;
  overrides.set = {"solver.kernel=parity", "design.volume_fraction=0.25", "solver.warm_start=false",
                   "output.directory=my/dir", "name=a-b"};
  overrides.grid = Index3{30, 10, 5};
  overrides.steps = 20;
  overrides.threads = 2;
  overrides.quiet = true;
  SimpConfig const config = parse("preset = \"bridge\"\n[solver]\ntolerance = 1e-6\n", overrides);
  CHECK(config.problem.solver.kernel == "parity");
  CHECK(config.problem.solver.tolerance == 1e-6);
  CHECK(!config.problem.solver.warm_start);
  CHECK(config.problem.volume_fraction == 0.25);
  CHECK(config.problem.cells == Index3{30, 10, 5});
  CHECK(config.problem.name == "a-b");
  CHECK(config.output.directory == "my/dir");
  CHECK(config.threads == 2);
  CHECK(config.quiet);
  CHECK(config.problem.schedule.steps == 20);
  CHECK(config.problem.schedule.stages.back().first_step == 18);
  CHECK(config.problem.schedule.stages.back().last_step == 20);

  overrides.output = "other";
  CHECK(parse("preset = \"bridge\"\n", overrides).output.directory == "other");
}

TEST_CASE("the constant protocol") {
  Schedule const s =
      parse("preset = \"cantilever\"\n[schedule]\nprotocol = \"constant\"\nsteps = 7\npenalization = 3\nradius = 2\n")
          .problem.schedule;
  REQUIRE(s.stages.size() == 1);
  CHECK(s.steps == 7);
  CHECK(s.stages[0].radius == 2);
  CHECK(contains(error_of("preset = \"cantilever\"\n[schedule]\nradius = 2\n"),
                 "file.toml:3: 'radius' in [schedule] belongs to"));
}

TEST_CASE("unknown keys are errors with file, line and the nearest known key") {
  std::string const message = error_of("preset = \"cantilever\"\n\n[design]\nvolfrac = 0.3\n");
  CHECK(contains(message, "file.toml:4: unknown key 'volfrac' in [design]; did you mean 'volume_fraction'?"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[slover]\n"), "file.toml:2: unknown key 'slover'"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[slover]\n"), "did you mean 'solver'?"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[solver]\niterations = 3\n"), "did you mean 'max_iterations'?"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[[load]]\npoint = [2, 1, 0]\nForce = [1, 2, 3]\n"),
                 "file.toml:4: unknown key 'Force' in [[load]] 1; did you mean 'force'?"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[[support]]\nplane = {axis = \"x\", position = 0}\n"),
                 "file.toml:3: unknown key 'position' in 'plane' of [[support]] 1"));
  CHECK(contains(error_of("preset = \"cantilever\"\n[[schedule.stage]]\nlast_step = 3\npenal = 3\n"),
                 "did you mean 'penalization'?"));
  CHECK(contains(set_error("solver.kernl=parity"), "--set solver.kernl=parity: unknown key 'kernl'"));
  CHECK(contains(error_of("preset = \"cantilver\"\n"), "did you mean \"cantilever\"?"));
  CHECK(contains(set_error("solver.kernel=parityy"), "did you mean \"parity\"?"));
  CHECK(contains(set_error("solver.smoother=chebychev"), "did you mean \"chebyshev\"?"));
}

TEST_CASE("wrong types name file, line, key and the type that is wanted") {
  std::string const start = "preset = \"cantilever\"\n";
  CHECK(error_of(start + "[design]\nvolume_fraction = \"a\"\n") ==
        "file.toml:3: 'volume_fraction' in [design] must be a number, not a string");
  CHECK(error_of(start + "[solver]\nmax_iterations = 1e3\n") ==
        "file.toml:3: 'max_iterations' in [solver] must be an integer, not a real number");
  CHECK(contains(error_of(start + "[solver]\nwarm_start = 1\n"), "must be true or false, not an integer"));
  CHECK(contains(error_of(start + "[grid]\ncells = [1, 2]\n"), "list of three integers [x, y, z], not a list of 2"));
  CHECK(contains(error_of(start + "[grid]\ncells = [1.5, 2, 3]\n"), "but holds a real number"));
  CHECK(contains(error_of(start + "solver = 3\n"), "'solver' in the configuration must be a table, not an integer"));
  CHECK(contains(error_of(start + "[load]\nforce = [1, 2, 3]\n"), "write [[load]]"));
  CHECK(contains(error_of(start + "[[load]]\npoint = [2, 1, 0]\nforce = [0, nan, 0]\n"),
                 "file.toml:4: 'force' in [[load]] 1 is nan"));
  CHECK(contains(error_of(start + "[material]\nyoung = inf\n"), "must be finite"));
  CHECK(contains(error_of(start + "[solver]\nmax_iterations = 3000000000\n"), "must lie in [-2147483648, 2147483647]"));
}

TEST_CASE("files that are not whole") {
  CHECK(contains(error_of("preset = \"cantilever\"\n[design\nvolume_fraction = 1\n"), "file.toml:2:8: "));
  CHECK(contains(error_of("preset = \"canti"), "file.toml:1:"));
  CHECK(contains(error_of(""), "needs either 'preset'"));
  CHECK(contains(error_of("[grid]\ncells = [1, 1, 1]\n"), "file.toml:1: [grid] needs the key 'lengths'"));
  CHECK(contains(error_of("[grid]\ncells = [1, 1, 1]\nlengths = [1, 1, 1]\n"), "needs [design]"));
  CHECK(contains(error_of(full_problem.substr(0, full_problem.find("[[load]]"))), "no load"));
  CHECK(contains(error_of(full_problem.substr(0, full_problem.find("[[support]]"))), "no support"));
  // Every truncation is refused or is a complete problem; none crashes.
  for (std::size_t size = 0; size < full_problem.size(); size += 7) {
    message_of<InputError>([&] { parse(full_problem.substr(0, size)); });
  }
  TemporaryDirectory const directory;
  CHECK(contains(message_of<InputError>([&] { read_simp_config(directory.file("none.toml")); }), "No such file"));
  CHECK(contains(message_of<InputError>([&] { read_simp_config(directory.path); }), "is a directory"));
}

TEST_CASE("contradictions") {
  std::string const start = "preset = \"cantilever\"\n";
  CHECK(contains(error_of(start + "[grid]\nlengths = [1, 1, 1]\n"), "belongs to the preset"));
  CHECK(contains(error_of(start + "[[load]]\npoint = [2, 1, 0]\nplane = {axis = \"x\", at = 2}\nforce = [1, 0, 0]\n"),
                 "state one region"));
  CHECK(contains(error_of(start + "[[load]]\nforce = [1, 0, 0]\n"), "needs a region"));
  CHECK(contains(error_of(start + "[[load]]\npoint = [2, 1, 0]\nforce = [1, 0, 0]\ntraction = [1, 0, 0]\n"),
                 "state one of them"));
  CHECK(contains(error_of(start + "[[load]]\npoint = [2, 1, 0]\n"), "needs the key 'force'"));
  CHECK(
      contains(error_of(start + "[[support]]\nplane = {axis = \"x\", at = 0}\nfix = \"xw\"\n"), "letters of \"xyz\""));
  CHECK(contains(error_of(start + "[[support]]\nplane = {axis = \"x\", at = 0}\nfix = \"\"\n"), "is empty"));
  CHECK(contains(error_of(start + "[schedule]\nsteps = 500\n"), "this schedule has steps 1 to 120"));
  SimpOverrides overrides;
  overrides.steps = 0;
  CHECK(contains(error_of(start, overrides), "--steps 0: "));
  CHECK(contains(set_error("novalue"), "section.key=value"));
  CHECK(contains(set_error("solver.kernel="), "the value is empty"));
  CHECK(contains(set_error("load.0=3"), "[[load]]"));
  CHECK(contains(set_error("grid.cells=[1,2"), "not a TOML value"));
  CHECK(contains(set_error("preset.x=1"), "is not a table"));
}

TEST_CASE("what validate rejects is reported with its line") {
  std::string const start = "preset = \"cantilever\"\n";
  CHECK(error_of(start + "[design]\nvolume_fraction = 1.2\n") ==
        "file.toml:3: design.volume_fraction = 1.2: must lie in (0, 1]");
  CHECK(contains(error_of(start + "[[load]]\nname = \"tip\"\npoint = [9, 0, 0]\nforce = [1, 0, 0]\n"),
                 "file.toml:2: load 'tip': the point (9, 0, 0) selects no node"));
  CHECK(contains(set_error("material.poisson=0.5"), "incompressible"));
}
