// SPDX-License-Identifier: BSD-3-Clause
// What memory there is and how much of it was used, for the space that a run lives in.
#pragma once

#include <string>

#include "brickwork/core/types.hpp"

namespace brickwork {

struct MemoryState {
  index_t available = -1;  ///< bytes that can still be allocated; -1 = unknown
  index_t used_peak =
      -1;  ///< bytes in use by this process (host: peak resident set; GPU: in use now on the card); -1 = unknown
  std::string device;  ///< name of the processor or card
};

/// State of Kokkos' default execution space. On the host the limit of a control group counts where it is below the free
/// memory.
MemoryState memory_state();

}  // namespace brickwork
