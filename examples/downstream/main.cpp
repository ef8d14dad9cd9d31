// SPDX-License-Identifier: BSD-3-Clause
// A program of its own that uses Brickwork as a library: its own Views, its own execution-space instance (on CUDA a
// stream of its own), its own kernels; Brickwork's operator and solver work on them.
//
// A bar of 24 x 8 x 6 cells is pulled along x. Rollers on the planes x = 0, y = 0 and z = 0 leave the exact solution of
// uniaxial tension, u = (t x, -nu t y, -nu t z) / E, which trilinear cells represent exactly.
#include <Kokkos_Core.hpp>
#include <brickwork/core/config.hpp>
#include <brickwork/operators/elasticity_operator.hpp>
#include <brickwork/solvers/conjugate_gradient.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

using Space = Kokkos::DefaultExecutionSpace;
using Memory = Space::memory_space;
using Vector = brickwork::NodalVector<double, Memory>;
using brickwork::index_t;

// Kernels are launched from free functions: nvcc takes no extended lambdas elsewhere.

/// Rollers (bit d = component d is fixed) and consistent nodal forces of the traction t on the plane x = max.
void fill_problem(Space const& space, brickwork::BoxGrid const& grid, double traction,
                  Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, Memory> const& mask, Vector const& force) {
  auto const m = Kokkos::Array<index_t, 3>{{grid.nodes()[0], grid.nodes()[1], grid.nodes()[2]}};
  double const node_force = traction * grid.spacing()[1] * grid.spacing()[2];
  Kokkos::parallel_for(
      "downstream::fill_problem", Kokkos::RangePolicy<Space, Kokkos::IndexType<index_t>>(space, 0, grid.node_count()),
      KOKKOS_LAMBDA(index_t node) {
        index_t const i = node % m[0];
        index_t const j = node / m[0] % m[1];
        index_t const k = node / (m[0] * m[1]);
        mask(node) = static_cast<std::uint8_t>((i == 0 ? 1 : 0) | (j == 0 ? 2 : 0) | (k == 0 ? 4 : 0));
        double const share_y = j == 0 || j == m[1] - 1 ? 0.5 : 1.0;
        double const share_z = k == 0 || k == m[2] - 1 ? 0.5 : 1.0;
        force(node, 0) = i == m[0] - 1 ? node_force * share_y * share_z : 0.0;
        force(node, 1) = 0;
        force(node, 2) = 0;
      });
}

/// Largest difference from the exact displacement.
double largest_error(Space const& space, brickwork::BoxGrid const& grid, double strain, double poisson,
                     Vector const& u) {
  auto const m = Kokkos::Array<index_t, 3>{{grid.nodes()[0], grid.nodes()[1], grid.nodes()[2]}};
  auto const h = Kokkos::Array<double, 3>{{grid.spacing()[0], grid.spacing()[1], grid.spacing()[2]}};
  double largest = 0;
  Kokkos::parallel_reduce(
      "downstream::largest_error", Kokkos::RangePolicy<Space, Kokkos::IndexType<index_t>>(space, 0, grid.node_count()),
      KOKKOS_LAMBDA(index_t node, double& value) {
        double const exact[3] = {strain * h[0] * double(node % m[0]),
                                 -poisson * strain * h[1] * double(node / m[0] % m[1]),
                                 -poisson * strain * h[2] * double(node / (m[0] * m[1]))};
        for (int d = 0; d < 3; ++d) {
          double const error = u(node, d) < exact[d] ? exact[d] - u(node, d) : u(node, d) - exact[d];
          if (error > value) value = error;
        }
      },
      Kokkos::Max<double>(largest));
  return largest;
}

/// Largest component of a - b.
double largest_difference(Space const& space, Vector const& a, Vector const& b) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "downstream::largest_difference",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<index_t>>(space, 0, index_t(a.extent(0))),
      KOKKOS_LAMBDA(index_t node, double& value) {
        for (int d = 0; d < 3; ++d) {
          double const error = a(node, d) < b(node, d) ? b(node, d) - a(node, d) : a(node, d) - b(node, d);
          if (error > value) value = error;
        }
      },
      Kokkos::Max<double>(largest));
  return largest;
}

int run(Space const& space) {
  double const young = 2.5, poisson = 0.3, traction = 0.1;
  brickwork::BoxGrid const grid({24, 8, 6}, {3.0, 1.0, 0.5});
  auto const stiffness = brickwork::hex8_stiffness(
      brickwork::elasticity_matrix(brickwork::IsotropicMaterial{1.0, poisson}), grid.spacing());

  // Plain Views of this program; Brickwork keeps those of the moduli and constraints and allocates no copies.
  auto const nodes = static_cast<std::size_t>(grid.node_count());
  Kokkos::View<double*, Kokkos::LayoutLeft, Memory> moduli("downstream moduli",
                                                           static_cast<std::size_t>(grid.cell_count()));
  Kokkos::View<std::uint8_t*, Kokkos::LayoutLeft, Memory> mask("downstream mask", nodes);
  Vector force("downstream force", nodes), u("downstream u", nodes), product("downstream product", nodes);
  Kokkos::fence();  // the Views above are zeroed on the default instance, the work below runs on this program's own
  Kokkos::deep_copy(space, moduli, young);
  fill_problem(space, grid, traction, mask, force);

  brickwork::ElasticityOperator<Space, double> stiffness_operator(space, grid, stiffness);
  stiffness_operator.set_moduli(moduli);
  stiffness_operator.set_constraints(space, mask);

  brickwork::ConjugateGradient<Space, double, double> solver(space, grid);
  brickwork::SolveOptions options;
  options.tolerance = 1e-10;
  auto const result = solver.solve(space, stiffness_operator, stiffness_operator, force, u, options);

  stiffness_operator.apply(space, u, product);
  double const strain = traction / young;
  double const displacement_error = largest_error(space, grid, strain, poisson, u) / (3.0 * strain);
  // Both are zero on constrained components: the operator is the identity there, and u and f vanish.
  double const force_error =
      largest_difference(space, product, force) / (traction * grid.spacing()[1] * grid.spacing()[2]);

  std::printf("brickwork %s, Kokkos %s: %s after %d iterations, true residual %.1e\n", BRICKWORK_VERSION,
              BRICKWORK_KOKKOS_VERSION, brickwork::to_string(result.status).c_str(), result.iterations,
              result.true_relative_residual);
  std::printf("relative error of the displacement %.1e, of K u against f %.1e\n", displacement_error, force_error);
  bool const right = result.converged() && displacement_error < 1e-8 && force_error < 1e-8;
  std::printf("%s\n", right ? "downstream: right" : "downstream: WRONG");
  return right ? 0 : 1;
}

int main(int argc, char* argv[]) {
  Kokkos::initialize(argc, argv);
  int status = 1;
  try {
#if defined(KOKKOS_ENABLE_CUDA)
    cudaStream_t stream;
    if (cudaStreamCreate(&stream) != cudaSuccess) throw std::runtime_error("no CUDA stream");
    status = run(Space(stream));
    cudaStreamDestroy(stream);
#else
    status = run(Space());
#endif
  } catch (std::exception const& error) {
    std::fprintf(stderr, "downstream: %s\n", error.what());
  }
  Kokkos::finalize();
  return status;
}
