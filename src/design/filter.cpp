// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/design/detail/filter_kernels.hpp"

namespace brickwork {

namespace detail {

template <class Real>
struct FilterTotals {
  FilterStencil<Real> stencil;
  Real* total;
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t rest = index;
    index_t p[3];
    for (int axis = 0; axis < 3; ++axis) {
      index_t const c = rest % stencil.classes[axis];
      rest /= stencil.classes[axis];
      // A coordinate of class c.
      p[axis] = c <= stencil.reach[axis] || stencil.classes[axis] == stencil.n[axis]
                    ? c
                    : c + stencil.n[axis] - stencil.classes[axis];
    }
    double sum = 0;
    for_filter_neighbours(stencil, p,
                          [&](Real weight, index_t, index_t, index_t) { sum += static_cast<double>(weight); });
    total[index] = static_cast<Real>(sum);
  }
};

}  // namespace detail

template <class ExecutionSpace, class Real>
void ConeFilter<ExecutionSpace, Real>::set_radius(ExecutionSpace const& space, double radius, bool in_lengths,
                                                  FilterKernel kernel) {
  BRICKWORK_REQUIRE(std::isfinite(radius) && radius >= 0, "filter: radius ", radius,
                    "; a finite radius of at least 0 is needed");
  if (radius == radius_ && in_lengths == in_lengths_ && kernel == kernel_) return;
  radius_ = radius;
  in_lengths_ = in_lengths;
  kernel_ = kernel;
  Index3 const n = grid_.cells();
  Vec3 const unit = in_lengths ? grid_.spacing() : Vec3{1, 1, 1};
  Index3 reach{};
  for (int axis = 0; axis < 3; ++axis) {
    double const cells = std::ceil(radius / unit[axis]) - 1;
    // Without a neighbour along an axis there is nothing to reach for; a periodic axis may be wrapped more than once.
    double const limit = grid_.periodic()[axis] ? 1e6 : static_cast<double>(n[axis] - 1);
    reach[axis] = static_cast<index_t>(std::max(0.0, std::min(cells, limit)));
  }
  auto const weight_at = [&](index_t i, index_t j, index_t k) {
    double const x = unit[0] * double(i), y = unit[1] * double(j), z = unit[2] * double(k);
    double const distance = std::sqrt(x * x + y * y + z * z);
    if (distance < radius && kernel == FilterKernel::linear) return radius - distance;
    if (distance < radius) {
      double const q = distance / radius, rest = 1 - q;
      return rest * rest * rest * (1 + 3 * q);  // 1 - 6 q^2 + 8 q^3 - 3 q^4, without cancellation at q = 1
    }
    return i == 0 && j == 0 && k == 0 ? 1.0 : 0.0;  // radius 0: the identity
  };
  std::vector<index_t> offsets;
  std::vector<Real> weights;
  for (index_t k = -reach[2]; k <= reach[2]; ++k)
    for (index_t j = -reach[1]; j <= reach[1]; ++j)
      for (index_t i = -reach[0]; i <= reach[0]; ++i) {
        double const weight = weight_at(i, j, k);
        if (weight == 0) continue;
        offsets.insert(offsets.end(), {i, j, k});
        weights.push_back(static_cast<Real>(weight));
      }
  offsets_ = upload<Kokkos::View<index_t*, memory_space>>(offsets, "brickwork::ConeFilter::offsets");
  weights_ = upload<Kokkos::View<Real*, memory_space>>(weights, "brickwork::ConeFilter::weights");
  stencil_ = {};
  stencil_.compact = grid_.cell_count() <= std::numeric_limits<int>::max();
  for (int axis = 0; axis < 3; ++axis) {
    stencil_.n[axis] = n[axis];
    stencil_.periodic[axis] = grid_.periodic()[axis];
    stencil_.reach[axis] = reach[axis];
    stencil_.classes[axis] = std::min(n[axis], 2 * reach[axis] + 1);
    stencil_.compact = stencil_.compact && reach[axis] <= 1;
  }
  // An axis of one cell has no neighbours, whatever the radius: the factors of the compact kernel see to that.
  for (int b = 0; b < 8; ++b) stencil_.unit_weight[b] = static_cast<Real>(weight_at(b & 1, (b >> 1) & 1, b >> 2));
  stencil_.offsets = static_cast<int>(weights.size());
  stencil_.offset = offsets_.data();
  stencil_.weight = weights_.data();
  index_t const entries = stencil_.classes[0] * stencil_.classes[1] * stencil_.classes[2];
  totals_ = allocate<Kokkos::View<Real*, memory_space>>(space, "brickwork::ConeFilter::totals", entries);
  Kokkos::parallel_for("brickwork::ConeFilter::totals", range(space, entries),
                       detail::FilterTotals<Real>{stencil_, totals_.data()});
  stencil_.total = totals_.data();
}

template <class ExecutionSpace, class Real>
void ConeFilter<ExecutionSpace, Real>::check(char const* function, index_t in, index_t out) const {
  BRICKWORK_REQUIRE(radius_ >= 0, "ConeFilter::", function, ": set_radius() comes first");
  BRICKWORK_REQUIRE(in == grid_.cell_count() && out == grid_.cell_count(), "ConeFilter::", function, ": fields of ", in,
                    " and ", out, " cells; the grid has ", grid_.cell_count());
}

template <class ExecutionSpace, class Real>
void ConeFilter<ExecutionSpace, Real>::apply(ExecutionSpace const& space, const_field_type const& in,
                                             field_type const& out) const {
  check("apply", static_cast<index_t>(in.extent(0)), static_cast<index_t>(out.extent(0)));
  detail::filter_each<1, false>("brickwork::ConeFilter::apply", space, stencil_, detail::FieldValue<Real>{in.data()},
                                detail::StoreValue<Real>{out.data()});
}

template <class ExecutionSpace, class Real>
void ConeFilter<ExecutionSpace, Real>::apply_transpose(ExecutionSpace const& space, const_field_type const& in,
                                                       field_type const& out) const {
  check("apply_transpose", static_cast<index_t>(in.extent(0)), static_cast<index_t>(out.extent(0)));
  detail::filter_each<1, true>("brickwork::ConeFilter::apply_transpose", space, stencil_,
                               detail::FieldValue<Real>{in.data()}, detail::StoreValue<Real>{out.data()});
}

#define BRICKWORK_INSTANTIATE(SPACE)       \
  template class ConeFilter<SPACE, float>; \
  template class ConeFilter<SPACE, double>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
