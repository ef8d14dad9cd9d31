// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_solver.hpp"

#include <chrono>
#include <cmath>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/solvers/hermite_cell_multigrid.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"

namespace brickwork {

namespace {

enum Scalars { curvature, rz, beta, scalar_count };

/// rz and, from the one before, beta = rz_new / rz.
struct FinishPairing {
  double* scalars;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    scalars[beta] = scalars[rz] != 0 ? sums[0] / scalars[rz] : 0;
    scalars[rz] = sums[0];
  }
};

/// x += alpha p, r -= alpha w with alpha = rz / p.w
struct Advance {
  double const* scalars;
  double const *p, *w;
  double *x, *r;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    double const alpha = scalars[rz] / scalars[curvature];
    x[i] += alpha * p[i];
    r[i] -= alpha * w[i];
  }
};

/// p = z + beta p; from p = 0 it is z whatever beta, which need not be a number then.
template <class Scalar>
struct Direct {
  double const* scalars;
  Scalar const* z;
  double* p;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    p[i] = static_cast<double>(z[i]) + (p[i] == 0 ? 0 : scalars[beta] * p[i]);
  }
};

template <class Scalar>
struct AddCorrection {
  Scalar const* z;
  double* x;
  KOKKOS_FUNCTION void operator()(index_t i) const { x[i] += static_cast<double>(z[i]); }
};

/// r = b - r
struct SubtractFrom {
  double const* b;
  double* r;
  KOKKOS_FUNCTION void operator()(index_t i) const { r[i] = b[i] - r[i]; }
};

}  // namespace

double HermiteSolveResult::contraction() const {
  if (residuals.size() < 2 || !(residuals.front() > 0)) return 0;
  return std::pow(residuals.back() / residuals.front(), 1.0 / static_cast<double>(residuals.size() - 1));
}

template <class Multigrid>
HermiteSolver<Multigrid>::HermiteSolver(execution_space const& space, operator_type const& a,
                                        HermiteCycleOptions const& cycle)
    : a_(&a),
      multigrid_(space, a, cycle),
      r_(space, a.grid(), "brickwork::HermiteSolver::r"),
      w_(space, a.grid(), "brickwork::HermiteSolver::w"),
      p_(space, a.grid(), "brickwork::HermiteSolver::p"),
      workspace_(space),
      scalars_(allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::HermiteSolver::scalars", scalar_count)),
      host_scalars_(Kokkos::create_mirror_view(scalars_)) {}

template <class Multigrid>
index_t HermiteSolver<Multigrid>::bytes(grid_type const& grid, HermiteCycleOptions const& cycle) {
  constexpr index_t vectors = 5;
  return multigrid_type::bytes(grid, cycle) + vectors * static_cast<index_t>(sizeof(double)) * primal_type::count(grid);
}

/// r = b - A x, of x made C1 and condensed where the cycle is FP32
template <class Multigrid>
void HermiteSolver<Multigrid>::residual(execution_space const& space, dual_type const& b, primal_type const& x) {
  multigrid_.prescribe(space, x);
  a_->apply(space, x, r_);
  for_each("brickwork::HermiteSolver::residual", space, r_.size(), SubtractFrom{b.values().data(), r_.values().data()});
  multigrid_.condense(space, r_);
}

/// One cycle on r and <r, z>; waits.
template <class Multigrid>
double HermiteSolver<Multigrid>::measure(execution_space const& space) {
  auto const cycle = [this](execution_space const& on) {
    multigrid_.apply(on, r_);
    sum_each<1>("brickwork::HermiteSolver::pairing", on, r_.size(),
                detail::PairProduct<double, cycle_scalar>{r_.values().data(), multigrid_.correction().values().data()},
                workspace_, FinishPairing{scalars_.data()});
  };
  if constexpr (Multigrid::recordable) {
    cycle_.run(space, cycle);
  } else {
    cycle(space);
  }
  Kokkos::deep_copy(space, host_scalars_, scalars_);
  fence(space, "brickwork::HermiteSolver::measure");
  return host_scalars_(rz);
}

/// From z, beta and p: the next direction, its step, and one cycle on the new residual; returns <r, z>.
template <class Multigrid>
double HermiteSolver<Multigrid>::iterate(execution_space const& space, primal_type const& x) {
  index_t const size = r_.size();
  double* const scalars = scalars_.data();
  for_each("brickwork::HermiteSolver::direction", space, size,
           Direct<cycle_scalar>{scalars, multigrid_.correction().values().data(), p_.values().data()});
  multigrid_.prescribe(space, p_);
  a_->apply(space, p_, w_);
  multigrid_.condense(space, w_);
  sum_each<1>("brickwork::HermiteSolver::curvature", space, size,
              detail::PairProduct<double, double>{p_.values().data(), w_.values().data()}, workspace_,
              StoreSums<1>{scalars + curvature});
  for_each("brickwork::HermiteSolver::advance", space, size,
           Advance{scalars, p_.values().data(), w_.values().data(), x.values().data(), r_.values().data()});
  return measure(space);
}

template <class Multigrid>
HermiteSolveResult HermiteSolver<Multigrid>::solve(execution_space const& space, dual_type const& b,
                                                   primal_type const& x, HermiteSolveOptions const& options) {
  ScopedRegion const region("brickwork::HermiteSolver::solve");
  BRICKWORK_REQUIRE(options.tolerance > 0 && options.tolerance < 1, "tolerance of the solver is ", options.tolerance,
                    ", it must lie between 0 and 1");
  BRICKWORK_REQUIRE(options.max_iterations >= 1, "number of iterations is ", options.max_iterations,
                    ", it must be positive");
  bool const accelerated = options.method == HermiteMethod::conjugate_gradient;
  BRICKWORK_REQUIRE(
      !accelerated || multigrid_.options().symmetric || multigrid_.options().smoother == HermiteSmoother::chebyshev,
      "conjugate gradients need a symmetric cycle: sweep in reversed order after the coarser levels");
  BRICKWORK_REQUIRE(b.size() == r_.size() && x.size() == r_.size(), "vectors have the sizes ", b.size(), " and ",
                    x.size(), ", the solver's grid has ", r_.size(), " values");
  HermiteSolveResult result;
  a_->constrain(space, b);
  fence(space, "brickwork::HermiteSolver::solve");
  auto const start = std::chrono::steady_clock::now();
  residual(space, b, x);
  double measured = measure(space);
  BRICKWORK_REQUIRE(std::isfinite(measured), "the right-hand side is not finite");
  BRICKWORK_REQUIRE(measured != 0, "the right-hand side is zero, or so small that its norm is");
  if (measured < 0) {  // the cycle is not positive: the smoother's interval is too short
    result.status = SolveStatus::breakdown;
    result.true_relative_residual = 1;
    result.seconds = seconds_since(start);
    return result;
  }
  double const first = measured;
  double verified = 0, last_verified = 0;
  constexpr int most_restarts = 5;
  int restarts = 0;
  result.residuals.push_back(std::sqrt(first));
  auto const relative = [&] { return std::sqrt(measured / first); };
  // From p = 0 the next direction is z alone.
  auto const reset_direction = [&] { detail::fill_zero(space, p_.values()); };
  reset_direction();
  while (true) {
    if (relative() <= options.tolerance) {
      if (!accelerated) {
        verified = relative();
        break;
      }
      auto const before = std::chrono::steady_clock::now();
      residual(space, b, x);
      measured = measure(space);
      result.verification_seconds += seconds_since(before);
      verified = relative();
      if (verified <= options.tolerance * (1 + 1e-6)) break;
      if (last_verified > 0 && !(verified < 0.5 * last_verified)) {
        result.status = SolveStatus::stalled;
        break;
      }
      last_verified = verified;
      reset_direction();
    }
    if (result.iterations == options.max_iterations) {
      result.status = SolveStatus::capped;
      break;
    }
    if (accelerated) {
      measured = iterate(space, x);
      if (!(measured >= 0 && host_scalars_(curvature) > 0)) {
        // Rounding of an FP32 cycle can do that close to the end: once more from the true residual.
        ++result.iterations;
        residual(space, b, x);
        measured = measure(space);
        if (restarts++ == most_restarts || !(measured > 0)) {
          result.status = SolveStatus::breakdown;
          break;
        }
        result.residuals.push_back(std::sqrt(measured));
        reset_direction();
        continue;
      }
    } else {
      for_each("brickwork::HermiteSolver::correct", space, r_.size(),
               AddCorrection<cycle_scalar>{multigrid_.correction().values().data(), x.values().data()});
      residual(space, b, x);
      measured = measure(space);
    }
    ++result.iterations;
    result.residuals.push_back(std::sqrt(measured));
    if (!(measured >= 0) || !std::isfinite(measured) || measured > 1e6 * first) {
      result.status = SolveStatus::breakdown;
      break;
    }
    if (options.progress && !options.progress(result.iterations, relative())) {
      result.status = SolveStatus::capped;
      break;
    }
  }
  result.seconds = seconds_since(start) - result.verification_seconds;
  if (accelerated && verified == 0) {  // ended without a check
    residual(space, b, x);
    verified = std::sqrt(measure(space) / first);
  }
  result.true_relative_residual = accelerated ? verified : relative();
  a_->prescribe(space, x);  // C1 to the last bit
  return result;
}

#define BRICKWORK_INSTANTIATE(Space)                                \
  template class HermiteSolver<HermiteMultigrid<Space, float, 2>>;  \
  template class HermiteSolver<HermiteMultigrid<Space, float, 3>>;  \
  template class HermiteSolver<HermiteMultigrid<Space, double, 2>>; \
  template class HermiteSolver<HermiteMultigrid<Space, double, 3>>; \
  template class HermiteSolver<HermiteCellMultigrid<Space, 2>>;     \
  template class HermiteSolver<HermiteCellMultigrid<Space, 3>>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
