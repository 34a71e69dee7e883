# The CUDA toolkit, for the real GPU: with FORGE_CUDA=AUTO it is used where it is found, ON demands
# it, OFF does without; the simulated GPU needs none.
#
# Sets FORGE_WITH_CUDA, and where that is ON enables the language CUDA. Machine code is for sm_80 and
# sm_90, PTX for what comes after; CMAKE_CUDA_ARCHITECTURES says otherwise.
set(FORGE_CUDA AUTO CACHE STRING "Build the real GPU target: AUTO (if a CUDA toolkit is found), ON or OFF")
set_property(CACHE FORGE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT FORGE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "FORGE_CUDA is '${FORGE_CUDA}'; it may be AUTO, ON or OFF")
endif()

# The device half of the contract in forge/numerics/canonical.h.
set(FORGE_CUDA_NUMERICS_FLAGS -fmad=false -ftz=false -prec-div=true -prec-sqrt=true)

set(FORGE_WITH_CUDA OFF)
if(FORGE_CUDA STREQUAL "OFF")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(FORGE_NVCC nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(FORGE_NVCC)
  if(FORGE_NVCC)
    set(ENV{CUDACXX} ${FORGE_NVCC})
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  set(FORGE_WITH_CUDA ON)
elseif(FORGE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "FORGE_CUDA=ON, but no CUDA compiler (nvcc) works here. "
    "Name one with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or use FORGE_CUDA=AUTO.")
else()
  message(STATUS "No CUDA toolkit: the real GPU target is not built")
  unset(CMAKE_CUDA_COMPILER CACHE)  # look again next time
  return()
endif()

# ccache must not compare preprocessed source: that is the text for one architecture of several.
if(forge_launcher AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${forge_launcher})
endif()
enable_language(CUDA)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # which nvcc 12 knows, but not CMake 3.25
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit 12.0 REQUIRED)  # the first with C++20
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size")  # 1.3 MB of kernels a program, not 5.2
endif()
