// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/cell_symmetry.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"

namespace brickwork {

void check_symmetry(CellSymmetry symmetry, BoxGrid const& grid) {
  if (!is_cubic(symmetry)) return;
  Index3 const n = grid.cells();
  BRICKWORK_REQUIRE(n[0] == n[1] && n[0] == n[2], "symmetry ", to_string(symmetry), ": ", n[0], " x ", n[1], " x ",
                    n[2], " cells; it needs as many along every axis");
  Vec3 const h = grid.spacing();
  for (int axis = 1; axis < 3; ++axis)
    BRICKWORK_REQUIRE(std::abs(h[axis] - h[0]) <= 1e-9 * h[0], "symmetry ", to_string(symmetry), ": cells of ", h[0],
                      " x ", h[1], " x ", h[2], "; it needs cubes");
}

namespace detail {

// Each orbit has a representative in the octant of the lower halves, for the cubic groups in its wedge x <= y <= z; an
// index is a cell of the octant, and its thread owns the orbit. Under rotations alone a cell and its mirror image may
// be two orbits; both belong to the thread, and where they are one, the second mean changes nothing.
//
// The mean is first + (sum of differences to the first) / motions, which gives back equal values to the last bit. Cells
// on a mirror plane are met several times, always equally often.
//
// Per cell of the field: reads 2 values, writes one; those along permuted axes are not contiguous.
template <class Real>
struct Symmetrize {
  index_t n[3];
  index_t half[3];
  CellSymmetry symmetry;
  Real* field;

  KOKKOS_FUNCTION index_t cell(index_t const (&p)[3], int flips) const {
    index_t const x = flips & 1 ? n[0] - 1 - p[0] : p[0];
    index_t const y = flips & 2 ? n[1] - 1 - p[1] : p[1];
    index_t const z = flips & 4 ? n[2] - 1 - p[2] : p[2];
    return x + n[0] * (y + n[1] * z);
  }

  /// Calls body(cell) for the images of p: all reflections, of the permuted cells too for the cubic groups, but of
  /// rotate3 only the motions of one parity.
  template <class Body>
  KOKKOS_FUNCTION void for_images(index_t const (&p)[3], int parity, Body const& body) const {
    int const permutations = is_permuting() ? 6 : 1;
    index_t q[3] = {p[0], p[1], p[2]};
    for (int permutation = 0; permutation < permutations; ++permutation) {
      for (int flips = 0; flips < 8; ++flips) {
        int const odd = (permutation + (flips & 1) + ((flips >> 1) & 1) + (flips >> 2)) & 1;
        if (symmetry != CellSymmetry::rotate3 || odd == parity) body(cell(q, flips));
      }
      // Exchanging the first two and the last two in turn goes through all six, each time with the other parity.
      int const a = permutation & 1;
      index_t const kept = q[a];
      q[a] = q[a + 1];
      q[a + 1] = kept;
    }
  }

  KOKKOS_FUNCTION bool is_permuting() const { return symmetry != CellSymmetry::reflect3; }

  struct AddDifferences {
    Real const* field;
    double first;
    double* sum;
    KOKKOS_FUNCTION void operator()(index_t cell) const { *sum += static_cast<double>(field[cell]) - first; }
  };
  struct Store {
    Real* field;
    Real value;
    KOKKOS_FUNCTION void operator()(index_t cell) const { field[cell] = value; }
  };

  KOKKOS_FUNCTION void operator()(index_t index) const {
    index_t const p[3] = {index % half[0], (index / half[0]) % half[1], index / half[0] / half[1]};
    if (is_permuting() && (p[0] > p[1] || p[1] > p[2])) return;
    bool const rotations = symmetry == CellSymmetry::rotate3;
    double const motions = rotations ? 24 : is_permuting() ? 48 : 8;
    for (int parity = 0; parity < (rotations ? 2 : 1); ++parity) {
      auto const first = static_cast<double>(field[cell(p, parity)]);
      double sum = 0;
      for_images(p, parity, AddDifferences{field, first, &sum});
      for_images(p, parity, Store{field, static_cast<Real>(first + sum / motions)});
    }
  }
};

}  // namespace detail

template <class ExecutionSpace, class Real>
void symmetrize(ExecutionSpace const& space, BoxGrid const& grid, CellSymmetry symmetry,
                CellField<Real, typename ExecutionSpace::memory_space> const& field) {
  check_symmetry(symmetry, grid);
  BRICKWORK_REQUIRE(static_cast<index_t>(field.extent(0)) == grid.cell_count(), "symmetrize: ", field.extent(0),
                    " values; the grid has ", grid.cell_count(), " cells");
  if (symmetry == CellSymmetry::none) return;
  detail::Symmetrize<Real> kernel{{}, {}, symmetry, field.data()};
  for (int axis = 0; axis < 3; ++axis) {
    kernel.n[axis] = grid.cells()[axis];
    kernel.half[axis] = (kernel.n[axis] + 1) / 2;
  }
  for_each("brickwork::symmetrize", space, kernel.half[0] * kernel.half[1] * kernel.half[2], kernel);
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                    \
  template void symmetrize<SPACE, float>(SPACE const&, BoxGrid const&, CellSymmetry,    \
                                         CellField<float, SPACE::memory_space> const&); \
  template void symmetrize<SPACE, double>(SPACE const&, BoxGrid const&, CellSymmetry,   \
                                          CellField<double, SPACE::memory_space> const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
