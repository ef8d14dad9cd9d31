// SPDX-License-Identifier: BSD-3-Clause
// What a product in BF16 does to a solve: entrywise rounding ties every cell to the ground, and refinement gets
// nowhere; integer K0 with the mean subtracted keeps translations free, and refinement converges. See
// support/refinement.hpp.
#include <cmath>

#include "brickwork/solvers/conjugate_gradient.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/refinement.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

// A slender cantilever: few cells, yet bending modes as soft against |K| as those of the large grids of the study.
SimpProblem slender_cantilever() {
  SimpProblem problem = simp_preset("cantilever", {32, 4, 4});
  problem.lengths = {16, 2, 2};
  problem.loads.front().region = PointRegion{{16, 1, 1}};
  return problem;
}

template <class Space>
struct Solves {
  Space space;
  FrozenSystem<Space> system;
  ElasticityOperator<Space, double> exact = system.template make<double>(space, ElasticityKernel::automatic);

  double truth = 0;

  explicit Solves(SimpProblem const& problem) : system(space, problem, 3, 0.5) {}

  // f . u of FP64, to 2e-9 (see the bound below).
  double reference() {
    auto const u = system.template make_vector<double>(space, "test::u");
    ConjugateGradient<Space, double, double> cg(space, system.grid);
    REQUIRE(cg.solve(space, exact, exact, system.load, u, {1e-10, 5000}).converged());
    return dot(space, system.load, u);
  }

  template <class Outer>
  RefinementHistory refined(ElasticityKernel outer, ElasticityKernel inner, RefinementOptions const& options) {
    auto const u = system.template make_vector<Outer>(space, "test::u");
    Refinement<Space, Outer, float> refinement(space, system.template make<Outer>(space, outer),
                                               system.template make<float>(space, inner));
    auto history = refinement.solve(space, system.load, u, options);
    // The residual that counts is the one that an FP64 product of the stored u gives.
    truth = true_residual(space, exact, system.load, u);
    return history;
  }
};

}  // namespace

TEST_CASE("refinement over a BF16 product converges with an exact stiffness and not with a rounded one") {
  using Space = Kokkos::DefaultExecutionSpace;
  Solves<Space> solves(slender_cantilever());
  double const expected = solves.reference();

  // tolerance, inner tolerance, corrections, inner iterations
  RefinementOptions const published{1e-5, 1e-3, 8, 1000};
  for (auto const outer : {ElasticityKernel::three_stage, ElasticityKernel::parity}) {
    auto const history = solves.refined<float>(outer, ElasticityKernel::fused_wmma, published);
    INFO("outer residual by " << to_string(outer) << ", c = " << history.back().compliance << " of " << expected);
    CHECK(history.size() == 9);  // every correction was used, none reached the tolerance
    CHECK(std::abs(history.back().compliance - expected) > 0.1 * expected);
    CHECK(solves.truth > 1e-5);
  }

  // The compliance lacks c* - c = f . K^-1 r = u* . r, at most |u*| |r|, and c* = |f| |u*_tip|: relatively
  // |u*| / |u*_tip| times the relative residual, here sqrt(825 nodes x 33/140, the mean square of the shape) = 14.
  RefinementOptions const remedy{1e-8, 1e-2, 40, 1000};
  for (auto const inner : {ElasticityKernel::fused_wmma_exact, ElasticityKernel::fused_wmma_split}) {
    auto const history = solves.refined<double>(ElasticityKernel::parity, inner, remedy);
    INFO("inner " << to_string(inner) << ", c = " << history.back().compliance << " of " << expected);
    CHECK(history.back().residual <= 1e-8);
    CHECK(solves.truth <= 1.001e-8);
    CHECK(std::abs(history.back().compliance - expected) < 1e-6 * expected);
  }
}

// c = f . u has the rounding of u at the loaded node (6e-8); the residual that rounding leaves elsewhere oscillates
// from node to node and does no work on u. Without the subtraction of the mean each product of a cell loses digits by
// the ratio of the displacement to its variation in the cell, and u is that of another stiffness. Found: 5.7e-8
// and 5.6e-5.
TEST_CASE("a plain FP32 solve keeps the compliance where translations cost it no digits") {
  using Space = Kokkos::DefaultExecutionSpace;
  Solves<Space> solves(simp_preset("cantilever", {20, 10, 5}));
  double const expected = solves.reference();
  auto const f = solves.system.make_vector<float>(solves.space, "test::f");
  auto const u = solves.system.make_vector<float>(solves.space, "test::u");
  combine(solves.space, 1, solves.system.load, 0, f);
  auto const error = [&](ElasticityKernel kernel) {
    PlainCg<Space, float> cg(solves.space, solves.system.make<float>(solves.space, kernel));
    CHECK(cg.solve(solves.space, f, u, 1e-6, 5000).reached);
    return std::abs(dot(solves.space, solves.system.load, u) - expected) / expected;
  };
  CHECK(error(ElasticityKernel::parity) < 1e-6);
  CHECK(error(ElasticityKernel::three_stage) > 1e-5);
}

TEST_CASE("a translation meets no force in the exact BF16 forms and a spring in the rounded one") {
  using Space = Kokkos::DefaultExecutionSpace;
  Solves<Space> solves(slender_cantilever());
  auto const t = solves.system.make_vector<float>(solves.space, "test::t");
  auto const force = solves.system.make_vector<float>(solves.space, "test::force");
  Kokkos::deep_copy(solves.space, Kokkos::subview(t, Kokkos::ALL(), 1), 1.0f);
  auto const spring = [&](ElasticityKernel kernel) {
    auto op = solves.system.make<float>(solves.space, kernel);
    op.set_constraints(solves.space, {});
    op.apply(solves.space, t, force);
    return std::sqrt(dot(solves.space, force, force) / dot(solves.space, t, t));
  };
  CHECK(spring(ElasticityKernel::fused_wmma_exact) == 0);
  CHECK(spring(ElasticityKernel::fused_wmma_split) == 0);
  // Row sums of q(K0) are some of 8 entries' rounding, 2^-9 of at most E |K0| each: far above FP32's.
  CHECK(spring(ElasticityKernel::fused_wmma) > 1e-5);
}
