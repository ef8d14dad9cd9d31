// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_cell_transfer.hpp"

#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/unroll.hpp"
#include "brickwork/operators/detail/as_argument.hpp"

namespace brickwork {

namespace {

template <class Memory, int Dim>
struct Families {
  GridLevel<Memory, Dim> coarse, fine;
  Kokkos::View<index_t * [1 << Dim], Kokkos::LayoutLeft, Memory> children;

  KOKKOS_FUNCTION index_t find(index_t cell, int n) const {
    if (!coarse.refined(cell)) return -1;
    auto position = coarse.cell_position(cell);
    for (int d = 0; d < Dim; ++d) position[d] = 2 * position[d] + ((n >> d) & 1);
    return fine.find_cell(position);
  }
  KOKKOS_FUNCTION index_t child(index_t cell, int n) const {
    return children.extent(0) > 0 ? children(cell, n) : find(cell, n);
  }
};

template <class Memory, int Dim>
struct Tabulate {
  Families<Memory, Dim> families;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    for (int n = 0; n < 1 << Dim; ++n) families.children(cell, n) = families.find(cell, n);
  }
};

/// Calls change(a, b, c, d) with the four values of every line along an axis.
template <int Dim, int axis, class Change>
KOKKOS_FORCEINLINE_FUNCTION void for_each_line(double (&v)[1 << 2 * Dim], Change const& change) {
  constexpr int stride = 1 << 2 * axis;
  BRICKWORK_UNROLL_ALL
  for (int t = 0; t < 1 << 2 * (Dim - 1); ++t) {
    double* const line = v + t % stride + t / stride * 4 * stride;
    change(line[0], line[stride], line[2 * stride], line[3 * stride]);
  }
}

template <int Dim, int axis>
KOKKOS_FORCEINLINE_FUNCTION void to_child(int child, double (&v)[1 << 2 * Dim]) {
  bool const upper = (child >> axis) & 1;
  for_each_line<Dim, axis>(v, [upper](double& a, double& b, double& c, double& d) {
    double const value = 0.5 * (a + c) + 0.125 * (b - d), slope = 0.75 * (c - a) - 0.125 * (b + d);
    a = upper ? value : a;
    b = upper ? slope : 0.5 * b;
    c = upper ? c : value;
    d = upper ? 0.5 * d : slope;
  });
  if constexpr (axis + 1 < Dim) to_child<Dim, axis + 1>(child, v);
}

template <int Dim, int axis>
KOKKOS_FORCEINLINE_FUNCTION void to_parent(int child, double (&v)[1 << 2 * Dim]) {
  bool const upper = (child >> axis) & 1;
  for_each_line<Dim, axis>(v, [upper](double& a, double& b, double& c, double& d) {
    double const value = upper ? a : c, slope = upper ? b : d;
    double const end = upper ? c : a, end_slope = 0.5 * (upper ? d : b);
    a = 0.5 * value - 0.75 * slope + (upper ? 0.0 : end);
    b = 0.125 * (value - slope) + (upper ? 0.0 : end_slope);
    c = 0.5 * value + 0.75 * slope + (upper ? end : 0.0);
    d = -0.125 * (value + slope) + (upper ? end_slope : 0.0);
  });
  if constexpr (axis + 1 < Dim) to_parent<Dim, axis + 1>(child, v);
}

template <class Memory, int Dim>
struct ProlongateCell {
  static constexpr int unknowns = 1 << 2 * Dim;
  Families<Memory, Dim> families;
  CellPrimal<Memory, Dim> coarse, u;
  // Children of one number first, so that neighbouring threads read neighbouring parents.
  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const parent = index % coarse.cells();
    int const n = static_cast<int>(index / coarse.cells());
    index_t const cell = families.child(parent, n);
    if (cell < 0) return;
    double v[unknowns];
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) v[i] = coarse(parent, i);
    to_child<Dim, 0>(n, v);
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < unknowns; ++i) u(cell, i) += v[i];
  }
};

template <class Memory, int Dim>
struct RestrictCell {
  static constexpr int unknowns = 1 << 2 * Dim;
  Families<Memory, Dim> families;
  CellDual<Memory, Dim> r, b;
  KOKKOS_FUNCTION void operator()(index_t parent) const {
    if (!families.coarse.refined(parent)) return;
    for (int n = 0; n < 1 << Dim; ++n) {
      index_t const cell = families.child(parent, n);
      double v[unknowns];
      BRICKWORK_UNROLL_ALL
      for (int i = 0; i < unknowns; ++i) v[i] = r(cell, i);
      to_parent<Dim, 0>(n, v);
      BRICKWORK_UNROLL_ALL
      for (int i = 0; i < unknowns; ++i) b(parent, i) = n == 0 ? v[i] : b(parent, i) + v[i];
    }
  }
};

template <class ExecutionSpace, class Kernel>
void launch(char const* label, ExecutionSpace const& space, index_t count, Kernel const& kernel) {
  // 128 threads, two of such blocks on a processor: up to 255 registers each.
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<index_t>, Kokkos::LaunchBounds<128, 2>>;
  Kokkos::parallel_for(label, detail::as_argument<Kernel>(Policy(space, index_t(0), count)), kernel);
}

}  // namespace

template <class ExecutionSpace, int Dim>
index_t HermiteCellTransfer<ExecutionSpace, Dim>::bytes(level_type const& coarse, level_type const& fine) {
  return coarse.is_box && fine.is_box ? 0 : coarse.cell_count * static_cast<index_t>(sizeof(index_t) << Dim);
}

template <class ExecutionSpace, int Dim>
HermiteCellTransfer<ExecutionSpace, Dim>::HermiteCellTransfer(ExecutionSpace const& space, level_type const& coarse,
                                                              level_type const& fine)
    : coarse_(coarse), fine_(fine) {
  if (coarse.is_box && fine.is_box) return;
  children_ = allocate<children_type>(space, "brickwork::HermiteCellTransfer::children", coarse.cell_count);
  launch("brickwork::HermiteCellTransfer::tabulate", space, coarse.cell_count,
         Tabulate<memory_space, Dim>{{coarse_, fine_, children_}});
}

template <class ExecutionSpace, int Dim>
void HermiteCellTransfer<ExecutionSpace, Dim>::prolongate(ExecutionSpace const& space,
                                                          CellPrimal<memory_space, Dim> const& coarse,
                                                          CellPrimal<memory_space, Dim> const& u) const {
  BRICKWORK_REQUIRE(coarse.cells() == coarse_.cell_count && u.cells() == fine_.cell_count, "prolongation from ",
                    coarse_.cell_count, " to ", fine_.cell_count, " cells: vectors of ", coarse.cells(), " and ",
                    u.cells());
  launch("brickwork::HermiteCellTransfer::prolongate", space, coarse_.cell_count << Dim,
         ProlongateCell<memory_space, Dim>{{coarse_, fine_, children_}, coarse, u});
}

template <class ExecutionSpace, int Dim>
void HermiteCellTransfer<ExecutionSpace, Dim>::restrict_to(ExecutionSpace const& space,
                                                           CellDual<memory_space, Dim> const& r,
                                                           CellDual<memory_space, Dim> const& b) const {
  BRICKWORK_REQUIRE(b.cells() == coarse_.cell_count && r.cells() == fine_.cell_count, "restriction from ",
                    fine_.cell_count, " to ", coarse_.cell_count, " cells: vectors of ", r.cells(), " and ", b.cells());
  launch("brickwork::HermiteCellTransfer::restrict_to", space, coarse_.cell_count,
         RestrictCell<memory_space, Dim>{{coarse_, fine_, children_}, r, b});
}

#define BRICKWORK_INSTANTIATE(Space)            \
  template class HermiteCellTransfer<Space, 2>; \
  template class HermiteCellTransfer<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
