// SPDX-License-Identifier: BSD-3-Clause
// Loops to be unrolled whole, because the arrays that they index should live in registers. Free of Kokkos.
#pragma once

/// Before a loop of constant length, of 64 rounds at most.
#if defined(__CUDACC__) || defined(__clang__)
#define BRICKWORK_UNROLL_ALL _Pragma("unroll")
#elif defined(__GNUC__)
#define BRICKWORK_UNROLL_ALL _Pragma("GCC unroll 64")
#else
#define BRICKWORK_UNROLL_ALL
#endif
