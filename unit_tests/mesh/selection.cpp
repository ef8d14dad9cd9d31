// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/selection.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "brickwork/core/check.hpp"
#include "brickwork/design/simp_problem.hpp"
#include "brickwork/mesh/rigid_motion.hpp"
#include "support/catch.hpp"

using namespace brickwork;

TEST_CASE("a grid counts cells and nodes, also on periodic axes") {
  BoxGrid const grid({3, 4, 5}, {3, 8, 10}, {true, false, false});
  CHECK(grid.cell_count() == 60);
  CHECK(grid.node_count() == 3 * 5 * 6);
  CHECK(grid.spacing()[1] == 2);
  CHECK(grid.node_index(1, 2, 3) == 1 + 3 * (2 + 5 * 3));
  BoxGrid const huge({1024, 1024, 1024}, {1, 1, 1});
  CHECK(huge.dof_count() == index_t(3) * 1025 * 1025 * 1025);
}

TEST_CASE("grids that cannot be meant are refused") {
  CHECK_THROWS_AS(BoxGrid({0, 1, 1}, {1, 1, 1}), InputError);
  CHECK_THROWS_AS(BoxGrid({1, -2, 1}, {1, 1, 1}), InputError);
  CHECK_THROWS_AS(BoxGrid({1, 1, 1}, {1, 0, 1}), InputError);
  CHECK_THROWS_AS(BoxGrid({1, 1, 1}, {1, NAN, 1}), InputError);
  CHECK_THROWS_AS(BoxGrid({1, 1, 1}, {1, 1, 1}, {true, false, false}), InputError);
  CHECK_THROWS_AS(BoxGrid({index_t(1) << 31, index_t(1) << 31, 4}, {1, 1, 1}), InputError);
}

TEST_CASE("points and planes snap to the nearest nodes") {
  BoxGrid const grid({10, 5, 2}, {2, 1, 0.5});
  auto const point = select_nodes(grid, PointRegion{{1.06, 0.21, 0.5}});
  REQUIRE(point.nodes.size() == 1);
  CHECK(point.nodes[0] == grid.node_index(5, 1, 2));
  CHECK(select_nodes(grid, PointRegion{{2.3, 0, 0}}).nodes.empty());
  auto const plane = select_nodes(grid, PlaneRegion{1, 1.0});
  CHECK(plane.nodes.size() == 11 * 3);
  double const area = std::accumulate(plane.nodal_areas.begin(), plane.nodal_areas.end(), 0.0);
  CHECK(area == Approx(2 * 0.5));
  CHECK(plane.nodal_areas[0] == Approx(0.25 * 0.2 * 0.25));
}

TEST_CASE("boxes, spheres and cylinders select by their bounds") {
  BoxGrid const grid({10, 10, 10}, {1, 1, 1});
  CHECK(select_nodes(grid, BoxRegion{{0.1, 0.1, 0.1}, {0.3, 0.2, 0.1}}).nodes.size() == 3 * 2);
  CHECK(select_nodes(grid, BoxRegion{{-1, -1, -1}, {2, 2, 2}}).nodes.size() == 1331);
  CHECK(select_nodes(grid, SphereRegion{{0.5, 0.5, 0.5}, 0.1}).nodes.size() == 7);
  CHECK(select_nodes(grid, CylinderRegion{{0.5, 0.5, 0}, 0.1, 2, 0.2, 0.4}).nodes.size() == 5 * 3);
  CHECK(select_nodes(grid, SphereRegion{{5, 5, 5}, 0.1}).nodes.empty());
  CHECK_THROWS_AS(region_shape(PlaneRegion{0, 0}), InputError);
}

TEST_CASE("protocol B's patches have the published node counts at k = 80") {
  auto const count = [](char const* name) {
    auto const problem = simp_preset(name);
    BoxGrid const grid(problem.cells, problem.lengths);
    std::size_t nodes = 0;
    for (auto const& load : problem.loads) nodes += select_nodes(grid, load.region).nodes.size();
    return nodes;
  };
  CHECK(count("cantilever_b") == 81);
  CHECK(count("torsion_b") == 182);
  CHECK(count("bridge_b") == 729);
}

TEST_CASE("free rigid motions are found and named") {
  BoxGrid const grid({4, 3, 2}, {4, 3, 2});
  auto const face = select_nodes(grid, PlaneRegion{0, 0});
  auto const fix = [&](std::vector<index_t> const& nodes, unsigned bits) {
    std::vector<std::pair<index_t, std::uint8_t>> list;
    for (index_t node : nodes) list.emplace_back(node, static_cast<std::uint8_t>(bits));
    return list;
  };
  CHECK(free_rigid_motions(grid, {}).size() == 6);
  CHECK(free_rigid_motions(grid, fix(face.nodes, 7)).empty());
  // A table on a slippery floor.
  auto const slippery = free_rigid_motions(grid, fix(select_nodes(grid, PlaneRegion{2, 0}).nodes, 4));
  REQUIRE(slippery.size() == 3);
  std::string names;
  for (auto const& mode : slippery) names += describe(mode) + ";";
  CHECK(names.find("translation along x") != std::string::npos);
  CHECK(names.find("translation along y") != std::string::npos);
  CHECK(names.find("along z through") != std::string::npos);
  auto const pinned = free_rigid_motions(grid, fix({0}, 7));
  REQUIRE(pinned.size() == 3);
  for (auto const& mode : pinned) CHECK(describe(mode).find("rotation about the line along") == 0);
  // A hinge along y through the origin.
  auto const hinge = free_rigid_motions(grid, fix(select_nodes(grid, BoxRegion{{0, 0, 0}, {0, 3, 0}}).nodes, 7));
  REQUIRE(hinge.size() == 1);
  INFO(describe(hinge[0]));
  CHECK(describe(hinge[0]).find("along y through (0, ") != std::string::npos);
}
