// SPDX-License-Identifier: BSD-3-Clause
// The method of moving asymptotes (MMA) on device fields, for few constraints.
//
// With asymptotes at x +- s and t = (change of x) / s, a function f is approximated by
//
//   f(x) + sum_j s_j t_j (a_j / (1 - t_j) - b_j / (1 + t_j)),   a = 1.001 f'+ + .001 f'-,   b = .001 f'+ + 1.001 f'-
//
// (f'+ and f'- the positive and the negative part of df/dx_j), each plus a small multiple of the mean |df/dx|. For
// given multipliers the Lagrangian is separable and its minimum t_j = (sqrt b - sqrt a) / (sqrt b + sqrt a) within the
// move limit, so that the dual is a concave function of the few multipliers.
//
// Objective and constraints count in units of the mean size of their derivative, so neither's scale matters.
// Per variable, with S bytes a value and m constraints: (2 + m) S for the scales, 8 S for the asymptotes, (3 + m) S
// for every evaluation of the dual, and (4 + m) S for the step.
// Source: Svanberg, The method of moving asymptotes, 1987; MMA and GCMMA, 2007.
#pragma once

#include <array>
#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/core/sums.hpp"

namespace brickwork {

struct MmaSettings {
  double move = 0.05;               ///< largest change of a variable per step
  double lower = 1e-3, upper = 1;   ///< bounds of the variables
  double start_distance = 0.5;      ///< of the first asymptotes, times (upper - lower)
  double shrink = 0.7, grow = 1.2;  ///< of the distance of a variable that oscillates, and of one that does not
  double least_distance = 0.01;     ///< times (upper - lower): so far about may a variable oscillate in the end
  /// Of a constraint's violation: what f gains where every variable goes from one bound to the other, times this, for
  /// a violation as large as what the constraint gains that way.
  double penalty = 1000;
};

/// What a step did.
struct MmaUpdate {
  double change = 0;      ///< largest change of a variable
  int iterations = 0;     ///< evaluations of the dual
  bool converged = true;  ///< false: the dual was not solved to its tolerance (the step is the best that was found)
  bool feasible = true;   ///< false: the subproblem's constraints could not all be met (elastic variables are positive)
};

/// minimize f(x) with g_i(x) <= 0, i < m <= 4, lower <= x <= upper.
///
/// Each step minimizes Svanberg's separable convex approximation; its dual in m multipliers is solved by a safeguarded
/// Newton method, all sums on the device. Constraints are elastic, so that a step from an infeasible point exists.
/// Memory: the distance of the asymptotes and the last two designs, 3 fields of Real.
template <class ExecutionSpace, class Real>
class MovingAsymptotes {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;

  static constexpr int most_constraints = 4;

  /// \throws InputError for settings out of range or a count of constraints outside [1, 4]
  MovingAsymptotes(ExecutionSpace const& space, index_t variables, int constraints, MmaSettings const& settings);

  /// What an object allocates.
  static index_t bytes(index_t variables);

  /// One step, in place. Bitwise repeatable; does not depend on the scale of f and of the constraints. Values of x
  /// beyond the bounds are moved there first. Waits for `space`.
  /// \param x          extent (variables)
  /// \param objective  df/dx, extent (variables)
  /// \param values     g_i(x)
  /// \param gradients  dg_i/dx, extent (variables) each
  /// \throws InputError for extents that do not fit or values that are not finite; nothing has changed then
  MmaUpdate step(ExecutionSpace const& space, field_type const& x, const_field_type const& objective,
                 std::vector<double> const& values, std::vector<const_field_type> const& gradients);

 private:
  template <int M>
  MmaUpdate step_with(ExecutionSpace const& space, field_type const& x, const_field_type const& objective,
                      std::vector<double> const& values, std::vector<const_field_type> const& gradients);
  template <int N>
  std::array<double, N> totals(ExecutionSpace const& space) const;

  MmaSettings settings_;
  index_t variables_;
  int constraints_;
  int steps_ = 0;
  std::vector<double> multipliers_;  // of the last step
  field_type distance_, previous_, older_;
  SumWorkspace<ExecutionSpace> sums_;
  Kokkos::View<double*, memory_space> totals_;
};

}  // namespace brickwork
