// SPDX-License-Identifier: BSD-3-Clause
// Vector kernels: a parallel loop over independent indices, at the speed of the memory.
#pragma once

#include "brickwork/core/fields.hpp"

namespace brickwork {

namespace detail {

/// Several indices per thread, a launch apart, so that neighbouring threads still touch neighbouring memory.
template <class Functor, int Indices>
struct StridedIndices {
  Functor functor;
  index_t count;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t first) const {
    for (int i = 0; i < Indices; ++i) {
      index_t const index = first + i * stride;
      if (index < count) functor(index);
    }
  }
};

}  // namespace detail

/// Calls functor(i) for every i in [0, count), asynchronously on `space`. The calls must not depend on each other.
///
/// Kokkos launches ranges in the smallest blocks of full occupancy: 64 threads on a GPU, so that a kernel of few bytes
/// per index waits for blocks to start (1.7 TB/s instead of 4 on an H200). Four indices per thread avoid that.
template <class ExecutionSpace, class Functor>
void for_each(char const* label, ExecutionSpace const& space, index_t count, Functor const& functor) {
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible) {
    Kokkos::parallel_for(label, range(space, count), functor);
  } else if (count < index_t(1) << 18) {
    Kokkos::parallel_for(label, range(space, count), functor);  // too few to fill a GPU four by four
  } else {
    constexpr int indices = 4;
    index_t const stride = (count + indices * 32 - 1) / (indices * 32) * 32;  // whole warps
    Kokkos::parallel_for(label, range(space, stride), detail::StridedIndices<Functor, indices>{functor, count, stride});
  }
}

}  // namespace brickwork
