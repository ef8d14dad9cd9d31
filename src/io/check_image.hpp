// SPDX-License-Identifier: BSD-3-Clause
// What every writer of images asks of its input. Private to src/io.
#pragma once

#include <vector>

#include "brickwork/io/image_data.hpp"

namespace brickwork::detail {

/// \throws InputError for a geometry that is not positive, no field, or a field whose size is not nx ny nz
void check_image(ImageGeometry const& geometry, std::vector<ImageField> const& fields);

}  // namespace brickwork::detail
