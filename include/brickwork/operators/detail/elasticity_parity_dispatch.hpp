// SPDX-License-Identifier: BSD-3-Clause
// One application of the parity kernel, by the body that fits the execution space.
#pragma once

#include "brickwork/operators/detail/elasticity_parity_portable.hpp"
#if defined(KOKKOS_ENABLE_CUDA)
#include "brickwork/operators/detail/elasticity_parity_cuda.hpp"
#endif

namespace brickwork::detail {

/// Device memory that sums over nodes need: partials of blocks or tiles, and counters. One sum at a time.
template <class MemorySpace>
struct ParityWorkspace {
  static constexpr index_t most_sides = 6;
  Kokkos::View<double*, MemorySpace> partials;
  Kokkos::View<unsigned*, MemorySpace> finished;
};

template <class ExecutionSpace, class Scalar>
struct ParityDispatch {
  using Workspace = ParityWorkspace<typename ExecutionSpace::memory_space>;
  static index_t partials(ExecutionSpace const& space, ElasticityData<Scalar> const& data) {
    return parity_portable_partials(space, data, Workspace::most_sides);
  }
  template <bool Masked, class Value, class Epilogue>
  static void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Value const* u, index_t stride_u,
                    index_t sides, index_t next_u, Epilogue const& epilogue, Workspace const& workspace, double* sums) {
    apply_parity_portable<ExecutionSpace, Scalar, Masked>(space, data, u, stride_u, sides, next_u, epilogue,
                                                          workspace.partials.data(), sums);
  }
};

#if defined(KOKKOS_ENABLE_CUDA)
template <class Scalar>
struct ParityDispatch<Kokkos::Cuda, Scalar> {
  using Workspace = ParityWorkspace<Kokkos::Cuda::memory_space>;
  static index_t partials(Kokkos::Cuda const& space, ElasticityData<Scalar> const& data) {
    if (!parity_cuda_supports(data)) return parity_portable_partials(space, data, Workspace::most_sides);
    return Workspace::most_sides * parity_cuda::most_blocks(data.mx, data.my, data.mz);
  }
  template <bool Masked, class Value, class Epilogue>
  static void apply(Kokkos::Cuda const& space, ElasticityData<Scalar> const& data, Value const* u, index_t stride_u,
                    index_t sides, index_t next_u, Epilogue const& epilogue, Workspace const& workspace, double* sums) {
    if (parity_cuda_supports(data)) {
      apply_parity_cuda<Scalar, Masked>(space, data, u, stride_u, sides, next_u, epilogue,
                                        {workspace.partials.data(), workspace.finished.data(), sums});
    } else {  // a node plane beyond 32-bit offsets
      apply_parity_portable<Kokkos::Cuda, Scalar, Masked>(space, data, u, stride_u, sides, next_u, epilogue,
                                                          workspace.partials.data(), sums);
    }
  }
};
#endif

/// With or without a mask, as data.mask says.
template <class ExecutionSpace, class Scalar, class Value, class Epilogue>
void apply_parity(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Value const* u, index_t stride_u,
                  index_t sides, index_t next_u, Epilogue const& epilogue,
                  ParityWorkspace<typename ExecutionSpace::memory_space> const& workspace, double* sums) {
  using Dispatch = ParityDispatch<ExecutionSpace, Scalar>;
  if (data.mask != nullptr) {
    Dispatch::template apply<true>(space, data, u, stride_u, sides, next_u, epilogue, workspace, sums);
  } else {
    Dispatch::template apply<false>(space, data, u, stride_u, sides, next_u, epilogue, workspace, sums);
  }
}

}  // namespace brickwork::detail
