// SPDX-License-Identifier: BSD-3-Clause
// The fused forms of the kernel `parity` beside the same by separate passes and beside the floor.
//
// Source: section 4 of DESIGN.md and of specs/simp.md (each value of a solver's vectors read once); no table of the
// fused-kernel text has these.
//
// Usage: brickwork-perf-elasticity-forms [--csv FILE] [--precision LIST] [SIZE ...]
//   SIZE         NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M, 16.8M, 134M; default 32
//   --precision  of fp32, fp64, mixed (vectors FP64, product FP32); default all
//
// Bytes per cell that a form must move (S bytes a value, a node per cell; each vector once): product, and product with
// dot, 7 S; residual, with or without norm, 10 S; relaxation 14 S in its first step, 17 S later; k right-hand sides
// (6 k + 1) S; mixed product 52, mixed residual 76. The floor is these bytes at the copy bandwidth of the same run.
// "Separate" is the product followed by a kernel with one value (relaxation: one node) per thread; right-hand sides one
// after another; mixed: u converted to FP32, the FP32 product, and w converted back (product), or apply_mixed and a
// kernel (residual). Operands rotate among sets that together pass the caches. Times of several sides are per side.
#include <functional>
#include <optional>

#include "brickwork/operators/elasticity_operator.hpp"
#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--precision fp32,fp64,mixed] [SIZE ...]";

// The vector kernels of the separate passes; index i runs over values.

template <class Scalar>
struct Dot {
  Scalar const *x, *y;
  KOKKOS_FUNCTION void operator()(index_t i, double& sum) const { sum += static_cast<double>(x[i] * y[i]); }
};

template <class Scalar>
struct Subtract {
  Scalar const *f, *w;
  Scalar* r;
  KOKKOS_FUNCTION void operator()(index_t i) const { r[i] = f[i] - w[i]; }
};

template <class Scalar>
struct SubtractNorm {
  Subtract<Scalar> subtract;
  KOKKOS_FUNCTION void operator()(index_t i, double& sum) const {
    subtract(i);
    sum += static_cast<double>(subtract.r[i] * subtract.r[i]);
  }
};

template <class Scalar, bool First>
struct Relax {
  Scalar const *f, *u, *w, *inverse, *old;
  Scalar* result;
  index_t nodes;
  Scalar a, b;
  Scalar factor[3];
  KOKKOS_FUNCTION void operator()(index_t node) const {
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * nodes;
      Scalar next = u[i] + b * inverse[node] * factor[d] * (f[i] - w[i]);
      if (!First) next += a * old[i];
      result[i] = next;
    }
  }
};

template <class To, class From>
struct Convert {
  From const* from;
  To* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = static_cast<To>(from[i]); }
};

using Sum = Kokkos::View<double, Memory>;

struct Form {
  char const* name;
  int sides;
  double bytes;                              // per cell, all sides
  std::function<void(int)> fused, separate;  // of a set of operands
};

template <class Kernel>
void pass(Space const& space, index_t count, Kernel const& kernel) {
  Kokkos::parallel_for("perf::vector_kernel", range(space, count), kernel);
}
template <class Kernel>
void sum_pass(Space const& space, index_t count, Kernel const& kernel, Sum const& sum) {
  Kokkos::parallel_reduce("perf::vector_kernel", range(space, count), kernel, sum);
}

class Table {
 public:
  Table(Space const& space, double bandwidth, Csv& csv) : space_(space), bandwidth_(bandwidth), csv_(csv) {}

  static void header() {
    std::printf("%-26s %-5s %10s %12s %6s %9s %7s %10s %8s\n", "form", "prec", "fused us", "separate us", "gain",
                "Gcells/s", "B/cell", "floor us", "% floor");
  }

  void measure(Size const& size, char const* precision, Form const& form, int sets) {
    Budget const budget{0.1, 1.0};
    auto const rotate = [sets](std::function<void(int)> const& call) {
      return [&call, sets](int i) { call(i % sets); };
    };
    auto const cells = static_cast<double>(size.count());
    double const per_side = 1.0 / form.sides;
    double const fused = per_side * median_seconds(space_, rotate(form.fused), budget);
    double const separate = per_side * median_seconds(space_, rotate(form.separate), budget);
    double const bytes = per_side * form.bytes;
    double const floor = cells * bytes / bandwidth_;
    std::printf("%-26s %-5s %10.1f %12.1f %6.2f %9.3f %7.1f %10.1f %8.1f\n", form.name, precision, fused * 1e6,
                separate * 1e6, separate / fused, cells / fused * 1e-9, bytes, floor * 1e6, 100 * floor / fused);
    std::fflush(stdout);
    csv_.row(size.name, size.count(), form.name, precision, form.sides, fused * 1e6, separate * 1e6, separate / fused,
             cells / fused * 1e-9, bytes, floor * 1e6, floor / fused);
  }

 private:
  Space space_;
  double bandwidth_;
  Csv& csv_;
};

bool fits(char const* what, char const* precision, double bytes) {
  index_t const free_bytes = available_memory();
  if (free_bytes < 0 || 1.02 * bytes < static_cast<double>(free_bytes)) return true;
  std::printf("%-26s %-5s does not fit: %.1f GB of %.1f GB free\n", what, precision, bytes * 1e-9,
              static_cast<double>(free_bytes) * 1e-9);
  return false;
}

template <class Scalar>
void measure_uniform(Space const& space, Size const& size, char const* precision, Table& table) {
  BoxGrid const grid = unit_grid(size);
  index_t const cells = grid.cell_count(), nodes = grid.node_count(), values = 3 * nodes;
  double const s = sizeof(Scalar);
  ElasticityOperator<Space, Scalar> op(space, grid, cube_stiffness(), ElasticityKernel::parity);
  auto const factors = op.diagonal_factors();
  Sum const sum("perf::sum");
  {
    double const set_bytes = s * static_cast<double>(cells + nodes + 6 * values);
    int const sets = rotation_sets(set_bytes);
    if (!fits("one right-hand side", precision, set_bytes * sets)) return;
    Pool<Scalar> const moduli(space, cells, sets), inverse(space, nodes, sets), vectors(space, values, 6 * sets);
    auto const vector = [&](int set, int which) { return vectors.vector(6 * set + which, nodes); };
    enum { U, W, F, R, Old, Result };
    auto const select = [&](int set) { op.set_moduli(moduli.field(set, cells)); };
    auto const product = [&](int set) {
      select(set);
      op.apply(space, vector(set, U), vector(set, W));
    };
    auto const data = [&](int set, int which) { return vectors.data(6 * set + which); };
    auto const subtract = [&](int set) { return Subtract<Scalar>{data(set, F), data(set, W), data(set, R)}; };
    // a and b keep the rotating vectors bounded however often a step is repeated
    Scalar const a = Scalar(0.25), b = Scalar(0.125);
    auto const fused_relax = [&](int set, Scalar of_old) {
      select(set);
      op.relax(space, vector(set, F), vector(set, U), inverse.field(set, nodes), Scalar(1), of_old, vector(set, Old), b,
               vector(set, Result));
    };
    auto const relax = [&](int set, auto step) {
      step = {data(set, F),
              data(set, U),
              data(set, W),
              inverse.data(set),
              data(set, Old),
              data(set, Result),
              nodes,
              a,
              b,
              {static_cast<Scalar>(1 / factors[0]), static_cast<Scalar>(1 / factors[1]),
               static_cast<Scalar>(1 / factors[2])}};
      product(set);
      pass(space, nodes, step);
    };
    Form const forms[] = {
        {"product", 1, 7 * s, product, product},
        {"product and dot", 1, 7 * s,
         [&](int set) {
           select(set);
           op.apply_dot(space, vector(set, U), vector(set, W), sum);
         },
         [&](int set) {
           product(set);
           sum_pass(space, values, Dot<Scalar>{data(set, U), data(set, W)}, sum);
         }},
        {"residual", 1, 10 * s,
         [&](int set) {
           select(set);
           op.residual(space, vector(set, F), vector(set, U), vector(set, R));
         },
         [&](int set) {
           product(set);
           pass(space, values, subtract(set));
         }},
        {"residual and norm", 1, 10 * s,
         [&](int set) {
           select(set);
           op.residual(space, vector(set, F), vector(set, U), vector(set, R), sum);
         },
         [&](int set) {
           product(set);
           sum_pass(space, values, SubtractNorm<Scalar>{subtract(set)}, sum);
         }},
        {"relaxation first", 1, 11 * s, [&](int set) { fused_relax(set, Scalar(0)); },
         [&](int set) { relax(set, Relax<Scalar, true>{}); }},
        {"relaxation later", 1, 14 * s, [&](int set) { fused_relax(set, a); },
         [&](int set) { relax(set, Relax<Scalar, false>{}); }},
    };
    for (auto const& form : forms) table.measure(size, precision, form, sets);
  }
  for (int sides : {2, 3, 6}) {
    char const* const name = sides == 2   ? "2 right-hand sides"
                             : sides == 3 ? "3 right-hand sides"
                                          : "6 right-hand sides";
    double const set_bytes = s * static_cast<double>(cells + 2 * sides * values);
    int const sets = rotation_sets(set_bytes);
    if (!fits(name, precision, set_bytes * sets)) continue;
    Pool<Scalar> const moduli(space, cells, sets), vectors(space, sides * values, 2 * sets);
    using Block = typename ElasticityOperator<Space, Scalar>::block_type;
    auto const block = [&](int which) {
      return Block(vectors.data(which), static_cast<std::size_t>(nodes), 3, static_cast<std::size_t>(sides));
    };
    Form const form = {name, sides, (6 * sides + 1) * s,
                       [&](int set) {
                         op.set_moduli(moduli.field(set, cells));
                         op.apply(space, block(2 * set), block(2 * set + 1));
                       },
                       [&](int set) {
                         op.set_moduli(moduli.field(set, cells));
                         for (int side = 0; side < sides; ++side) {
                           auto const one = [&](int which) {
                             return NodalVector<Scalar, Memory>(vectors.data(which) + side * values,
                                                                static_cast<std::size_t>(nodes));
                           };
                           op.apply(space, one(2 * set), one(2 * set + 1));
                         }
                       }};
    table.measure(size, precision, form, sets);
  }
}

void measure_mixed(Space const& space, Size const& size, Table& table) {
  BoxGrid const grid = unit_grid(size);
  index_t const cells = grid.cell_count(), nodes = grid.node_count(), values = 3 * nodes;
  ElasticityOperator<Space, float> op(space, grid, cube_stiffness(), ElasticityKernel::parity);
  Sum const sum("perf::sum");
  double const set_bytes = 4.0 * static_cast<double>(cells) + (4 * 8.0 + 2 * 4.0) * static_cast<double>(values);
  int const sets = rotation_sets(set_bytes);
  if (!fits("mixed forms", "mixed", set_bytes * sets)) return;
  Pool<float> const moduli(space, cells, sets), singles(space, values, 2 * sets);
  Pool<double> const vectors(space, values, 4 * sets);
  enum { U, W, F, R };
  auto const vector = [&](int set, int which) { return vectors.vector(4 * set + which, nodes); };
  auto const data = [&](int set, int which) { return vectors.data(4 * set + which); };
  auto const product = [&](int set) {
    op.set_moduli(moduli.field(set, cells));
    op.apply_mixed(space, vector(set, U), vector(set, W));
  };
  Form const forms[] = {
      {"product", 1, 52, product,
       [&](int set) {
         op.set_moduli(moduli.field(set, cells));
         pass(space, values, Convert<float, double>{data(set, U), singles.data(2 * set)});
         op.apply(space, singles.vector(2 * set, nodes), singles.vector(2 * set + 1, nodes));
         pass(space, values, Convert<double, float>{singles.data(2 * set + 1), data(set, W)});
       }},
      {"residual and norm", 1, 76,
       [&](int set) {
         op.set_moduli(moduli.field(set, cells));
         op.residual_mixed(space, vector(set, F), vector(set, U), vector(set, R), sum);
       },
       [&](int set) {
         product(set);
         sum_pass(space, values, SubtractNorm<double>{{data(set, F), data(set, W), data(set, R)}}, sum);
       }},
  };
  for (auto const& form : forms) table.measure(size, "mixed", form, sets);
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {"--precision"}, {}, {"32"});
  auto const precisions = parse_precisions(options.value("--precision", "fp32,fp64,mixed"));
  Csv csv(options.value("--csv"),
          "size,cells,form,precision,sides,fused_microseconds,separate_microseconds,speedup,gcells_per_second,"
          "bytes_per_cell,floor_microseconds,share_of_copy");
  Space const space;
  std::printf("Fused forms of the kernel parity, separate passes, and the floor\n");
  print_machine(space);
  Table table(space, copy_bandwidth(space, copy_bytes).best(), csv);
  for (auto const& size : options.sizes) {
    std::printf("\n%s: %lld cells\n", size.name.c_str(), static_cast<long long>(size.count()));
    Table::header();
    for (auto const& precision : precisions) {
      if (precision == "fp32") measure_uniform<float>(space, size, "fp32", table);
      if (precision == "fp64") measure_uniform<double>(space, size, "fp64", table);
      if (precision == "mixed") measure_mixed(space, size, table);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
