// SPDX-License-Identifier: BSD-3-Clause
// What the main programs share: exit codes and error lines, Kokkos' start and end, the first Ctrl-C, and the refusal of
// a run that cannot fit.
#pragma once

#include <Kokkos_Core.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/device_memory.hpp"
#include "brickwork/io/progress.hpp"

namespace brickwork::driver {

enum ExitCode { finished = 0, failed = 1, bad_input = 2, capped = 3, out_of_memory = 4 };

/// Set by the first Ctrl-C: a design run then ends after its step. A second one ends the program at once.
inline volatile std::sig_atomic_t interrupted = 0;

extern "C" inline void brickwork_on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

/// "80 x 40 x 20".
inline std::string triple(Index3 const& n) {
  return std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]);
}

/// "12.3 GiB, 98.1 bytes per cell".
inline std::string describe_bytes(index_t bytes, index_t cells) {
  char text[64];
  std::snprintf(text, sizeof text, "%s, %.1f bytes per cell", format_bytes(double(bytes)).c_str(),
                double(bytes) / double(cells));
  return text;
}

/// Refuses a run that cannot fit, before anything grid-sized is allocated.
/// \param remedy what else would help beside a smaller grid (" or ..."), or empty
/// \throws OutOfMemory
inline void require_memory(Index3 const& cells, index_t bytes, MemoryState const& memory, std::string const& remedy) {
  if (memory.available < 0 || bytes <= memory.available) return;
  throw OutOfMemory("grid " + triple(cells) + " needs " + format_bytes(double(bytes)) + " (" + std::to_string(bytes) +
                    " bytes), but " + memory.device + " has " + format_bytes(double(memory.available)) +
                    " free; use a smaller grid" + remedy);
}

/// Calls `body` with Kokkos running and Ctrl-C caught, and ends Kokkos whatever happens.
/// \param threads host threads, 0 = all
/// \param device  number of the GPU, -1 = Kokkos chooses
template <class Body>
int run_with_kokkos(char* program, int threads, int device, Body const& body) {
#if defined(KOKKOS_ENABLE_OPENMP)
  // Kokkos warns where this is unset. The OpenMP runtime has read its environment by now: whoever wants threads bound
  // sets OMP_PROC_BIND before the start.
  setenv("OMP_PROC_BIND", "false", 0);
#endif
  // Arguments are ours alone, so Kokkos gets its settings as a command line, which every version understands.
  std::vector<std::string> words{program};
  if (threads > 0)
    words.push_back("--kokkos-" + std::string(KOKKOS_VERSION < 30700 ? "" : "num-") +
                    "threads=" + std::to_string(threads));
  if (device >= 0) words.push_back("--kokkos-device-id=" + std::to_string(device));
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  Kokkos::initialize(count, pointers.data());
  std::signal(SIGINT, brickwork_on_interrupt);
  int code = failed;
  try {
    code = body();
  } catch (...) {
    Kokkos::finalize();
    throw;
  }
  Kokkos::finalize();
  return code;
}

/// Calls `body` and turns what it throws into one line on standard error and an exit code.
template <class Body>
int report_errors(char const* program, Body const& body) {
  try {
    return body();
  } catch (InputError const& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return bad_input;
  } catch (OutOfMemory const& error) {
    std::cerr << program << ": out of memory: " << error.what() << "\n";
    return out_of_memory;
  } catch (std::bad_alloc const&) {
    std::cerr << program << ": out of memory on the host\n";
    return out_of_memory;
  } catch (std::exception const& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return failed;
  }
}

}  // namespace brickwork::driver
