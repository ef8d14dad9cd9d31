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

/// y = A x
template <class Scalar>
struct StoreRow {
  Scalar* y;
  index_t stride;
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t vertex, int m, Value const& product) const {
    put(y + vertex + m * stride, product);
  }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar, bool) const {
    y[vertex + m * stride] = product;
  }
};

/// r = b - A x
template <class Scalar>
struct StoreRowResidual {
  Scalar const* b;
  Scalar* r;
  index_t stride;
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t vertex, int m, Value const& product) const {
    index_t const at = vertex + m * stride;
    put(r + at, static_cast<Value>(get<Value>(b + at) - product));
  }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar, bool) const {
    (*this)(vertex, m, product);
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
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t vertex, int m, Value const& product) const {
    index_t const at = vertex + m * stride;
    Value const centre = get<Value>(x + at);
    Value value = centre + scale[m] * (get<Value>(b + at) - product);
    if (momentum != 0) value += momentum * (old ? static_cast<Value>(centre - get<Value>(old + at)) : centre);
    put(to + at, value);
  }
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
  Scalar* x;
  index_t stride;
  Scalar inverse[unknowns];
  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t vertex, int m, Value const& product) const {
    index_t const at = vertex + m * stride;
    put(x + at, static_cast<Value>(get<Value>(x + at) + inverse[m] * (get<Value>(b + at) - product)));
  }
  KOKKOS_FORCEINLINE_FUNCTION void at_rim(index_t vertex, int m, Scalar product, Scalar diagonal, bool free) const {
    index_t const at = vertex + m * stride;
    if (free) x[at] += (b[at] - product) / diagonal;
  }
};

}  // namespace brickwork::detail
