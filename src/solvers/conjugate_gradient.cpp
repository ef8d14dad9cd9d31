// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/solvers/detail/cg_kernels.hpp"

namespace brickwork {

std::string to_string(SolveStatus status) {
  switch (status) {
    case SolveStatus::converged:
      return "converged";
    case SolveStatus::capped:
      return "capped";
    case SolveStatus::stalled:
      return "stalled";
    case SolveStatus::breakdown:
      return "breakdown";
  }
  return "unknown";
}

namespace {

// A recursive residual in the inner precision is trusted over this reduction; then it is recomputed.
constexpr double replacement_factor = 0.05;

}  // namespace

template <class ExecutionSpace, class Outer, class Inner>
ConjugateGradient<ExecutionSpace, Outer, Inner>::ConjugateGradient(ExecutionSpace const& space, BoxGrid const& grid,
                                                                   Communicator const& communicator)
    : grid_(grid), communicator_(communicator), modes_(space, grid, communicator) {
  index_t const nodes = grid.node_count();
  r_ = allocate<inner_vector>(space, "brickwork::ConjugateGradient::residual", nodes);
  p_ = allocate<inner_vector>(space, "brickwork::ConjugateGradient::direction", nodes);
  w_ = allocate<inner_vector>(space, "brickwork::ConjugateGradient::product", nodes);
  correction_ = allocate<inner_vector>(space, "brickwork::ConjugateGradient::correction", nodes);
  if constexpr (std::is_same_v<Outer, Inner>) {
    product_ = w_;
  } else {
    product_ = allocate<outer_vector>(space, "brickwork::ConjugateGradient::outer_product", nodes);
  }
  inverse_ = allocate<CellField<Inner, memory_space>>(space, "brickwork::ConjugateGradient::inverse_diagonal", nodes);
  scalars_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::ConjugateGradient::scalars", 6);
  host_scalars_ = Kokkos::create_mirror_view(scalars_);
}

template <class ExecutionSpace, class Outer, class Inner>
index_t ConjugateGradient<ExecutionSpace, Outer, Inner>::bytes(BoxGrid const& grid) {
  index_t const per_node =
      13 * index_t(sizeof(Inner)) + (std::is_same_v<Outer, Inner> ? 0 : 3 * index_t(sizeof(Outer)));
  return per_node * grid.node_count();
}

template <class ExecutionSpace, class Outer, class Inner>
void ConjugateGradient<ExecutionSpace, Outer, Inner>::build_preconditioner(ExecutionSpace const& space,
                                                                           inner_operator const& inner) {
  inner.nodal_moduli(space, inverse_);
  Kokkos::parallel_for("brickwork::ConjugateGradient::preconditioner", range(space, grid_.node_count()),
                       detail::CgInvert<Inner>{inverse_.data()});
  auto const factors = inner.diagonal_factors();
  for (int d = 0; d < 3; ++d) inverse_factors_[d] = 1 / factors[d];
  preconditioner_ready_ = true;
}

template <class ExecutionSpace, class Outer, class Inner>
typename ConjugateGradient<ExecutionSpace, Outer, Inner>::Norms
ConjugateGradient<ExecutionSpace, Outer, Inner>::read_sums(ExecutionSpace const& space, int slot) {
  Kokkos::deep_copy(space, host_scalars_, scalars_);
  fence(space, "brickwork::ConjugateGradient::solve::read");
  return {host_scalars_(1 + 2 * slot), host_scalars_(2 + 2 * slot)};
}

template <class ExecutionSpace, class Outer, class Inner>
double ConjugateGradient<ExecutionSpace, Outer, Inner>::true_residual(ExecutionSpace const& space,
                                                                      outer_operator const& outer,
                                                                      const_outer_vector const& f,
                                                                      outer_vector const& u, int slot) {
  outer.apply(space, u, product_);
  if (added_outer_) added_outer_->add(space, u, product_);
  detail::CgResidual<Outer, Inner> residual;
  residual.f = f.data();
  residual.product = product_.data();
  residual.r = r_.data();
  residual.inverse = inverse_.data();
  for (int d = 0; d < 3; ++d) residual.factor[d] = static_cast<Inner>(inverse_factors_[d]);
  residual.stride_f = static_cast<index_t>(f.stride(1));
  residual.stride_product = static_cast<index_t>(product_.stride(1));
  residual.stride_r = static_cast<index_t>(r_.stride(1));
  auto const sums = detail::sums_at<ExecutionSpace>(scalars_, 1 + 2 * slot, 2);
  auto const nodes = range(space, grid_.node_count());
  Kokkos::parallel_reduce("brickwork::ConjugateGradient::residual", nodes, residual, sums);
  if (modes_.count() > 0) {
    modes_.remove(space, r_);  // what K cannot reach
    detail::CgNorms<Inner> norms;
    norms.r = r_.data();
    norms.inverse = inverse_.data();
    for (int d = 0; d < 3; ++d) norms.factor[d] = residual.factor[d];
    norms.stride = residual.stride_r;
    Kokkos::parallel_reduce("brickwork::ConjugateGradient::projected_norms", nodes, norms, sums);
  }
  communicator_.sum(space, sums);
  return std::sqrt(read_sums(space, slot).residual_squared);
}

template <class ExecutionSpace, class Outer, class Inner>
SolveResult ConjugateGradient<ExecutionSpace, Outer, Inner>::solve(ExecutionSpace const& space,
                                                                   outer_operator const& outer,
                                                                   inner_operator const& inner,
                                                                   const_outer_vector const& f, outer_vector const& u,
                                                                   SolveOptions const& options) {
  ScopedRegion const region("brickwork::ConjugateGradient::solve");
  index_t const nodes = grid_.node_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(f.extent(0)) == nodes && static_cast<index_t>(u.extent(0)) == nodes,
                    "ConjugateGradient::solve: f has ", f.extent(0), " and u ", u.extent(0), " nodes; the grid has ",
                    nodes);
  BRICKWORK_REQUIRE(options.tolerance > 0 && options.tolerance < 1, "ConjugateGradient::solve: tolerance ",
                    options.tolerance, "; it must lie in (0, 1)");
  if (!preconditioner_ready_) build_preconditioner(space, inner);
  auto const policy = range(space, nodes);

  double load_squared = 0;
  Kokkos::parallel_reduce(
      "brickwork::ConjugateGradient::impose", policy,
      detail::CgImpose<Outer>{f.data(), u.data(),
                              outer.constraints().extent(0) > 0 ? outer.constraints().data() : nullptr,
                              static_cast<index_t>(f.stride(1)), static_cast<index_t>(u.stride(1))},
      load_squared);
  communicator_.sum(&load_squared, 1);
  double const load = std::sqrt(load_squared);
  BRICKWORK_REQUIRE(std::isfinite(load) && load > 0, "ConjugateGradient::solve: the right-hand side has norm ", load,
                    "; a finite, non-zero load is needed");

  detail::CgUpdate<Inner> update;
  update.p = p_.data();
  update.w = w_.data();
  update.correction = correction_.data();
  update.r = r_.data();
  update.inverse = inverse_.data();
  update.stride = static_cast<index_t>(p_.stride(1));
  update.curvature = scalars_.data();
  detail::CgDirection<Inner> direction;
  direction.p = p_.data();
  direction.r = r_.data();
  direction.inverse = inverse_.data();
  direction.stride = update.stride;
  for (int d = 0; d < 3; ++d) update.factor[d] = direction.factor[d] = static_cast<Inner>(inverse_factors_[d]);
  detail::CgAccumulate<Outer, Inner> const accumulate{u.data(), correction_.data(), static_cast<index_t>(u.stride(1)),
                                                      static_cast<index_t>(correction_.stride(1))};
  auto const curvature = Kokkos::View<double, memory_space, Kokkos::MemoryUnmanaged>(scalars_.data());

  Kokkos::deep_copy(space, correction_, Inner(0));
  SolveResult result;
  int slot = 0;
  double truth = true_residual(space, outer, f, u, slot) / load;
  result.residual_evaluations = 1;
  double const target = options.tolerance;
  double best_truth = truth;
  int failed_checks = 0;
  double reference = truth;  // largest recursive residual since the last replacement
  bool start = true;
  while (truth > target) {
    if (!std::isfinite(truth)) {
      result.status = SolveStatus::breakdown;
      break;
    }
    if (result.iterations >= options.max_iterations) {
      result.status = SolveStatus::capped;
      break;
    }
    direction.fresh = scalars_.data() + 2 + 2 * slot;
    direction.old = scalars_.data() + 2 + 2 * (1 - slot);
    direction.start = start;
    for_each("brickwork::ConjugateGradient::direction", space, nodes, direction);
    start = false;
    if (added_inner_) {
      inner.apply(space, p_, w_);
      added_inner_->add_dot(space, p_, w_, curvature);
    } else {
      inner.apply_dot(space, p_, w_, curvature);
    }
    communicator_.sum(space, curvature);
    update.preconditioned = scalars_.data() + 2 + 2 * slot;
    slot = 1 - slot;
    auto const sums = detail::sums_at<ExecutionSpace>(scalars_, 1 + 2 * slot, 2);
    Kokkos::parallel_reduce("brickwork::ConjugateGradient::update", policy, update, sums);
    communicator_.sum(space, sums);
    ++result.iterations;
    double const recursive = std::sqrt(read_sums(space, slot).residual_squared) / load;
    bool const broken = !(host_scalars_(0) > 0) || !std::isfinite(recursive);
    reference = std::max(reference, recursive);
    bool const claims = recursive <= target;
    bool const replace = !std::is_same_v<Outer, Inner> && recursive < replacement_factor * reference;
    bool const last = result.iterations >= options.max_iterations;
    if (!(broken || claims || replace || last)) continue;

    if (broken) {
      result.status = SolveStatus::breakdown;
      Kokkos::deep_copy(space, correction_, Inner(0));
    } else {
      for_each("brickwork::ConjugateGradient::accumulate", space, nodes, accumulate);
    }
    truth = true_residual(space, outer, f, u, slot) / load;
    ++result.residual_evaluations;
    if (broken) break;
    reference = truth;
    if (claims && truth > target) {
      failed_checks = truth < 0.5 * best_truth ? 0 : failed_checks + 1;
      if (failed_checks >= 2) {
        result.status = SolveStatus::stalled;
        break;
      }
    }
    best_truth = std::min(best_truth, truth);
  }
  result.true_relative_residual = truth;
  modes_.remove(space, u);
  return result;
}

#define BRICKWORK_INSTANTIATE(SPACE)                       \
  template class ConjugateGradient<SPACE, double, double>; \
  template class ConjugateGradient<SPACE, double, float>;  \
  template class ConjugateGradient<SPACE, float, float>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
