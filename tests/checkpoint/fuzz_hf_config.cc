#include <cstddef>
#include <cstdint>

#include "checkpoint/read_hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::testing::read_config_in_every_way({reinterpret_cast<const char*>(data), size});
  return 0;
}
