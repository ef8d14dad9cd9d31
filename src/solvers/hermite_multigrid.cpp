// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_multigrid.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/sums.hpp"
#include "brickwork/solvers/detail/chebyshev.hpp"

namespace brickwork {

void check(HermiteCycleOptions const& options) {
  auto const at_least_one = [](char const* name, int value) {
    BRICKWORK_REQUIRE(value >= 1 && value <= 1000, name, " is ", value, ", it must be 1 to 1000");
  };
  at_least_one("number of Chebyshev stages", options.stages);
  at_least_one("number of Chebyshev stages on the coarsest level", options.coarsest_stages);
  at_least_one("number of patch sweeps", options.sweeps);
  at_least_one("number of patch sweeps on the coarsest level", options.coarsest_sweeps);
  BRICKWORK_REQUIRE(std::isfinite(options.upper) && 0 < options.lower && options.lower < options.upper,
                    "interval of the Chebyshev smoother is [", options.lower, ", ", options.upper,
                    "], it must be positive and not empty");
}

namespace {

template <class To, class From>
struct Convert {
  From const* from;
  To* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = static_cast<To>(from[i]); }
};

/// to = factor from + keep to
template <class Scalar>
struct Combine {
  Scalar factor;
  Scalar const* from;
  Scalar keep;
  Scalar* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = factor * from[i] + keep * to[i]; }
};

/// Values in [-1, 1] without a pattern, at interior vertices alone.
template <class Scalar>
struct Scatter {
  std::uint8_t const* cells;
  int all;
  index_t vertices;
  Scalar* to;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    auto bits = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ull;
    bits ^= bits >> 29;
    bits *= 0xBF58476D1CE4E5B9ull;
    bits ^= bits >> 32;
    to[i] = cells[i % vertices] == all ? static_cast<Scalar>(static_cast<double>(bits >> 11) * 0x1p-52 - 1) : Scalar(0);
  }
};

}  // namespace

template <class ExecutionSpace, class Scalar, int Dim>
HermiteMultigrid<ExecutionSpace, Scalar, Dim>::HermiteMultigrid(ExecutionSpace const& space, operator_type const& a,
                                                                HermiteCycleOptions const& options)
    : a_(&a), options_(options), finest_(a.grid().level_count() - 1) {
  check(options);
  auto const& grid = a.grid();
  while (coarsest_ < finest_ && a.sites(coarsest_).free_unknowns == 0) ++coarsest_;
  BRICKWORK_REQUIRE(a.unknown_count() > 0,
                    "the boundary fixes every unknown of the grid: it needs more cells or refinements");
  correction_ = correction_type(space, grid, "brickwork::HermiteMultigrid::correction");
  u_.resize(static_cast<std::size_t>(finest_ + 1));
  b_ = t_ = u_;
  auto const make = [&](int l, char const* label) {
    index_t const vertices = grid.level(l).vertex_count;
    storage_.push_back(allocate<Kokkos::View<Scalar*, memory_space>>(space, label, vertices << Dim));
    return vector_type(storage_.back().data(), static_cast<std::size_t>(vertices));
  };
  for (int l = 0; l <= finest_; ++l) {
    auto const i = static_cast<std::size_t>(l);
    levels_.emplace_back(space, a.sites(l), a.form());
    if (l < finest_) transfers_.emplace_back(space, grid.level(l), grid.level(l + 1));
    upper_.push_back(options.upper);
    if (l < coarsest_) continue;
    u_[i] = grid.level(l).leaf_count > 0 ? correction_.level(l) : make(l, "brickwork::HermiteMultigrid::u");
    if (l < finest_ || !std::is_same_v<Scalar, double>) b_[i] = make(l, "brickwork::HermiteMultigrid::b");
    t_[i] = make(l, "brickwork::HermiteMultigrid::t");
  }
  auto const& spacing = grid.level(0).spacing;
  bool is_cube = a.form().mass == 0 && a.form().laplace == 0;
  for (int d = 1; d < Dim; ++d) is_cube = is_cube && std::abs(spacing[d] - spacing[0]) <= 1e-6 * spacing[0];
  estimated_ =
      options.interval == HermiteInterval::estimated || (options.interval == HermiteInterval::automatic && !is_cube);
  if (estimated_ && options.smoother == HermiteSmoother::chebyshev)
    for (int l = coarsest_; l <= finest_; ++l)
      upper_[static_cast<std::size_t>(l)] = 1.05 * largest_eigenvalue(space, l);
}

template <class ExecutionSpace, class Scalar, int Dim>
index_t HermiteMultigrid<ExecutionSpace, Scalar, Dim>::bytes(AdaptiveGrid<ExecutionSpace, Dim> const& grid) {
  index_t values = 0;
  for (int l = 0; l < grid.level_count(); ++l) {
    int const vectors = 2 + (l < grid.level_count() - 1 || !std::is_same_v<Scalar, double> ? 1 : 0);
    values += vectors * grid.level(l).vertex_count << Dim;
  }
  return values * static_cast<index_t>(sizeof(Scalar));
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::chebyshev(ExecutionSpace const& space, int l, vector_type const& b,
                                                              vector_type from, vector_type to, int stages,
                                                              bool from_zero) const {
  auto const i = static_cast<std::size_t>(l);
  double const upper = upper_[i], lower = estimated_ ? 0.1 * upper : options_.lower;
  detail::ChebyshevStages coefficients(lower, upper);
  // `to` takes the odd iterates, `from` the even ones.
  if (from_zero) {
    levels_[i].start(space, coefficients.weight(), b, to, from);
  } else {
    levels_[i].chebyshev_step(space, 0, coefficients.weight(), b, from, from, to);
  }
  for (int stage = 1; stage < stages; ++stage) {
    std::swap(from, to);
    coefficients.advance();
    vector_type const old = stage == 1 && from_zero ? vector_type() : to;
    levels_[i].chebyshev_step(space, coefficients.momentum(), coefficients.weight(), b, from, old, to);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::sweeps(ExecutionSpace const& space, int l, vector_type const& b,
                                                           int count, bool reversed) const {
  auto const i = static_cast<std::size_t>(l);
  for (int n = 0; n < count; ++n) levels_[i].sweep(space, reversed, b, u_[i]);
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::smooth_from_zero(ExecutionSpace const& space, int l,
                                                                     vector_type const& b) const {
  auto const i = static_cast<std::size_t>(l);
  bool const coarsest = l == coarsest_;
  if (options_.smoother == HermiteSmoother::chebyshev) {
    int const stages = coarsest ? options_.coarsest_stages : options_.stages;
    // The last iterate is to lie in u.
    if (stages % 2 == 1) {
      chebyshev(space, l, b, t_[i], u_[i], stages, true);
    } else {
      chebyshev(space, l, b, u_[i], t_[i], stages, true);
    }
    return;
  }
  detail::fill_zero(space, u_[i]);
  if (coarsest) {
    sweeps(space, l, b, options_.coarsest_sweeps, false);
    sweeps(space, l, b, options_.coarsest_sweeps, true);
  } else {
    sweeps(space, l, b, options_.sweeps, false);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::correct_and_smooth(ExecutionSpace const& space, int l,
                                                                       vector_type const& b) const {
  auto const i = static_cast<std::size_t>(l);
  auto const& transfer = transfers_[i - 1];
  if (options_.smoother == HermiteSmoother::patch) {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], u_[i], vector_type());
    sweeps(space, l, b, options_.sweeps, options_.symmetric);
  } else if (options_.stages % 2 == 1) {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], t_[i], u_[i]);
    chebyshev(space, l, b, t_[i], u_[i], options_.stages, false);
  } else {
    transfer.template prolongate<Scalar>(space, u_[i - 1], u_[i], u_[i], t_[i]);
    chebyshev(space, l, b, u_[i], t_[i], options_.stages, false);
  }
}

template <class ExecutionSpace, class Scalar, int Dim>
void HermiteMultigrid<ExecutionSpace, Scalar, Dim>::apply(ExecutionSpace const& space, dual_type const& r) const {
  // What the leaves of a level contribute; on the finest level in FP64 the vector itself serves.
  auto const b = [&](int l) {
    if constexpr (std::is_same_v<Scalar, double>) {
      if (l == finest_) return r.level(l);
    }
    return b_[static_cast<std::size_t>(l)];
  };
  for (int l = coarsest_; l <= finest_; ++l)
    if (r.level(l).extent(0) > 0 && b(l).data() != static_cast<void const*>(r.level(l).data()))
      for_each("brickwork::HermiteMultigrid::apply::contribute", space, static_cast<index_t>(r.level(l).span()),
               Convert<Scalar, double>{r.level(l).data(), b(l).data()});
  for (int l = finest_; l > coarsest_; --l) {
    auto const i = static_cast<std::size_t>(l);
    smooth_from_zero(space, l, b(l));
    levels_[i].residual(space, b(l), u_[i], t_[i]);
    // Without leaves, every vertex of the coarser level has children.
    transfers_[i - 1].template restrict_to<Scalar>(space, t_[i], b(l - 1), r.level(l - 1).extent(0) > 0);
  }
  smooth_from_zero(space, coarsest_, b(coarsest_));
  for (int l = coarsest_ + 1; l <= finest_; ++l) correct_and_smooth(space, l, b(l));
}

template <class ExecutionSpace, class Scalar, int Dim>
double HermiteMultigrid<ExecutionSpace, Scalar, Dim>::largest_eigenvalue(ExecutionSpace const& space, int l) const {
  // Lanczos through conjugate gradients on A x = b with the diagonal as preconditioner: the coefficients are those of
  // the tridiagonal matrix.
  constexpr int steps = 12;
  auto const i = static_cast<std::size_t>(l);
  auto const& level = a_->grid().level(l);
  index_t const size = level.vertex_count << Dim;
  std::array<Kokkos::View<Scalar*, memory_space>, 4> vectors;
  std::array<vector_type, 4> v;
  for (std::size_t n = 0; n < 4; ++n) {
    vectors[n] = allocate<Kokkos::View<Scalar*, memory_space>>(space, "brickwork::HermiteMultigrid::lanczos", size);
    v[n] = vector_type(vectors[n].data(), static_cast<std::size_t>(level.vertex_count));
  }
  auto const &r = v[0], &z = v[1], &p = v[2], &w = v[3];
  SumWorkspace<ExecutionSpace> const workspace(space);
  Kokkos::View<double*, memory_space> const sum("brickwork::HermiteMultigrid::lanczos::sum", 1);
  auto const dot = [&](vector_type const& a, vector_type const& b) {
    sum_each<1>("brickwork::HermiteMultigrid::lanczos::dot", space, size,
                detail::PairProduct<Scalar, Scalar>{a.data(), b.data()}, workspace, StoreSums<1>{sum.data()});
    double value = 0;
    Kokkos::deep_copy(space, Kokkos::View<double, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&value),
                      Kokkos::subview(sum, 0));
    fence(space, "brickwork::HermiteMultigrid::lanczos");
    return value;
  };
  auto const add = [&](double factor, vector_type const& from, double keep, vector_type const& to) {
    for_each("brickwork::HermiteMultigrid::lanczos::add", space, size,
             Combine<Scalar>{static_cast<Scalar>(factor), from.data(), static_cast<Scalar>(keep), to.data()});
  };
  for_each("brickwork::HermiteMultigrid::lanczos::start", space, size,
           Scatter<Scalar>{level.vertex_cells.data(), (1 << (1 << Dim)) - 1, level.vertex_count, r.data()});
  double rz = 0, alpha_old = 0, beta = 0;
  std::vector<double> diagonal, side;
  for (int step = 0; step < steps; ++step) {
    levels_[i].start(space, 1, r, z, w);
    double const rz_new = dot(r, z);
    if (!(rz_new > 0)) break;
    beta = step == 0 ? 0 : rz_new / rz;
    rz = rz_new;
    add(1, z, beta, p);
    levels_[i].apply(space, p, w);
    double const alpha = rz / dot(p, w);
    if (!(alpha > 0)) break;
    diagonal.push_back(1 / alpha + (step == 0 ? 0 : beta / alpha_old));
    if (step > 0) side.push_back(std::sqrt(beta) / alpha_old);
    alpha_old = alpha;
    add(-alpha, w, 1, r);
  }
  if (diagonal.empty()) return options_.upper;
  auto const n = static_cast<Eigen::Index>(diagonal.size());
  Eigen::MatrixXd t = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    t(k, k) = diagonal[static_cast<std::size_t>(k)];
    if (k > 0) t(k, k - 1) = t(k - 1, k) = side[static_cast<std::size_t>(k - 1)];
  }
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(t, Eigen::EigenvaluesOnly).eigenvalues()[n - 1];
}

#define BRICKWORK_INSTANTIATE(Space)                 \
  template class HermiteMultigrid<Space, float, 2>;  \
  template class HermiteMultigrid<Space, float, 3>;  \
  template class HermiteMultigrid<Space, double, 2>; \
  template class HermiteMultigrid<Space, double, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
