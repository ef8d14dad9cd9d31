// SPDX-License-Identifier: BSD-3-Clause
// Throughput of the elasticity kernels beside the copy bandwidth of the same run.
//
// Usage: brickwork-perf-elasticity-kernels [--csv FILE] N [N ...]
// Prints, per cube of N^3 cells, kernel and precision: microseconds (median), Gcells/s, and the share of the measured
// copy bandwidth at the least traffic (28 bytes per cell in FP32: u and w once, the modulus once; 56 in FP64).
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/operators/elasticity_operator.hpp"

using namespace brickwork;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Memory = Space::memory_space;

// Median seconds of one call; repeats until a quarter of a second is filled, at least five times.
template <class Call>
double median_seconds(Space const& space, Call const& call) {
  auto const once = [&](int calls) {
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    space.fence();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  };
  once(2);
  int const calls = std::clamp(static_cast<int>(0.02 / std::max(once(1), 1e-7)), 1, 1000);
  std::vector<double> seconds;
  double total = 0;
  while (seconds.size() < 5 || (total < 0.25 && seconds.size() < 100)) {
    seconds.push_back(once(calls));
    total += seconds.back() * calls;
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Copy {
  double const* from;
  double* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = from[i]; }
};

template <class Scalar>
struct Fill {
  Scalar* values;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    values[i] = static_cast<Scalar>(0.25 + 0.75 * static_cast<double>((i * 2654435761LL) & 1023) / 1024.0);
  }
};

template <class Scalar>
void fill(Space const& space, Scalar* values, index_t count) {
  Kokkos::parallel_for("perf::fill", range(space, count), Fill<Scalar>{values});
}

double copy_bandwidth(Space const& space, index_t bytes) {
  index_t const count = std::max<index_t>(bytes / 16, 1 << 14);
  auto const from = allocate<CellField<double, Memory>>(space, "perf::from", count);
  auto const to = allocate<CellField<double, Memory>>(space, "perf::to", count);
  fill(space, from.data(), count);
  // The ceiling is the better of a plain kernel and the runtime's own copy.
  double const kernel = median_seconds(space, [&] {
    Kokkos::parallel_for("perf::copy", range(space, count), Copy{from.data(), to.data()});
  });
  double const runtime = median_seconds(space, [&] { Kokkos::deep_copy(space, to, from); });
  double const moved = 16.0 * static_cast<double>(count);
  std::printf("copy bandwidth, read plus written: %.1f GB/s by a kernel, %.1f GB/s by the runtime\n",
              moved / kernel * 1e-9, moved / runtime * 1e-9);
  return moved / std::min(kernel, runtime);
}

template <class Scalar>
void measure(Space const& space, index_t n, char const* precision, double bandwidth, std::FILE* csv) {
  BoxGrid const grid({n, n, n}, {1, 1, 1});
  auto const stiffness = hex8_stiffness(elasticity_matrix(IsotropicMaterial{1, 0.3}), {1, 1, 1});
  auto const moduli = allocate<CellField<Scalar, Memory>>(space, "perf::moduli", grid.cell_count());
  auto const u = allocate<NodalVector<Scalar, Memory>>(space, "perf::u", grid.node_count());
  auto const w = allocate<NodalVector<Scalar, Memory>>(space, "perf::w", grid.node_count());
  fill(space, moduli.data(), grid.cell_count());
  fill(space, u.data(), 3 * grid.node_count());
  for (auto kernel : {ElasticityKernel::parity, ElasticityKernel::node_gather, ElasticityKernel::fused_scatter}) {
    ElasticityOperator<Space, Scalar> op(grid, stiffness, kernel);
    op.set_moduli(moduli);
    double const seconds = median_seconds(space, [&] { op.apply(space, u, w); });
    double const rate = static_cast<double>(grid.cell_count()) / seconds;
    double const bytes = 7.0 * sizeof(Scalar);
    std::printf("%6lld^3  %s  %-14s %12.1f us  %9.3f Gcells/s  %5.1f%% of copy\n", static_cast<long long>(n), precision,
                to_string(kernel).c_str(), seconds * 1e6, rate * 1e-9, 100 * rate * bytes / bandwidth);
    if (csv) {
      std::fprintf(csv, "%lld,%s,%s,%.3f,%.5f,%.5f\n", static_cast<long long>(n), precision, to_string(kernel).c_str(),
                   seconds * 1e6, rate * 1e-9, rate * bytes / bandwidth);
    }
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Space const space;
  std::FILE* csv = nullptr;
  std::vector<index_t> sizes;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--csv" && i + 1 < argc) {
      csv = std::fopen(argv[++i], "w");
      if (!csv) {
        std::fprintf(stderr, "cannot write %s\n", argv[i]);
        return 1;
      }
      std::fprintf(csv, "n,precision,kernel,microseconds,gcells_per_second,share_of_copy\n");
    } else if (std::atoll(word.c_str()) > 0) {
      sizes.push_back(std::atoll(word.c_str()));
    } else {
      std::fprintf(stderr, "usage: %s [--csv FILE] N [N ...]\n", argv[0]);
      return 2;
    }
  }
  if (sizes.empty()) sizes = {64, 128};
  std::printf("backend %s, concurrency %d\n", Space::name(), static_cast<int>(space.concurrency()));
  double const bandwidth = copy_bandwidth(space, sizes.back() > 64 ? index_t(1) << 32 : index_t(1) << 26);
  for (index_t n : sizes) {
    measure<float>(space, n, "FP32", bandwidth, csv);
    measure<double>(space, n, "FP64", bandwidth, csv);
  }
  if (csv) std::fclose(csv);
  return 0;
}
