// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_fields.hpp"

#include "brickwork/core/instantiate.hpp"

namespace brickwork {

namespace {

template <class MemorySpace, int Dim>
struct AddPointLoad {
  detail::FieldLevel<MemorySpace, Dim, VectorKind::dual> level;
  double value;
  Kokkos::Array<double, Dim> point;

  KOKKOS_FUNCTION void operator()(index_t) const {
    typename GridLevel<MemorySpace, Dim>::position_type cell{};
    Kokkos::Array<double, Dim> xi{};
    if (!detail::locate_leaf<Dim>(level.grid, point, cell, xi)) return;
    double basis[Dim][4];
    for (int d = 0; d < Dim; ++d) hermite_basis_at(0, xi[d], basis[d]);
    for (int n = 0; n < 1 << Dim; ++n) {
      index_t const vertex = level.grid.corner(cell, n);
      for (int m = 0; m < 1 << Dim; ++m) {
        double product = value;
        for (int d = 0; d < Dim; ++d) product *= basis[d][2 * (n >> d & 1) + (m >> d & 1)];
        level.values(vertex, m) += product;
      }
    }
  }
};

template <class MemorySpace, int Dim>
struct PrescribeEdges {
  detail::FieldLevel<MemorySpace, Dim> fine, coarse;

  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    auto const position = fine.grid.vertex_position(vertex);
    for (int n = 0; n < 1 << Dim; ++n) {
      auto cell = position;  // the n-th around the vertex, and then its parent
      bool inside = true;
      for (int d = 0; d < Dim; ++d) {
        cell[d] += (n >> d & 1) - 1;
        inside = inside && cell[d] >= 0 && cell[d] < fine.grid.domain_cells[d];
      }
      if (!inside || fine.grid.find_cell(cell) >= 0) continue;
      Kokkos::Array<double, Dim> xi{};
      for (int d = 0; d < Dim; ++d) {
        cell[d] /= 2;
        xi[d] = 0.5 * static_cast<double>(position[d] - 2 * cell[d]);
      }
      if (coarse.grid.find_cell(cell) < 0) continue;
      double c[detail::power_of_four(Dim)];
      detail::gather_cell(coarse, cell, c);
      for (int m = 0; m < 1 << Dim; ++m) {
        Kokkos::Array<int, Dim> order{};
        double scale = 1;
        for (int d = 0; d < Dim; ++d) {
          order[d] = m >> d & 1;
          if (order[d] == 1) scale *= 0.5;  // derivatives refer to the width of their own level
        }
        fine.values(vertex, m) = scale * detail::cell_derivative<Dim>(c, order, xi);
      }
      return;  // every coarse leaf around the vertex says the same
    }
  }
};

template <class ExecutionSpace, int Dim>
struct EvaluateAtPoints {
  detail::FieldLevel<typename ExecutionSpace::memory_space, Dim> level;
  HermitePoints<ExecutionSpace, Dim> points;
  HermiteJets<ExecutionSpace, Dim> jets;

  KOKKOS_FUNCTION void operator()(index_t n) const {
    typename GridLevel<typename ExecutionSpace::memory_space, Dim>::position_type cell{};
    Kokkos::Array<double, Dim> x{}, xi{};
    for (int d = 0; d < Dim; ++d) x[d] = points(n, d);
    if (!detail::locate_leaf<Dim>(level.grid, x, cell, xi)) return;
    double c[detail::power_of_four(Dim)], z[3 * detail::power_of_four(Dim - 1)], y[6 * detail::power_of_four(Dim - 2)],
        basis[3][4];
    detail::gather_cell(level, cell, c);
    auto const set_basis = [&](int d) {
      for (int order = 0; order < 3; ++order) hermite_basis_at(order, xi[d], basis[order]);
    };
    set_basis(Dim - 1);
    detail::contract_jet<Dim - 1, Dim>(c, basis, z);
    set_basis(Dim - 2);
    detail::contract_jet<Dim - 2, Dim>(z, basis, y);
    if constexpr (Dim == 3) {
      double x_jet[10];
      set_basis(0);
      detail::contract_jet<0, 3>(y, basis, x_jet);
      jets(n) = detail::jet_of<Dim>(x_jet, level.grid.spacing);
    } else {
      jets(n) = detail::jet_of<Dim>(y, level.grid.spacing);
    }
  }
};

template <class Points, int Dim>
struct FirstOutside {
  Points points;
  Kokkos::Array<double, Dim> lower, upper;

  KOKKOS_FUNCTION void operator()(index_t n, index_t& first) const {
    for (int d = 0; d < Dim; ++d) {
      bool const inside = points(n, d) >= lower[d] && points(n, d) <= upper[d];  // false for NaN too
      if (!inside && n < first) first = n;
    }
  }
};

}  // namespace

template <class ExecutionSpace, int Dim>
void add_point_load(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid, double value,
                    HermitePoint<Dim> const& point, HermiteFunctional<ExecutionSpace, Dim> const& load) {
  detail::require_fit(grid, load, "the load");
  BRICKWORK_REQUIRE(std::isfinite(value), "point load is ", value, ", it must be finite");
  Kokkos::Array<double, Dim> x{};
  for (int d = 0; d < Dim; ++d) {
    double const lower = grid.base().origin[d], upper = lower + grid.base().lengths[d];
    x[d] = point[static_cast<std::size_t>(d)];
    BRICKWORK_REQUIRE(x[d] >= lower && x[d] <= upper, "point load: coordinate ", "xyz"[d], " is ", x[d],
                      ", it must lie in the domain, [", lower, ", ", upper, "]");
  }
  using Kernel = AddPointLoad<typename ExecutionSpace::memory_space, Dim>;
  for (int l = 0; l < grid.level_count(); ++l)
    if (grid.level(l).leaf_count > 0)
      Kokkos::parallel_for("brickwork::add_point_load", range(space, 1),
                           Kernel{{grid.level(l), load.level(l)}, value, x});
}

template <class ExecutionSpace, int Dim>
void prescribe_edges(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
                     HermiteField<ExecutionSpace, Dim> const& field) {
  detail::require_fit(grid, field, "the field");
  using Kernel = PrescribeEdges<typename ExecutionSpace::memory_space, Dim>;
  for (int l = 1; l < grid.level_count(); ++l) {
    if (grid.level(l).leaf_count == 0 || grid.level(l - 1).leaf_count == 0) continue;
    Kokkos::parallel_for("brickwork::prescribe_edges", range(space, grid.level(l).vertex_count),
                         Kernel{detail::field_level(grid, field, l), detail::field_level(grid, field, l - 1)});
  }
}

template <class ExecutionSpace, int Dim>
void evaluate(ExecutionSpace const& space, AdaptiveGrid<ExecutionSpace, Dim> const& grid,
              HermiteField<ExecutionSpace, Dim> const& field, HermitePoints<ExecutionSpace, Dim> const& points,
              HermiteJets<ExecutionSpace, Dim> const& jets) {
  detail::require_fit(grid, field, "the field");
  auto const count = static_cast<index_t>(points.extent(0));
  BRICKWORK_REQUIRE(static_cast<index_t>(jets.extent(0)) == count, "values at points: room for ", jets.extent(0),
                    ", but there are ", count, " points");
  if (count == 0) return;
  FirstOutside<HermitePoints<ExecutionSpace, Dim>, Dim> check{points, {}, {}};
  for (int d = 0; d < Dim; ++d) {
    check.lower[d] = grid.base().origin[d];
    check.upper[d] = check.lower[d] + grid.base().lengths[d];
  }
  index_t outside = count;
  Kokkos::parallel_reduce("brickwork::evaluate::check", range(space, count), check, Kokkos::Min<index_t>(outside));
  if (outside < count) {
    std::string text;
    for (int d = 0; d < Dim; ++d) {
      double coordinate = 0;
      Kokkos::deep_copy(space, Kokkos::View<double, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&coordinate),
                        Kokkos::subview(points, outside, d));
      fence(space, "brickwork::evaluate::message");
      text += detail::concatenate(d > 0 ? ", " : "", coordinate);
    }
    throw InputError(detail::concatenate("point ", outside, " at (", text, ") lies outside the domain"));
  }
  for (int l = 0; l < grid.level_count(); ++l)
    if (grid.level(l).leaf_count > 0)
      Kokkos::parallel_for("brickwork::evaluate", range(space, count),
                           EvaluateAtPoints<ExecutionSpace, Dim>{detail::field_level(grid, field, l), points, jets});
}

#define BRICKWORK_INSTANTIATE(SPACE, DIM)                                                                            \
  template void add_point_load<SPACE, DIM>(SPACE const&, AdaptiveGrid<SPACE, DIM> const&, double,                    \
                                           HermitePoint<DIM> const&, HermiteFunctional<SPACE, DIM> const&);          \
  template void prescribe_edges<SPACE, DIM>(SPACE const&, AdaptiveGrid<SPACE, DIM> const&,                           \
                                            HermiteField<SPACE, DIM> const&);                                        \
  template void evaluate<SPACE, DIM>(SPACE const&, AdaptiveGrid<SPACE, DIM> const&, HermiteField<SPACE, DIM> const&, \
                                     HermitePoints<SPACE, DIM> const&, HermiteJets<SPACE, DIM> const&);
#define BRICKWORK_INSTANTIATE_SPACE(SPACE) \
  BRICKWORK_INSTANTIATE(SPACE, 2)          \
  BRICKWORK_INSTANTIATE(SPACE, 3)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE_SPACE)

}  // namespace brickwork
