// SPDX-License-Identifier: BSD-3-Clause
// The method of moving asymptotes (MMA) on device fields, for few constraints.
#pragma once

#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/core/sums.hpp"

namespace brickwork {

struct MmaSettings {
  double move = 0.05;              ///< largest change of a variable per step
  double lower = 1e-3, upper = 1;  ///< bounds of the variables
  double start_distance = 0.5;     ///< first asymptotes, times (upper - lower)
  double shrink = 0.7, grow = 1.2;
  double penalty = 1000;  ///< of a constraint's violation, times the size of f
};

/// What a step did.
struct MmaUpdate {
  double change = 0;     ///< largest change of a variable
  int iterations = 0;    ///< of the dual problem
  bool feasible = true;  ///< false: the subproblem's constraints could not all be met (elastic variables are positive)
};

/// minimize f(x) with g_i(x) <= 0, i < m <= 4, lower <= x <= upper.
///
/// Each step minimizes Svanberg's separable convex approximation; its dual in m multipliers is solved by a safeguarded
/// Newton method, all sums on the device. Constraints are elastic, so that a step from an infeasible point exists.
/// Source: Svanberg, 1987 and 2007.
/// Memory: asymptotes and the last two designs, 4 fields of Real.
template <class ExecutionSpace, class Real>
class MovingAsymptotes {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;

  static constexpr int most_constraints = 4;

  /// \throws InputError for settings out of range or a count of constraints outside [1, 4]
  MovingAsymptotes(ExecutionSpace const& space, index_t variables, int constraints, MmaSettings const& settings);

  static index_t bytes(index_t variables);

  /// One step, in place. Bitwise repeatable; does not depend on the scale of f. Waits for `space`.
  /// \param x          extent (variables)
  /// \param objective  df/dx, extent (variables)
  /// \param values     g_i(x)
  /// \param gradients  dg_i/dx, extent (variables) each
  /// \throws InputError for extents that do not fit or values that are not finite
  MmaUpdate step(ExecutionSpace const& space, field_type const& x, const_field_type const& objective,
                 std::vector<double> const& values, std::vector<const_field_type> const& gradients);
};

}  // namespace brickwork
