// SPDX-License-Identifier: BSD-3-Clause
// Wall-clock time of the phases of a run. Free of Kokkos.
#pragma once

#include <chrono>

namespace brickwork {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace brickwork
