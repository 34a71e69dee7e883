// libFuzzer target: any bytes as the traceparent of a request.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_traceparent
//   build/asan/bin/fuzz_traceparent -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "traceparent.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view id = forge::serve::trace_id_of(text);
  const bool makes_sense = id.empty() || (id.size() == 32 && id.data() == text.data() + 3 &&
                                          id.find_first_not_of("0123456789abcdef") == id.npos);
  if (!makes_sense) std::abort();
  return 0;
}
