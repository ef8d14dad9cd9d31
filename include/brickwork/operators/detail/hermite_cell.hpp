// SPDX-License-Identifier: BSD-3-Clause
// What kernels do with the cubic of one cell: gather its unknowns, contract them axis by axis with the basis.
//
// The 4^Dim coefficients of a cell lie with i_x fastest (fem/hermite.hpp). A contraction with the basis of one axis
// takes a quarter of the values; contracting axis after axis costs 84 multiply-adds per derivative in three dimensions,
// and far less where many points share their first coordinates.
#pragma once

#include "brickwork/fem/hermite.hpp"
#include "brickwork/fem/quadrature.hpp"
#include "brickwork/operators/hermite_vector.hpp"

namespace brickwork::detail {

KOKKOS_INLINE_FUNCTION constexpr int power_of_four(int exponent) { return 1 << 2 * exponent; }

/// Gauss points of one axis with the basis at them.
struct HermiteQuadrature {
  static constexpr int most = 8;
  int points = 0;
  double x[most], weight[most];
  double basis[most][3][4];  ///< [point][order][function]
};

/// \throws InputError for a number of points out of [1, 8]
inline HermiteQuadrature hermite_quadrature(int points) {
  BRICKWORK_REQUIRE(points >= 1 && points <= HermiteQuadrature::most, "Gauss points per axis: ", points,
                    " must lie in [1, ", HermiteQuadrature::most, "]");
  GaussRule const rule = gauss_rule(points);
  HermiteQuadrature q{};
  q.points = points;
  for (int p = 0; p < points; ++p) {
    q.x[p] = rule.points[static_cast<std::size_t>(p)];
    q.weight[p] = rule.weights[static_cast<std::size_t>(p)];
    for (int order = 0; order < 3; ++order) hermite_basis_at(order, q.x[p], q.basis[p][order]);
  }
  return q;
}

/// One level with its part of a vector.
template <class MemorySpace, int Dim, VectorKind kind = VectorKind::primal>
struct FieldLevel {
  GridLevel<MemorySpace, Dim> grid;
  typename HermiteVector<kind, double, MemorySpace, Dim>::level_type values;
};

template <int Dim, VectorKind kind, class ExecutionSpace>
auto field_level(AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                 HermiteVector<kind, double, typename ExecutionSpace::memory_space, Dim> const& vector, int l) {
  return FieldLevel<typename ExecutionSpace::memory_space, Dim, kind>{grid.level(l), vector.level(l)};
}

/// \throws InputError where a vector was made for another grid, or for this one before it was refined
template <class ExecutionSpace, int Dim, class Vector>
void require_fit(AdaptiveGrid<ExecutionSpace, Dim> const& grid, Vector const& vector, char const* what) {
  BRICKWORK_REQUIRE(vector.level_count() == grid.level_count(), what, " has ", vector.level_count(),
                    " levels, the grid has ", grid.level_count());
  for (int l = 0; l < grid.level_count(); ++l) {
    index_t const wanted = grid.level(l).leaf_count > 0 ? grid.level(l).vertex_count : 0;
    auto const has = static_cast<index_t>(vector.level(l).extent(0));
    BRICKWORK_REQUIRE(has == wanted, what, " has ", has, " vertices on level ", l, ", the grid has ", wanted);
  }
}

/// The coefficients of the cell at a position.
template <class Level, class Position, int Size>
KOKKOS_INLINE_FUNCTION void gather_cell(Level const& level, Position const& cell, double (&c)[Size]) {
  constexpr int Dim = Size == 16 ? 2 : 3;
  for (int n = 0; n < 1 << Dim; ++n) {
    index_t const vertex = level.grid.corner(cell, n);
    for (int m = 0; m < 1 << Dim; ++m) c[hermite_local<Dim>(n, m)] = level.values(vertex, m);
  }
}

/// Contracts the axis of a tensor of `Size` = below * 4 * above values whose entries are `below` apart.
template <int Size>
KOKKOS_INLINE_FUNCTION void contract(double const* in, double const* basis, int below, double* out) {
  for (int i = 0; i < Size / 4; ++i) {
    int const first = i % below + i / below * below * 4;
    out[i] = basis[0] * in[first] + basis[1] * in[first + below] + basis[2] * in[first + 2 * below] +
             basis[3] * in[first + 3 * below];
  }
}

/// Derivative of these orders at xi in [0, 1]^Dim, with respect to reference coordinates.
template <int Dim>
KOKKOS_INLINE_FUNCTION double cell_derivative(double const* c, Kokkos::Array<int, Dim> const& order,
                                              Kokkos::Array<double, Dim> const& xi) {
  double b[4], yz[16], z[4], value = 0;
  hermite_basis_at(order[0], xi[0], b);
  contract<power_of_four(Dim)>(c, b, 1, yz);
  hermite_basis_at(order[1], xi[1], b);
  contract<power_of_four(Dim - 1)>(yz, b, 1, z);
  if constexpr (Dim == 2) {
    value = z[0];
  } else {
    hermite_basis_at(order[2], xi[2], b);
    contract<4>(z, b, 1, &value);
  }
  return value;
}

// Derivatives up to order two, contracted from the last axis to the first: one value becomes three (orders 0, 1, 2),
// those six (orders that add to at most 2), those ten. `jet_totals` are the orders used up so far; each stage is a
// prefix of the next, so that two dimensions read the same table. In the end: u, x, xx, y, xy, yy, z, xz, yz, zz.
KOKKOS_INLINE_FUNCTION constexpr int jet_size(int axes) { return (axes + 1) * (axes + 2) / 2; }
KOKKOS_INLINE_FUNCTION int jet_total(int entry) {
  constexpr int totals[10] = {0, 1, 2, 1, 2, 2, 1, 2, 2, 2};
  return totals[entry];
}

/// Contracts axis `Axis` of jet_size(Dim - 1 - Axis) tensors of 4^(Axis + 1) values to jet_size(Dim - Axis) of 4^Axis.
template <int Axis, int Dim>
KOKKOS_INLINE_FUNCTION void contract_jet(double const* in, double const (&basis)[3][4], double* out) {
  constexpr int below = power_of_four(Axis);
  for (int entry = 0; entry < jet_size(Dim - 1 - Axis); ++entry, in += 4 * below)
    for (int order = 0; order <= 2 - jet_total(entry); ++order, out += below)
      contract<4 * below>(in, basis[order], below, out);
}

/// Calls visit(x, weight, jet) at the Gauss points of a cell: reference coordinates, product of weights, and what
/// jet_of() understands.
template <int Axis, int Dim, class Visit>
KOKKOS_INLINE_FUNCTION void visit_jets(HermiteQuadrature const& q, double const* in, Kokkos::Array<double, Dim>& x,
                                       double weight, Visit const& visit) {
  double out[jet_size(Dim - Axis) * power_of_four(Axis)];
  for (int p = 0; p < q.points; ++p) {
    contract_jet<Axis, Dim>(in, q.basis[p], out);
    x[Axis] = q.x[p];
    if constexpr (Axis == 0) {
      visit(x, weight * q.weight[p], static_cast<double const*>(out));
    } else {
      visit_jets<Axis - 1, Dim>(q, out, x, weight * q.weight[p], visit);
    }
  }
}

/// sum[i] += weighted integral over the reference cell of f psi_i; f is called as f(xi).
template <int Axis, int Dim, class Function>
KOKKOS_INLINE_FUNCTION void integrate_basis(HermiteQuadrature const& q, Function const& f,
                                            Kokkos::Array<double, Dim>& xi, double* sum) {
  constexpr int below = power_of_four(Axis);
  for (int p = 0; p < q.points; ++p) {
    xi[Axis] = q.x[p];
    double part[below] = {};
    if constexpr (Axis == 0) {
      part[0] = f(xi);
    } else {
      integrate_basis<Axis - 1, Dim>(q, f, xi, part);
    }
    for (int j = 0; j < 4; ++j) {
      double const factor = q.weight[p] * q.basis[p][0][j];
      for (int i = 0; i < below; ++i) sum[j * below + i] += factor * part[i];
    }
  }
}

/// Physical coordinates of reference coordinates in a cell.
template <int Dim, class Grid>
KOKKOS_INLINE_FUNCTION Kokkos::Array<double, Dim> to_physical(Grid const& grid,
                                                              typename Grid::position_type const& cell,
                                                              Kokkos::Array<double, Dim> const& xi) {
  Kokkos::Array<double, Dim> x{};
  for (int d = 0; d < Dim; ++d) x[d] = grid.coordinate(d, static_cast<double>(cell[d]) + xi[d]);
  return x;
}

/// The leaf of a level that holds a point of the domain, and the point's reference coordinates in it; false where the
/// leaf there belongs to another level. A point on an interface counts to its upper side, on the upper boundary to the
/// last cell: widths of levels differ by exact powers of two, so exactly one level says yes.
template <int Dim, class Grid>
KOKKOS_INLINE_FUNCTION bool locate_leaf(Grid const& grid, Kokkos::Array<double, Dim> const& x,
                                        typename Grid::position_type& cell, Kokkos::Array<double, Dim>& xi) {
  for (int d = 0; d < Dim; ++d) {
    double const t = (x[d] - grid.origin[d]) / grid.spacing[d];
    cell[d] = math::clamp(static_cast<index_t>(t), index_t(0), grid.domain_cells[d] - 1);
    xi[d] = math::clamp(t - static_cast<double>(cell[d]), 0.0, 1.0);
  }
  index_t const number = grid.find_cell(cell);
  return number >= 0 && !grid.refined(number);
}

}  // namespace brickwork::detail
