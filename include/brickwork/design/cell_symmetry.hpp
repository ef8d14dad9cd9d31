// SPDX-License-Identifier: BSD-3-Clause
// Symmetry of a periodic cell, imposed on cell fields by averaging over orbits.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/design/cell_kinds.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

/// \throws InputError where the grid does not have the symmetry: rotate3 and reflect6 need as many cells, of the same
/// side, along every axis
void check_symmetry(CellSymmetry symmetry, BoxGrid const& grid);

/// Replaces every value by the mean over its orbit, extent (cells), in place. Values of an orbit are equal to the last
/// bit then, and the result is bitwise repeatable. Asynchronous; nothing happens for CellSymmetry::none.
template <class ExecutionSpace, class Real>
void symmetrize(ExecutionSpace const& space, BoxGrid const& grid, CellSymmetry symmetry,
                CellField<Real, typename ExecutionSpace::memory_space> const& field);

}  // namespace brickwork
