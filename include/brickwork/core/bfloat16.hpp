// SPDX-License-Identifier: BSD-3-Clause
// Rounding to bfloat16 (8 bits of exponent as FP32 has, 8 of mantissa), and pairs of such values in a 32-bit word.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>

namespace brickwork::detail {

KOKKOS_FORCEINLINE_FUNCTION float float_of_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The upper 16 bits of x, rounded to nearest even. x must be finite.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bf16_bits(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

/// x rounded to BF16, to nearest even; NaN stays NaN.
KOKKOS_FORCEINLINE_FUNCTION float round_to_bf16(float x) { return x != x ? x : float_of_bits(bf16_bits(x) << 16); }

KOKKOS_FORCEINLINE_FUNCTION float bf16_low(std::uint32_t word) { return float_of_bits(word << 16); }
KOKKOS_FORCEINLINE_FUNCTION float bf16_high(std::uint32_t word) { return float_of_bits(word & 0xffff0000u); }

}  // namespace brickwork::detail
