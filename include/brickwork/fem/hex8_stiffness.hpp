// SPDX-License-Identifier: BSD-3-Clause
// Stiffness of the trilinear hexahedron on a box-shaped cell, and its even-odd (parity) form. Free of Kokkos.
//
// K0 = integral over the cell of B^T C B, by 2 x 2 x 2 Gauss points (exact for a box). Row 3 n + d is component d of
// corner n; corner n has offsets (n & 1, (n >> 1) & 1, n >> 2).
//
// Parity form. With u^_s = sum_n (-1)^(s . n) u_n (the 8-point Walsh-Hadamard butterfly per component, bit 1 of s = x,
// 2 = y, 4 = z) a box with a material aligned with the axes gives K0 = T^T K~ T, K~ = T K0 T^T / 64, and K~ falls into
// eight 3 x 3 blocks: block s couples the modes u^_{s xor 2^d, d}. The three translations vanish; 45 entries remain.
#pragma once

#include <array>

#include "brickwork/core/types.hpp"
#include "brickwork/fem/material.hpp"

namespace brickwork {

using Hex8Matrix = std::array<std::array<double, 24>, 24>;

/// Blocks of the parity form: [s][a][b] couples u^_{s xor 2^a, a} and u^_{s xor 2^b, b}.
using ParityBlocks = std::array<std::array<std::array<double, 3>, 3>, 8>;

/// \param c       elasticity matrix, unit of stress
/// \param spacing sides of the cell, each > 0
/// \return stiffness, unit of stress times length
Hex8Matrix hex8_stiffness(ElasticityMatrix const& c, Vec3 const& spacing);

/// True where the parity form couples components a and b in block s for any material aligned with the axes.
constexpr bool parity_coupled(int s, int a, int b) {
  int const mode_a = s ^ (1 << a);
  int const mode_b = s ^ (1 << b);
  if (mode_a == 0 || mode_b == 0) return false;      // translations
  if ((mode_a == 7) != (mode_b == 7)) return false;  // the xyz mode stands alone
  return true;
}

/// \throws InputError where the matrix has entries outside the blocks (not a box, or a material that is not aligned)
ParityBlocks parity_blocks(Hex8Matrix const& stiffness);

/// True where parity_blocks() would succeed.
bool has_parity_form(Hex8Matrix const& stiffness);

}  // namespace brickwork
