// SPDX-License-Identifier: BSD-3-Clause
// Per-cell kernels of a SIMP step: passive cells, projection, sensitivities, optimality criteria.
#pragma once

#include "brickwork/design/detail/filter_kernels.hpp"
#include "brickwork/mesh/selection.hpp"

namespace brickwork::detail {

/// Heaviside projection by tanh, rho~ = (tanh(b eta) + tanh(b (rho - eta))) / (tanh(b eta) + tanh(b (1 - eta))).
/// A beta of 0 stands for its limit, the identity.
/// Value and slope come from q = exp(-2 |b (rho - eta)|), in which the slope keeps its relative accuracy far from eta.
template <class Real>
struct Projection {
  Real beta;
  Real eta;
  Real lower;  ///< tanh(b eta)
  Real scale;  ///< 1 / (tanh(b eta) + tanh(b (1 - eta)))

  Projection(double sharpness, double threshold)
      : beta(static_cast<Real>(sharpness)),
        eta(static_cast<Real>(threshold)),
        lower(static_cast<Real>(std::tanh(sharpness * threshold))),
        scale(static_cast<Real>(1 / (std::tanh(sharpness * threshold) + std::tanh(sharpness * (1 - threshold))))) {}

  KOKKOS_FUNCTION Real value(Real rho) const {
    if (beta == 0) return math::clamp(rho, Real(0), Real(1));
    Real const x = beta * (rho - eta), q = math::exp(-2 * math::abs(x));
    Real const t = (1 - q) / (1 + q);
    // Rounding may leave [0, 1] by an ulp, and a negative density has no real power.
    return math::clamp((lower + (x < 0 ? -t : t)) * scale, Real(0), Real(1));
  }
  KOKKOS_FUNCTION Real slope(Real rho) const {
    if (beta == 0) return 1;
    Real const q = math::exp(-2 * math::abs(beta * (rho - eta)));
    return 4 * beta * scale * q / ((1 + q) * (1 + q));
  }
};

struct MarkRegion {
  RegionShape shape;
  double origin[3], spacing[3];
  index_t nx, ny;
  std::uint8_t mark;
  std::uint8_t* marks;

  KOKKOS_FUNCTION void operator()(index_t cell, index_t& count) const {
    double const x[3] = {origin[0] + spacing[0] * (0.5 + static_cast<double>(cell % nx)),
                         origin[1] + spacing[1] * (0.5 + static_cast<double>((cell / nx) % ny)),
                         origin[2] + spacing[2] * (0.5 + static_cast<double>(cell / nx / ny))};
    double const* const lower = &shape.lower[0];
    double const* const upper = &shape.upper[0];
    double const* const center = &shape.center[0];
    double squared = 0;
    for (int axis = 0; axis < 3; ++axis) {
      double const slack = 1e-6 * spacing[axis];
      if (x[axis] < lower[axis] - slack || x[axis] > upper[axis] + slack) return;
      if (shape.kind == 0 || (shape.kind == 2 && axis == shape.axis)) continue;
      squared += (x[axis] - center[axis]) * (x[axis] - center[axis]);
    }
    if (shape.kind != 0 && squared > shape.radius * shape.radius * (1 + 1e-9)) return;
    marks[cell] = mark;
    ++count;
  }
};

/// Passive cells hold their density in every field.
template <class Real>
KOKKOS_INLINE_FUNCTION Real passive_or(std::uint8_t const* passive, index_t cell, Real active) {
  if (passive == nullptr || passive[cell] == 0) return active;
  return passive[cell] == 1 ? Real(1) : Real(0);
}

template <class Real>
struct SetDesign {
  std::uint8_t const* passive;
  Real const* values;  // null: `uniform` everywhere
  Real uniform;
  Real* design;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    design[cell] = passive_or(passive, cell, values ? values[cell] : uniform);
  }
};

/// rho~ from rho^, with the sums of rho~ and of rho~ (1 - rho~).
template <class Real>
struct Project {
  Projection<Real> projection;
  std::uint8_t const* passive;
  Real* physical;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* filtered, double* sums) const {
    Real const projected = passive_or(passive, cell, projection.value(filtered[0]));
    physical[cell] = projected;
    sums[0] += static_cast<double>(projected);
    sums[1] += static_cast<double>(projected * (1 - projected));
  }
};

/// rho~, dc/drho^ and cells * dv/drho^ from rho^ and the energies, which `compliance` holds on entry.
template <class Real>
struct Sensitivity {
  Projection<Real> projection;
  std::uint8_t const* passive;
  Real penalization;
  Real* physical;
  Real* compliance;
  Real* volume;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* filtered, double*) const {
    Real const projected = projection.value(filtered[0]);
    physical[cell] = passive_or(passive, cell, projected);
    bool const active = passive == nullptr || passive[cell] == 0;
    Real const slope = active ? projection.slope(filtered[0]) : Real(0);
    Real const power = math::pow(projected, penalization - 1);
    compliance[cell] = -penalization * power * compliance[cell] * slope;
    volume[cell] = slope;
  }
};

/// Both derivatives, for one pass of H^T.
template <class Real>
struct DerivativeValues {
  Real const* compliance;
  Real const* volume;
  template <class Index>
  KOKKOS_FUNCTION void operator()(Index cell, Real* v) const {
    v[0] = compliance[cell];
    v[1] = volume[cell];
  }
};

/// Derivatives with respect to the design variable; passive variables do not move.
template <class Real>
struct StoreDerivatives {
  std::uint8_t const* passive;
  Real compliance_factor, volume_factor;
  Real* compliance;
  Real* volume;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* derivative, double*) const {
    bool const active = passive == nullptr || passive[cell] == 0;
    compliance[cell] = active ? compliance_factor * derivative[0] : Real(0);
    volume[cell] = active ? volume_factor * derivative[1] : Real(0);
  }
};

/// g = rho (-dc / dv)^damping of the optimality criteria, -1 where the cell is passive; sums of -dc and dv.
template <class Real>
struct OcRatio {
  std::uint8_t const* passive;
  Real compliance_cap;  ///< dc <= cap (0: none)
  Real volume_floor;    ///< dv >= floor
  Real damping;
  Real const* design;
  Real* ratio;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* derivative, double* sums) const {
    if (passive != nullptr && passive[cell] != 0) {
      ratio[cell] = -1;
      return;
    }
    Real dc = derivative[0], dv = derivative[1];
    if (compliance_cap < 0) {
      dc = math::min(dc, compliance_cap);
      dv = math::max(dv, volume_floor);
    }
    Real const quotient = dv > 0 ? math::max(-dc / dv, Real(0)) : Real(0);
    ratio[cell] = design[cell] * (damping == Real(0.5) ? math::sqrt(quotient) : math::pow(quotient, damping));
    sums[0] -= static_cast<double>(dc);
    sums[1] += static_cast<double>(dv);
  }
};

/// The candidates of several multipliers: g multiplier^(-damping) within move limits and bounds.
template <class Real, int M>
struct OcCandidates {
  Real const* design;
  Real const* ratio;
  Real move, lower, upper;
  Real scale[M];  ///< multiplier^(-damping)
  template <class Index>
  KOKKOS_FUNCTION void operator()(Index cell, Real* v) const {
    Real const rho = design[cell], g = ratio[cell];
    bool const active = g >= 0;
    Real const least = active ? math::max(lower, rho - move) : rho;
    Real const most = active ? math::min(upper, rho + move) : rho;
    for (int m = 0; m < M; ++m) v[m] = math::clamp(g * scale[m], least, most);
  }
};

/// Sums of rho~ of several candidates, without storing them.
template <class Real, int M>
struct ProjectedSums {
  Projection<Real> projection;
  std::uint8_t const* passive;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* filtered, double* sums) const {
    for (int m = 0; m < M; ++m)
      sums[m] += static_cast<double>(passive_or(passive, cell, projection.value(filtered[m])));
  }
};

/// Takes a candidate and finds the largest change.
template <class Real>
struct TakeCandidate {
  OcCandidates<Real, 1> candidates;
  Real* design;
  KOKKOS_FUNCTION void operator()(index_t cell, double& largest) const {
    Real next;
    candidates(cell, &next);
    largest = math::max(largest, static_cast<double>(math::abs(next - design[cell])));
    design[cell] = next;
  }
};

}  // namespace brickwork::detail
