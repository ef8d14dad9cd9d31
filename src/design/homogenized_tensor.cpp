// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/homogenized_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/design/detail/cell_problem_kernels.hpp"
#include "brickwork/design/state_solver.hpp"
#include "brickwork/fem/material.hpp"
#include "brickwork/solvers/detail/cg_kernels.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"
#include "brickwork/solvers/detail/strain_force.hpp"

namespace brickwork {

namespace {

std::vector<RigidMotion> translations() {
  std::vector<RigidMotion> modes(3);
  for (std::size_t axis = 0; axis < 3; ++axis) modes[axis].translation[axis] = 1;
  return modes;
}

FieldStorage resolved(FieldStorage storage, StrainPlan const& plan) {
  if (storage != FieldStorage::automatic) return storage;
  return plan.strains.size() == 1 ? FieldStorage::fp64 : FieldStorage::fp32;
}

index_t component_bytes(FieldStorage storage) {
  return storage == FieldStorage::fp64 ? 8 : (storage == FieldStorage::fp32 ? 4 : 2);
}

}  // namespace

/// The second element matrix, where there is one, and its moduli.
template <class ExecutionSpace>
struct HomogenizationSolver<ExecutionSpace>::Second {
  std::optional<Hex8Matrix> const& stiffness;
  moduli_type const& moduli;
};

/// What solves K u = f for one strain.
template <class ExecutionSpace>
class HomogenizationSolver<ExecutionSpace>::Method {
 public:
  virtual ~Method() = default;
  virtual void update(ExecutionSpace const& space) = 0;
  virtual SolveResult solve(ExecutionSpace const& space, Vector6 const& strain, vector_type const& u,
                            SolveOptions const& options) = 0;
  virtual Kokkos::View<float*, memory_space> scratch() const = 0;
};

template <class ExecutionSpace>
class HomogenizationSolver<ExecutionSpace>::Multigrid final : public Method {
 public:
  Multigrid(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, moduli_type const& moduli,
            Second const& second, NodeMask<memory_space> const& pinned, MultigridSettings const& settings)
      : outer_(space, grid, stiffness, ElasticityKernel::parity),
        inner_(space, grid, stiffness, ElasticityKernel::parity),
        cg_(space, grid),
        adaptive_(settings.krylov_levels < 0) {
    inner_.set_moduli(moduli);
    if (pinned.extent(0) > 0) {
      outer_.set_constraints(space, pinned);
      inner_.set_constraints(space, pinned);
    } else {
      cg_.set_free_modes(translations());
    }
    if (second.stiffness) cg_.add_stiffness(space, *second.stiffness, second.moduli, pinned);
    multigrid_ = std::make_unique<ElasticityMultigrid<ExecutionSpace>>(space, inner_, settings, cg_.temporary());
  }
  void update(ExecutionSpace const& space) override { multigrid_->update(space); }
  SolveResult solve(ExecutionSpace const& space, Vector6 const& strain, vector_type const& u,
                    SolveOptions const& options) override {
    SolveOptions adapted = options;
    adapted.adaptive_cycle = adapted.judge_cycle = adaptive_;
    return cg_.solve(space, outer_, inner_, *multigrid_, StrainLoad{strain}, u, adapted);
  }
  Kokkos::View<float*, memory_space> scratch() const override { return cg_.block(); }

  static index_t bytes(BoxGrid const& grid, MultigridSettings const& settings) {
    return FlexibleConjugateGradient<ExecutionSpace>::bytes(grid) +
           ElasticityMultigrid<ExecutionSpace>::bytes(grid, false, settings);
  }

 private:
  ElasticityOperator<ExecutionSpace, double> outer_;
  ElasticityOperator<ExecutionSpace, float> inner_;
  FlexibleConjugateGradient<ExecutionSpace> cg_;
  bool adaptive_;
  std::unique_ptr<ElasticityMultigrid<ExecutionSpace>> multigrid_;
};

/// Conjugate gradients with the diagonal, in one or two precisions.
template <class ExecutionSpace>
template <class Outer, class Inner>
class HomogenizationSolver<ExecutionSpace>::Jacobi final : public Method {
  static constexpr bool same = std::is_same_v<Outer, Inner>;
  using outer_vector = NodalVector<Outer, memory_space>;
  using outer_moduli = CellField<Outer, memory_space>;
  using outer_added = AddedStiffness<ExecutionSpace, Outer>;
  using inner_added = AddedStiffness<ExecutionSpace, Inner>;

 public:
  Jacobi(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, moduli_type const& moduli,
         Second const& second, NodeMask<memory_space> const& pinned, StateKernels const& kernels)
      : grid_(grid),
        moduli_(moduli),
        outer_(space, grid, stiffness, kernels.outer),
        inner_(space, grid, stiffness, kernels.inner),
        cg_(space, grid),
        f_(allocate<outer_vector>(space, "brickwork::HomogenizationSolver::load", grid.node_count())),
        scratch_(allocate<Kokkos::View<float*, memory_space>>(space, "brickwork::HomogenizationSolver::scratch",
                                                              scratch_floats * grid.cell_count())),
        workspace_(space),
        sums_(allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::HomogenizationSolver::load_norm", 2)) {
    if constexpr (std::is_same_v<Outer, float>) {
      outer_moduli_ = moduli;
      u_ = allocate<outer_vector>(space, "brickwork::HomogenizationSolver::displacement", grid.node_count());
    } else {
      outer_moduli_ = allocate<outer_moduli>(space, "brickwork::HomogenizationSolver::moduli", grid.cell_count());
    }
    outer_.set_moduli(outer_moduli_);
    if constexpr (!same) inner_.set_moduli(moduli);
    if (pinned.extent(0) > 0) {
      outer_.set_constraints(space, pinned);
      if constexpr (!same) inner_.set_constraints(space, pinned);
    } else {
      cg_.set_free_modes(translations());
    }
    if (second.stiffness) add_stiffness(space, second, pinned);
  }

  void update(ExecutionSpace const& space) override {
    if constexpr (!std::is_same_v<Outer, float>) {
      Kokkos::deep_copy(space, outer_moduli_, moduli_);
      if (second_stiffness_) Kokkos::deep_copy(space, outer_second_moduli_, second_moduli_);
    }
    outer_.update(space);
    if constexpr (!same) inner_.update(space);
    cg_.operator_changed();
  }

  SolveResult solve(ExecutionSpace const& space, Vector6 const& strain, vector_type const& u,
                    SolveOptions const& options) override {
    detail::StrainForce const force(moduli_.data(), grid_, outer_.stiffness(), strain);
    bool loaded = false;
    if (second_stiffness_) {
      detail::StrainForcePair const pair{force, {second_moduli_.data(), grid_, *second_stiffness_, strain}};
      store_load(space, pair);
      loaded = has_load(space, pair);
    } else {
      store_load(space, force);
      loaded = has_load(space, force);
    }
    for_each("brickwork::HomogenizationSolver::pinned", space,
             static_cast<index_t>(outer_.constrained_nodes().extent(0)),
             detail::ClearConstrained<Outer>{outer_.constrained_nodes().data(), outer_.constraints().data(), f_.data(),
                                             static_cast<index_t>(f_.stride(1))});
    if (!loaded) {
      Kokkos::deep_copy(space, u, 0.0);
      return {};
    }
    if constexpr (std::is_same_v<Outer, float>) {
      Kokkos::deep_copy(space, u_, u);
      SolveResult const result = cg_.solve(space, outer_, outer_, f_, u_, options);
      Kokkos::deep_copy(space, u, u_);
      return result;
    } else if constexpr (same) {
      return cg_.solve(space, outer_, outer_, f_, u, options);
    } else {
      return cg_.solve(space, outer_, inner_, f_, u, options);
    }
  }
  Kokkos::View<float*, memory_space> scratch() const override { return scratch_; }

  static index_t bytes(BoxGrid const& grid, bool has_second) {
    index_t const outer = sizeof(Outer);
    index_t const per_node = 3 * outer + (std::is_same_v<Outer, float> ? 12 : 0);
    index_t const per_cell = 4 * scratch_floats + (std::is_same_v<Outer, float> ? 0 : (has_second ? 2 * outer : outer));
    return per_node * grid.node_count() + per_cell * grid.cell_count() +
           ConjugateGradient<ExecutionSpace, Outer, Inner>::bytes(grid);
  }

 private:
  void add_stiffness(ExecutionSpace const& space, Second const& second, NodeMask<memory_space> const& pinned) {
    second_stiffness_ = second.stiffness;
    second_moduli_ = second.moduli;
    auto const outer = std::make_shared<outer_added>(space, grid_, *second_stiffness_);
    if constexpr (std::is_same_v<Outer, float>) {
      outer->set_moduli(second_moduli_);
    } else {
      outer_second_moduli_ =
          allocate<outer_moduli>(space, "brickwork::HomogenizationSolver::second_moduli", grid_.cell_count());
      outer->set_moduli(outer_second_moduli_);
    }
    if (pinned.extent(0) > 0) outer->set_constraints(space, pinned);
    if constexpr (same) {
      cg_.add_stiffness(outer, outer);
    } else {
      auto const inner = std::make_shared<inner_added>(space, grid_, *second_stiffness_);
      inner->set_moduli(second_moduli_);
      if (pinned.extent(0) > 0) inner->set_constraints(space, pinned);
      cg_.add_stiffness(outer, inner);
    }
  }

  template <class Force>
  void store_load(ExecutionSpace const& space, Force const& force) {
    for_each("brickwork::HomogenizationSolver::load", space, grid_.node_count(),
             detail::StrainForceStore<Outer, Force>{force, f_.data(), static_cast<index_t>(f_.stride(1)), false});
  }

  template <class Force>
  bool has_load(ExecutionSpace const& space, Force const& force) {
    sum_each<2>("brickwork::HomogenizationSolver::load_norm", space, grid_.node_count(),
                detail::StrainForceNorm<Force>{force}, workspace_, StoreSums<2>{sums_.data()});
    auto const host = Kokkos::create_mirror_view(sums_);
    Kokkos::deep_copy(space, host, sums_);
    fence(space, "brickwork::HomogenizationSolver::load_norm");
    return std::sqrt(host(0)) > detail::strain_force_rounding * std::sqrt(host(1));
  }

  BoxGrid grid_;
  moduli_type moduli_, second_moduli_;
  std::optional<Hex8Matrix> second_stiffness_;
  ElasticityOperator<ExecutionSpace, Outer> outer_;
  ElasticityOperator<ExecutionSpace, Inner> inner_;  // not used where the precisions agree
  ConjugateGradient<ExecutionSpace, Outer, Inner> cg_;
  outer_moduli outer_moduli_, outer_second_moduli_;
  outer_vector f_, u_;
  Kokkos::View<float*, memory_space> scratch_;
  SumWorkspace<ExecutionSpace> workspace_;
  Kokkos::View<double*, memory_space> sums_;
};

template <class ExecutionSpace>
HomogenizationSolver<ExecutionSpace>::HomogenizationSolver(ExecutionSpace const& space, BoxGrid const& grid,
                                                           Hex8Matrix const& stiffness, StrainPlan const& plan,
                                                           SolverSettings const& settings, FieldStorage storage,
                                                           Translations translations,
                                                           std::optional<Hex8Matrix> const& second)
    : grid_(grid),
      stiffness_(stiffness),
      plan_(plan),
      method_(state_method(stiffness, settings)),
      storage_(resolved(storage, plan)),
      second_(second),
      workspace_(space) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    BRICKWORK_REQUIRE(grid.periodic()[axis], "HomogenizationSolver: the grid is not periodic along ",
                      static_cast<char>('x' + axis), "; a cell repeats along every axis");
  BRICKWORK_REQUIRE(has_parity_form(stiffness) && (!second || has_parity_form(*second)),
                    "HomogenizationSolver: the element matrix has no parity form");
  BRICKWORK_REQUIRE(!plan.strains.empty(), "HomogenizationSolver: the plan has no strain to solve for");
  if (plan.cubic && !plan.single) {
    Index3 const n = grid.cells();
    BRICKWORK_REQUIRE(n[0] == n[1] && n[1] == n[2], "HomogenizationSolver: a cubic cell has as many cells along every ",
                      "axis; this one has ", n[0], " x ", n[1], " x ", n[2]);
  }
  moduli_ = allocate<moduli_type>(space, "brickwork::HomogenizationSolver::moduli", grid.cell_count());
  Kokkos::deep_copy(space, moduli_, 1.0f);
  if (second_) {
    second_moduli_ = allocate<moduli_type>(space, "brickwork::HomogenizationSolver::second_moduli", grid.cell_count());
    Kokkos::deep_copy(space, second_moduli_, 0.0f);
  }
  NodeMask<memory_space> pinned;
  if (translations == Translations::pin) {
    pinned = allocate<NodeMask<memory_space>>(space, "brickwork::HomogenizationSolver::pinned", grid.node_count());
    Kokkos::deep_copy(space, Kokkos::subview(pinned, 0), std::uint8_t(7));
  }
  Second const parts{second_, second_moduli_};
  if (method_ == SolverMethod::multigrid) {
    solver_ = std::make_unique<Multigrid>(space, grid, stiffness, moduli_, parts, pinned, multigrid_settings(settings));
  } else {
    StateKernels const kernels = state_kernels(stiffness, settings);
    switch (settings.precision) {
      case Precision::fp64:
        solver_ = std::make_unique<Jacobi<double, double>>(space, grid, stiffness, moduli_, parts, pinned, kernels);
        break;
      case Precision::fp32:
        solver_ = std::make_unique<Jacobi<float, float>>(space, grid, stiffness, moduli_, parts, pinned, kernels);
        break;
      case Precision::mixed:
        solver_ = std::make_unique<Jacobi<double, float>>(space, grid, stiffness, moduli_, parts, pinned, kernels);
        break;
    }
  }
  index_t const doubles_each = (3 * component_bytes(storage_) * grid.node_count() + 7) / 8;
  for (std::size_t s = 0; s < plan.strains.size(); ++s) {
    fields_.push_back(
        allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::HomogenizationSolver::field", doubles_each));
    scales_.push_back(0);
  }
  if (storage_ != FieldStorage::fp64)
    work_ = allocate<vector_type>(space, "brickwork::HomogenizationSolver::work", grid.node_count());
  sums_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::HomogenizationSolver::sums", 6);
  fence(space, "brickwork::HomogenizationSolver::HomogenizationSolver");
}

template <class ExecutionSpace>
HomogenizationSolver<ExecutionSpace>::~HomogenizationSolver() = default;

template <class ExecutionSpace>
index_t HomogenizationSolver<ExecutionSpace>::bytes(BoxGrid const& grid, Hex8Matrix const& stiffness,
                                                    StrainPlan const& plan, SolverSettings const& settings,
                                                    FieldStorage storage, bool has_second) {
  FieldStorage const kept = resolved(storage, plan);
  auto const strains = static_cast<index_t>(plan.strains.size());
  index_t total = (has_second ? 8 : 4) * grid.cell_count() + strains * 3 * component_bytes(kept) * grid.node_count();
  if (kept != FieldStorage::fp64) total += 24 * grid.node_count();
  if (state_method(stiffness, settings) == SolverMethod::multigrid)
    return total + Multigrid::bytes(grid, multigrid_settings(settings));
  total += state_kernel_bytes(grid, settings, state_kernels(stiffness, settings));
  switch (settings.precision) {
    case Precision::fp64:
      return total + Jacobi<double, double>::bytes(grid, has_second);
    case Precision::fp32:
      return total + Jacobi<float, float>::bytes(grid, has_second);
    case Precision::mixed:
      break;
  }
  return total + Jacobi<double, float>::bytes(grid, has_second);
}

namespace {

template <class ExecutionSpace>
NodalVector<double, typename ExecutionSpace::memory_space> in_place(
    Kokkos::View<double*, typename ExecutionSpace::memory_space> const& field, BoxGrid const& grid) {
  return Kokkos::View<double* [3], Kokkos::LayoutLeft, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>(
      field.data(), static_cast<std::size_t>(grid.node_count()));
}

}  // namespace

template <class ExecutionSpace>
void HomogenizationSolver<ExecutionSpace>::field(ExecutionSpace const& space, int strain,
                                                 vector_type const& into) const {
  auto const s = static_cast<std::size_t>(strain);
  BRICKWORK_REQUIRE(strain >= 0 && s < fields_.size(), "HomogenizationSolver::field: strain ", strain, " of ",
                    fields_.size());
  BRICKWORK_REQUIRE(static_cast<index_t>(into.extent(0)) == grid_.node_count() && into.span_is_contiguous(),
                    "HomogenizationSolver::field: a contiguous vector of ", grid_.node_count(),
                    " nodes is needed; this one has ", into.extent(0));
  detail::StoredField const stored{fields_[s].data(), grid_.node_count(), storage_, scales_[s]};
  for_each("brickwork::HomogenizationSolver::field", space, grid_.dof_count(), detail::LoadField{stored, into.data()});
}

template <class ExecutionSpace>
HomogenizationReport HomogenizationSolver<ExecutionSpace>::solve(ExecutionSpace const& space,
                                                                 SolveOptions const& options) {
  ScopedRegion const region("brickwork::HomogenizationSolver::solve");
  if (changed_) solver_->update(space);
  changed_ = false;
  HomogenizationReport report;
  index_t const dofs = grid_.dof_count();
  for (std::size_t s = 0; s < fields_.size(); ++s) {
    bool const direct = storage_ == FieldStorage::fp64;
    vector_type const u = direct ? in_place<ExecutionSpace>(fields_[s], grid_) : work_;
    if (cold_) {
      Kokkos::deep_copy(space, u, 0.0);
    } else if (!direct) {
      field(space, static_cast<int>(s), u);
    }
    SolveResult const result = solver_->solve(space, plan_.strains[s], u, options);
    report.iterations += result.iterations;
    report.most_iterations = std::max(report.most_iterations, result.iterations);
    report.true_residual = std::max(report.true_residual, result.true_relative_residual);
    report.status = worse(report.status, result.status);
    if (storage_ == FieldStorage::fp32) {
      for_each("brickwork::HomogenizationSolver::store", space, dofs,
               detail::StoreField<float>{u.data(), reinterpret_cast<float*>(fields_[s].data()), 1.0});
    } else if (storage_ == FieldStorage::int16) {
      double largest = 0;
      Kokkos::parallel_reduce("brickwork::HomogenizationSolver::largest", range(space, dofs),
                              detail::LargestComponent{u.data()}, Kokkos::Max<double>(largest));
      scales_[s] = largest / 32767;
      for_each("brickwork::HomogenizationSolver::store", space, dofs,
               detail::StoreField<std::int16_t>{u.data(), reinterpret_cast<std::int16_t*>(fields_[s].data()),
                                                largest > 0 ? 32767 / largest : 0.0});
    }
  }
  cold_ = false;
  fence(space, "brickwork::HomogenizationSolver::solve");
  return report;
}

namespace {

detail::StrainFields strain_fields(BoxGrid const& grid, Hex8Matrix const& stiffness) {
  detail::StrainFields fields{};
  for (std::size_t axis = 0; axis < 3; ++axis) fields.n[axis] = grid.cells()[axis];
  detail::copy_blocks(parity_blocks(stiffness), fields.parity);
  return fields;
}

double volume(BoxGrid const& grid) { return grid.lengths()[0] * grid.lengths()[1] * grid.lengths()[2]; }

}  // namespace

template <class ExecutionSpace>
detail::StrainFields HomogenizationSolver<ExecutionSpace>::fields() const {
  detail::StrainFields all = strain_fields(grid_, stiffness_);
  for (std::size_t s = 0; s < 6; ++s) {
    StrainPlan::Unit const unit = plan_.single ? StrainPlan::Unit{s == 0 ? 0 : -1, 0} : plan_.unit[s];
    if (unit.solve < 0) continue;
    auto const index = static_cast<std::size_t>(unit.solve);
    all.field[s].u = {fields_[index].data(), grid_.node_count(), storage_, scales_[index]};
    all.field[s].turns = unit.turns;
    all.field[s].set_strain(grid_.spacing(), plan_.single ? plan_.strains[0] : unit_strain(s));
  }
  return all;
}

// Sums of E_e d_s . K0 d_t over the cells for the fields s in `list`; t comes first where it is one of them.
template <class ExecutionSpace>
std::vector<double> HomogenizationSolver<ExecutionSpace>::energies(ExecutionSpace const& space, int t,
                                                                   std::vector<int> const& list) {
  auto const sum = [&](auto kernel) {
    std::copy(list.begin(), list.end(), kernel.list);
    sum_each<6>("brickwork::HomogenizationSolver::tensor", space, grid_.cell_count(), kernel, workspace_,
                StoreSums<6>{sums_.data()});
  };
  auto const count = static_cast<int>(list.size());
  if (second_) {
    detail::SecondStiffness second{second_moduli_.data(), {}};
    detail::copy_blocks(parity_blocks(*second_), second.parity);
    sum(detail::PairEnergies<detail::SecondStiffness>{fields(), moduli_.data(), t, count, {}, second});
  } else {
    sum(detail::PairEnergies<detail::OneStiffness>{fields(), moduli_.data(), t, count, {}, {}});
  }
  auto const host = Kokkos::create_mirror_view(sums_);
  Kokkos::deep_copy(space, host, sums_);
  fence(space, "brickwork::HomogenizationSolver::tensor");
  std::vector<double> values;
  for (std::size_t i = 0; i < list.size(); ++i) values.push_back(host(i) / volume(grid_));
  return values;
}

template <class ExecutionSpace>
Tensor6 HomogenizationSolver<ExecutionSpace>::tensor(ExecutionSpace const& space) {
  Tensor6 c{};
  if (plan_.single) {
    Vector6 const& v = plan_.strains[0];
    double squared = 0;
    for (double component : v) squared += component * component;
    double const energy = energies(space, 0, {0})[0];
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) c[i][j] = energy * v[i] * v[j] / (squared * squared);
    return c;
  }
  if (plan_.cubic) {
    if (plan_.unit[0].solve >= 0) {
      auto const normal = energies(space, 0, {0, 1});
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) c[i][j] = i == j ? normal[0] : normal[1];
    }
    if (plan_.unit[3].solve >= 0) c[3][3] = c[4][4] = c[5][5] = energies(space, 3, {3})[0];
    return c;
  }
  for (int t = 0; t < 6; ++t) {
    if (plan_.unit[static_cast<std::size_t>(t)].solve < 0) continue;
    std::vector<int> list{t};
    for (int s = 0; s < t; ++s)
      if (plan_.unit[static_cast<std::size_t>(s)].solve >= 0) list.push_back(s);
    auto const column = energies(space, t, list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto const s = static_cast<std::size_t>(list[i]);
      c[s][static_cast<std::size_t>(t)] = c[static_cast<std::size_t>(t)][s] = column[i];
    }
  }
  return c;
}

template <class ExecutionSpace>
template <class Real>
void HomogenizationSolver<ExecutionSpace>::sensitivity(ExecutionSpace const& space, Tensor6 const& derivative,
                                                       double factor, CellField<Real, memory_space> const& out) {
  BRICKWORK_REQUIRE(static_cast<index_t>(out.extent(0)) == grid_.cell_count(),
                    "HomogenizationSolver::sensitivity: ", out.extent(0), " values; the grid has ", grid_.cell_count(),
                    " cells");
  double const scale = factor / volume(grid_);
  bool add = false;
  auto const launch = [&](int t, std::array<double, 6> const& weights) {
    if (weights == std::array<double, 6>{}) return;
    detail::PairSensitivity<Real> kernel{fields(), t, {}, add, out.data()};
    for (std::size_t s = 0; s < 6; ++s) kernel.weight[s] = scale * weights[s];
    for_each("brickwork::HomogenizationSolver::sensitivity", space, grid_.cell_count(), kernel);
    add = true;
  };
  if (plan_.single) {
    // d(v . C v) counts: the derivative's part along v v^T
    Vector6 const& v = plan_.strains[0];
    double squared = 0, along = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      squared += v[i] * v[i];
      for (std::size_t j = 0; j < 6; ++j) along += v[i] * derivative[i][j] * v[j];
    }
    launch(0, {along / (squared * squared), 0, 0, 0, 0, 0});
  } else if (plan_.cubic) {
    double same = 0, other = 0, shear = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      shear += derivative[i + 3][i + 3];
      for (std::size_t j = 0; j < 3; ++j) (i == j ? same : other) += derivative[i][j];
    }
    launch(0, {same, other, 0, 0, 0, 0});
    launch(3, {0, 0, 0, shear, 0, 0});
  } else {
    for (std::size_t t = 0; t < 6; ++t) {
      std::array<double, 6> weights{};
      for (std::size_t s = 0; s <= t; ++s) {
        weights[s] = s == t ? derivative[s][t] : derivative[s][t] + derivative[t][s];
        BRICKWORK_REQUIRE(weights[s] == 0 || (plan_.unit[s].solve >= 0 && plan_.unit[t].solve >= 0),
                          "HomogenizationSolver::sensitivity: the plan has no fields for C", s + 1, t + 1);
      }
      launch(static_cast<int>(t), weights);
    }
  }
  if (!add) Kokkos::deep_copy(space, out, Real(0));
}

template <class ExecutionSpace>
Kokkos::View<float*, typename ExecutionSpace::memory_space> HomogenizationSolver<ExecutionSpace>::scratch() const {
  return solver_->scratch();
}

namespace {

/// Counts what is no modulus, and no Poisson's ratio where there is material.
struct CheckModuli {
  double const *moduli, *poisson;  // null: one ratio, checked
  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    double const modulus = moduli[cell];
    if (!(modulus >= 0 && modulus < 1e300)) sums[0] += 1;
    if (poisson != nullptr && modulus > 0 && !(poisson[cell] > -1 && poisson[cell] < 0.5)) sums[1] += 1;
  }
};
struct LargestModulus {
  double const* moduli;
  KOKKOS_FUNCTION void operator()(index_t cell, double& largest) const { largest = math::max(largest, moduli[cell]); }
};
/// The largest Poisson's ratio of the cells of the largest modulus.
struct StiffestRatio {
  double const *moduli, *poisson;
  double unit;
  KOKKOS_FUNCTION void operator()(index_t cell, double& largest) const {
    if (moduli[cell] == unit) largest = math::max(largest, poisson[cell]);
  }
};
struct ScaleModuli {
  double const* from;
  double unit;
  float* to;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    to[cell] = static_cast<float>(math::max(from[cell] / unit, 1e-9));
  }
};
/// IsotropicSplit per cell; void has the reference ratio.
struct SplitModuli {
  double const *moduli, *poisson;
  double unit, reference;
  float *to, *to_second;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    double const young = moduli[cell] / unit;
    bool const is_void = young <= 1e-9;
    double const nu = poisson[cell];
    double const shear = young * ((1 + reference) / (1 + nu)), bulk = young * ((1 - 2 * reference) / (1 - 2 * nu));
    constexpr double weight = IsotropicSplit::bulk_weight;
    to[cell] = is_void ? 1e-9f : static_cast<float>((1 - weight) * shear + weight * bulk);
    to_second[cell] = is_void ? 0.0f : static_cast<float>(bulk - shear);
  }
};

// \param fill writes the moduli of the solver
template <class ExecutionSpace, class Fill>
Tensor6 tensor_of(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                  std::optional<Hex8Matrix> const& second, double unit, SolverSettings const& settings,
                  HomogenizationReport* report, Fill const& fill) {
  HomogenizationSolver<ExecutionSpace> solver(space, grid, stiffness, full_strain_plan(), settings,
                                              FieldStorage::automatic, Translations::project, second);
  fill(solver);
  solver.moduli_changed();
  HomogenizationReport const solved = solver.solve(space, {settings.tolerance, settings.max_iterations});
  if (report) *report = solved;
  if (!report && solved.status != SolveStatus::converged)
    throw Error("homogenized_tensor: a solve " + to_string(solved.status) + " at a residual of " +
                std::to_string(solved.true_residual));
  Tensor6 c = solver.tensor(space);
  for (auto& row : c)
    for (double& entry : row) entry *= unit;
  return c;
}

// The largest modulus of a field that can be meant.
template <class ExecutionSpace>
double checked_unit(ExecutionSpace const& space, BoxGrid const& grid,
                    CellField<double const, typename ExecutionSpace::memory_space> const& moduli,
                    double const* poisson) {
  index_t const cells = grid.cell_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(moduli.extent(0)) == cells, "homogenized_tensor: ", moduli.extent(0),
                    " moduli; the grid has ", cells, " cells");
  SumWorkspace<ExecutionSpace> const workspace(space);
  auto const wrong =
      allocate<Kokkos::View<double*, typename ExecutionSpace::memory_space>>(space, "brickwork::homogenized_tensor", 2);
  sum_each<2>("brickwork::homogenized_tensor::check", space, cells, CheckModuli{moduli.data(), poisson}, workspace,
              StoreSums<2>{wrong.data()});
  auto const host = Kokkos::create_mirror_view(wrong);
  Kokkos::deep_copy(space, host, wrong);
  double unit = 0;
  Kokkos::parallel_reduce("brickwork::homogenized_tensor::largest", range(space, cells), LargestModulus{moduli.data()},
                          Kokkos::Max<double>(unit));
  fence(space, "brickwork::homogenized_tensor::check");
  BRICKWORK_REQUIRE(host(0) == 0, "homogenized_tensor: ", host(0),
                    " moduli are negative or not finite; they must lie in [0, 1e300)");
  BRICKWORK_REQUIRE(host(1) == 0, "homogenized_tensor: ", host(1),
                    " Poisson's ratios of cells with material are out of range; they must lie in (-1, 0.5)");
  BRICKWORK_REQUIRE(unit > 0, "homogenized_tensor: the cell is empty: all moduli are zero");
  return unit;
}

}  // namespace

template <class ExecutionSpace>
Tensor6 homogenized_tensor(ExecutionSpace const& space, BoxGrid const& grid,
                           CellField<double const, typename ExecutionSpace::memory_space> const& moduli, double poisson,
                           SolverSettings const& settings, HomogenizationReport* report) {
  double const unit = checked_unit(space, grid, moduli, nullptr);
  return tensor_of(space, grid, hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, poisson}), grid.spacing()), {},
                   unit, settings, report, [&](HomogenizationSolver<ExecutionSpace> const& solver) {
                     for_each("brickwork::homogenized_tensor::scale", space, grid.cell_count(),
                              ScaleModuli{moduli.data(), unit, solver.moduli().data()});
                   });
}

template <class ExecutionSpace>
Tensor6 homogenized_tensor(ExecutionSpace const& space, BoxGrid const& grid,
                           CellField<double const, typename ExecutionSpace::memory_space> const& moduli,
                           CellField<double const, typename ExecutionSpace::memory_space> const& poisson,
                           SolverSettings const& settings, HomogenizationReport* report) {
  index_t const cells = grid.cell_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(poisson.extent(0)) == cells, "homogenized_tensor: ", poisson.extent(0),
                    " Poisson's ratios; the grid has ", cells, " cells");
  double const unit = checked_unit(space, grid, moduli, poisson.data());
  IsotropicSplit split;
  Kokkos::parallel_reduce("brickwork::homogenized_tensor::reference", range(space, cells),
                          StiffestRatio{moduli.data(), poisson.data(), unit}, Kokkos::Max<double>(split.reference));
  fence(space, "brickwork::homogenized_tensor::reference");
  return tensor_of(space, grid, hex8_stiffness(split.first_matrix(), grid.spacing()),
                   hex8_stiffness(split.second_matrix(), grid.spacing()), unit, settings, report,
                   [&](HomogenizationSolver<ExecutionSpace> const& solver) {
                     for_each("brickwork::homogenized_tensor::split", space, cells,
                              SplitModuli{moduli.data(), poisson.data(), unit, split.reference, solver.moduli().data(),
                                          solver.second_moduli().data()});
                   });
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                             \
  template class HomogenizationSolver<SPACE>;                                                                    \
  template void HomogenizationSolver<SPACE>::sensitivity<float>(SPACE const&, Tensor6 const&, double,            \
                                                                CellField<float, SPACE::memory_space> const&);   \
  template void HomogenizationSolver<SPACE>::sensitivity<double>(SPACE const&, Tensor6 const&, double,           \
                                                                 CellField<double, SPACE::memory_space> const&); \
  template Tensor6 homogenized_tensor<SPACE>(SPACE const&, BoxGrid const&,                                       \
                                             CellField<double const, SPACE::memory_space> const&, double,        \
                                             SolverSettings const&, HomogenizationReport*);                      \
  template Tensor6 homogenized_tensor<SPACE>(                                                                    \
      SPACE const&, BoxGrid const&, CellField<double const, SPACE::memory_space> const&,                         \
      CellField<double const, SPACE::memory_space> const&, SolverSettings const&, HomogenizationReport*);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
