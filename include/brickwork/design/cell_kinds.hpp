// SPDX-License-Identifier: BSD-3-Clause
// Symmetries and starting densities of periodic cells by name (design/cell_symmetry.hpp and design/start_density.hpp
// have what they do). Free of Kokkos: configuration readers know them.
#pragma once

#include <string>
#include <vector>

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

enum class StartDensity {
  randc,   ///< a random trigonometric series, smooth and periodic, seeded
  random,  ///< independent values per cell, seeded: gray noise, uniform numbers shifted to the mean and cut off
  gyroid,
  schwarz_p,
  diamond,
  iwp,
  uniform  ///< the mean everywhere: for problems whose gradient does not vanish there
};

std::vector<std::string> start_density_names();
std::string to_string(StartDensity kind);
/// \throws InputError for an unknown name (with the known ones)
StartDensity start_density_from_string(std::string const& name);

}  // namespace brickwork
