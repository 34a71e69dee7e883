#include <cstddef>
#include <cstdint>
#include <string_view>

#include "checkpoint/read_hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  forge::testing::read_config_in_every_way(text);
  forge::testing::read_lora_config(text);
  return 0;
}
