// SPDX-License-Identifier: BSD-3-Clause
// Options of the local multigrid cycles for Hermite operators, in both storages, and the interval of their Chebyshev
// smoother.
#pragma once

#include <cmath>

#include "brickwork/operators/hermite_level.hpp"

namespace brickwork {

enum class HermiteSmoother { chebyshev, patch };

/// Which interval of the spectrum of D^-1 A the Chebyshev polynomial damps.
enum class HermiteInterval {
  automatic,  ///< the fixed one for the biharmonic form on cubes (squares), whose spectrum it was made for, else
              ///< estimated
  fixed,      ///< [lower, upper] of the options
  estimated   ///< up to 1.05 times an estimate of each level's largest eigenvalue, from a tenth of that
};

struct HermiteCycleOptions {
  HermiteSmoother smoother = HermiteSmoother::chebyshev;
  int stages = 3;            ///< Chebyshev stages before and after the coarser levels, >= 1
  int coarsest_stages = 20;  ///< on the coarsest level, >= 1
  int sweeps = 2;            ///< vertex-patch sweeps before and after, >= 1
  int coarsest_sweeps = 10;  ///< on the coarsest level and in each direction, >= 1
  bool symmetric = true;     ///< sweeps afterwards in reversed order of colours, as conjugate gradients need it
  HermiteInterval interval = HermiteInterval::automatic;
  double lower = 0.2, upper = 2.0;  ///< the fixed interval, 0 < lower < upper
};

/// \throws InputError where an option is out of its range
void check(HermiteCycleOptions const& options);

/// Whether the Chebyshev interval of the levels over `base` is to be estimated.
template <class MemorySpace, int Dim>
bool estimates_interval(HermiteCycleOptions const& options, HermiteForm const& form,
                        GridLevel<MemorySpace, Dim> const& base) {
  bool is_cube = form.mass == 0 && form.laplace == 0;
  for (int d = 1; d < Dim; ++d)
    is_cube = is_cube && std::abs(base.spacing[d] - base.spacing[0]) <= 1e-6 * base.spacing[0];
  return options.interval == HermiteInterval::estimated || (options.interval == HermiteInterval::automatic && !is_cube);
}

/// Estimate of the largest eigenvalue of D^-1 A on a level, from below and by some percent at most: twelve Lanczos
/// steps. 0 where the level has no interior vertex. Waits for the device. \throws OutOfMemory
template <class ExecutionSpace, class Scalar, int Dim>
double largest_eigenvalue(ExecutionSpace const& space, HermiteLevel<ExecutionSpace, Scalar, Dim> const& level);

/// What a Chebyshev polynomial damps of the spectrum of D^-1 A.
struct ChebyshevInterval {
  double lower, upper;
};

/// The estimated interval of a level. As largest_eigenvalue(); options.upper stands for an estimate that it cannot
/// give.
template <class ExecutionSpace, class Scalar, int Dim>
ChebyshevInterval estimated_interval(ExecutionSpace const& space, HermiteCycleOptions const& options,
                                     HermiteLevel<ExecutionSpace, Scalar, Dim> const& level) {
  double const largest = largest_eigenvalue(space, level), upper = largest > 0 ? 1.05 * largest : options.upper;
  return {0.1 * upper, upper};
}

}  // namespace brickwork
