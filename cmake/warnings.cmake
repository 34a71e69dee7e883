# forge_flags: the language rules that every target of the project shares, and none exports.
add_library(forge_flags INTERFACE)
set(forge_warnings
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Designated initialisers leave fields out on purpose.
  -Wno-missing-field-initializers)
# g++ 12 sees overlaps and overflows in "literal" + std::string that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND forge_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# Of a .cu file, the code that nvcc hands to the host compiler is not pedantic.
list(JOIN forge_warnings "," forge_host_warnings)
target_compile_options(forge_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${forge_warnings};-Wpedantic>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=${forge_host_warnings}>")
# The contract of forge/numerics/canonical.h, which is the project's: no product and sum becomes an
# fma, and sqrt need not set errno. forge_numerics and forge_quant, whose headers have arithmetic,
# demand it of those who use them, too.
set(FORGE_NUMERICS_FLAGS -ffp-contract=off -fno-math-errno)
target_compile_options(forge_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${FORGE_NUMERICS_FLAGS}>")
if(FORGE_SANITIZE)
  # clang 14 cannot assemble coroutines with the check of function types.
  target_compile_options(forge_flags INTERFACE
    -fsanitize=${FORGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(forge_flags INTERFACE -fsanitize=${FORGE_SANITIZE})
endif()
