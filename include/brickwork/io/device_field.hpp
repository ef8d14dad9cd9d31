// SPDX-License-Identifier: BSD-3-Clause
// A density that lives on a device as a field that the image writers read slab by slab.
//
// The host holds one slab (image_data.hpp: slab_bytes) in the View's precision and one in the file's; the device holds
// nothing more than the density itself.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/io/image_data.hpp"
#include "brickwork/io/run_settings.hpp"

namespace brickwork {

namespace detail {

/// Copies runs of cells from the device and rounds them to FP32.
template <class ExecutionSpace, class Real>
class DeviceCells {
 public:
  using view_type = CellField<Real const, typename ExecutionSpace::memory_space>;

  DeviceCells(ExecutionSpace const& space, view_type const& cells) : space_(space), cells_(cells) {}

  void operator()(index_t first, index_t count, float* values) {
    if constexpr (std::is_same_v<Real, float>) {
      copy(first, count, values);
    } else {
      staged_.resize(static_cast<std::size_t>(count));
      copy(first, count, staged_.data());
      for (index_t i = 0; i < count; ++i) values[i] = static_cast<float>(staged_[static_cast<std::size_t>(i)]);
    }
  }

 private:
  void copy(index_t first, index_t count, Real* values) {
    using host_type = Kokkos::View<Real*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    auto const end = static_cast<std::size_t>(first + count);
    Kokkos::deep_copy(space_, host_type(values, static_cast<std::size_t>(count)),
                      Kokkos::subview(cells_, std::make_pair(static_cast<std::size_t>(first), end)));
    fence(space_, "brickwork::DeviceCells::copy");
  }

  ExecutionSpace space_;
  view_type cells_;
  std::vector<Real> staged_;
};

}  // namespace detail

/// A density in [0, 1] on the device, extent (cells), as an image field that is written as FP32 or as round(255 rho).
/// The writer's calls wait for `space`; the View must stay as it is until the file is written.
template <class ExecutionSpace, class ViewType>
ImageField density_field(ExecutionSpace const& space, std::string name, ViewType const& density, FieldType type) {
  using Real = typename ViewType::non_const_value_type;
  auto const size = static_cast<index_t>(density.extent(0));
  detail::DeviceCells<ExecutionSpace, Real> cells(space, density);
  if (type == FieldType::float32) return ImageField(std::move(name), CellSource<float>(cells), size);
  std::vector<float> rounded;
  return ImageField(
      std::move(name),
      CellSource<std::uint8_t>([cells, rounded](index_t first, index_t count, std::uint8_t* values) mutable {
        rounded.resize(static_cast<std::size_t>(count));
        cells(first, count, rounded.data());
        quantize_density(rounded.data(), count, values);
      }),
      size);
}

}  // namespace brickwork
