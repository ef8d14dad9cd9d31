// SPDX-License-Identifier: BSD-3-Clause
// Loops that device code has to unroll, because the arrays they index live in registers. Free of Kokkos.
#pragma once

/// Before a loop of constant length: unrolled in device code, left to the compiler on the host.
#if defined(__CUDA_ARCH__)
#define BRICKWORK_DEVICE_UNROLL _Pragma("unroll")
#else
#define BRICKWORK_DEVICE_UNROLL
#endif
