# forge_add_layer(NAME SOURCES ... LIBRARIES ... [EXPORT set] [PRECOMPILED kind]): one target and one
# folder a layer.
# forge_add_app(NAME SOURCES ... LIBRARIES ...): a program of the layer apps, installed.
#
# A layer's headers are all of include/forge/NAME; the layers that it links are read from
# cmake/layers.txt, the table that check_layers enforces on #include lines. A layer without
# SOURCES is header-only. LIBRARIES are third-party targets that its headers need. EXPORT is the set
# of installed targets that it joins (package.cmake), forge-targets by default. PRECOMPILED is as of
# forge_precompile.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/layers.txt forge_layer_lines REGEX "^[a-z_]+:")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/layers.txt)

add_custom_target(check_layers
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}
    -P ${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake
  COMMENT "Checking includes against cmake/layers.txt" VERBATIM)

function(forge_layer_edges name out)
  foreach(line IN LISTS forge_layer_lines)
    if(line MATCHES "^${name}:([^|]*)")
      separate_arguments(edges UNIX_COMMAND "${CMAKE_MATCH_1}")
      set(${out} ${edges} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "cmake/layers.txt has no line for layer '${name}'")
endfunction()

function(forge_add_layer name)
  cmake_parse_arguments(arg "" "EXPORT;PRECOMPILED" "SOURCES;LIBRARIES" ${ARGN})
  forge_layer_edges(${name} edges)
  list(TRANSFORM edges PREPEND forge_)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/forge/${name}/*.h)

  if(arg_SOURCES)
    set(kind STATIC)
    set(scope PUBLIC)
  else()
    set(kind INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(forge_${name} ${kind} ${arg_SOURCES})
  add_library(forge::${name} ALIAS forge_${name})
  add_dependencies(forge_${name} check_layers)
  target_sources(forge_${name} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_link_libraries(forge_${name} ${scope} ${edges} ${arg_LIBRARIES})
  target_compile_features(forge_${name} ${scope} cxx_std_20)
  if(arg_SOURCES)
    target_link_libraries(forge_${name} PRIVATE $<BUILD_INTERFACE:forge_flags>)
    forge_precompile(forge_${name} ${arg_PRECOMPILED})
  endif()
  set_target_properties(forge_${name} PROPERTIES
    EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  if(NOT arg_EXPORT)
    set(arg_EXPORT forge-targets)
  endif()
  install(TARGETS forge_${name} EXPORT ${arg_EXPORT} FILE_SET HEADERS)
  # Those that only nvcc can read stay out of the set, whose headers must compile on their own.
  file(GLOB device_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/forge/${name}/*.cuh)
  install(FILES ${device_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/forge/${name})
endfunction()

function(forge_add_app name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  forge_layer_edges(apps edges)
  list(TRANSFORM edges PREPEND forge_)
  add_executable(${name} ${arg_SOURCES})
  add_dependencies(${name} check_layers)
  target_link_libraries(${name} PRIVATE ${edges} ${arg_LIBRARIES} forge_flags)
  forge_precompile(${name} programs)
  forge_compile_together(${name})
  install(TARGETS ${name} COMPONENT programs)
  set_property(GLOBAL APPEND PROPERTY FORGE_APPS ${name})
endfunction()
