// libFuzzer target: any frames as a request for a replay. A byte of the input is the size of the
// frame that follows.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_replay_request
//   build/asan/bin/fuzz_replay_request -max_total_time=60
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "replay_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> frames;
  while (!left.empty()) {
    const std::size_t length = static_cast<std::uint8_t>(left.front());
    left.remove_prefix(1);
    frames.push_back(left.substr(0, length));
    left.remove_prefix(std::min(length, left.size()));
  }
  const auto first = forge::kv_events::parse_replay_request(frames);
  const bool has_form = frames.size() == 3 && frames[1].empty() && frames[2].size() == 8;
  if (first.has_value() != has_form) std::abort();
  if (first && forge::kv_events::sequence_bytes(*first) != frames[2]) std::abort();
  return 0;
}
