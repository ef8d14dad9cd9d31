// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/resample.hpp"

#include <cmath>
#include <numeric>

#include "brickwork/core/check.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;

namespace {

std::vector<float> waves(Index3 const& n) {
  std::vector<float> values;
  for (index_t e = 0; e < n[0] * n[1] * n[2]; ++e) {
    values.push_back(static_cast<float>(0.5 + 0.5 * std::sin(0.7 * static_cast<double>(e))));
  }
  return values;
}

double mean(std::vector<float> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("resampling to a multiple repeats values, and back gives them again") {
  Index3 const n{3, 5, 2}, m{6, 15, 2};
  std::vector<float> const values = waves(n), finer = resample_cells(values, n, m);
  REQUIRE(finer.size() == 180);
  for (index_t k = 0; k < 2; ++k) {
    for (index_t j = 0; j < 15; ++j) {
      for (index_t i = 0; i < 6; ++i) {
        CHECK(finer[static_cast<std::size_t>(i + 6 * (j + 15 * k))] ==
              values[static_cast<std::size_t>(i / 2 + 3 * (j / 3 + 5 * k))]);
      }
    }
  }
  std::vector<float> const back = resample_cells(finer, m, n);
  for (std::size_t e = 0; e < values.size(); ++e) CHECK(back[e] == Approx(values[e]).epsilon(1e-6));
}

TEST_CASE("resampling keeps the mean, whatever the sizes") {
  for (Index3 const& n : {Index3{7, 4, 5}, Index3{1, 9, 2}, Index3{16, 16, 1}}) {
    for (Index3 const& m : {Index3{5, 6, 7}, Index3{2, 3, 11}, Index3{1, 1, 1}}) {
      std::vector<float> const values = waves(n), other = resample_cells(values, n, m);
      CHECK(static_cast<index_t>(other.size()) == m[0] * m[1] * m[2]);
      CHECK(mean(other) == Approx(mean(values)).epsilon(1e-6));
    }
  }
  // Two cells to three: the middle one is the mean of both.
  CHECK(resample_cells({1, 0}, {2, 1, 1}, {3, 1, 1}) == std::vector<float>{1, 0.5f, 0});
}

TEST_CASE("resampling refuses sizes that do not fit") {
  CHECK_THROWS_AS(resample_cells({1, 2}, {3, 1, 1}, {2, 1, 1}), InputError);
  CHECK_THROWS_AS(resample_cells({1, 2}, {2, 1, 1}, {0, 1, 1}), InputError);
}
