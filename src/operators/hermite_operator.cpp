// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_operator.hpp"

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/hermite_fields.hpp"

namespace brickwork {

namespace {

template <class Memory, int Dim>
struct ZeroFixed {
  GridLevel<Memory, Dim> level;
  HermiteBoundary<Dim> boundary;
  double* b;
  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    bool const covered = level.vertex_leaves(vertex) == 0;
    int const fixed = covered ? -1 : boundary.fixed(level, vertex);
    for (int m = 0; m < (1 << Dim); ++m)
      if ((fixed >> m) & 1) b[vertex + m * level.vertex_count] = 0;
  }
};

/// Free unknowns of a level at vertices some of whose cells are leaves: the finer level does not have them.
template <class Memory, int Dim>
struct CountUnknowns {
  GridLevel<Memory, Dim> level;
  HermiteBoundary<Dim> boundary;
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& count) const {
    if (level.vertex_leaves(vertex) == 0) return;
    int const free = boundary.free(level, vertex);
    for (int m = 0; m < (1 << Dim); ++m) count += (free >> m) & 1;
  }
};

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteOperator<ExecutionSpace, Dim>::HermiteOperator(ExecutionSpace const& space, grid_type const& grid,
                                                      HermiteForm const& form, HermiteBoundary<Dim> const& boundary,
                                                      bool coloured)
    : grid_(grid), form_(form) {
  for (int l = 0; l < grid.level_count(); ++l) {
    levels_.emplace_back(space, sites_type(space, grid.level(l), boundary, coloured), form);
    if (grid.level(l).leaf_count == 0) continue;
    index_t count = 0;
    Kokkos::parallel_reduce("brickwork::HermiteOperator::unknowns", range(space, grid.level(l).vertex_count),
                            CountUnknowns<memory_space, Dim>{grid.level(l), boundary}, count);
    unknowns_ += count;
  }
}

template <class ExecutionSpace, int Dim>
void HermiteOperator<ExecutionSpace, Dim>::apply(ExecutionSpace const& space, primal_type const& x,
                                                 dual_type const& y) const {
  for (int l = 0; l < grid_.level_count(); ++l)
    if (grid_.level(l).leaf_count > 0) levels_[static_cast<std::size_t>(l)].apply_leaves(space, x.level(l), y.level(l));
}

template <class ExecutionSpace, int Dim>
void HermiteOperator<ExecutionSpace, Dim>::constrain(ExecutionSpace const& space, dual_type const& b) const {
  for (int l = 0; l < grid_.level_count(); ++l)
    if (grid_.level(l).leaf_count > 0)
      for_each("brickwork::HermiteOperator::constrain", space, grid_.level(l).vertex_count,
               ZeroFixed<memory_space, Dim>{grid_.level(l), sites(l).boundary, b.level(l).data()});
}

template <class ExecutionSpace, int Dim>
void HermiteOperator<ExecutionSpace, Dim>::prescribe(ExecutionSpace const& space, primal_type const& x) const {
  prescribe_edges<ExecutionSpace, Dim>(space, grid_, x);
}

#define BRICKWORK_INSTANTIATE(Space)        \
  template class HermiteOperator<Space, 2>; \
  template class HermiteOperator<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
