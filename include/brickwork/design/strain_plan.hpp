// SPDX-License-Identifier: BSD-3-Clause
// Which cell problems a function of the homogenized tensor needs. Free of Kokkos.
#pragma once

#include <array>
#include <vector>

#include "brickwork/design/tensor_objective.hpp"

namespace brickwork {

/// The strains to solve for, and how the fields of the six unit strains follow from them.
///
/// With cubic symmetry a turn about the diagonal, x -> y -> z -> x, maps the cell to itself, and the field of xx to
/// that of yy: so xx and yz are enough for the whole tensor. Where a function depends on v . C v alone, v is the one
/// strain.
struct StrainPlan {
  /// The field of a unit strain: solution `solve` after `turns` turns; -1 where it is not known.
  struct Unit {
    int solve = -1;
    int turns = 0;
  };
  std::vector<Vector6> strains;
  std::array<Unit, 6> unit{};
  bool single = false;  ///< the one strain is a direction v; the unit fields are not known
  bool cubic = false;
};

/// \param entries    what is read of the tensor
/// \param direction  where the function depends on v . C v alone, v; else zero
/// \param cubic      whether the cell has cubic symmetry
StrainPlan strain_plan(TensorEntries const& entries, Vector6 const& direction, bool cubic);

/// For the whole tensor.
StrainPlan full_strain_plan(bool cubic = false);

}  // namespace brickwork
