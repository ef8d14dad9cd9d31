// SPDX-License-Identifier: BSD-3-Clause
// Is the same computation the same number? Ten runs of a product and of a cold solve, by kernel and precision.
//
// A kernel that adds atomically sums in an order that varies from run to run, and addition in floating point is not
// associative; a kernel that gathers has one order. A product's deviation is then of the size of the rounding, and a
// solve multiplies it. The dot products of the solver are reduced in a fixed order, so whatever varies here is the
// kernel.
//
// Source: table 9 of the fused-kernel text (ten cold solves of the uniform cantilever, rho = 0.5, p = 3, fused FP32):
// spread of the compliance (max - min) / c_FP64 = 1.78e-6 (64k) and 1.56e-6 (216k), offset from FP64 5.94e-4 and
// 1.09e-3, 345 and 512-513 iterations. Its fused kernel multiplies u as it is, as our three_stage does; ours subtracts
// the cell's mean before, which removes the offset and most of the spread.
//
// Usage: brickwork-perf-repeatability [--csv FILE] [--runs N] [--kernels LIST] [SIZE ...]
//   SIZE       cells NX,NY,NZ, or 64k, 216k, 512k, 1M; default 20,10,5 (a processor), 64k 216k (a GPU)
//   --runs     default 10
//   --kernels  names separated by commas, or all (default)
//
// Columns: product on random u and moduli: bitwise equal in all runs, and the largest deviation from the first run
// over the largest component; solve (plain Jacobi conjugate gradients, 1e-5, at most 1000 iterations): u bitwise equal
// in all runs, iterations, spread of the compliance and largest offset, both relative to the compliance of FP64.
// Exit code 1 where `parity` or `node_gather`, which promise it, are not bitwise repeatable.
#include <cmath>
#include <random>

#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"
#include "unit_tests/support/refinement.hpp"

using namespace brickwork;
using namespace brickwork::test;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--runs N] [--kernels LIST] [SIZE ...]";
constexpr double tolerance = 1e-5;
constexpr int max_iterations = 1000;

template <class Scalar>
struct CountUnequal {
  Scalar const* a;
  Scalar const* b;
  // Compares values: the two zeros count as equal, and a NaN as unequal.
  KOKKOS_FUNCTION void operator()(index_t i, index_t& count) const { count += a[i] == b[i] ? 0 : 1; }
};

template <class Scalar>
struct LargestDifference {
  Scalar const* a;
  Scalar const* b;  // null: the largest |a|
  KOKKOS_FUNCTION void operator()(index_t i, double& largest) const {
    double const other = b ? static_cast<double>(b[i]) : 0.0;
    largest = math::max(largest, math::abs(static_cast<double>(a[i]) - other));
  }
};

template <class VectorType>
index_t count_unequal(Space const& space, VectorType const& a, VectorType const& b) {
  using Scalar = typename VectorType::value_type;
  index_t count = 0;
  Kokkos::parallel_reduce("perf::count_unequal", range(space, static_cast<index_t>(a.size())),
                          CountUnequal<Scalar>{a.data(), b.data()}, count);
  return count;
}

template <class Scalar>
double largest_difference(Space const& space, NodalVector<Scalar, Memory> const& a, Scalar const* b) {
  double largest = 0;
  Kokkos::parallel_reduce("perf::largest_difference", range(space, static_cast<index_t>(a.size())),
                          LargestDifference<Scalar>{a.data(), b}, Kokkos::Max<double>(largest));
  return largest;
}

template <class ViewType>
void fill_random(Space const& space, ViewType const& view, unsigned seed, double lower, double upper) {
  auto const host = Kokkos::create_mirror_view(view);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> draw(lower, upper);
  for (std::size_t i = 0; i < host.size(); ++i) {
    host.data()[i] = static_cast<typename ViewType::value_type>(draw(generator));
  }
  Kokkos::deep_copy(space, view, host);
  space.fence();
}

struct Repeats {
  bool product_equal = true;
  double product_deviation = 0;
  bool solve_equal = true;
  double lowest = 0, highest = 0;
  int fewest = 0, most = 0;
};

template <class Scalar>
Repeats repeat(Space const& space, FrozenSystem<Space> const& system, ElasticityKernel kernel, int runs) {
  Repeats result;
  auto const first = system.make_vector<Scalar>(space, "perf::first");
  auto const other = system.make_vector<Scalar>(space, "perf::other");
  auto const f = system.make_vector<Scalar>(space, "perf::f");
  {
    auto op = system.make<Scalar>(space, kernel);
    auto const moduli = allocate<CellField<Scalar, Memory>>(space, "perf::random_moduli", system.grid.cell_count());
    fill_random(space, moduli, 1, 1e-3, 1);
    fill_random(space, f, 2, -1, 1);
    op.set_moduli(moduli);
    op.update(space);
    op.apply(space, f, first);
    double const size = largest_difference<Scalar>(space, first, nullptr);
    for (int i = 1; i < runs; ++i) {
      op.apply(space, f, other);
      result.product_equal = result.product_equal && count_unequal(space, first, other) == 0;
      result.product_deviation =
          std::max(result.product_deviation, largest_difference<Scalar>(space, first, other.data()) / size);
    }
  }
  auto const op = system.make<Scalar>(space, kernel);
  PlainCg<Space, Scalar> cg(space, op);
  combine(space, 1, system.load, 0, f);
  for (int i = 0; i < runs; ++i) {
    auto const& u = i == 0 ? first : other;
    CgOutcome const outcome = cg.solve(space, f, u, tolerance, max_iterations);
    double const compliance = dot(space, system.load, u);
    result.lowest = i == 0 ? compliance : std::min(result.lowest, compliance);
    result.highest = i == 0 ? compliance : std::max(result.highest, compliance);
    result.fewest = i == 0 ? outcome.iterations : std::min(result.fewest, outcome.iterations);
    result.most = std::max(result.most, outcome.iterations);
    if (i > 0) result.solve_equal = result.solve_equal && count_unequal(space, first, other) == 0;
  }
  return result;
}

double reference_compliance(Space const& space, FrozenSystem<Space> const& system) {
  PlainCg<Space, double> cg(space, system.make<double>(space, ElasticityKernel::automatic));
  auto const u = system.make_vector<double>(space, "perf::u");
  cg.solve(space, system.load, u, tolerance, 100000);
  return dot(space, system.load, u);
}

// Returns false where a kernel breaks its promise.
template <class Scalar>
bool report(Space const& space, Size const& size, FrozenSystem<Space> const& system, ElasticityKernel kernel, int runs,
            double reference, Csv& csv) {
  std::string const precision = sizeof(Scalar) == 4 ? "fp32" : "fp64";
  std::string const name = to_string(kernel);
  Repeats result;
  try {
    result = repeat<Scalar>(space, system, kernel, runs);
  } catch (Error const& error) {  // another precision, or another build
    std::printf("%-9s %-20s %s  -: %s\n", size.name.c_str(), name.c_str(), precision.c_str(),
                first_line(error.what()).c_str());
    csv.row(size.name, size.count(), name, precision, runs, "", "", "", "", "", "", "", "", "",
            first_line(error.what()));
    return true;
  }
  double const spread = (result.highest - result.lowest) / reference;
  double const offset = std::max(std::abs(result.highest - reference), std::abs(result.lowest - reference)) / reference;
  std::string const iterations = result.fewest == result.most
                                     ? std::to_string(result.most)
                                     : std::to_string(result.fewest) + "-" + std::to_string(result.most);
  std::printf("%-9s %-20s %s  %-7s %9.2e   %-7s %9s %12.6f %12.6f %9.2e %9.2e\n", size.name.c_str(), name.c_str(),
              precision.c_str(), result.product_equal ? "equal" : "differs", result.product_deviation,
              result.solve_equal ? "equal" : "differs", iterations.c_str(), result.lowest, result.highest, spread,
              offset);
  std::fflush(stdout);
  char lowest[32], highest[32];
  std::snprintf(lowest, sizeof lowest, "%.12g", result.lowest);
  std::snprintf(highest, sizeof highest, "%.12g", result.highest);
  csv.row(size.name, size.count(), name, precision, runs, result.product_equal ? "yes" : "no", result.product_deviation,
          result.solve_equal ? "yes" : "no", result.fewest, result.most, lowest, highest, spread, offset, "");
  bool const promised = kernel == ElasticityKernel::parity || kernel == ElasticityKernel::node_gather;
  return !promised || (result.product_equal && result.solve_equal);
}

int run(int argc, char** argv) {
  std::vector<std::string> const sizes =
      on_cuda ? std::vector<std::string>{"64k", "216k"} : std::vector<std::string>{"20,10,5"};
  Options const options = parse_options(argc, argv, {"--runs", "--kernels"}, {}, sizes);
  int const runs = options.count("--runs", 10);
  BRICKWORK_REQUIRE(runs >= 2, "--runs ", runs, ": at least 2 are compared");
  auto const kernels = parse_kernels(options.value("--kernels", "all"));
  Csv csv(options.value("--csv"),
          "size,cells,kernel,precision,runs,product_equal,product_deviation,solve_equal,iterations_min,iterations_max,"
          "compliance_min,compliance_max,spread,offset,reason");
  Space const space;
  print_machine(space);
  std::printf("uniform cantilever, rho = 0.5, p = 3, %d runs each\n%-9s %-20s %s  %-17s   %-17s %12s %12s %9s %9s\n",
              runs, "size", "kernel", "    ", "product", "solve, iterations", "c, lowest", "c, highest", "spread",
              "offset");
  bool kept = true;
  for (Size const& size : options.sizes) {
    FrozenSystem<Space> const system(space, simp_preset("cantilever", size.cells), 3, 0.5);
    double const reference = reference_compliance(space, system);
    for (ElasticityKernel kernel : kernels) {
      kept = report<float>(space, size, system, kernel, runs, reference, csv) && kept;
      kept = report<double>(space, size, system, kernel, runs, reference, csv) && kept;
    }
    if (size.name == "64k") {
      std::printf(
          "64k       published: fused fp32                           345    13.431176    13.431200  1.78e-06  "
          "5.94e-04\n");
    } else if (size.name == "216k") {
      std::printf(
          "216k      published: fused fp32                       512-513    11.022279    11.022296  1.56e-06  "
          "1.09e-03\n");
    }
  }
  if (!kept) std::fprintf(stderr, "error: a kernel that promises bitwise equal results does not give them\n");
  return kept ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
