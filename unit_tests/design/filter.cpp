// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/filter.hpp"

#include <limits>

#include "brickwork/core/check.hpp"
#include "brickwork/design/detail/filter_kernels.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// (H x)_i by its definition, over all pairs of cells and, along periodic axes, all images within the radius.
std::vector<double> reference_filter(BoxGrid const& grid, Vec3 const& unit, double radius, FilterKernel kernel,
                                     std::vector<double> const& x) {
  Index3 const n = grid.cells();
  std::vector<double> y(x.size());
  // Squared distances of the pairs (a, b) along one axis, one per image within reach.
  auto const distances = [&](int axis) {
    std::vector<std::vector<double>> table;
    index_t const images = grid.periodic()[axis] ? 1 + index_t(radius / unit[axis]) / n[axis] : 0;
    for (index_t a = 0; a < n[axis]; ++a)
      for (index_t b = 0; b < n[axis]; ++b) {
        table.emplace_back();
        for (index_t image = -images; image <= images; ++image) {
          double const distance = unit[axis] * double(a - b + image * n[axis]);
          if (std::abs(distance) < radius) table.back().push_back(distance * distance);
        }
      }
    return table;
  };
  auto const in_x = distances(0), in_y = distances(1), in_z = distances(2);
  for (index_t i = 0; i < grid.cell_count(); ++i) {
    double sum = 0, total = 0;
    for (index_t j = 0; j < grid.cell_count(); ++j) {
      for (double a : in_x[i % n[0] * n[0] + j % n[0]])
        for (double b : in_y[(i / n[0]) % n[1] * n[1] + (j / n[0]) % n[1]])
          for (double c : in_z[i / n[0] / n[1] * n[2] + j / n[0] / n[1]]) {
            double const q = std::sqrt(a + b + c) / radius;
            if (q >= 1) continue;
            double const weight = kernel == FilterKernel::linear
                                      ? radius * (1 - q)
                                      : 1 - 6 * q * q + 8 * std::pow(q, 3) - 3 * std::pow(q, 4);
            sum += weight * x[j];
            total += weight;
          }
    }
    y[i] = total > 0 ? sum / total : x[i];
  }
  return y;
}

// Some 30 products and sums of values of at most 1, with a factor of safety.
template <class Real>
constexpr double rounding = 48 * std::numeric_limits<Real>::epsilon();

template <class Space, class Real>
void filter_cases() {
  Space const space;
  using field = CellField<Real, typename Space::memory_space>;
  struct Case {
    Index3 cells;
    std::array<bool, 3> periodic;
    double radius;
    bool in_lengths;
  };
  std::array<bool, 3> const open{false, false, false};
  for (Case const& test :
       {Case{{7, 5, 3}, open, 1.5, false}, Case{{33, 9, 12}, open, 1.35, false}, Case{{3, 2, 37}, open, 2.0, false},
        Case{{65, 1, 1}, open, 1.7, false}, Case{{1, 17, 1}, open, 1.2, false}, Case{{1, 1, 9}, open, 1.9, false},
        Case{{2, 2, 2}, open, 40.0, false}, Case{{5, 5, 5}, open, 0.5, false}, Case{{5, 4, 3}, open, 0.0, false},
        Case{{1, 1, 1}, open, 3.0, false}, Case{{6, 5, 4}, open, 1.2, true}, Case{{6, 5, 4}, open, 0.7, true},
        Case{{6, 5, 4}, {true, true, true}, 1.5, false}, Case{{2, 9, 35}, {true, false, true}, 1.6, false},
        Case{{5, 2, 2}, {false, true, true}, 1.9, false}, Case{{8, 7, 6}, {true, false, true}, 2.3, false},
        Case{{9, 1, 4}, open, 2.6, false}, Case{{3, 2, 2}, open, 40.0, false},
        // Periodic axes on which the neighbourhood passes half of the cells, and all of them.
        Case{{5, 4, 6}, {true, true, true}, 3.2, false}, Case{{3, 2, 7}, {true, true, false}, 5.5, false},
        Case{{2, 2, 2}, {true, true, true}, 4.1, false}, Case{{9, 2, 3}, {true, true, true}, 2.9, true}}) {
    BoxGrid const grid(test.cells, {4, 2, 3}, test.periodic);
    ConeFilter<Space, Real> filter(grid);
    for (auto kernel : {FilterKernel::linear, FilterKernel::spline4}) {
      filter.set_radius(space, test.radius, test.in_lengths, kernel);
      auto const a = rounded<Real>(random_values(grid.cell_count(), 31, 0, 1));
      auto const b = rounded<Real>(random_values(grid.cell_count(), 32, 0, 1));
      auto const ha = allocate<field>(space, "ha", grid.cell_count());
      auto const tb = allocate<field>(space, "tb", grid.cell_count());
      filter.apply(space, to_device<field>(space, a, grid.cell_count()), ha);
      filter.apply_transpose(space, to_device<field>(space, b, grid.cell_count()), tb);
      auto const filtered = to_host(ha), transposed = to_host(tb);
      Vec3 const unit = test.in_lengths ? grid.spacing() : Vec3{1, 1, 1};
      INFO((kernel == FilterKernel::linear ? "linear" : "spline4")
           << ", radius " << test.radius << ", cells " << test.cells[0] << " " << test.cells[1] << " "
           << test.cells[2]);
      double const tolerance = rounding<Real> * (1 + filter.neighbours() / 100);
      CHECK(max_difference(filtered, reference_filter(grid, unit, test.radius, kernel, a)) < tolerance);
      double forward = 0, backward = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        forward += b[i] * filtered[i];
        backward += transposed[i] * a[i];
      }
      CHECK(forward == Approx(backward).epsilon(tolerance));
      // Constants are kept.
      filter.apply(space, to_device<field>(space, std::vector<double>(a.size(), 0.75), grid.cell_count()), ha);
      CHECK(max_difference(to_host(ha), std::vector<double>(a.size(), 0.75)) < tolerance);
    }
  }
  BoxGrid const grid({2, 2, 2}, {1, 1, 1});
  ConeFilter<Space, Real> filter(grid);
  CHECK_THROWS_AS(filter.set_radius(space, -1.0), InputError);
  field const eight("eight", 8), seven("seven", 7);
  CHECK_THROWS_AS(filter.apply(space, eight, eight), InputError);  // no radius yet
  filter.set_radius(space, 1.5);
  CHECK_THROWS_AS(filter.apply(space, eight, seven), InputError);
}

template <class Real>
struct TwoFields {
  Real const *a, *b;
  template <class Index>
  KOKKOS_FUNCTION void operator()(Index cell, Real* v) const {
    v[0] = a[cell];
    v[1] = b[cell];
  }
};

template <class Real>
struct StoreTwo {
  Real *a, *b;
  KOKKOS_FUNCTION void operator()(index_t cell, Real const* result, double* sums) const {
    a[cell] = result[0];
    b[cell] = result[1];
    sums[0] += static_cast<double>(result[0]);
    sums[1] += static_cast<double>(result[1]);
    sums[2] += 1;
  }
};

// Both kernels on the same stencil, and what a pass with two fields and sums adds to one with a single field.
template <class Space>
void kernels_agree() {
  Space const space;
  using field = CellField<double, typename Space::memory_space>;
  BoxGrid const grid({35, 11, 19}, {1, 1, 1}, {false, true, false});
  index_t const cells = grid.cell_count();
  ConeFilter<Space> filter(grid);
  filter.set_radius(space, 1.8);
  auto const a = to_device<field>(space, random_values(cells, 33), cells);
  auto const b = to_device<field>(space, random_values(cells, 34), cells);
  auto const out_a = allocate<field>(space, "out_a", cells), out_b = allocate<field>(space, "out_b", cells);
  auto const alone = allocate<field>(space, "alone", cells);
  SumWorkspace<Space> const workspace(space);
  Kokkos::View<double*, typename Space::memory_space> const totals("totals", 3);
  filter.apply_transpose(space, b, alone);
  REQUIRE(filter.stencil().compact);
  std::vector<double> results[2][3];
  for (int general = 0; general < 2; ++general) {
    auto stencil = filter.stencil();
    stencil.compact = general == 0;
    detail::filter_sum<3, 2, true>("test", space, stencil, TwoFields<double>{a.data(), b.data()},
                                   StoreTwo<double>{out_a.data(), out_b.data()}, workspace,
                                   StoreSums<3>{totals.data()});
    results[general][0] = to_host(out_a);
    results[general][1] = to_host(out_b);
    results[general][2] = to_host(totals);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(max_difference(results[0][i], results[1][i]) < rounding<double>);
    double sum = 0;
    for (double value : results[0][i]) sum += value;
    CHECK(results[0][2][i] == Approx(sum).epsilon(1e-12).margin(1e-11));
  }
  CHECK(results[0][2][2] == double(cells));  // every cell once
  CHECK(results[1][2][2] == double(cells));
  CHECK(max_difference(results[0][1], to_host(alone)) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("the filter equals its definition, keeps constants, and has the exact transpose", "",
                   BRICKWORK_TEST_SPACES) {
  filter_cases<TestType, double>();
  filter_cases<TestType, float>();
}
TEMPLATE_TEST_CASE("the compact and the general filter kernel agree", "", BRICKWORK_TEST_SPACES) {
  kernels_agree<TestType>();
}
