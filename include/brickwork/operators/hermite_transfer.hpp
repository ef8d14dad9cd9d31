// SPDX-License-Identifier: BSD-3-Clause
// Transfers of Hermite vectors between a level of an adaptive grid and the next finer one.
#pragma once

#include "brickwork/operators/detail/hermite_transfer_kernels.hpp"
#include "brickwork/operators/hermite_level.hpp"

namespace brickwork {

/// Exact: P^T A_fine P = A_coarse where all cells are refined. Formulas in detail/hermite_transfer_kernels.hpp.
template <class ExecutionSpace, int Dim>
class HermiteTransfer {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using level_type = GridLevel<memory_space, Dim>;

  HermiteTransfer() = default;
  HermiteTransfer(ExecutionSpace const& space, level_type const& coarse, level_type const& fine);

  /// to = x + P coarse on every vertex of the fine level; `to` may be x. Vertices at its edge take the same in `copy`.
  template <class Scalar>
  void prolongate(ExecutionSpace const& space, HermiteLevelVector<Scalar, memory_space, Dim> const& coarse,
                  HermiteLevelVector<Scalar, memory_space, Dim> const& x,
                  HermiteLevelVector<Scalar, memory_space, Dim> const& to,
                  HermiteLevelVector<Scalar, memory_space, Dim> const& copy) const;

  /// b += P^T r on the coarse vertices that have children, or b = P^T r there unless `add`; r on every fine vertex.
  template <class Scalar>
  void restrict_to(ExecutionSpace const& space, HermiteLevelVector<Scalar, memory_space, Dim> const& r,
                   HermiteLevelVector<Scalar, memory_space, Dim> const& b, bool add) const;

 private:
  /// Calls launch(parents) with the coarse vertices that have children.
  template <class Launch>
  void with_parents(Launch const& launch) const;

  bool is_box_ = false;
  detail::BoxParents<Dim> box_{};
  Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, memory_space> fine_cells_;
  Kokkos::View<int*, memory_space> parents_, coarse_, children_;
  Kokkos::View<std::uint32_t*, memory_space> beside_;
};

}  // namespace brickwork
