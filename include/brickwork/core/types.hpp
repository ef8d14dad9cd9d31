// SPDX-License-Identifier: BSD-3-Clause
// Basic types that every stage shares. Free of Kokkos, so that host-only sources may include it.
#pragma once

#include <array>
#include <cstdint>

namespace brickwork {

/// Signed 64-bit index: counts of nodes, cells and degrees of freedom pass 2^31.
using index_t = std::int64_t;

/// Index triple in the order (x, y, z).
using Index3 = std::array<index_t, 3>;

/// Real triple in the order (x, y, z).
using Vec3 = std::array<double, 3>;

}  // namespace brickwork
