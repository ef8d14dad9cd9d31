// SPDX-License-Identifier: BSD-3-Clause
// The Hermite operator of an adaptive grid in cell-wise storage against the one in vertex-wise storage, and the
// transfers of cell-wise vectors.
#include "brickwork/operators/hermite_leaf_operator.hpp"

#include "brickwork/operators/hermite_cell_transfer.hpp"
#include "brickwork/operators/hermite_fields.hpp"
#include "brickwork/operators/hermite_operator.hpp"
#include "brickwork/operators/hermite_transfer.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_grids.hpp"
#include "support/hermite_leaves.hpp"
#include "support/hermite_levels.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

template <class Space, int Dim>
std::vector<AdaptiveGrid<Space, Dim>> grids(Space const& space) {
  using Kind = typename RefinementRegion<Dim>::Kind;
  std::array<index_t, Dim> odd{}, thin{}, small{};
  for (std::size_t d = 0; d < Dim; ++d) {
    odd[d] = 3 + 2 * (static_cast<index_t>(d) % 2);
    thin[d] = d == 1 ? 1 : 7;
    small[d] = 2 + static_cast<index_t>(d) % 2;
  }
  std::vector<AdaptiveGrid<Space, Dim>> all;
  all.emplace_back(space, box<Dim>(odd), 0);
  all.emplace_back(space, box<Dim>(thin), 1);
  for (auto const kind : {Kind::box, Kind::ball, Kind::ring})
    all.push_back(refined(space, box<Dim>(small), 1, kind, 2));
  return all;
}

/// Random unknowns that make a C1 field.
template <class Space, int Dim>
HermiteField<Space, Dim> random_field(Space const& space, AdaptiveGrid<Space, Dim> const& grid, unsigned seed) {
  HermiteField<Space, Dim> const field(space, grid, "field");
  set_values(field, random_values(field.size(), seed));
  prescribe_edges<Space, Dim>(space, grid, field);
  return field;
}

/// Values of vertices that touch a leaf; the others have no meaning.
template <class Space, int Dim>
std::vector<double> of_leaves(AdaptiveGrid<Space, Dim> const& grid, HermiteField<Space, Dim> const& field) {
  auto values = host_values(field);
  index_t offset = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    auto const level = host_level(grid.level(l));
    if (level.leaf_count == 0) continue;
    for (index_t i = 0; i < level.vertex_count << Dim; ++i)
      if (level.vertex_leaves(i % level.vertex_count) == 0) values[static_cast<std::size_t>(offset + i)] = 0;
    offset += level.vertex_count << Dim;
  }
  return values;
}

template <class Space, int Dim>
void check_operator() {
  using Mem = typename Space::memory_space;
  Space const space;
  HermiteForm const form{0.5, 2, 1};
  for (auto const& grid : grids<Space, Dim>(space)) {
    HermiteOperator<Space, Dim> const reference(space, grid, form, PlateBoundary<Dim>{});
    auto const x = random_field(space, grid, 1), v = random_field(space, grid, 2);
    HermiteDual<double, Mem, Dim> const y(space, grid, "y"), b(space, grid, "b");
    LeafPrimal<Mem, Dim> const leaf_x(space, grid, "x"), leaf_v(space, grid, "v");
    LeafDual<Mem, Dim> const leaf_y(space, grid, "y"), leaf_b(space, grid, "b");
    for (auto const evaluation : {HermiteEvaluation::automatic, HermiteEvaluation::assembled, HermiteEvaluation::dense,
                                  HermiteEvaluation::even_odd_1, HermiteEvaluation::even_odd_2}) {
      HermiteLeafOperator<Space, Dim> const a(space, grid, form, HermiteBoundary<Dim>{}, evaluation);
      a.distribute(space, x, leaf_x);
      a.distribute(space, v, leaf_v);
      a.apply(space, leaf_x, leaf_y);
      // Fields that vanish where the boundary is clamped: rows there are left out of the vertex-wise product.
      auto const test = [&] {
        double expected = 0, found = pairing(host_values(leaf_y), host_values(leaf_v));
        for (int l = 0; l < grid.level_count(); ++l) {
          if (grid.level(l).leaf_count == 0) continue;
          CellDual<Mem, Dim> const product(space, grid.level(l).cell_count, "product");
          a.level(l).apply(space, leaf_x.level(l), product);
          auto const level = host_level(grid.level(l));
          auto const w = plain(product), values = plain(leaf_v.level(l));
          for (index_t cell = 0; cell < level.cell_count; ++cell)
            for (int i = 0; i < (1 << 2 * Dim) && !level.refined(cell); ++i)
              expected += w[static_cast<std::size_t>(cell << 2 * Dim | i)] *
                          values[static_cast<std::size_t>(cell << 2 * Dim | i)];
        }
        return std::make_pair(found, expected);
      };
      auto const [found, expected] = test();
      REQUIRE(found == Approx(expected).epsilon(1e-12));
    }
    // Against vertex-wise rows, with a test field that is zero on the clamped boundary.
    HermiteLeafOperator<Space, Dim> const a(space, grid, form, HermiteBoundary<Dim>{});
    auto values = host_values(v);
    index_t offset = 0;
    for (int l = 0; l < grid.level_count(); ++l) {
      auto const level = host_level(grid.level(l));
      if (level.leaf_count == 0) continue;
      for (index_t i = 0; i < level.vertex_count << Dim; ++i)
        if (HermiteBoundary<Dim>{}.fixed(level, i % level.vertex_count) != 0)
          values[static_cast<std::size_t>(offset + i)] = 0;
      offset += level.vertex_count << Dim;
    }
    set_values(v, values);
    prescribe_edges<Space, Dim>(space, grid, v);
    reference.apply(space, x, y);
    reference.constrain(space, y);
    a.distribute(space, x, leaf_x);
    a.distribute(space, v, leaf_v);
    a.apply(space, leaf_x, leaf_y);
    double const expected = pairing(host_values(y), host_values(v));
    REQUIRE(pairing(host_values(leaf_y), host_values(leaf_v)) == Approx(expected).epsilon(1e-11).margin(1e-9));

    // A functional keeps its values, a field its unknowns.
    set_values(b, random_values(b.size(), 3));
    reference.constrain(space, b);
    a.distribute(space, b, leaf_b);
    double const value = pairing(host_values(b), host_values(v));
    REQUIRE(pairing(host_values(leaf_b), host_values(leaf_v)) == Approx(value).epsilon(1e-12).margin(1e-10));
    HermiteField<Space, Dim> const back(space, grid, "back");
    a.collect(space, leaf_x, back);
    REQUIRE(of_leaves(grid, back) == of_leaves(grid, x));
    for (int l = 0; l < grid.level_count(); ++l) {
      if (grid.level(l).leaf_count == 0) continue;
      auto const level = host_level(grid.level(l));
      auto const product = plain(leaf_y.level(l)), functional = plain(leaf_b.level(l));
      for (index_t cell = 0; cell < level.cell_count; ++cell)
        for (int i = 0; i < (1 << 2 * Dim) && level.refined(cell); ++i) {
          REQUIRE(product[static_cast<std::size_t>(cell << 2 * Dim | i)] == 0);
          REQUIRE(functional[static_cast<std::size_t>(cell << 2 * Dim | i)] == 0);
        }
    }
  }
  AdaptiveGrid<Space, Dim> const grid(space, unit_cube<Dim>(), 1), larger(space, unit_cube<Dim>(), 3);
  HermiteLeafOperator<Space, Dim> const a(space, grid, form, HermiteBoundary<Dim>{});
  LeafPrimal<Mem, Dim> const other(space, larger, "other");
  REQUIRE_THROWS_AS(a.collect(space, other, HermiteField<Space, Dim>(space, grid, "field")), InputError);
  REQUIRE_THROWS_AS(a.distribute(space, HermiteField<Space, Dim>(space, grid, "field"), other), InputError);
}

template <class Space, int Dim>
void check_transfer() {
  using Mem = typename Space::memory_space;
  Space const space;
  for (auto const& grid : grids<Space, Dim>(space)) {
    for (int l = 0; l + 1 < grid.level_count(); ++l) {
      auto const &coarse = grid.level(l), &fine = grid.level(l + 1);
      HermiteCellTransfer<Space, Dim> const transfer(space, coarse, fine);
      HermiteTransfer<Space, Dim> const vertex_wise(space, coarse, fine);
      // The same fields as from vertices.
      using Vector = Kokkos::View<double*, Mem>;
      using Level = HermiteLevelVector<double, Mem, Dim>;
      Vector const coarse_values("coarse", coarse.vertex_count << Dim), fine_values("fine", fine.vertex_count << Dim);
      Level const coarse_level(coarse_values.data(), static_cast<std::size_t>(coarse.vertex_count)),
          fine_level(fine_values.data(), static_cast<std::size_t>(fine.vertex_count));
      auto const host = Kokkos::create_mirror_view(coarse_values);
      auto const random = random_values(coarse.vertex_count << Dim, 5);
      for (std::size_t i = 0; i < random.size(); ++i) host(i) = random[i];
      Kokkos::deep_copy(coarse_values, host);
      vertex_wise.template prolongate<double>(space, coarse_level, Level(), fine_level, Level());
      CellPrimal<Mem, Dim> const u(space, coarse.cell_count, "u"), pu(space, fine.cell_count, "pu"),
          expected(space, fine.cell_count, "expected");
      gather<Space, Dim>(space, coarse, coarse_level, u);
      gather<Space, Dim>(space, fine, fine_level, expected);
      transfer.prolongate(space, u, pu);
      REQUIRE(largest_difference(plain(pu), plain(expected)) <= 1e-14);
      transfer.prolongate(space, u, pu);  // adds
      auto twice = plain(expected);
      for (double& value : twice) value *= 2;
      REQUIRE(largest_difference(plain(pu), twice) <= 1e-13);

      // The transpose, for any copies; leaves keep what they have.
      auto const level = host_level(coarse);
      auto const kept = random_values(coarse.cell_count << 2 * Dim, 8);
      CellDual<Mem, Dim> const r(space, fine.cell_count, "r"), b(space, coarse.cell_count, "b");
      set(u, random_values(coarse.cell_count << 2 * Dim, 6));
      set(r, random_values(fine.cell_count << 2 * Dim, 7));
      set(b, kept);
      Kokkos::deep_copy(pu.values(), 0.0);
      transfer.prolongate(space, u, pu);
      transfer.restrict_to(space, r, b);
      auto restricted = plain(b);
      for (index_t cell = 0; cell < coarse.cell_count; ++cell)
        for (int i = 0; i < (1 << 2 * Dim) && !level.refined(cell); ++i) {
          auto const at = static_cast<std::size_t>(cell << 2 * Dim | i);
          REQUIRE(restricted[at] == kept[at]);
          restricted[at] = 0;
        }
      REQUIRE(pairing(restricted, plain(u)) == Approx(pairing(plain(r), plain(pu))).epsilon(1e-11).margin(1e-11));

      // P^T A P of the children is A of the parent.
      HermiteForm const form{0.5, 2, 1};
      HermiteCellOperator<Space, Dim> const a_coarse(space, coarse, form), a_fine(space, fine, form);
      CellDual<Mem, Dim> const product(space, coarse.cell_count, "product");
      a_fine.apply(space, pu, r);
      transfer.restrict_to(space, r, b);
      a_coarse.apply(space, u, product);
      auto const galerkin = plain(b), own = plain(product);
      double difference = 0;
      for (index_t cell = 0; cell < coarse.cell_count; ++cell)
        for (int i = 0; i < (1 << 2 * Dim) && level.refined(cell); ++i) {
          auto const at = static_cast<std::size_t>(cell << 2 * Dim | i);
          difference = std::max(difference, std::abs(galerkin[at] - own[at]));
        }
      REQUIRE(difference <= 1e-12 * (1 + largest_value(own)));
      if (coarse.cell_count == fine.cell_count) continue;
      REQUIRE_THROWS_AS(transfer.prolongate(space, pu, pu), InputError);
      REQUIRE_THROWS_AS(transfer.restrict_to(space, r, r), InputError);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("the Hermite operator of the leaves is the same in both storages", "", BRICKWORK_TEST_SPACES) {
  check_operator<TestType, 2>();
  check_operator<TestType, 3>();
}

TEMPLATE_TEST_CASE("cell-wise Hermite transfers are adjoint and exact", "", BRICKWORK_TEST_SPACES) {
  check_transfer<TestType, 2>();
  check_transfer<TestType, 3>();
}
