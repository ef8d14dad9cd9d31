// SPDX-License-Identifier: BSD-3-Clause
// Even-odd form and fast diagonalization of Hermite element matrices. Free of Kokkos.
//
// Every Hermite form on a box commutes with the reflection of each axis, (u0, u0', u1, u1') -> (u1, -u1', u0, -u0').
// The butterfly H of an axis separates what a reflection keeps from what it negates,
//
//   slot 0: u0 + u1    slot 1: u0' - u1'   (even)        slot 2: u0 - u1    slot 3: u0' + u1'   (odd)
//
// in place: slot 2 p + m takes the place of unknown 2 n + m. With H H^T = 2 I per axis, the butterflies of a set S of
// axes split A into 2^|S| blocks ("sectors", one for each choice of parities) of 4^Dim / 2^|S| unknowns:
// A = H^T B H, where the factors 1/2 of the inverse butterflies, 4^-|S| in all, are part of B.
//
// Fast diagonalization: with M-orthonormal eigenvectors Q of K q = lambda M q and F = Q^T M, K = F^T Lambda F and
// M = F^T F; likewise for D q = mu M q. So a form is the sum of two parts F^T diag F, each with bases of its own:
//   gradient  basis of (K, M): mass + laplace sum_d lambda_d + 2 biharmonic sum_{d < e} lambda_d lambda_e
//   bending   basis of (D, M): biharmonic sum_d mu_d
//
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 4.2 and 4.3 (which splits one or
// two axes).
#pragma once

#include "brickwork/core/unroll.hpp"
#include "brickwork/fem/hermite.hpp"

namespace brickwork {

/// Unknown (or slot: they share their places) `k` of a sector, among the 4^Dim of a cell. Sectors are numbered by the
/// parities of the axes in `axes`, unknowns by what remains, both with x fastest.
template <int Dim>
constexpr int hermite_sector_slot(unsigned axes, int sector, int k) {
  int slot = 0;
  BRICKWORK_UNROLL_ALL
  for (int d = 0; d < Dim; ++d) {
    if ((axes >> d) & 1) {
      slot += (2 * (sector & 1) + (k & 1)) << 2 * d;
      sector >>= 1, k >>= 1;
    } else {
      slot += (k & 3) << 2 * d;
      k >>= 2;
    }
  }
  return slot;
}

/// The blocks B of an element matrix.
template <int Dim>
struct HermiteSectors {
  unsigned axes = 0;  ///< bit d: axis d is split
  int count = 1;      ///< of blocks
  int size = 0;       ///< unknowns of each
  std::vector<double> blocks;

  double operator()(int sector, int row, int column) const {
    return blocks[static_cast<std::size_t>((sector * size + row) * size + column)];
  }
};

/// \param element  4^Dim x 4^Dim, row-major
/// \param axes     the axes to split, bit d for axis d
/// \throws InputError where the extent does not fit, for axes that do not exist, and where the matrix does not commute
/// with one of the reflections
template <int Dim>
HermiteSectors<Dim> hermite_sectors(std::vector<double> const& element, unsigned axes);

/// H u or H^T u over the given axes, in place: what kernels do in registers.
template <int Dim, unsigned axes, bool transposed, class Value>
constexpr void hermite_butterfly(Value* u) {
  BRICKWORK_UNROLL_ALL
  for (int d = 0; d < Dim; ++d) {
    if (((axes >> d) & 1) == 0) continue;
    BRICKWORK_UNROLL_ALL
    for (int i = 0; i < 1 << 2 * Dim; ++i) {
      if ((i >> (2 * d + 1)) & 1) continue;
      int const partner = i + (2 << 2 * d);
      Value const sum = u[i] + u[partner];
      bool const derivative = (i >> 2 * d) & 1;
      // The even slot of a derivative is the difference; transposed, its second unknown is odd minus even.
      if (!derivative) {
        u[partner] = u[i] - u[partner];
        u[i] = sum;
      } else if (!transposed) {
        u[i] = u[i] - u[partner];
        u[partner] = sum;
      } else {
        u[partner] = u[partner] - u[i];
        u[i] = sum;
      }
    }
  }
}

/// One part of a form, F^T diag F, where F is the tensor product of `transform` over the axes.
template <int Dim>
struct HermiteDiagonalPart {
  std::array<HermiteMatrix1D, Dim> transform;  ///< F of each axis
  std::vector<double> diagonal;                ///< 4^Dim; all 0 where the form has no such part
};

template <int Dim>
struct HermiteDiagonalization {
  HermiteDiagonalPart<Dim> gradient, bending;
};

/// \param spacing  sides of the cell, each > 0
/// \throws InputError as hermite_element()
template <int Dim>
HermiteDiagonalization<Dim> hermite_diagonalization(HermiteForm const& form, std::array<double, Dim> const& spacing);

}  // namespace brickwork
