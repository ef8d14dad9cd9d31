# Install rules and the package that find_package(brickwork) reads.
set(BRICKWORK_WHY_NOT_INSTALL "")
if(NOT Brickwork_ENABLE_INSTALL)
  set(BRICKWORK_WHY_NOT_INSTALL "Brickwork_ENABLE_INSTALL is OFF")
elseif(BRICKWORK_KOKKOS_FETCHED)
  set(BRICKWORK_WHY_NOT_INSTALL "Kokkos was fetched and is part of this build; install Kokkos first and set Kokkos_ROOT")
elseif(NOT Kokkos_DIR)
  set(BRICKWORK_WHY_NOT_INSTALL "Kokkos is a target of the project around Brickwork, not an installed package")
endif()
if(BRICKWORK_WHY_NOT_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(BRICKWORK_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/brickwork")

install(TARGETS brickwork_host brickwork EXPORT brickworkTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT brickworkTargets NAMESPACE brickwork:: DESTINATION "${BRICKWORK_INSTALL_CMAKEDIR}")
install(DIRECTORY include/brickwork DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(FILES "${BRICKWORK_GENERATED_INCLUDE}/brickwork/core/config.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/brickwork/core")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET brickwork-simp)
  install(TARGETS brickwork-simp brickwork-homogenize brickwork-biharmonic RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/drivers/view/brickwork-view")
    install(PROGRAMS drivers/view/brickwork-view DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endif()

configure_package_config_file(
  cmake/brickworkConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/brickworkConfig.cmake"
  INSTALL_DESTINATION "${BRICKWORK_INSTALL_CMAKEDIR}" NO_SET_AND_CHECK_MACRO)
# While the version is 0.x, any minor release may change the interface.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/brickworkConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/brickworkConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/brickworkConfigVersion.cmake"
        DESTINATION "${BRICKWORK_INSTALL_CMAKEDIR}")
