# forge_flags: the language rules that every target of the project shares, and none exports.
add_library(forge_flags INTERFACE)
target_compile_options(forge_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Designated initialisers leave fields out on purpose.
  -Wno-missing-field-initializers)
if(FORGE_SANITIZE)
  target_compile_options(forge_flags INTERFACE
    -fsanitize=${FORGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(forge_flags INTERFACE -fsanitize=${FORGE_SANITIZE})
endif()
