// SPDX-License-Identifier: BSD-3-Clause
// The synthetic hot path: gather, product and scatter with random connectivity, in stages and fused.
//
// Source: table 2 of the fused-kernel text (papers/simp-fused-kernels.txt, section 4.2). As there, the arrays have the
// shapes of the cantilever grids, but each cell's 24 degrees of freedom are random (seed 42), so that nothing of the
// mesh's locality is left; the same operands are used every time, each stage is timed by itself, and the full pipeline
// again as a whole. The source's figures on an RTX 4090 are printed below each size.
//
// Usage: brickwork-perf-synthetic-hot-path [--csv FILE] [--rotate] [SIZE ...]
//   SIZE      NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M; default 16
//   --rotate  operands and connectivity rotate among sets that together pass the caches (stages' workspaces do not)
//
// The kernels are the library's own, called with a connectivity table (32-bit, [cells][24]). Times of the scatter and
// of the fused kernels include the zeroing of the result. The product is a batched one of the library, where the source
// calls a batched DGEMM. fused_wmma is the source's BF16 kernel; on other backends than Cuda the tensor-core kernels
// are the portable bodies, which emulate BF16.
#include <functional>

#include "brickwork/operators/detail/elasticity_tensor_core.hpp"
#include "brickwork/operators/detail/elasticity_tensor_cuda.hpp"
#include "brickwork/operators/detail/elasticity_three_stage.hpp"
#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--rotate] [SIZE ...]";

constexpr std::uint64_t seed = 42;

// splitmix64 of the entry's number: the same table on every machine and in any order.
struct RandomTable {
  std::int32_t* table;
  std::uint64_t dofs;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    std::uint64_t x = (static_cast<std::uint64_t>(i) + seed) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    table[i] = static_cast<std::int32_t>((x ^ (x >> 31)) % dofs);
  }
};

using Tables = Kokkos::View<std::int32_t*, Memory>;

// Operands of one precision; set s of `sets`.
template <class Scalar>
struct Operation {
  Space space;
  index_t cells, nodes;
  int sets;
  detail::ElasticityData<Scalar> base;
  Tables tables;
  Pool<Scalar> moduli, vectors;

  Operation(Space const& instance, BoxGrid const& grid, Tables const& connectivity, int count)
      : space(instance),
        cells(grid.cell_count()),
        nodes(grid.node_count()),
        sets(count),
        base(detail::elasticity_data<Scalar>(grid, cube_stiffness(), ParityBlocks{})),
        tables(connectivity),
        moduli(instance, cells, count),
        vectors(instance, 3 * nodes, 2 * count) {}

  detail::ElasticityData<Scalar> data(int set) const {
    auto data = base;
    data.moduli = moduli.data(set);
    return data;
  }
  detail::TableDofs dofs(int set) const { return {tables.data() + 24 * cells * set}; }
  Scalar const* u(int set) const { return vectors.data(2 * set); }
  Scalar* w(int set) const { return vectors.data(2 * set + 1); }
  detail::Operands<Scalar> operands(int set) const { return {u(set), w(set), nodes, nodes}; }
  void clear(int set) const { detail::clear_components(space, base, nodes, w(set)); }

  double time(std::function<void(int)> const& call) const {
    return median_seconds(
        space, [&](int i) { call(i % sets); }, Budget{0.1, 1.0});
  }
};

struct Stages {
  double gather, product, scatter, full;
};

template <class Scalar>
Stages time_stages(Operation<Scalar> const& o) {
  auto const local_u = filled_field<Scalar>(o.space, 24 * o.cells);
  auto const local_w = filled_field<Scalar>(o.space, 24 * o.cells);
  auto const gather = [&](int set) {
    detail::three_stage_gather<false>(o.space, o.data(set), o.dofs(set), o.cells, o.u(set), local_u.data());
  };
  auto const product = [&](int set) {
    detail::three_stage_product(o.space, o.data(set), o.cells, local_u.data(), local_w.data());
  };
  auto const scatter = [&](int set) {
    o.clear(set);
    detail::three_stage_scatter(o.space, o.dofs(set), o.cells, local_w.data(), o.w(set));
  };
  return {o.time(gather), o.time(product), o.time(scatter), o.time([&](int set) {
            gather(set);
            product(set);
            scatter(set);
          })};
}

template <class Scalar>
double time_fused(Operation<Scalar> const& o) {
  return o.time([&](int set) {
    o.clear(set);
    detail::apply_fused_scatter<false>(o.space, o.data(set), o.dofs(set), o.dofs(set), o.cells, o.u(set), o.w(set));
  });
}

double time_wmma(Operation<float> const& o) {
  [[maybe_unused]] detail::RoundedProduct rounded{};
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) rounded.matrix[row][col] = detail::round_to_bf16(o.base.stiffness[row][col]);
  return o.time([&](int set) {
    o.clear(set);
#if BRICKWORK_TENSOR_CORES()
    detail::apply_fused_wmma_cuda<false>(o.space, o.data(set), o.dofs(set), o.cells, o.operands(set));
#else
    detail::add_cell_products<false>(o.space, "perf::fused_wmma", o.data(set), o.dofs(set), o.cells, rounded,
                                     o.operands(set));
#endif
  });
}

template <bool Split>
double time_integer(Operation<float> const& o) {
  auto const kernel = Split ? ElasticityKernel::fused_wmma_split : ElasticityKernel::fused_wmma_exact;
  detail::IntegerProduct<Split> const integer{detail::integer_stiffness(kernel, cube_stiffness())};
  return o.time([&](int set) {
    o.clear(set);
#if BRICKWORK_TENSOR_CORES()
    if constexpr (Split) {
      detail::apply_fused_wmma_split_cuda<false>(o.space, o.data(set), integer.form, o.dofs(set), o.cells,
                                                 o.operands(set));
    } else {
      detail::apply_fused_wmma_exact_cuda<false>(o.space, o.data(set), integer.form, o.dofs(set), o.cells,
                                                 o.operands(set));
    }
#else
    detail::add_cell_products<false>(o.space, "perf::fused_wmma_integer", o.data(set), o.dofs(set), o.cells, integer,
                                     o.operands(set));
#endif
  });
}

double time_mma_fp64(Operation<double> const& o) {
  [[maybe_unused]] detail::DoubleProduct product{};
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) product.matrix[row][col] = o.base.stiffness[row][col];
  return o.time([&](int set) {
    o.clear(set);
#if BRICKWORK_TENSOR_CORES()
    detail::apply_fused_mma_fp64_cuda<false>(o.space, o.data(set), o.dofs(set), o.cells, o.operands(set));
#else
    detail::add_cell_products<false>(o.space, "perf::fused_mma_fp64", o.data(set), o.dofs(set), o.cells, product,
                                     o.operands(set));
#endif
  });
}

// Table 2 of the source, RTX 4090, microseconds.
struct Published {
  char const* size;
  double gather, product, scatter, full, fused, bf16;
};
constexpr Published published[] = {{"64k", 28.6, 140.8, 167.1, 342.6, 56.9, 58.3},
                                   {"216k", 70.8, 452.3, 315.6, 1052.2, 168.3, 166.3},
                                   {"512k", 183.4, 1154.3, 731.2, 2409.0, 364.1, 361.9},
                                   {"1M", 351.3, 2280.7, 1423.2, 4615.8, 765.3, 739.0}};

void measure_size(Space const& space, Size const& size, bool rotate, Csv& csv) {
  BoxGrid const grid = unit_grid(size);
  index_t const cells = grid.cell_count();
  BRICKWORK_REQUIRE(grid.dof_count() < (index_t(1) << 31), "size ", size.name,
                    ": a 32-bit connectivity table reaches 2^31 degrees of freedom");
  double const set_bytes = 100.0 * static_cast<double>(cells) + 24.0 * static_cast<double>(grid.node_count());
  int const sets = rotate ? rotation_sets(set_bytes) : 1;
  Tables const tables(Kokkos::view_alloc(Kokkos::WithoutInitializing, "perf::table"),
                      static_cast<std::size_t>(24 * cells * sets));
  Kokkos::parallel_for("perf::table", range(space, 24 * cells * sets),
                       RandomTable{tables.data(), static_cast<std::uint64_t>(grid.dof_count())});
  Operation<double> const fp64(space, grid, tables, sets);
  Operation<float> const fp32(space, grid, tables, sets);

  Stages const stages64 = time_stages(fp64), stages32 = time_stages(fp32);
  double const fused32 = time_fused(fp32), fused64 = time_fused(fp64);
  double const wmma = time_wmma(fp32);
  double const exact = time_integer<false>(fp32), split = time_integer<true>(fp32);
  double const mma64 = time_mma_fp64(fp64);

  Published const* source = nullptr;
  for (auto const& row : published) {
    if (size.name == row.size) source = &row;
  }
  double const base = stages64.full;
  auto const us = [](double seconds) { return seconds * 1e6; };
  std::printf("\n%-8s %-9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "size", "", "gather", "GEMM64", "scatter", "full64",
              "fused", "bf16", "fused x", "bf16 x");
  std::printf("%-8s %-9s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.2f %9.2f\n", size.name.c_str(), "this run",
              us(stages64.gather), us(stages64.product), us(stages64.scatter), us(base), us(fused32), us(wmma),
              base / fused32, base / wmma);
  if (source != nullptr) {
    std::printf("%-8s %-9s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.2f %9.2f\n", size.name.c_str(), "source",
                source->gather, source->product, source->scatter, source->full, source->fused, source->bf16,
                source->full / source->fused, source->full / source->bf16);
  }
  struct More {
    char const* kernel;
    char const* precision;
    double seconds;
    double source;  // microseconds, 0 = none
  };
  auto const of_source = [&](double Published::*column) { return source != nullptr ? source->*column : 0.0; };
  More const rows[] = {{"gather", "fp64", stages64.gather, of_source(&Published::gather)},
                       {"product", "fp64", stages64.product, of_source(&Published::product)},
                       {"scatter", "fp64", stages64.scatter, of_source(&Published::scatter)},
                       {"three_stage", "fp64", stages64.full, of_source(&Published::full)},
                       {"fused_scatter_table", "fp32", fused32, of_source(&Published::fused)},
                       {"fused_wmma", "bf16", wmma, of_source(&Published::bf16)},
                       {"gather", "fp32", stages32.gather, 0},
                       {"product", "fp32", stages32.product, 0},
                       {"scatter", "fp32", stages32.scatter, 0},
                       {"three_stage", "fp32", stages32.full, 0},
                       {"fused_scatter_table", "fp64", fused64, 0},
                       {"fused_wmma_exact", "bf16", exact, 0},
                       {"fused_wmma_split", "bf16", split, 0},
                       {"fused_mma_fp64", "fp64", mma64, 0}};
  std::printf("further on the same table:\n");
  for (auto const& row : rows) {
    bool const stage = std::string(row.kernel) == "gather" || std::string(row.kernel) == "product" ||
                       std::string(row.kernel) == "scatter";
    if (&row >= rows + 6) {  // the first six stand above
      std::printf("  %-20s %-5s %9.1f us", row.kernel, row.precision, us(row.seconds));
      if (!stage) std::printf("  %6.2f x three_stage fp64", base / row.seconds);
      std::printf("\n");
    }
    csv.row(size.name, cells, row.kernel, row.precision, us(row.seconds), base / row.seconds, row.source);
  }
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {}, {"--rotate"}, {"16"});
  Csv csv(options.value("--csv"),
          "size,cells,kernel,precision,microseconds,speedup_over_three_stage_fp64,source_microseconds");
  Space const space;
  std::printf("Synthetic hot path, random connectivity (seed 42), microseconds\n");
  std::printf("(source: table 2 of papers/simp-fused-kernels.txt, RTX 4090, CuPy; speedups over full64)\n");
  print_machine(space);
  if (!BRICKWORK_TENSOR_CORES()) std::printf("tensor-core kernels: portable bodies, BF16 emulated\n");
  for (auto const& size : options.sizes) measure_size(space, size, options.flag("--rotate"), csv);
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
