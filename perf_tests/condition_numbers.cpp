// SPDX-License-Identifier: BSD-3-Clause
// Condition numbers of the stiffness matrix on free degrees of freedom, and of its Jacobi-scaled form.
//
// For the pencil K x = lambda D x, with D = I or D = diag(K),
//   largest eigenvalue:  power iteration x <- D^-1 K x
//   smallest eigenvalue: inverse iteration x <- K^-1 D x, with conjugate gradients in FP64
// and the Rayleigh quotient (x . K x) / (x . D x), which lies between the two extremes: kappa is a lower bound.
// D = diag(K) gives the eigenvalues of D^-1/2 K D^-1/2, whose condition number, not that of K, bounds the iterations of
// Jacobi-preconditioned conjugate gradients: where the density varies, kappa(K) grows with the contrast of the moduli
// and the scaled one hardly does. kappa(K) does not depend on the scale of K, the eigenvalues do: they are those of
// `reference_cube` stiffness (cells of side 2, E0 = 1) with the modulus E = Emin + (E0 - Emin) rho^p, thus E = 0.125 at
// rho = 0.5 and p = 3.
//
// Source: section 4.8 of the fused-kernel text, uniform density 0.5, p = 3 and 5, cantilever. Its protocol: 50 steps of
// power iteration (seed 42); inverse iteration (seed 123) until the relative change is below 1e-4 (5 to 6 steps), inner
// conjugate gradients to 1e-8. Here the power iteration is continued until 50 more steps change the quotient by less
// than 1e-4 relatively: on a fine grid the spectrum is dense at its upper end, where the quotient creeps, so that a
// small change of one step would say little. Start vectors are normally distributed and zero where supported.
//
// Found at 64k cells, p = 3: lambda_min 2.1563e-6 (an independent code: the same), lambda_max 1.31692 after 50 steps
// (1.31985 there: it depends on the start vector) and 1.33925 at convergence, kappa 6.11e5 and 6.21e5
// (published 6.1e5); Jacobi-scaled 6.09e5, the same, because a uniform field has one diagonal but at its boundary.
//
// Usage: brickwork-perf-condition-numbers [--csv FILE] [--design-steps N] [SIZE ...]
//   SIZE            cells NX,NY,NZ, or 64k, 216k, 512k, 1M; default 20,10,5 (a processor), 64k 216k 512k (a GPU)
//   --design-steps  also the density after N steps of protocol A, at p = 3; 0 = none; default 10 and 120
//
// Columns: lambda_max after 50 steps and at convergence (steps), lambda_min (steps, inner iterations), kappa from the
// 50 steps (comparable with the source) and from the converged value, eps_BF16 kappa with eps = 2^-8, the Jacobi-scaled
// extremes and kappa, and the source's kappa.
#include <cmath>
#include <random>

#include "brickwork/solvers/conjugate_gradient.hpp"
#include "perf_tests/support/measure.hpp"
#include "unit_tests/support/refinement.hpp"

using namespace brickwork;
using namespace brickwork::test;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--design-steps N] [SIZE ...]";

using Operator = ElasticityOperator<Space, double>;
using Vector = NodalVector<double, Memory>;

constexpr int published_power_steps = 50;
constexpr int max_power_steps = 5000;
constexpr double power_tolerance = 1e-4;    // change of the quotient over 50 steps
constexpr double inverse_tolerance = 1e-4;  // change of the quotient in one step
constexpr int max_inverse_steps = 20;
constexpr double inner_tolerance = 1e-8;
constexpr double eps_bf16 = 1.0 / 256;

struct Multiply {
  double const* x;
  double const* weight;
  bool divide;
  double* y;
  KOKKOS_FUNCTION void operator()(index_t i) const { y[i] = divide ? x[i] / weight[i] : x[i] * weight[i]; }
};

// y = D x, or D^-1 x.
void scale(Space const& space, Vector const& weight, Vector const& x, bool divide, Vector const& y) {
  Kokkos::parallel_for("perf::scale", range(space, static_cast<index_t>(x.size())),
                       Multiply{x.data(), weight.data(), divide, y.data()});
}

Vector random_start(Space const& space, FrozenSystem<Space> const& system, unsigned seed) {
  auto const x = system.make_vector<double>(space, "perf::start");
  auto const host = Kokkos::create_mirror_view(x);
  auto const mask = Kokkos::create_mirror_view(system.mask);
  Kokkos::deep_copy(mask, system.mask);
  std::mt19937 generator(seed);
  std::normal_distribution<double> draw;
  for (index_t node = 0; node < system.grid.node_count(); ++node) {
    for (int d = 0; d < 3; ++d) {
      double const value = draw(generator);
      host(node, d) = ((mask(node) >> d) & 1) ? 0.0 : value;
    }
  }
  Kokkos::deep_copy(space, x, host);
  space.fence();
  return x;
}

struct Largest {
  double published = 0;  // after 50 steps
  double value = 0;
  int steps = 0;
};

Largest largest_eigenvalue(Space const& space, FrozenSystem<Space> const& system, Operator const& op,
                           Vector const& weight) {
  auto const x = random_start(space, system, 42);
  auto const product = system.make_vector<double>(space, "perf::product");
  auto const weighted = system.make_vector<double>(space, "perf::weighted");
  Largest result;
  double before = 0;
  while (result.steps < max_power_steps) {
    op.apply(space, x, product);
    scale(space, weight, x, false, weighted);
    double const norm = dot(space, x, weighted);
    result.value = dot(space, x, product) / norm;
    ++result.steps;
    scale(space, weight, product, true, x);
    combine(space, 0, x, 1 / std::sqrt(dot(space, x, x)), x);
    if (result.steps % published_power_steps != 0) continue;
    if (result.steps == published_power_steps) result.published = result.value;
    if (std::abs(result.value - before) < power_tolerance * result.value) break;
    before = result.value;
  }
  return result;
}

struct Smallest {
  double value = 0;
  int steps = 0;
  int iterations = 0;
  bool converged = true;  // every inner solve, and the quotient
};

Smallest smallest_eigenvalue(Space const& space, FrozenSystem<Space> const& system, Operator const& op,
                             Vector const& weight) {
  auto const x = random_start(space, system, 123);
  auto const right = system.make_vector<double>(space, "perf::right");
  auto const product = system.make_vector<double>(space, "perf::product");
  ConjugateGradient<Space, double, double> cg(space, system.grid);
  Smallest result;
  double change = 1;
  while (result.steps < max_inverse_steps && change > inverse_tolerance) {
    scale(space, weight, x, false, right);
    // The eigenvector would become x / lambda, which is the start of the solve.
    combine(space, 0, x, result.steps == 0 ? 0.0 : 1 / result.value, x);
    auto const solved = cg.solve(space, op, op, right, x, {inner_tolerance, 50000});
    result.iterations += solved.iterations;
    result.converged = result.converged && solved.converged();
    op.apply(space, x, product);
    scale(space, weight, x, false, right);
    double const norm = dot(space, x, right);
    double const value = dot(space, x, product) / norm;
    change = std::abs(value - result.value) / value;
    result.value = value;
    ++result.steps;
    combine(space, 0, x, 1 / std::sqrt(norm), x);
  }
  result.converged = result.converged && change <= inverse_tolerance;
  return result;
}

double published_kappa(std::string const& size) {
  if (size == "64k") return 6.1e5;
  if (size == "216k") return 1.3e6;
  if (size == "512k") return 2.3e6;
  return 0;
}

void study(Space const& space, Size const& size, char const* state, double penalization,
           FrozenSystem<Space> const& system, bool uniform, Csv& csv) {
  auto const op = system.make<double>(space, ElasticityKernel::automatic);
  auto const weight = system.make_vector<double>(space, "perf::weight");
  Kokkos::deep_copy(space, weight, 1.0);
  Largest const largest = largest_eigenvalue(space, system, op, weight);
  Smallest const smallest = smallest_eigenvalue(space, system, op, weight);
  op.diagonal(space, weight);
  Largest const scaled_largest = largest_eigenvalue(space, system, op, weight);
  Smallest const scaled_smallest = smallest_eigenvalue(space, system, op, weight);

  double const kappa50 = largest.published / smallest.value;
  double const kappa = largest.value / smallest.value;
  double const scaled = scaled_largest.value / scaled_smallest.value;
  double const published = uniform ? published_kappa(size.name) : 0;
  std::string const reference = published > 0 ? detail::concatenate(published) : "-";
  auto const steps = [](int count, bool converged) { return std::to_string(count) + (converged ? "" : "!"); };
  std::printf("%-9s %-9s %3.1f %10.6g %10.6g %6s %11.5g %6s %7d %10.4g %10.4g %9.3g %9.5f %10.4g %10.4g %10s\n",
              size.name.c_str(), state, penalization, largest.published, largest.value,
              steps(largest.steps, largest.steps < max_power_steps).c_str(), smallest.value,
              steps(smallest.steps, smallest.converged).c_str(), smallest.iterations, kappa50, kappa,
              eps_bf16 * kappa50, scaled_largest.value, scaled_smallest.value, scaled, reference.c_str());
  std::fflush(stdout);
  csv.row(size.name, size.count(), state, penalization, largest.published, largest.value, largest.steps, smallest.value,
          smallest.steps, smallest.iterations, smallest.converged ? "yes" : "no", kappa50, kappa, eps_bf16 * kappa50,
          scaled_largest.value, scaled_smallest.value, scaled_smallest.converged ? "yes" : "no", scaled,
          published > 0 ? reference : std::string());
}

int run(int argc, char** argv) {
  std::vector<std::string> const sizes =
      on_cuda ? std::vector<std::string>{"64k", "216k", "512k"} : std::vector<std::string>{"20,10,5"};
  Options const options = parse_options(argc, argv, {"--design-steps"}, {}, sizes);
  int const design_steps = options.count("--design-steps", on_cuda ? 120 : 10);
  Csv csv(options.value("--csv"),
          "size,cells,density,penalization,lambda_max_50,lambda_max,power_steps,lambda_min,inverse_steps,inner_"
          "iterations,converged,kappa_50,kappa,eps_kappa,jacobi_lambda_max,jacobi_lambda_min,jacobi_converged,jacobi_"
          "kappa,published_kappa");
  Space const space;
  print_machine(space);
  std::printf(
      "cantilever, reference_cube stiffness, FP64; ! = not converged within the cap\n%-9s %-9s %3s %10s %10s %6s %11s "
      "%6s %7s %10s %10s %9s %9s %10s %10s %10s\n",
      "size", "density", "p", "max, 50", "max", "steps", "min", "steps", "inner", "kappa, 50", "kappa", "eps kappa",
      "Jacobi", "min", "kappa", "published");
  for (Size const& size : options.sizes) {
    SimpProblem const problem = simp_preset("cantilever", size.cells);
    for (double p : {3.0, 5.0}) {
      study(space, size, "uniform", p, FrozenSystem<Space>(space, problem, p, 0.5), true, csv);
    }
    if (design_steps > 0) {
      auto const density = optimized_density(space, problem, design_steps);
      study(space, size, "optimized", 3, FrozenSystem<Space>(space, problem, 3, 0, density), false, csv);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
