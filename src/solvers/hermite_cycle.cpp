// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/hermite_cycle.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/core/sums.hpp"

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
double largest_eigenvalue(ExecutionSpace const& space, HermiteLevel<ExecutionSpace, Scalar, Dim> const& operators) {
  using memory_space = typename ExecutionSpace::memory_space;
  using vector_type = HermiteLevelVector<Scalar, memory_space, Dim>;
  // Lanczos through conjugate gradients on A x = b with the diagonal as preconditioner: the coefficients are those of
  // the tridiagonal matrix.
  constexpr int steps = 12;
  auto const& level = operators.sites().level;
  index_t const size = level.vertex_count << Dim;
  std::array<Kokkos::View<Scalar*, memory_space>, 4> vectors;
  std::array<vector_type, 4> v;
  for (std::size_t n = 0; n < 4; ++n) {
    vectors[n] = allocate<Kokkos::View<Scalar*, memory_space>>(space, "brickwork::largest_eigenvalue", size);
    v[n] = vector_type(vectors[n].data(), static_cast<std::size_t>(level.vertex_count));
  }
  auto const &r = v[0], &z = v[1], &p = v[2], &w = v[3];
  SumWorkspace<ExecutionSpace> const workspace(space);
  Kokkos::View<double*, memory_space> const sum("brickwork::largest_eigenvalue::sum", 1);
  auto const dot = [&](vector_type const& a, vector_type const& b) {
    sum_each<1>("brickwork::largest_eigenvalue::dot", space, size,
                detail::PairProduct<Scalar, Scalar>{a.data(), b.data()}, workspace, StoreSums<1>{sum.data()});
    double value = 0;
    Kokkos::deep_copy(space, Kokkos::View<double, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&value),
                      Kokkos::subview(sum, 0));
    fence(space, "brickwork::largest_eigenvalue");
    return value;
  };
  auto const add = [&](double factor, vector_type const& from, double keep, vector_type const& to) {
    for_each("brickwork::largest_eigenvalue::add", space, size,
             Combine<Scalar>{static_cast<Scalar>(factor), from.data(), static_cast<Scalar>(keep), to.data()});
  };
  for_each("brickwork::largest_eigenvalue::start", space, size,
           Scatter<Scalar>{level.vertex_cells.data(), (1 << (1 << Dim)) - 1, level.vertex_count, r.data()});
  double rz = 0, alpha_old = 0, beta = 0;
  std::vector<double> diagonal, side;
  for (int step = 0; step < steps; ++step) {
    operators.start(space, 1, r, z, w);
    double const rz_new = dot(r, z);
    if (!(rz_new > 0)) break;
    beta = step == 0 ? 0 : rz_new / rz;
    rz = rz_new;
    add(1, z, beta, p);
    operators.apply(space, p, w);
    double const alpha = rz / dot(p, w);
    if (!(alpha > 0)) break;
    diagonal.push_back(1 / alpha + (step == 0 ? 0 : beta / alpha_old));
    if (step > 0) side.push_back(std::sqrt(beta) / alpha_old);
    alpha_old = alpha;
    add(-alpha, w, 1, r);
  }
  if (diagonal.empty()) return 0;
  auto const n = static_cast<Eigen::Index>(diagonal.size());
  Eigen::MatrixXd t = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    t(k, k) = diagonal[static_cast<std::size_t>(k)];
    if (k > 0) t(k, k - 1) = t(k - 1, k) = side[static_cast<std::size_t>(k - 1)];
  }
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(t, Eigen::EigenvaluesOnly).eigenvalues()[n - 1];
}

#define BRICKWORK_INSTANTIATE_EIGENVALUE(Space, Scalar, Dim) \
  template double largest_eigenvalue<Space, Scalar, Dim>(Space const&, HermiteLevel<Space, Scalar, Dim> const&);
#define BRICKWORK_INSTANTIATE(Space)                 \
  BRICKWORK_INSTANTIATE_EIGENVALUE(Space, float, 2)  \
  BRICKWORK_INSTANTIATE_EIGENVALUE(Space, float, 3)  \
  BRICKWORK_INSTANTIATE_EIGENVALUE(Space, double, 2) \
  BRICKWORK_INSTANTIATE_EIGENVALUE(Space, double, 3)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE
#undef BRICKWORK_INSTANTIATE_EIGENVALUE

}  // namespace brickwork
