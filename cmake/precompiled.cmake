# How the newcomer's wait is kept short: what many sources include is read once.
#
# forge_precompile(TARGET [programs | tests]): the standard library and tl::expected are read once for
# all such targets, not once a source; with `tests` GoogleTest, too. A precompiled header serves targets
# of the same flags: there is one for the layers, one for what is optimised as programs are, and one for
# tests. A source with a level of its own must do without (SKIP_PRECOMPILE_HEADERS): g++ 12 crashes.
#
# forge_compile_together(TARGET): the sources of TARGET are compiled eight at a time, so that templates
# of JSON, sockets and tests are instantiated once for eight. Their names share a namespace then.
# FORGE_TOGETHER=OFF leaves each alone.
#
# forge_compile_alone(SOURCE...): these sources of the folder are not compiled with others: a lab puts a
# student's file in their place (labs/CMakeLists.txt).
#
# A source still includes what it uses. The preset clang, which scripts/tidy reads, has neither. Clang
# precompiles nothing: its precompiled headers name the folder that they were made in, and no other clone
# could use what ccache has of one.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
option(FORGE_TOGETHER "Compile the sources of a target together, where it allows that" ON)

# Command lines, JSON and sockets: templates that take the optimiser long and a run no time. Tests run
# once where they were compiled once: what the optimiser takes is not won back.
set(FORGE_PROGRAM_LEVEL $<$<CONFIG:Release>:-O1>)
if(FORGE_SANITIZE)
  set(FORGE_PROGRAM_LEVEL -O0)
endif()

# Not <iostream>, which makes every object print a little: the core must not (tests/tidy).
set(headers
  <algorithm> <array> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <span> <sstream> <string>
  <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>
  <tl/expected.hpp>)

# forge_add_precompiled(NAME LEVEL HEADER...)
function(forge_add_precompiled name level)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cc "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(${name} PRIVATE forge_flags tl::expected)
  target_compile_options(${name} PRIVATE ${level})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  add_dependencies(${name} check_layers)
endfunction()
forge_add_precompiled(forge_precompiled "" ${headers})
forge_add_precompiled(forge_precompiled_programs "${FORGE_PROGRAM_LEVEL}" ${headers})
if(FORGE_BUILD_TESTS)
  forge_add_precompiled(forge_precompiled_tests "${FORGE_PROGRAM_LEVEL}"
    ${headers} <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(forge_precompiled_tests PRIVATE GTest::gtest GTest::gmock)
endif()

# ccache knows a precompiled header by its content, if the compiler says where it uses one.
target_compile_options(forge_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)

function(forge_precompile target)
  list(JOIN ARGN "" kind)
  if(kind)
    string(PREPEND kind _)
  endif()
  target_precompile_headers(${target} REUSE_FROM forge_precompiled${kind})
endfunction()

function(forge_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FORGE_TOGETHER})
  if(FORGE_TOGETHER)  # what is anonymous in a source is not in the file that g++ is given
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(forge_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
