// SPDX-License-Identifier: BSD-3-Clause
// Cell values on another grid of the same box. Free of Kokkos.
#pragma once

#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// Values (x fastest) of `from` cells on `to` cells: each new value is the mean of the old field, constant per cell,
/// over the new cell. So the mean of the field and its range are kept, and on a multiple of the cells values repeat.
///
/// One axis after the other: memory for the input and one field between.
/// \throws InputError for a size that is not that of `from`, or cells below 1
std::vector<float> resample_cells(std::vector<float> values, Index3 const& from, Index3 const& to);

}  // namespace brickwork
