// SPDX-License-Identifier: BSD-3-Clause
// The unit tests' main: Kokkos lives around the whole session, so that no View outlives it.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <Kokkos_Core.hpp>
#include <cstdlib>

int main(int argc, char* argv[]) {
  setenv("OMP_PROC_BIND", "false", 0);  // Kokkos warns where it is not set
  Kokkos::initialize(argc, argv);
  int const failed = Catch::Session().run(argc, argv);
  Kokkos::finalize();
  return failed;
}
