# Every dependency: the system's package where there is one, else its sources.
#
# FIND_PACKAGE_ARGS makes FetchContent try find_package first, so on Debian 12 (scripts/setup
# installs the packages) nothing is fetched; -DFETCHCONTENT_FULLY_DISCONNECTED=ON proves it.
# Either way the project links the same target names.
include(FetchContent)

# forge_dependency(NAME TARGET FROM ... [FIND ...] [AS ...]): makes TARGET exist. FROM has the
# arguments of FetchContent_Declare, FIND those of find_package, and AS the targets of the fetched
# sources that TARGET stands for where they do not define it.
function(forge_dependency name target)
  cmake_parse_arguments(arg "" "" "FROM;FIND;AS" ${ARGN})
  # Options of fetched projects are set as plain variables below: they must win over option()
  # and set(CACHE) of projects that ask for older policies.
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(BUILD_TESTING OFF)
  FetchContent_Declare(${name} ${arg_FROM} SYSTEM FIND_PACKAGE_ARGS ${arg_FIND})
  FetchContent_MakeAvailable(${name})

  string(TOLOWER ${name} lower_name)
  if(DEFINED ${lower_name}_SOURCE_DIR)
    set_property(GLOBAL APPEND PROPERTY FORGE_FETCHED ${name})
  endif()
  if(TARGET ${target})
    return()
  endif()
  foreach(source_target IN LISTS arg_AS)
    if(TARGET ${source_target})
      continue()
    endif()
    set(arg_AS "")
    break()
  endforeach()
  if(NOT arg_AS)
    message(FATAL_ERROR "${name}: neither installed nor fetched (no target ${target}). "
      "On Debian 12 run `scripts/setup --test`; elsewhere install ${name}, or let CMake fetch it.")
  endif()
  add_library(forge_${name} INTERFACE)
  target_link_libraries(forge_${name} INTERFACE ${arg_AS})
  add_library(${target} ALIAS forge_${name})
endfunction()

set(EXPECTED_BUILD_PACKAGE OFF)
forge_dependency(tl-expected tl::expected
  FROM GIT_REPOSITORY https://github.com/TartanLlama/expected GIT_TAG v1.0.0 GIT_SHALLOW ON)

set(EIGEN_BUILD_DOC OFF)
set(EIGEN_BUILD_PKGCONFIG OFF)
forge_dependency(Eigen3 Eigen3::Eigen
  FROM GIT_REPOSITORY https://gitlab.com/libeigen/eigen GIT_TAG 3.4.0 GIT_SHALLOW ON
  FIND 3.4 CONFIG)

set(HWY_ENABLE_CONTRIB OFF)
set(HWY_ENABLE_EXAMPLES OFF)
set(HWY_ENABLE_TESTS OFF)
forge_dependency(hwy hwy::hwy
  FROM GIT_REPOSITORY https://github.com/google/highway GIT_TAG 1.0.7 GIT_SHALLOW ON
  FIND 1.0.3 CONFIG
  AS hwy)

forge_dependency(CLI11 CLI11::CLI11
  FROM GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG v2.1.2 GIT_SHALLOW ON)

forge_dependency(nlohmann_json nlohmann_json::nlohmann_json
  FROM GIT_REPOSITORY https://github.com/nlohmann/json GIT_TAG v3.11.2 GIT_SHALLOW ON)

# Regular expressions over 8-bit code units, compiled to machine code where it knows how.
set(PCRE2_SUPPORT_JIT ON)
set(PCRE2_BUILD_PCRE2GREP OFF)
set(PCRE2_BUILD_TESTS OFF)
forge_dependency(PCRE2 PCRE2::8BIT
  FROM GIT_REPOSITORY https://github.com/PCRE2Project/pcre2 GIT_TAG pcre2-10.42 GIT_SHALLOW ON
  FIND MODULE
  AS pcre2-8-static)

# What Unicode says of characters.
set(UTF8PROC_INSTALL OFF)
set(UTF8PROC_ENABLE_TESTING OFF)
forge_dependency(utf8proc utf8proc::utf8proc
  FROM GIT_REPOSITORY https://github.com/JuliaStrings/utf8proc GIT_TAG v2.8.0 GIT_SHALLOW ON
  FIND MODULE
  AS utf8proc)

# XXH3, the hash of the weights' digest, whose results are fixed since 0.8.0.
set(XXHASH_BUILD_XXHSUM OFF)
set(XXHASH_BUNDLED_MODE ON)
set(BUILD_SHARED_LIBS OFF)  # which it would set for all that follow
forge_dependency(xxhash xxhash::xxhash
  FROM GIT_REPOSITORY https://github.com/Cyan4973/xxHash GIT_TAG v0.8.1 GIT_SHALLOW ON
       SOURCE_SUBDIR cmake_unofficial
  FIND MODULE
  AS xxhash)
unset(BUILD_SHARED_LIBS)

# Asio and Beast, header-only, and Context, which is compiled.
set(BOOST_INCLUDE_LIBRARIES asio beast context)
set(BOOST_ENABLE_CMAKE ON)
forge_dependency(Boost Boost::headers
  FROM URL https://github.com/boostorg/boost/releases/download/boost-1.81.0/boost-1.81.0.tar.xz
       URL_HASH SHA256=06bc525a392650eb6248f40a13f40112b6c485eec7103b6dcde7196f2a3570e0
       DOWNLOAD_EXTRACT_TIMESTAMP ON
  FIND 1.81 CONFIG COMPONENTS context
  AS Boost::asio Boost::beast Boost::context)

# The text of metrics. Of its parts only the core, which opens no connection.
set(ENABLE_PULL OFF)
set(ENABLE_PUSH OFF)
set(ENABLE_COMPRESSION OFF)
set(ENABLE_TESTING OFF)
set(GENERATE_PKGCONFIG OFF)
forge_dependency(prometheus-cpp prometheus-cpp::core
  FROM GIT_REPOSITORY https://github.com/jupp0r/prometheus-cpp GIT_TAG v1.0.1 GIT_SHALLOW ON
       GIT_SUBMODULES ""
  FIND CONFIG)

# Messages to those who follow the cache: the library, then its headers for C++.
set(BUILD_SHARED OFF)
set(BUILD_TESTS OFF)
set(ENABLE_CPACK OFF)
set(ENABLE_CURVE OFF)
set(ENABLE_DRAFTS OFF)
set(ENABLE_WS OFF)
set(WITH_DOCS OFF)
set(WITH_PERF_TOOL OFF)
forge_dependency(ZeroMQ libzmq-static
  FROM GIT_REPOSITORY https://github.com/zeromq/libzmq GIT_TAG v4.3.4 GIT_SHALLOW ON
  FIND MODULE)
set(CPPZMQ_BUILD_TESTS OFF)
forge_dependency(cppzmq cppzmq-static
  FROM GIT_REPOSITORY https://github.com/zeromq/cppzmq GIT_TAG v4.9.0 GIT_SHALLOW ON
  FIND CONFIG)

find_package(Threads REQUIRED)

# It has no build of CMake's that could be fetched; every system has a package of it.
find_package(OpenSSL 3)
if(NOT OPENSSL_FOUND)
  message(FATAL_ERROR "OpenSSL 3 is needed for keys and TLS. On Debian 12 run `scripts/setup`; elsewhere "
    "install its package with headers (libssl-dev, openssl-devel, openssl@3).")
endif()

if(FORGE_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  # Not declared as GTest: gtest_SOURCE_DIR is a name that its own build uses.
  forge_dependency(googletest GTest::gmock
    FROM GIT_REPOSITORY https://github.com/google/googletest GIT_TAG release-1.12.1 GIT_SHALLOW ON
    FIND NAMES GTest)

  # rapidcheck has no releases. Targets rapidcheck and rapidcheck_gtest (rapidcheck/gtest.h), from
  # sources and from Debian's package alike.
  set(RC_ENABLE_GTEST ON)
  forge_dependency(rapidcheck rapidcheck_gtest
    FROM GIT_REPOSITORY https://github.com/emil-e/rapidcheck
         GIT_TAG ff6af6fc683159deb51c543b065eba14dfcf329b
    FIND CONFIG)
endif()
if(FORGE_BUILD_BENCHMARKS)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  forge_dependency(benchmark benchmark::benchmark
    FROM GIT_REPOSITORY https://github.com/google/benchmark GIT_TAG v1.7.1 GIT_SHALLOW ON)
endif()
