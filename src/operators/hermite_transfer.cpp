// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_transfer.hpp"

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

/// Collects the vertices that touch a refined cell.
template <class Memory, int Dim>
struct CollectParents {
  GridLevel<Memory, Dim> coarse;
  int* parents;  // null: counts only
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& count, bool is_final) const {
    if (coarse.vertex_cells(vertex) == coarse.vertex_leaves(vertex)) return;
    if (is_final && parents) parents[count] = static_cast<int>(vertex);
    ++count;
  }
};

template <class Memory, int Dim>
struct FillFamilies {
  GridLevel<Memory, Dim> level, finer;
  int const* parents;
  int *coarse, *children;
  std::uint32_t* beside;
  index_t count;
  KOKKOS_FUNCTION void operator()(index_t site) const {
    auto const p = level.vertex_position(parents[site]);
    for (int row = 0; row < detail::TableParents<Dim>::coarse_rows; ++row) {
      auto q = p;
      q[1] += row & 1;
      q[Dim - 1] += Dim == 3 ? row >> 1 : 0;
      coarse[row * count + site] = static_cast<int>(level.find_vertex(q));
    }
    std::uint32_t bits = 0;
    for (int row = 0; row < detail::TableParents<Dim>::fine_rows; ++row) {
      auto q = p;
      for (int d = 0; d < Dim; ++d) q[d] *= 2;
      q[1] += row % 3 - 1;
      q[Dim - 1] += Dim == 3 ? row / 3 - 1 : 0;
      children[row * count + site] = static_cast<int>(finer.find_vertex(q));
      for (int side = 0; side < 2; ++side) {
        auto beside_q = q;
        beside_q[0] += 2 * side - 1;
        if (finer.find_vertex(beside_q) >= 0) bits |= std::uint32_t(1) << (2 * row + side);
      }
    }
    beside[site] = bits;
  }
};

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteTransfer<ExecutionSpace, Dim>::HermiteTransfer(ExecutionSpace const& space, level_type const& coarse,
                                                      level_type const& fine)
    : is_box_(coarse.is_box && fine.is_box), fine_cells_(fine.vertex_cells) {
  if (is_box_) {
    box_.count = 1;
    index_t coarse_stride = 1, fine_stride = 1;
    for (int d = 0; d < Dim; ++d) {
      box_.extent[d] = static_cast<int>(fine.box_cells[d] / 2 + 1);
      box_.first[d] = static_cast<int>(fine.box_begin[d] / 2 - coarse.box_begin[d]);
      box_.fine_last[d] = static_cast<int>(fine.box_cells[d]);
      box_.coarse_stride[d] = coarse_stride;
      box_.fine_stride[d] = fine_stride;
      coarse_stride *= coarse.box_cells[d] + 1;
      fine_stride *= fine.box_cells[d] + 1;
      box_.count *= box_.extent[d];
    }
    return;
  }
  using Parents = detail::TableParents<Dim>;
  auto const vertices = range(space, coarse.vertex_count);
  index_t count = 0;
  Kokkos::parallel_scan("brickwork::HermiteTransfer::count", vertices,
                        CollectParents<memory_space, Dim>{coarse, nullptr}, count);
  parents_ = allocate<Kokkos::View<int*, memory_space>>(space, "brickwork::HermiteTransfer::parents", count);
  coarse_ = allocate<Kokkos::View<int*, memory_space>>(space, "brickwork::HermiteTransfer::coarse",
                                                       count * Parents::coarse_rows);
  children_ = allocate<Kokkos::View<int*, memory_space>>(space, "brickwork::HermiteTransfer::children",
                                                         count * Parents::fine_rows);
  beside_ = allocate<Kokkos::View<std::uint32_t*, memory_space>>(space, "brickwork::HermiteTransfer::beside", count);
  Kokkos::parallel_scan("brickwork::HermiteTransfer::collect", vertices,
                        CollectParents<memory_space, Dim>{coarse, parents_.data()}, count);
  for_each("brickwork::HermiteTransfer::families", space, count,
           FillFamilies<memory_space, Dim>{coarse, fine, parents_.data(), coarse_.data(), children_.data(),
                                           beside_.data(), count});
}

template <class ExecutionSpace, int Dim>
template <class Launch>
void HermiteTransfer<ExecutionSpace, Dim>::with_parents(Launch const& launch) const {
  if (is_box_) {
    launch(box_);
  } else {
    launch(detail::TableParents<Dim>{parents_.data(), coarse_.data(), children_.data(), beside_.data(),
                                     static_cast<index_t>(parents_.extent(0))});
  }
}

template <class ExecutionSpace, int Dim>
template <class Scalar>
void HermiteTransfer<ExecutionSpace, Dim>::prolongate(ExecutionSpace const& space,
                                                      HermiteLevelVector<Scalar, memory_space, Dim> const& coarse,
                                                      HermiteLevelVector<Scalar, memory_space, Dim> const& x,
                                                      HermiteLevelVector<Scalar, memory_space, Dim> const& to,
                                                      HermiteLevelVector<Scalar, memory_space, Dim> const& copy) const {
  with_parents([&](auto const& parents) {
    using Parents = std::decay_t<decltype(parents)>;
    using Kernel = detail::Prolongate<Scalar, Dim, Parents>;
    detail::for_each_by_value("brickwork::HermiteTransfer::prolongate", space, parents.count * Kernel::rows,
                              Kernel{parents, coarse.data(), x.data(), to.data(), copy.data(), fine_cells_.data(),
                                     static_cast<index_t>(coarse.extent(0)), static_cast<index_t>(to.extent(0))});
  });
}

template <class ExecutionSpace, int Dim>
template <class Scalar>
void HermiteTransfer<ExecutionSpace, Dim>::restrict_to(ExecutionSpace const& space,
                                                       HermiteLevelVector<Scalar, memory_space, Dim> const& r,
                                                       HermiteLevelVector<Scalar, memory_space, Dim> const& b,
                                                       bool add) const {
  with_parents([&](auto const& parents) {
    using Parents = std::decay_t<decltype(parents)>;
    detail::for_each_by_value(
        "brickwork::HermiteTransfer::restrict_to", space, parents.count,
        detail::Restrict<Scalar, Dim, Parents>{parents, r.data(), b.data(), static_cast<index_t>(b.extent(0)),
                                               static_cast<index_t>(r.extent(0)), add});
  });
}

#define BRICKWORK_INSTANTIATE_TRANSFER(Space, Scalar, Dim)                       \
  template void HermiteTransfer<Space, Dim>::prolongate<Scalar>(                 \
      Space const&, HermiteLevelVector<Scalar, Space::memory_space, Dim> const&, \
      HermiteLevelVector<Scalar, Space::memory_space, Dim> const&,               \
      HermiteLevelVector<Scalar, Space::memory_space, Dim> const&,               \
      HermiteLevelVector<Scalar, Space::memory_space, Dim> const&) const;        \
  template void HermiteTransfer<Space, Dim>::restrict_to<Scalar>(                \
      Space const&, HermiteLevelVector<Scalar, Space::memory_space, Dim> const&, \
      HermiteLevelVector<Scalar, Space::memory_space, Dim> const&, bool) const;

#define BRICKWORK_INSTANTIATE(Space)               \
  template class HermiteTransfer<Space, 2>;        \
  template class HermiteTransfer<Space, 3>;        \
  BRICKWORK_INSTANTIATE_TRANSFER(Space, float, 2)  \
  BRICKWORK_INSTANTIATE_TRANSFER(Space, float, 3)  \
  BRICKWORK_INSTANTIATE_TRANSFER(Space, double, 2) \
  BRICKWORK_INSTANTIATE_TRANSFER(Space, double, 3)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE
#undef BRICKWORK_INSTANTIATE_TRANSFER

}  // namespace brickwork
