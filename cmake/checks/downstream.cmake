# Builds and runs examples/downstream as a user would.
#   cmake -DMODE=installed|subdirectory -DSOURCE=... -DBUILD=... -DWORK=... -DGENERATOR=... -DCXX=... -DBUILD_TYPE=...
#         -DKOKKOS_DIR=... [-DRUN=OFF] [-DCUDA_ARCH=90] -P downstream.cmake
# installed: installs BUILD under WORK and finds it with find_package; subdirectory: adds SOURCE with add_subdirectory.
cmake_minimum_required(VERSION 3.20)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "downstream (${MODE}): ${what} failed with ${result}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(options -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_EXTENSIONS=OFF")
if(MODE STREQUAL "installed")
  run("installing Brickwork" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
  # No word about Kokkos here: the package must find the one it was built with.
  list(APPEND options "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
else()
  # The library is compiled once more: without optimization and for one execution space, which is a third of the time.
  list(APPEND options "-DDOWNSTREAM_BRICKWORK_SOURCE=${SOURCE}" "-DKokkos_DIR=${KOKKOS_DIR}" -DBrickwork_DEFAULT_SPACE_ONLY=ON
       -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
endif()
run("configuring" "${CMAKE_COMMAND}" -S "${SOURCE}/examples/downstream" -B "${WORK}/build" ${options})
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
run("building" "${CMAKE_COMMAND}" --build "${WORK}/build" -j ${cores})
if(NOT DEFINED RUN OR RUN)
  run("running" "${WORK}/build/downstream")
endif()
message(STATUS "downstream (${MODE}): passed")
