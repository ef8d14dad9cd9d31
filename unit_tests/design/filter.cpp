// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/filter.hpp"

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// (H x)_i by its definition, over all pairs of cells.
std::vector<double> reference_filter(BoxGrid const& grid, Vec3 const& unit, double radius,
                                     std::vector<double> const& x) {
  Index3 const n = grid.cells();
  std::vector<double> y(x.size());
  auto const distance = [&](int axis, index_t a, index_t b) {
    double cells = std::abs(double(a - b));
    if (grid.periodic()[axis]) cells = std::min(cells, double(n[axis]) - cells);
    return unit[axis] * cells;
  };
  for (index_t i = 0; i < grid.cell_count(); ++i) {
    double sum = 0, total = 0;
    for (index_t j = 0; j < grid.cell_count(); ++j) {
      double const a = distance(0, i % n[0], j % n[0]);
      double const b = distance(1, (i / n[0]) % n[1], (j / n[0]) % n[1]);
      double const c = distance(2, i / n[0] / n[1], j / n[0] / n[1]);
      double const weight = std::max(0.0, radius - std::sqrt(a * a + b * b + c * c));
      sum += weight * x[j];
      total += weight;
    }
    y[i] = total > 0 ? sum / total : x[i];
  }
  return y;
}

template <class Space>
void filter_cases() {
  Space const space;
  using field = CellField<double, typename Space::memory_space>;
  struct Case {
    Index3 cells;
    std::array<bool, 3> periodic;
    double radius;
    bool in_lengths;
  };
  for (Case const& test :
       {Case{{7, 5, 3}, {false, false, false}, 1.5, false}, Case{{9, 1, 4}, {false, false, false}, 2.6, false},
        Case{{3, 2, 2}, {false, false, false}, 40.0, false}, Case{{6, 5, 4}, {false, false, false}, 1.2, true},
        Case{{8, 7, 6}, {true, false, true}, 2.3, false}, Case{{5, 5, 5}, {false, false, false}, 0.5, false},
        Case{{5, 4, 3}, {false, false, false}, 0.0, false}, Case{{1, 1, 1}, {false, false, false}, 3.0, false}}) {
    BoxGrid const grid(test.cells, {4, 2, 3}, test.periodic);
    ConeFilter<Space> filter(grid);
    filter.set_radius(space, test.radius, test.in_lengths);
    auto const a = random_values(grid.cell_count(), 31, 0, 1);
    auto const b = random_values(grid.cell_count(), 32, 0, 1);
    auto const ha = allocate<field>(space, "ha", grid.cell_count());
    auto const tb = allocate<field>(space, "tb", grid.cell_count());
    filter.apply(space, to_device<field>(space, a, grid.cell_count()), ha);
    filter.apply_transpose(space, to_device<field>(space, b, grid.cell_count()), tb);
    auto const filtered = to_host(ha), transposed = to_host(tb);
    Vec3 const unit = test.in_lengths ? grid.spacing() : Vec3{1, 1, 1};
    INFO("radius " << test.radius << ", cells " << test.cells[0] << " " << test.cells[1] << " " << test.cells[2]);
    CHECK(max_difference(filtered, reference_filter(grid, unit, test.radius, a)) < 1e-14);
    double forward = 0, backward = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      forward += b[i] * filtered[i];
      backward += transposed[i] * a[i];
    }
    CHECK(forward == Approx(backward).epsilon(1e-13));
    // Constants are kept.
    filter.apply(space, to_device<field>(space, std::vector<double>(a.size(), 0.7), grid.cell_count()), ha);
    CHECK(max_difference(to_host(ha), std::vector<double>(a.size(), 0.7)) < 1e-15 * 8);
  }
  BoxGrid const grid({2, 2, 2}, {1, 1, 1});
  ConeFilter<Space> filter(grid);
  CHECK_THROWS_AS(filter.set_radius(space, -1.0), InputError);
  field const eight("eight", 8), seven("seven", 7);
  CHECK_THROWS_AS(filter.apply(space, eight, eight), InputError);  // no radius yet
  filter.set_radius(space, 1.5);
  CHECK_THROWS_AS(filter.apply(space, eight, seven), InputError);
}

}  // namespace

TEMPLATE_TEST_CASE("the cone filter equals its definition, keeps constants, and has the exact transpose", "",
                   BRICKWORK_TEST_SPACES) {
  filter_cases<TestType>();
}
