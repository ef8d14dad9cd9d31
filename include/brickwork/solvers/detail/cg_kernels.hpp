// SPDX-License-Identifier: BSD-3-Clause
// Fused vector kernels of conjugate gradients over nodal vectors (three components per node).
//
// Every kernel reads each operand once. Values per node: update reads 12 + 1, writes 6; direction reads 6 + 1,
// writes 3. Sums accumulate in double precision whatever the vectors hold. Scalars (alpha, beta) are read from device
// memory, so that the host need not wait for them.
#pragma once

#include "brickwork/core/fields.hpp"

namespace brickwork::detail {

/// correction += alpha p, r -= alpha w, and the sums r.r, r.Mr of the new residual; alpha = r.Mr / p.w of the old one.
template <class Inner>
struct CgUpdate {
  using value_type = double[];
  unsigned value_count = 2;

  Inner const* p;
  Inner const* w;
  Inner* correction;
  Inner* r;
  Inner const* inverse;
  Inner factor[3];
  index_t stride;
  double const* curvature;
  double const* preconditioned;

  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    Inner const alpha = static_cast<Inner>(*preconditioned / *curvature);
    Inner const scale = inverse[node];
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      correction[i] += alpha * p[i];
      Inner const residual = r[i] - alpha * w[i];
      r[i] = residual;
      double const squared = static_cast<double>(residual) * static_cast<double>(residual);
      sums[0] += squared;
      sums[1] += squared * static_cast<double>(scale * factor[d]);
    }
  }
};

/// p = M r + beta p; beta = new r.Mr / old r.Mr, or 0 at the start.
template <class Inner>
struct CgDirection {
  Inner* p;
  Inner const* r;
  Inner const* inverse;
  Inner factor[3];
  index_t stride;
  double const* fresh;
  double const* old;
  bool start;

  KOKKOS_FUNCTION void operator()(index_t node) const {
    Inner const beta = start ? Inner(0) : static_cast<Inner>(*fresh / *old);
    Inner const scale = inverse[node];
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      p[i] = scale * factor[d] * r[i] + (start ? Inner(0) : beta * p[i]);
    }
  }
};

/// r = f - K u, with the sums r.r and r.Mr. Differences are taken in the outer precision.
template <class Outer, class Inner>
struct CgResidual {
  using value_type = double[];
  unsigned value_count = 2;

  Outer const* f;
  Outer const* product;
  Inner* r;
  Inner const* inverse;
  Inner factor[3];
  index_t stride_f, stride_product, stride_r;

  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    double const scale = static_cast<double>(inverse[node]);
    for (int d = 0; d < 3; ++d) {
      Outer const residual = f[node + d * stride_f] - product[node + d * stride_product];
      r[node + d * stride_r] = static_cast<Inner>(residual);
      double const squared = static_cast<double>(residual) * static_cast<double>(residual);
      sums[0] += squared;
      sums[1] += squared * scale * static_cast<double>(factor[d]);
    }
  }
};

/// The sums r.r and r.Mr.
template <class Inner>
struct CgNorms {
  using value_type = double[];
  unsigned value_count = 2;

  Inner const* r;
  Inner const* inverse;
  Inner factor[3];
  index_t stride;

  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    double const scale = static_cast<double>(inverse[node]);
    for (int d = 0; d < 3; ++d) {
      double const residual = static_cast<double>(r[node + d * stride]);
      sums[0] += residual * residual;
      sums[1] += residual * residual * scale * static_cast<double>(factor[d]);
    }
  }
};

/// u += correction, correction = 0.
template <class Outer, class Inner>
struct CgAccumulate {
  Outer* u;
  Inner* correction;
  index_t stride_u, stride_correction;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) {
      u[node + d * stride_u] += static_cast<Outer>(correction[node + d * stride_correction]);
      correction[node + d * stride_correction] = Inner(0);
    }
  }
};

/// u = f on constrained components; sums f.f.
template <class Outer>
struct CgImpose {
  Outer const* f;
  Outer* u;
  std::uint8_t const* mask;
  index_t stride_f, stride_u;
  KOKKOS_FUNCTION void operator()(index_t node, double& sum) const {
    int const fixed = mask ? mask[node] : 0;
    for (int d = 0; d < 3; ++d) {
      double const load = static_cast<double>(f[node + d * stride_f]);
      sum += load * load;
      if ((fixed >> d) & 1) u[node + d * stride_u] = f[node + d * stride_f];
    }
  }
};

template <class Inner>
struct CgInvert {
  Inner* sums;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    sums[node] = sums[node] > Inner(0) ? 1 / sums[node] : Inner(0);
  }
};

/// Rigid motions evaluated from node positions.
struct RigidModes {
  Kokkos::Array<double, 54> values;  // per mode: translation, rotation, center
  int count;
  double spacing[3], origin[3];
  index_t mx, my;

  KOKKOS_FUNCTION void displacement(index_t node, int mode, double* u) const {
    double const x[3] = {origin[0] + spacing[0] * static_cast<double>(node % mx),
                         origin[1] + spacing[1] * static_cast<double>((node / mx) % my),
                         origin[2] + spacing[2] * static_cast<double>(node / mx / my)};
    double const* const v = &values[9 * mode];
    double const y[3] = {x[0] - v[6], x[1] - v[7], x[2] - v[8]};
    for (int d = 0; d < 3; ++d) {
      int const a = (d + 1) % 3, b = (d + 2) % 3;
      u[d] = v[d] + v[3 + a] * y[b] - v[3 + b] * y[a];
    }
  }
};

/// sums[m] = mode_m . v
template <class Scalar>
struct ModeSums {
  using value_type = double[];
  unsigned value_count;
  RigidModes modes;
  Scalar const* v;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int m = 0; m < modes.count; ++m) {
      double q[3];
      modes.displacement(node, m, q);
      for (int d = 0; d < 3; ++d) sums[m] += q[d] * static_cast<double>(v[node + d * stride]);
    }
  }
};

/// v -= sum_m sums[m] mode_m on free components
template <class Scalar>
struct ModeRemove {
  RigidModes modes;
  Scalar* v;
  index_t stride;
  double const* sums;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int m = 0; m < modes.count; ++m) {
      double q[3];
      modes.displacement(node, m, q);
      for (int d = 0; d < 3; ++d) v[node + d * stride] -= static_cast<Scalar>(sums[m] * q[d]);
    }
  }
};

/// The same where the modes are the three translations: the mean of each component, at the speed of the memory.
template <class Scalar>
struct TranslationSums {
  Scalar const* v;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int d = 0; d < 3; ++d) sums[d] += static_cast<double>(v[node + d * stride]);
  }
};
template <class Scalar>
struct TranslationRemove {
  Scalar* v;
  index_t stride;
  double const* sums;
  double share;  // 1 / nodes
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) v[node + d * stride] -= static_cast<Scalar>(share * sums[d]);
  }
};

template <class ExecutionSpace>
Kokkos::View<double*, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged> sums_at(
    Kokkos::View<double*, typename ExecutionSpace::memory_space> const& scalars, int first, int count) {
  using sums_type = Kokkos::View<double*, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>;
  return sums_type(scalars.data() + first, static_cast<std::size_t>(count));
}

}  // namespace brickwork::detail
