#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/read_gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::formats::testing::read_gguf(std::as_bytes(std::span(data, size)));
  return 0;
}
