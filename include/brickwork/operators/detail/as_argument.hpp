// SPDX-License-Identifier: BSD-3-Clause
// How Kokkos hands a functor to a GPU.
#pragma once

#include <Kokkos_Core.hpp>

namespace brickwork::detail {

/// The largest functor that is passed as a kernel argument: 4 kB less the policy, which travels along.
inline constexpr std::size_t argument_bytes = 3584;

/// The policy with which Kokkos passes a functor of several hundred bytes as a kernel argument, where CUDA takes it (4
/// kB), rather than through a staging buffer, which makes each launch wait for the kernel before it.
template <class Functor, class Policy>
auto as_argument(Policy const& policy) {
  if constexpr (sizeof(Functor) <= argument_bytes) {
    return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  } else {
    return policy;
  }
}

}  // namespace brickwork::detail
