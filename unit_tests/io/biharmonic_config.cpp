// SPDX-License-Identifier: BSD-3-Clause
// Configurations, command line, tables and files of brickwork-biharmonic.
#include "brickwork/io/biharmonic_config.hpp"

#include <cmath>
#include <sstream>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/io/biharmonic_options.hpp"
#include "brickwork/io/biharmonic_results.hpp"
#include "brickwork/io/image_data.hpp"
#include "brickwork/io/unstructured_grid.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::TemporaryDirectory;

namespace {

std::string const full = R"(
name = "slab"
[domain]
dimension = 3
cells = [3, 2, 1]
lengths = [1.5, 1.0, 0.25]
origin = [-1.0, 0.5, 2.0]
[study]
refinements = [1, 2]
[boundary]
all = "simply_supported"
y_upper = "clamped"
[adaptive]
region = "ring"
depth = 3
centre = [0.0, 1.0, 2.125]
radius = 0.125
[load]
kind = "point"
value = -2.5
position = [-0.5, 1.5, 2.25]
quadrature = 4
[form]
mass = 0.5
laplace = 0.25
biharmonic = 3.0
[solver]
method = "stationary"
smoother = "patch"
symmetric = false
precision = "mixed"
tolerance = 1e-6
max_iterations = 50
stages = 4
coarsest_stages = 30
sweeps = 1
coarsest_sweeps = 5
interval = [0.1, 2.2]
[output]
directory = "some/where"
vtkhdf = false
points = [[-1.0, 0.5, 2.0], [0.5, 1.5, 2.25]]
[run]
threads = 3
device = 1
quiet = true
)";

BiharmonicConfig parse(std::string const& text, ConfigOverrides const& overrides = {}) {
  return parse_biharmonic_config(text, "file.toml", overrides);
}

std::string error_of(std::string const& text) {
  std::string const message = message_of<InputError>([&] { parse(text); });
  CHECK(!contains(message, "\n"));  // one line
  CHECK(contains(message, "file.toml:"));
  return message;
}

struct Refusal {
  std::string text;
  std::vector<std::string> words;
};

}  // namespace

TEST_CASE("a full biharmonic configuration is read as stated, and back from its own TOML") {
  BiharmonicConfig const first = parse(full);
  for (BiharmonicConfig const& c : {first, parse(to_toml(first))}) {
    CHECK(c.name == "slab");
    CHECK(c.dimension == 3);
    CHECK(c.base == Index3{3, 2, 1});
    CHECK(c.lengths == Vec3{1.5, 1, 0.25});
    CHECK(c.origin == Vec3{-1, 0.5, 2});
    CHECK(c.refinements == std::vector<int>{1, 2});
    for (std::size_t face = 0; face < 6; ++face) CHECK((c.boundary[face] == PlateEdge::clamped) == (face == 3));
    CHECK(c.adaptive.region == RefinementKind::ring);
    CHECK(c.adaptive.depth == 3);
    CHECK(c.adaptive.centre == Vec3{0, 1, 2.125});
    CHECK(c.adaptive.radius == 0.125);
    CHECK(c.load.kind == LoadKind::point);
    CHECK(c.load.value == -2.5);
    CHECK(c.load.position == Vec3{-0.5, 1.5, 2.25});
    CHECK(c.load.points == 4);
    CHECK(c.form.mass == 0.5);
    CHECK(c.form.laplace == 0.25);
    CHECK(c.form.biharmonic == 3);
    HermiteSolverSettings const& s = c.solver;
    CHECK((s.stationary && s.patch && !s.symmetric && s.mixed && !s.estimate_interval));
    CHECK(s.tolerance == 1e-6);
    CHECK(s.max_iterations == 50);
    CHECK(std::array<int, 4>{s.stages, s.coarsest_stages, s.sweeps, s.coarsest_sweeps} ==
          std::array<int, 4>{4, 30, 1, 5});
    CHECK(std::array<double, 2>{s.lower, s.upper} == std::array<double, 2>{0.1, 2.2});
    CHECK(c.directory == "some/where");
    CHECK(!c.vtkhdf);
    CHECK(c.points == std::vector<Vec3>{{-1, 0.5, 2}, {0.5, 1.5, 2.25}});
    CHECK(c.threads == 3);
    CHECK(c.device == 1);
    CHECK(c.quiet);
  }
  CHECK(to_toml(parse(to_toml(first))) == to_toml(first));
}

TEST_CASE("defaults of a biharmonic configuration follow from its domain") {
  BiharmonicConfig const c = parse(
      "[domain]\ndimension = 2\nlengths = [2.0, 0.5]\norigin = [1.0, 1.0]\nrefinements = 0\n"
      "[adaptive]\nregion = \"ball\"\n[solver]\ninterval = \"estimated\"\n");
  CHECK(c.name == "file");
  CHECK(c.refinements == std::vector<int>{0});
  CHECK(c.adaptive.depth == 1);
  CHECK(c.adaptive.radius == 0.125);
  CHECK(c.adaptive.centre[0] == 2);
  CHECK(c.adaptive.centre[1] == 1.25);
  CHECK(c.points.size() == 1);
  CHECK(c.points[0][1] == 1.25);
  CHECK(c.solver.estimate_interval);
  CHECK(c.directory == "results/file");
  for (std::string const& text : {std::string(), to_toml(c),
                                  std::string("[adaptive]\nregion = \"box\"\nlower = [0, 0, "
                                              "0]\nupper = [1, 0.5, 1]\n"),
                                  std::string("[adaptive]\nregion = \"indicator\"\ntheta = 0.25\ndepth = 2\n")})
    CHECK(to_toml(parse(to_toml(parse(text)))) == to_toml(parse(text)));
  BiharmonicConfig const cells = parse("[solver]\nstorage = \"cell\"\nevaluation = \"fdm\"\n");
  for (BiharmonicConfig const& each : {cells, parse(to_toml(cells))}) {
    CHECK(each.solver.cell_wise);
    CHECK(each.solver.evaluation == HermiteEvaluation::fdm);
  }
  CHECK(!c.solver.cell_wise);
  ConfigOverrides overrides;
  overrides.grid = Index3{4, 6, 1};
  overrides.set = {"load.kind=constant", "study.refinements=[2, 3]"};
  overrides.output = "there";
  BiharmonicConfig const changed = parse("[domain]\ndimension = 2\n", overrides);
  CHECK(changed.base == Index3{4, 6, 1});
  CHECK(changed.load.kind == LoadKind::constant);
  CHECK(changed.refinements == std::vector<int>{2, 3});
  CHECK(changed.directory == "there");
  overrides.grid = Index3{4, 6, 2};
  CHECK(contains(message_of<InputError>([&] { parse("[domain]\ndimension = 2\n", overrides); }), "--grid 4,6,2"));
  CHECK(parse("[adaptive]\nregion = \"indicator\"\n[load]\nkind = \"point\"\n").warnings.size() == 1);
}

TEST_CASE("the interval of the Chebyshev smoother is estimated where cells are no cubes") {
  CHECK(!parse("[domain]\ncells = [3, 2, 1]\nlengths = [1.5, 1.0, 0.5]\n").solver.estimate_interval);
  CHECK(parse("[domain]\ncells = [3, 2, 1]\nlengths = [1.5, 1.0, 0.25]\n").solver.estimate_interval);
  CHECK(!parse("[domain]\nlengths = [1.5, 1.0, 0.5]\n[solver]\ninterval = [0.2, 3.0]\n").solver.estimate_interval);
}

TEST_CASE("bad biharmonic configurations are refused in one line with the line, the key and what would be right") {
  std::vector<Refusal> const refusals = {
      {"[domain]\ndimension = 4\n", {":2:", "dimension", "4", "2 or 3"}},
      {"[domain]\ncells = [2, 2]\n", {"cells", "list of 3 integers"}},
      {"[domain]\ncells = [2, 0, 2]\n", {"cells", "holds 0", "at least 1"}},
      {"[domain]\ncells = [2, 1.5, 2]\n", {"cells", "a list of integers"}},
      {"[domain]\nlengths = [1.0, -1.0, 1.0]\n", {"lengths", "-1", "above 0"}},
      {"[domain]\nlengths = [1.0, nan, 1.0]\n", {"lengths", "finite"}},
      {"[domain]\nrefinements = -1\n", {":2:", "refinements", "is -1", "[0, 30]"}},
      {"[study]\nrefinements = []\n", {"refinements", "empty"}},
      {"[study]\nrefinements = [3, 31]\n", {"refinements", "31", "[0, 30]"}},
      {"[domain]\nrefinement = 3\n", {"unknown key 'refinement'", "did you mean 'refinements'"}},
      {"[boundary]\nx_lower = \"free\"\n", {"x_lower", "free", "clamped, simply_supported"}},
      {"[domain]\ndimension = 2\n[boundary]\nz_lower = \"clamped\"\n", {"z_lower", "three dimensions"}},
      {"[adaptive]\nregion = \"bal\"\n", {"region", "bal", "did you mean \"ball\""}},
      {"[adaptive]\nregion = \"ball\"\ndepth = 0\n", {"depth", "is 0", "at least 1"}},
      {"[adaptive]\ndepth = 2\n", {"needs the key 'region'"}},
      {"[adaptive]\nregion = \"ball\"\nradius = 0.0\n", {"radius", "above 0"}},
      {"[adaptive]\nregion = \"octant\"\nradius = 0.5\n", {"radius", "belongs to the region \"ball\""}},
      {"[adaptive]\nregion = \"box\"\nlower = [0, 0, 0]\n", {"needs the key 'upper'"}},
      {"[adaptive]\nregion = \"box\"\nlower = [0, 0, 1]\nupper = [1, 1, 1]\n", {"upper", "above 'lower'"}},
      {"[adaptive]\nregion = \"indicator\"\ntheta = 0.0\n", {"theta", "(0, 1]"}},
      {"[load]\nkind = \"wind\"\n", {"kind", "wind", "manufactured, constant, point"}},
      {"[load]\nkind = \"constant\"\nvalue = nan\n", {"value", "nan", "finite"}},
      {"[load]\nkind = \"constant\"\nvalue = 0.0\n", {"value", "is 0"}},
      {"[load]\nvalue = 2.0\n", {"value", "manufactured"}},
      {"[load]\nkind = \"point\"\nposition = [0.5, 0.5, 1.5]\n",
       {"position", "outside the domain", "z is 1.5", "[0, 1]"}},
      {"[load]\nkind = \"constant\"\nposition = [0.5, 0.5, 0.5]\n", {"position", "belongs to the load \"point\""}},
      {"[load]\nquadrature = 9\n", {"quadrature", "[1, 8]"}},
      {"[form]\nbiharmonic = -1.0\n", {":2:", "biharmonic", "-1", "not be negative"}},
      {"[form]\nbiharmonic = nan\n", {"biharmonic", "finite"}},
      {"[form]\nbiharmonic = 0.0\nmass = 1.0\n", {"biharmonic", "above 0"}},
      {"[form]\nmass = -0.5\n", {"mass", "-0.5", "not be negative"}},
      {"[solver]\nmethod = \"gmres\"\n", {"method", "cg, stationary"}},
      {"[solver]\nsymmetric = false\n", {"symmetric", "patch"}},
      {"[solver]\nstorage = \"edge\"\n", {"storage", "vertex, cell"}},
      {"[solver]\nevaluation = \"dense\"\n", {"evaluation", "storage = \"cell\""}},
      {"[solver]\nstorage = \"cell\"\nevaluation = \"fast\"\n", {"evaluation", "even_odd_2"}},
      {"[domain]\ndimension = 2\n[solver]\nstorage = \"cell\"\nevaluation = \"even_odd_3\"\n",
       {"evaluation", "even_odd_3"}},
      {"[solver]\nstorage = \"cell\"\nprecision = \"mixed\"\n", {"precision", "FP64"}},
      {"[solver]\nstorage = \"cell\"\nsmoother = \"patch\"\n[boundary]\nall = \"simply_supported\"\n",
       {"smoother", "clamped"}},
      {"[solver]\nsmoother = \"patch\"\nsymmetric = false\n", {"symmetric", "stationary"}},
      {"[solver]\ntolerance = 1.0\n", {"tolerance", "(0, 1)"}},
      {"[solver]\nstages = 0\n", {"stages", "at least 1"}},
      {"[solver]\nsweeps = 1001\n", {"sweeps", "at most 1000"}},
      {"[solver]\ninterval = [2.0, 0.2]\n", {"interval", "0 < lower < upper"}},
      {"[solver]\ninterval = \"guess\"\n", {"interval", "estimated"}},
      {"[output]\npoints = [[0.5, 0.5, 2.0]]\n", {"points", "outside the domain"}},
      {"[output]\npoints = [[0.5, 0.5]]\n", {"points", "list of 3 numbers"}},
      {"[output]\ndirectory = \"\"\n", {"directory", "empty"}},
  };
  for (Refusal const& refusal : refusals) {
    std::string const message = error_of(refusal.text);
    INFO(refusal.text);
    INFO(message);
    for (std::string const& word : refusal.words) CHECK(contains(message, word));
  }
}

TEST_CASE("the command line of brickwork-biharmonic") {
  auto const run = [](std::vector<char const*> arguments) {
    std::ostringstream out, err;
    arguments.insert(arguments.begin(), "brickwork-biharmonic");
    return parse_biharmonic_options(static_cast<int>(arguments.size()), arguments.data(), out, err);
  };
  BiharmonicOptions const options = run({"a.toml", "--grid", "2,3,4", "--set", "a.b=1", "--set", "c.d=2", "--force"});
  CHECK(!options.exit_code);
  CHECK(options.config == "a.toml");
  CHECK(*options.overrides.grid == Index3{2, 3, 4});
  CHECK(options.overrides.set == std::vector<std::string>{"a.b=1", "c.d=2"});
  CHECK(options.force);
  CHECK(*run({"--help"}).exit_code == 0);
  CHECK(*run({}).exit_code == 2);
  CHECK(*run({"a.toml", "--steps", "3"}).exit_code == 2);
}

TEST_CASE("orders come from the number of cells") {
  MeshRow coarse, fine;
  coarse.cells = 64;
  coarse.error_l2 = 16, coarse.error_h1 = 8, coarse.error_h2 = 4;
  fine.cells = 512;
  fine.error_l2 = 1, fine.error_h1 = 1, fine.error_h2 = 1;
  set_orders(fine, coarse, 3);
  CHECK(fine.order_l2 == Approx(4));
  CHECK(fine.order_h1 == Approx(3));
  CHECK(fine.order_h2 == Approx(2));
  MeshRow same = coarse;
  set_orders(same, coarse, 3);
  CHECK(std::isnan(same.order_l2));
  // As many columns in every line; what does not apply is empty, never "nan".
  auto const commas = [](std::string const& text) { return std::count(text.begin(), text.end(), ','); };
  for (MeshRow const& row : {coarse, fine}) {
    CHECK(commas(to_csv(row)) == commas(mesh_header()));
    CHECK(!contains(to_csv(row), "nan"));
  }
  BiharmonicSummary summary;
  summary.meshes = {coarse, fine};
  CHECK(contains(to_json(summary), "\"order_l2\": null"));
  CHECK(!contains(to_json(summary), "nan"));
}

TEST_CASE("unstructured meshes that make no sense are refused") {
  UnstructuredGrid grid;
  grid.corners = 4;
  grid.points = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
  grid.connectivity = {0, 1, 2, 3};
  TemporaryDirectory const directory;
  std::string const path = directory.file("mesh.vtkhdf");
  auto const refused = [&](UnstructuredGrid const& mesh, std::string const& word) {
    return contains(message_of<InputError>([&] { write_vtkhdf(path, mesh); }), word);
  };
  UnstructuredGrid bad = grid;
  bad.corners = 6;
  CHECK(refused(bad, "6 corners"));
  bad = grid;
  bad.connectivity[2] = 4;
  CHECK(refused(bad, "the point 4 of 4"));
  bad = grid;
  bad.connectivity.pop_back();
  CHECK(refused(bad, "cells of 4"));
  bad = grid;
  bad.point_fields = {{"gradient", 3, std::vector<double>(11)}};
  CHECK(refused(bad, "'gradient' has 11 values"));
  bad = grid;
  bad.cell_fields = {{"level", 1, {}}};
  CHECK(refused(bad, "'level' has 0 values"));
  CHECK(!std::filesystem::exists(path));
  if (!vtkhdf_available()) return;
  write_vtkhdf(path, grid);
  CHECK(std::filesystem::file_size(path) > 1000);
  CHECK(!std::filesystem::exists(path + ".part"));
  CHECK(
      contains(message_of<Error>([&] { write_vtkhdf(directory.file("none/mesh.vtkhdf"), grid); }), "none/mesh.vtkhdf"));
}
