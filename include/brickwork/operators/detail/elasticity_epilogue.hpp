// SPDX-License-Identifier: BSD-3-Clause
// What the parity kernel does with a node's product K u before it leaves the registers.
//
// An epilogue is a template parameter of the kernel. It is called once per node and right-hand side, by the thread that
// owns the node, with the three components of K u: constrained components (bits of `fixed`) have no meaningful product;
// the operator's value there is u. The values that it reads stand at address(i, node), i < operands: a kernel may fetch
// them early and call finish() with them; operator() reads them itself. Sums are taken per thread in double precision
// over products formed in the vector's own precision, and combined in a fixed order: results are bitwise repeatable.
//
// Values moved per node beyond u (3), and the modulus (1): StoreProduct 3; Dot 3 (u again, from the cache); Residual 6;
// Relaxation 8 without old, 10 with it (f 3, inverse 1, old 3, u again from the cache, result 3).
#pragma once

#include <Kokkos_Core.hpp>

#include "brickwork/core/types.hpp"

namespace brickwork::detail {

KOKKOS_FORCEINLINE_FUNCTION bool is_fixed(int fixed, int d) { return ((fixed >> d) & 1) != 0; }

/// w = K u. Value is the precision of the vectors, Scalar (the product's) may be lower.
template <class Value>
struct StoreProduct {
  static constexpr bool has_sum = false;
  static constexpr int operands = 0;
  Value const* u;
  Value* w;
  index_t stride_u, stride_w;  ///< between components
  index_t next_u, next_w;      ///< between right-hand sides

  KOKKOS_FORCEINLINE_FUNCTION StoreProduct select(index_t side) const {
    return {u + side * next_u, w + side * next_w, stride_u, stride_w, next_u, next_w};
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t node, int fixed, Scalar const (&product)[3], double&) const {
    for (int d = 0; d < 3; ++d) {
      w[node + d * stride_w] = is_fixed(fixed, d) ? u[node + d * stride_u] : static_cast<Value>(product[d]);
    }
  }
};

/// w = K u and the sum u . w
template <class Value>
struct StoreProductDot {
  static constexpr bool has_sum = true;
  StoreProduct<Value> store;

  KOKKOS_FORCEINLINE_FUNCTION StoreProductDot select(index_t side) const { return {store.select(side)}; }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t node, int fixed, Scalar const (&product)[3], double& sum) const {
    Value const values[3] = {*address(0, node), *address(1, node), *address(2, node)};
    finish(node, fixed, product, values, sum);
  }

  static constexpr int operands = 3;
  KOKKOS_FORCEINLINE_FUNCTION Value const* address(int i, index_t node) const {
    return store.u + node + i * store.stride_u;
  }
  template <class Scalar, class Sum>
  KOKKOS_FORCEINLINE_FUNCTION void finish(index_t node, int fixed, Scalar const (&product)[3],
                                          Value const (&values)[operands], Sum& sum) const {
    Value part = 0;
    for (int d = 0; d < 3; ++d) {
      Value const result = is_fixed(fixed, d) ? values[d] : static_cast<Value>(product[d]);
      store.w[node + d * store.stride_w] = result;
      part += values[d] * result;
    }
    sum += static_cast<Sum>(part);
  }
};

/// r = f - K u and, where asked for, the sum r . r. r may be f.
template <class Value, class Result, bool Norm>
struct StoreResidual {
  static constexpr bool has_sum = Norm;
  Value const* u;
  Value const* f;
  Result* r;
  index_t stride_u, stride_f, stride_r;
  index_t next_u, next_f, next_r;

  KOKKOS_FORCEINLINE_FUNCTION StoreResidual select(index_t side) const {
    return {
        u + side * next_u, f + side * next_f, r + side * next_r, stride_u, stride_f, stride_r, next_u, next_f, next_r};
  }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t node, int fixed, Scalar const (&product)[3], double& sum) const {
    Value const values[3] = {*address(0, node), *address(1, node), *address(2, node)};
    finish(node, fixed, product, values, sum);
  }

  static constexpr int operands = 3;
  KOKKOS_FORCEINLINE_FUNCTION Value const* address(int i, index_t node) const { return f + node + i * stride_f; }
  template <class Scalar, class Sum>
  KOKKOS_FORCEINLINE_FUNCTION void finish(index_t node, int fixed, Scalar const (&product)[3],
                                          Value const (&values)[operands], Sum& sum) const {
    Value part = 0;
    for (int d = 0; d < 3; ++d) {
      Value const result = values[d] - (is_fixed(fixed, d) ? u[node + d * stride_u] : static_cast<Value>(product[d]));
      r[node + d * stride_r] = static_cast<Result>(result);
      if constexpr (Norm) part += result * result;
    }
    if constexpr (Norm) sum += static_cast<Sum>(part);
  }
};

/// One step of a Jacobi or Chebyshev iteration in three-term form: result = s u + a old + b D^-1 (f - K u).
/// Constrained components keep their u. The inverse diagonal is inverse[node] factor[d]. With First old is not read.
/// Result may be old (each node's is read before it is written) but not u (other threads still read it).
template <class Value, bool First>
struct Relaxation {
  static constexpr bool has_sum = false;
  Value const* u;
  Value const* f;
  Value const* inverse;
  Value const* old;
  Value* result;
  index_t stride_u, stride_f, stride_old, stride_result;
  Value s, a, b;
  Value factor[3];

  KOKKOS_FORCEINLINE_FUNCTION Relaxation select(index_t) const { return *this; }
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index_t node, int fixed, Scalar const (&product)[3], double& sum) const {
    Value values[operands];
    for (int i = 0; i < operands; ++i) values[i] = *address(i, node);
    finish(node, fixed, product, values, sum);
  }

  static constexpr int operands = First ? 7 : 10;  // f, u, inverse, old
  KOKKOS_FORCEINLINE_FUNCTION Value const* address(int i, index_t node) const {
    if (i < 3) return f + node + i * stride_f;
    if (i < 6) return u + node + (i - 3) * stride_u;
    if (i == 6) return inverse + node;
    return old + node + (i - 7) * stride_old;
  }
  template <class Scalar, class Sum>
  KOKKOS_FORCEINLINE_FUNCTION void finish(index_t node, int fixed, Scalar const (&product)[3],
                                          Value const (&values)[operands], Sum&) const {
    Value const scale = b * values[6];
    for (int d = 0; d < 3; ++d) {
      Value next = s * values[3 + d] + scale * factor[d] * (values[d] - static_cast<Value>(product[d]));
      if constexpr (!First) next += a * values[7 + d];
      result[node + d * stride_result] = is_fixed(fixed, d) ? values[3 + d] : next;
    }
  }
};

}  // namespace brickwork::detail
