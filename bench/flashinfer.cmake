# The headers of FlashInfer, for the benchmark that measures ours beside it (peers_flashinfer.h).
# Nothing is downloaded; README.md has the command. Sets FORGE_WITH_FLASHINFER.
#
# FORGE_FLASHINFER_INCLUDE is the folder `include` of its Python package: found in a virtual
# environment, build/flashinfer or the one that is active, or given.
set(FORGE_FLASHINFER_VERSION 0.6.8)  # for which peers_flashinfer.cu is written
file(GLOB found LIST_DIRECTORIES true
  ${PROJECT_SOURCE_DIR}/build/flashinfer/lib/python3*/site-packages/flashinfer/data/include
  $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/flashinfer/data/include)
find_path(FORGE_FLASHINFER_INCLUDE flashinfer/attention/decode.cuh
  HINTS ${found} NO_DEFAULT_PATH
  DOC "FlashInfer's headers, for forge-cuda-bench: flashinfer/data/include of its Python package")
mark_as_advanced(FORGE_FLASHINFER_INCLUDE)

set(FORGE_WITH_FLASHINFER OFF)
if(NOT FORGE_FLASHINFER_INCLUDE)
  return()
endif()
get_filename_component(package ${FORGE_FLASHINFER_INCLUDE}/../.. ABSOLUTE)
set(version "of unknown version")
if(EXISTS ${package}/_build_meta.py)
  file(STRINGS ${package}/_build_meta.py version REGEX "^__version__")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${version}")
endif()
if(version STREQUAL FORGE_FLASHINFER_VERSION)
  set(FORGE_WITH_FLASHINFER ON)
else()
  message(WARNING "FlashInfer ${version} in ${package} is not used: forge-cuda-bench is written "
    "for ${FORGE_FLASHINFER_VERSION}. It is built without FlashInfer.")
endif()
