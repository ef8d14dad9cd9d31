// SPDX-License-Identifier: BSD-3-Clause
// Coarse blocks rounded to 16-bit floating point, scaled by the diagonal: what storing them so would do to the
// iteration.
#pragma once

#include "brickwork/operators/detail/block_stencil.hpp"

namespace brickwork::detail {

/// The nearest value of IEEE binary16 (11 significant bits, multiples of 2^-24 below 2^-14), for |x| < 65504.
KOKKOS_INLINE_FUNCTION float rounded_to_half(float x) {
  float const size = x < 0 ? -x : x;
  float quantum = 0x1p-24f;
  for (float power = 0x1p-13f; power <= size; power *= 2) quantum *= 2;
  double const steps = static_cast<double>(size) / static_cast<double>(quantum);
  auto whole = static_cast<double>(static_cast<index_t>(steps));
  double const rest = steps - whole;
  if (rest > 0.5 || (rest == 0.5 && static_cast<index_t>(whole) % 2 == 1)) whole += 1;
  float const value = static_cast<float>(whole) * quantum;
  return x < 0 ? -value : value;
}

/// Rounds the forward blocks, entry (d, e) in units of the square root of the diagonals of both ends: neither modulus
/// nor contrast overflows it. Index: node + nodes times the forward neighbour. The stencil stays symmetric, and
/// translations stay in its null space.
struct RoundBlocks {
  StencilData stencil;
  KOKKOS_FUNCTION void operator()(index_t index) const {
    auto const node = static_cast<std::uint32_t>(index % stencil.nodes);
    int const position = center_position + 1 + static_cast<int>(index / stencil.nodes);
    int p[3];
    stencil.box.position(node, p);
    std::uint32_t neighbour;
    if (!stencil.box.neighbour(p, position, neighbour)) return;
    float* const block = stencil.blocks + 9 * (position - 14) * stencil.stride + node;
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e) {
        float const here = stencil.diagonal[static_cast<index_t>(d) * stencil.nodes + node];
        float const there = stencil.diagonal[static_cast<index_t>(e) * stencil.nodes + neighbour];
        float& entry = block[(3 * d + e) * stencil.stride];
        float const unit = math::sqrt(here) * math::sqrt(there);
        entry = unit > 0 ? unit * rounded_to_half(entry / unit) : 0.0f;
      }
  }
};

}  // namespace brickwork::detail
