// SPDX-License-Identifier: BSD-3-Clause
// Cell-wise Hermite vectors, their operator in every evaluation, and direct stiffness summation against plain loops.
#include "brickwork/operators/hermite_cells.hpp"

#include <cmath>
#include <type_traits>

#include "brickwork/operators/hermite_cell_operator.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/hermite_levels.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

using Host = Kokkos::HostSpace;

// What must not compile: a dual vector where a primal one is wanted, or the other layout.
static_assert(!std::is_convertible_v<CellDual<Host, 3>, CellPrimal<Host, 3>>);
static_assert(!std::is_convertible_v<CellPrimal<Host, 3>, CellDual<Host, 3>>);
static_assert(!std::is_assignable_v<CellPrimal<Host, 2>&, CellDual<Host, 2>>);
static_assert(!std::is_convertible_v<CellPrimal<Host, 3, CellLayout::contiguous>, CellPrimal<Host, 3>>);

template <class Operator, class U, class W, class = void>
struct CanApply : std::false_type {};
template <class Operator, class U, class W>
struct CanApply<Operator, U, W,
                std::void_t<decltype(std::declval<Operator const&>().apply(
                    std::declval<Kokkos::DefaultExecutionSpace const&>(), std::declval<U>(), std::declval<W>()))>>
    : std::true_type {};
using Memory = Kokkos::DefaultExecutionSpace::memory_space;
using Operator = HermiteCellOperator<Kokkos::DefaultExecutionSpace, 3>;
static_assert(CanApply<Operator, CellPrimal<Memory, 3>, CellDual<Memory, 3>>::value);
static_assert(!CanApply<Operator, CellDual<Memory, 3>, CellDual<Memory, 3>>::value);
static_assert(!CanApply<Operator, CellPrimal<Memory, 3>, CellPrimal<Memory, 3>>::value);

template <class Space, int Dim>
bool can_run(HermiteEvaluation evaluation) {
  bool cuda = false;
#if defined(KOKKOS_ENABLE_CUDA)
  cuda = std::is_same_v<Space, Kokkos::Cuda>;
#endif
  if (evaluation == HermiteEvaluation::even_odd_3) return Dim == 3;
  if (evaluation == HermiteEvaluation::tensor_core) return cuda;
  if (evaluation == HermiteEvaluation::tensor_core_2) return cuda && Dim == 3;
  return true;
}

// A u cell by cell.
template <int Dim>
std::vector<double> products(std::vector<double> const& a, std::vector<double> const& u) {
  std::size_t const n = 1 << 2 * Dim;
  std::vector<double> w(u.size(), 0.0);
  for (std::size_t cell = 0; cell < u.size() / n; ++cell)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) w[cell * n + i] += a[i * n + j] * u[cell * n + j];
  return w;
}

template <class Space, int Dim>
void check_evaluations() {
  using Mem = typename Space::memory_space;
  Space const space;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    index_t const values = level.cell_count * (1 << 2 * Dim);
    CellPrimal<Mem, Dim> const u(space, level.cell_count, "u");
    CellDual<Mem, Dim> const w(space, level.cell_count, "w"), f(space, level.cell_count, "f");
    set(u, random_values(values, 5));
    set(f, random_values(values, 6));
    for (HermiteForm const& form : {HermiteForm{0, 0, 1}, HermiteForm{0.5, 2, 0.25}, HermiteForm{1, 0, 0}}) {
      std::array<double, Dim> spacing;
      for (int d = 0; d < Dim; ++d) spacing[d] = level.spacing[d];
      auto const element = hermite_element<Dim>(form, spacing);
      auto const expected = products<Dim>(element, plain(u));
      auto residual = plain(f);
      for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= expected[i];
      // Sums of 4^Dim terms, twice transformed; a residual is rounded to the precision of f besides.
      double const tolerance = 1e-14 * (1 << Dim) * largest_value(element), residual_tolerance = tolerance + 2.3e-16;
      for (auto const evaluation : hermite_evaluations()) {
        if (!can_run<Space, Dim>(evaluation)) continue;
        INFO(to_string(evaluation) << ", " << level.cell_count << " cells");
        HermiteCellOperator<Space, Dim> const a(space, level, form, evaluation);
        CHECK(a.evaluation() == evaluation);
        a.apply(space, u, w);
        CHECK(largest_difference(plain(w), expected) < tolerance);
        auto const once = plain(w);
        a.apply(space, u, w);
        CHECK(largest_difference(plain(w), once) == 0);
        a.residual(space, u, f, w);
        CHECK(largest_difference(plain(w), residual) < residual_tolerance);
        set(w, plain(f));
        a.residual(space, u, w, w);
        CHECK(largest_difference(plain(w), residual) < residual_tolerance);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("every evaluation of a Hermite form gives the products with its element matrix", "",
                   BRICKWORK_TEST_SPACES) {
  check_evaluations<TestType, 2>();
  check_evaluations<TestType, 3>();
}

TEST_CASE("evaluations that cannot run say why") {
  Kokkos::DefaultExecutionSpace const space;
  auto const levels = test_levels<Kokkos::DefaultExecutionSpace, 2>(space);
  using Operator2 = HermiteCellOperator<Kokkos::DefaultExecutionSpace, 2>;
  CHECK_THROWS_AS(Operator2(space, levels[0], {}, HermiteEvaluation::even_odd_3), InputError);
  CHECK_THROWS_AS(Operator2(space, levels[0], {0, 0, 0}), InputError);
  CHECK_THROWS_AS(select_hermite_evaluation(HermiteEvaluation::tensor_core, 3, false), InputError);
  CHECK(select_hermite_evaluation(HermiteEvaluation::tensor_core, 3, true) == HermiteEvaluation::tensor_core);
  CHECK_THROWS_AS(select_hermite_evaluation(HermiteEvaluation::tensor_core_2, 2, true), InputError);
  CHECK_THROWS_AS(select_hermite_evaluation(HermiteEvaluation::tensor_core_2, 3, false), InputError);
  CHECK(select_hermite_evaluation(HermiteEvaluation::automatic, 2, false) == HermiteEvaluation::even_odd_2);
  for (auto const evaluation : hermite_evaluations())
    CHECK(hermite_evaluation_from_string(to_string(evaluation)) == evaluation);
  CHECK_THROWS_AS(hermite_evaluation_from_string("even_odd_4"), InputError);

  Operator2 const a(space, levels[0], {});
  CellPrimal<Memory, 2> const u(space, levels[0].cell_count, "u"), longer(space, levels[0].cell_count + 1, "u");
  CellDual<Memory, 2> const w(space, levels[0].cell_count, "w");
  CHECK_THROWS_AS(a.apply(space, longer, w), InputError);
  CHECK_NOTHROW(a.apply(space, u, w));
  CHECK_THROWS_AS((CellPrimal<Memory, 2>(space, -1, "u")), InputError);
}

TEST_CASE("operations of the evaluations are those of the source's table") {
  auto const products = [](HermiteEvaluation e) { return hermite_operations(e, 3).products; };
  CHECK(products(HermiteEvaluation::dense) == 8192);
  CHECK(products(HermiteEvaluation::even_odd_1) == 4096);
  CHECK(products(HermiteEvaluation::even_odd_2) == 2048);
  CHECK(products(HermiteEvaluation::even_odd_3) == 1024);
  CHECK(hermite_operations(HermiteEvaluation::even_odd_2, 3).butterflies == 256);
}

TEMPLATE_TEST_CASE("layouts of cell-wise vectors convert into each other", "", BRICKWORK_TEST_SPACES) {
  using Mem = typename TestType::memory_space;
  TestType const space;
  for (index_t const cells : {index_t(1), index_t(31), index_t(32), index_t(33), index_t(105)}) {
    CellPrimal<Mem, 3> const blocked(space, cells, "blocked"), back(space, cells, "back");
    CellPrimal<Mem, 3, CellLayout::contiguous> const contiguous(space, cells, "contiguous");
    auto const values = random_values(64 * cells, 9);
    set(blocked, values);
    copy_cells(space, blocked, contiguous);
    auto const host = host_copy(contiguous.values());
    for (index_t i = 0; i < 64 * cells; ++i) REQUIRE(host(i) == values[i]);
    copy_cells(space, contiguous, back);
    CHECK(plain(back) == values);
    CHECK_THROWS_AS(copy_cells(space, blocked, CellPrimal<Mem, 3>(space, cells + 1, "longer")), InputError);
  }
  auto const offset = [](index_t cell, int i) { return CellPrimal<Mem, 3>::offset(cell, i); };
  CHECK(offset(0, 1) == 32);
  CHECK(offset(33, 5) == (64 + 5) * 32 + 1);
}

namespace {

template <class Space, int Dim>
void check_gather_and_scatter() {
  using Mem = typename Space::memory_space;
  Space const space;
  constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    PlainLevel<Dim> const plain_level(level);
    auto const adjacency = cell_adjacency<Space, Dim>(space, level);
    using Vertices = Kokkos::View<double* [corners], Kokkos::LayoutLeft, Mem>;
    Vertices const vertices("vertices", level.vertex_count), sums("sums", level.vertex_count);
    auto const values = Kokkos::create_mirror_view(vertices);
    auto const random = random_values(level.vertex_count * corners, 2);
    for (index_t v = 0; v < level.vertex_count; ++v)
      for (int m = 0; m < corners; ++m) values(v, m) = random[v * corners + m];
    Kokkos::deep_copy(vertices, values);

    CellPrimal<Mem, Dim> const u(space, level.cell_count, "u");
    gather<Space, Dim>(space, level, vertices, u);
    auto const gathered = plain(u);
    CellDual<Mem, Dim> const w(space, level.cell_count, "w");
    auto const duals = random_values(level.cell_count * unknowns, 3);
    set(w, duals);
    std::vector<double> expected_sums(random.size(), 0.0);
    bool replicated = true;
    for (index_t cell = 0; cell < level.cell_count; ++cell) {
      for (int n = 0; n < corners; ++n) {
        index_t const vertex = plain_level.corner(cell, n);
        for (int m = 0; m < corners; ++m) {
          index_t const at = cell * unknowns + hermite_local<Dim>(n, m);
          replicated = replicated && gathered[at] == random[vertex * corners + m];
          expected_sums[vertex * corners + m] += duals[at];
        }
      }
    }
    CHECK(replicated);
    scatter<Space, Dim>(space, adjacency, w, sums);
    auto const scattered = host_copy(sums);
    double pairing = 0, cell_pairing = 0, worst = 0;
    for (index_t v = 0; v < level.vertex_count; ++v) {
      for (int m = 0; m < corners; ++m) {
        worst = std::max(worst, std::abs(scattered(v, m) - expected_sums[v * corners + m]));
        pairing += scattered(v, m) * random[v * corners + m];
      }
    }
    for (std::size_t i = 0; i < duals.size(); ++i) cell_pairing += duals[i] * gathered[i];
    CHECK(worst < 1e-14);
    CHECK(pairing == Approx(cell_pairing).epsilon(1e-12).margin(1e-12));
    Vertices const fewer("fewer", level.vertex_count - 1);
    CHECK_THROWS_AS((gather<Space, Dim>(space, level, fewer, u)), InputError);
    CHECK_THROWS_AS((scatter<Space, Dim>(space, adjacency, w, fewer)), InputError);
  }
}

template <class Space, int Dim>
void check_summation() {
  using Mem = typename Space::memory_space;
  Space const space;
  constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    PlainLevel<Dim> const plain_level(level);
    auto const adjacency = cell_adjacency<Space, Dim>(space, level);
    auto const duals = random_values(level.cell_count * unknowns, 4);
    std::vector<double> sums(static_cast<std::size_t>(level.vertex_count * corners), 0.0);
    for (index_t cell = 0; cell < level.cell_count; ++cell)
      for (int n = 0; n < corners; ++n)
        for (int m = 0; m < corners; ++m)
          sums[plain_level.corner(cell, n) * corners + m] += duals[cell * unknowns + hermite_local<Dim>(n, m)];

    for (auto const method : {SummationMethod::vertices, SummationMethod::passes}) {
      DirectStiffnessSummation<Space, Dim> const dss(adjacency, method);
      CellDual<Mem, Dim> const w(space, level.cell_count, "w");
      CellPrimal<Mem, Dim> const u(space, level.cell_count, "u");
      set(w, duals);
      set(u, duals);
      dss.sum(space, w);
      dss.average(space, u);
      auto const summed = plain(w), averaged = plain(u);
      double worst_sum = 0, worst_mean = 0;
      for (index_t cell = 0; cell < level.cell_count; ++cell) {
        for (int n = 0; n < corners; ++n) {
          index_t const vertex = plain_level.corner(cell, n);
          int const count = plain_level.cells_around(vertex);
          // Passes are right where the cells around a vertex form a box: all of them, or on boxes any.
          if (method == SummationMethod::passes && count < corners && !level.is_box) continue;
          for (int m = 0; m < corners; ++m) {
            std::size_t const at = cell * unknowns + hermite_local<Dim>(n, m);
            double const expected = sums[vertex * corners + m];
            worst_sum = std::max(worst_sum, std::abs(summed[at] - expected));
            worst_mean = std::max(worst_mean, std::abs(averaged[at] - expected / count));
          }
        }
      }
      CHECK(worst_sum < 1e-14);
      CHECK(worst_mean < 1e-14);
      // Averaging copies that are equal already changes nothing, to the last bit for 2, 4 and 8 of them.
      dss.average(space, u);
      bool const exact = level.is_box;
      if (method == SummationMethod::vertices || exact)
        CHECK(largest_difference(plain(u), averaged) <= (exact ? 0 : 1e-15));
      CHECK_THROWS_AS(dss.sum(space, CellDual<Mem, Dim>(space, level.cell_count + 1, "longer")), InputError);
    }
  }
}

template <class Space, int Dim>
void check_masks() {
  using Mem = typename Space::memory_space;
  Space const space;
  constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  for (auto const& level : test_levels<Space, Dim>(space)) {
    PlainLevel<Dim> const plain_level(level);
    auto const adjacency = cell_adjacency<Space, Dim>(space, level);
    auto const vertices = incomplete_vertices<Space, Dim>(space, adjacency);
    auto const mask = cell_mask<Space, Dim>(space, level, vertices);
    CellPrimal<Mem, Dim> const u(space, level.cell_count, "u");
    auto expected = random_values(level.cell_count * unknowns, 8, 0.5, 1);
    set(u, expected);
    clear_fixed(space, mask, u);
    for (index_t cell = 0; cell < level.cell_count; ++cell)
      for (int n = 0; n < corners; ++n)
        for (int m = 0; m < corners; ++m)
          if (plain_level.cells_around(plain_level.corner(cell, n)) < corners)
            expected[cell * unknowns + hermite_local<Dim>(n, m)] = 0;
    CHECK(plain(u) == expected);

    // One unknown of one vertex.
    VertexMask<Mem> const single("single", level.vertex_count);
    Kokkos::deep_copy(Kokkos::subview(single, level.vertex_count / 2), std::uint8_t(1 << (corners - 2)));
    auto const bits = host_copy(cell_mask<Space, Dim>(space, level, single));
    int fixed = 0;
    for (index_t cell = 0; cell < level.cell_count; ++cell)
      for (int n = 0; n < corners; ++n)
        if (plain_level.corner(cell, n) == level.vertex_count / 2)
          fixed += bits(cell) == std::uint64_t(1) << hermite_local<Dim>(n, corners - 2);
    CHECK(fixed == plain_level.cells_around(level.vertex_count / 2));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("gathering replicates vertices on cells, scattering is its transpose", "", BRICKWORK_TEST_SPACES) {
  check_gather_and_scatter<TestType, 2>();
  check_gather_and_scatter<TestType, 3>();
}

TEMPLATE_TEST_CASE("direct stiffness summation adds the copies around each vertex", "", BRICKWORK_TEST_SPACES) {
  check_summation<TestType, 2>();
  check_summation<TestType, 3>();
}

TEMPLATE_TEST_CASE("masks fix both trace layers of boundaries and refinement edges", "", BRICKWORK_TEST_SPACES) {
  check_masks<TestType, 2>();
  check_masks<TestType, 3>();
}
