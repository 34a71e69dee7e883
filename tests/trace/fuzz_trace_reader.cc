#include <cstddef>
#include <cstdint>

#include "trace/read_everything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::testing::read_everything(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
