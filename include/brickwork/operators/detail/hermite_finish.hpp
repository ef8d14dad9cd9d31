// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a row of the product A x where it is made: a product, a residual, a step of a smoother. Fused, since
// A x itself need not be stored then.
#pragma once

#include "brickwork/core/fields.hpp"
#include "brickwork/core/simd.hpp"

namespace brickwork::detail {

/// One value or a pack of adjacent ones.
template <class Value, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Value get(Scalar const* from) {
  if constexpr (std::is_same_v<Value, Scalar>) {
    return *from;
  } else {
    return load_pack(from);
  }
}

template <class Value, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void put(Scalar* to, Value const& value) {
  if constexpr (std::is_same_v<Value, Scalar>) {
    *to = value;
  } else {
    store_pack(to, value);
  }
}

/// Every one is to[i] = known + factor[m] (A x)[i], where what is known is loaded before A x is at hand: the loads then
/// take place beside those of A x.
///
/// y = A x
template <class Scalar>
struct StoreRow {
  Scalar* to;
  index_t stride;
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION Value known(index_t, int) const {
    return Value{};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar factor(int) const { return 1; }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar, bool) const {
    to[vertex + m * stride] = product;
  }
};

/// r = b - A x
template <class Scalar>
struct StoreRowResidual {
  Scalar const* b;
  Scalar* to;
  index_t stride;
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION Value known(index_t vertex, int m) const {
    return get<Value>(b + vertex + m * stride);
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar factor(int) const { return -1; }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar, bool) const {
    index_t const at = vertex + m * stride;
    to[at] = b[at] - product;
  }
};

/// x_new = x + momentum (x - x_old) + weight D^-1 (b - A x); x_new may be x_old, not x; a null x_old is zero. What is
/// not free is handed on.
template <class Scalar, int unknowns>
struct ChebyshevStep {
  Scalar const *b, *x, *old;
  Scalar* to;
  index_t stride;
  Scalar momentum, weight;
  Scalar scale[unknowns];  // weight D^-1 away from the rim
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION Value known(index_t vertex, int m) const {
    index_t const at = vertex + m * stride;
    Value value = (1 + momentum) * get<Value>(x + at) + scale[m] * get<Value>(b + at);
    if (momentum != 0 && old) value -= momentum * get<Value>(old + at);
    return value;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar factor(int m) const { return -scale[m]; }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar diagonal, bool free) const {
    index_t const at = vertex + m * stride;
    Scalar value = x[at];
    if (free) {
      value += weight / diagonal * (b[at] - product);
      if (momentum != 0) value += momentum * (old ? x[at] - old[at] : x[at]);
    }
    to[at] = value;
  }
};

/// x = weight D^-1 b on the rim, whatever the product.
template <class Scalar>
struct JacobiAtRim {
  Scalar const* b;
  Scalar* x;
  index_t stride;
  Scalar weight;
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar, Scalar diagonal, bool free) const {
    index_t const at = vertex + m * stride;
    x[at] = free ? weight / diagonal * b[at] : Scalar(0);
  }
};

/// x += D^-1 (b - A x), in place.
template <class Scalar, int unknowns>
struct CorrectInPlace {
  Scalar const* b;
  Scalar* to;
  index_t stride;
  Scalar inverse[unknowns];
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION Value known(index_t vertex, int m) const {
    index_t const at = vertex + m * stride;
    return get<Value>(to + at) + inverse[m] * get<Value>(b + at);
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar factor(int m) const { return -inverse[m]; }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar diagonal, bool free) const {
    index_t const at = vertex + m * stride;
    if (free) to[at] += (b[at] - product) / diagonal;
  }
};

}  // namespace brickwork::detail
