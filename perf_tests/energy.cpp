// SPDX-License-Identifier: BSD-3-Clause
// Energy of operator applications and of state solves, from the power that the board reports.
//
// Source: the fused-kernel text (papers/simp-fused-kernels.txt, energy study): board power during whole SIMP runs on an
// RTX 4090, fused FP32 against three-stage FP64: 3.2 to 4.9 times less energy (0.65 to 2.98 Wh against 2.10 to 14.67 Wh
// at 216k and 1M cells). Here single applications and cold solves are repeated.
//
// Usage: brickwork-perf-energy [--csv FILE] [--seconds S] [SIZE ...]
//   SIZE       NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M, 16.8M; default 216k 1M
//   --seconds  length of a measurement, at least 1; default 2
//
// Solves: cantilever clamped at x = 0, uniform density 0.5, p = 3, Jacobi-preconditioned conjugate gradients from zero
// to a true relative residual of 1e-5; mixed = displacement and residual in FP64, inner iterations in FP32.
// Applications are repeated on the same operands.
//
// Power is read every 20 ms through NVML (libnvidia-ml.so.1, opened at run time) or, without it, through nvidia-smi;
// the driver averages over up to a second, so that each measurement begins after a second of the same load. Energy is
// the board's counter where it has one, else mean power times time. It is that of the whole board: what it draws idle
// is printed first. Exit code 77 (skipped) without a GPU to ask.
#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

#include "brickwork/design/state_solver.hpp"
#include "brickwork/operators/elasticity_operator.hpp"
#include "perf_tests/support/measure.hpp"
#include "perf_tests/support/unit_problem.hpp"

using namespace brickwork;
using namespace perf;

namespace {

char const* const usage = "[--csv FILE] [--seconds S] [SIZE ...]";
constexpr int skipped = 77;

// The five functions of NVML that are needed; 0 is success, a device is an opaque pointer.
class Nvml {
 public:
  using Device = void*;
  static std::unique_ptr<Nvml> open(std::string const& bus_id) {
    std::unique_ptr<Nvml> nvml(new Nvml);
    nvml->library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (nvml->library_ == nullptr) return nullptr;
    auto const initialize = nvml->function<int (*)()>("nvmlInit_v2");
    auto const find = nvml->function<int (*)(char const*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
    nvml->power_ = nvml->function<int (*)(Device, unsigned*)>("nvmlDeviceGetPowerUsage");
    nvml->energy_ = nvml->function<int (*)(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
    if (initialize == nullptr || find == nullptr || nvml->power_ == nullptr || initialize() != 0) return nullptr;
    nvml->initialized_ = true;
    if (find(bus_id.c_str(), &nvml->device_) != 0 || !nvml->watts()) return nullptr;
    return nvml;
  }
  ~Nvml() {
    if (initialized_) {
      if (auto const shutdown = function<int (*)()>("nvmlShutdown")) shutdown();
    }
    if (library_ != nullptr) dlclose(library_);
  }
  std::optional<double> watts() const {
    unsigned milliwatts = 0;
    if (power_(device_, &milliwatts) != 0) return std::nullopt;
    return 1e-3 * milliwatts;
  }
  /// Joules since the driver was loaded.
  std::optional<double> joules() const {
    unsigned long long millijoules = 0;
    if (energy_ == nullptr || energy_(device_, &millijoules) != 0) return std::nullopt;
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  Nvml() = default;
  template <class Function>
  Function function(char const* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_ = nullptr;
  Device device_ = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  bool initialized_ = false;
};

/// Power of the board that runs the kernels.
class Board {
 public:
  explicit Board(std::string bus_id) : bus_id_(std::move(bus_id)), nvml_(Nvml::open(bus_id_)) {}
  char const* source() const { return nvml_ ? "NVML" : "nvidia-smi"; }
  std::optional<double> watts() const { return nvml_ ? nvml_->watts() : ask_program(); }
  std::optional<double> joules() const { return nvml_ ? nvml_->joules() : std::nullopt; }

 private:
  std::optional<double> ask_program() const {
    std::string const command =
        "nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits --id=" + bus_id_ + " 2>/dev/null";
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return std::nullopt;
    double watts = 0;
    bool const read = std::fscanf(pipe, "%lf", &watts) == 1;
    return pclose(pipe) == 0 && read ? std::optional<double>(watts) : std::nullopt;
  }
  std::string bus_id_;
  std::unique_ptr<Nvml> nvml_;
};

/// The PCI bus number of the GPU in use; empty where kernels run elsewhere.
std::string bus_id() {
#if defined(KOKKOS_ENABLE_CUDA)
  char text[32] = {};
  int device = 0;
  if (on_cuda && cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetPCIBusId(text, sizeof text, device) == cudaSuccess) {
    return text;
  }
#endif
  return {};
}

/// Mean power between construction and stop().
class Sampler {
 public:
  explicit Sampler(Board const& board)
      : board_(board), thread_([this] {
          while (!stop_) {
            if (auto const watts = board_.watts()) {
              sum_ += *watts;
              ++count_;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}
  ~Sampler() { stop(); }
  Sampler(Sampler const&) = delete;
  Sampler& operator=(Sampler const&) = delete;

  double stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return count_ > 0 ? sum_ / count_ : std::nan("");
  }

 private:
  Board const& board_;
  std::atomic<bool> stop_{false};
  double sum_ = 0;
  int count_ = 0;
  std::thread thread_;  // last: it uses the others
};

struct Energy {
  double seconds = 0;  // per call
  double joules = 0;   // per call
  double watts = 0;
  long calls = 0;
};

/// Repeats `call`, which waits for its own end, for a second and then for `length` seconds that count.
template <class Call>
Energy measure(Board const& board, double length, Call const& call) {
  using Clock = std::chrono::steady_clock;
  auto const since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  auto const repeat = [&](double seconds, Clock::time_point begin) {
    long calls = 0;
    do {
      call();
      ++calls;
    } while (since(begin) < seconds);
    return calls;
  };
  repeat(1, Clock::now());
  auto const before = board.joules();
  Sampler sampler(board);
  auto const begin = Clock::now();
  Energy energy;
  energy.calls = repeat(length, begin);
  double const seconds = since(begin);
  auto const after = board.joules();
  energy.watts = sampler.stop();
  double const joules = before && after ? *after - *before : energy.watts * seconds;
  energy.seconds = seconds / static_cast<double>(energy.calls);
  energy.joules = joules / static_cast<double>(energy.calls);
  return energy;
}

struct Row {
  ElasticityKernel kernel;
  char const* precision;
};

template <class Scalar, class Value>
Energy measure_application(Space const& space, Board const& board, double length, Size const& size,
                           ElasticityKernel kernel) {
  BoxGrid const grid = unit_grid(size);
  ElasticityOperator<Space, Scalar> op(space, grid, cube_stiffness(), kernel);
  op.set_moduli(filled_field<Scalar>(space, grid.cell_count()));
  op.update(space);
  auto const u = filled_vector<Value>(space, grid.node_count()), w = filled_vector<Value>(space, grid.node_count());
  constexpr int batch = 64;  // a fence after each application would leave the board idle in between
  Energy energy = measure(board, length, [&] {
    for (int i = 0; i < batch; ++i) {
      if constexpr (std::is_same_v<Scalar, Value>) {
        op.apply(space, u, w);
      } else {
        op.apply_mixed(space, u, w);
      }
    }
    space.fence();
  });
  energy.seconds /= batch;
  energy.joules /= batch;
  energy.calls *= batch;
  return energy;
}

struct Solve {
  Energy energy;
  SolveResult result;
};

Solve measure_solve(Space const& space, Board const& board, double length, Size const& size, Row const& row) {
  SimpProblem problem = simp_preset("cantilever", size.cells);
  std::string const precision = row.precision;
  problem.solver.precision = precision == "fp32"   ? Precision::fp32
                             : precision == "fp64" ? Precision::fp64
                                                   : Precision::mixed;
  problem.solver.kernel = to_string(row.kernel);
  BoxGrid const grid(problem.cells, problem.lengths);
  auto const conditions = boundary_conditions(problem, grid);
  auto const solver = make_state_solver(space, grid, cube_stiffness(), conditions, problem.solver);
  auto const density = allocate<CellField<double, Memory>>(space, "perf::density", grid.cell_count());
  Kokkos::deep_copy(space, density, 0.5);
  solver->set_density(space, density, SimpInterpolation{});
  Solve solve;
  solve.energy = measure(board, length, [&] {
    solve.result = solver->solve(space, 0, SolveOptions{1e-5, 20000}, true);
    space.fence();
  });
  return solve;
}

void measure_size(Space const& space, Board const& board, double length, Size const& size, Csv& csv) {
  std::printf("\n%s: %lld cells\n%-12s %-20s %-5s %12s %8s %12s %12s %8s  %s\n", size.name.c_str(),
              static_cast<long long>(size.count()), "", "kernel", "prec", "ms each", "mean W", "J each", "nJ/cell",
              "J ratio", "");
  // The first row of each kind is the source's baseline, the second its fused kernel.
  Row const rows[] = {{ElasticityKernel::three_stage, "fp64"}, {ElasticityKernel::fused_scatter_table, "fp32"},
                      {ElasticityKernel::three_stage, "fp32"}, {ElasticityKernel::fused_scatter, "fp32"},
                      {ElasticityKernel::parity, "fp64"},      {ElasticityKernel::parity, "fp32"},
                      {ElasticityKernel::parity, "mixed"}};
  for (bool const is_solve : {false, true}) {
    char const* const kind = is_solve ? "solve" : "application";
    double baseline = 0;
    for (auto const& row : rows) {
      std::string const name = to_string(row.kernel), precision = row.precision;
      Solve solve;
      try {
        solve = is_solve ? measure_solve(space, board, length, size, row)
                         : Solve{precision == "fp64"
                                     ? measure_application<double, double>(space, board, length, size, row.kernel)
                                 : precision == "fp32"
                                     ? measure_application<float, float>(space, board, length, size, row.kernel)
                                     : measure_application<float, double>(space, board, length, size, row.kernel),
                                 {}};
      } catch (std::exception const& error) {
        std::printf("%-12s %-20s %-5s %s\n", kind, name.c_str(), row.precision, first_line(error.what()).c_str());
        continue;
      }
      Energy const& energy = solve.energy;
      if (baseline == 0) baseline = energy.joules;
      std::string remark;
      if (is_solve) {
        remark = std::to_string(solve.result.iterations) + " iterations, " + to_string(solve.result.status);
      }
      std::printf("%-12s %-20s %-5s %12.4f %8.1f %12.5g %12.4g %8.2f  %s\n", kind, name.c_str(), row.precision,
                  energy.seconds * 1e3, energy.watts, energy.joules,
                  energy.joules / static_cast<double>(size.count()) * 1e9, baseline / energy.joules, remark.c_str());
      std::fflush(stdout);
      csv.row(size.name, size.count(), kind, name, row.precision, energy.seconds * 1e3, energy.watts, energy.joules,
              baseline / energy.joules, energy.calls, solve.result.iterations,
              is_solve ? to_string(solve.result.status) : std::string());
    }
  }
}

int run(int argc, char** argv) {
  Options const options = parse_options(argc, argv, {"--seconds"}, {}, {"216k", "1M"});
  std::string const seconds = options.value("--seconds", "2");
  char* end = nullptr;
  double const length = std::strtod(seconds.c_str(), &end);
  BRICKWORK_REQUIRE(!seconds.empty() && *end == 0 && length >= 1 && length <= 600, "--seconds: '", seconds,
                    "' is no number of 1 to 600");
  std::string const bus = bus_id();
  if (bus.empty()) {
    std::printf("skipped: the kernels run on %s; only a GPU of NVIDIA reports its power\n", Space::name());
    return skipped;
  }
  Board const board(bus);
  auto const idle = board.watts();
  if (!idle) {
    std::printf("skipped: neither libnvidia-ml.so.1 nor nvidia-smi tells the power of the GPU %s\n", bus.c_str());
    return skipped;
  }
  Csv csv(options.value("--csv"),
          "size,cells,kind,kernel,precision,milliseconds,mean_watts,joules,joule_ratio,calls,iterations,status");
  Space const space;
  std::printf("Energy by board power (%s), %.1f s each; joule ratio: three_stage fp64 over this\n", board.source(),
              length);
  std::printf("(source: fused FP32 against three-stage FP64 in whole runs on an RTX 4090: 3.2 to 4.9)\n");
  print_machine(space);
  std::printf("before the first kernel: %.1f W; energy by %s\n", *idle,
              board.joules() ? "the board's counter" : "mean power times time");
  for (auto const& size : options.sizes) measure_size(space, board, length, size, csv);
  return 0;
}

}  // namespace

int main(int argc, char* argv[]) { return run_program(argc, argv, usage, run); }
