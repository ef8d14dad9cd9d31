// SPDX-License-Identifier: BSD-3-Clause
// The few differences between Kokkos 3.4 and 5.2 that Brickwork meets, in one place.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <string>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// Profiling region that ends with its scope, also on an early return or an exception.
class ScopedRegion {
 public:
  explicit ScopedRegion(std::string const& label) { Kokkos::Profiling::pushRegion(label); }
  ~ScopedRegion() { Kokkos::Profiling::popRegion(); }
  ScopedRegion(ScopedRegion const&) = delete;
  ScopedRegion& operator=(ScopedRegion const&) = delete;
};

/// Waits for the work of one execution-space instance; the label reaches the profiler where Kokkos takes one.
template <class ExecutionSpace>
void fence(ExecutionSpace const& space, [[maybe_unused]] char const* label) {
#if KOKKOS_VERSION >= 30500
  space.fence(label);
#else
  space.fence();
#endif
}

/// Math functions for host and device code.
namespace math {
KOKKOS_INLINE_FUNCTION double pow(double base, double exponent) { return ::pow(base, exponent); }
KOKKOS_INLINE_FUNCTION double sqrt(double x) { return ::sqrt(x); }
KOKKOS_INLINE_FUNCTION double sin(double x) { return ::sin(x); }
KOKKOS_INLINE_FUNCTION double cos(double x) { return ::cos(x); }
KOKKOS_INLINE_FUNCTION double tanh(double x) { return ::tanh(x); }
KOKKOS_INLINE_FUNCTION double cosh(double x) { return ::cosh(x); }
KOKKOS_INLINE_FUNCTION double exp(double x) { return ::exp(x); }
KOKKOS_INLINE_FUNCTION double abs(double x) { return ::fabs(x); }
KOKKOS_INLINE_FUNCTION float pow(float base, float exponent) { return ::powf(base, exponent); }
KOKKOS_INLINE_FUNCTION float sqrt(float x) { return ::sqrtf(x); }
KOKKOS_INLINE_FUNCTION float exp(float x) { return ::expf(x); }
KOKKOS_INLINE_FUNCTION float abs(float x) { return ::fabsf(x); }
template <class T>
KOKKOS_INLINE_FUNCTION constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
KOKKOS_INLINE_FUNCTION constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
KOKKOS_INLINE_FUNCTION constexpr T clamp(T x, T lower, T upper) {
  return x < lower ? lower : (upper < x ? upper : x);
}
// On a GPU one instruction each, instead of a comparison and a selection; of a NaN and a number it takes the number.
KOKKOS_INLINE_FUNCTION float min(float a, float b) {
#if defined(__CUDA_ARCH__)
  return ::fminf(a, b);
#else
  return b < a ? b : a;
#endif
}
KOKKOS_INLINE_FUNCTION float max(float a, float b) {
#if defined(__CUDA_ARCH__)
  return ::fmaxf(a, b);
#else
  return a < b ? b : a;
#endif
}
KOKKOS_INLINE_FUNCTION float clamp(float x, float lower, float upper) { return math::min(math::max(x, lower), upper); }
}  // namespace math

}  // namespace brickwork
