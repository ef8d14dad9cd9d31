// SPDX-License-Identifier: BSD-3-Clause
// Sorting of 64-bit keys, for set-up: by the standard library on a host, by Thrust (part of the CUDA toolkit) on a GPU.
// Kokkos' own sort is a bin sort that keys with gaps defeat.
#pragma once

#include <algorithm>

#include "brickwork/core/fields.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__)
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#endif

namespace brickwork {

/// Sorts in ascending order; waits for `space`.
template <class ExecutionSpace>
void sort_keys(ExecutionSpace const& space,
               Kokkos::View<index_t*, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space> const& keys) {
  index_t* const first = keys.data();
#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__)
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    thrust::sort(thrust::cuda::par.on(space.cuda_stream()), first, first + keys.extent(0));
    return;
  }
#endif
  fence(space, "brickwork::sort_keys");
  std::sort(first, first + keys.extent(0));
}

}  // namespace brickwork
