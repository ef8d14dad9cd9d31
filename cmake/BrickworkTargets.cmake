# Helpers for targets, and the generated header core/config.hpp.

set(BRICKWORK_GENERATED_INCLUDE "${CMAKE_CURRENT_BINARY_DIR}/include")

# The revision is asked for at every build, not when CMake runs: it must not be stale after the next commit.
find_package(Git QUIET)
set(BRICKWORK_REVISION_INCLUDE "${CMAKE_CURRENT_BINARY_DIR}/revision")
add_custom_target(
  brickwork_revision
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}" "-DOUTPUT=${BRICKWORK_REVISION_INCLUDE}/brickwork_revision.hpp"
          "-DGIT=${GIT_EXECUTABLE}" -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/BrickworkRevision.cmake"
  BYPRODUCTS "${BRICKWORK_REVISION_INCLUDE}/brickwork_revision.hpp"
  COMMENT ""
  VERBATIM)

foreach(part KOKKOS_KERNELS HDF5 ZLIB)
  set(BRICKWORK_${part}_VALUE 0)
  if(BRICKWORK_HAS_${part})
    set(BRICKWORK_${part}_VALUE 1)
  endif()
endforeach()
configure_file(include/brickwork/core/config.hpp.in "${BRICKWORK_GENERATED_INCLUDE}/brickwork/core/config.hpp" @ONLY)

# brickwork_compile_options(TARGET [HOST_ONLY]): options for Brickwork's own targets; nothing of it reaches a consumer.
# HOST_ONLY: sources without Kokkos, which nvcc_wrapper hands to the host compiler alone.
function(brickwork_compile_options target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOST_ONLY" "" "")
  if(BRICKWORK_HAS_CUDA AND arg_HOST_ONLY AND CMAKE_CXX_COMPILER MATCHES "nvcc_wrapper")
    target_compile_options(${target} PRIVATE --host-only)
  endif()
  if(BRICKWORK_HAS_CUDA AND NOT arg_HOST_ONLY)
    # constexpr functions of the Kokkos-free headers are called in kernels, with constant arguments.
    target_compile_options(${target} PRIVATE --expt-relaxed-constexpr)
    # Eigen marks functions that it defaults as device functions: hundreds of lines that hide what matters.
    target_compile_options(${target} PRIVATE "SHELL:-Xcudafe --diag_suppress=20012")
  endif()
  if(Brickwork_ENABLE_NATIVE AND NOT BRICKWORK_HAS_CUDA)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
  if(Brickwork_WARNINGS AND (NOT BRICKWORK_HAS_CUDA OR arg_HOST_ONLY))
    # GCC 12 takes the undefined registers of its own AVX-512 header for a mistake.
    target_compile_options(${target} PRIVATE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
  if(Brickwork_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${Brickwork_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${Brickwork_SANITIZE})
  endif()
endfunction()

# brickwork_add_executable(NAME SOURCES...): a program on Kokkos, in bin/.
function(brickwork_add_executable name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE brickwork::brickwork)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  brickwork_compile_options(${name})
  brickwork_kokkos_language(${name})
endfunction()

# Where Kokkos was built with CUDA as a CMake language, each source that uses it must be compiled as such.
function(brickwork_kokkos_language target)
  if(Kokkos_COMPILE_LANGUAGE AND NOT Kokkos_COMPILE_LANGUAGE STREQUAL "CXX")
    get_target_property(sources ${target} SOURCES)
    set_source_files_properties(${sources} PROPERTIES LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
  endif()
endfunction()
