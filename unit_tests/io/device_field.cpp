// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/device_field.hpp"

#include <algorithm>

#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::read_file;
using brickwork_test::TemporaryDirectory;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

// More cells than a slab of FP32 holds, and not a multiple of it.
constexpr Index3 cells{130, 120, 101};
constexpr index_t size = cells[0] * cells[1] * cells[2];

// Densities that FP32 and 8 bits must round, and that differ from cell to cell.
std::vector<double> densities() {
  std::vector<double> values(static_cast<std::size_t>(size));
  for (index_t i = 0; i < size; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<double>(i * 7919 % size) / static_cast<double>(size - 1);
  }
  return values;
}

template <class Real>
void check_files(FieldType type) {
  TemporaryDirectory const directory;
  ImageGeometry const geometry{cells, {0, 0, 0}, {1, 1, 1}};
  std::vector<double> const values = densities();
  std::vector<Real> const real(values.begin(), values.end());
  std::vector<float> const rounded(values.begin(), values.end());
  auto const density = upload<CellField<Real, Space::memory_space>>(real, "density");
  write_vti(directory.file("device.vti"), geometry, {density_field(Space{}, "density", density, type)});
  if (type == FieldType::float32) {
    write_vti(directory.file("host.vti"), geometry, {{"density", rounded.data(), size}});
  } else {
    auto const bytes = quantize_density(rounded.data(), size);
    write_vti(directory.file("host.vti"), geometry, {{"density", bytes.data(), size}});
  }
  CHECK(read_file(directory.file("device.vti")) == read_file(directory.file("host.vti")));
}

}  // namespace

TEMPLATE_TEST_CASE("a density on the device is written as its copy on the host would be", "", double, float) {
  static_assert(size * index_t(sizeof(float)) > slab_bytes, "more than one slab");
  check_files<TestType>(FieldType::float32);
  check_files<TestType>(FieldType::uint8);
}
