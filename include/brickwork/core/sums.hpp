// SPDX-License-Identifier: BSD-3-Clause
// Fused map and sum: one launch, results on the device, bitwise repeatable.
//
// Kokkos' own reductions cost a wait or a second launch, and on a GPU their order depends on the launch. Here a fixed
// league of teams sums contiguous shares, and the team that finishes last (an atomic counter) adds the partial sums in
// the order of the teams and hands them to a functor on the device, so that a recurrence needs no launch of its own and
// the host need not wait.
#pragma once

#include "brickwork/core/fields.hpp"

namespace brickwork {

namespace detail {

template <int N>
struct SumValues {
  double v[N];
  KOKKOS_INLINE_FUNCTION SumValues() {
    for (int n = 0; n < N; ++n) v[n] = 0;
  }
  KOKKOS_INLINE_FUNCTION SumValues& operator+=(SumValues const& other) {
    for (int n = 0; n < N; ++n) v[n] += other.v[n];
    return *this;
  }
};

}  // namespace detail

/// Where sum_each() keeps its partial sums. One sum at a time: two that may run at once need a workspace each.
template <class ExecutionSpace>
class SumWorkspace {
 public:
  static constexpr index_t max_teams = 1024;
  static constexpr int max_sums = 16;
  using memory_space = typename ExecutionSpace::memory_space;

  SumWorkspace() = default;
  explicit SumWorkspace(ExecutionSpace const& space)
      : partials_(allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::SumWorkspace::partials",
                                                                max_teams * max_sums)),
        finished_(allocate<Kokkos::View<int*, memory_space>>(space, "brickwork::SumWorkspace::finished", 1)) {}

  double* partials() const { return partials_.data(); }
  int* finished() const { return finished_.data(); }

 private:
  Kokkos::View<double*, memory_space> partials_;
  Kokkos::View<int*, memory_space> finished_;
};

/// Stores the sums: the plainest `finish` of sum_each().
template <int N>
struct StoreSums {
  double* target;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    for (int n = 0; n < N; ++n) target[n] = sums[n];
  }
};

namespace detail {

template <int N>
struct AddPartials {
  double volatile const* partials;
  int teams;
  KOKKOS_FUNCTION void operator()(int team, SumValues<N>& sums) const {
    for (int n = 0; n < N; ++n) sums.v[n] += partials[n * teams + team];
  }
};

/// Ends a kernel that sums: every team calls it once with its own sums (the same on all of its threads); the last one
/// calls finish(totals).
template <int N, class Member, class Finish>
KOKKOS_FUNCTION void combine_sums(Member const& team, SumValues<N> const& sums, double* partials, int* finished,
                                  Finish const& finish) {
  int const teams = team.league_size();
  int is_last = 0;
  Kokkos::single(
      Kokkos::PerTeam(team),
      [&](int& done) {
        for (int n = 0; n < N; ++n) partials[n * teams + team.league_rank()] = sums.v[n];
        Kokkos::memory_fence();
        done = Kokkos::atomic_fetch_add(finished, 1) == teams - 1 ? 1 : 0;
      },
      is_last);
  if (is_last == 0) return;
  Kokkos::memory_fence();
  SumValues<N> total;
  Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, teams), AddPartials<N>{partials, teams}, total);
  Kokkos::single(Kokkos::PerTeam(team), [&]() {
    finish(static_cast<double const*>(total.v));
    *finished = 0;
  });
}

template <class ExecutionSpace, int N, class Functor, class Finish>
struct SumEach {
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;

  Functor functor;
  Finish finish;
  index_t count;
  index_t share;
  double* partials;
  int* finished;

  struct Share {
    Functor const& functor;
    KOKKOS_FUNCTION void operator()(index_t i, SumValues<N>& sums) const { functor(i, sums.v); }
  };

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t const first = team.league_rank() * share;
    index_t const last = first + share < count ? first + share : count;
    SumValues<N> sums;
    Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, first, last), Share{functor}, sums);
    combine_sums(team, sums, partials, finished, finish);
  }
};

}  // namespace detail

/// Calls functor(i, sums) for every i in [0, count), where it adds to sums[0 .. N), and once, after all of them,
/// finish(sums) on the device with the totals. Asynchronous on `space`, one launch, no allocation. The order of the
/// additions depends on `count` and the backend only.
///
/// \param functor  callable as functor(index_t, double*); the calls must not depend on each other
/// \param finish   callable as finish(double const*), for instance StoreSums<N>
/// \param work     how many plain values an index stands for: fewer indices then make a team
template <int N, class ExecutionSpace, class Functor, class Finish>
void sum_each(char const* label, ExecutionSpace const& space, index_t count, Functor const& functor,
              SumWorkspace<ExecutionSpace> const& workspace, Finish const& finish, index_t work = 1) {
  static_assert(N <= SumWorkspace<ExecutionSpace>::max_sums, "SumWorkspace has no room for so many sums");
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  constexpr index_t team_size = on_host ? 1 : 256;
  index_t const least_share = math::max(team_size, (on_host ? 4096 : 4 * team_size) / work);
  constexpr index_t most_teams = on_host ? 64 : SumWorkspace<ExecutionSpace>::max_teams;
  index_t const wanted = (count + least_share - 1) / least_share;
  index_t const limit = wanted < most_teams ? wanted : most_teams;
  index_t const teams = limit < 1 ? 1 : limit;
  index_t const share = (count + teams - 1) / teams;
  using Kernel = detail::SumEach<ExecutionSpace, N, Functor, Finish>;
  Kokkos::parallel_for(label, typename Kernel::policy_type(space, static_cast<int>(teams), static_cast<int>(team_size)),
                       Kernel{functor, finish, count, share, workspace.partials(), workspace.finished()});
}

}  // namespace brickwork

namespace Kokkos {
template <int N>
struct reduction_identity<brickwork::detail::SumValues<N>> {
  KOKKOS_FORCEINLINE_FUNCTION static brickwork::detail::SumValues<N> sum() { return brickwork::detail::SumValues<N>(); }
};
}  // namespace Kokkos
