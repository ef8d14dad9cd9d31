// SPDX-License-Identifier: BSD-3-Clause
// The design variable of a SIMP run and what a design step does with it, all on the device: filter and projection,
// their chain rule, and the update by optimality criteria.
//
// With design variable rho, filter H and projection P: rho^ = H rho, rho~ = P(rho^); dc/drho^ = P'(rho^) dc/drho~ and
// dc/drho = H^T dc/drho^, the volume likewise. The update is rho <- g s within [rho - move, rho + move] and [lower,
// upper], where g = rho (-(dc/drho) / (dv/drho))^damping and s = multiplier^(-damping) such that the mean of rho~ is
// the volume fraction.
//
// Per cell, with S bytes a value (memory traffic; neighbours come from the cache): project() 2 S; sensitivities() 5 S;
// update() 4 S, then 2 S for every round of four multipliers, usually three rounds, and 3 S. Only the design variable
// is kept; every other field is the caller's, so that it can be one that a solver needs in between.
#pragma once

#include <array>

#include "brickwork/core/sums.hpp"
#include "brickwork/design/filter.hpp"
#include "brickwork/design/simp_problem.hpp"

namespace brickwork {

namespace detail {
template <class Real>
struct Projection;
}

/// Mean of the physical density, and grayness 4/N sum rho~ (1 - rho~).
struct DensityMeasures {
  double volume = 0;
  double grayness = 0;
};

/// What an update did.
struct DesignUpdate {
  double change = 0;  ///< largest change of a design variable
  double volume = 0;  ///< mean physical density of the new design
  int rounds = 0;     ///< passes that the search for the multiplier took
};

/// Bounds on the sensitivities of an update, in the units of sensitivities(); they count where `compliance` is
/// negative.
struct SensitivityFloor {
  double compliance = 0;  ///< dc <= compliance
  double volume = 0;      ///< dv >= volume
};

/// What a design is beside its stages.
struct DesignSettings {
  double volume_fraction = 0.3;
  double lower = 1e-3, upper = 1;  ///< bounds of the design variable; a volume below `lower` must stay reachable
  double damping = 0.5;            ///< exponent of the optimality criteria, in (0, 1]
  bool projection = true;          ///< false: rho~ = rho^
  double projection_eta = 0.5;
  bool radius_in_lengths = false;
  FilterKernel kernel = FilterKernel::linear;
};

DesignSettings design_settings(SimpProblem const& problem);

/// \tparam Real precision of the cell fields; sums are always double
template <class ExecutionSpace, class Real = double>
class SimpDesign {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using field_type = CellField<Real, memory_space>;
  using const_field_type = CellField<Real const, memory_space>;
  using marks_type = Kokkos::View<std::uint8_t*, memory_space>;

  /// Starts from the volume fraction everywhere but in passive cells.
  /// \param passive  per cell 0 active, 1 solid, 2 void; empty where there is none
  SimpDesign(ExecutionSpace const& space, BoxGrid const& grid, DesignSettings const& settings,
             marks_type const& passive = {});

  /// The design variable, extent (cells).
  field_type const& variable() const { return design_; }

  /// Replaces the design variable (extent cells, values in [0, 1]); passive cells keep their own.
  void set(ExecutionSpace const& space, const_field_type const& design);

  /// Parameters of the calls that follow. Waits for `space` where the radius changes.
  void set_stage(ExecutionSpace const& space, ScheduleStage const& stage);

  /// physical = rho~ of the design. Waits for `space`.
  DensityMeasures project(ExecutionSpace const& space, field_type const& physical);

  /// Physical density again, and derivatives with respect to rho^.
  ///
  /// \param physical    rho~ on return
  /// \param compliance  on entry -dc/drho~ / (p rho~^(p-1)): E0 - Emin times the strain energies u_e^T K0 u_e, in any
  ///                    unit; on return dc/drho^ in that unit. Units in which the mean is about 1 keep `float` from
  ///                    under- and overflow
  /// \param volume      on return dv/drho^ times the number of cells
  void sensitivities(ExecutionSpace const& space, field_type const& physical, field_type const& compliance,
                     field_type const& volume) const;

  /// Derivatives with respect to the design variable, times a factor each; zero in passive cells. No overlap.
  void chain_rule(ExecutionSpace const& space, const_field_type const& compliance, const_field_type const& volume,
                  double compliance_factor, double volume_factor, field_type const& design_compliance,
                  field_type const& design_volume) const;

  /// Optimality-criteria step from the derivatives of sensitivities(). Waits for `space`.
  ///
  /// The volume is met to 1e-9 (double) or 1e-7 (float) where the move limit and the bounds allow it, else as nearly as
  /// they allow. Bitwise repeatable.
  /// \param scratch  overwritten
  DesignUpdate update(ExecutionSpace const& space, const_field_type const& compliance, const_field_type const& volume,
                      SensitivityFloor const& floor, field_type const& scratch);

 private:
  template <int N>
  std::array<double, N> totals(ExecutionSpace const& space) const;

  detail::Projection<Real> projection() const;

  index_t cells_;
  DesignSettings settings_;
  ConeFilter<ExecutionSpace, Real> filter_;
  marks_type passive_;
  field_type design_;
  ScheduleStage stage_;
  double log_multiplier_ = 0;  // of the last update
  bool updated_ = false;
  SumWorkspace<ExecutionSpace> sums_;
  Kokkos::View<double*, memory_space> totals_;
};

}  // namespace brickwork
