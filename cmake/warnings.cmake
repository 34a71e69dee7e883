# forge_flags: the language rules that every target of the project shares, and none exports.
add_library(forge_flags INTERFACE)
target_compile_options(forge_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Designated initialisers leave fields out on purpose.
  -Wno-missing-field-initializers
  # g++ 12 sees an overlap in "literal" + std::string that is not there (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
if(FORGE_SANITIZE)
  target_compile_options(forge_flags INTERFACE
    -fsanitize=${FORGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(forge_flags INTERFACE -fsanitize=${FORGE_SANITIZE})
endif()
