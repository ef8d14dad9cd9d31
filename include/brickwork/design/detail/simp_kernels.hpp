// SPDX-License-Identifier: BSD-3-Clause
// Per-cell kernels of a SIMP step: passive cells, projection, sensitivities, optimality criteria.
#pragma once

#include "brickwork/design/detail/filter_kernels.hpp"
#include "brickwork/mesh/selection.hpp"

namespace brickwork::detail {

/// Heaviside projection by tanh, rho~ = (tanh(b eta) + tanh(b (rho - eta))) / (tanh(b eta) + tanh(b (1 - eta))).
struct Projection {
  double beta;
  double eta;
  double lower;  ///< tanh(b eta)
  double scale;  ///< 1 / (tanh(b eta) + tanh(b (1 - eta)))

  Projection(double sharpness, double threshold)
      : beta(sharpness),
        eta(threshold),
        lower(std::tanh(sharpness * threshold)),
        scale(1 / (std::tanh(sharpness * threshold) + std::tanh(sharpness * (1 - threshold)))) {}

  KOKKOS_FUNCTION double value(double rho) const {
    // Rounding may leave [0, 1] by an ulp, and a negative density has no real power.
    return math::clamp((lower + math::tanh(beta * (rho - eta))) * scale, 0.0, 1.0);
  }
  KOKKOS_FUNCTION double slope(double rho) const {
    double const t = math::tanh(beta * (rho - eta));
    return beta * (1 - t * t) * scale;
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
KOKKOS_INLINE_FUNCTION double passive_or(std::uint8_t const* passive, index_t cell, double active) {
  if (passive == nullptr || passive[cell] == 0) return active;
  return passive[cell] == 1 ? 1.0 : 0.0;
}

struct SetDesign {
  std::uint8_t const* passive;
  double const* values;  // null: `uniform` everywhere
  double uniform;
  double* design;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    design[cell] = passive_or(passive, cell, values ? values[cell] : uniform);
  }
};

/// rho^ and rho~ of a design, with the sums of rho~ and of rho~ (1 - rho~).
struct FilterAndProject {
  using value_type = double[];
  unsigned value_count = 2;
  FilterStencil stencil;
  Projection projection;
  std::uint8_t const* passive;
  double const* design;
  double* filtered;
  double* physical;

  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    double const rho = detail::filtered(stencil, cell, [&](index_t other) { return design[other]; });
    double const projected = passive_or(passive, cell, projection.value(rho));
    filtered[cell] = rho;
    physical[cell] = projected;
    sums[0] += projected;
    sums[1] += projected * (1 - projected);
  }
};

/// dc/drho^ and dv/drho^ from the cell energies, which `compliance_slope` holds on entry.
struct PhysicalSensitivity {
  Projection projection;
  std::uint8_t const* passive;
  double const* filtered;
  double const* physical;
  double penalization, young_range, cell_share;
  double* compliance_slope;
  double* volume_slope;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    if (passive != nullptr && passive[cell] != 0) {
      compliance_slope[cell] = volume_slope[cell] = 0;
      return;
    }
    double const slope = projection.slope(filtered[cell]);
    double const power = math::pow(physical[cell], penalization - 1);
    compliance_slope[cell] = -penalization * young_range * power * compliance_slope[cell] * slope;
    volume_slope[cell] = cell_share * slope;
  }
};

/// Both derivatives through H^T in one pass.
struct TransposeBoth {
  FilterStencil stencil;
  std::uint8_t const* passive;  ///< passive variables do not move: their derivatives are zero
  double const* compliance_in;
  double const* volume_in;
  double* compliance_out;
  double* volume_out;
  double compliance_cap;  ///< dc <= cap (0: none)
  double volume_floor;    ///< dv >= floor

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    if (passive != nullptr && passive[cell] != 0) {
      compliance_out[cell] = volume_out[cell] = 0;
      return;
    }
    double dc = 0, dv = 0;
    for_filter_neighbours(stencil, filter_position(stencil, cell),
                          [&](index_t other, double weight, index_t x, index_t y, index_t z) {
                            double const share = weight / filter_total(stencil, x, y, z);
                            dc += share * compliance_in[other];
                            dv += share * volume_in[other];
                          });
    if (compliance_cap < 0) {
      dc = math::min(dc, compliance_cap);
      dv = math::max(dv, volume_floor);
    }
    compliance_out[cell] = dc;
    volume_out[cell] = dv;
  }
};

/// One optimality-criteria candidate, rho sqrt(-dc / (multiplier dv)), within move limits and bounds.
struct OcCandidate {
  std::uint8_t const* passive;
  double const* design;
  double const* compliance_slope;
  double const* volume_slope;
  double multiplier, move, lower;
  double* candidate;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    double const rho = design[cell];
    double const ratio = volume_slope[cell] > 0 ? -compliance_slope[cell] / (multiplier * volume_slope[cell]) : 0.0;
    double const wanted = rho * math::sqrt(math::max(ratio, 0.0));
    double const limited = math::clamp(wanted, math::max(lower, rho - move), math::min(1.0, rho + move));
    candidate[cell] = passive_or(passive, cell, limited);
  }
};

/// Sum of rho~ of a candidate, without storing it.
struct CandidateVolume {
  FilterStencil stencil;
  Projection projection;
  std::uint8_t const* passive;
  double const* candidate;
  KOKKOS_FUNCTION void operator()(index_t cell, double& sum) const {
    double const rho = filtered(stencil, cell, [&](index_t other) { return candidate[other]; });
    sum += passive_or(passive, cell, projection.value(rho));
  }
};

struct SlopeSums {
  using value_type = double[];
  unsigned value_count = 2;
  double const* compliance_slope;
  double const* volume_slope;
  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    sums[0] -= compliance_slope[cell];
    sums[1] += volume_slope[cell];
  }
};

struct LargestChange {
  double const* from;
  double const* to;
  KOKKOS_FUNCTION void operator()(index_t cell, double& largest) const {
    largest = math::max(largest, math::abs(to[cell] - from[cell]));
  }
};

}  // namespace brickwork::detail
