# forge_precompile(TARGET [tests]): what most sources of TARGET include first is read once for the whole
# build, not once a source: the standard library and tl::expected, with `tests` GoogleTest too.
#
# A source still includes what it uses. The preset clang, which scripts/tidy reads, builds without
# precompiled headers.
#
# A precompiled header serves targets with the same language flags, so all have those of forge_flags.
# How far a target is optimised is its own affair, unless it is not optimised at all: such are the
# tests of a build with sanitizers, all of them.

# Tests run once where they were compiled once: what the optimiser takes is not won back.
if(FORGE_SANITIZE)
  set(FORGE_TEST_LEVEL -O0)
else()
  set(FORGE_TEST_LEVEL $<$<CONFIG:Release>:-O1>)
endif()

# Not <iostream>, which makes every object print a little: the core must not (tests/tidy).
set(headers
  <algorithm> <array> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <span> <sstream> <string>
  <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>
  <tl/expected.hpp>)

file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cc "")
add_library(forge_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
target_link_libraries(forge_precompiled PRIVATE forge_flags tl::expected)
target_precompile_headers(forge_precompiled PRIVATE ${headers})
add_dependencies(forge_precompiled check_layers)
if(FORGE_BUILD_TESTS)
  add_library(forge_precompiled_tests OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(forge_precompiled_tests PRIVATE
    forge_flags tl::expected GTest::gtest GTest::gmock)
  target_compile_options(forge_precompiled_tests PRIVATE ${FORGE_TEST_LEVEL})
  target_precompile_headers(forge_precompiled_tests PRIVATE
    ${headers} <gmock/gmock.h> <gtest/gtest.h>)
  add_dependencies(forge_precompiled_tests check_layers)
endif()

# ccache knows a precompiled header by its content, if the compiler says where it uses one.
target_compile_options(forge_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")

function(forge_precompile target)
  if(ARGN STREQUAL "tests")
    target_precompile_headers(${target} REUSE_FROM forge_precompiled_tests)
  else()
    target_precompile_headers(${target} REUSE_FROM forge_precompiled)
  endif()
endfunction()
