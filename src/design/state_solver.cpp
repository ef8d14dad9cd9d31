// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/state_solver.hpp"

#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_tensor_core.hpp"

namespace brickwork {

namespace detail {

template <class Scalar>
struct LoadWork {
  index_t const* nodes;
  double const* forces;  // [3 i + d]
  Scalar const* u;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t i, double& sum) const {
    for (int d = 0; d < 3; ++d) sum += forces[3 * i + d] * static_cast<double>(u[nodes[i] + d * stride]);
  }
};

template <class Scalar>
struct LoadFill {
  index_t const* nodes;
  double const* forces;
  Scalar* f;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    for (int d = 0; d < 3; ++d) f[nodes[i] + d * stride] = static_cast<Scalar>(forces[3 * i + d]);
  }
};

struct MaskFill {
  index_t const* nodes;
  std::uint8_t const* bits;
  std::uint8_t* mask;
  KOKKOS_FUNCTION void operator()(index_t i) const { mask[nodes[i]] = bits[i]; }
};

/// Loads, supports and displacements, whatever solves.
template <class ExecutionSpace, class Real, class Outer>
class StateSolverBase : public StateSolver<ExecutionSpace, Real> {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using vector_type = NodalVector<Outer, memory_space>;
  using typename StateSolver<ExecutionSpace, Real>::const_field_type;
  using typename StateSolver<ExecutionSpace, Real>::field_type;

  StateSolverBase(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                  BoundaryConditions const& conditions, ElasticityKernel kernel)
      : grid_(grid), outer_(space, grid, stiffness, kernel) {
    index_t const nodes = grid.node_count();
    mask_ = allocate<NodeMask<memory_space>>(space, "brickwork::StateSolver::mask", nodes);
    std::vector<index_t> fixed_nodes;
    std::vector<std::uint8_t> bits;
    for (auto const& [node, bit] : conditions.constraints) {
      fixed_nodes.push_back(node);
      bits.push_back(bit);
    }
    auto const device_nodes =
        upload<Kokkos::View<index_t*, memory_space>>(fixed_nodes, "brickwork::StateSolver::fixed");
    auto const device_bits = upload<Kokkos::View<std::uint8_t*, memory_space>>(bits, "brickwork::StateSolver::bits");
    Kokkos::parallel_for("brickwork::StateSolver::mask", range(space, static_cast<index_t>(bits.size())),
                         MaskFill{device_nodes.data(), device_bits.data(), mask_.data()});
    outer_.set_constraints(space, mask_);  // waits: what was uploaded may go
    for (auto const& load_case : conditions.load_cases) {
      std::vector<index_t> load_nodes;
      std::vector<double> forces;
      for (auto const& load : load_case) {
        load_nodes.push_back(load.node);
        forces.insert(forces.end(), load.force.begin(), load.force.end());
      }
      forces_.push_back({upload<Kokkos::View<index_t*, memory_space>>(load_nodes, "brickwork::StateSolver::load_nodes"),
                         upload<Kokkos::View<double*, memory_space>>(forces, "brickwork::StateSolver::forces")});
      u_.push_back(allocate<vector_type>(space, "brickwork::StateSolver::displacement", nodes));
    }
  }

  double compliance(ExecutionSpace const& space, int load_case) const override {
    auto const c = static_cast<std::size_t>(load_case);
    double work = 0;
    Kokkos::parallel_reduce("brickwork::StateSolver::compliance", range(space, load_count(c)),
                            LoadWork<Outer>{forces_[c].nodes.data(), forces_[c].forces.data(), u_[c].data(),
                                            static_cast<index_t>(u_[c].stride(1))},
                            work);
    Communicator{}.sum(&work, 1);
    return work;
  }

  void cell_energies(ExecutionSpace const& space, int load_case, double weight, bool add,
                     field_type const& energies) const override {
    outer_.accumulate_cell_energies(space, u_[static_cast<std::size_t>(load_case)], weight, add, energies);
  }

  int load_cases() const override { return static_cast<int>(u_.size()); }

 protected:
  index_t load_count(std::size_t load_case) const { return static_cast<index_t>(forces_[load_case].nodes.extent(0)); }

  void check_density(const_field_type const& density) const {
    BRICKWORK_REQUIRE(static_cast<index_t>(density.extent(0)) == grid_.cell_count(),
                      "StateSolver::set_density: ", density.extent(0), " densities; the grid has ", grid_.cell_count(),
                      " cells");
  }

  BoxGrid grid_;
  ElasticityOperator<ExecutionSpace, Outer> outer_;  // whose residual decides
  NodeMask<memory_space> mask_;
  std::vector<NodalForces<memory_space>> forces_;
  std::vector<vector_type> u_;
};

/// Jacobi-preconditioned conjugate gradients, any kernel and precision.
template <class ExecutionSpace, class Real, class Outer, class Inner>
class JacobiStateSolver final : public StateSolverBase<ExecutionSpace, Real, Outer> {
  using Base = StateSolverBase<ExecutionSpace, Real, Outer>;
  using inner_operator = ElasticityOperator<ExecutionSpace, Inner>;
  static constexpr bool same = std::is_same_v<Outer, Inner>;
  using Base::forces_;
  using Base::grid_;
  using Base::outer_;
  using Base::u_;

 public:
  using typename Base::const_field_type;
  using typename Base::field_type;
  using typename Base::memory_space;
  using typename Base::vector_type;

  JacobiStateSolver(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                    BoundaryConditions const& conditions, StateKernels const& kernels)
      : Base(space, grid, stiffness, conditions, kernels.outer),
        inner_(make_inner(space, stiffness, kernels.inner)),
        cg_(space, grid) {
    outer_moduli_ =
        allocate<CellField<Outer, memory_space>>(space, "brickwork::StateSolver::moduli", grid.cell_count());
    outer_.set_moduli(outer_moduli_);
    if constexpr (same) {
      inner_.set_moduli(outer_moduli_);
    } else {
      inner_moduli_ =
          allocate<CellField<Inner, memory_space>>(space, "brickwork::StateSolver::inner_moduli", grid.cell_count());
      inner_.set_moduli(inner_moduli_);
    }
    inner_.set_constraints(space, this->mask_);
    cg_.set_free_modes(conditions.free_modes);
    f_ = allocate<vector_type>(space, "brickwork::StateSolver::load", grid.node_count());
    for (auto& field : scratch_)
      field = allocate<field_type>(space, "brickwork::StateSolver::scratch", grid.cell_count());
  }

  void set_density(ExecutionSpace const& space, const_field_type const& density,
                   SimpInterpolation const& interpolation) override {
    this->check_density(density);
    for_each(
        "brickwork::StateSolver::interpolate", space, grid_.cell_count(),
        Interpolate<Real, Outer, Inner>{density.data(), outer_moduli_.data(), inner_moduli_.data(), interpolation});
    outer_.update(space);
    if constexpr (!same) inner_.update(space);
    cg_.operator_changed();
  }

  SolveResult solve(ExecutionSpace const& space, int load_case, SolveOptions const& options, bool cold) override {
    auto const c = static_cast<std::size_t>(load_case);
    if (cold) Kokkos::deep_copy(space, u_[c], Outer(0));
    Kokkos::deep_copy(space, f_, Outer(0));
    Kokkos::parallel_for("brickwork::StateSolver::load", range(space, this->load_count(c)),
                         LoadFill<Outer>{forces_[c].nodes.data(), forces_[c].forces.data(), f_.data(),
                                         static_cast<index_t>(f_.stride(1))});
    if constexpr (same) {
      return cg_.solve(space, outer_, outer_, f_, u_[c], options);
    } else {
      return cg_.solve(space, outer_, inner_, f_, u_[c], options);
    }
  }

  field_type scratch(int i) const override { return scratch_.at(static_cast<std::size_t>(i)); }
  ElasticityKernel kernel() const override { return inner_.kernel(); }
  SolverMethod method() const override { return SolverMethod::jacobi; }

 private:
  // Where the precisions agree both are one: a copy shares what the kernel keeps.
  inner_operator make_inner(ExecutionSpace const& space, Hex8Matrix const& stiffness, ElasticityKernel kernel) const {
    if constexpr (same) {
      return outer_;
    } else {
      return inner_operator(space, grid_, stiffness, kernel);
    }
  }

  inner_operator inner_;
  ConjugateGradient<ExecutionSpace, Outer, Inner> cg_;
  CellField<Outer, memory_space> outer_moduli_;
  CellField<Inner, memory_space> inner_moduli_;
  vector_type f_;
  std::array<field_type, StateSolver<ExecutionSpace, Real>::scratch_fields> scratch_;
};

/// Multigrid-preconditioned conjugate gradients: displacement and true residual in FP64, moduli and the rest in FP32.
/// The optimizer's scratch fields lie in the vectors of the iteration.
template <class ExecutionSpace, class Real>
class MultigridStateSolver final : public StateSolverBase<ExecutionSpace, Real, double> {
  using Base = StateSolverBase<ExecutionSpace, Real, double>;
  using Base::forces_;
  using Base::grid_;
  using Base::outer_;
  using Base::u_;

 public:
  using typename Base::const_field_type;
  using typename Base::field_type;
  using typename Base::memory_space;

  MultigridStateSolver(ExecutionSpace const& space, BoxGrid const& grid, Hex8Matrix const& stiffness,
                       BoundaryConditions const& conditions, MultigridSettings const& settings)
      : Base(space, grid, stiffness, conditions, ElasticityKernel::parity),
        inner_(space, grid, stiffness, ElasticityKernel::parity),
        moduli_(allocate<CellField<float, memory_space>>(space, "brickwork::StateSolver::moduli", grid.cell_count())),
        cg_(space, grid),
        adaptive_(settings.krylov_levels < 0) {
    inner_.set_moduli(moduli_);
    inner_.set_constraints(space, this->mask_);
    cg_.set_free_modes(conditions.free_modes);
    multigrid_ = std::make_unique<ElasticityMultigrid<ExecutionSpace>>(space, inner_, settings, cg_.temporary());
  }

  void set_density(ExecutionSpace const& space, const_field_type const& density,
                   SimpInterpolation const& interpolation) override {
    this->check_density(density);
    for_each("brickwork::StateSolver::interpolate", space, grid_.cell_count(),
             Interpolate<Real, float, float>{density.data(), moduli_.data(), nullptr, interpolation});
    changed_ = true;
  }

  SolveResult solve(ExecutionSpace const& space, int load_case, SolveOptions const& options, bool cold) override {
    auto const c = static_cast<std::size_t>(load_case);
    // Here and not in set_density(): it may use the vectors that the caller's scratch fields lie in.
    if (changed_) multigrid_->update(space);
    changed_ = false;
    if (cold) Kokkos::deep_copy(space, u_[c], 0.0);
    SolveOptions adapted = options;
    adapted.adaptive_cycle = adaptive_;
    return cg_.solve(space, outer_, inner_, *multigrid_, forces_[c], u_[c], adapted);
  }

  field_type scratch(int i) const override {
    BRICKWORK_REQUIRE(i >= 0 && i < Base::scratch_fields, "StateSolver::scratch: field ", i, " of ",
                      Base::scratch_fields);
    auto const cells = static_cast<std::size_t>(grid_.cell_count());
    auto* const data = reinterpret_cast<Real*>(cg_.block().data());
    return Kokkos::View<Real*, Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
        data + static_cast<std::size_t>(i) * cells, cells);
  }
  ElasticityKernel kernel() const override { return inner_.kernel(); }
  SolverMethod method() const override { return SolverMethod::multigrid; }

 private:
  ElasticityOperator<ExecutionSpace, float> inner_;
  CellField<float, memory_space> moduli_;
  FlexibleConjugateGradient<ExecutionSpace> cg_;
  bool adaptive_;
  std::unique_ptr<ElasticityMultigrid<ExecutionSpace>> multigrid_;
  bool changed_ = true;
};

}  // namespace detail

template <class ExecutionSpace, class Real>
std::unique_ptr<StateSolver<ExecutionSpace, Real>> make_state_solver(ExecutionSpace const& space, BoxGrid const& grid,
                                                                     Hex8Matrix const& stiffness,
                                                                     BoundaryConditions const& conditions,
                                                                     SolverSettings const& settings) {
  StateKernels const kernel = state_kernels(stiffness, settings);
  if (state_method(stiffness, settings) == SolverMethod::multigrid) {
    return std::make_unique<detail::MultigridStateSolver<ExecutionSpace, Real>>(space, grid, stiffness, conditions,
                                                                                multigrid_settings(settings));
  }
  switch (settings.precision) {
    case Precision::fp64:
      return std::make_unique<detail::JacobiStateSolver<ExecutionSpace, Real, double, double>>(space, grid, stiffness,
                                                                                               conditions, kernel);
    case Precision::fp32:
      return std::make_unique<detail::JacobiStateSolver<ExecutionSpace, Real, float, float>>(space, grid, stiffness,
                                                                                             conditions, kernel);
    case Precision::mixed:
      break;
  }
  return std::make_unique<detail::JacobiStateSolver<ExecutionSpace, Real, double, float>>(space, grid, stiffness,
                                                                                          conditions, kernel);
}

StateKernels state_kernels(Hex8Matrix const& stiffness, SolverSettings const& settings) {
  ElasticityKernel const kernel = elasticity_kernel_from_string(settings.kernel);
  if (settings.precision != Precision::mixed) {
    int const bytes = settings.precision == Precision::fp64 ? 8 : 4;
    ElasticityKernel const selected = select_elasticity_kernel(kernel, stiffness, bytes);
    return {selected, selected};
  }
  ElasticityKernel const outer = rounds_to_bf16(kernel) ? ElasticityKernel::automatic : kernel;
  ElasticityKernel const inner = kernel == ElasticityKernel::fused_mma_fp64 ? ElasticityKernel::automatic : kernel;
  return {select_elasticity_kernel(outer, stiffness, 8), select_elasticity_kernel(inner, stiffness, 4)};
}

namespace {

void check_bf16(Hex8Matrix const& stiffness) {
  try {
    detail::integer_stiffness(ElasticityKernel::fused_wmma_exact, stiffness);
  } catch (InputError const& error) {
    throw InputError(std::string("solver.smoother = \"bf16\": ") + error.what());
  }
}

}  // namespace

SolverMethod state_method(Hex8Matrix const& stiffness, SolverSettings const& settings) {
  if (settings.method == SolverMethod::jacobi) return SolverMethod::jacobi;
  ElasticityKernel const kernel = elasticity_kernel_from_string(settings.kernel);
  char const* obstacle = nullptr;
  if (settings.precision != Precision::mixed) obstacle = "it works in precision \"mixed\"";
  if (kernel != ElasticityKernel::automatic && kernel != ElasticityKernel::parity)
    obstacle = "it works with the kernel \"parity\"";
  if (!has_parity_form(stiffness)) obstacle = "the element matrix has no parity form";
  if (!obstacle) {
    if (settings.smoother == Smoother::bf16) check_bf16(stiffness);
    return SolverMethod::multigrid;
  }
  BRICKWORK_REQUIRE(settings.method == SolverMethod::automatic, "solver.method = \"multigrid\": ", obstacle,
                    "; change that or take method = \"jacobi\"");
  return SolverMethod::jacobi;
}

MultigridSettings multigrid_settings(SolverSettings const& settings) {
  MultigridSettings multigrid;
  multigrid.smoother = settings.smoother;
  multigrid.degree = settings.smoother_degree;
  multigrid.krylov_levels = settings.krylov_levels;
  multigrid.half_stencils = settings.half_stencils;
  return multigrid;
}

index_t state_kernel_bytes(BoxGrid const& grid, SolverSettings const& settings, StateKernels const& kernels) {
  double kept = elasticity_kernel_bytes(kernels.outer, grid, settings.precision == Precision::fp32 ? 4 : 8);
  if (settings.precision == Precision::mixed) kept += elasticity_kernel_bytes(kernels.inner, grid, 4);
  return static_cast<index_t>(kept);
}

template <class ExecutionSpace>
index_t state_solver_bytes(BoxGrid const& grid, int load_cases, SolverMethod method, SolverSettings const& settings,
                           int real_bytes) {
  if (method == SolverMethod::multigrid) {
    index_t const per_node = 3 * 8 * load_cases + 1;
    return per_node * grid.node_count() + 4 * grid.cell_count() +
           FlexibleConjugateGradient<ExecutionSpace>::bytes(grid) +
           ElasticityMultigrid<ExecutionSpace>::bytes(grid, true, multigrid_settings(settings));
  }
  index_t const outer = settings.precision == Precision::fp32 ? 4 : 8;
  index_t const inner = settings.precision == Precision::fp64 ? 8 : 4;
  bool const mixed = settings.precision == Precision::mixed;
  index_t const per_cell = outer + (mixed ? inner : 0) + StateSolver<ExecutionSpace>::scratch_fields * real_bytes;
  index_t const per_node = 3 * outer * (load_cases + 1) + 1 + 13 * inner + (mixed ? 3 * outer : 0);
  return per_cell * grid.cell_count() + per_node * grid.node_count();
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                      \
  template std::unique_ptr<StateSolver<SPACE, double>> make_state_solver<SPACE, double>(                  \
      SPACE const&, BoxGrid const&, Hex8Matrix const&, BoundaryConditions const&, SolverSettings const&); \
  template std::unique_ptr<StateSolver<SPACE, float>> make_state_solver<SPACE, float>(                    \
      SPACE const&, BoxGrid const&, Hex8Matrix const&, BoundaryConditions const&, SolverSettings const&); \
  template index_t state_solver_bytes<SPACE>(BoxGrid const&, int, SolverMethod, SolverSettings const&, int);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
