// libFuzzer target: any bytes as the body of a request.
//
//   cmake --preset clang && cmake --build build/clang --target fuzz_openai_request
//   build/asan/bin/fuzz_openai_request -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "serve/openai_request_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forge::test::check_request_parsers({reinterpret_cast<const char*>(data), size});
  return 0;
}
