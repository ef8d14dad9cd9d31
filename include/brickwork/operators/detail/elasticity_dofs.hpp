// SPDX-License-Identifier: BSD-3-Clause
// Where the 24 values of a cell stand in a nodal vector: computed from the grid, or read from a connectivity table.
//
// A kernel that works cell by cell takes one of these as a template parameter. Local number j = 3 n + d is component d
// of corner n. GridDofs reads nothing; TableDofs reads 24 integers per cell (96 bytes), as the fused-kernel text does.
#pragma once

#include "brickwork/operators/detail/elasticity_node_gather.hpp"

namespace brickwork::detail {

/// The eight corners of a cell and the component stride.
struct CornerDofs {
  index_t node[8];
  index_t stride;
  KOKKOS_FORCEINLINE_FUNCTION index_t operator()(int j) const { return node[j / 3] + (j % 3) * stride; }
};

/// Connectivity of a box grid, computed: no table.
template <class Scalar>
struct GridDofs {
  ElasticityData<Scalar> data;
  index_t stride;  ///< between components

  using Cell = CornerDofs;
  KOKKOS_FORCEINLINE_FUNCTION Cell cell(index_t e) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, e, i, j, k);
    Cell c;
    c.stride = stride;
    for (int n = 0; n < 8; ++n) c.node[n] = CellGather<Scalar>::node(data, i, j, k, n);
    return c;
  }
};

/// Connectivity as the fused-kernel text stores it: [cells][24] indices into the vector.
struct TableDofs {
  std::int32_t const* table;

  struct Cell {
    std::int32_t const* row;
    KOKKOS_FORCEINLINE_FUNCTION index_t operator()(int j) const { return row[j]; }
  };
  KOKKOS_FORCEINLINE_FUNCTION Cell cell(index_t e) const { return {table + 24 * e}; }
};

/// Constraint bit of local number j; `u_dof` is its index in a vector of component stride `stride`.
KOKKOS_FORCEINLINE_FUNCTION bool is_constrained(std::uint8_t const* mask, index_t u_dof, int j, index_t stride) {
  int const d = j % 3;
  return (mask[u_dof - d * stride] >> d) & 1;
}

}  // namespace brickwork::detail
