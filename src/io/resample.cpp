// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/resample.hpp"

#include <algorithm>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

// The field as [outer][n][inner], with `n` turned into `m`.
std::vector<float> resample_axis(std::vector<float> const& values, index_t inner, index_t n, index_t m, index_t outer) {
  std::vector<float> result(static_cast<std::size_t>(inner * m * outer));
  std::vector<double> sum(static_cast<std::size_t>(inner));
  for (index_t o = 0; o < outer; ++o) {
    for (index_t j = 0; j < m; ++j) {
      // In units of 1 / (n m) of the box, old cells are m wide and new ones n: the overlaps are whole numbers.
      index_t const begin = j * n, end = begin + n;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (index_t i = begin / m; i * m < end; ++i) {
        double const overlap = static_cast<double>(std::min(end, (i + 1) * m) - std::max(begin, i * m));
        float const* row = values.data() + inner * (i + n * o);
        for (index_t k = 0; k < inner; ++k) sum[static_cast<std::size_t>(k)] += overlap * row[k];
      }
      float* to = result.data() + inner * (j + m * o);
      for (index_t k = 0; k < inner; ++k) {
        to[k] = static_cast<float>(sum[static_cast<std::size_t>(k)] / static_cast<double>(n));
      }
    }
  }
  return result;
}

}  // namespace

std::vector<float> resample_cells(std::vector<float> values, Index3 const& from, Index3 const& to) {
  Index3 cells = from;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    BRICKWORK_REQUIRE(from[axis] >= 1 && to[axis] >= 1, "resample_cells: ", from[axis], " to ", to[axis],
                      " cells along ", "xyz"[axis], "; each must be at least 1");
  }
  BRICKWORK_REQUIRE(static_cast<index_t>(values.size()) == from[0] * from[1] * from[2],
                    "resample_cells: ", values.size(), " values for ", from[0], " x ", from[1], " x ", from[2],
                    " cells");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (cells[axis] == to[axis]) continue;
    index_t inner = 1, outer = 1;
    for (std::size_t other = 0; other < axis; ++other) inner *= cells[other];
    for (std::size_t other = axis + 1; other < 3; ++other) outer *= cells[other];
    values = resample_axis(values, inner, cells[axis], to[axis], outer);
    cells[axis] = to[axis];
  }
  return values;
}

}  // namespace brickwork
