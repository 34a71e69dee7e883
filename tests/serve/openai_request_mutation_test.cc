// The parser under 20,000 damaged bodies, the same on every machine: it answers each, with a
// request that keeps its promises or an error that is fit to be sent. The fuzz target beside this
// file goes on where this test stops.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "serve/openai_request_check.h"

namespace forge::serve {
namespace {

std::string damage(std::string body, std::mt19937& random) {
  const std::vector<std::string> pieces = {"\"",   "{",   "}",     "[",        "]",    ",",
                                           ":",    "-1",  "1e999", "null",     "\xff", "\\ud800",
                                           "true", "\0x", "1.5",   "\"seed\":"};
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  const std::size_t edits = 1 + below(3);
  for (std::size_t i = 0; i < edits && !body.empty(); ++i) {
    const std::size_t at = below(body.size());
    switch (below(4)) {
      case 0:
        body[at] = static_cast<char>(below(256));
        break;
      case 1:
        body.erase(at, 1 + below(8));
        break;
      case 2:
        body.insert(at, pieces[below(pieces.size())]);
        break;
      default:
        body.insert(at, body.substr(below(body.size()), below(16)));
    }
  }
  return body;
}

TEST(OpenAiRequest, damaged_bodies_are_answered_every_one) {
  const std::vector<std::string> seeds = {
      R"({"model": "m", "prompt": "hi", "max_tokens": 3, "temperature": 0.5, "seed": 7})",
      R"({"model": "m", "prompt": [[1, 2], "x"], "stop": ["a", "b"], "logit_bias": {}})",
      R"({"model": "m", "prompt": [5, 6], "stream": true, "stream_options": {"include_usage": true}})",
      R"({"model": "m", "prompt": "hi", "priority": "low", "session": 4, "timeout_s": 0.5})",
      R"({"model": "m", "prompt": "hi", "prefix_cache": "disable", "deadline_steps": 12})",
      R"({"prompt": "h\u00e9", "max_tokens": 32})",
      R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3})",
      R"({"model": "m", "prompt": "hi", "max_tokens": 3, "response_format": {"type": "json_schema",
          "json_schema": {"schema": {"type": "object", "properties": {"a": {"minimum": 3}}}}}})",
      R"({"model": "m", "prompt": "hi", "structured_outputs": {"choice": ["yes", "no"]}})",
      R"({"prompt": "hi", "regex": "[a-c]{2}x?", "max_tokens": 3})",
      R"({"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type":
          "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}]})",
  };
  std::mt19937 random(20'260'101);  // NOLINT: the same bodies every time
  std::size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string body = damage(seeds[random() % seeds.size()], random);
    SCOPED_TRACE(body);
    taken += test::check_request_parsers(body);
    if (HasFailure()) return;
  }
  EXPECT_GT(taken, 100U) << "damage so great that the reader of fields is never reached";
}

}  // namespace
}  // namespace forge::serve
