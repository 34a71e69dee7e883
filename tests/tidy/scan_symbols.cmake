# cmake -DNM=nm -P scan_symbols.cmake -- OBJECT...: fails when an object file or archive calls
# something that could make two runs of the same events differ, or that acts on the world: clocks,
# threads, files and streams, random numbers, the environment, hash maps (their order). The member
# check.cc.o is the exception: it prints and aborts.
set(banned
  # clocks
  "clock(_gettime)?|gettimeofday|time|localtime(_r)?|gmtime(_r)?|timespec_get"
  "(clock_)?nanosleep|usleep|sleep|std::chrono::.*clock::now.*"
  # threads
  "pthread_.*|thrd_.*|mtx_.*|sem_.*|std::thread::.*|std::this_thread::.*"
  "std::condition_variable.*|std::__atomic_(futex|wait).*|std::__future_base::.*"
  # files and streams
  "fopen(64)?|freopen(64)?|fdopen|fclose|fread|fwrite|fflush|fgetc|fgets|fputc|fputs|getc|putc"
  "puts|putchar|v?f?printf|__v?f?printf_chk|v?f?scanf|open(64)?|openat(64)?|close|read|write|perror"
  "socket|std(in|out|err)|std::c(out|err|log|in)|std::__basic_file.*"
  "std::(basic_)?(i|o|io|if|of|f)stream.*|std::basic_filebuf.*|std::ios_base.*|std::ostream.*"
  "std::.*__ostream_insert.*|std::filesystem::.*|std::locale.*|setlocale"
  # random numbers
  "s?rand(_r)?|s?random(_r)?|[dlm]rand48|getrandom|getentropy|arc4random.*|std::random_device.*"
  # the environment
  "(secure_)?getenv|setenv|putenv|environ|getpid|gethostname|system|exit|_exit|quick_exit"
  # hash maps
  "std::_Hash_bytes.*|std::_Fnv_hash_bytes.*|std::__detail::_Prime_rehash_policy.*")

set(objects "")
set(seen_separator OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(seen_separator)
    list(APPEND objects "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(seen_separator ON)
  endif()
endforeach()

execute_process(COMMAND ${NM} --print-file-name --undefined-only --demangle ${objects}
  RESULT_VARIABLE status OUTPUT_VARIABLE symbols ERROR_VARIABLE error)
if(NOT status EQUAL 0 OR symbols STREQUAL "")
  message(FATAL_ERROR "${NM} ${objects}: no symbols\n${error}")
endif()

# One line a symbol: "libforge_core.a:scheduler.cc.o:      U operator delete(void*)@VERSION".
string(REGEX REPLACE "[][;]" "_" symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
set(violations "")
foreach(line IN LISTS symbols)
  if(line MATCHES "check\\.cc\\.o:")
    continue()
  endif()
  string(REGEX MATCH "([^/:]*\\.o): +[Uuwv] ([^(@]*)" _ "${line}")
  set(object ${CMAKE_MATCH_1})
  set(symbol "${CMAKE_MATCH_2}")
  foreach(names IN LISTS banned)
    if(symbol MATCHES "^(${names})$")
      string(APPEND violations "\n  ${object}: ${symbol}")
    endif()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "Symbols that the policy core may not use:${violations}")
endif()
