// SPDX-License-Identifier: BSD-3-Clause
// Rows of a Hermite operator at vertices some of whose cells do not exist (or do not count): cell by cell, from the
// element matrix. Such vertices lie on the boundary of the domain or at a refinement edge, few beside the others.
//
// A row takes up to 2^Dim cells of 4^Dim unknowns each. Source: the cell sums of fem/hermite.hpp.
#pragma once

#include "brickwork/operators/detail/hermite_star.hpp"

namespace brickwork::detail {

/// Sites of a table with the cells that count around each and the unknowns that are free.
struct RimSites {
  TableSites table;
  std::uint8_t const* cells;    // bits
  std::uint8_t const* free;     // bits
  std::uint8_t const* colours;  // parities of the vertex' coordinates
};

template <class Scalar, int Dim>
struct RimProduct {
  static constexpr int unknowns = 1 << Dim, size = 1 << 2 * Dim;
  Scalar const* element;  // [size][size]
  Scalar const* x;
  index_t stride;
  RimSites sites;

  /// Row m of a site's vertex: the product and the diagonal entry.
  KOKKOS_FUNCTION void row(index_t site, int m, Scalar& product, Scalar& diagonal) const {
    index_t const vertex = sites.table.vertex(site);
    auto const rows = sites.table.rows(site, vertex);
    int const present = sites.cells[site];
    product = diagonal = 0;
    for (int n = 0; n < unknowns; ++n) {
      if (((present >> n) & 1) == 0) continue;
      int const own = unknowns - 1 - n;  // the cell's corner that is the vertex
      int const line = hermite_local<Dim>(own, m);
      Scalar const* const entries = element + line * size;
      diagonal += entries[line];
      for (int corner = 0; corner < unknowns; ++corner) {
        int row = offset(corner, own, 1) + 1;
        if constexpr (Dim == 3) row += 3 * (offset(corner, own, 2) + 1);
        Scalar const* const from = x + rows(row) + offset(corner, own, 0);
        for (int other = 0; other < unknowns; ++other)
          product += entries[hermite_local<Dim>(corner, other)] * from[other * stride];
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_free(index_t site, int m) const { return ((sites.free[site] >> m) & 1) != 0; }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static int offset(int corner, int own, int d) {
    return ((corner >> d) & 1) - ((own >> d) & 1);
  }
};

/// One thread per row; finish.at_rim(vertex, m, product, diagonal, whether unknown m is free).
template <class Scalar, int Dim, class Finish>
struct RimRows {
  RimProduct<Scalar, Dim> rim;
  Finish finish;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    index_t const site = i % rim.sites.table.count;
    auto const m = static_cast<int>(i / rim.sites.table.count);
    Scalar product, diagonal;
    rim.row(site, m, product, diagonal);
    finish.at_rim(rim.sites.table.vertex(site), m, product, diagonal, rim.is_free(site, m));
  }
};

/// One thread per vertex of a colour, for what is written in place: the rows of a vertex read its own unknowns.
template <class Scalar, int Dim, class Finish>
struct RimVertices {
  static constexpr int unknowns = 1 << Dim;
  RimProduct<Scalar, Dim> rim;
  int colour;
  Finish finish;
  KOKKOS_FUNCTION void operator()(index_t site) const {
    if (rim.sites.colours[site] != colour || rim.sites.free[site] == 0) return;
    Scalar product[unknowns], diagonal[unknowns];
    for (int m = 0; m < unknowns; ++m) rim.row(site, m, product[m], diagonal[m]);
    for (int m = 0; m < unknowns; ++m)
      finish.at_rim(rim.sites.table.vertex(site), m, product[m], diagonal[m], rim.is_free(site, m));
  }
};

}  // namespace brickwork::detail
