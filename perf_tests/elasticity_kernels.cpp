// SPDX-License-Identifier: BSD-3-Clause
// Throughput of every elasticity kernel through the library, beside the copy bandwidth of the same run.
//
// Source: table 3 of the fused-kernel text (papers/simp-fused-kernels.txt), whose figures on an RTX 4090 are printed
// below the sizes that it has. Extended by all kernels of the library, by precisions, and by memory.
//
// Usage: brickwork-perf-elasticity-kernels [--csv FILE] [--kernels LIST] [--precision LIST] [--masked] [--one-set]
//          [SIZE ...]
//   SIZE         NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M, 16.8M, 134M; default 32
//   --kernels    names separated by commas, or all (default)
//   --precision  of fp32, fp64, mixed (FP64 vectors, FP32 product and moduli; parity only); default all
//   --masked     also with the face x = 0 constrained
//   --one-set    also with the same operands every time, which small grids keep in the caches
//
// Columns: microseconds (median; u, w and moduli rotate among sets that together pass the caches), Gcells/s, bytes per
// cell of the least traffic of the kernel's own model (support/elasticity_models.hpp) and the rate of these bytes, its
// share of the measured copy bandwidth, speedup over three_stage in FP64 at the same size; bytes per cell held (u, w,
// moduli and what the kernel keeps) and the growth of the device's memory when they were made (device only; the first
// use of a kernel loads its code, some MB). The element matrix is that of a cube, Poisson's ratio 0.3.
#include <optional>

#include "brickwork/operators/elasticity_operator.hpp"
#include "perf_tests/support/elasticity_models.hpp"
#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage =
    "[--csv FILE] [--kernels LIST] [--precision fp32,fp64,mixed] [--masked] [--one-set] [SIZE ...]";

struct Row {
  ElasticityKernel kernel{};
  std::string precision;
  std::string reason;  // why there is no figure
  double seconds = 0;
  std::optional<double> one_set, masked;
  double traffic = 0;            // bytes per cell
  double held = 0;               // bytes per cell
  std::optional<double> growth;  // bytes per cell
};

struct Plan {
  std::vector<ElasticityKernel> kernels;
  std::vector<std::string> precisions;
  bool masked = false;
  bool one_set = false;
  int figures() const { return 1 + (masked ? 1 : 0) + (one_set ? 1 : 0); }  // per row
};

// A size may take this long; what is left is shared out among the figures to come, and kernels that come too late are
// left out.
constexpr double size_seconds = 40;

struct ConstrainFace {
  std::uint8_t* mask;
  index_t width;
  KOKKOS_FUNCTION void operator()(index_t i) const { mask[i * width] = 7; }
};

NodeMask<Memory> face_mask(Space const& space, BoxGrid const& grid) {
  auto const mask = allocate<NodeMask<Memory>>(space, "perf::mask", grid.node_count());
  index_t const width = grid.nodes()[0];
  Kokkos::parallel_for("perf::face", range(space, grid.node_count() / width), ConstrainFace{mask.data(), width});
  return mask;
}

template <class Scalar, class Value>
struct Set {
  CellField<Scalar, Memory> moduli;
  NodalVector<Value, Memory> u, w;
};

// Vectors of `Value`, operator in `Scalar`.
template <class Scalar, class Value>
void measure(Space const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, Plan const& plan,
             double figure_seconds, Row& row) {
  auto const cells = static_cast<double>(grid.cell_count());
  double const set_bytes =
      static_cast<double>(sizeof(Scalar)) * cells + 6.0 * sizeof(Value) * static_cast<double>(grid.node_count());
  double const kept = elasticity_kernel_bytes(row.kernel, grid, sizeof(Scalar));
  row.held = (set_bytes + kept) / cells;
  row.traffic = std::is_same_v<Scalar, Value> ? traffic_per_cell(row.kernel, sizeof(Value)) : mixed_traffic_per_cell;
  // A host grants more memory than it has, so the sum is taken before.
  index_t const free_bytes = available_memory();
  if (free_bytes >= 0 && 1.02 * (set_bytes + kept) > static_cast<double>(free_bytes)) {
    char text[128];
    std::snprintf(text, sizeof text, "does not fit: %.1f GB of %.1f GB free", (set_bytes + kept) * 1e-9,
                  static_cast<double>(free_bytes) * 1e-9);
    row.reason = text;
    return;
  }

  index_t const before = used_memory();
  ElasticityOperator<Space, Scalar> op(space, grid, stiffness, row.kernel);
  Set<Scalar, Value> const first{filled_field<Scalar>(space, grid.cell_count()),
                                 filled_vector<Value>(space, grid.node_count()),
                                 filled_vector<Value>(space, grid.node_count())};
  auto const apply = [&](Set<Scalar, Value> const& set) {
    op.set_moduli(set.moduli);
    if constexpr (std::is_same_v<Scalar, Value>) {
      op.apply(space, set.u, set.w);
    } else {
      op.apply_mixed(space, set.u, set.w);
    }
  };
  op.set_moduli(first.moduli);
  op.update(space);
  apply(first);
  space.fence();
  if (on_cuda) row.growth = static_cast<double>(used_memory() - before) / cells;

  Budget const budget{std::min(0.1, figure_seconds), std::min(1.0, figure_seconds)};
  if (plan.one_set)
    row.one_set = median_seconds(
        space, [&](int) { apply(first); }, budget);
  int const count = rotation_sets(set_bytes);
  std::vector<Set<Scalar, Value>> sets = {first};
  std::optional<Pool<Scalar>> moduli;
  std::optional<Pool<Value>> vectors;
  if (count > 1) {
    moduli.emplace(space, grid.cell_count(), count - 1);
    vectors.emplace(space, 3 * grid.node_count(), 2 * (count - 1));
    for (int i = 0; i + 1 < count; ++i) {
      sets.push_back({moduli->field(i, grid.cell_count()), vectors->vector(2 * i, grid.node_count()),
                      vectors->vector(2 * i + 1, grid.node_count())});
    }
  }
  auto const rotating = [&](int i) { apply(sets[static_cast<std::size_t>(i % count)]); };
  row.seconds = median_seconds(space, rotating, budget);
  if (plan.masked) {
    op.set_constraints(space, face_mask(space, grid));
    op.update(space);
    row.masked = median_seconds(space, rotating, budget);
  }
}

Row measure_row(Space const& space, BoxGrid const& grid, Hex8Matrix const& stiffness, Plan const& plan,
                ElasticityKernel kernel, std::string const& precision, double figure_seconds) {
  Row row;
  row.kernel = kernel;
  row.precision = precision;
  if (figure_seconds <= 0) {
    row.reason = "left out: the size has used its " + std::to_string(static_cast<int>(size_seconds)) + " s";
    return row;
  }
  try {
    if (precision == "fp32") {
      measure<float, float>(space, grid, stiffness, plan, figure_seconds, row);
    } else if (precision == "fp64") {
      measure<double, double>(space, grid, stiffness, plan, figure_seconds, row);
    } else {
      measure<float, double>(space, grid, stiffness, plan, figure_seconds, row);
    }
  } catch (std::exception const& error) {
    row.reason = first_line(error.what());
  }
  return row;
}

std::string cell(std::optional<double> value, char const* format) {
  if (!value) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

void measure_size(Space const& space, Size const& size, Plan const& plan, double bandwidth, Csv& csv) {
  BoxGrid const grid = unit_grid(size);
  auto const stiffness = cube_stiffness();
  auto const begin = std::chrono::steady_clock::now();
  std::vector<std::pair<ElasticityKernel, std::string>> list;
  for (auto const& precision : plan.precisions) {
    for (auto kernel : plan.kernels) {
      if (!has_precision(kernel, precision)) continue;
      list.emplace_back(kernel, precision);
    }
  }
  std::vector<Row> rows;
  for (auto const& [kernel, precision] : list) {
    double const left = size_seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    double const figure_seconds = left / (static_cast<double>(list.size() - rows.size()) * plan.figures());
    rows.push_back(measure_row(space, grid, stiffness, plan, kernel, precision, figure_seconds));
  }
  std::optional<double> baseline;
  for (auto const& row : rows) {
    if (row.kernel == ElasticityKernel::three_stage && row.precision == "fp64" && row.reason.empty()) {
      baseline = row.seconds;
    }
  }
  auto const cells = static_cast<double>(size.count());
  std::printf("\n%s: %lld x %lld x %lld = %lld cells\n", size.name.c_str(), static_cast<long long>(size.cells[0]),
              static_cast<long long>(size.cells[1]), static_cast<long long>(size.cells[2]),
              static_cast<long long>(size.count()));
  std::printf("%-20s %-5s %11s %9s %7s %8s %7s %8s %8s %8s%s%s\n", "kernel", "prec", "us", "Gcells/s", "B/cell", "GB/s",
              "% copy", "speedup", "held B/c", "grown", plan.one_set ? "  one set us" : "",
              plan.masked ? "   masked us" : "");
  for (auto const& row : rows) {
    std::string const name = to_string(row.kernel);
    if (!row.reason.empty()) {
      std::printf("%-20s %-5s %11s %s\n", name.c_str(), row.precision.c_str(), "-", row.reason.c_str());
      csv.row(size.name, size.count(), name, row.precision, "", "", "", "", "", "", "", "", "", "", row.reason);
      continue;
    }
    double const rate = cells / row.seconds;
    std::optional<double> speedup;
    if (baseline) speedup = *baseline / row.seconds;
    auto const microseconds = [](std::optional<double> seconds) {
      return seconds ? std::optional<double>(*seconds * 1e6) : std::nullopt;
    };
    std::printf("%-20s %-5s %11.1f %9.3f %7.0f %8.1f %7.1f %8s %8.1f %8s", name.c_str(), row.precision.c_str(),
                row.seconds * 1e6, rate * 1e-9, row.traffic, rate * row.traffic * 1e-9,
                100 * rate * row.traffic / bandwidth, cell(speedup, "%.2f").c_str(), row.held,
                cell(row.growth, "%.1f").c_str());
    if (plan.one_set) std::printf(" %11s", cell(microseconds(row.one_set), "%.1f").c_str());
    if (plan.masked) std::printf(" %11s", cell(microseconds(row.masked), "%.1f").c_str());
    std::printf("\n");
    auto const text = [&](std::optional<double> value) { return value ? cell(value, "%.6g") : std::string(); };
    csv.row(size.name, size.count(), name, row.precision, row.seconds * 1e6, rate * 1e-9, row.traffic,
            rate * row.traffic * 1e-9, rate * row.traffic / bandwidth, text(speedup), row.held, text(row.growth),
            text(microseconds(row.one_set)), text(microseconds(row.masked)), "");
  }
  struct Published {
    char const* size;
    double three_stage, fused;
  };
  for (auto const& source : {Published{"64k", 2736, 307}, Published{"216k", 4871, 353}, Published{"512k", 11291, 833},
                             Published{"1M", 20285, 1700}}) {
    if (size.name == source.size) {
      std::printf("source, table 3, RTX 4090: three-stage FP64 %.0f us, fused FP32 %.0f us (speedup %.1f)\n",
                  source.three_stage, source.fused, source.three_stage / source.fused);
    }
  }
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {"--kernels", "--precision"}, {"--masked", "--one-set"}, {"32"});
  Plan plan;
  plan.masked = options.flag("--masked");
  plan.one_set = options.flag("--one-set");
  plan.kernels = parse_kernels(options.value("--kernels", "all"));
  plan.precisions = parse_precisions(options.value("--precision", "fp32,fp64,mixed"));
  Csv csv(options.value("--csv"),
          "size,cells,kernel,precision,microseconds,gcells_per_second,traffic_bytes_per_cell,gb_per_second,"
          "share_of_copy,speedup_over_three_stage_fp64,held_bytes_per_cell,grown_bytes_per_cell,one_set_microseconds,"
          "masked_microseconds,reason");
  Space const space;
  std::printf("Elasticity kernels through the library (table 3, extended)\n");
  print_machine(space);
  double const bandwidth = copy_bandwidth(space, copy_bytes).best();
  for (auto const& size : options.sizes) measure_size(space, size, plan, bandwidth, csv);
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
