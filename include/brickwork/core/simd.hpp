// SPDX-License-Identifier: BSD-3-Clause
// A vector of adjacent values for host loops, and the scalar itself in builds with a device compiler.
//
// The operators' portable kernels are written once over `Pack<Scalar>`: straight-line code on packs does not depend on
// what a compiler's loop vectorizer makes of forty pointers and a hundred temporaries.
#pragma once

#include <cstring>
#include <utility>

#include "brickwork/core/kokkos_compat.hpp"

/// Placed after a lambda's parameters: inline it whatever the compiler thinks of its length.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define BRICKWORK_INLINE_LAMBDA __attribute__((always_inline))
#else
#define BRICKWORK_INLINE_LAMBDA
#endif

namespace brickwork::detail {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL) || !defined(__GNUC__)
inline constexpr int pack_bytes = 0;
#elif defined(__AVX512F__)
inline constexpr int pack_bytes = 64;
#elif defined(__AVX__)
inline constexpr int pack_bytes = 32;
#else
inline constexpr int pack_bytes = 16;
#endif

template <class Scalar, bool Vectorized = (pack_bytes > 0)>
struct PackTraits {
  using type = Scalar;
  static constexpr int width = 1;
};

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL) && defined(__GNUC__)
template <>
struct PackTraits<float, true> {
  typedef float type __attribute__((vector_size(pack_bytes)));
  static constexpr int width = pack_bytes / int(sizeof(float));
};
template <>
struct PackTraits<double, true> {
  typedef double type __attribute__((vector_size(pack_bytes)));
  static constexpr int width = pack_bytes / int(sizeof(double));
};
#endif

template <class Scalar>
using Pack = typename PackTraits<Scalar>::type;

template <class Scalar>
inline constexpr int pack_width = PackTraits<Scalar>::width;

/// Reads pack_width adjacent values; no alignment is assumed.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Pack<Scalar> load_pack(Scalar const* from) {
  Pack<Scalar> value;
  memcpy(&value, from, sizeof(value));
  return value;
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void store_pack(Scalar* to, Pack<Scalar> const& value) {
  memcpy(to, &value, sizeof(value));
}

template <int... Indices, class Body>
KOKKOS_FORCEINLINE_FUNCTION void static_for_each(std::integer_sequence<int, Indices...>, Body const& body) {
  (body(std::integral_constant<int, Indices>{}), ...);
}

/// Calls body(integral_constant 0 ... count - 1): a loop that is unrolled whatever the compiler thinks of its length.
template <int count, class Body>
KOKKOS_FORCEINLINE_FUNCTION void static_for(Body const& body) {
  static_for_each(std::make_integer_sequence<int, count>{}, body);
}

}  // namespace brickwork::detail
