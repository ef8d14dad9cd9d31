// SPDX-License-Identifier: BSD-3-Clause
// A vector of adjacent values for host loops, and the scalar itself in builds with a device compiler.
//
// The operators' portable kernels are written once over `Pack<Scalar>`: straight-line code on packs does not depend on
// what a compiler's loop vectorizer makes of forty pointers and a hundred temporaries.
#pragma once

#include <cstring>
#include <type_traits>
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

/// Reads pack_width adjacent values; no alignment of packs is assumed. Single values are read as such: nvcc copies
/// bytes one by one.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Pack<Scalar> load_pack(Scalar const* from) {
  if constexpr (pack_width<Scalar> == 1) {
    return *from;
  } else {
    Pack<Scalar> value;
    memcpy(&value, from, sizeof(value));
    return value;
  }
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void store_pack(Scalar* to, Pack<Scalar> const& value) {
  if constexpr (pack_width<Scalar> == 1) {
    *to = value;
  } else {
    memcpy(to, &value, sizeof(value));
  }
}

/// As many doubles as a pack of float has values: one or two packs.
struct DoublePack {
  static constexpr int parts = pack_width<float> / pack_width<double>;
  Pack<double> part[parts];
};

KOKKOS_FORCEINLINE_FUNCTION DoublePack operator+(DoublePack const& a, DoublePack const& b) {
  DoublePack sum;
  for (int i = 0; i < DoublePack::parts; ++i) sum.part[i] = a.part[i] + b.part[i];
  return sum;
}

KOKKOS_FORCEINLINE_FUNCTION DoublePack operator-(DoublePack const& a, DoublePack const& b) {
  DoublePack difference;
  for (int i = 0; i < DoublePack::parts; ++i) difference.part[i] = a.part[i] - b.part[i];
  return difference;
}

/// pack_width<Scalar> values of type Value, where Value is Scalar or (Scalar = float) double.
template <class Scalar, class Value>
using WidePack = std::conditional_t<std::is_same<Scalar, Value>::value, Pack<Scalar>, DoublePack>;

template <class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION WidePack<Scalar, Value> load_wide(Value const* from) {
  WidePack<Scalar, Value> value;
  memcpy(&value, from, sizeof(value));
  return value;
}

template <class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION void store_wide(Value* to, WidePack<Scalar, Value> const& value) {
  memcpy(to, &value, sizeof(value));
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL) && defined(__GNUC__)
typedef float HalfPack __attribute__((vector_size(pack_bytes / 2)));

template <int... Lanes>
KOKKOS_FORCEINLINE_FUNCTION Pack<float> joined(HalfPack const& low, HalfPack const& high,
                                               std::integer_sequence<int, Lanes...>) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define BRICKWORK_HAS_SHUFFLEVECTOR
#endif
#endif
#if defined(BRICKWORK_HAS_SHUFFLEVECTOR)
  return __builtin_shufflevector(low, high, Lanes...);
#else
  Pack<float> both;
  memcpy(&both, &low, sizeof(low));
  memcpy(reinterpret_cast<char*>(&both) + sizeof(low), &high, sizeof(high));
  return both;
#endif
#undef BRICKWORK_HAS_SHUFFLEVECTOR
}

KOKKOS_FORCEINLINE_FUNCTION Pack<float> rounded(DoublePack const& value) {
  return joined(__builtin_convertvector(value.part[0], HalfPack), __builtin_convertvector(value.part[1], HalfPack),
                std::make_integer_sequence<int, pack_width<float>>{});
}
#else
KOKKOS_FORCEINLINE_FUNCTION float rounded(DoublePack const& value) { return static_cast<float>(value.part[0]); }
#endif

/// A wide pack rounded to Scalar.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Pack<Scalar> narrow(Pack<Scalar> const& value) {
  return value;
}
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Pack<float> narrow(DoublePack const& value) {
  return rounded(value);
}

/// Asks for the cache lines of [from, from + bytes) ahead of stores to them: a store that misses all caches would hold
/// up the ones behind it.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_for_writing(char const* from, int bytes) {
#if defined(__GNUC__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__) && !defined(__SYCL_DEVICE_ONLY__)
  for (int i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, 1, 3);
#else
  (void)from, (void)bytes;
#endif
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
