// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/device_memory.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>

namespace brickwork {

namespace {

// "Name:   123 kB" of a /proc file, in bytes.
[[maybe_unused]] index_t proc_bytes(char const* file, std::string const& name) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    std::istringstream words(line.substr(name.size() + 1));
    index_t kilobytes = 0;
    if (words >> kilobytes) return kilobytes * 1024;
  }
  return -1;
}

[[maybe_unused]] index_t read_number(char const* file) {
  std::ifstream stream(file);
  index_t value = -1;
  return stream >> value ? value : -1;
}

[[maybe_unused]] std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  std::string line;
  while (std::getline(stream, line)) {
    auto const colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

MemoryState memory_state() {
  MemoryState state;
#if defined(KOKKOS_ENABLE_CUDA)
  std::size_t free_bytes = 0, total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
    state.available = static_cast<index_t>(free_bytes);
    state.used_peak = static_cast<index_t>(total_bytes - free_bytes);
  }
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    state.device = properties.name;
  }
#else
  state.available = proc_bytes("/proc/meminfo", "MemAvailable");
  index_t const limit = read_number("/sys/fs/cgroup/memory.max");
  index_t const current = read_number("/sys/fs/cgroup/memory.current");
  if (limit > 0 && current >= 0) {
    state.available = state.available < 0 ? limit - current : std::min(state.available, limit - current);
  }
  state.used_peak = proc_bytes("/proc/self/status", "VmHWM");
  state.device = processor_name();
#endif
  return state;
}

}  // namespace brickwork
