// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/bfloat16.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

TEST_CASE("BF16 rounds to the nearest even value", "[bfloat16]") {
  using namespace brickwork::detail;
  CHECK(round_to_bf16(1.0f) == 1.0f);
  CHECK(round_to_bf16(1.0f + 1.0f / 256) == 1.0f);              // halfway: to even
  CHECK(round_to_bf16(1.0f + 3.0f / 256) == 1.0f + 1.0f / 64);  // halfway: to even
  CHECK(round_to_bf16(-1.0f - 1.01f / 256) == -1.0f - 1.0f / 128);
  CHECK(round_to_bf16(0.0f) == 0.0f);
  CHECK(std::isnan(round_to_bf16(std::numeric_limits<float>::quiet_NaN())));
  CHECK(bf16_low(bf16_bits(0.75f) | bf16_bits(-2.5f) << 16) == 0.75f);
  CHECK(bf16_high(bf16_bits(0.75f) | bf16_bits(-2.5f) << 16) == -2.5f);
  for (double value : random_values(1000, 5, -30, 30)) {
    auto const x = static_cast<float>(std::exp2(value));
    CHECK(std::abs(round_to_bf16(x) - x) <= x / 256);
  }
}
