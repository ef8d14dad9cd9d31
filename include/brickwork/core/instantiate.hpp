// SPDX-License-Identifier: BSD-3-Clause
// The execution spaces that compiled sources are instantiated for: every enabled one of Serial, OpenMP and Cuda, or
// with Brickwork_DEFAULT_SPACE_ONLY (half the time to compile) Kokkos' default one.
#pragma once

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_SERIAL) && \
    !(defined(BRICKWORK_DEFAULT_SPACE_ONLY) && (defined(KOKKOS_ENABLE_OPENMP) || defined(KOKKOS_ENABLE_CUDA)))
#define BRICKWORK_INSTANTIATE_SERIAL(MACRO) MACRO(Kokkos::Serial)
#else
#define BRICKWORK_INSTANTIATE_SERIAL(MACRO)
#endif
#if defined(KOKKOS_ENABLE_OPENMP) && !(defined(BRICKWORK_DEFAULT_SPACE_ONLY) && defined(KOKKOS_ENABLE_CUDA))
#define BRICKWORK_INSTANTIATE_OPENMP(MACRO) MACRO(Kokkos::OpenMP)
#else
#define BRICKWORK_INSTANTIATE_OPENMP(MACRO)
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#define BRICKWORK_INSTANTIATE_CUDA(MACRO) MACRO(Kokkos::Cuda)
#else
#define BRICKWORK_INSTANTIATE_CUDA(MACRO)
#endif

#define BRICKWORK_FOR_EACH_EXECUTION_SPACE(MACRO) \
  BRICKWORK_INSTANTIATE_SERIAL(MACRO)             \
  BRICKWORK_INSTANTIATE_OPENMP(MACRO)             \
  BRICKWORK_INSTANTIATE_CUDA(MACRO)
