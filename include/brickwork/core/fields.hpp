// SPDX-License-Identifier: BSD-3-Clause
// Storage of nodal vectors and cell fields, and their allocation on an execution-space instance.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/kokkos_compat.hpp"

namespace brickwork {

/// Displacement-like field: extents (nodes, 3), component-major, so that consecutive nodes are consecutive in memory.
template <class Scalar, class MemorySpace>
using NodalVector = Kokkos::View<Scalar* [3], Kokkos::LayoutLeft, MemorySpace>;

/// One value per cell, extent (cells).
template <class Scalar, class MemorySpace>
using CellField = Kokkos::View<Scalar*, Kokkos::LayoutLeft, MemorySpace>;

/// Constraint bits per node, extent (nodes): bit d set = displacement component d is fixed.
template <class MemorySpace>
using NodeMask = Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, MemorySpace>;

namespace detail {
/// Memory that nothing has written yet.
template <class ViewType>
ViewType allocate_uninitialized(std::string const& label, std::size_t extent) {
  try {
    return ViewType(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), extent);
  } catch (std::exception const&) {  // every version of Kokkos has a type of its own, with a text of many lines
    throw OutOfMemory(
        concatenate("cannot allocate ", label, ", ", ViewType::required_allocation_size(extent), " bytes"));
  }
}

/// In parts: the fill of Kokkos 3.4 strides by its number of threads in 32 bits, so that one over a multiple of 2^32
/// values never ends.
template <class ExecutionSpace, class ViewType>
void fill_zero(ExecutionSpace const& space, ViewType const& view) {
  using Value = typename ViewType::non_const_value_type;
  Kokkos::View<Value*, typename ViewType::memory_space, Kokkos::MemoryUnmanaged> const values(view.data(), view.span());
  constexpr std::size_t most = std::size_t(1) << 30;
  for (std::size_t first = 0; first < view.span(); first += most) {
    std::size_t const last = first + most < view.span() ? first + most : view.span();
    Kokkos::deep_copy(space, Kokkos::subview(values, std::make_pair(first, last)), Value(0));
  }
}
}  // namespace detail

/// Allocates `ViewType` with the given leading extent and fills it with zeros on `space`.
/// The allocation may wait for the device (as every allocation does); the fill does not.
/// \throws OutOfMemory with the label and the bytes where there is not enough memory
template <class ViewType, class ExecutionSpace>
ViewType allocate(ExecutionSpace const& space, std::string const& label, index_t extent) {
  auto const view = detail::allocate_uninitialized<ViewType>(label, static_cast<std::size_t>(extent));
  detail::fill_zero(space, view);
  return view;
}

/// A View of rank 1 with a copy of host values; for set-up, since it waits for the device.
/// \throws OutOfMemory as allocate()
template <class ViewType>
ViewType upload(std::vector<typename ViewType::non_const_value_type> const& values, std::string const& label) {
  auto const view = detail::allocate_uninitialized<ViewType>(label, values.size());
  Kokkos::deep_copy(
      view, Kokkos::View<typename ViewType::non_const_value_type const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                values.data(), values.size()));
  return view;
}

/// Range of `count` 64-bit indices on `space`.
template <class ExecutionSpace>
auto range(ExecutionSpace const& space, index_t count) {
  return Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<index_t>>(space, index_t(0), count);
}

}  // namespace brickwork
