// SPDX-License-Identifier: BSD-3-Clause
// A design step of SIMP without its state solve: time of every phase, per cell and beside the floor.
//
// Usage: brickwork-perf-simp-step [--csv FILE] [--precision LIST] [--radius R] [SIZE ...]
//   SIZE         NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M, 16.8M, 134M; default 216k 1M
//   --precision  of the cell fields: fp32, fp64; default both
//   --radius     of the filter in cells, 1 to 9; default 1.5. The compact kernel serves radii below 2
//
// Bytes per cell that a phase must move (S bytes a value): filter, transposed filter 2 S; project 2 S; sensitivities
// 5 S; update 7 S and 2 S for every round of multipliers. The floor is these bytes at the copy bandwidth of the same
// run. "Step" is the sum of project, sensitivities and update. Times contain the host's waits, as a step has them.
// Operands do not rotate: within a step, too, a phase finds what the one before has left in the caches. Designs and
// energies are pseudo-random; updates alternate between energies of which one is 1.2 times the other in mean, so that a
// search never starts from its own answer.
#include <cmath>

#include "brickwork/design/simp_design.hpp"
#include "perf_tests/support/measure.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--precision fp32,fp64] [--radius R] [SIZE ...]";

template <class Real>
struct Scale {
  Real const* from;
  Real* to;
  Real factor;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = factor * from[i]; }
};

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Table {
 public:
  Table(double bandwidth, Csv& csv) : bandwidth_(bandwidth), csv_(csv) {
    std::printf("%-12s %-5s %-18s %6s %12s %9s %9s %8s\n", "size", "prec", "phase", "rounds", "us", "ns/cell", "B/cell",
                "x floor");
  }
  void row(Size const& size, char const* precision, char const* phase, double rounds, double seconds, double bytes) {
    auto const cells = static_cast<double>(size.count());
    double const floor = cells * bytes / bandwidth_;
    std::printf("%-12s %-5s %-18s %6.1f %12.1f %9.4f %9.1f %8.2f\n", size.name.c_str(), precision, phase, rounds,
                seconds * 1e6, seconds / cells * 1e9, bytes, seconds / floor);
    std::fflush(stdout);
    csv_.row(size.name, size.count(), precision, phase, rounds, seconds * 1e6, seconds / cells * 1e9, bytes,
             seconds / floor);
  }

 private:
  double bandwidth_;
  Csv& csv_;
};

template <class Real>
void measure(Space const& space, Size const& size, char const* precision, double radius, Table& table) {
  index_t const cells = size.count();
  double const s = sizeof(Real);
  index_t const free_bytes = available_memory();
  if (free_bytes >= 0 && 7.1 * s * static_cast<double>(cells) > static_cast<double>(free_bytes)) {
    std::printf("%-12s %-5s does not fit\n", size.name.c_str(), precision);
    return;
  }
  SimpProblem problem;
  problem.volume_fraction = 0.6;  // near the mean of the fill
  problem.schedule.density_lower_bound = 1e-3;
  ScheduleStage const stage{1, 1, 3.5, 4, 0.15, radius};
  BoxGrid const grid(size.cells, {1, 1, 1});
  SimpDesign<Space, Real> design(space, grid, design_settings(problem));
  ConeFilter<Space, Real> filter(grid);
  filter.set_radius(space, radius);
  auto const start = filled_field<Real>(space, cells, 1), energies = filled_field<Real>(space, cells, 7);
  auto const physical = filled_field<Real>(space, cells), compliance = filled_field<Real>(space, cells),
             volume = filled_field<Real>(space, cells), scratch = filled_field<Real>(space, cells);
  design.set(space, start);
  design.set_stage(space, stage);
  Budget const budget{0.1, 1.0};

  table.row(size, precision, "filter", 0,
            median_seconds(
                space, [&](int) { filter.apply(space, start, physical); }, budget),
            2 * s);
  table.row(size, precision, "transposed filter", 0,
            median_seconds(
                space, [&](int) { filter.apply_transpose(space, start, physical); }, budget),
            2 * s);
  double const project = median_seconds(
      space, [&](int) { design.project(space, physical); }, budget);
  table.row(size, precision, "project", 0, project, 2 * s);

  // The energies are overwritten, and so is the design: both are set anew before each call, outside of its time.
  Stopwatch watch(space);
  std::vector<double> sensitivities, updates, rounds;
  for (int i = 0; i < 12; ++i) {
    design.set(space, start);
    Kokkos::parallel_for("perf::energies", range(space, cells),
                         Scale<Real>{energies.data(), compliance.data(), Real(i % 2 == 0 ? 1 : 1.2)});
    watch.start();
    design.sensitivities(space, physical, compliance, volume);
    double const first = watch.stop();
    watch.start();
    auto const update = design.update(space, compliance, volume, {}, scratch);
    double const second = watch.stop();
    if (i < 2) continue;  // loads the kernels, and has no multiplier to start from
    sensitivities.push_back(first);
    updates.push_back(second);
    rounds.push_back(update.rounds);
  }
  double const r = median(rounds);
  table.row(size, precision, "sensitivities", 0, median(sensitivities), 5 * s);
  table.row(size, precision, "update", r, median(updates), (7 + 2 * r) * s);
  table.row(size, precision, "step", r, project + median(sensitivities) + median(updates), (14 + 2 * r) * s);
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {"--precision", "--radius"}, {}, {"216k", "1M"});
  std::string const word = options.value("--radius", "1.5");
  double radius = 0;
  int used = 0;
  BRICKWORK_REQUIRE(std::sscanf(word.c_str(), "%lf%n", &radius, &used) == 1 && used == static_cast<int>(word.size()) &&
                        radius >= 1 && radius <= 9,
                    "--radius ", word, ": a number from 1 to 9 is needed");
  auto const precisions = split(options.value("--precision", "fp32,fp64"));
  for (auto const& precision : precisions)
    BRICKWORK_REQUIRE(precision == "fp32" || precision == "fp64", "--precision ", precision, ": fp32 or fp64");
  Csv csv(options.value("--csv"),
          "size,cells,precision,phase,rounds,microseconds,nanoseconds_per_cell,bytes_per_cell,multiple_of_floor");
  Space const space;
  std::printf("A design step without its solve, filter radius %g cells\n", radius);
  print_machine(space);
  Table table(copy_bandwidth(space, copy_bytes).best(), csv);
  for (auto const& size : options.sizes) {
    for (auto const& precision : precisions) {
      if (precision == "fp32") {
        measure<float>(space, size, "fp32", radius, table);
      } else {
        measure<double>(space, size, "fp64", radius, table);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
