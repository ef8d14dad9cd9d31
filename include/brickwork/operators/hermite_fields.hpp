// SPDX-License-Identifier: BSD-3-Clause
// Functions and Hermite fields on an adaptive grid: loads, interpolation, errors, values at points.
//
// Load: b_i = sum over leaves of the integral of f psi_i, by Gauss quadrature with sum factorization: f is evaluated
// once per point, and the points of a cell are contracted axis by axis to its 4^Dim integrals. Cells add to their
// vertices in 2^Dim colours (parity of the position), so that no two that run together share a vertex: no atomics, no
// memory beside the vectors, and the same sums in the same order every time. Errors contract the other way round, from
// unknowns to value, gradient and second derivatives at the points. Both are for set-up and for the end of a run.
//
// Functions of the caller are functors that a kernel can call. Those that only integrate take a point and give a
// number, `double operator()(Kokkos::Array<double, Dim> const& x) const`; the others give a HermiteJet<Dim>.
#pragma once

#include <cmath>

#include "brickwork/core/sums.hpp"
#include "brickwork/operators/detail/hermite_cell.hpp"

namespace brickwork {

/// Value and derivatives of a function at a point, with respect to physical coordinates.
template <int Dim>
struct HermiteJet {
  double value = 0;
  double gradient[Dim] = {};
  double hessian[Dim * (Dim + 1) / 2] = {};  ///< xx, yy, xy, or xx, yy, zz, yz, xz, xy
  double mixed = 0;                          ///< d3/dxdydz, in three dimensions; of use to interpolate() alone
};

/// Norms of u_h - u over the domain: of the value, of the gradient, and of the Hessian (each mixed derivative counted
/// twice).
struct HermiteErrors {
  double l2 = 0, h1 = 0, h2 = 0;  ///< h1 and h2 are the seminorms
};

namespace detail {

/// Entry (d, e) of a Hessian, d < e, in the order of HermiteJet.
template <int Dim>
KOKKOS_INLINE_FUNCTION constexpr int mixed_entry(int d, int e) {
  return Dim == 2 ? 2 : 3 + (3 - d - e);
}

/// Physical derivatives from what visit_jets() gives.
template <int Dim>
KOKKOS_INLINE_FUNCTION HermiteJet<Dim> jet_of(double const* v, Kokkos::Array<double, Dim> const& spacing) {
  HermiteJet<Dim> jet;
  double const x = 1 / spacing[0], y = 1 / spacing[1];
  jet.value = v[0];
  jet.gradient[0] = x * v[1];
  jet.gradient[1] = y * v[3];
  jet.hessian[0] = x * x * v[2];
  jet.hessian[1] = y * y * v[5];
  jet.hessian[mixed_entry<Dim>(0, 1)] = x * y * v[4];
  if constexpr (Dim == 3) {
    double const z = 1 / spacing[2];
    jet.gradient[2] = z * v[6];
    jet.hessian[2] = z * z * v[9];
    jet.hessian[mixed_entry<3>(0, 2)] = x * z * v[7];
    jet.hessian[mixed_entry<3>(1, 2)] = y * z * v[8];
  }
  return jet;
}

/// The derivative that unknown m of a vertex stands for.
template <int Dim>
KOKKOS_INLINE_FUNCTION double jet_derivative(HermiteJet<Dim> const& jet, int m) {
  if (m == 0) return jet.value;
  for (int d = 0; d < Dim; ++d) {
    if (m == 1 << d) return jet.gradient[d];
    for (int e = d + 1; e < Dim; ++e)
      if (m == (1 << d | 1 << e)) return jet.hessian[mixed_entry<Dim>(d, e)];
  }
  return jet.mixed;
}

/// A functor of physical coordinates as one of a cell's reference coordinates.
template <int Dim, class Grid, class Function>
struct InCell {
  Grid const& grid;
  typename Grid::position_type const& cell;
  Function const& f;
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, Dim> const& xi) const {
    return f(to_physical<Dim>(grid, cell, xi));
  }
};

template <class MemorySpace, int Dim, class Function>
struct AddLoad {
  FieldLevel<MemorySpace, Dim, VectorKind::dual> level;
  Function f;
  HermiteQuadrature quadrature;
  double volume;
  int colour;

  KOKKOS_FUNCTION void operator()(index_t number) const {
    auto const cell = level.grid.cell_position(number);
    for (int d = 0; d < Dim; ++d)
      if ((cell[d] & 1) != (colour >> d & 1)) return;
    if (level.grid.refined(number)) return;
    double sum[power_of_four(Dim)] = {};
    Kokkos::Array<double, Dim> xi{};
    integrate_basis<Dim - 1, Dim>(quadrature, InCell<Dim, GridLevel<MemorySpace, Dim>, Function>{level.grid, cell, f},
                                  xi, sum);
    for (int n = 0; n < 1 << Dim; ++n) {
      index_t const vertex = level.grid.corner(cell, n);
      for (int m = 0; m < 1 << Dim; ++m) level.values(vertex, m) += volume * sum[hermite_local<Dim>(n, m)];
    }
  }
};

template <class MemorySpace, int Dim, class Function>
struct Interpolate {
  FieldLevel<MemorySpace, Dim> level;
  Function u;

  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    auto const& grid = level.grid;
    auto const position = grid.vertex_position(vertex);
    HermiteJet<Dim> const jet = u(to_physical<Dim>(grid, position, Kokkos::Array<double, Dim>{}));
    for (int m = 0; m < 1 << Dim; ++m) {
      double scale = 1;
      for (int d = 0; d < Dim; ++d)
        if ((m >> d & 1) != 0) scale *= grid.spacing[d];
      level.values(vertex, m) = scale * jet_derivative<Dim>(jet, m);
    }
  }
};

template <class MemorySpace, int Dim, class Function>
struct SquaredErrors {
  FieldLevel<MemorySpace, Dim> level;
  Function u;
  HermiteQuadrature quadrature;
  double volume;

  struct AddPoint {
    GridLevel<MemorySpace, Dim> const& grid;
    typename GridLevel<MemorySpace, Dim>::position_type const& cell;
    Function const& u;
    double* sums;

    KOKKOS_FUNCTION void operator()(Kokkos::Array<double, Dim> const& xi, double weight, double const* v) const {
      HermiteJet<Dim> const found = jet_of<Dim>(v, grid.spacing);
      HermiteJet<Dim> const wanted = u(to_physical<Dim>(grid, cell, xi));
      auto const square = [](double a) { return a * a; };
      sums[0] += weight * square(found.value - wanted.value);
      for (int d = 0; d < Dim; ++d) sums[1] += weight * square(found.gradient[d] - wanted.gradient[d]);
      for (int e = 0; e < Dim * (Dim + 1) / 2; ++e)
        sums[2] += (e < Dim ? 1 : 2) * weight * square(found.hessian[e] - wanted.hessian[e]);
    }
  };

  KOKKOS_FUNCTION void operator()(index_t number, double* sums) const {
    if (level.grid.refined(number)) return;
    auto const cell = level.grid.cell_position(number);
    double c[power_of_four(Dim)];
    gather_cell(level, cell, c);
    Kokkos::Array<double, Dim> xi{};
    visit_jets<Dim - 1, Dim>(quadrature, c, xi, volume, AddPoint{level.grid, cell, u, sums});
  }
};

template <class Grid>
double cell_volume(Grid const& grid) {
  double volume = 1;
  for (int d = 0; 1 << d < Grid::corners; ++d) volume *= grid.spacing[d];
  return volume;
}

template <int Dim>
struct Constant {
  double value;
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, Dim> const&) const { return value; }
};

}  // namespace detail

template <class ExecutionSpace, int Dim>
using HermiteField = HermitePrimal<double, typename ExecutionSpace::memory_space, Dim>;
template <class ExecutionSpace, int Dim>
using HermiteFunctional = HermiteDual<double, typename ExecutionSpace::memory_space, Dim>;

/// Coordinates of a point; the cast keeps Dim from being deduced from it, which std::array's extent type would forbid.
template <int Dim>
using HermitePoint = std::array<double, static_cast<std::size_t>(Dim)>;

/// load_i += integral of f psi_i. Asynchronous on `space`.
/// \param f       functor double(Kokkos::Array<double, Dim> const&), a load per volume (per area in two dimensions)
/// \param points  Gauss points per axis, in [1, 8]
/// \throws InputError for another number of points, or a vector of another grid
template <class ExecutionSpace, int Dim, class Function>
void add_load(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, Function const& f,
              HermiteFunctional<ExecutionSpace, Dim> const& load, int points = 5) {
  detail::require_fit(grid, load, "the load");
  using Kernel = detail::AddLoad<typename ExecutionSpace::memory_space, Dim, Function>;
  detail::HermiteQuadrature const quadrature = detail::hermite_quadrature(points);
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const& level = grid.level(l);
    if (level.leaf_count == 0) continue;
    for (int colour = 0; colour < 1 << Dim; ++colour)
      Kokkos::parallel_for("brickwork::add_load", range(space, level.cell_count),
                           Kernel{{level, load.level(l)}, f, quadrature, detail::cell_volume(level), colour});
  }
}

/// The same for a constant load, exact.
template <class ExecutionSpace, int Dim>
void add_constant_load(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, double value,
                       HermiteFunctional<ExecutionSpace, Dim> const& load) {
  BRICKWORK_REQUIRE(std::isfinite(value), "load is ", value, ", it must be finite");
  add_load(space, grid, detail::Constant<Dim>{value}, load, 2);
}

/// load_i += value psi_i(point): a force at a point (value is a force, not one per volume).
/// \throws InputError for a point outside the domain, a value that is not finite, or a vector of another grid
template <class ExecutionSpace, int Dim>
void add_point_load(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, double value,
                    HermitePoint<Dim> const& point, HermiteFunctional<ExecutionSpace, Dim> const& load);

/// The Hermite interpolant: value and derivatives at every vertex. Where a coarser leaf prescribes a vertex, it does,
/// so that the field is C1. Asynchronous on `space`. \param u  functor HermiteJet<Dim>(Kokkos::Array<double, Dim>
/// const&) with everything but xx, yy, zz of the Hessian \throws InputError for a vector of another grid
template <class ExecutionSpace, int Dim, class Function>
void interpolate(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, Function const& u,
                 HermiteField<ExecutionSpace, Dim> const& field);

/// Overwrites the unknowns of every vertex that lies on a leaf of the next coarser level by that leaf's cubic, from
/// coarse to fine: makes any field C1. Asynchronous on `space`; one small launch per level.
/// \throws InputError for a vector of another grid
template <class ExecutionSpace, int Dim>
void prescribe_edges(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                     HermiteField<ExecutionSpace, Dim> const& field);

/// Norms of the field minus u. Waits for `space`; for the end of a run, since it allocates its sums.
/// \param u       functor HermiteJet<Dim>(Kokkos::Array<double, Dim> const&)
/// \param points  Gauss points per axis, in [1, 8]: 5 integrate the cubics' own squares exactly
/// \throws InputError for another number of points, or a vector of another grid
template <class ExecutionSpace, int Dim, class Function>
HermiteErrors hermite_errors(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                             HermiteField<ExecutionSpace, Dim> const& field, Function const& u, int points = 5);

/// Points of the domain, extents (points, Dim), and the field there.
template <class ExecutionSpace, int Dim>
using HermitePoints = Kokkos::View<double const* [Dim], Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
template <class ExecutionSpace, int Dim>
using HermiteJets = Kokkos::View<HermiteJet<Dim>*, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;

/// Value, gradient and Hessian of the field at points (`mixed` is 0), by the cubic of the leaf that holds the point; on
/// an interface, where second derivatives jump, by the one on the upper side. Waits for `space` to check the points.
/// \throws InputError with the first point outside the domain, before anything is evaluated; for other extents
template <class ExecutionSpace, int Dim>
void evaluate(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
              HermiteField<ExecutionSpace, Dim> const& field, HermitePoints<ExecutionSpace, Dim> const& points,
              HermiteJets<ExecutionSpace, Dim> const& jets);

// ---- Templates on the caller's functor --------------------------------------------------------------------------

template <class ExecutionSpace, int Dim, class Function>
void interpolate(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, Function const& u,
                 HermiteField<ExecutionSpace, Dim> const& field) {
  detail::require_fit(grid, field, "the field");
  using Kernel = detail::Interpolate<typename ExecutionSpace::memory_space, Dim, Function>;
  for (int l = 0; l < grid.level_count(); ++l)
    Kokkos::parallel_for("brickwork::interpolate", range(space, static_cast<index_t>(field.level(l).extent(0))),
                         Kernel{{grid.level(l), field.level(l)}, u});
  prescribe_edges<ExecutionSpace, Dim>(space, grid, field);
}

template <class ExecutionSpace, int Dim, class Function>
HermiteErrors hermite_errors(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                             HermiteField<ExecutionSpace, Dim> const& field, Function const& u, int points) {
  detail::require_fit(grid, field, "the field");
  using Memory = typename ExecutionSpace::memory_space;
  using Kernel = detail::SquaredErrors<Memory, Dim, Function>;
  detail::HermiteQuadrature const quadrature = detail::hermite_quadrature(points);
  SumWorkspace<ExecutionSpace> const workspace(space);
  auto const sums =
      allocate<Kokkos::View<double*, Memory>>(space, "brickwork::hermite_errors::sums", 3 * grid.level_count());
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const& level = grid.level(l);
    if (level.leaf_count == 0) continue;
    sum_each<3>("brickwork::hermite_errors", space, level.cell_count,
                Kernel{{level, field.level(l)}, u, quadrature, detail::cell_volume(level)}, workspace,
                StoreSums<3>{sums.data() + 3 * l}, points * points);
  }
  auto const host = Kokkos::create_mirror_view(sums);
  Kokkos::deep_copy(space, host, sums);
  fence(space, "brickwork::hermite_errors");
  double total[3] = {};
  for (int l = 0; l < grid.level_count(); ++l)
    for (int n = 0; n < 3; ++n) total[n] += host(3 * l + n);
  return {std::sqrt(total[0]), std::sqrt(total[1]), std::sqrt(total[2])};
}

}  // namespace brickwork
