// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/cell_symmetry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// A motion of the cube: coordinate `axis` of the image is that of the source along axis[axis], reversed where asked.
struct Motion {
  std::array<int, 3> axis;
  std::array<bool, 3> reversed;

  int determinant() const {
    int sign = (axis[1] - axis[0]) * (axis[2] - axis[0]) * (axis[2] - axis[1]) / 2;
    for (bool flip : reversed) sign *= flip ? -1 : 1;
    return sign;
  }
  index_t operator()(BoxGrid const& grid, index_t cell) const {
    Index3 const n = grid.cells();
    Index3 const p{cell % n[0], (cell / n[0]) % n[1], cell / n[0] / n[1]};
    Index3 q{};
    for (int d = 0; d < 3; ++d) q[d] = reversed[d] ? n[d] - 1 - p[axis[d]] : p[axis[d]];
    return grid.cell_index(q[0], q[1], q[2]);
  }
};

std::vector<Motion> motions(CellSymmetry symmetry) {
  std::vector<Motion> result;
  std::array<int, 3> axis{0, 1, 2};
  do {
    for (int flips = 0; flips < 8; ++flips) {
      Motion const motion{axis, {(flips & 1) != 0, (flips & 2) != 0, (flips & 4) != 0}};
      bool const plain = axis == std::array<int, 3>{0, 1, 2};
      if (symmetry == CellSymmetry::none && !(plain && flips == 0)) continue;
      if (symmetry == CellSymmetry::reflect3 && !plain) continue;
      if (symmetry == CellSymmetry::rotate3 && motion.determinant() < 0) continue;
      result.push_back(motion);
    }
  } while (std::next_permutation(axis.begin(), axis.end()));
  return result;
}

struct Case {
  CellSymmetry symmetry;
  Index3 cells;
};
std::vector<Case> const cases{
    {CellSymmetry::none, {3, 4, 5}},      {CellSymmetry::reflect3, {6, 5, 8}},   {CellSymmetry::reflect3, {1, 1, 1}},
    {CellSymmetry::reflect3, {33, 1, 2}}, {CellSymmetry::rotate3, {1, 1, 1}},    {CellSymmetry::rotate3, {2, 2, 2}},
    {CellSymmetry::rotate3, {6, 6, 6}},   {CellSymmetry::rotate3, {7, 7, 7}},    {CellSymmetry::rotate3, {20, 20, 20}},
    {CellSymmetry::reflect6, {1, 1, 1}},  {CellSymmetry::reflect6, {2, 2, 2}},   {CellSymmetry::reflect6, {3, 3, 3}},
    {CellSymmetry::reflect6, {8, 8, 8}},  {CellSymmetry::reflect6, {13, 13, 13}}};

template <class Space, class Real>
std::vector<double> symmetrized(BoxGrid const& grid, CellSymmetry symmetry, std::vector<double> const& values) {
  Space const space;
  auto const field =
      to_device<CellField<Real, typename Space::memory_space>>(space, values, static_cast<index_t>(values.size()));
  symmetrize<Space, Real>(space, grid, symmetry, field);
  return to_host(field);
}

template <class Space, class Real>
void symmetry_cases() {
  for (Case const& test : cases) {
    INFO(to_string(test.symmetry) << ", " << test.cells[0] << " x " << test.cells[1] << " x " << test.cells[2]);
    BoxGrid const grid(test.cells, {double(test.cells[0]), double(test.cells[1]), double(test.cells[2])});
    auto const group = motions(test.symmetry);
    auto const before = rounded<Real>(random_values(grid.cell_count(), 5, 0, 1));
    auto const after = symmetrized<Space, Real>(grid, test.symmetry, before);
    bool equal = true;
    double off = 0;
    for (index_t cell = 0; cell < grid.cell_count(); ++cell) {
      std::set<index_t> orbit;
      for (auto const& motion : group) orbit.insert(motion(grid, cell));
      double mean = 0;
      for (index_t other : orbit) {
        mean += before[other] / static_cast<double>(orbit.size());
        equal = equal && after[other] == after[cell];
      }
      off = std::max(off, std::abs(after[cell] - mean));
    }
    CHECK(equal);  // to the last bit
    CHECK(off <= 2 * std::numeric_limits<Real>::epsilon());
    CHECK(symmetrized<Space, Real>(grid, test.symmetry, after) == after);
    CHECK(symmetrized<Space, Real>(grid, test.symmetry, before) == after);
    // A moved field has the same means.
    auto const& motion = group.back();
    std::vector<double> moved(before.size());
    for (index_t cell = 0; cell < grid.cell_count(); ++cell) moved[motion(grid, cell)] = before[cell];
    CHECK(max_difference(symmetrized<Space, Real>(grid, test.symmetry, moved), after) <=
          4 * std::numeric_limits<Real>::epsilon());
  }
}

}  // namespace

TEMPLATE_TEST_CASE("symmetrized fields hold the mean of every orbit, equal to the last bit", "",
                   BRICKWORK_TEST_SPACES) {
  symmetry_cases<TestType, double>();
  symmetry_cases<TestType, float>();
}

TEMPLATE_TEST_CASE("one cell spreads over its orbit, whose size is the group's unless it lies on a plane", "",
                   BRICKWORK_TEST_SPACES) {
  auto const orbit_size = [](CellSymmetry symmetry, index_t n, Index3 const& p) {
    BoxGrid const grid({n, n, n}, {1, 1, 1});
    std::vector<double> field(static_cast<std::size_t>(grid.cell_count()), 0.0);
    field[grid.cell_index(p[0], p[1], p[2])] = 1;
    auto const after = symmetrized<TestType, double>(grid, symmetry, field);
    double sum = 0;
    int count = 0;
    for (double value : after) {
      sum += value;
      count += value != 0 ? 1 : 0;
    }
    CHECK(sum == Approx(1));
    return count;
  };
  CHECK(orbit_size(CellSymmetry::none, 8, {1, 2, 3}) == 1);
  CHECK(orbit_size(CellSymmetry::reflect3, 8, {1, 2, 3}) == 8);
  CHECK(orbit_size(CellSymmetry::rotate3, 8, {1, 2, 3}) == 24);
  CHECK(orbit_size(CellSymmetry::rotate3, 8, {6, 2, 3}) == 24);
  CHECK(orbit_size(CellSymmetry::reflect6, 8, {1, 2, 3}) == 48);
  CHECK(orbit_size(CellSymmetry::reflect6, 8, {6, 5, 3}) == 48);
  CHECK(orbit_size(CellSymmetry::rotate3, 8, {1, 1, 3}) == 24);
  CHECK(orbit_size(CellSymmetry::reflect6, 8, {1, 3, 1}) == 24);
  CHECK(orbit_size(CellSymmetry::reflect6, 8, {2, 2, 2}) == 8);
  CHECK(orbit_size(CellSymmetry::reflect6, 7, {3, 3, 3}) == 1);  // the centre
  CHECK(orbit_size(CellSymmetry::rotate3, 7, {3, 3, 0}) == 6);
  CHECK(orbit_size(CellSymmetry::reflect6, 7, {3, 1, 2}) == 24);
  CHECK(orbit_size(CellSymmetry::reflect3, 7, {3, 1, 2}) == 4);
}

TEST_CASE("symmetries have names, and the cubic ones need a cube of cubes") {
  for (auto const& name : cell_symmetry_names()) CHECK(to_string(cell_symmetry_from_string(name)) == name);
  CHECK_THROWS_WITH(cell_symmetry_from_string("mirror"),
                    "unknown symmetry 'mirror'; known are none, reflect3, rotate3, reflect6");
  CHECK_FALSE(is_cubic(CellSymmetry::reflect3));
  CHECK(is_cubic(CellSymmetry::rotate3));
  BoxGrid const cube({4, 4, 4}, {2, 2, 2}), bricks({4, 4, 4}, {2, 2, 3}), plate({4, 4, 2}, {4, 4, 2});
  for (auto symmetry : {CellSymmetry::none, CellSymmetry::reflect3}) {
    check_symmetry(symmetry, bricks);
    check_symmetry(symmetry, plate);
  }
  for (auto symmetry : {CellSymmetry::rotate3, CellSymmetry::reflect6}) {
    check_symmetry(symmetry, cube);
    CHECK_THROWS_AS(check_symmetry(symmetry, bricks), InputError);
    CHECK_THROWS_AS(check_symmetry(symmetry, plate), InputError);
  }
  using Space = Kokkos::DefaultExecutionSpace;
  CellField<double, Space::memory_space> const few("few", 63);
  CHECK_THROWS_AS((symmetrize<Space, double>(Space{}, cube, CellSymmetry::reflect3, few)), InputError);
}
