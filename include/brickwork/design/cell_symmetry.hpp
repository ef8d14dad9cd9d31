// SPDX-License-Identifier: BSD-3-Clause
// Symmetry of a periodic cell, imposed on cell fields by averaging over orbits.
#pragma once

#include <string>
#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork {

/// Groups of motions about the cell's centre. They map cells to cells for any number of cells, odd or even.
enum class CellSymmetry {
  none,
  reflect3,  ///< reflections in x, y, z: 8 motions; the tensor is orthotropic
  rotate3,   ///< the rotations of the cube: 24; the tensor is cubic
  reflect6   ///< all motions of the cube: 48; the tensor is cubic
};

std::vector<std::string> cell_symmetry_names();
std::string to_string(CellSymmetry symmetry);
/// \throws InputError for an unknown name (with the known ones)
CellSymmetry cell_symmetry_from_string(std::string const& name);

/// Whether the tensor has cubic symmetry: then C11, C12 and C44 are all of it.
inline bool is_cubic(CellSymmetry symmetry) {
  return symmetry == CellSymmetry::rotate3 || symmetry == CellSymmetry::reflect6;
}

/// \throws InputError where the grid does not have the symmetry: rotate3 and reflect6 need as many cells, of the same
/// side, along every axis
void check_symmetry(CellSymmetry symmetry, BoxGrid const& grid);

/// Replaces every value by the mean over its orbit, extent (cells), in place. Values of an orbit are equal to the last
/// bit then, and the result is bitwise repeatable. Asynchronous; nothing happens for CellSymmetry::none.
template <class ExecutionSpace, class Real>
void symmetrize(ExecutionSpace const& space, BoxGrid const& grid, CellSymmetry symmetry,
                CellField<Real, typename ExecutionSpace::memory_space> const& field);

}  // namespace brickwork
