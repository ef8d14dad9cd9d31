// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/boundary_conditions.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "brickwork/core/check.hpp"
#include "brickwork/mesh/selection.hpp"

namespace brickwork {

namespace {

std::string quoted(std::string const& kind, std::string const& name, std::size_t index) {
  return kind + " " + (name.empty() ? std::to_string(index + 1) : "'" + name + "'");
}

NodeSelection selected(BoxGrid const& grid, Region const& region, std::string const& owner) {
  NodeSelection selection = select_nodes(grid, region);
  BRICKWORK_REQUIRE(!selection.nodes.empty(), owner, " selects no node: ", describe(region), " on a grid of lengths ",
                    grid.lengths()[0], " x ", grid.lengths()[1], " x ", grid.lengths()[2]);
  return selection;
}

}  // namespace

BoundaryConditions boundary_conditions(SimpProblem const& problem, BoxGrid const& grid) {
  BoundaryConditions result;
  std::map<index_t, std::uint8_t> fixed;
  for (std::size_t s = 0; s < problem.supports.size(); ++s) {
    Support const& support = problem.supports[s];
    std::uint8_t bits = 0;
    for (int d = 0; d < 3; ++d) bits = static_cast<std::uint8_t>(bits | (support.fixed[d] ? 1 << d : 0));
    std::string const owner = quoted("support", support.name, s);
    BRICKWORK_REQUIRE(bits != 0, owner, " fixes no component");
    for (index_t node : selected(grid, support.region, owner).nodes) fixed[node] |= bits;
  }
  result.constraints.assign(fixed.begin(), fixed.end());

  int cases = 0;
  for (Load const& load : problem.loads) cases = std::max(cases, load.load_case + 1);
  std::vector<std::map<index_t, Vec3>> forces(static_cast<std::size_t>(cases));
  result.resultants.resize(static_cast<std::size_t>(cases));
  for (std::size_t l = 0; l < problem.loads.size(); ++l) {
    Load const& load = problem.loads[l];
    std::string const owner = quoted("load", load.name, l);
    NodeSelection const selection = selected(grid, load.region, owner);
    bool const traction = load.kind == Load::Kind::traction;
    BRICKWORK_REQUIRE(
        !traction || selection.nodal_areas.size() == selection.nodes.size(), owner,
        " is a traction and needs a region with an area (a plane, or a box without thickness along one axis): ",
        describe(load.region));
    auto const load_case = static_cast<std::size_t>(load.load_case);
    bool acts = false;
    for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
      double const share = traction ? selection.nodal_areas[i] : 1.0 / static_cast<double>(selection.nodes.size());
      auto const support = fixed.find(selection.nodes[i]);
      for (int d = 0; d < 3; ++d) {
        double const force = load.force[d] * share;
        result.resultants[load_case][d] += force;
        bool const held = support != fixed.end() && ((support->second >> d) & 1);
        if (force == 0 || held) continue;
        forces[load_case][selection.nodes[i]][d] += force;
        acts = true;
      }
    }
    BRICKWORK_REQUIRE(acts, owner,
                      " acts on fixed degrees of freedom only, so nothing deforms: ", describe(load.region));
  }
  for (std::size_t c = 0; c < forces.size(); ++c) {
    std::vector<NodalForce> list;
    double largest = 0;
    for (auto const& [node, force] : forces[c]) {
      list.push_back({node, force});
      for (double component : force) largest = std::max(largest, std::abs(component));
    }
    BRICKWORK_REQUIRE(largest > 0 && std::isfinite(largest), "load case ", c, " has no finite, non-zero force");
    result.load_cases.push_back(std::move(list));
  }

  result.free_modes = free_rigid_motions(grid, result.constraints);
  if (!result.free_modes.empty()) {
    std::string names;
    for (auto const& mode : result.free_modes) names += (names.empty() ? "" : ", ") + describe(mode);
    BRICKWORK_REQUIRE(
        problem.free_modes == FreeModes::project, "the supports leave ", result.free_modes.size(),
        " rigid mode(s) free: ", names,
        "; add supports, or set solver.free_modes = \"project\" where the loads are in balance with them");
    for (std::size_t c = 0; c < result.load_cases.size(); ++c) {
      for (auto const& mode : result.free_modes) {
        double work = 0, scale = 0;
        for (auto const& [node, force] : result.load_cases[c]) {
          Vec3 const u = displacement(mode, grid.node_position(node));
          for (int d = 0; d < 3; ++d) {
            work += force[d] * u[d];
            scale += std::abs(force[d]) * (std::abs(u[d]) + 1e-3 * std::abs(mode.translation[d]));
          }
        }
        BRICKWORK_REQUIRE(std::abs(work) <= 1e-9 * scale + 1e-300, "load case ", c, " drives a free rigid mode (",
                          describe(mode), "), so there is no equilibrium; add a support");
      }
    }
    result.warnings.push_back("free rigid modes are projected out: " + names);
  }
  return result;
}

}  // namespace brickwork
