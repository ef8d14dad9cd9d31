// SPDX-License-Identifier: BSD-3-Clause
// Copies from global to shared memory that a thread need not wait for: asynchronous ones from compute capability 8.0
// on, plain assignments elsewhere.
#pragma once

#include "brickwork/core/kokkos_compat.hpp"

namespace brickwork::detail {

/// One value of 4 or 8 bytes. Others see it after wait_for_copies() and a barrier.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void copy_async(Scalar* to, Scalar const* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  auto const target = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(Scalar) == 4) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(target), "l"(from) : "memory");
  }
#else
  *to = *from;
#endif
}

/// Ends a group of copies.
KOKKOS_FORCEINLINE_FUNCTION void commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups of this thread but the latest.
KOKKOS_FORCEINLINE_FUNCTION void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

}  // namespace brickwork::detail
