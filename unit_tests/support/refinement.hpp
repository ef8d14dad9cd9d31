// SPDX-License-Identifier: BSD-3-Clause
// Plain conjugate gradients and iterative refinement in two precisions, for studies of precision.
//
// Refinement repeats, from u = 0,
//   r = f - K_outer u      (outer operator and precision),
//   K_inner e = r          (conjugate gradients in the inner precision, to |r - K_inner e| <= inner tolerance |r|),
//   u = u + e              (outer precision)
// until |r| <= tolerance |f| or the number of corrections is used up. Nothing but the pair of operators tells the
// published scheme, which stalls, from the one that converges. Where the inner solves were exact, the error would
// shrink by |I - K_inner^-1 K|: it is small only where K_inner is near K on smooth fields too, whose strain energy is
// tiny beside |K| |u|^2.
//
// The conjugate gradients are those of the source text (section 3.6): Jacobi preconditioner, recursive residual,
// |r| <= tolerance |f|, no check of the true residual. Sums are accumulated in FP64. An iteration waits once
// for the device, as one of brickwork::ConjugateGradient does, so that their times nearly compare.
//
// Source: the fused-kernel text, sections 3.5 and 3.6; specs/simp.md, section 4.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/design/simp_optimizer.hpp"
#include "brickwork/operators/elasticity_operator.hpp"

namespace brickwork::test {

// ----------------------------------------------------------------------------------------------- vector kernels

template <class A, class B>
struct VectorDot {
  A const* a;
  B const* b;
  KOKKOS_FUNCTION void operator()(index_t i, double& sum) const {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
};

/// y = a x + b y; with b = 0 a conversion that does not read y.
template <class X, class Y>
struct VectorCombine {
  double a;
  X const* x;
  double b;
  Y* y;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    double const old = b == 0 ? 0.0 : b * static_cast<double>(y[i]);
    y[i] = static_cast<Y>(a * static_cast<double>(x[i]) + old);
  }
};

/// The Jacobi preconditioner at node n, component d: factor[d] / (sum of the moduli around n).
template <class Scalar>
struct JacobiFactors {
  Scalar const* moduli;
  Scalar factor[3];
  KOKKOS_FUNCTION Scalar operator()(index_t node, int d) const { return factor[d] / moduli[node]; }
};

/// x += alpha p, r -= alpha w with alpha = r.Mr / p.w (nothing at the start), and the sums r.r and r.Mr of the new r.
template <class Scalar>
struct PlainCgUpdate {
  using value_type = double[];
  unsigned value_count = 2;

  Scalar const* p;
  Scalar const* w;
  Scalar* x;
  Scalar* r;
  JacobiFactors<Scalar> jacobi;
  index_t stride;
  double const* curvature;
  double const* sums_before;
  bool start;

  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    Scalar const alpha = start ? Scalar(0) : static_cast<Scalar>(sums_before[1] / *curvature);
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      if (!start) {  // p and w hold anything then
        x[i] += alpha * p[i];
        r[i] -= alpha * w[i];
      }
      double const squared = static_cast<double>(r[i]) * static_cast<double>(r[i]);
      sums[0] += squared;
      sums[1] += squared * static_cast<double>(jacobi(node, d));
    }
  }
};

/// p = M r + beta p, beta = new r.Mr / old r.Mr (p = M r at the start)
template <class Scalar>
struct PlainCgDirection {
  Scalar* p;
  Scalar const* r;
  JacobiFactors<Scalar> jacobi;
  index_t stride;
  double const* sums;
  double const* sums_before;
  bool start;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    Scalar const beta = start ? Scalar(0) : static_cast<Scalar>(sums[1] / sums_before[1]);
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      p[i] = jacobi(node, d) * r[i] + (start ? Scalar(0) : beta * p[i]);
    }
  }
};

/// E = Emin + (E0 - Emin) rho^p
struct ModulusOf {
  double const* density;
  double young, young_min, penalization;
  double* moduli;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    moduli[cell] = young_min + (young - young_min) * math::pow(density[cell], penalization);
  }
};

template <class Space, class A, class B>
double dot(Space const& space, A const& a, B const& b) {
  using ValueA = typename A::non_const_value_type;
  using ValueB = typename B::non_const_value_type;
  double sum = 0;
  Kokkos::parallel_reduce("test::dot", range(space, static_cast<index_t>(a.size())),
                          VectorDot<ValueA, ValueB>{a.data(), b.data()}, sum);
  return sum;
}

/// y = a x + b y, in double precision before y is rounded.
template <class Space, class X, class Y>
void combine(Space const& space, double a, X const& x, double b, Y const& y) {
  using ValueX = typename X::non_const_value_type;
  using ValueY = typename Y::value_type;
  Kokkos::parallel_for("test::combine", range(space, static_cast<index_t>(x.size())),
                       VectorCombine<ValueX, ValueY>{a, x.data(), b, y.data()});
}

// --------------------------------------------------------------------------------------------------- the system

/// K(E) u = f of a SIMP problem with one load case, at a density that no longer changes.
template <class Space>
struct FrozenSystem {
  using memory_space = typename Space::memory_space;
  template <class Scalar>
  using vector = NodalVector<Scalar, memory_space>;

  BoxGrid grid;
  Hex8Matrix stiffness;
  CellField<double, memory_space> moduli;
  CellField<float, memory_space> moduli32;
  NodeMask<memory_space> mask;
  vector<double> load;

  /// \param density extent (cells); empty: `uniform` everywhere
  FrozenSystem(Space const& space, SimpProblem const& problem, double penalization, double uniform,
               CellField<double const, memory_space> const& density = {})
      : grid(problem.cells, problem.lengths),
        stiffness(
            hex8_stiffness(elasticity_matrix(IsotropicMaterial{1.0, problem.poisson}),
                           problem.stiffness == StiffnessScale::reference_cube ? Vec3{2, 2, 2} : grid.spacing())) {
    index_t const cells = grid.cell_count();
    index_t const nodes = grid.node_count();
    moduli = allocate<CellField<double, memory_space>>(space, "test::FrozenSystem::moduli", cells);
    moduli32 = allocate<CellField<float, memory_space>>(space, "test::FrozenSystem::moduli32", cells);
    mask = allocate<NodeMask<memory_space>>(space, "test::FrozenSystem::mask", nodes);
    load = allocate<vector<double>>(space, "test::FrozenSystem::load", nodes);

    if (density.extent(0) > 0) {
      Kokkos::deep_copy(space, moduli, density);
    } else {
      Kokkos::deep_copy(space, moduli, uniform);
    }
    Kokkos::parallel_for(
        "test::FrozenSystem::moduli", range(space, cells),
        ModulusOf{moduli.data(), problem.young, problem.young * problem.young_min_ratio, penalization, moduli.data()});
    combine(space, 1, moduli, 0, moduli32);

    BoundaryConditions const conditions = boundary_conditions(problem, grid);
    auto const host_mask = Kokkos::create_mirror_view(mask);
    auto const host_load = Kokkos::create_mirror_view(load);
    Kokkos::deep_copy(host_mask, std::uint8_t(0));
    Kokkos::deep_copy(host_load, 0.0);
    for (auto const& [node, bits] : conditions.constraints) host_mask(node) = bits;
    for (auto const& force : conditions.load_cases.front()) {
      for (int d = 0; d < 3; ++d) host_load(force.node, d) = force.force[d];
    }
    Kokkos::deep_copy(space, mask, host_mask);
    Kokkos::deep_copy(space, load, host_load);
    fence(space, "test::FrozenSystem");
  }

  template <class Scalar>
  ElasticityOperator<Space, Scalar> make(Space const& space, ElasticityKernel kernel) const {
    ElasticityOperator<Space, Scalar> op(space, grid, stiffness, kernel);
    if constexpr (std::is_same_v<Scalar, double>) {
      op.set_moduli(moduli);
    } else {
      op.set_moduli(moduli32);
    }
    op.set_constraints(space, mask);
    op.update(space);
    return op;
  }

  template <class Scalar>
  vector<Scalar> make_vector(Space const& space, char const* label) const {
    return allocate<vector<Scalar>>(space, label, grid.node_count());
  }
};

/// The physical density of the design that a problem reports after some steps of its schedule.
template <class Space>
CellField<double const, typename Space::memory_space> optimized_density(Space const& space, SimpProblem problem,
                                                                        int steps) {
  BRICKWORK_REQUIRE(steps >= 1 && steps <= problem.schedule.steps, "optimized_density: ", steps,
                    " steps; the schedule has 1 to ", problem.schedule.steps);
  auto& stages = problem.schedule.stages;
  while (stages.back().first_step > steps) stages.pop_back();
  stages.back().last_step = problem.schedule.steps = steps;
  problem.solver.precision = Precision::mixed;
  SimpOptimizer<Space> optimizer(space, problem);
  while (!optimizer.finished()) optimizer.step();
  optimizer.result();
  auto const density = allocate<CellField<double, typename Space::memory_space>>(space, "test::optimized_density",
                                                                                 optimizer.grid().cell_count());
  Kokkos::deep_copy(space, density, optimizer.density());
  space.fence();
  return density;
}

// --------------------------------------------------------------------------------------------- conjugate gradients

struct CgOutcome {
  int iterations = 0;
  double recursive_residual = 0;  ///< |r| / |f| as the recurrence claims it
  bool reached = false;           ///< the recurrence claims the tolerance
};

/// Jacobi-preconditioned conjugate gradients from zero, with the recursive residual only.
template <class Space, class Scalar>
class PlainCg {
 public:
  using memory_space = typename Space::memory_space;
  using operator_type = ElasticityOperator<Space, Scalar>;
  using vector = NodalVector<Scalar, memory_space>;

  PlainCg(Space const& space, operator_type const& op) : op_(op), nodes_(op.grid().node_count()) {
    r_ = allocate<vector>(space, "test::PlainCg::residual", nodes_);
    p_ = allocate<vector>(space, "test::PlainCg::direction", nodes_);
    w_ = allocate<vector>(space, "test::PlainCg::product", nodes_);
    moduli_ = allocate<CellField<Scalar, memory_space>>(space, "test::PlainCg::nodal_moduli", nodes_);
    for (auto& sums : sums_) sums = allocate<sums_type>(space, "test::PlainCg::sums", 2);
    curvature_ = typename operator_type::sum_type("test::PlainCg::curvature");
    host_sums_ = Kokkos::create_mirror(sums_[0]);  // storage of its own on the host too: it reads either pair
    op_.nodal_moduli(space, moduli_);
  }

  /// x = K^-1 f to |r| <= tolerance |f|; f and x must not overlap. Constrained components of f must be zero.
  CgOutcome solve(Space const& space, vector const& f, vector const& x, double tolerance, int max_iterations) {
    auto const policy = range(space, nodes_);
    auto const stride = static_cast<index_t>(p_.stride(1));
    auto const factors = op_.diagonal_factors();
    JacobiFactors<Scalar> jacobi{moduli_.data(), {}};
    for (int d = 0; d < 3; ++d) jacobi.factor[d] = static_cast<Scalar>(1 / factors[d]);

    PlainCgUpdate<Scalar> update;
    update.p = p_.data();
    update.w = w_.data();
    update.x = x.data();
    update.r = r_.data();
    update.jacobi = jacobi;
    update.stride = stride;
    update.curvature = curvature_.data();
    update.sums_before = nullptr;
    update.start = true;

    Kokkos::deep_copy(space, x, Scalar(0));
    Kokkos::deep_copy(space, r_, f);
    int now = 0;  // which of the two pairs of sums is of the present residual
    Kokkos::parallel_reduce("test::PlainCg::start", policy, update, sums_[now]);
    update.start = false;
    double const first = residual_norm(space, now);
    CgOutcome outcome;
    outcome.recursive_residual = 1;
    while (first > 0 && outcome.iterations < max_iterations) {
      Kokkos::parallel_for("test::PlainCg::direction", policy,
                           PlainCgDirection<Scalar>{p_.data(), r_.data(), jacobi, stride, sums_[now].data(),
                                                    sums_[1 - now].data(), outcome.iterations == 0});
      op_.apply(space, p_, w_);
      // Not apply_dot(): its sum may be formed in part in the vectors' precision, which costs FP32 a digit here.
      Kokkos::parallel_reduce("test::PlainCg::curvature", range(space, static_cast<index_t>(p_.size())),
                              VectorDot<Scalar, Scalar>{p_.data(), w_.data()}, curvature_);
      update.sums_before = sums_[now].data();
      now = 1 - now;
      Kokkos::parallel_reduce("test::PlainCg::update", policy, update, sums_[now]);
      ++outcome.iterations;
      outcome.recursive_residual = residual_norm(space, now) / first;
      if (!std::isfinite(outcome.recursive_residual)) break;
      if (outcome.recursive_residual <= tolerance) {
        outcome.reached = true;
        break;
      }
    }
    return outcome;
  }

 private:
  using sums_type = Kokkos::View<double*, memory_space>;

  double residual_norm(Space const& space, int now) {
    Kokkos::deep_copy(space, host_sums_, sums_[now]);
    fence(space, "test::PlainCg::read");
    return std::sqrt(host_sums_(0));
  }

  operator_type op_;
  index_t nodes_;
  vector r_, p_, w_;
  CellField<Scalar, memory_space> moduli_;
  sums_type sums_[2];  // r.r and r.Mr
  typename operator_type::sum_type curvature_;
  typename sums_type::host_mirror_type host_sums_;
};

// -------------------------------------------------------------------------------------------------- refinement

struct RefinementOptions {
  double tolerance = 1e-5;        ///< on |f - K_outer u| / |f|
  double inner_tolerance = 1e-3;  ///< on the inner recurrence, relative to the right-hand side of the correction
  int max_corrections = 8;
  int max_inner_iterations = 1000;  ///< per correction
};

/// State after a number of corrections.
struct RefinementStep {
  int inner_iterations = 0;  ///< in all
  double residual = 1;       ///< |f - K_outer u| / |f| as the outer operator sees it
  double compliance = 0;     ///< f . u
};

/// The first entry is u = 0, the last the u that is returned.
using RefinementHistory = std::vector<RefinementStep>;

/// An observer that is told nothing.
struct NoObserver {
  template <class Vector>
  void operator()(RefinementStep const&, Vector const&) const {}
};

template <class Space, class Outer, class Inner>
class Refinement {
 public:
  using memory_space = typename Space::memory_space;
  using outer_operator = ElasticityOperator<Space, Outer>;
  using inner_operator = ElasticityOperator<Space, Inner>;
  using outer_vector = NodalVector<Outer, memory_space>;
  using inner_vector = NodalVector<Inner, memory_space>;

  Refinement(Space const& space, outer_operator const& outer, inner_operator const& inner)
      : outer_(outer), cg_(space, inner) {
    index_t const nodes = outer.grid().node_count();
    residual_ = allocate<outer_vector>(space, "test::Refinement::residual", nodes);
    right_ = allocate<inner_vector>(space, "test::Refinement::right", nodes);
    correction_ = allocate<inner_vector>(space, "test::Refinement::correction", nodes);
  }

  /// Solves K u = f from u = 0. \param observe called as observe(step, u) after each correction
  template <class Observer = NoObserver>
  RefinementHistory solve(Space const& space, NodalVector<double, memory_space> const& f, outer_vector const& u,
                          RefinementOptions const& options, Observer const& observe = {}) {
    double const load = std::sqrt(dot(space, f, f));
    Kokkos::deep_copy(space, u, Outer(0));
    combine(space, 1, f, 0, residual_);
    RefinementHistory history(1);
    for (int k = 0; k < options.max_corrections && history.back().residual > options.tolerance; ++k) {
      combine(space, 1, residual_, 0, right_);
      CgOutcome const inner =
          cg_.solve(space, right_, correction_, options.inner_tolerance, options.max_inner_iterations);
      combine(space, 1, correction_, 1, u);
      outer_.apply(space, u, residual_);
      combine(space, 1, f, -1, residual_);
      RefinementStep step;
      step.inner_iterations = history.back().inner_iterations + inner.iterations;
      step.residual = std::sqrt(dot(space, residual_, residual_)) / load;
      step.compliance = dot(space, f, u);
      history.push_back(step);
      observe(step, u);
      if (!std::isfinite(step.residual)) break;
    }
    return history;
  }

 private:
  outer_operator outer_;
  PlainCg<Space, Inner> cg_;
  outer_vector residual_;
  inner_vector right_, correction_;
};

// ---------------------------------------------------------------------------------------------------- quantities

/// |f - K u| / |f| in FP64, with u as it is stored.
template <class Space, class Vector>
double true_residual(Space const& space, ElasticityOperator<Space, double> const& op,
                     NodalVector<double, typename Space::memory_space> const& f, Vector const& u) {
  using vector = NodalVector<double, typename Space::memory_space>;
  auto const exact = allocate<vector>(space, "test::true_residual::u", op.grid().node_count());
  auto const residual = allocate<vector>(space, "test::true_residual::r", op.grid().node_count());
  combine(space, 1, u, 0, exact);
  op.residual(space, f, exact, residual);
  return std::sqrt(dot(space, residual, residual) / dot(space, f, f));
}

}  // namespace brickwork::test
