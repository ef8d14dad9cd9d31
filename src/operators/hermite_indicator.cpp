// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_indicator.hpp"

#include <cstring>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

/// The largest jump of a normal derivative of order 0 or 1 around one leaf, over interfaces of one kind. Between equal
/// leaves the upper one of the two counts the interface; between sizes the finer one does.
template <class MemorySpace, int Dim>
struct LargestJump {
  detail::HermiteLevels<MemorySpace, Dim> levels;
  int order;
  detail::Neighbour counted;

  KOKKOS_FUNCTION void operator()(index_t number, double& largest) const {
    auto const& grid = levels.own.grid;
    if (grid.refined(number)) return;
    auto const cell = grid.cell_position(number);
    auto other = cell;
    double own[detail::power_of_four(Dim)], theirs[detail::power_of_four(Dim)];
    detail::gather_cell(levels.own, cell, own);
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) {
        detail::Neighbour const kind = detail::neighbour_of(grid, cell, d, side, other);
        if (kind != counted || (kind == detail::Neighbour::equal && side == 1)) continue;
        double const jump = largest_of(detail::whole_face<Dim>(levels, own, cell, d, side, kind, other, theirs), d);
        if (!(jump <= largest)) largest = jump < Kokkos::reduction_identity<double>::min() ? jump : infinity();
      }
  }

 private:
  KOKKOS_FUNCTION static double infinity() { return Kokkos::reduction_identity<double>::min(); }

  KOKKOS_FUNCTION double largest_of(detail::FacePart<Dim> const& part, int d) const {
    double trace[2][detail::power_of_four(Dim - 1)];
    part.traces(d, order, trace);
    if (counted == detail::Neighbour::equal) {
      // One set of coordinates: the traces are subtracted as they are stored, so that no rounding hides a difference
      // or makes one.
      for (int i = 0; i < detail::power_of_four(Dim - 1); ++i) {
        trace[0][i] -= trace[1][i];
        trace[1][i] = 0;
      }
    }
    double largest = 0;
    for (int n = 0; n < detail::power_of_four(Dim - 1); ++n) {
      double s[Dim - 1];
      for (int t = 0; t < Dim - 1; ++t) s[t] = (n >> 2 * t & 3) / 3.0;
      double const jump = math::abs(part.jump(trace, s));
      if (!(jump <= largest)) largest = jump;
      if (!(largest == largest)) return largest;
    }
    return largest;
  }
};

/// sums[0] += values that are at least `threshold`, sums[1] += their number, sums[2] += values that are no indicator.
template <class Field>
struct SumAbove {
  Field values;
  double threshold;
  KOKKOS_FUNCTION void operator()(index_t i, double* sums) const {
    double const value = values(i);
    if (!(value >= 0 && value < Kokkos::reduction_identity<double>::min())) {
      sums[2] += 1;
    } else if (value > 0 && value >= threshold) {
      sums[0] += value;
      sums[1] += 1;
    }
  }
};

struct Above {
  double sum = 0, count = 0, bad = 0;
};

template <class ExecutionSpace>
class ThresholdSums {
 public:
  explicit ThresholdSums(ExecutionSpace const& space, LeafIndicator<ExecutionSpace> const& indicator)
      : space_(space),
        indicator_(indicator),
        workspace_(space),
        sums_(allocate<view_type>(space, "brickwork::mark_largest::sums", 3 * static_cast<index_t>(indicator.size()))),
        host_(Kokkos::create_mirror_view(sums_)) {}

  Above operator()(double threshold) const {
    for (std::size_t l = 0; l < indicator_.size(); ++l) {
      using Field = CellField<double, typename ExecutionSpace::memory_space>;
      auto const& values = indicator_[l];
      if (values.extent(0) > 0)
        sum_each<3>("brickwork::mark_largest::sum", space_, static_cast<index_t>(values.extent(0)),
                    SumAbove<Field>{values, threshold}, workspace_, StoreSums<3>{sums_.data() + 3 * l});
    }
    Kokkos::deep_copy(space_, host_, sums_);
    fence(space_, "brickwork::mark_largest");
    Above total;
    for (std::size_t l = 0; l < indicator_.size(); ++l) {
      total.sum += host_(3 * l);
      total.count += host_(3 * l + 1);
      total.bad += host_(3 * l + 2);
    }
    return total;
  }

 private:
  using view_type = Kokkos::View<double*, typename ExecutionSpace::memory_space>;
  ExecutionSpace space_;
  LeafIndicator<ExecutionSpace> indicator_;
  SumWorkspace<ExecutionSpace> workspace_;
  view_type sums_;
  typename view_type::HostMirror host_;
};

template <class Field, class Marks>
struct MarkAbove {
  Field values;
  Marks marks;
  double threshold;
  KOKKOS_FUNCTION void operator()(index_t i) const { marks(i) = values(i) > 0 && values(i) >= threshold ? 1 : 0; }
};

/// Doubles that are not negative are ordered as their bits are.
double from_bits(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteJumps hermite_jumps(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                           HermiteField<ExecutionSpace, Dim> const& field) {
  detail::require_fit(grid, field, "the field");
  auto const largest = [&](int order, detail::Neighbour counted) {
    double result = 0;
    for (int l = 0; l < grid.level_count(); ++l) {
      if (grid.level(l).leaf_count == 0) continue;
      auto const own = detail::hermite_level(grid, field, l);
      auto const coarse = l > 0 ? detail::hermite_level(grid, field, l - 1) : own;
      double jump = 0;
      Kokkos::parallel_reduce(
          "brickwork::hermite_jumps", range(space, grid.level(l).cell_count),
          LargestJump<typename ExecutionSpace::memory_space, Dim>{{coarse, own, own}, order, counted},
          Kokkos::Max<double>(jump));
      result = math::max(result, jump);
    }
    return result;
  };
  return {largest(0, detail::Neighbour::equal), largest(1, detail::Neighbour::equal),
          largest(0, detail::Neighbour::coarser), largest(1, detail::Neighbour::coarser)};
}

template <class ExecutionSpace, int Dim>
LeafIndicator<ExecutionSpace> make_indicator(ExecutionSpace const& space,
                                             AdaptiveGrid<ExecutionSpace, Dim> const& grid) {
  LeafIndicator<ExecutionSpace> indicator;
  for (int l = 0; l < grid.level_count(); ++l)
    indicator.push_back(allocate<CellField<double, typename ExecutionSpace::memory_space>>(
        space, "brickwork::make_indicator", grid.level(l).leaf_count > 0 ? grid.level(l).cell_count : 0));
  return indicator;
}

template <class ExecutionSpace>
double indicator_sum(ExecutionSpace const& space, LeafIndicator<ExecutionSpace> const& indicator) {
  return ThresholdSums<ExecutionSpace>(space, indicator)(0).sum;
}

template <class ExecutionSpace, int Dim>
std::pair<index_t, std::vector<typename AdaptiveGrid<ExecutionSpace, Dim>::marks_type>> mark_largest(
    ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
    LeafIndicator<ExecutionSpace> const& indicator, double theta) {
  BRICKWORK_REQUIRE(theta > 0 && theta <= 1, "theta is ", theta, ", it must lie in (0, 1]");
  BRICKWORK_REQUIRE(static_cast<int>(indicator.size()) == grid.level_count(), "the indicator has ", indicator.size(),
                    " levels, the grid has ", grid.level_count());
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const has = static_cast<index_t>(indicator[static_cast<std::size_t>(l)].extent(0));
    index_t const wanted = grid.level(l).leaf_count > 0 ? grid.level(l).cell_count : 0;
    BRICKWORK_REQUIRE(has == wanted, "the indicator has ", has, " cells on level ", l, ", the grid has ", wanted);
  }
  ThresholdSums<ExecutionSpace> const above(space, indicator);
  Above const all = above(0);
  BRICKWORK_REQUIRE(all.bad == 0, "the indicator is negative or not finite on ", all.bad, " leaves");
  auto marks = grid.no_marks(space);
  if (!(all.sum > 0)) return {0, std::move(marks)};
  // Bisection over all thresholds that a double can be; the lower one always suffices.
  std::uint64_t lower = 0, upper = std::uint64_t(0x7ff) << 52;
  Above chosen = all;
  while (upper - lower > 1) {
    std::uint64_t const middle = lower + (upper - lower) / 2;
    Above const sums = above(from_bits(middle));
    if (sums.sum >= theta * all.sum) {
      lower = middle;
      chosen = sums;
    } else {
      upper = middle;
    }
  }
  using Marks = typename AdaptiveGrid<ExecutionSpace, Dim>::marks_type;
  using Field = CellField<double, typename ExecutionSpace::memory_space>;
  for (std::size_t l = 0; l < indicator.size(); ++l)
    if (indicator[l].extent(0) > 0)
      for_each("brickwork::mark_largest", space, static_cast<index_t>(indicator[l].extent(0)),
               MarkAbove<Field, Marks>{indicator[l], marks[l], from_bits(lower)});
  return {static_cast<index_t>(chosen.count), std::move(marks)};
}

#define BRICKWORK_INSTANTIATE(SPACE, DIM)                                                                  \
  template HermiteJumps hermite_jumps<SPACE, DIM>(SPACE const&, AdaptiveGrid<SPACE, DIM> const&,           \
                                                  HermiteField<SPACE, DIM> const&);                        \
  template LeafIndicator<SPACE> make_indicator<SPACE, DIM>(SPACE const&, AdaptiveGrid<SPACE, DIM> const&); \
  template std::pair<index_t, std::vector<AdaptiveGrid<SPACE, DIM>::marks_type>> mark_largest<SPACE, DIM>( \
      SPACE const&, AdaptiveGrid<SPACE, DIM> const&, LeafIndicator<SPACE> const&, double);
#define BRICKWORK_INSTANTIATE_SPACE(SPACE)                                         \
  template double indicator_sum<SPACE>(SPACE const&, LeafIndicator<SPACE> const&); \
  BRICKWORK_INSTANTIATE(SPACE, 2)                                                  \
  BRICKWORK_INSTANTIATE(SPACE, 3)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE_SPACE)

}  // namespace brickwork
