# The package that find_package(forge) finds after `cmake --install`: targets forge::core,
# forge::numerics, ... with their headers, and the programs.
#
# An installed package names the libraries it needs, and find_package must find them again; with
# libraries that were fetched and built here there is none to find, so the package is left out.
include(CMakePackageConfigHelpers)
get_property(forge_fetched GLOBAL PROPERTY FORGE_FETCHED)
if(forge_fetched)
  message(STATUS "No CMake package will be installed: ${forge_fetched} came from sources")
  return()
endif()

set(forge_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/forge)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/forgeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/forgeConfig.cmake INSTALL_DESTINATION ${forge_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/forgeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/forgeConfig.cmake ${PROJECT_BINARY_DIR}/forgeConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake ${PROJECT_SOURCE_DIR}/cmake/Findutf8proc.cmake
  ${PROJECT_SOURCE_DIR}/cmake/Findxxhash.cmake ${PROJECT_SOURCE_DIR}/cmake/FindZeroMQ.cmake
  DESTINATION ${forge_package_dir})
install(EXPORT forge-targets NAMESPACE forge:: DESTINATION ${forge_package_dir}
  FILE forgeTargets.cmake)
if(FORGE_WITH_CUDA)
  install(EXPORT forge-cuda-targets NAMESPACE forge:: DESTINATION ${forge_package_dir}
    FILE forgeCudaTargets.cmake)
endif()
