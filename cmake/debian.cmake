# The package for Debian: `cmake --build BUILD --target deb` makes forge_VERSION_ARCHITECTURE.deb in
# BUILD, with the programs, their man pages, and forge-infer as a service. CPack's own target
# `package` makes the same, but builds everything before, tests too.
#
# Libraries and headers are left out: they promise no ABI, and whoever builds on them has the
# sources, from which `cmake --install` installs them.
if(NOT PROJECT_IS_TOP_LEVEL OR FORGE_SANITIZE)
  return()
endif()
get_property(fetched GLOBAL PROPERTY FORGE_FETCHED)
if(NOT FORGE_INSTRUCTION_SETS STREQUAL "all" OR NOT FORGE_SIM OR fetched)
  message(STATUS "No .deb can be made: it has kernels for every machine, all programs and libraries "
    "of Debian (FORGE_INSTRUCTION_SETS=all, FORGE_SIM=ON, nothing fetched)")
  return()
endif()
find_program(FORGE_PYTHON NAMES python3)
find_program(FORGE_SHLIBDEPS NAMES dpkg-shlibdeps)
if(NOT FORGE_PYTHON OR NOT FORGE_SHLIBDEPS)
  message(STATUS "No .deb can be made: that takes python3 and dpkg-dev")
  return()
endif()

set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
set(made ${PROJECT_BINARY_DIR}/debian)
get_property(apps GLOBAL PROPERTY FORGE_APPS)
set(programs ${apps})
list(TRANSFORM programs PREPEND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/)
list(JOIN programs "\" \"" programs)
# Man pages are made when the package is: they say what the programs say then.
install(CODE "
  file(REMOVE_RECURSE \"${made}\")
  file(MAKE_DIRECTORY \"${made}/man1\")
  execute_process(COMMAND \"${FORGE_PYTHON}\" -B \"${debian}/write_man_pages.py\" \"${debian}/changelog\"
    \"${made}/man1\" \"${programs}\" COMMAND_ERROR_IS_FATAL ANY)
  file(COPY \"${debian}/changelog\" DESTINATION \"${made}\")
  execute_process(COMMAND gzip -9nr \"${made}\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT debian EXCLUDE_FROM_ALL)
# Absolute paths: that of the unit does not depend on where programs are installed.
function(forge_install_debian folder)
  install(FILES ${ARGN} DESTINATION ${folder} COMPONENT debian EXCLUDE_FROM_ALL)
endfunction()
list(TRANSFORM apps REPLACE "(.+)" "${made}/man1/\\1.1.gz" OUTPUT_VARIABLE pages)
forge_install_debian(/usr/share/man/man1 ${pages})
forge_install_debian(/usr/share/doc/forge ${debian}/copyright ${made}/changelog.gz)
forge_install_debian(/lib/systemd/system ${PROJECT_SOURCE_DIR}/packaging/forge-infer.service)
forge_install_debian(/etc/default ${PROJECT_SOURCE_DIR}/packaging/forge-infer.default RENAME forge-infer)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL programs debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${debian}/cpack.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${debian}/folder_modes.cmake)
set(CPACK_PACKAGE_CONTACT "The Forge authors <forge@example.org>")  # no mailbox: the field demands one
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deterministic LLM inference engine to read, step through and trust")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"forge-infer serves a language model to clients of OpenAI's API, with paged KV
cache, continuous batching, prefix caching, preemption and speculative
decoding: the model that is built in, or one from SafeTensors or GGUF. What a
request gets depends on the request alone, bit for bit.
.
The other programs talk with a model in a terminal (forge-chat), replay and
compare recorded runs (forge-trace), measure (forge-bench), look into, convert
and quantize models (forge-model), try grammars (forge-grammar) and run GPU
kernels on a simulated GPU (forge-kernel).
.
Installation neither enables nor starts the service forge-infer.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)

add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} USES_TERMINAL VERBATIM)
add_dependencies(deb ${apps})
