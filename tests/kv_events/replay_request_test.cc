#include "replay_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace forge::kv_events {
namespace {

using Views = std::vector<std::string_view>;

TEST(ReplayRequest, asks_for_batches_from_a_number_on) {
  for (const std::uint64_t first : {0ULL, 1ULL, 0x0102030405060708ULL, ~0ULL}) {
    EXPECT_EQ(parse_replay_request(Views{"who", "", sequence_bytes(first)}), first);
  }
  EXPECT_EQ(sequence_bytes(0x0102030405060708), "\1\2\3\4\5\6\7\10");
}

TEST(ReplayRequest, what_has_other_frames_is_none) {
  const std::string number = sequence_bytes(3);
  for (const Views& frames :
       {Views{}, Views{"who"}, Views{"who", ""}, Views{"who", number}, Views{"who", "x", number},
        Views{"who", "", "1234567"}, Views{"who", "", "123456789"}, Views{"who", "", ""},
        Views{"who", "", number, ""}}) {
    EXPECT_EQ(parse_replay_request(frames), std::nullopt) << frames.size() << " frames";
  }
}

}  // namespace
}  // namespace forge::kv_events
