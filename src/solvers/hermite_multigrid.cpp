// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_multigrid.hpp"

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/solvers/detail/chebyshev.hpp"

namespace brickwork {

namespace {

template <class To, class From>
struct Convert {
  From const* from;
  To* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = static_cast<To>(from[i]); }
};

/// Moves the entries of vertices at refinement edges from one vector to another.
template <int unknowns>
struct MoveEdge {
  detail::RimSites rim;
  double* from;
  double* to;  // null: sets to zero
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t site) const {
    if (rim.free[site] != 0) return;
    for (int m = 0; m < unknowns; ++m) {
      index_t const at = rim.table.vertex(site) + m * stride;
      if (to) to[at] = from[at];
      from[at] = 0;
    }
  }
};

}  // namespace

template <class ExecutionSpace, class Scalar, int Dim>
HermiteMultigrid<ExecutionSpace, Scalar, Dim>::HermiteMultigrid(ExecutionSpace const& space, operator_type const& a,
                                                                HermiteCycleOptions const& options)
    : a_(&a), options_(options), finest_(a.grid().level_count() - 1) {
  check(options);
  auto const& grid = a.grid();
  while (coarsest_ < finest_ && a.sites(coarsest_).free_unknowns == 0) ++coarsest_;
  BRICKWORK_REQUIRE(a.unknown_count() > 0,
                    "the boundary fixes every unknown of the grid: it needs more cells or refinements");
  correction_ = correction_type(space, grid, "brickwork::HermiteMultigrid::correction");
  u_.resize(static_cast<std::size_t>(finest_ + 1));
  b_ = t_ = u_;
  auto const make = [&](int l, char const* label) {
    index_t const vertices = grid.level(l).vertex_count;
    storage_.push_back(allocate<Kokkos::View<Scalar*, memory_space>>(space, label, vertices << Dim));
    return vector_type(storage_.back().data(), static_cast<std::size_t>(vertices));
  };
  for (int l = 0; l <= finest_; ++l) {
    auto const i = static_cast<std::size_t>(l);
    levels_.emplace_back(space, a.sites(l), a.form());
    if (l < finest_) transfers_.emplace_back(space, grid.level(l), grid.level(l + 1));
    intervals_.push_back({options.lower, options.upper});
    if (l < coarsest_) continue;
    u_[i] = grid.level(l).leaf_count > 0 ? correction_.level(l) : make(l, "brickwork::HermiteMultigrid::u");
    if (l < finest_ || !std::is_same_v<Scalar, double>) b_[i] = make(l, "brickwork::HermiteMultigrid::b");
    t_[i] = make(l, "brickwork::HermiteMultigrid::t");
  }
  if (options.smoother == HermiteSmoother::chebyshev && estimates_interval(options, a.form(), grid.level(0)))
    for (int l = coarsest_; l <= finest_; ++l) {
      auto const i = static_cast<std::size_t>(l);
      intervals_[i] = estimated_interval(space, options, levels_[i]);
    }
  if constexpr (!std::is_same_v<Scalar, double>) {
    index_t largest = 0;
    for (int l = 1; l < a.grid().level_count(); ++l)
      if (a.grid().level(l - 1).leaf_count > 0 && a.grid().level(l).leaf_count > 0)
        largest = math::max(largest, a.grid().level(l).vertex_count << Dim);
    condensed_ = largest > 0;
    if (condensed_)
      edge_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::HermiteMultigrid::edge", largest);
  }
}

/// Carries the entries at refinement edges to the coarser unknowns that prescribe them.
template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::condense(ExecutionSpace const& space, dual_type const& dual) const {
  if (!condensed_) return;
  for (int l = a_->grid().level_count() - 1; l > 0; --l) {
    auto const& sites = a_->sites(l);
    index_t const vertices = sites.level.vertex_count;
    if (dual.level(l).extent(0) == 0 || dual.level(l - 1).extent(0) == 0 || sites.rim.count == 0) continue;
    HermiteLevelVector<double, memory_space, Dim> const edge(edge_.data(), static_cast<std::size_t>(vertices));
    for_each("brickwork::HermiteMultigrid::condense::take", space, sites.rim.count,
             MoveEdge<(1 << Dim)>{sites.rim.sites(), dual.level(l).data(), edge.data(), vertices});
    transfer(l - 1).template restrict_to<double>(space, edge, dual.level(l - 1), true);
    for_each("brickwork::HermiteMultigrid::condense::clear", space, sites.rim.count,
             MoveEdge<(1 << Dim)>{sites.rim.sites(), edge.data(), nullptr, vertices});
  }
}

/// Makes a field C1 at refinement edges.
template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::prescribe(ExecutionSpace const& space,
                                                              primal_type const& primal) const {
  if (condensed_) a_->prescribe(space, primal);
}

template <class ExecutionSpace, class Scalar, int Dim>
index_t HermiteMultigrid<ExecutionSpace, Scalar, Dim>::bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                                                             HermiteCycleOptions const&) {
  index_t values = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    int const vectors = 2 + (l < grid.level_count() - 1 || !std::is_same_v<Scalar, double> ? 1 : 0);
    values += vectors * grid.level(l).vertex_count << Dim;
  }
  return values * static_cast<index_t>(sizeof(Scalar));
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::chebyshev(ExecutionSpace const& space, int l, vector_type const& b,
                                                              vector_type from, vector_type to, int stages,
                                                              bool from_zero) const {
  auto const i = static_cast<std::size_t>(l);
  detail::ChebyshevStages coefficients(intervals_[i].lower, intervals_[i].upper);
  // `to` takes the odd iterates, `from` the even ones.
  if (from_zero) {
    levels_[i].start(space, coefficients.weight(), b, to, from);
  } else {
    levels_[i].chebyshev_step(space, 0, coefficients.weight(), b, from, from, to);
  }
  for (int stage = 1; stage < stages; ++stage) {
    std::swap(from, to);
    coefficients.advance();
    vector_type const old = stage == 1 && from_zero ? vector_type() : to;
    levels_[i].chebyshev_step(space, coefficients.momentum(), coefficients.weight(), b, from, old, to);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::sweeps(ExecutionSpace const& space, int l, vector_type const& b,
                                                           int count, bool reversed) const {
  auto const i = static_cast<std::size_t>(l);
  for (int n = 0; n < count; ++n) levels_[i].sweep(space, reversed, b, u_[i]);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::smooth_from_zero(ExecutionSpace const& space, int l,
                                                                     vector_type const& b) const {
  auto const i = static_cast<std::size_t>(l);
  bool const coarsest = l == coarsest_;
  if (options_.smoother == HermiteSmoother::chebyshev) {
    int const stages = coarsest ? options_.coarsest_stages : options_.stages;
    // The last iterate is to lie in u.
    if (stages % 2 == 1) {
      chebyshev(space, l, b, t_[i], u_[i], stages, true);
    } else {
      chebyshev(space, l, b, u_[i], t_[i], stages, true);
    }
    return;
  }
  detail::fill_zero(space, u_[i]);
  if (coarsest) {
    sweeps(space, l, b, options_.coarsest_sweeps, false);
    sweeps(space, l, b, options_.coarsest_sweeps, true);
  } else {
    sweeps(space, l, b, options_.sweeps, false);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::correct_and_smooth(ExecutionSpace const& space, int l,
                                                                       vector_type const& b) const {
  auto const i = static_cast<std::size_t>(l);
  auto const& transfer = transfers_[i - 1];
  if (options_.smoother == HermiteSmoother::patch) {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], u_[i], vector_type());
    sweeps(space, l, b, options_.sweeps, options_.symmetric);
  } else if (options_.stages % 2 == 1) {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], t_[i], u_[i]);
    chebyshev(space, l, b, t_[i], u_[i], options_.stages, false);
  } else {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], u_[i], t_[i]);
    chebyshev(space, l, b, u_[i], t_[i], options_.stages, false);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::apply(ExecutionSpace const& space, dual_type const& r) const {
  // What the leaves of a level contribute; on the finest level in FP64 the vector itself serves.
  auto const b = [&](int l) {
    if constexpr (std::is_same_v<Scalar, double>) {
      if (l == finest_) return r.level(l);
    }
    return b_[static_cast<std::size_t>(l)];
  };
  for (int l = coarsest_; l <= finest_; ++l)
    if (r.level(l).extent(0) > 0 && b(l).data() != static_cast<void const*>(r.level(l).data()))
      for_each("brickwork::HermiteMultigrid::apply::contribute", space, static_cast<index_t>(r.level(l).span()),
               Convert<Scalar, double>{r.level(l).data(), b(l).data()});
  for (int l = finest_; l > coarsest_; --l) {
    auto const i = static_cast<std::size_t>(l);
    smooth_from_zero(space, l, b(l));
    levels_[i].residual(space, b(l), u_[i], t_[i]);
    // Without leaves, every vertex of the coarser level has children.
    transfers_[i - 1].template restrict_to<Scalar>(space, t_[i], b(l - 1), r.level(l - 1).extent(0) > 0);
  }
  smooth_from_zero(space, coarsest_, b(coarsest_));
  for (int l = coarsest_ + 1; l <= finest_; ++l) correct_and_smooth(space, l, b(l));
}

#define BRICKWORK_INSTANTIATE(Space)                 \
  template class HermiteMultigrid<Space, float, 2>;  \
  template class HermiteMultigrid<Space, float, 3>;  \
  template class HermiteMultigrid<Space, double, 2>; \
  template class HermiteMultigrid<Space, double, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
