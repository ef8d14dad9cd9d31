// SPDX-License-Identifier: BSD-3-Clause
// The right-hand side of a cell problem of homogenization: a constant strain imposed on every cell.
#pragma once

#include "brickwork/fem/elastic_tensor.hpp"

namespace brickwork {

/// f = sum over cells of E_e K0 chi_e with chi_e the strain's displacement in the cell's own coordinates
/// (fem/unit_strain.hpp). It needs no vector: a node's force comes from the moduli around it.
struct StrainLoad {
  Vector6 strain{};
};

}  // namespace brickwork
