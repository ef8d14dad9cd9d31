// SPDX-License-Identifier: BSD-3-Clause
// The execution spaces that tests run on: Kokkos' default one, and Serial beside it where that is another.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#if defined(KOKKOS_ENABLE_CUDA)
#define BRICKWORK_TEST_SPACES Kokkos::Cuda
#elif defined(KOKKOS_ENABLE_OPENMP) && defined(KOKKOS_ENABLE_SERIAL) && !defined(BRICKWORK_DEFAULT_SPACE_ONLY)
#define BRICKWORK_TEST_SPACES Kokkos::OpenMP, Kokkos::Serial
#else
#define BRICKWORK_TEST_SPACES Kokkos::DefaultExecutionSpace
#endif
