// libFuzzer target: any bytes as the file of keys.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_api_keys
//   build/asan/bin/fuzz_api_keys -max_total_time=60
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "forge/serve/api_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto keys = forge::serve::ApiKeys::parse(text);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  const bool makes_sense = keys ? keys->size() > 0 && keys->size() <= lines : !keys.error().empty();
  if (!makes_sense) std::abort();
  return 0;
}
