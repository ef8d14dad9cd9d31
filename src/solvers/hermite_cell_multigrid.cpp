// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_cell_multigrid.hpp"

#include <algorithm>

#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

template <class Memory, int Dim>
struct CountFree {
  GridLevel<Memory, Dim> level;
  HermiteBoundary<Dim> boundary;
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& count) const {
    count += boundary.free(level, vertex) != 0 ? 1 : 0;
  }
};

template <int Dim, class Memory, class ExecutionSpace>
bool has_free_unknowns(ExecutionSpace const& space, GridLevel<Memory, Dim> const& level,
                       HermiteBoundary<Dim> const& boundary) {
  index_t count = 0;
  Kokkos::parallel_reduce("brickwork::HermiteCellMultigrid::count_free", range(space, level.vertex_count),
                          CountFree<Memory, Dim>{level, boundary}, count);
  return count > 0;
}

template <int Dim>
bool is_clamped(HermiteBoundary<Dim> const& boundary) {
  for (auto const& faces : boundary.face)
    for (PlateEdge const face : faces)
      if (face != PlateEdge::clamped) return false;
  return true;
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteCellMultigrid<ExecutionSpace, Dim>::HermiteCellMultigrid(ExecutionSpace const& space, operator_type const& a,
                                                                HermiteCycleOptions const& options)
    : a_(&a), options_(options), finest_(a.grid().level_count() - 1) {
  check(options);
  auto const& grid = a.grid();
  bool const patch = options.smoother == HermiteSmoother::patch;
  BRICKWORK_REQUIRE(!patch || is_clamped(a.boundary()),
                    "vertex-patch sweeps in cell-wise storage need a clamped boundary: a patch has all its cells; use "
                    "the Chebyshev smoother or vertex-wise storage");
  while (coarsest_ <= finest_ && !has_free_unknowns(space, grid.level(coarsest_), a.boundary())) ++coarsest_;
  BRICKWORK_REQUIRE(coarsest_ <= finest_,
                    "the boundary fixes every unknown of the grid: it needs more cells or refinements");
  correction_ = primal_type(space, grid, "brickwork::HermiteCellMultigrid::correction");
  bool const estimated = !patch && estimates_interval(options, a.form(), grid.level(0));
  index_t largest = 0;
  for (int l = coarsest_; l <= finest_; ++l) largest = std::max(largest, grid.level(l).cell_count);
  using patch_values = typename patch_type::primal_type::values_type;
  patch_values patch_u, patch_b;
  if (patch) {
    index_t const extent = patch_type::primal_type::extent(largest);
    patch_u = allocate<patch_values>(space, "brickwork::HermiteCellMultigrid::patch_u", extent);
    patch_b = allocate<patch_values>(space, "brickwork::HermiteCellMultigrid::patch_b", extent);
  }
  for (int l = 0; l <= finest_; ++l) {
    auto const& level = grid.level(l);
    if (l < finest_) transfers_.emplace_back(space, level, grid.level(l + 1));
    Level& own = levels_.emplace_back();
    if (l < coarsest_) continue;
    index_t const cells = level.cell_count;
    own.u =
        level.leaf_count > 0 ? correction_.level(l) : cells_primal(space, cells, "brickwork::HermiteCellMultigrid::u");
    if (l < finest_) own.b = cells_dual(space, cells, "brickwork::HermiteCellMultigrid::b");
    if (l > coarsest_) own.t = cells_dual(space, cells, "brickwork::HermiteCellMultigrid::t");
    auto const adjacency = cell_adjacency<ExecutionSpace, Dim>(space, level);
    if (patch) {
      own.patches = std::make_unique<patch_type>(space, adjacency, a.level(l).element());
      auto const part = std::make_pair(index_t(0), patch_type::primal_type::extent(cells));
      own.patch_u = {patch_values(Kokkos::subview(patch_u, part)), cells};
      own.patch_b = {patch_values(Kokkos::subview(patch_b, part)), cells};
      continue;
    }
    ChebyshevInterval interval{options.lower, options.upper};
    if (estimated) {  // the spectrum does not depend on the storage
      HermiteSites<ExecutionSpace, Dim> const sites(space, level, a.boundary(), false);
      interval = estimated_interval(space, options, HermiteLevel<ExecutionSpace, double, Dim>(space, sites, a.form()));
    }
    own.chebyshev = std::make_unique<HermiteCellChebyshev<ExecutionSpace, Dim>>(
        space, a.level(l), adjacency, fixed_unknowns<ExecutionSpace, Dim>(space, level, a.boundary()), interval.lower,
        interval.upper);
  }
  fence(space, "brickwork::HermiteCellMultigrid");
}

template <class ExecutionSpace, int Dim>
index_t HermiteCellMultigrid<ExecutionSpace, Dim>::bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                                                         HermiteCycleOptions const& options) {
  bool const patch = options.smoother == HermiteSmoother::patch;
  index_t total = 0, largest = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const& level = grid.level(l);
    bool const finest = l == grid.level_count() - 1;
    index_t const values = cells_primal::extent(level.cell_count) * static_cast<index_t>(sizeof(double));
    largest = std::max(largest, patch_type::primal_type::extent(level.cell_count));
    total += values * (finest ? 2 : 3);  // u, t; b
    if (!finest) total += HermiteCellTransfer<ExecutionSpace, Dim>::bytes(level, grid.level(l + 1));
    total += patch ? (level.vertex_count << Dim) * static_cast<index_t>(sizeof(index_t))
                   : HermiteCellChebyshev<ExecutionSpace, Dim>::bytes(level);
  }
  return total + (patch ? 2 * largest * static_cast<index_t>(sizeof(double)) : 0);
}

template <class ExecutionSpace, int Dim>
void HermiteCellMultigrid<ExecutionSpace, Dim>::smooth(ExecutionSpace const& space, int l, cells_dual const& b,
                                                       bool from_zero) const {
  Level const& own = levels_[static_cast<std::size_t>(l)];
  bool const coarsest = l == coarsest_;
  if (own.chebyshev) {
    int const stages = coarsest ? options_.coarsest_stages : options_.stages;
    if (from_zero) {
      own.chebyshev->smooth_from_zero(space, b, own.u, stages);
    } else {
      own.chebyshev->smooth(space, b, own.u, stages);
    }
    return;
  }
  auto const sweeps = [&](int count, ColorOrder order) {
    for (int n = 0; n < count; ++n) own.patches->sweep(space, own.patch_b, own.patch_u, order);
  };
  copy_cells(space, b, own.patch_b);
  if (from_zero) {
    detail::fill_zero(space, own.patch_u.values());
  } else {
    copy_cells(space, own.u, own.patch_u);
  }
  if (coarsest) {
    sweeps(options_.coarsest_sweeps, ColorOrder::forward);
    sweeps(options_.coarsest_sweeps, ColorOrder::reversed);
  } else {
    sweeps(options_.sweeps, from_zero || !options_.symmetric ? ColorOrder::forward : ColorOrder::reversed);
  }
  copy_cells(space, own.patch_u, own.u);
}

template <class ExecutionSpace, int Dim>
void HermiteCellMultigrid<ExecutionSpace, Dim>::apply(ExecutionSpace const& space, dual_type const& r) const {
  auto const at = [this](int l) -> Level const& { return levels_[static_cast<std::size_t>(l)]; };
  auto const b = [&](int l) { return l == finest_ ? r.level(l) : at(l).b; };
  // What leaves contribute; restriction overwrites what stands in refined cells.
  for (int l = coarsest_; l < finest_; ++l)
    if (r.level(l).cells() > 0) copy_cells(space, r.level(l), at(l).b);
  for (int l = finest_; l > coarsest_; --l) {
    smooth(space, l, b(l), true);
    a_->level(l).residual(space, at(l).u, b(l), at(l).t);
    transfer(l - 1).restrict_to(space, at(l).t, at(l - 1).b);
  }
  smooth(space, coarsest_, b(coarsest_), true);
  for (int l = coarsest_ + 1; l <= finest_; ++l) {
    transfer(l - 1).prolongate(space, at(l - 1).u, at(l).u);
    smooth(space, l, b(l), false);
  }
}

#define BRICKWORK_INSTANTIATE(Space)             \
  template class HermiteCellMultigrid<Space, 2>; \
  template class HermiteCellMultigrid<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
