# Exhibits: bugs on purpose, each a text file that changes a copy of one of our sources, so that a test
# can show that it is caught. The copy is made when CMake runs, and only the copy is compiled.
#
# An exhibit has a head of `key: value` lines, among them `source: FILE`, a description, and one or
# more pairs of
#
#   --- original
#   lines of the source, exactly
#   --- mutated
#   what stands there instead
#
# closed by `--- end`. Original lines that are not in the source exactly once are an error: the exhibit
# is stale and has to follow the source.

# forge_apply_hunks(TEXT SOURCE OUT STALE): SOURCE with every pair of TEXT applied; the first original
# lines that are not there once, if there are any, in STALE.
function(forge_apply_hunks text source out stale)
  set(from_mark "--- original\n")
  set(to_mark "--- mutated\n")
  string(FIND "${text}" "${from_mark}" begin)
  while(NOT begin EQUAL -1)
    string(LENGTH "${from_mark}" length)
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "${to_mark}" middle)
    string(SUBSTRING "${text}" 0 ${middle} original)
    string(LENGTH "${to_mark}" length)
    math(EXPR middle "${middle} + ${length}")
    string(SUBSTRING "${text}" ${middle} -1 text)
    string(FIND "${text}" "--- " end)
    string(SUBSTRING "${text}" 0 ${end} mutated)

    string(FIND "${source}" "${original}" place)
    string(FIND "${source}" "${original}" last REVERSE)
    if(place EQUAL -1 OR NOT place EQUAL last)
      set(${stale} "${original}" PARENT_SCOPE)
      return()
    endif()
    string(LENGTH "${original}" length)
    math(EXPR rest "${place} + ${length}")
    string(SUBSTRING "${source}" 0 ${place} before)
    string(SUBSTRING "${source}" ${rest} -1 after)
    set(source "${before}${mutated}${after}")
    string(FIND "${text}" "${from_mark}" begin)
  endwhile()
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

# forge_mutate_source(EXHIBIT COPY [STALE]): writes the changed copy of the exhibit's source to the file
# COPY, now and whenever the exhibit or its source changes. An exhibit that is stale is an error, unless
# there is a variable STALE to take what is wrong.
function(forge_mutate_source exhibit copy)
  file(READ ${exhibit} text)
  if(NOT text MATCHES "\nsource: ([^\n]+)\n")
    message(FATAL_ERROR "${exhibit} has no line `source: FILE`")
  endif()
  set(source ${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_1})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exhibit} ${source})
  file(READ ${source} code)
  set(stale "")
  forge_apply_hunks("${text}" "${code}" mutated stale)
  if(stale)
    set(wrong "${exhibit} is stale: these lines must be in its source exactly once:\n${stale}")
    if(NOT ARGC GREATER 2)
      message(FATAL_ERROR "${wrong}")
    endif()
    set(${ARGV2} "${wrong}" PARENT_SCOPE)
    return()
  endif()
  file(CONFIGURE OUTPUT ${copy} CONTENT "${mutated}" @ONLY)
endfunction()
