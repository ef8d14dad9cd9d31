// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/moving_asymptotes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/design/detail/concave_maximum.hpp"
#include "brickwork/parallel/communicator.hpp"

namespace brickwork {

namespace detail {

/// The functions of a step, objective first.
template <class Real, int M>
struct MmaFunctions {
  Real const* slope[M + 1];
  Real scale[M + 1];  ///< 1 / mean |slope|, 0 where the mean is 0
};

/// Sums of |df/dx_j| of every function and of |x_j|: scales, and whether all is finite.
template <class Real, int M>
struct MmaScales {
  MmaFunctions<Real, M> functions;
  Real const* x;
  KOKKOS_FUNCTION void operator()(index_t j, double* sums) const {
    for (int i = 0; i <= M; ++i) sums[i] += static_cast<double>(math::abs(functions.slope[i][j]));
    sums[M + 1] += static_cast<double>(math::abs(x[j]));
  }
};

/// Asymptotes close in where a variable oscillates and move away where it does not.
template <class Real>
struct MoveAsymptotes {
  bool first;  ///< one of the first two steps: no oscillation is known
  Real start, least, most, shrink, grow, lower, upper;
  Real *x, *distance, *previous, *older;
  KOKKOS_FUNCTION void operator()(index_t j) const {
    Real const now = math::clamp(x[j], lower, upper);
    Real next = start;
    if (!first) {
      Real const turn = (now - previous[j]) * (previous[j] - older[j]);
      next = distance[j] * (turn > 0 ? grow : turn < 0 ? shrink : Real(1));
    }
    distance[j] = math::clamp(next, least, most);
    x[j] = now;
    older[j] = previous[j];
    previous[j] = now;
  }
};

/// The separable approximation at one variable, at its minimum for the multipliers within the limits.
template <class Real, int M>
struct MmaVariable {
  Real a[M + 1], b[M + 1];
  Real distance;
  Real t;
  Real to_upper, to_lower;  ///< 1 / (1 - t), 1 / (1 + t)
  bool is_free;             ///< whether no limit holds it
  Real curvature;           ///< of the Lagrangian by t
};

template <class Real, int M>
struct MmaDual {
  MmaFunctions<Real, M> functions;
  Real multiplier[M];
  Real move, lower, upper;
  Real const* x;
  Real const* distance;

  static constexpr int values = M + M * (M + 1) / 2;

  KOKKOS_FUNCTION MmaVariable<Real, M> minimum(index_t j) const {
    MmaVariable<Real, M> v;
    // Convexity where a function does not depend on the variable; in units of the mean slope.
    constexpr Real least = Real(1e-5), other_side = Real(1e-3);
    Real a = 0, b = 0;
    for (int i = 0; i <= M; ++i) {
      Real const slope = functions.slope[i][j] * functions.scale[i];
      Real const rising = math::max(slope, Real(0)), falling = math::max(-slope, Real(0));
      v.a[i] = (1 + other_side) * rising + other_side * falling + least;
      v.b[i] = other_side * rising + (1 + other_side) * falling + least;
      Real const factor = i == 0 ? Real(1) : multiplier[i == 0 ? 0 : i - 1];
      a += factor * v.a[i];
      b += factor * v.b[i];
    }
    Real const s = distance[j], now = x[j], inverse = 1 / s;
    Real const root_a = math::sqrt(a), root_b = math::sqrt(b);
    Real const t = (root_b - root_a) / (root_b + root_a);
    constexpr Real margin = Real(0.9);  // off the asymptotes
    Real const most_down = -math::min(math::min(move, now - lower) * inverse, margin);
    Real const most_up = math::min(math::min(move, upper - now) * inverse, margin);
    v.distance = s;
    v.t = math::clamp(t, most_down, most_up);
    v.is_free = t > most_down && t < most_up;
    v.to_upper = 1 / (1 - v.t);
    v.to_lower = 1 / (1 + v.t);
    v.curvature = 2 * s * (a * v.to_upper * v.to_upper * v.to_upper + b * v.to_lower * v.to_lower * v.to_lower);
    return v;
  }

  /// Sums of the constraints' approximate changes, and of the (negative) curvature of the dual, upper triangle by rows.
  KOKKOS_FUNCTION void operator()(index_t j, double* sums) const {
    MmaVariable<Real, M> const v = minimum(j);
    Real slope[M];
    for (int i = 0; i < M; ++i) {
      Real const up = v.a[i + 1] * v.to_upper, down = v.b[i + 1] * v.to_lower;
      sums[i] += static_cast<double>(v.distance * v.t * (up - down));
      slope[i] = v.distance * (up * v.to_upper - down * v.to_lower);
    }
    if (!v.is_free) return;
    Real const inverse = 1 / v.curvature;
    int at = M;
    for (int i = 0; i < M; ++i)
      for (int k = i; k < M; ++k) sums[at++] += static_cast<double>(slope[i] * slope[k] * inverse);
  }
};

template <class Real, int M>
struct TakeMmaStep {
  MmaDual<Real, M> dual;
  Real* x;
  KOKKOS_FUNCTION void operator()(index_t j, double& largest) const {
    MmaVariable<Real, M> const v = dual.minimum(j);
    Real const next = math::clamp(x[j] + v.distance * v.t, dual.lower, dual.upper);
    largest = math::max(largest, static_cast<double>(math::abs(next - x[j])));
    x[j] = next;
  }
};

}  // namespace detail

namespace {

void check(MmaSettings const& s) {
  BRICKWORK_REQUIRE(std::isfinite(s.lower) && std::isfinite(s.upper) && s.lower < s.upper, "moving asymptotes: bounds ",
                    s.lower, " and ", s.upper, "; lower < upper is needed");
  BRICKWORK_REQUIRE(std::isfinite(s.move) && s.move > 0, "moving asymptotes: move ", s.move, "; it must be positive");
  BRICKWORK_REQUIRE(s.least_distance >= 1e-6 && s.least_distance <= 1, "moving asymptotes: least_distance ",
                    s.least_distance, "; it must lie in [1e-6, 1]");
  BRICKWORK_REQUIRE(s.start_distance >= s.least_distance && s.start_distance <= 10,
                    "moving asymptotes: start_distance ", s.start_distance, "; it must lie in [", s.least_distance,
                    ", 10], from least_distance on");
  BRICKWORK_REQUIRE(s.shrink > 0 && s.shrink <= 1, "moving asymptotes: shrink ", s.shrink, "; it must lie in (0, 1]");
  BRICKWORK_REQUIRE(std::isfinite(s.grow) && s.grow >= 1, "moving asymptotes: grow ", s.grow,
                    "; it must be at least 1");
  BRICKWORK_REQUIRE(std::isfinite(s.penalty) && s.penalty > 0, "moving asymptotes: penalty ", s.penalty,
                    "; it must be positive");
}

}  // namespace

template <class ExecutionSpace, class Real>
MovingAsymptotes<ExecutionSpace, Real>::MovingAsymptotes(ExecutionSpace const& space, index_t variables,
                                                         int constraints, MmaSettings const& settings)
    : settings_(settings), variables_(variables), constraints_(constraints) {
  BRICKWORK_REQUIRE(variables >= 1, "moving asymptotes: ", variables, " variables; at least one is needed");
  BRICKWORK_REQUIRE(constraints >= 1 && constraints <= most_constraints, "moving asymptotes: ", constraints,
                    " constraints; there must be 1 to ", most_constraints);
  check(settings);
  multipliers_.assign(static_cast<std::size_t>(constraints), 0);
  distance_ = allocate<field_type>(space, "brickwork::MovingAsymptotes::distance", variables);
  previous_ = allocate<field_type>(space, "brickwork::MovingAsymptotes::previous", variables);
  older_ = allocate<field_type>(space, "brickwork::MovingAsymptotes::older", variables);
  sums_ = SumWorkspace<ExecutionSpace>(space);
  totals_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::MovingAsymptotes::totals",
                                                          SumWorkspace<ExecutionSpace>::max_sums);
}

template <class ExecutionSpace, class Real>
index_t MovingAsymptotes<ExecutionSpace, Real>::bytes(index_t variables) {
  return 3 * variables * static_cast<index_t>(sizeof(Real));
}

// The first N totals of the last sum, over all ranks.
template <class ExecutionSpace, class Real>
template <int N>
std::array<double, N> MovingAsymptotes<ExecutionSpace, Real>::totals(ExecutionSpace const& space) const {
  std::array<double, N> values;
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(values.data(), N);
  Kokkos::deep_copy(space, host, Kokkos::subview(totals_, std::make_pair(0, N)));
  fence(space, "brickwork::MovingAsymptotes::totals");
  Communicator{}.sum(values.data(), N);
  return values;
}

template <class ExecutionSpace, class Real>
template <int M>
MmaUpdate MovingAsymptotes<ExecutionSpace, Real>::step_with(ExecutionSpace const& space, field_type const& x,
                                                            const_field_type const& objective,
                                                            std::vector<double> const& values,
                                                            std::vector<const_field_type> const& gradients) {
  double const range = settings_.upper - settings_.lower, count = static_cast<double>(variables_);
  detail::MmaFunctions<Real, M> functions{};
  functions.slope[0] = objective.data();
  for (int i = 0; i < M; ++i) functions.slope[i + 1] = gradients[i].data();
  sum_each<M + 2>("brickwork::MovingAsymptotes::step::scales", space, variables_,
                  detail::MmaScales<Real, M>{functions, x.data()}, sums_, StoreSums<M + 2>{totals_.data()});
  auto const sizes = totals<M + 2>(space);
  BRICKWORK_REQUIRE(std::isfinite(sizes[M + 1]), "moving asymptotes: a variable is not finite");
  BRICKWORK_REQUIRE(std::isfinite(sizes[0]), "moving asymptotes: df/dx is not finite");
  std::array<double, M> value{};  // g_i in units of what it gains where every variable crosses its range
  for (int i = 0; i <= M; ++i) {
    BRICKWORK_REQUIRE(std::isfinite(sizes[i]), "moving asymptotes: the derivative of constraint ", i, " is not finite");
    double const mean = sizes[i] / count;
    functions.scale[i] = mean > 0 ? static_cast<Real>(1 / mean) : Real(0);
    if (i > 0) value[i - 1] = mean > 0 ? values[i - 1] / (sizes[i] * range) : std::clamp(values[i - 1], -1.0, 1.0);
  }

  for_each(
      "brickwork::MovingAsymptotes::step::asymptotes", space, variables_,
      detail::MoveAsymptotes<Real>{steps_ < 2, static_cast<Real>(settings_.start_distance * range),
                                   static_cast<Real>(settings_.least_distance * range), static_cast<Real>(10 * range),
                                   static_cast<Real>(settings_.shrink), static_cast<Real>(settings_.grow),
                                   static_cast<Real>(settings_.lower), static_cast<Real>(settings_.upper), x.data(),
                                   distance_.data(), previous_.data(), older_.data()});
  ++steps_;

  detail::MmaDual<Real, M> dual{functions,
                                {},
                                static_cast<Real>(settings_.move),
                                static_cast<Real>(settings_.lower),
                                static_cast<Real>(settings_.upper),
                                x.data(),
                                distance_.data()};
  auto const set_multipliers = [&](std::array<double, M> const& multipliers) {
    for (int i = 0; i < M; ++i) dual.multiplier[i] = static_cast<Real>(multipliers[i]);
  };
  // Elastic variables y of cost penalty y + y^2 / 2 take over where a multiplier passes the penalty.
  auto const elastic = [&](double multiplier) { return std::max(0.0, multiplier - settings_.penalty); };
  detail::ConcaveMaximum<M> maximum(std::is_same<Real, float>::value ? 1e-7 : 1e-10,
                                    std::numeric_limits<Real>::epsilon());
  std::copy(multipliers_.begin(), multipliers_.end(), maximum.point.begin());
  bool const converged = maximum.search([&](std::array<double, M> const& multipliers) {
    set_multipliers(multipliers);
    constexpr int sums = detail::MmaDual<Real, M>::values;
    sum_each<sums>("brickwork::MovingAsymptotes::step::dual", space, variables_, dual, sums_,
                   StoreSums<sums>{totals_.data()});
    auto const total = totals<sums>(space);
    typename detail::ConcaveMaximum<M>::Derivatives result;
    int at = M;
    for (int i = 0; i < M; ++i) {
      result.gradient[i] = value[i] + total[i] / (count * range) - elastic(multipliers[i]);
      for (int k = i; k < M; ++k) result.curvature[i][k] = result.curvature[k][i] = total[at++] / (count * range);
      if (elastic(multipliers[i]) > 0) result.curvature[i][i] += 1;
    }
    return result;
  });
  std::copy(maximum.point.begin(), maximum.point.end(), multipliers_.begin());

  MmaUpdate update;
  update.iterations = maximum.evaluations;
  update.converged = converged;
  for (double multiplier : multipliers_) update.feasible = update.feasible && elastic(multiplier) == 0;
  set_multipliers(maximum.point);
  Kokkos::parallel_reduce("brickwork::MovingAsymptotes::step::take", brickwork::range(space, variables_),
                          detail::TakeMmaStep<Real, M>{dual, x.data()}, Kokkos::Max<double>(update.change));
  fence(space, "brickwork::MovingAsymptotes::step");
  Communicator{}.max(&update.change, 1);
  return update;
}

template <class ExecutionSpace, class Real>
MmaUpdate MovingAsymptotes<ExecutionSpace, Real>::step(ExecutionSpace const& space, field_type const& x,
                                                       const_field_type const& objective,
                                                       std::vector<double> const& values,
                                                       std::vector<const_field_type> const& gradients) {
  auto const extent = [](auto const& field) { return static_cast<index_t>(field.extent(0)); };
  BRICKWORK_REQUIRE(extent(x) == variables_ && extent(objective) == variables_, "moving asymptotes: x and df/dx of ",
                    extent(x), " and ", extent(objective), " values; there are ", variables_, " variables");
  BRICKWORK_REQUIRE(values.size() == multipliers_.size() && gradients.size() == multipliers_.size(),
                    "moving asymptotes: ", values.size(), " values and ", gradients.size(),
                    " gradients of constraints; there are ", constraints_, " constraints");
  for (int i = 0; i < constraints_; ++i) {
    BRICKWORK_REQUIRE(std::isfinite(values[i]), "moving asymptotes: constraint ", i + 1, " is ", values[i],
                      "; it must be finite");
    BRICKWORK_REQUIRE(extent(gradients[i]) == variables_, "moving asymptotes: derivative of constraint ", i + 1, " of ",
                      extent(gradients[i]), " values; there are ", variables_, " variables");
  }
  switch (constraints_) {
    case 1:
      return step_with<1>(space, x, objective, values, gradients);
    case 2:
      return step_with<2>(space, x, objective, values, gradients);
    case 3:
      return step_with<3>(space, x, objective, values, gradients);
    default:
      return step_with<4>(space, x, objective, values, gradients);
  }
}

#define BRICKWORK_INSTANTIATE(SPACE)             \
  template class MovingAsymptotes<SPACE, float>; \
  template class MovingAsymptotes<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
