// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/sums.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/devices.hpp"

using namespace brickwork;

namespace {

// Values whose sum depends on the order of the additions.
struct Terms {
  double scale;
  KOKKOS_FUNCTION void operator()(index_t i, double* sums) const {
    sums[0] += 1;
    sums[1] += static_cast<double>(i);
    sums[2] += scale / static_cast<double>(i + 1);
  }
};

// A recurrence of the totals, as a Krylov method needs it.
struct Quotient {
  double* target;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    target[0] = sums[0];
    target[1] = sums[1];
    target[2] = sums[2];
    target[3] = sums[1] / sums[0];
  }
};

}  // namespace

TEMPLATE_TEST_CASE("sum_each sums every index once and calls finish once", "[sums]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  SumWorkspace<Space> const workspace(space);
  Kokkos::View<double*, typename Space::memory_space> const target("target", 4);
  for (index_t count : {index_t(0), index_t(1), index_t(31), index_t(1025), index_t(4097), index_t(3000017)}) {
    CAPTURE(count);
    sum_each<3>("test", space, count, Terms{0.1}, workspace, Quotient{target.data()});
    auto const first = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, target);
    double const n = static_cast<double>(count);
    CHECK(first(0) == n);
    CHECK(first(1) == 0.5 * n * (n - 1));
    if (count > 0) CHECK(first(3) == 0.5 * (n - 1));
    double harmonic = 0;
    for (index_t i = count; i > 0; --i) harmonic += 0.1 / static_cast<double>(i);
    CHECK(std::abs(first(2) - harmonic) <= 1e-12 * (1 + harmonic));
    Kokkos::View<double*, Kokkos::HostSpace> const kept("kept", 4);
    Kokkos::deep_copy(kept, first);
    for (int again = 0; again < 3; ++again) {
      sum_each<3>("test", space, count, Terms{0.1}, workspace, Quotient{target.data()});
      auto const second = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, target);
      CHECK(second(2) == kept(2));
    }
  }
}

TEMPLATE_TEST_CASE("StoreSums stores the totals", "[sums]", BRICKWORK_TEST_SPACES) {
  using Space = TestType;
  Space const space;
  SumWorkspace<Space> const workspace(space);
  Kokkos::View<double*, typename Space::memory_space> const target("target", 3);
  sum_each<3>("test", space, index_t(77), Terms{1}, workspace, StoreSums<3>{target.data()});
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, target);
  CHECK(host(0) == 77);
  CHECK(host(1) == 77 * 38);
}
