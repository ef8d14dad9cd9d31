// SPDX-License-Identifier: BSD-3-Clause
// Loops to be unrolled whole, because the arrays that they index should live in registers, and loops to be kept. Free
// of Kokkos.
#pragma once

/// Before a loop of constant length: ALL unrolls it (up to 64 rounds), NONE keeps it a loop.
#if defined(__CUDACC__) || defined(__clang__)
#define BRICKWORK_UNROLL_ALL _Pragma("unroll")
#define BRICKWORK_UNROLL_NONE _Pragma("unroll 1")
#elif defined(__GNUC__)
#define BRICKWORK_UNROLL_ALL _Pragma("GCC unroll 64")
#define BRICKWORK_UNROLL_NONE _Pragma("GCC unroll 1")
#else
#define BRICKWORK_UNROLL_ALL
#define BRICKWORK_UNROLL_NONE
#endif
