// SPDX-License-Identifier: BSD-3-Clause
// How smooth a Hermite field is across the interfaces of leaves, and where the grid should be refined.
//
// For a(u, v) = (f, v) with a = mass (u, v) + laplace (grad u, grad v) + biharmonic (Hessian u, Hessian v), integration
// by parts on every leaf leaves, for a C1 field, its residual inside and the jumps of the second and third normal
// derivative on its faces (tangential derivatives of u and du/dn do not jump). With A u = mass u - laplace Delta u +
// biharmonic Delta^2 u and b = biharmonic, the indicator of a leaf K is
//
//   eta_K^2 = h_K^4 |f - A u|_K^2 / b + sum over its faces F of w_F b (h_F |[u_nn]|_F^2 + h_F^3 |[u_nnn]|_F^2),
//
// h_K the largest side, h_F the side normal to F, w_F = 1/2 inside the domain, since two leaves share a face. On a
// simply supported face of the boundary, where u_nn should vanish, h_F |u_nn|^2 counts with w_F = 1; clamped faces have
// no term. Where a face borders two or more finer leaves, each part of it is integrated by itself with the finer h_F.
// sqrt(sum of eta_K^2) bounds the error in the energy norm up to a constant.
// Source: R. Verfuerth, A Posteriori Error Estimation Techniques for Finite Element Methods, Oxford 2013, section 3.7;
// marking: W. Doerfler, SIAM J. Numer. Anal. 33 (1996) 1106-1124.
#pragma once

#include "brickwork/fem/hermite.hpp"
#include "brickwork/fem/plate_boundary.hpp"
#include "brickwork/operators/hermite_fields.hpp"

namespace brickwork {

/// Largest jumps over the interfaces between leaves, at 4^(Dim - 1) points of each, corners included: enough to tell
/// a cubic from 0. Values in units of u, slopes (normal derivatives) in those of u per length.
struct HermiteJumps {
  double matching_value = 0, matching_slope = 0;  ///< between leaves of one size: 0 by storage
  double edge_value = 0, edge_slope = 0;          ///< between sizes: 0 where prescribe_edges() or a solver wrote
};

/// Waits for `space`. A jump that is not finite counts as the largest double.
/// \throws InputError for a vector of another grid
template <class ExecutionSpace, int Dim>
HermiteJumps hermite_jumps(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                           HermiteField<ExecutionSpace, Dim> const& field);

/// eta_K^2 of every leaf, per level, extent (cells of the level); 0 for refined cells. Levels without leaves: extent 0.
template <class ExecutionSpace>
using LeafIndicator = std::vector<CellField<double, typename ExecutionSpace::memory_space>>;

/// Room for an indicator, zero.
/// \throws OutOfMemory
template <class ExecutionSpace, int Dim>
LeafIndicator<ExecutionSpace> make_indicator(ExecutionSpace const& space,
                                             AdaptiveGrid<ExecutionSpace, Dim> const& grid);

/// Sum of an indicator over all leaves: the square of the estimated error. Waits for `space`.
template <class ExecutionSpace>
double indicator_sum(ExecutionSpace const& space, LeafIndicator<ExecutionSpace> const& indicator);

/// Doerfler's marks: the leaves of the largest indicators that together hold at least `theta` of the sum, and as few as
/// that takes; leaves that equal the smallest of them are marked too, so that a symmetric field gets symmetric marks.
/// Nothing where every indicator is 0. Waits for `space`
/// (16 passes settle the threshold).
/// \return how many leaves are marked, and the marks for AdaptiveGrid::refine
/// \throws InputError for theta out of (0, 1], an indicator that is not finite or does not fit the grid
template <class ExecutionSpace, int Dim>
std::pair<index_t, std::vector<typename AdaptiveGrid<ExecutionSpace, Dim>::marks_type>> mark_largest(
    ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
    LeafIndicator<ExecutionSpace> const& indicator, double theta);

namespace detail {

/// A leaf's neighbourhood: its own level and the next ones, where they have leaves.
template <class MemorySpace, int Dim>
struct FieldLevels {
  FieldLevel<MemorySpace, Dim> coarse, own, fine;
};

/// Values of cell coefficients and of their derivative normal to axis d at xi_d: a tensor over the other axes.
template <int Dim>
KOKKOS_INLINE_FUNCTION void face_trace(double const* c, int d, int order, double xi, double* trace) {
  double basis[4];
  hermite_basis_at(order, xi, basis);
  contract<power_of_four(Dim)>(c, basis, 1 << 2 * d, trace);
}

/// A trace at tangential reference coordinates.
template <int Dim>
KOKKOS_INLINE_FUNCTION double trace_value(double const* trace, double const* xi) {
  double basis[4], value = 0;
  hermite_basis_at(0, xi[0], basis);
  if constexpr (Dim == 2) {
    contract<4>(trace, basis, 1, &value);
  } else {
    double row[4];
    contract<16>(trace, basis, 1, row);
    hermite_basis_at(0, xi[1], basis);
    contract<4>(row, basis, 1, &value);
  }
  return value;
}

/// One part of a leaf's face: the traces of the leaf and of its neighbour, either of which may be the larger cell. The
/// tangential coordinates of the smaller one are s; those of cell i are (offset[i] + s) * scale[i].
template <int Dim>
struct FacePart {
  double const* coefficients[2];  ///< of the leaf, of its neighbour
  double spacing[2];              ///< normal to the face
  double xi[2];                   ///< of the face in each, along the normal: 0 or 1
  double offset[2][Dim - 1];
  double scale[2];

  /// The normal derivatives of an order, trace by trace (physical).
  KOKKOS_INLINE_FUNCTION void traces(int d, int order, double (&trace)[2][power_of_four(Dim - 1)]) const {
    for (int i = 0; i < 2; ++i) {
      face_trace<Dim>(coefficients[i], d, order, xi[i], trace[i]);
      double factor = 1;
      for (int n = 0; n < order; ++n) factor /= spacing[i];
      for (double& t : trace[i]) t *= factor;
    }
  }
  KOKKOS_INLINE_FUNCTION double jump(double const (&trace)[2][power_of_four(Dim - 1)], double const* s) const {
    double value[2];
    for (int i = 0; i < 2; ++i) {
      double at[Dim - 1];
      for (int t = 0; t < Dim - 1; ++t) at[t] = (offset[i][t] + s[t]) * scale[i];
      value[i] = trace_value<Dim>(trace[i], at);
    }
    return value[0] - value[1];
  }
};

enum class Neighbour { boundary, equal, coarser, finer };

/// Which cell a leaf meets across a face; `other` becomes its position there: of the neighbour, of the coarser
/// neighbour, or of the refined cell whose children are the neighbours.
template <class MemorySpace, int Dim>
KOKKOS_INLINE_FUNCTION Neighbour neighbour_of(GridLevel<MemorySpace, Dim> const& grid,
                                              typename GridLevel<MemorySpace, Dim>::position_type const& cell, int d,
                                              int side, typename GridLevel<MemorySpace, Dim>::position_type& other) {
  other = cell;
  other[d] += 2 * side - 1;
  if (other[d] < 0 || other[d] >= grid.domain_cells[d]) return Neighbour::boundary;
  index_t const number = grid.find_cell(other);
  if (number >= 0) return grid.refined(number) ? Neighbour::finer : Neighbour::equal;
  for (int e = 0; e < Dim; ++e) other[e] /= 2;
  return Neighbour::coarser;
}

/// The axes of a face in order.
template <int Dim>
KOKKOS_INLINE_FUNCTION int tangent(int d, int t) {
  return t < d ? t : t + 1;
}

/// The part of the face (d, side) of a leaf that borders a neighbour that is not finer.
template <int Dim, class Levels, class Position>
KOKKOS_INLINE_FUNCTION FacePart<Dim> whole_face(Levels const& levels, double const* own, Position const& cell, int d,
                                                int side, Neighbour kind, Position const& other,
                                                double (&theirs)[power_of_four(Dim)]) {
  bool const is_coarser = kind == Neighbour::coarser;
  gather_cell(is_coarser ? levels.coarse : levels.own, other, theirs);
  double const h = levels.own.grid.spacing[d];
  FacePart<Dim> part{{own, theirs}, {h, is_coarser ? 2 * h : h}, {double(side), double(1 - side)}, {}, {1, 1}};
  if (is_coarser) {
    part.scale[1] = 0.5;
    for (int t = 0; t < Dim - 1; ++t) part.offset[1][t] = static_cast<double>(cell[tangent<Dim>(d, t)] & 1);
  }
  return part;
}

/// The part that borders child `quarter` (one bit per tangential axis) of the refined cell beyond the face.
template <int Dim, class Levels, class Position>
KOKKOS_INLINE_FUNCTION FacePart<Dim> part_of_face(Levels const& levels, double const* own, int d, int side, int quarter,
                                                  Position const& refined, double (&theirs)[power_of_four(Dim)]) {
  double const h = levels.own.grid.spacing[d];
  FacePart<Dim> part{{own, theirs}, {h, 0.5 * h}, {double(side), double(1 - side)}, {}, {0.5, 1}};
  Position child{};
  for (int e = 0; e < Dim; ++e) child[e] = 2 * refined[e];
  child[d] += 1 - side;
  for (int t = 0; t < Dim - 1; ++t) {
    part.offset[0][t] = quarter >> t & 1;
    child[tangent<Dim>(d, t)] += quarter >> t & 1;
  }
  gather_cell(levels.fine, child, theirs);
  return part;
}

template <class MemorySpace, int Dim, class Function>
struct ResidualIndicator {
  FieldLevels<MemorySpace, Dim> levels;
  CellField<double, MemorySpace> indicator;
  Function f;
  HermiteForm form;
  bool supported[2 * Dim];
  HermiteQuadrature quadrature, face_quadrature;

  KOKKOS_FUNCTION void operator()(index_t number) const {
    auto const& grid = levels.own.grid;
    if (grid.refined(number)) return;
    auto const cell = grid.cell_position(number);
    double c[power_of_four(Dim)];
    gather_cell(levels.own, cell, c);
    double eta = interior(cell, c) / form.biharmonic;
    for (int d = 0; d < Dim; ++d)
      for (int side = 0; side < 2; ++side) eta += form.biharmonic * face(cell, c, d, side);
    indicator(number) = eta;
  }

 private:
  using position_type = typename GridLevel<MemorySpace, Dim>::position_type;

  /// (f - A u)^2 at a point, times its weight.
  struct AddResidual {
    ResidualIndicator const& self;
    position_type const& cell;
    double const* c;
    double* sum;

    KOKKOS_FUNCTION void operator()(Kokkos::Array<double, Dim> const& xi, double weight, double const* v) const {
      auto const& grid = self.levels.own.grid;
      HermiteJet<Dim> const jet = jet_of<Dim>(v, grid.spacing);
      double residual = self.f(to_physical<Dim>(grid, cell, xi)) - self.form.mass * jet.value;
      for (int d = 0; d < Dim; ++d) {
        residual += self.form.laplace * jet.hessian[d];
        // Fourth derivatives along one axis vanish on a cubic; the mixed ones do not.
        for (int e = d + 1; e < Dim; ++e) {
          Kokkos::Array<int, Dim> order{};
          order[d] = order[e] = 2;
          double const h = grid.spacing[d] * grid.spacing[e];
          residual -= 2 * self.form.biharmonic * cell_derivative<Dim>(c, order, xi) / (h * h);
        }
      }
      *sum += weight * residual * residual;
    }
  };

  KOKKOS_FUNCTION double interior(position_type const& cell, double const* c) const {
    auto const& grid = levels.own.grid;
    double volume = 1, h = 0, sum = 0;
    for (int d = 0; d < Dim; ++d) {
      volume *= grid.spacing[d];
      h = math::max(h, grid.spacing[d]);
    }
    Kokkos::Array<double, Dim> xi{};
    visit_jets<Dim - 1, Dim>(quadrature, c, xi, volume, AddResidual{*this, cell, c, &sum});
    return h * h * h * h * sum;
  }

  KOKKOS_FUNCTION double face(position_type const& cell, double const* c, int d, int side) const {
    position_type other{};
    double theirs[power_of_four(Dim)];
    Neighbour const kind = neighbour_of(levels.own.grid, cell, d, side, other);
    double area = 1;
    for (int t = 0; t < Dim - 1; ++t) area *= levels.own.grid.spacing[tangent<Dim>(d, t)];
    if (kind == Neighbour::boundary) {
      if (!supported[2 * d + side]) return 0;
      for (double& t : theirs) t = 0;
      double const h = levels.own.grid.spacing[d];
      FacePart<Dim> const part{{c, theirs}, {h, h}, {double(side), double(side)}, {}, {1, 1}};
      return area * h * squared_jump(part, d, 2);
    }
    if (kind != Neighbour::finer)
      return 0.5 * area * jumps(whole_face<Dim>(levels, c, cell, d, side, kind, other, theirs), d);
    double sum = 0;
    for (int quarter = 0; quarter < 1 << (Dim - 1); ++quarter)
      sum += jumps(part_of_face<Dim>(levels, c, d, side, quarter, other, theirs), d);
    return 0.5 * area / (1 << (Dim - 1)) * sum;
  }

  KOKKOS_FUNCTION double jumps(FacePart<Dim> const& part, int d) const {
    double const h = math::min(part.spacing[0], part.spacing[1]);
    return h * squared_jump(part, d, 2) + h * h * h * squared_jump(part, d, 3);
  }

  /// Mean square over the part.
  KOKKOS_FUNCTION double squared_jump(FacePart<Dim> const& part, int d, int order) const {
    double trace[2][power_of_four(Dim - 1)];
    part.traces(d, order, trace);
    HermiteQuadrature const& q = face_quadrature;
    double sum = 0;
    for (int i = 0; i < q.points; ++i) {
      double const s[2] = {q.x[i], 0};
      if constexpr (Dim == 2) {
        double const jump = part.jump(trace, s);
        sum += q.weight[i] * jump * jump;
      } else {
        for (int j = 0; j < q.points; ++j) {
          double const at[2] = {q.x[i], q.x[j]};
          double const jump = part.jump(trace, at);
          sum += q.weight[i] * q.weight[j] * jump * jump;
        }
      }
    }
    return sum;
  }
};

}  // namespace detail

/// Writes eta_K^2 of every leaf. Asynchronous on `space`; one launch per level with leaves.
/// \param field    C1, as solvers and prescribe_edges() leave it
/// \param f        functor double(Kokkos::Array<double, Dim> const&); what stands at a point (a point load) is not seen
/// \param form     with biharmonic > 0
/// \param points   Gauss points per axis inside, in [1, 8]
/// \throws InputError for another form or number of points, or vectors of another grid
template <class ExecutionSpace, int Dim, class Function>
void residual_indicator(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                        HermiteField<ExecutionSpace, Dim> const& field, Function const& f, HermiteForm const& form,
                        PlateBoundary<Dim> const& boundary, LeafIndicator<ExecutionSpace> const& indicator,
                        int points = 4) {
  detail::require_fit(grid, field, "the field");
  BRICKWORK_REQUIRE(std::isfinite(form.biharmonic) && form.biharmonic > 0, "residual indicator: biharmonic is ",
                    form.biharmonic, ", it must be positive");
  BRICKWORK_REQUIRE(static_cast<int>(indicator.size()) == grid.level_count(), "the indicator has ", indicator.size(),
                    " levels, the grid has ", grid.level_count());
  using Kernel = detail::ResidualIndicator<typename ExecutionSpace::memory_space, Dim, Function>;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const& level = grid.level(l);
    if (level.leaf_count == 0) continue;
    auto const& values = indicator[static_cast<std::size_t>(l)];
    BRICKWORK_REQUIRE(static_cast<index_t>(values.extent(0)) == level.cell_count, "the indicator has ",
                      values.extent(0), " cells on level ", l, ", the grid has ", level.cell_count);
    int const coarse = l > 0 ? l - 1 : l, fine = l + 1 < grid.level_count() ? l + 1 : l;
    Kernel kernel{{detail::field_level(grid, field, coarse), detail::field_level(grid, field, l),
                   detail::field_level(grid, field, fine)},
                  values,
                  f,
                  form,
                  {},
                  detail::hermite_quadrature(points),
                  detail::hermite_quadrature(4)};  // exact for squares of cubics
    for (int face = 0; face < 2 * Dim; ++face)
      kernel.supported[face] = boundary[static_cast<std::size_t>(face)] == PlateEdge::simply_supported;
    Kokkos::parallel_for("brickwork::residual_indicator", range(space, level.cell_count), kernel);
  }
}

}  // namespace brickwork
