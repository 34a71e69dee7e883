// Any bytes as a receipt: refused in words, or read as what is written again.
#include <cstddef>
#include <cstdint>

#include "receipt/some_receipt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::testing::check_receipt_parser({reinterpret_cast<const char*>(data), size});
  return 0;
}
