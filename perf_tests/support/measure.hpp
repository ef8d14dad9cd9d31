// SPDX-License-Identifier: BSD-3-Clause
// What the performance programs share: sizes and options, operands, timing, bandwidth, tables as CSV.
//
// Timing. A call is repeated in batches of some 20 ms; the figure is the median over the batches. On Cuda a batch is
// timed by events on the instance's stream, elsewhere by the clock around a fence. Operands rotate among sets that
// together exceed the caches (`Rotation`), because a solver's other vectors push the operands out between two
// applications; what a kernel keeps for itself (tables, workspaces) does not rotate.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/device_memory.hpp"
#include "brickwork/core/fields.hpp"
#include "brickwork/core/types.hpp"

namespace perf {

using brickwork::Index3;
using brickwork::index_t;
using Space = Kokkos::DefaultExecutionSpace;
using Memory = Space::memory_space;

#if defined(KOKKOS_ENABLE_CUDA)
inline constexpr bool on_cuda = std::is_same_v<Space, Kokkos::Cuda>;
#else
inline constexpr bool on_cuda = false;
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Sizes and options
// ---------------------------------------------------------------------------------------------------------------------

struct Size {
  std::string name;
  Index3 cells{};
  index_t count() const { return cells[0] * cells[1] * cells[2]; }
};

/// "NX,NY,NZ", "N" (a cube), or a name: the source text's cantilever grids and two large cubes.
inline Size parse_size(std::string const& word) {
  static std::map<std::string, Index3> const names = {{"64k", {80, 40, 20}},      {"216k", {120, 60, 30}},
                                                      {"512k", {160, 80, 40}},    {"1M", {200, 100, 50}},
                                                      {"16.8M", {256, 256, 256}}, {"134M", {512, 512, 512}}};
  auto const known = names.find(word);
  if (known != names.end()) return {word, known->second};
  long long n[3] = {0, 0, 0};
  int used = 0;
  int const fields = std::sscanf(word.c_str(), "%lld,%lld,%lld%n", &n[0], &n[1], &n[2], &used);
  if (fields == 3 && used == static_cast<int>(word.size()) && n[0] > 0 && n[1] > 0 && n[2] > 0) {
    std::string const name = std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]);
    return {name, {n[0], n[1], n[2]}};
  }
  if (std::sscanf(word.c_str(), "%lld%n", &n[0], &used) == 1 && used == static_cast<int>(word.size()) && n[0] > 0) {
    return {word + "^3", {n[0], n[0], n[0]}};
  }
  throw brickwork::InputError("size '" + word +
                              "' is none of NX,NY,NZ, N (a cube), 64k, 216k, 512k, 1M, 16.8M, 134M, with positive "
                              "numbers");
}

inline std::vector<std::string> split(std::string const& list) {
  std::vector<std::string> words(1);
  for (char c : list) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// "3,1,2" as numbers.
inline std::vector<int> integers(std::string const& list) {
  std::vector<int> values;
  for (auto const& word : split(list)) values.push_back(std::stoi(word));
  return values;
}

/// Sizes, `--name value` and `--flag` words of a command line.
struct Options {
  std::vector<Size> sizes;
  std::map<std::string, std::string> values;
  std::set<std::string> flags;

  bool flag(std::string const& name) const { return flags.count(name) > 0; }
  std::string value(std::string const& name, std::string const& otherwise = {}) const {
    auto const found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
  /// \throws InputError for anything but a whole number
  int count(std::string const& name, int otherwise) const {
    std::string const word = value(name, std::to_string(otherwise));
    BRICKWORK_REQUIRE(!word.empty() && word.size() < 7 && word.find_first_not_of("0123456789") == std::string::npos,
                      name, " ", word, ": a whole number from 0 to 999999 is needed");
    return std::stoi(word);
  }
};

/// \param values, flags  the options known beside --csv FILE, with their dashes
/// \throws InputError for an unknown word, a missing value or a size that makes no sense
inline Options parse_options(int argc, char** argv, std::set<std::string> values, std::set<std::string> const& flags,
                             std::vector<std::string> const& default_sizes) {
  values.insert("--csv");
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (values.count(word)) {
      BRICKWORK_REQUIRE(i + 1 < argc, word, " needs a value");
      options.values[word] = argv[++i];
    } else if (flags.count(word)) {
      options.flags.insert(word);
    } else {
      BRICKWORK_REQUIRE(word.rfind("-", 0) != 0, "option '", word, "' is unknown");
      options.sizes.push_back(parse_size(word));
    }
  }
  if (options.sizes.empty()) {
    for (auto const& word : default_sizes) options.sizes.push_back(parse_size(word));
  }
  return options;
}

/// Runs `body(argc, argv)` inside Kokkos and turns errors into one line: exit code 2 for a bad argument (with the
/// usage), 1 for any other failure.
template <class Body>
int run_program(int argc, char** argv, char const* usage, Body const& body) {
  Kokkos::ScopeGuard const guard(argc, argv);
  try {
    return body(argc, argv);
  } catch (brickwork::InputError const& error) {
    std::fprintf(stderr, "error: %s\nusage: %s %s\n", error.what(), argv[0], usage);
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

/// The first line of a message: Kokkos' own have many.
inline std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

/// A table as comma-separated values; without a path nothing is written.
class Csv {
 public:
  /// \param header column names, separated by commas \throws Error where the file cannot be written
  Csv(std::string const& path, char const* header) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) throw brickwork::Error("cannot write " + path);
    std::fprintf(file_, "%s\n", header);
  }
  ~Csv() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Csv(Csv const&) = delete;
  Csv& operator=(Csv const&) = delete;

  template <class... Values>
  void row(Values const&... values) {
    if (file_ == nullptr) return;
    char const* separator = "";
    ((put(separator, values), separator = ","), ...);
    std::fputc('\n', file_);
    std::fflush(file_);  // what was measured survives a program that is stopped
  }

  /// A row of fields that are texts already.
  void texts(std::vector<std::string> const& fields) {
    if (file_ == nullptr) return;
    for (std::size_t i = 0; i < fields.size(); ++i) put(i == 0 ? "" : ",", fields[i]);
    std::fputc('\n', file_);
    std::fflush(file_);
  }

 private:
  void put(char const* separator, std::string text) {
    std::replace(text.begin(), text.end(), ',', ';');  // a reason in words is one field
    std::fprintf(file_, "%s%s", separator, text.c_str());
  }
  void put(char const* separator, char const* text) { put(separator, std::string(text)); }
  template <class Number>
  void put(char const* separator, Number const& number) {
    if constexpr (std::is_integral_v<Number>) {
      std::fprintf(file_, "%s%lld", separator, static_cast<long long>(number));
    } else {
      std::fprintf(file_, "%s%.7g", separator, static_cast<double>(number));
    }
  }
  std::FILE* file_ = nullptr;
};

/// What every table begins with: backend and device.
inline void print_machine(Space const& space) {
  std::printf("%s, %d way%s; %s\n", Space::name(), static_cast<int>(space.concurrency()),
              space.concurrency() == 1 ? "" : "s", brickwork::memory_state().device.c_str());
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------------

/// Bytes in use on the device (host: peak of the process, which never falls).
inline index_t used_memory() { return brickwork::memory_state().used_peak; }
/// Bytes that can still be allocated; -1 = unknown.
inline index_t available_memory() { return brickwork::memory_state().available; }

// ---------------------------------------------------------------------------------------------------------------------
// Time
// ---------------------------------------------------------------------------------------------------------------------

/// Seconds between two points of an instance's work.
class Stopwatch {
 public:
  explicit Stopwatch(Space const& space) : space_(space) {
#if defined(KOKKOS_ENABLE_CUDA)
    if constexpr (on_cuda) {
      cudaEventCreate(&begin_);
      cudaEventCreate(&end_);
    }
#endif
  }
  ~Stopwatch() {
#if defined(KOKKOS_ENABLE_CUDA)
    if constexpr (on_cuda) {
      cudaEventDestroy(begin_);
      cudaEventDestroy(end_);
    }
#endif
  }
  Stopwatch(Stopwatch const&) = delete;
  Stopwatch& operator=(Stopwatch const&) = delete;

  void start() {
    space_.fence();
    start_ = std::chrono::steady_clock::now();
#if defined(KOKKOS_ENABLE_CUDA)
    if constexpr (on_cuda) cudaEventRecord(begin_, space_.cuda_stream());
#endif
  }
  /// Waits for the work since start().
  double stop() {
#if defined(KOKKOS_ENABLE_CUDA)
    if constexpr (on_cuda) {
      cudaEventRecord(end_, space_.cuda_stream());
      cudaEventSynchronize(end_);
      float milliseconds = 0;
      // Where the events failed, a kernel before did: a figure would be a lie.
      cudaError_t const error = cudaEventElapsedTime(&milliseconds, begin_, end_);
      if (error != cudaSuccess) throw brickwork::Error(cudaGetErrorString(error));
      return 1e-3 * static_cast<double>(milliseconds);
    }
#endif
    space_.fence();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  Space space_;
  std::chrono::steady_clock::time_point start_;
#if defined(KOKKOS_ENABLE_CUDA)
  cudaEvent_t begin_{}, end_{};
#endif
};

/// How long a figure may take.
struct Budget {
  double target = 0.25;  ///< seconds that the batches fill
  double cap = 1.5;      ///< no further batch after this many seconds; a call slower than this runs once
};

/// Median seconds of `call(i)`, i = 0, 1, 2, ... counting calls (for the choice of a set of operands).
template <class Call>
double median_seconds(Space const& space, Call const& call, Budget const& budget = {}) {
  Stopwatch watch(space);
  int next = 0;
  auto const timed = [&](int calls) {
    watch.start();
    for (int i = 0; i < calls; ++i) call(next++);
    return watch.stop() / calls;
  };
  double const first = timed(1);
  if (first > budget.cap) return first;
  double const once = first > 0.2 ? first : timed(2);  // the first call loads the kernel
  int const calls = std::clamp(static_cast<int>(0.02 / std::max(once, 1e-7)), 1, 1000);
  std::vector<double> seconds;
  double total = 0;
  do {
    seconds.push_back(timed(calls));
    total += seconds.back() * calls;
  } while (total < budget.cap && (seconds.size() < 5 || (total < budget.target && seconds.size() < 100)));
  auto const middle = seconds.begin() + static_cast<long>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Bytes that no cache holds: several times the largest second-level cache of a GPU, and a shared processor's part of
/// its last level.
inline constexpr double beyond_caches = on_cuda ? 400e6 : 256e6;

/// Sets of operands of `bytes_per_set` that together pass the caches.
inline int rotation_sets(double bytes_per_set, int most = 256) {
  return std::clamp(static_cast<int>(beyond_caches / std::max(bytes_per_set, 1.0)) + 1, 1, most);
}

// ---------------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------------

/// Pseudo-random values in [0.25, 1), the same on every machine.
template <class Scalar>
struct Fill {
  Scalar* values;
  index_t seed;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    values[i] =
        static_cast<Scalar>(0.25 + 0.75 * static_cast<double>(((i + seed) * 2654435761LL >> 7) & 1023) / 1024.0);
  }
};

template <class Scalar>
void fill(Space const& space, Scalar* values, index_t count, index_t seed = 0) {
  Kokkos::parallel_for("perf::fill", brickwork::range(space, count), Fill<Scalar>{values, seed});
}

template <class Scalar>
brickwork::NodalVector<Scalar, Memory> filled_vector(Space const& space, index_t nodes, index_t seed = 0) {
  auto const vector = brickwork::allocate<brickwork::NodalVector<Scalar, Memory>>(space, "perf::vector", nodes);
  fill(space, vector.data(), 3 * nodes, seed);
  return vector;
}

template <class Scalar>
brickwork::CellField<Scalar, Memory> filled_field(Space const& space, index_t cells, index_t seed = 0) {
  auto const field = brickwork::allocate<brickwork::CellField<Scalar, Memory>>(space, "perf::field", cells);
  fill(space, field.data(), cells, seed);
  return field;
}

/// Several arrays of one size in one allocation, filled: the operands of a rotation.
template <class Scalar>
class Pool {
 public:
  Pool(Space const& space, index_t extent, int count)
      : pitch_((extent + 63) / 64 * 64), values_(filled_field<Scalar>(space, pitch_ * count)) {}
  Scalar* data(int i) const { return values_.data() + i * pitch_; }
  brickwork::NodalVector<Scalar, Memory> vector(int i, index_t nodes) const {
    return brickwork::NodalVector<Scalar, Memory>(data(i), static_cast<std::size_t>(nodes));
  }
  brickwork::CellField<Scalar, Memory> field(int i, index_t cells) const {
    return brickwork::CellField<Scalar, Memory>(data(i), static_cast<std::size_t>(cells));
  }

 private:
  index_t pitch_;
  brickwork::CellField<Scalar, Memory> values_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Bandwidth
// ---------------------------------------------------------------------------------------------------------------------

// A thread moves 16 bytes in one instruction, which a GPU needs to come near its memory's rate.
struct alignas(16) Pack {
  double value[2];
};

struct CopyPacks {
  Pack const* from;
  Pack* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = from[i]; }
};

/// Bytes per second, read plus written.
struct CopyBandwidth {
  double kernel = 0;
  double runtime = 0;
  double best() const { return std::max(kernel, runtime); }
};

/// Copies `bytes` / 2 from one array to another, by a kernel of Kokkos and by the runtime (deep_copy); prints both.
inline CopyBandwidth copy_bandwidth(Space const& space, index_t bytes) {
  index_t const packs = std::max<index_t>(bytes / 32, 1 << 12);
  auto const from = filled_field<double>(space, 2 * packs);
  auto const to = filled_field<double>(space, 2 * packs);
  CopyPacks const copy{reinterpret_cast<Pack const*>(from.data()), reinterpret_cast<Pack*>(to.data())};
  auto const moved = 32.0 * static_cast<double>(packs);
  CopyBandwidth result;
  result.kernel = moved / median_seconds(space, [&](int) {
                    Kokkos::parallel_for("perf::copy", brickwork::range(space, packs), copy);
                  });
  result.runtime = moved / median_seconds(space, [&](int) { Kokkos::deep_copy(space, to, from); });
  std::printf("copy bandwidth, read plus written, %.0f MB: %.1f GB/s by a kernel, %.1f GB/s by the runtime\n",
              moved * 1e-6, result.kernel * 1e-9, result.runtime * 1e-9);
  return result;
}

/// What copy_bandwidth() is asked for: far beyond the caches, and quick on a processor.
inline constexpr index_t copy_bytes = on_cuda ? index_t(1) << 32 : index_t(1) << 28;

}  // namespace perf
