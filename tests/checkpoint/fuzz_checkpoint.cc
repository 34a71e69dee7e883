#include <cstddef>
#include <cstdint>

#include "checkpoint/load_damaged.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::testing::load_damaged({data, size});
  return 0;
}
