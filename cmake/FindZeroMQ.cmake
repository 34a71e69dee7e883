# ZeroMQ's library: Debian's package has no CMake configuration. Its targets are those that cppzmq links,
# libzmq and, as it is called where it was fetched, libzmq-static.
find_path(ZeroMQ_INCLUDE_DIR zmq.h)
find_library(ZeroMQ_LIBRARY zmq)
mark_as_advanced(ZeroMQ_INCLUDE_DIR ZeroMQ_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZeroMQ REQUIRED_VARS ZeroMQ_LIBRARY ZeroMQ_INCLUDE_DIR)

foreach(target libzmq libzmq-static)
  if(ZeroMQ_FOUND AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION ${ZeroMQ_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZeroMQ_INCLUDE_DIR})
  endif()
endforeach()
