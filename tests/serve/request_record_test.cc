#include "forge/serve/request_record.h"

#include <gtest/gtest.h>

#include "traceparent.h"

namespace forge::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

const system_clock::time_point kNow{std::chrono::seconds(1'795'854'758) + milliseconds(7)};

TEST(RequestRecord, is_a_line_of_json_without_what_there_is_none_of) {
  EXPECT_EQ(utc_text(kNow), "2026-11-28T08:32:38.007Z");
  EXPECT_EQ(to_json_line({}, kNow), R"({"time":"2026-11-28T08:32:38.007Z","e2e_ms":0.0})");
  EXPECT_EQ(to_json_line({.request_id = "r",
                          .trace_id = "t",
                          .key = "alice",
                          .method = "POST",
                          .route = "/v1/completions",
                          .status = 200,
                          .time = LogMilliseconds(9.56789),
                          .tokens = RequestTokens{.prompt = 18,
                                                  .cached = 16,
                                                  .completion = 14,
                                                  .drafts = {.proposed = 8, .accepted = 6},
                                                  .queued = milliseconds(2),
                                                  .first = milliseconds(3),
                                                  .finish = FinishReason::eos}},
                         kNow),
            R"({"time":"2026-11-28T08:32:38.007Z","request_id":"r","trace_id":"t","key":"alice",)"
            R"("method":"POST","route":"/v1/completions","status":200,"e2e_ms":9.568,)"
            R"("prompt_tokens":18,"cached_tokens":16,"completion_tokens":14,)"
            R"("drafts":{"proposed":8,"accepted":6},"queue_ms":2.0,"ttft_ms":3.0,)"
            R"("finish_reason":"stop"})");
}

TEST(RequestRecord, says_how_a_request_ended) {
  const auto finish = [](FinishReason reason) {
    const std::string line = to_json_line({.tokens = RequestTokens{.finish = reason}}, kNow);
    const std::size_t at = line.find("\"finish_reason\":\"") + 17;
    return line.substr(at, line.find('"', at) - at);
  };
  EXPECT_EQ(finish(FinishReason::none), "cut");
  EXPECT_EQ(finish(FinishReason::stop), "stop");
  EXPECT_EQ(finish(FinishReason::length), "length");
  EXPECT_EQ(finish(FinishReason::deadline), "deadline");
  EXPECT_EQ(finish(FinishReason::error), "error");
}

TEST(RequestRecord, has_no_bytes_of_a_stranger_that_break_the_line) {
  const std::string line = to_json_line({.method = "A\n\"\xFF"}, kNow);
  EXPECT_EQ(line.find('\n'), line.npos);
  EXPECT_NE(line.find(R"(A\n\"�)"), line.npos) << line;
}

TEST(Traceparent, has_a_trace_id) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string parent = "00f067aa0ba902b7";
  EXPECT_EQ(trace_id_of("00-" + id + "-" + parent + "-01"), id);
  EXPECT_EQ(trace_id_of("00-" + id + "-" + parent + "-00"), id);
  EXPECT_EQ(trace_id_of("cc-" + id + "-" + parent + "-01"), id) << "a later version";
  EXPECT_EQ(trace_id_of("cc-" + id + "-" + parent + "-01-what-else"), id);
}

TEST(Traceparent, that_is_none_says_nothing) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string parent = "00f067aa0ba902b7";
  const std::string right = "00-" + id + "-" + parent + "-01";
  for (std::size_t size = 0; size < right.size(); ++size) {
    EXPECT_EQ(trace_id_of(right.substr(0, size)), "") << size;
  }
  for (const std::string& wrong :
       {right + "-", right + "0", "ff" + right.substr(2), "0G" + right.substr(2),
        "00-" + std::string(32, '0') + "-" + parent + "-01",
        "00-" + id + "-" + std::string(16, '0') + "-01", "00-" + id + "-" + parent + "-0x",
        "cc-" + id + "-" + parent + "-01.", "00_" + right.substr(3),
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01", " " + right}) {
    EXPECT_EQ(trace_id_of(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace forge::serve
