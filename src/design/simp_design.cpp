// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/design/detail/root_search.hpp"
#include "brickwork/design/detail/simp_kernels.hpp"
#include "brickwork/parallel/communicator.hpp"

namespace brickwork {

using detail::RootSearch;

template <class ExecutionSpace, class Real>
SimpDesign<ExecutionSpace, Real>::SimpDesign(ExecutionSpace const& space, BoxGrid const& grid,
                                             DesignSettings const& settings, marks_type const& passive)
    : cells_(grid.cell_count()),
      settings_(settings),
      filter_(grid),
      passive_(passive),
      design_(allocate<field_type>(space, "brickwork::SimpDesign::design", cells_)),
      sums_(space),
      totals_(allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::SimpDesign::totals",
                                                            RootSearch::points_per_round)) {
  settings_.lower = std::min(settings.lower, settings.volume_fraction);
  for_each(
      "brickwork::SimpDesign::start", space, cells_,
      detail::SetDesign<Real>{passive_.data(), nullptr, static_cast<Real>(settings_.volume_fraction), design_.data()});
}

DesignSettings design_settings(SimpProblem const& problem) {
  DesignSettings settings;
  settings.volume_fraction = problem.volume_fraction;
  settings.lower = problem.schedule.density_lower_bound;
  settings.projection_eta = problem.projection_eta;
  settings.radius_in_lengths = problem.radius_in_lengths;
  return settings;
}

template <class ExecutionSpace, class Real>
detail::Projection<Real> SimpDesign<ExecutionSpace, Real>::projection() const {
  return {settings_.projection ? stage_.beta : 0, settings_.projection_eta};
}

template <class ExecutionSpace, class Real>
void SimpDesign<ExecutionSpace, Real>::set(ExecutionSpace const& space, const_field_type const& design) {
  BRICKWORK_REQUIRE(static_cast<index_t>(design.extent(0)) == cells_, "SimpDesign::set: ", design.extent(0),
                    " values; the grid has ", cells_, " cells");
  for_each("brickwork::SimpDesign::set", space, cells_,
           detail::SetDesign<Real>{passive_.data(), design.data(), 0, design_.data()});
}

template <class ExecutionSpace, class Real>
void SimpDesign<ExecutionSpace, Real>::set_stage(ExecutionSpace const& space, ScheduleStage const& stage) {
  stage_ = stage;
  filter_.set_radius(space, stage.radius, settings_.radius_in_lengths, settings_.kernel);
}

// The first N totals of the last sum, over all ranks.
template <class ExecutionSpace, class Real>
template <int N>
std::array<double, N> SimpDesign<ExecutionSpace, Real>::totals(ExecutionSpace const& space) const {
  std::array<double, N> values;
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(values.data(), N);
  Kokkos::deep_copy(space, host, Kokkos::subview(totals_, std::make_pair(0, N)));
  fence(space, "brickwork::SimpDesign::totals");
  Communicator{}.sum(values.data(), N);
  return values;
}

template <class ExecutionSpace, class Real>
DensityMeasures SimpDesign<ExecutionSpace, Real>::project(ExecutionSpace const& space, field_type const& physical) {
  detail::filter_sum<2, 1, false>(
      "brickwork::SimpDesign::project", space, filter_.stencil(), detail::FieldValue<Real>{design_.data()},
      detail::Project<Real>{projection(), passive_.data(), physical.data()}, sums_, StoreSums<2>{totals_.data()});
  auto const sums = totals<2>(space);
  auto const cells = static_cast<double>(cells_);
  return {sums[0] / cells, 4 * sums[1] / cells};
}

template <class ExecutionSpace, class Real>
void SimpDesign<ExecutionSpace, Real>::sensitivities(ExecutionSpace const& space, field_type const& physical,
                                                     field_type const& compliance, field_type const& volume) const {
  detail::filter_each<1, false>(
      "brickwork::SimpDesign::sensitivities", space, filter_.stencil(), detail::FieldValue<Real>{design_.data()},
      detail::Sensitivity<Real>{projection(), passive_.data(), static_cast<Real>(stage_.penalization), physical.data(),
                                compliance.data(), volume.data()});
}

template <class ExecutionSpace, class Real>
void SimpDesign<ExecutionSpace, Real>::chain_rule(ExecutionSpace const& space, const_field_type const& compliance,
                                                  const_field_type const& volume, double compliance_factor,
                                                  double volume_factor, field_type const& design_compliance,
                                                  field_type const& design_volume) const {
  detail::filter_each<2, true>(
      "brickwork::SimpDesign::chain_rule", space, filter_.stencil(),
      detail::DerivativeValues<Real>{compliance.data(), volume.data()},
      detail::StoreDerivatives<Real>{passive_.data(), static_cast<Real>(compliance_factor),
                                     static_cast<Real>(volume_factor), design_compliance.data(), design_volume.data()});
}

template <class ExecutionSpace, class Real>
DesignUpdate SimpDesign<ExecutionSpace, Real>::update(ExecutionSpace const& space, const_field_type const& compliance,
                                                      const_field_type const& volume, SensitivityFloor const& floor,
                                                      field_type const& scratch) {
  detail::filter_sum<2, 2, true>(
      "brickwork::SimpDesign::update::ratio", space, filter_.stencil(),
      detail::DerivativeValues<Real>{compliance.data(), volume.data()},
      detail::OcRatio<Real>{passive_.data(), static_cast<Real>(floor.compliance), static_cast<Real>(floor.volume),
                            static_cast<Real>(settings_.damping), design_.data(), scratch.data()},
      sums_, StoreSums<2>{totals_.data()});
  if (!updated_) {
    auto const sums = totals<2>(space);
    log_multiplier_ = sums[0] > 0 && sums[1] > 0 ? std::log(sums[0] / sums[1]) : 0.0;
    updated_ = true;
  }

  // The multiplier in log space: a bracket of many orders of magnitude is no harder than a narrow one.
  constexpr bool single = std::is_same_v<Real, float>;
  constexpr int points = RootSearch::points_per_round;
  RootSearch search(log_multiplier_, single ? 80 : 600, single ? 1e-7 : 1e-9,
                    4 * static_cast<double>(std::numeric_limits<Real>::epsilon()));
  auto const candidates = [&](auto count, double const* log_multipliers) {
    detail::OcCandidates<Real, decltype(count)::value> result{design_.data(),
                                                              scratch.data(),
                                                              static_cast<Real>(stage_.move),
                                                              static_cast<Real>(settings_.lower),
                                                              static_cast<Real>(settings_.upper),
                                                              {}};
    for (int m = 0; m < decltype(count)::value; ++m)
      result.scale[m] = static_cast<Real>(std::exp(-settings_.damping * log_multipliers[m]));
    return result;
  };
  while (!search.done()) {
    detail::filter_sum<points, points, false>("brickwork::SimpDesign::update::volume", space, filter_.stencil(),
                                              candidates(std::integral_constant<int, points>{}, search.points().data()),
                                              detail::ProjectedSums<Real, points>{projection(), passive_.data()}, sums_,
                                              StoreSums<points>{totals_.data()});
    auto excess = totals<points>(space);
    for (double& value : excess) value = value / static_cast<double>(cells_) - settings_.volume_fraction;
    search.set(excess);
  }
  log_multiplier_ = search.root();

  DesignUpdate result;
  result.volume = settings_.volume_fraction + search.value();
  result.rounds = search.rounds();
  Kokkos::parallel_reduce(
      "brickwork::SimpDesign::update::take", range(space, cells_),
      detail::TakeCandidate<Real>{candidates(std::integral_constant<int, 1>{}, &log_multiplier_), design_.data()},
      Kokkos::Max<double>(result.change));
  fence(space, "brickwork::SimpDesign::update");
  Communicator{}.max(&result.change, 1);
  return result;
}

#define BRICKWORK_INSTANTIATE(SPACE)       \
  template class SimpDesign<SPACE, float>; \
  template class SimpDesign<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
