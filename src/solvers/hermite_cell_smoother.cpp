// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_cell_smoother.hpp"

#include <cmath>

#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/sums.hpp"
#include "brickwork/core/unroll.hpp"
#include "brickwork/fem/hermite_parity.hpp"
#include "brickwork/operators/detail/as_argument.hpp"
#include "brickwork/solvers/detail/chebyshev.hpp"

namespace brickwork {

namespace {

// ---------------------------------------------------------------------------------------------------------------------
// Chebyshev-Jacobi
// ---------------------------------------------------------------------------------------------------------------------

// d = keep d + step D^-1 r, u += d, on every copy.
template <class MemorySpace, int Dim>
struct UpdateCopies {
  CellDual<MemorySpace, Dim> r;
  CellPrimal<MemorySpace, Dim> inverse_diagonal, d, u;
  double keep, step;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    for (int i = 0; i < 1 << 2 * Dim; ++i) {
      // Nothing is read of d where nothing is kept: the first stage finds what the last smoothing left.
      double const correction = (keep == 0 ? 0.0 : keep * d(cell, i)) + step * inverse_diagonal(cell, i) * r(cell, i);
      d(cell, i) = correction;
      u(cell, i) += correction;
    }
  }
};

template <int Dim>
struct VertexDiagonal {
  double value[1 << Dim];  ///< of one cell, the same at all its corners
};

// The same by vertices, with the sum of r over the cells.
template <class MemorySpace, int Dim>
struct UpdateVertex {
  static constexpr int corners = 1 << Dim;
  CellAdjacency<MemorySpace, Dim> adjacency;
  VertexMask<MemorySpace> fixed;
  VertexDiagonal<Dim> diagonal;
  CellDual<MemorySpace, Dim> r;
  Kokkos::View<double* [corners], Kokkos::LayoutLeft, MemorySpace> d;
  CellPrimal<MemorySpace, Dim> u;
  double keep, step;

  KOKKOS_FUNCTION void operator()(index_t vertex) const {
    int const mask = fixed(vertex);
    if (mask == (1 << corners) - 1) return;
    index_t around[corners];
    int const count = adjacency.cells_around(vertex, around);
    for (int m = 0; m < corners; ++m) {
      if ((mask >> m) & 1) continue;
      double sum = 0, value = 0;
      bool has_value = false;  // any copy will do
      BRICKWORK_UNROLL_ALL
      for (int n = 0; n < corners; ++n) {
        if (around[n] < 0) continue;
        int const i = hermite_local<Dim>(corners - 1 - n, m);
        sum += r(around[n], i);
        if (!has_value) value = u(around[n], i);
        has_value = true;
      }
      double const correction = (keep == 0 ? 0.0 : keep * d(vertex, m)) + step * sum / (count * diagonal.value[m]);
      d(vertex, m) = correction;
      value += correction;
      BRICKWORK_UNROLL_ALL
      for (int n = 0; n < corners; ++n)
        if (around[n] >= 0) u(around[n], hermite_local<Dim>(corners - 1 - n, m)) = value;
    }
  }
};

// D^-1 on every copy, zero where fixed; `sums` holds D.
template <class MemorySpace, int Dim>
struct InvertDiagonal {
  CellMask<MemorySpace> mask;
  CellDual<MemorySpace, Dim> sums;
  CellPrimal<MemorySpace, Dim> inverse;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    for (int i = 0; i < 1 << 2 * Dim; ++i) inverse(cell, i) = (mask(cell) >> i) & 1 ? 0.0 : 1 / sums(cell, i);
  }
};

template <int Dim>
VertexDiagonal<Dim> cell_diagonal(std::vector<double> const& element) {
  VertexDiagonal<Dim> diagonal;
  for (int m = 0; m < 1 << Dim; ++m) {
    int const i = hermite_local<Dim>(0, m);
    diagonal.value[m] = element[static_cast<std::size_t>(i * (1 << 2 * Dim) + i)];
  }
  return diagonal;
}

template <class MemorySpace, int Dim>
struct FillDiagonal {
  VertexDiagonal<Dim> diagonal;
  CellDual<MemorySpace, Dim> cells;
  KOKKOS_FUNCTION void operator()(index_t cell) const {
    for (int n = 0; n < 1 << Dim; ++n)
      for (int m = 0; m < 1 << Dim; ++m) cells(cell, hermite_local<Dim>(n, m)) = diagonal.value[m];
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// Vertex blocks
// ---------------------------------------------------------------------------------------------------------------------

template <class MemorySpace, int Dim>
using PatchCells = Kokkos::View<index_t * [1 << Dim], Kokkos::LayoutRight, MemorySpace>;

template <class MemorySpace, int Dim>
struct CountPatches {
  CellAdjacency<MemorySpace, Dim> adjacency;
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& count) const {
    index_t around[1 << Dim];
    count += adjacency.cells_around(vertex, around) == 1 << Dim;
  }
};

// Patches of one colour, in the order of their vertices.
template <class MemorySpace, int Dim>
struct ListPatches {
  CellAdjacency<MemorySpace, Dim> adjacency;
  PatchCells<MemorySpace, Dim> cells;
  index_t first;
  int color;
  KOKKOS_FUNCTION void operator()(index_t vertex, index_t& place, bool final) const {
    auto const position = adjacency.level.vertex_position(vertex);
    int parity = 0;
    for (int d = 0; d < Dim; ++d) parity += static_cast<int>(position[d] & 1) << d;
    if (parity != color) return;
    index_t around[1 << Dim];
    if (adjacency.cells_around(vertex, around) < 1 << Dim) return;
    if (final)
      for (int n = 0; n < 1 << Dim; ++n) cells(first + place, n) = around[n];
    ++place;
  }
};

// Two adjacent values that start at an even place of a View: one access of 16 bytes.
struct alignas(16) Pair {
  double value[2];
};
KOKKOS_FORCEINLINE_FUNCTION Pair const& pair_at(double const* from) { return *reinterpret_cast<Pair const*>(from); }
KOKKOS_FORCEINLINE_FUNCTION Pair& pair_at(double* from) { return *reinterpret_cast<Pair*>(from); }

template <class ExecutionSpace, int Dim>
struct PatchKernel {
  static constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  static constexpr int lanes = unknowns / 2;        ///< each has unknowns 2 lane and 2 lane + 1
  static constexpr int vertex_pairs = corners / 2;  ///< pairs of unknowns of a vertex
  using policy_type = Kokkos::TeamPolicy<ExecutionSpace>;
  using member_type = typename policy_type::member_type;

  PatchCells<typename ExecutionSpace::memory_space, Dim> cells;
  index_t first, last;  ///< patches of the colour
  double const* rows;
  double const* f;
  double* u;
  double inverse_block[corners];  ///< times omega
  double omega;

  /// What turns unknown j of a cell at its vertex into the unknown of cell n: the far end for the near one, along the
  /// axes where the cell lies below the vertex.
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int reflection(int n) {
    int mask = 0;
    for (int d = 0; d < Dim; ++d)
      if (((n >> d) & 1) == 0) mask += 2 << 2 * d;
    return mask;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool has_patch(member_type const& team, index_t& patch) const {
    patch = first + static_cast<index_t>(team.league_rank()) * team.team_size() + team.team_rank();
    return patch < last;
  }
};

template <class ExecutionSpace, int Dim>
struct SweepColor : PatchKernel<ExecutionSpace, Dim> {
  using Base = PatchKernel<ExecutionSpace, Dim>;
  using typename Base::member_type;
  using Sums = detail::SumValues<Base::corners>;

  /// What unknowns j = 2 lane and j + 1 contribute to f - A u at the vertex.
  KOKKOS_FORCEINLINE_FUNCTION void add(index_t const* around, int lane, Sums& sum) const {
    constexpr int corners = Base::corners;
    int const j = 2 * lane;
    double v[2][corners];
    BRICKWORK_UNROLL_ALL
    for (int n = 0; n < corners; ++n) {
      double const* const from = this->u + around[n] * Base::unknowns + (j ^ Base::reflection(n));
      Pair const own = pair_at(from);
      v[0][n] = own.value[0];
      v[1][n] = own.value[1];
    }
    BRICKWORK_UNROLL_ALL
    for (int c = 0; c < 2; ++c) {
      BRICKWORK_UNROLL_ALL
      for (int d = 0; d < Dim; ++d) {
        double const sign = ((j + c) >> 2 * d) & 1 ? -1.0 : 1.0;
        BRICKWORK_UNROLL_ALL
        for (int n = 0; n < corners; ++n) {
          if ((n >> d) & 1) continue;
          double const below = v[c][n], above = v[c][n + (1 << d)];
          v[c][n] = above + sign * below;
          v[c][n + (1 << d)] = above - sign * below;
        }
      }
    }
    BRICKWORK_UNROLL_ALL
    for (int m = 0; m < corners; ++m) {
      Pair const a = pair_at(this->rows + m * Base::unknowns + j);
      sum.v[m] -= a.value[0] * v[0][m] + a.value[1] * v[1][m];
    }
    // The lanes whose unknowns are the vertex' own have its f besides.
    bool own = true;
    int pair = 0;
    BRICKWORK_UNROLL_ALL
    for (int d = 0; d < Dim; ++d) {
      own = own && ((j >> (2 * d + 1)) & 1) == 0;
      if (d > 0) pair += ((j >> 2 * d) & 1) << (d - 1);
    }
    if (!own) return;
    double load[2] = {0, 0};
    BRICKWORK_UNROLL_ALL
    for (int n = 0; n < corners; ++n) {
      Pair const part = pair_at(this->f + around[n] * Base::unknowns + (j ^ Base::reflection(n)));
      load[0] += part.value[0];
      load[1] += part.value[1];
    }
    BRICKWORK_UNROLL_ALL
    for (int m = 0; m < corners; ++m)
      if (m / 2 == pair) sum.v[m] += load[m % 2];
  }

  /// The unknowns of the vertex in one of its cells, two per lane.
  KOKKOS_FORCEINLINE_FUNCTION void correct(index_t const* around, int lane, Sums const& residual) const {
    constexpr int corners = Base::corners;
    int const n = lane / Base::vertex_pairs, pair = lane % Base::vertex_pairs;
    double correction[2] = {0, 0};
    BRICKWORK_UNROLL_ALL
    for (int m = 0; m < corners; ++m)
      if (m / 2 == pair) correction[m % 2] = this->inverse_block[m] * residual.v[m];
    double* const to = this->u + around[n] * Base::unknowns + hermite_local<Dim>(corners - 1 - n, 2 * pair);
    Pair own = pair_at(to);
    own.value[0] += correction[0];
    own.value[1] += correction[1];
    pair_at(to) = own;
  }

  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t patch;
    if (!this->has_patch(team, patch)) return;
    index_t const* const around = &this->cells(patch, 0);
    Sums residual;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, Base::lanes), [&](int lane, Sums& sum) { add(around, lane, sum); }, residual);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, Base::corners * Base::vertex_pairs),
                         [&](int lane) { correct(around, lane, residual); });
  }
};

template <class ExecutionSpace, int Dim>
struct ControlColor : PatchKernel<ExecutionSpace, Dim> {
  using Base = PatchKernel<ExecutionSpace, Dim>;
  using typename Base::member_type;
  KOKKOS_FUNCTION void operator()(member_type const& team) const {
    index_t patch;
    if (!this->has_patch(team, patch)) return;
    index_t const* const around = &this->cells(patch, 0);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, Base::lanes), [&](int lane) {
      BRICKWORK_UNROLL_ALL
      for (int n = 0; n < Base::corners; ++n) {
        index_t const at = around[n] * Base::unknowns + 2 * lane;
        Pair own = pair_at(this->u + at);
        Pair const load = pair_at(this->f + at);
        own.value[0] += this->omega * load.value[0];
        own.value[1] += this->omega * load.value[1];
        pair_at(this->u + at) = own;
      }
    });
  }
};

template <class ExecutionSpace, class Kernel>
void launch_patches(char const* label, ExecutionSpace const& space, Kernel const& kernel) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
  constexpr int team_size = on_host ? 1 : 128 / Kernel::lanes;
  index_t const teams = (kernel.last - kernel.first + team_size - 1) / team_size;
  if (teams == 0) return;
  using Policy = typename Kernel::policy_type;
  Kokkos::parallel_for(label, Policy(space, static_cast<int>(teams), team_size, on_host ? 1 : Kernel::lanes), kernel);
}

template <class MemorySpace, int Dim, class ExecutionSpace>
index_t count_patches(ExecutionSpace const& space, CellAdjacency<MemorySpace, Dim> const& adjacency) {
  index_t count = 0;
  Kokkos::parallel_reduce("brickwork::HermitePatchSmoother::count", range(space, adjacency.level.vertex_count),
                          CountPatches<MemorySpace, Dim>{adjacency}, count);
  return count;
}

// Returns how many patches the colour has.
template <class MemorySpace, int Dim, class ExecutionSpace>
index_t list_patches(ExecutionSpace const& space, ListPatches<MemorySpace, Dim> const& list) {
  index_t count = 0;
  Kokkos::parallel_scan("brickwork::HermitePatchSmoother::list", range(space, list.adjacency.level.vertex_count), list,
                        count);
  return count;
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteCellChebyshev<ExecutionSpace, Dim>::HermiteCellChebyshev(ExecutionSpace const& space, operator_type const& a,
                                                                adjacency_type const& adjacency,
                                                                VertexMask<memory_space> const& fixed, double lower,
                                                                double upper, SummationMethod method)
    : a_(a), adjacency_(adjacency), fixed_(fixed), lower_(lower), upper_(upper), method_(method) {
  BRICKWORK_REQUIRE(std::isfinite(upper) && lower > 0 && lower < upper, "Chebyshev interval is [", lower, ", ", upper,
                    "], it must satisfy 0 < lower < upper");
  index_t const cells = adjacency.level.cell_count;
  BRICKWORK_REQUIRE(a.cells() == cells, "Chebyshev smoother: operator on ", a.cells(), " cells, level of ", cells);
  BRICKWORK_REQUIRE(static_cast<index_t>(fixed.extent(0)) == adjacency.level.vertex_count,
                    "Chebyshev smoother: mask of ", fixed.extent(0), " vertices, level of ",
                    adjacency.level.vertex_count);
  residual_ = {space, cells, "brickwork::HermiteCellChebyshev::residual"};
  auto const diagonal = cell_diagonal<Dim>(a.element());
  if (method == SummationMethod::vertices) {
    vertex_correction_ = allocate<decltype(vertex_correction_)>(space, "brickwork::HermiteCellChebyshev::correction",
                                                                adjacency.level.vertex_count);
    return;
  }
  correction_ = {space, cells, "brickwork::HermiteCellChebyshev::correction"};
  inverse_diagonal_ = {space, cells, "brickwork::HermiteCellChebyshev::inverse_diagonal"};
  auto const mask = cell_mask<ExecutionSpace, Dim>(space, adjacency.level, fixed);
  Kokkos::parallel_for("brickwork::HermiteCellChebyshev::fill_diagonal", range(space, cells),
                       FillDiagonal<memory_space, Dim>{diagonal, residual_});
  DirectStiffnessSummation<ExecutionSpace, Dim>(adjacency).sum(space, residual_);
  Kokkos::parallel_for("brickwork::HermiteCellChebyshev::invert_diagonal", range(space, cells),
                       InvertDiagonal<memory_space, Dim>{mask, residual_, inverse_diagonal_});
}

template <class ExecutionSpace, int Dim>
index_t HermiteCellChebyshev<ExecutionSpace, Dim>::bytes(GridLevel<memory_space, Dim> const& level) {
  index_t const values = CellDual<memory_space, Dim>::extent(level.cell_count) + (level.vertex_count << Dim);
  return values * static_cast<index_t>(sizeof(double));
}

template <class ExecutionSpace, int Dim>
void HermiteCellChebyshev<ExecutionSpace, Dim>::run(ExecutionSpace const& space, CellDual<memory_space, Dim> const& f,
                                                    CellPrimal<memory_space, Dim> const& u, int stages,
                                                    bool from_zero) const {
  BRICKWORK_REQUIRE(stages >= 0, "stages of a Chebyshev smoother are ", stages, ", they must not be negative");
  DirectStiffnessSummation<ExecutionSpace, Dim> const dss(adjacency_, SummationMethod::passes);
  auto const diagonal = cell_diagonal<Dim>(a_.element());
  detail::ChebyshevStages coefficients(lower_, upper_);
  for (int stage = 0; stage < stages; ++stage, coefficients.advance()) {
    double const keep = coefficients.momentum(), step = coefficients.weight();
    bool const by_vertices = method_ == SummationMethod::vertices;
    auto r = residual_;
    if (stage > 0 || !from_zero) {
      a_.residual(space, u, f, r);
    } else if (by_vertices) {
      r = f;
    } else {
      copy_cells(space, f, r);
    }
    if (by_vertices) {
      using Kernel = UpdateVertex<memory_space, Dim>;
      Kokkos::parallel_for("brickwork::HermiteCellChebyshev::update_vertices",
                           detail::as_argument<Kernel>(range(space, adjacency_.level.vertex_count)),
                           Kernel{adjacency_, fixed_, diagonal, r, vertex_correction_, u, keep, step});
    } else {
      dss.sum(space, r);
      Kokkos::parallel_for("brickwork::HermiteCellChebyshev::update", range(space, adjacency_.level.cell_count),
                           UpdateCopies<memory_space, Dim>{r, inverse_diagonal_, correction_, u, keep, step});
    }
  }
}

template <class ExecutionSpace, int Dim>
void HermiteCellChebyshev<ExecutionSpace, Dim>::smooth(ExecutionSpace const& space,
                                                       CellDual<memory_space, Dim> const& f,
                                                       CellPrimal<memory_space, Dim> const& u, int stages) const {
  run(space, f, u, stages, false);
}

template <class ExecutionSpace, int Dim>
void HermiteCellChebyshev<ExecutionSpace, Dim>::smooth_from_zero(ExecutionSpace const& space,
                                                                 CellDual<memory_space, Dim> const& f,
                                                                 CellPrimal<memory_space, Dim> const& u,
                                                                 int stages) const {
  detail::fill_zero(space, u.values());
  run(space, f, u, stages, true);
}

template <class ExecutionSpace, int Dim>
HermitePatchSmoother<ExecutionSpace, Dim>::HermitePatchSmoother(ExecutionSpace const& space,
                                                                CellAdjacency<memory_space, Dim> const& adjacency,
                                                                std::vector<double> const& element)
    : cells_(adjacency.level.cell_count) {
  (void)hermite_sectors<Dim>(element, (1u << Dim) - 1);  // its checks
  constexpr int corners = 1 << Dim, unknowns = 1 << 2 * Dim;
  std::vector<double> rows;
  for (int m = 0; m < corners; ++m) {
    int const i = hermite_local<Dim>(0, m);
    double const diagonal = element[static_cast<std::size_t>(i * unknowns + i)];
    BRICKWORK_REQUIRE(diagonal > 0, "vertex smoother: diagonal entry ", i, " of the element matrix is ", diagonal,
                      ", it must be positive");
    inverse_block_[m] = 1 / (corners * diagonal);
    for (int j = 0; j < unknowns; ++j) rows.push_back(element[static_cast<std::size_t>(i * unknowns + j)]);
  }
  rows_ = upload<decltype(rows_)>(rows, "brickwork::HermitePatchSmoother::rows");
  patch_cells_ = allocate<decltype(patch_cells_)>(space, "brickwork::HermitePatchSmoother::cells",
                                                  count_patches<memory_space, Dim>(space, adjacency));
  for (int color = 0; color < colors; ++color)
    first_[color + 1] =
        first_[color] + list_patches<memory_space, Dim>(
                            space, ListPatches<memory_space, Dim>{adjacency, patch_cells_, first_[color], color});
}

template <class ExecutionSpace, int Dim>
void HermitePatchSmoother<ExecutionSpace, Dim>::sweep(ExecutionSpace const& space, dual_type const& f,
                                                      primal_type const& u, ColorOrder order, double omega) const {
  BRICKWORK_REQUIRE(f.cells() == cells_ && u.cells() == cells_, "vertex smoother on ", cells_, " cells, vectors of ",
                    f.cells(), " and ", u.cells());
  for (int step = 0; step < colors; ++step) {
    int const color = order == ColorOrder::forward ? step : colors - 1 - step;
    SweepColor<ExecutionSpace, Dim> kernel;
    kernel.cells = patch_cells_;
    kernel.first = first_[color];
    kernel.last = first_[color + 1];
    kernel.rows = rows_.data();
    kernel.f = f.values().data();
    kernel.u = u.values().data();
    for (int m = 0; m < 1 << Dim; ++m) kernel.inverse_block[m] = omega * inverse_block_[m];
    kernel.omega = omega;
    launch_patches("brickwork::HermitePatchSmoother::sweep", space, kernel);
  }
}

template <class ExecutionSpace, int Dim>
void HermitePatchSmoother<ExecutionSpace, Dim>::addressing_control(ExecutionSpace const& space, dual_type const& f,
                                                                   primal_type const& u, double omega) const {
  BRICKWORK_REQUIRE(f.cells() == cells_ && u.cells() == cells_, "vertex smoother on ", cells_, " cells, vectors of ",
                    f.cells(), " and ", u.cells());
  for (int color = 0; color < colors; ++color) {
    ControlColor<ExecutionSpace, Dim> kernel;
    kernel.cells = patch_cells_;
    kernel.first = first_[color];
    kernel.last = first_[color + 1];
    kernel.f = f.values().data();
    kernel.u = u.values().data();
    kernel.omega = omega;
    launch_patches("brickwork::HermitePatchSmoother::addressing_control", space, kernel);
  }
}

#define BRICKWORK_INSTANTIATE(Space)             \
  template class HermiteCellChebyshev<Space, 2>; \
  template class HermiteCellChebyshev<Space, 3>; \
  template class HermitePatchSmoother<Space, 2>; \
  template class HermitePatchSmoother<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)

}  // namespace brickwork
