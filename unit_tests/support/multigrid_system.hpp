// SPDX-License-Identifier: BSD-3-Clause
// Bodies for tests of multigrid (grid, moduli, supports, forces) and their solution.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "brickwork/solvers/flexible_conjugate_gradient.hpp"
#include "support/reference.hpp"

namespace brickwork::test {

struct Body {
  BoxGrid grid;
  std::vector<double> moduli;
  std::vector<std::uint8_t> mask;  ///< empty: no supports
  std::vector<index_t> nodes;
  std::vector<double> forces;  ///< [3 i + d]; prescribed displacement where constrained
  double poisson = 0.3;

  Hex8Matrix stiffness() const {
    return hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, poisson}), grid.spacing());
  }
  /// Forces as a nodal vector, component-major.
  std::vector<double> load() const {
    std::vector<double> f(static_cast<std::size_t>(grid.dof_count()), 0.0);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d)
        f[static_cast<std::size_t>(nodes[i] + static_cast<index_t>(d) * grid.node_count())] = forces[3 * i + d];
    return f;
  }
};

/// Young's modulus of cell (i, j, k).
using ModulusField = std::function<double(Index3 const&)>;

inline std::vector<double> moduli_on(BoxGrid const& grid, ModulusField const& field) {
  std::vector<double> moduli;
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) moduli.push_back(static_cast<double>(static_cast<float>(field({i, j, k}))));
  return moduli;
}

struct NamedField {
  std::string name;
  ModulusField field;
};

/// Moduli at random in [1e-9, 1]: the power of a uniform density.
inline ModulusField random_moduli(double exponent, unsigned seed = 12345) {
  auto const generator = std::make_shared<std::mt19937>(seed);
  return [generator, exponent](Index3 const&) {
    return 1e-9 + (1 - 1e-9) * std::pow(std::uniform_real_distribution<double>(0, 1)(*generator), exponent);
  };
}

/// Moduli whose logarithm is at random.
inline ModulusField log_uniform(double lower, unsigned seed = 12345) {
  auto const generator = std::make_shared<std::mt19937>(seed);
  return [generator, lower](Index3 const&) {
    return std::pow(lower, std::uniform_real_distribution<double>(0, 1)(*generator));
  };
}

/// Fields without void between supports and loads that a vector of void would bridge.
inline std::vector<NamedField> connected_fields() {
  return {
      {"uniform", [](Index3 const&) { return 1.0; }},
      {"random densities", random_moduli(1)},
      {"isolated voids", [](Index3 const& c) { return c[0] % 3 == 1 && c[1] % 3 == 1 && c[2] % 3 == 0 ? 1e-9 : 1.0; }},
  };
}

/// Fields with a contrast of 1e9 at the scale of a cell. "half: ..." are a solid slab y < 4 with solid islands in void
/// beside it.
inline std::vector<NamedField> hard_fields() {
  constexpr double soft = 1e-9;
  auto fields = connected_fields();
  fields.push_back({"random densities cubed", random_moduli(3)});
  fields.push_back(
      {"solid or void at random", [draw = random_moduli(1, 3)](Index3 const& c) { return draw(c) < 0.5 ? 1 : soft; }});
  fields.push_back({"checkerboard", [](Index3 const& c) { return (c[0] + c[1] + c[2]) % 2 == 0 ? 1 : soft; }});
  fields.push_back(
      {"checkerboard of pairs", [](Index3 const& c) { return (c[0] / 2 + c[1] / 2 + c[2] / 2) % 2 == 0 ? 1 : soft; }});
  fields.push_back({"half: isolated cells", [](Index3 const& c) {
                      return c[1] < 4 || (c[0] % 3 == 1 && c[1] % 3 == 1 && c[2] % 3 == 0) ? 1 : soft;
                    }});
  fields.push_back({"half: a block", [](Index3 const& c) { return c[1] < 4 || (c[0] > 2 && c[1] > 5) ? 1 : soft; }});
  fields.push_back({"half: void", [](Index3 const& c) { return c[1] < 4 ? 1 : soft; }});
  return fields;
}

/// The face x = 0 fixed, forces on the nodes of the opposite one with y < 4 cells.
inline Body cantilever_body(BoxGrid const& grid, ModulusField const& field) {
  Body body{grid, moduli_on(grid, field), {}, {}, {}};
  body.mask.assign(static_cast<std::size_t>(grid.node_count()), 0);
  Index3 const last = grid.cells();
  auto const noise = random_values(grid.node_count(), 17, -0.2, 0.2);
  for (index_t node = 0; node < grid.node_count(); ++node) {
    Index3 const p = grid.node_indices(node);
    if (p[0] == 0) body.mask[static_cast<std::size_t>(node)] = 7;
    if (p[0] != last[0] || p[1] >= 4) continue;
    body.nodes.push_back(node);
    double const variation = noise[static_cast<std::size_t>(node)];
    body.forces.insert(body.forces.end(), {0.3 + variation, -1 + variation, 0.2 - variation});
  }
  return body;
}

/// A periodic cell without supports. `load` sets the force components, [3 node + d], which must be balanced.
inline Body periodic_cell(BoxGrid const& grid, std::vector<double> const& moduli, std::vector<double> const& load) {
  Body body{grid, moduli, {}, {}, load};
  for (index_t node = 0; node < grid.node_count(); ++node) body.nodes.push_back(node);
  return body;
}

/// Random forces without a resultant, [3 node + d].
inline std::vector<double> balanced_forces(BoxGrid const& grid, unsigned seed) {
  auto forces = random_values(grid.dof_count(), seed);
  for (std::size_t d = 0; d < 3; ++d) {
    double mean = 0;
    for (std::size_t i = d; i < forces.size(); i += 3) mean += forces[i] / static_cast<double>(grid.node_count());
    for (std::size_t i = d; i < forces.size(); i += 3) forces[i] -= mean;
  }
  return forces;
}

/// The forces of a unit strain (xx, yy, zz, yz, xz, xy), sum of E_e K0 chi with chi its linear displacement within the
/// cell; [3 node + d].
inline std::vector<double> strain_forces(BoxGrid const& grid, std::vector<double> const& moduli, int strain) {
  Vec3 const h = grid.spacing();
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), h);
  std::array<double, 24> cell{};
  for (std::size_t n = 0; n < 8; ++n) {
    Vec3 const x{h[0] * static_cast<double>(n & 1), h[1] * static_cast<double>((n >> 1) & 1),
                 h[2] * static_cast<double>(n >> 2)};
    Vec3 const chi[6] = {
        {x[0], 0, 0},           {0, x[1], 0}, {0, 0, x[2]}, {0, x[2] / 2, x[1] / 2}, {x[2] / 2, 0, x[0] / 2},
        {x[1] / 2, x[0] / 2, 0}};
    for (std::size_t r = 0; r < 24; ++r)
      for (std::size_t d = 0; d < 3; ++d) cell[r] += stiffness[r][3 * n + d] * chi[strain][d];
  }
  std::vector<double> forces(static_cast<std::size_t>(grid.dof_count()), 0.0);
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        auto const corner = cell_nodes(grid, i, j, k);
        double const modulus = moduli[static_cast<std::size_t>(grid.cell_index(i, j, k))];
        for (std::size_t r = 0; r < 24; ++r)
          forces[3 * static_cast<std::size_t>(corner[r / 3]) + r % 3] += modulus * cell[r];
      }
  return forces;
}

/// The translations, which are free in a periodic cell.
inline std::vector<RigidMotion> translations() {
  return {{{1, 0, 0}, {}, {}}, {{0, 1, 0}, {}, {}}, {{0, 0, 1}, {}, {}}};
}

/// A body with its operators, multigrid and solver.
template <class Space>
struct MultigridSystem {
  using memory_space = typename Space::memory_space;
  using vector = NodalVector<double, memory_space>;

  Space space;
  Body body;
  ElasticityOperator<Space, double> outer;
  ElasticityOperator<Space, float> inner;
  CellField<float, memory_space> moduli;
  FlexibleConjugateGradient<Space> cg;
  std::unique_ptr<ElasticityMultigrid<Space>> multigrid;
  NodalForces<memory_space> forces;
  vector u;

  /// Few degrees of freedom on the coarsest level, so that small grids have several.
  static MultigridSettings deep() {
    MultigridSettings settings;
    settings.coarsest_dofs = 100;
    return settings;
  }

  explicit MultigridSystem(Body const& of, MultigridSettings const& settings = deep())
      : body(of),
        outer(space, of.grid, of.stiffness(), ElasticityKernel::parity),
        inner(space, of.grid, of.stiffness(), ElasticityKernel::parity),
        moduli(to_device<CellField<float, memory_space>>(space, of.moduli, of.grid.cell_count())),
        cg(space, of.grid),
        u(allocate<vector>(space, "test::displacement", of.grid.node_count())) {
    inner.set_moduli(moduli);
    if (!body.mask.empty()) {
      auto const mask = to_device<NodeMask<memory_space>>(space, body.mask, body.grid.node_count());
      inner.set_constraints(space, mask);
      outer.set_constraints(space, mask);
    }
    forces.nodes = to_device<decltype(forces.nodes)>(space, body.nodes, static_cast<index_t>(body.nodes.size()));
    forces.forces = to_device<decltype(forces.forces)>(space, body.forces, static_cast<index_t>(body.forces.size()));
    multigrid = std::make_unique<ElasticityMultigrid<Space>>(space, inner, settings, cg.temporary());
    multigrid->update(space);
  }

  void set_moduli(std::vector<double> const& values) {
    body.moduli = values;
    Kokkos::deep_copy(space, moduli, to_device<CellField<float, memory_space>>(space, values, body.grid.cell_count()));
    multigrid->update(space);
  }

  SolveResult solve(double tolerance = 1e-5, int max_iterations = 300) {
    return cg.solve(space, outer, inner, *multigrid, forces, u, {tolerance, max_iterations});
  }

  /// z = B r
  std::vector<double> precondition(std::vector<double> const& r, MultigridCycle const& cycle = {}) const {
    using inner_vector = NodalVector<float, memory_space>;
    auto const z = allocate<inner_vector>(space, "test::z", body.grid.node_count());
    multigrid->apply(space, to_device<inner_vector>(space, r, body.grid.node_count()), z, cycle);
    return to_host(z);
  }

  /// |f - K u| / |f| in plain loops
  double residual() const {
    auto const f = body.load();
    auto const w = reference_apply(body.grid, body.stiffness(), body.moduli, body.mask, to_host(u));
    double residual = 0, norm = 0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      residual += (f[i] - w[i]) * (f[i] - w[i]);
      norm += f[i] * f[i];
    }
    return std::sqrt(residual / norm);
  }
};

}  // namespace brickwork::test
