// SPDX-License-Identifier: BSD-3-Clause
// Densities that a periodic design starts from: random trigonometric series, noise, triply periodic minimal surfaces.
#pragma once

#include <cstdint>

#include "brickwork/core/fields.hpp"
#include "brickwork/design/cell_kinds.hpp"
#include "brickwork/design/cell_symmetry.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

struct StartSettings {
  StartDensity kind = StartDensity::randc;
  std::uint64_t seed = 1;  ///< same seed, same density; on another backend to rounding
  int waves = 3;           ///< randc: highest wave number along an axis, 1 .. 8
  int periods = 1;         ///< surfaces: repetitions along an axis, >= 1, of two cells at least
  double mean = 0.3;       ///< of the density, in (0, 1): a level of the series or surface is chosen to that end
  double lower = 1e-3;     ///< least and largest density
  double upper = 1;
  /// Of the linear transition between solid and void, as a fraction of the range of the series or surface, in [0, 1];
  /// 0 = sharp.
  double width = 0.1;
  CellSymmetry symmetry = CellSymmetry::none;  ///< imposed on the series or surface, before a level is chosen
  bool sheet = false;  ///< surfaces: solid on both sides of the surface (a sheet) instead of on one
};

/// Fills `density`, extent (cells), values in [lower, upper], and returns its mean: the one asked for to 1e-6, or as
/// nearly as a sharp level comes, between two cells that symmetry or periods make equal. The series and surfaces span
/// the box, whatever its sides. Bitwise repeatable. Waits for `space`.
/// \throws InputError for settings out of range, and for a surface of which the symmetry leaves nothing
template <class ExecutionSpace, class Real>
double start_density(ExecutionSpace const& space, BoxGrid const& grid, StartSettings const& settings,
                     CellField<Real, typename ExecutionSpace::memory_space> const& density);

}  // namespace brickwork
