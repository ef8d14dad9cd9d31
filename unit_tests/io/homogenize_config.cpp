// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/homogenize_config.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/io/homogenize_options.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::TemporaryDirectory;

namespace {

std::string const full_design = R"(
name = "strut"
[cell]
cells = [24, 24, 24]
lengths = [0.5, 0.5, 0.5]
[material]
young = 210e9
young_min_ratio = 1e-6
poisson = 0.25
[objective]
name = "npr_log"
eta = 0.7
gamma = 0.4
tau = -0.25
isotropy = 0.1
[[constraint]]
kind = "zener"
bound = 0.05
[[constraint]]
kind = "bulk_at_least"
bound = 1e9
[[constraint]]
kind = "expression_at_most"
bound = 0.5
expression = "C12 / C11"
[design]
volume_fraction = 0.35
symmetry = "rotate3"
update = "mma"
damping = 0.4
lower = 0.01
upper = 0.99
filter = "density"
kernel = "spline4"
projection = true
eta = 0.45
[start]
density = "schwarz_p"
seed = 7
waves = 2
periods = 3
[[schedule.stage]]
last_step = 20
penalization = 2
beta = 1
move = 0.1
radius = 3
[[schedule.stage]]
last_step = 50
penalization = 4
beta = 8
move = 0.05
radius = 1.5
[stop]
relative_change = 1e-4
times = 5
first_step = 30
[solver]
method = "jacobi"
precision = "fp64"
tolerance = 1e-7
storage = "int16"
[output]
directory = "some/where"
every = 5
vti = false
vtkhdf = false
npy = false
stl = true
stl_level = 0.4
stl_tiles = 3
stl_caps = false
[run]
threads = 3
device = 1
quiet = true
)";

HomogenizeConfig parse(std::string const& text, ConfigOverrides const& overrides = {}) {
  return parse_homogenize_config(text, "file.toml", overrides);
}

std::string error_of(std::string const& text, ConfigOverrides const& overrides = {}) {
  std::string const message = message_of<InputError>([&] { parse(text, overrides); });
  CHECK(!contains(message, "\n"));  // one line
  return message;
}

std::string set_error(std::string const& assignment) {
  ConfigOverrides overrides;
  overrides.set = {assignment};
  return error_of("", overrides);
}

TensorConfig tensor(std::string const& image, std::string const& text, ConfigOverrides const& overrides = {}) {
  return parse_tensor_config(image, text, "file.toml", overrides);
}

std::string tensor_error(std::string const& image, std::string const& text, ConfigOverrides const& overrides = {}) {
  std::string const message = message_of<InputError>([&] { tensor(image, text, overrides); });
  CHECK(!contains(message, "\n"));
  return message;
}

}  // namespace

TEST_CASE("a full design is read as stated") {
  HomogenizeConfig const config = parse(full_design);
  HomogenizeProblem const& p = config.problem;
  CHECK(p.name == "strut");
  CHECK(p.cell.cells == Index3{24, 24, 24});
  CHECK(p.cell.lengths == Vec3{0.5, 0.5, 0.5});
  CHECK(p.young == 210e9);
  CHECK(p.young_min_ratio == 1e-6);
  CHECK(p.cell.poisson == 0.25);
  CHECK(p.objective == "npr_log");
  CHECK(p.parameters.eta == 0.7);
  CHECK(p.parameters.gamma == 0.4);
  CHECK(p.parameters.tau == -0.25);
  CHECK(p.parameters.isotropy == 0.1);
  CHECK(p.parameters.young == 210e9);
  REQUIRE(p.constraints.size() == 3);
  CHECK(p.constraints[0].kind == TensorConstraint::Kind::zener);
  CHECK(p.constraints[0].bound == 0.05);
  CHECK(p.constraints[1].kind == TensorConstraint::Kind::bulk_at_least);
  CHECK(p.constraints[2].kind == TensorConstraint::Kind::expression_at_most);
  CHECK(p.constraints[2].expression == "C12 / C11");
  CHECK(p.volume_fraction == 0.35);
  CHECK(p.symmetry == "rotate3");
  CHECK(p.update == DesignUpdateMethod::moving_asymptotes);
  CHECK(p.damping == 0.4);
  CHECK(p.lower == 0.01);
  CHECK(p.upper == 0.99);
  CHECK(p.filter == DesignFilter::density);
  CHECK(p.kernel == FilterKernel::spline4);
  CHECK(p.projection);
  CHECK(p.projection_eta == 0.45);
  CHECK(p.start == "schwarz_p");
  CHECK(p.seed == 7);
  CHECK(p.start_waves == 2);
  CHECK(p.start_periods == 3);
  REQUIRE(p.schedule.stages.size() == 2);
  CHECK(p.schedule.steps == 50);
  CHECK(p.schedule.stages[1].first_step == 21);
  CHECK(p.schedule.stages[1].beta == 8);
  CHECK(p.stop.most_steps == 50);
  CHECK(p.stop.relative_change == 1e-4);
  CHECK(p.stop.times == 5);
  CHECK(p.stop.first_step == 30);
  CHECK(p.cell.solver.method == SolverMethod::jacobi);
  CHECK(p.cell.solver.precision == Precision::fp64);
  CHECK(p.cell.solver.tolerance == 1e-7);
  CHECK(p.cell.storage == FieldStorage::int16);
  CHECK(config.output.directory == "some/where");
  CHECK(config.output.every == 5);
  CHECK(!config.output.vti);
  CHECK(!config.output.npy);
  CHECK(config.output.stl);
  CHECK(config.output.stl_level == 0.4);
  CHECK(config.output.stl_tiles == 3);
  CHECK(!config.output.stl_caps);
  CHECK(config.threads == 3);
  CHECK(config.device == 1);
  CHECK(config.quiet);
  CHECK(config.warnings.empty());
}

TEST_CASE("an empty design is the bulk modulus with the defaults of the text") {
  HomogenizeConfig const config = parse("");
  HomogenizeProblem const& p = config.problem;
  CHECK(p.name == "file");
  CHECK(config.output.directory == "results/file");
  CHECK(p.cell.cells == Index3{32, 32, 32});
  CHECK(p.cell.lengths == Vec3{1, 1, 1});
  CHECK(p.objective == "bulk");
  CHECK(p.volume_fraction == 0.3);
  CHECK(p.damping == 0.5);
  CHECK(p.lower == 1e-3);
  CHECK(p.upper == 1);
  CHECK(p.filter == DesignFilter::sensitivity);
  CHECK(p.kernel == FilterKernel::linear);
  CHECK(p.cell.solver.tolerance == 1e-5);
  REQUIRE(p.schedule.stages.size() == 1);
  CHECK(p.schedule.steps == 300);
  CHECK(p.stop.most_steps == 300);
  CHECK(p.schedule.stages[0].penalization == 3);
  CHECK(p.schedule.stages[0].move == 0.05);
  CHECK(p.schedule.stages[0].radius == 2);
  CHECK(p.symmetry == "reflect6");
  CHECK(p.start == "randc");
  CHECK(config.warnings.empty());
}

TEST_CASE("the resolved design reads back as the same run") {
  for (std::string const& text :
       {full_design, std::string(), std::string("[objective]\nexpression = \"-C44 * (1 + 0 * iteration)\"\n"),
        std::string("[objective]\nname = \"npr\"\nbeta = 0.8\n[schedule]\nsteps = 20\nradius = 1.5\n"),
        std::string("[objective]\nname = \"target\"\ntarget = [[2, 1, 1, 0, 0, 0], [1, 2, 1, 0, 0, 0], [1, 1, 2, 0, 0, "
                    "0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]\n"),
        std::string("[start]\nfile = \"a b/density.npy\"\nresample = true\n"),
        std::string("[cell]\ncells = [8, 12, 16]\n[design]\nsymmetry = \"reflect3\"\n")}) {
    std::string const resolved = to_toml(parse(text));
    INFO(resolved);
    CHECK(to_toml(parse(resolved)) == resolved);
  }
  CHECK(parse("[cell]\ncells = [8, 12, 16]\n[design]\nsymmetry = \"none\"\n").problem.cell.lengths ==
        Vec3{0.5, 0.75, 1});
}

TEST_CASE("the command line changes a design") {
  ConfigOverrides overrides;
  overrides.set = {"objective.name=shear", "design.volume_fraction=0.25", "start.seed=3"};
  overrides.grid = Index3{20, 20, 20};
  overrides.steps = 5;
  overrides.output = "there";
  overrides.threads = 2;
  overrides.quiet = true;
  HomogenizeConfig const config = parse("[cell]\ncells = [64, 64, 64]\n", overrides);
  CHECK(config.problem.objective == "shear");
  CHECK(config.problem.volume_fraction == 0.25);
  CHECK(config.problem.seed == 3);
  CHECK(config.problem.cell.cells == Index3{20, 20, 20});
  CHECK(config.problem.schedule.steps == 5);
  CHECK(config.problem.stop.most_steps == 5);
  CHECK(config.output.directory == "there");
  CHECK(config.threads == 2);
  CHECK(config.quiet);
  overrides.steps = 500;
  CHECK(contains(error_of("", overrides), "--steps 500: the schedule has steps 1 to 300, not 500; "));
}

TEST_CASE("mistakes in a design name file, line, key and what would be right") {
  CHECK(contains(error_of("[design]\n\nvol = 0.3\n"),
                 "file.toml:3: unknown key 'vol' in [design]; did you mean 'volume_fraction'?"));
  CHECK(contains(error_of("[objective]\nname = \"bulkk\"\n"),
                 "file.toml:2: 'name' in [objective] is \"bulkk\"; did "
                 "you mean \"bulk\"?"));
  CHECK(contains(error_of("[objective]\nbeta = 0.5\n"),
                 "file.toml:2: 'beta' in [objective] belongs to the objective "
                 "\"npr\", not to \"bulk\""));
  CHECK(contains(error_of("[objective]\nname = \"target\"\n"), "needs the key 'target'"));
  CHECK(contains(error_of("[objective]\nname = \"target\"\ntarget = [[1, 2]]\n"), "six lists of six numbers"));
  CHECK(contains(error_of("[objective]\nname = \"target\"\ntarget = [1, 2]\n"), "list of lists of numbers"));
  CHECK(contains(error_of("[objective]\nname = \"npr\"\nbeta = 2\n"),
                 "file.toml:1: objective npr: beta = 2; it must lie in (0, 1]"));
  CHECK(contains(error_of("[objective]\nname = \"bulk\"\nexpression = \"C11\"\n"), "objective.expression: stands"));
  CHECK(contains(error_of("[objective]\nname = \"expression\"\n"), "objective.expression: is missing"));
  CHECK(contains(error_of("[[constraint]]\nkind = \"zener\"\n"), "[[constraint]] 1 needs the key 'bound'"));
  CHECK(contains(error_of("[cell]\ncells = [1, 8, 8]\n"), "a periodic axis needs at least 2 cells"));
  CHECK(contains(error_of("[start]\nseed = -1\n"), "at least 0"));
  CHECK(contains(error_of("[start]\ndensity = \"gyriod\"\n"), "did you mean \"gyroid\"?"));
  CHECK(contains(error_of("[schedule]\nradius = 2\n[[schedule.stage]]\nlast_step = 3\npenalization = 3\nbeta = 1\nmove "
                          "= 0.1\nradius = 2\n"),
                 "'radius' in [schedule] stands beside [[schedule.stage]]"));
  CHECK(contains(error_of("[output]\nstl_level = 1\n"), "must lie in (0, 1)"));
  CHECK(contains(error_of("[output]\nstl_tiles = 0\n"), "must lie in [1, 10]"));
  CHECK(contains(error_of("[schedule]\nradius = 0\n"), "file.toml:1: schedule.stage 1: radius 0 must be above 0"));
  CHECK(contains(error_of("[cell]\ncells = [9, 9, 9]\n[schedule]\nradius = 9.5\n"),
                 "radius 9.5 must be above 0 and at most 9"));
  CHECK(parse("[cell]\ncells = [9, 9, 9]\n[schedule]\nradius = 9\n").warnings.empty());
  CHECK(parse("[design]\nfilter = \"none\"\n[schedule]\nradius = 0\n").warnings.empty());
  CHECK(contains(error_of("[start]\nfile = \"a.raw\"\n"),
                 "file.toml:2: 'file' in [start] is 'a.raw', which has no header"));
  CHECK(contains(error_of("[start]\nwaves = 3000000000\n"), "it must lie in [-2147483648, 2147483647]"));
  CHECK(contains(error_of("[grid]\ncells = [8, 8, 8]\n"), "did you mean 'cell'?"));
  CHECK(contains(set_error("start.seed=99999999999999999999"), "'99999999999999999999' is not a TOML number"));
  CHECK(contains(set_error("solver.storage=fp8"), "Known: automatic, fp64, fp32, int16"));
  // What validate() rejects has its line too.
  CHECK(contains(error_of("[design]\nvolume_fraction = 1.2\n"), "file.toml:2: design.volume_fraction = 1.2"));
  CHECK(contains(error_of("[[constraint]]\nkind = \"zener\"\nbound = 0.1\n"), "file.toml:1: constraint: "));
  CHECK(contains(error_of("[objective]\nexpression = \"C11 + C77\"\n"), "file.toml:2: objective.expression: "));
  CHECK(contains(error_of("[objective]\nexpression = \"C11 + C77\"\n"), "column"));
  ConfigOverrides overrides;
  overrides.grid = Index3{8, 8, 16};
  CHECK(contains(error_of("", overrides), "design.symmetry = \"reflect6\""));
  // Every truncation is refused or is a complete problem; none crashes.
  for (std::size_t size = 0; size < full_design.size(); size += 7) {
    message_of<InputError>([&] { parse(full_design.substr(0, size)); });
  }
}

TEST_CASE("a tensor run of densities") {
  TensorConfig const config = tensor("dir/cell.npy", "");
  CHECK(config.image.file == "dir/cell.npy");
  CHECK(config.problem.name == "cell");
  CHECK(config.output.directory == "results/cell");
  CHECK(config.problem.materials.empty());
  CHECK(config.problem.penalization == 3);
  CHECK(!config.problem.threshold);
  CHECK(config.problem.cell.cells == Index3{0, 0, 0});
  CHECK(config.problem.cell.lengths == Vec3{0, 0, 0});
  CHECK(config.problem.cell.solver.tolerance == 1e-6);
  CHECK(!config.output.vti);
  CHECK(!config.output.stl);
  ConfigOverrides overrides;
  overrides.set = {"material.threshold=0.4", "material.young=10", "cell.lengths=[1, 2, 3]"};
  overrides.grid = Index3{4, 5, 6};
  TensorConfig const other = tensor("cell.npy", "", overrides);
  CHECK(*other.problem.threshold == 0.4);
  CHECK(other.problem.young == 10);
  CHECK(other.problem.cell.lengths == Vec3{1, 2, 3});
  CHECK(other.problem.cell.cells == Index3{4, 5, 6});
}

TEST_CASE("a step belongs to a series") {
  TensorConfig const config = tensor("run/density.vtkhdf.series", "[image]\nstep = 20\n");
  CHECK(config.image.step == 20);
  CHECK(contains(to_toml(config), "step = 20\n"));
  CHECK(to_toml(tensor("", to_toml(config))) == to_toml(config));
  CHECK(contains(tensor_error("run/density.vti", "[image]\nstep = 20\n"), "file.toml:2: 'step' in [image]"));
  HomogenizeConfig const design = parse("[start]\nfile = \"run/density.vtkhdf.series\"\nstep = 7\n");
  CHECK(design.problem.start_step == 7);
  CHECK(to_toml(parse(to_toml(design))) == to_toml(design));
  CHECK(contains(error_of("[start]\nfile = \"density.npy\"\nstep = 7\n"), "not to 'density.npy'"));
  CHECK(contains(error_of("[start]\nstep = 7\n"), "file.toml:2: 'step' in [start]"));
}

TEST_CASE("a tensor run of labels, raw files and surfaces") {
  std::string const text =
      "[image]\nfile = \"x.raw\"\ncells = [4, 5, 6]\ntype = \"uint16\"\nbig_endian = true\nheader_bytes = 32\n"
      "[cell]\nlengths = [1, 1.25, 1.5]\n"
      "[[material]]\nlabel = 0\nyoung = 0\n[[material]]\nlabel = 3\nyoung = 70e9\npoisson = 0.33\n"
      "[[material]]\nlabel = -1\nyoung = 1e9\npoisson = 0.33\n";
  TensorConfig const config = tensor("", text);
  CHECK(config.image.type == "uint16");
  CHECK(config.image.big_endian);
  CHECK(config.image.header_bytes == 32);
  CHECK(config.problem.cell.cells == Index3{4, 5, 6});
  REQUIRE(config.problem.materials.size() == 3);
  CHECK(config.problem.materials[1].label == 3);
  CHECK(config.problem.materials[1].young == 70e9);
  CHECK(config.problem.materials[2].label == -1);
  CHECK(config.problem.materials[1].poisson == 0.33);
  CHECK(reference_poisson(config.problem) == 0.33);
  CHECK(!has_several_ratios(config.problem));
  CHECK(modulus_unit(config.problem) == 70e9);
  std::string const ratios =
      "[image]\nfile = \"x.npy\"\n[[material]]\nlabel = 0\nyoung = 0\n"
      "[[material]]\nlabel = 1\nyoung = 3\npoisson = 0.4\n[[material]]\nlabel = 2\nyoung = 70\npoisson = 0.2\n";
  CHECK(tensor("", ratios).problem.materials[1].poisson == 0.4);
  CHECK(tensor("", ratios).problem.materials[2].poisson == 0.2);
  CHECK(has_several_ratios(tensor("", ratios).problem));
  std::string const surface = "[image]\nsurface = \"gyroid\"\ncells = [16, 16, 16]\nfraction = 0.4\nsheet = true\n";
  CHECK(tensor("", surface).image.surface == "gyroid");
  std::string const stl =
      "[image]\nfile = \"x.stl\"\ncells = [8, 8, 8]\nbox = {lower = [0, 0, 0], upper = [1, 1, 2]}\n";
  CHECK(tensor("", stl).image.box_upper == Vec3{1, 1, 2});
  for (std::string const& one :
       {text, ratios, surface, stl, std::string("[image]\nfile = \"a.vti\"\nfield = \"rho\"\n")}) {
    std::string const resolved = to_toml(tensor("", one));
    INFO(resolved);
    CHECK(to_toml(tensor("", resolved)) == resolved);
  }
}

TEST_CASE("mistakes in a tensor run name where they are and what would be right") {
  std::string const start = "[[material]]\nlabel = 0\nyoung = 1\n";
  CHECK(contains(tensor_error("", ""), "file.toml: needs an image"));
  CHECK(contains(tensor_error("x.raw", ""), "has no header: [image] needs 'cells' and 'type'"));
  CHECK(contains(tensor_error("x.npy", "[image]\ntype = \"uint8\"\n"), "belong to raw files"));
  CHECK(contains(tensor_error("x.stl", ""), "is a surface: [image] needs 'cells'"));
  CHECK(contains(tensor_error("x.npy", "[image]\nsurface = \"gyroid\"\n"), "stands beside the image"));
  CHECK(contains(tensor_error("", "[image]\nsurface = \"gyroid\"\n"), "needs 'cells'"));
  CHECK(contains(tensor_error("x.npy", "[image]\nfraction = 0.4\n"), "belongs to a surface"));
  CHECK(
      contains(tensor_error("x.npy", "[image]\nbox = {lower = [0, 0, 0], upper = [1, 1, 1]}\n"), "belongs to an STL"));
  std::string const second = "[[material]]\nlabel = 1\nyoung = 2\n";
  CHECK(contains(tensor_error("x.npy", start + "poisson = 0.3\n" + second),
                 "file.toml:5: [[material]] 2 needs 'poisson'"));
  CHECK(contains(tensor_error("x.npy", start + second + "poisson = 0.2\n"),
                 "file.toml:1: [[material]] 1 needs 'poisson'"));
  CHECK(tensor("x.npy", start + second).problem.materials[1].poisson == 0.3);
  CHECK(contains(tensor_error("x.npy", start + start), "file.toml:4: material 2: label 0 has a material already"));
  CHECK(contains(tensor_error("x.npy", "[[material]]\nlabel = 0\nyoung = 0\n"), "all materials are void"));
  CHECK(contains(tensor_error("x.npy", "[[material]]\nlabel = 0\nyoung = -1\n"), "must be at least 0"));
  CHECK(contains(tensor_error("x.npy", "[[material]]\nlabel = 0.5\nyoung = 1\n"), "must be an integer"));
  CHECK(contains(tensor_error("x.npy", "[[material]]\nlabel = 0\nyoung = 1\npoisson = 0.5\n"),
                 "file.toml:4: material 1: poisson 0.5 must lie in (-1, 0.5)"));
  CHECK(contains(tensor_error("x.npy", start + "poisson = 0.2\n" + second + "poisson = -1\n"),
                 "file.toml:8: material 2: poisson -1 must lie in (-1, 0.5)"));
  CHECK(contains(tensor_error("x.npy", "[material]\nthreshold = 1.5\n"),
                 "file.toml:2: material.threshold = 1.5: must lie in (0, 1]"));
  CHECK(contains(tensor_error("x.npy", "[cell]\nlengths = [1, 0, 1]\n"), "file.toml:2: cell.lengths = [1, 0, 1]"));
  CHECK(contains(tensor_error("x.npy", "[solver]\nmethod = \"multigrid\"\nprecision = \"fp64\"\n"),
                 "file.toml:3: solver.precision"));
  TemporaryDirectory const directory;
  CHECK(contains(message_of<InputError>([&] { read_tensor_config("x.npy", directory.file("none.toml")); }),
                 "No such file"));
}

namespace {

struct Parsed {
  HomogenizeOptions options;
  std::string out, err;
};

Parsed command_line(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), "brickwork-homogenize");
  std::ostringstream out, err;
  Parsed parsed;
  parsed.options = parse_homogenize_options(static_cast<int>(arguments.size()), arguments.data(), out, err);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

}  // namespace

TEST_CASE("the command line of brickwork-homogenize") {
  HomogenizeOptions const design =
      command_line({"design", "a.toml", "--grid", "8x8x8", "--steps", "7", "--set", "a.b=1", "--force"}).options;
  CHECK(!design.exit_code);
  CHECK(design.command == HomogenizeOptions::Command::design);
  CHECK(design.config == "a.toml");
  CHECK(*design.overrides.grid == Index3{8, 8, 8});
  CHECK(*design.overrides.steps == 7);
  CHECK(design.overrides.set == std::vector<std::string>{"a.b=1"});
  CHECK(design.force);

  HomogenizeOptions const tensor_run =
      command_line({"tensor", "cell.npy", "--config", "m.toml", "--threads", "2", "--quiet", "--print-config"}).options;
  CHECK(!tensor_run.exit_code);
  CHECK(tensor_run.command == HomogenizeOptions::Command::tensor);
  CHECK(tensor_run.image == "cell.npy");
  CHECK(tensor_run.config == "m.toml");
  CHECK(*tensor_run.overrides.threads == 2);
  CHECK(tensor_run.overrides.quiet);
  CHECK(tensor_run.print_config);
  CHECK(!tensor_run.overrides.grid);

  CHECK(*command_line({"--help"}).options.exit_code == 0);
  Parsed const help = command_line({"design", "--help"});
  CHECK(*help.options.exit_code == 0);
  CHECK(contains(help.out, "--steps"));
  for (std::vector<char const*> const& wrong : std::vector<std::vector<char const*>>{
           {}, {"design"}, {"a.toml"}, {"tensor", "a.npy", "--steps", "3"}, {"design", "a.toml", "--grid", "8,8"}}) {
    Parsed const parsed = command_line(wrong);
    CHECK(parsed.options.exit_code.value_or(0) == 2);
    CHECK(parsed.err.rfind("brickwork-homogenize: ", 0) == 0);
    CHECK(std::count(parsed.err.begin(), parsed.err.end(), '\n') == 1);
  }
}
