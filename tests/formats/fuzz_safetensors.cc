#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/read_safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::formats::testing::read_in_every_way(std::as_bytes(std::span(data, size)));
  return 0;
}
