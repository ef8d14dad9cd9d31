// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_indicator.hpp"

#include <cstring>
#include <limits>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

/// The largest jump of a normal derivative of order 0 or 1 around one leaf, over interfaces of one kind. Between equal
/// leaves the upper one of the two counts the interface; between sizes the finer one does.
template <class MemorySpace, int Dim>
struct LargestJump {
  detail::FieldLevels<MemorySpace, Dim> levels;
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
        auto const part = detail::whole_face<Dim>(levels, own, cell, d, side, kind, other, theirs);
        double const jump = largest_of(part, d);
        if (!(jump <= largest)) largest = jump < Kokkos::reduction_identity<double>::min() ? jump : infinity();
      }
  }

 private:
  KOKKOS_FUNCTION static double infinity() { return Kokkos::reduction_identity<double>::min(); }

  /// The traces are subtracted coefficient by coefficient in the finer leaf's basis, so that no rounding of their
  /// evaluation hides a difference or makes one: a coarser leaf's are those that it prescribes (prescribe_edges()).
  KOKKOS_FUNCTION double largest_of(detail::FacePart<Dim> const& part, int d) const {
    double trace[2][detail::power_of_four(Dim - 1)];
    part.traces(d, order, trace);
    if (counted == detail::Neighbour::coarser) prescribed(part, d, trace[1]);
    for (int i = 0; i < detail::power_of_four(Dim - 1); ++i) trace[0][i] -= trace[1][i];
    double largest = 0;
    for (int n = 0; n < detail::power_of_four(Dim - 1); ++n) {
      double s[Dim - 1];
      for (int t = 0; t < Dim - 1; ++t) s[t] = (n >> 2 * t & 3) / 3.0;
      double const jump = math::abs(detail::trace_value<Dim>(trace[0], s));
      if (!(jump <= largest)) largest = jump;
      if (!(largest == largest)) return largest;
    }
    return largest;
  }

  /// A coarser leaf's normal derivative in the basis of the finer one's trace.
  KOKKOS_FUNCTION void prescribed(detail::FacePart<Dim> const& part, int d,
                                  double (&trace)[detail::power_of_four(Dim - 1)]) const {
    for (int i = 0; i < detail::power_of_four(Dim - 1); ++i) {
      Kokkos::Array<int, Dim> orders{};
      Kokkos::Array<double, Dim> xi{};
      orders[d] = order;
      xi[d] = part.xi[1];
      double scale = 1;
      for (int n = 0; n < order; ++n) scale *= 0.5;
      for (int t = 0; t < Dim - 1; ++t) {
        int const e = detail::tangent<Dim>(d, t);
        orders[e] = i >> 2 * t & 1;
        xi[e] = (part.offset[1][t] + (i >> (2 * t + 1) & 1)) * part.scale[1];
        if (orders[e] == 1) scale *= 0.5;  // derivatives refer to the width of their own level
      }
      trace[i] = scale * detail::cell_derivative<Dim>(part.coefficients[1], orders, xi);
      for (int n = 0; n < order; ++n) trace[i] *= 1 / part.spacing[0];
    }
  }
};

/// Thresholds that one pass over the leaves tries: with 15 it settles four bits.
constexpr int thresholds = 15;

/// sums[k] += values that are at least threshold[k].
template <class Field>
struct SumAbove {
  Field values;
  double threshold[thresholds];
  KOKKOS_FUNCTION void operator()(index_t i, double* sums) const {
    double const value = values(i);
    for (int k = 0; k < thresholds; ++k)
      if (value >= threshold[k]) sums[k] += value;
  }
};

/// sums[0] += values, sums[1] += the number of those that are at least `threshold`, sums[2] += that of values that are
/// no indicator.
template <class Field>
struct CountAbove {
  Field values;
  double threshold;
  KOKKOS_FUNCTION void operator()(index_t i, double* sums) const {
    double const value = values(i);
    if (!(value >= 0 && value < Kokkos::reduction_identity<double>::min())) {
      sums[2] += 1;
    } else {
      sums[0] += value;
      if (value > 0 && value >= threshold) sums[1] += 1;
    }
  }
};

/// Sums over the leaves of all levels, on the host.
template <class ExecutionSpace>
class LeafSums {
 public:
  using field_type = CellField<double, typename ExecutionSpace::memory_space>;

  LeafSums(ExecutionSpace const& space, LeafIndicator<ExecutionSpace> const& indicator)
      : space_(space),
        indicator_(indicator),
        workspace_(space),
        sums_(allocate<view_type>(space, "brickwork::mark_largest::sums",
                                  thresholds * static_cast<index_t>(indicator.size()))),
        host_(Kokkos::create_mirror_view(sums_)) {}

  /// \param functor_of  gives the functor of sum_each() for the values of a level
  template <int N, class FunctorOf>
  std::array<double, N> sum(FunctorOf const& functor_of) const {
    for (std::size_t l = 0; l < indicator_.size(); ++l)
      if (indicator_[l].extent(0) > 0)
        sum_each<N>("brickwork::mark_largest::sum", space_, static_cast<index_t>(indicator_[l].extent(0)),
                    functor_of(indicator_[l]), workspace_, StoreSums<N>{sums_.data() + N * l});
    Kokkos::deep_copy(space_, host_, sums_);
    fence(space_, "brickwork::mark_largest");
    std::array<double, N> total{};
    for (std::size_t l = 0; l < indicator_.size(); ++l)
      for (std::size_t n = 0; n < N; ++n)
        if (indicator_[l].extent(0) > 0) total[n] += host_(N * l + n);
    return total;
  }

  std::array<double, 3> count_above(double threshold) const {
    return sum<3>([&](field_type const& values) { return CountAbove<field_type>{values, threshold}; });
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

/// Doubles that are not negative are ordered as their bits are; beyond them nothing is large enough.
double from_bits(std::uint64_t bits) {
  if (bits >> 63 != 0) return std::numeric_limits<double>::infinity();
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
      auto const own = detail::field_level(grid, field, l);
      auto const coarse = l > 0 ? detail::field_level(grid, field, l - 1) : own;
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
  return LeafSums<ExecutionSpace>(space, indicator).count_above(0)[0];
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
  using Field = CellField<double, typename ExecutionSpace::memory_space>;
  LeafSums<ExecutionSpace> const leaves(space, indicator);
  auto const [total, positive, bad] = leaves.count_above(0);
  BRICKWORK_REQUIRE(bad == 0, "the indicator is negative or not finite on ", bad, " leaves");
  auto marks = grid.no_marks(space);
  if (positive == 0) return {0, std::move(marks)};
  // The largest double that is low enough a threshold, four bits at a time.
  std::uint64_t bits = 0;
  for (int shift = 60; shift >= 0; shift -= 4) {
    SumAbove<Field> trial{};
    for (int k = 0; k < thresholds; ++k)
      trial.threshold[k] = from_bits(bits | static_cast<std::uint64_t>(k + 1) << shift);
    auto const sums = leaves.template sum<thresholds>([&](Field const& values) {
      SumAbove<Field> functor = trial;
      functor.values = values;
      return functor;
    });
    int enough = 0;
    while (enough < thresholds && sums[static_cast<std::size_t>(enough)] >= theta * total) ++enough;
    bits |= static_cast<std::uint64_t>(enough) << shift;
  }
  double const threshold = from_bits(bits);
  using Marks = typename AdaptiveGrid<ExecutionSpace, Dim>::marks_type;
  for (std::size_t l = 0; l < indicator.size(); ++l)
    if (indicator[l].extent(0) > 0)
      for_each("brickwork::mark_largest", space, static_cast<index_t>(indicator[l].extent(0)),
               MarkAbove<Field, Marks>{indicator[l], marks[l], threshold});
  return {static_cast<index_t>(leaves.count_above(threshold)[1]), std::move(marks)};
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
