#include "forge/trace/trace_reader.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "forge/trace/trace_json.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::joined;
using testing::lines_of;
using testing::replaced;
using testing::small_trace;

/// Reads to the end; the error that ended it, or "fine".
std::string outcome(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in);
  if (!reader) return to_string(reader.error());
  while (true) {
    const auto event = reader->next();
    if (!event) return to_string(event.error());
    if (!*event) return "fine";
  }
}

TEST(TraceReader, reads_what_was_written) {
  const std::string text = small_trace();
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  std::string again = to_json_line(reader.header()) + "\n";
  while (const auto event = reader.next().value()) again += to_json_line(*event) + "\n";
  EXPECT_EQ(again, text);
  EXPECT_EQ(reader.line(), lines_of(text).size());
}

TEST(TraceReader, goes_on_at_any_line_that_it_has_been_at) {
  const std::string text = testing::eventful_trace();
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  std::vector<TracePlace> places = {reader.place()};
  std::vector<TraceEvent> events;
  while (auto event = reader.next().value()) {
    events.push_back(*event);
    places.push_back(reader.place());
  }
  for (std::size_t i = events.size(); i-- > 0;) {
    TraceReader again = TraceReader::resume(in, reader.header(), places[i]);
    EXPECT_EQ(again.next().value(), events[i]) << i;
    EXPECT_EQ(again.line(), i + 2);
    EXPECT_EQ(again.line_byte(), places[i].byte);
  }
}

TEST(TraceReader, a_file_of_another_kind_is_refused) {
  EXPECT_EQ(outcome(""), "line 1, byte 0: not a Forge trace: the file is empty");
  EXPECT_EQ(outcome("TIMESTAMP,ContextTokens\n"),
            "line 1, byte 0: not a Forge trace: is not JSON in or right after 'T'");
  EXPECT_EQ(outcome("{\"openapi\":3}\n"),
            "line 1, byte 0: not a Forge trace: the first line has no \"forge_trace\"");
}

TEST(TraceReader, versions_before_are_read_and_told) {
  for (const std::uint64_t version : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U}) {
    const std::string old =
        replaced(small_trace(), "\"forge_trace\":10", "\"forge_trace\":" + std::to_string(version));
    EXPECT_EQ(outcome(old), outcome(small_trace()));
    std::istringstream text(old);
    const auto reader = TraceReader::open(text);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->header().version, version);
  }
}

TEST(TraceReader, a_prefix_cache_that_was_forced_is_one_that_is_used) {
  static const std::regex kLimit("(\"max_new_tokens\":[0-9]+)");
  const std::string old = std::regex_replace(small_trace(), kLimit, "$1,\"prefix_cache\":\"force\"",
                                             std::regex_constants::format_first_only);
  ASSERT_NE(old, small_trace());
  EXPECT_EQ(outcome(old), outcome(small_trace()));
}

TEST(TraceReader, another_version_is_refused_by_number) {
  EXPECT_EQ(outcome(replaced(small_trace(), "\"forge_trace\":10", "\"forge_trace\":11")),
            "line 1, byte 0: forge_trace: version 11; this program reads 2 to 10");
  EXPECT_EQ(outcome("{\"forge_trace\":1,\"scheduler\":{\"num_blocks\":6,\"block_size\":1,"
                    "\"max_batch_size\":4},\"target\":{\"model\":\"hash\"}}\n"),
            "line 1, byte 0: forge_trace: version 1; this program reads 2 to 10, so the run has to "
            "be recorded again");
}

TEST(TraceReader, a_scheduler_out_of_range_is_refused) {
  EXPECT_EQ(outcome(replaced(small_trace(), "\"num_blocks\":6", "\"num_blocks\":0")),
            "line 1, byte 0: scheduler.num_blocks: 0 is not in 1 .. 4194304");
  EXPECT_EQ(outcome(replaced(small_trace(), "\"max_batch_tokens\":4096", "\"max_batch_tokens\":3")),
            "line 1, byte 0: scheduler.max_batch_tokens: 3 is not in 4 .. 4294967295");
  EXPECT_EQ(outcome(replaced(small_trace(), "\"block_size\":1", "\"block_size\":99999")),
            "line 1, byte 0: scheduler.block_size: 99999 is not in 1 .. 16384");
}

TEST(TraceReader, damage_is_reported_with_line_and_byte) {
  auto lines = lines_of(small_trace());
  const std::size_t start = lines[0].size() + lines[1].size() + 2;
  lines[2][10] = '!';
  EXPECT_EQ(outcome(joined(lines)), "line 3, byte " + std::to_string(start + 10) +
                                        ": is not JSON in or right after '" +
                                        lines[2].substr(0, 11) + "'");
}

TEST(TraceReader, a_cut_line_is_truncation_and_earlier_events_are_delivered) {
  std::string text = small_trace();
  text.pop_back();
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  std::size_t events = 0;
  auto event = reader.next();
  for (; event && *event; event = reader.next()) ++events;
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, kEndsWithinLine);
  EXPECT_EQ(event.error().byte, text.size());
  EXPECT_EQ(events, lines_of(text).size() - 2);
  EXPECT_FALSE(reader.next().value()) << "after an error there is nothing more";
}

TEST(TraceReader, a_cut_header_is_told_from_a_cut_line) {
  const std::string text = small_trace();
  const std::size_t header = text.find('\n');
  for (const std::size_t length : {std::size_t{1}, header / 2, header}) {
    EXPECT_EQ(outcome(text.substr(0, length)),
              "line 1, byte " + std::to_string(length) +
                  ": not a Forge trace: the file ends within the first line, its header");
  }
  EXPECT_EQ(outcome(text.substr(0, header + 1)), "fine") << "a run without a step";
}

TEST(TraceReader, deep_nesting_is_refused_before_it_is_parsed) {
  EXPECT_EQ(outcome(std::string(100000, '[') + "\n"),
            "line 1, byte 0: not a Forge trace: nests objects and arrays deeper than 16");
}

TEST(TraceReader, an_overlong_line_is_refused_without_reading_it_whole) {
  std::istringstream in(std::string(TraceReader::kMaxLineBytes + 10, ' '));
  const auto reader = TraceReader::open(in);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, "not a Forge trace: longer than 67108864 bytes");
}

TEST(TraceReader, unknown_events_and_reasons_are_refused) {
  const std::string header = lines_of(small_trace())[0] + "\n";
  EXPECT_NE(outcome(header + "{\"pause\":{}}\n").find("is not an event"), std::string::npos);
  EXPECT_NE(outcome(header + "[]\n").find("is not an event"), std::string::npos);
  EXPECT_NE(outcome(header + "{\"cancel\":{\"seq\":1,\"reason\":\"none\"}}\n")
                .find("not a reason to cancel"),
            std::string::npos);
  EXPECT_NE(outcome(header + "{\"cancel\":{\"seq\":1e999,\"reason\":\"eos\"}}\n").find("line 2"),
            std::string::npos);
}

TEST(LinkCheck, accepts_a_recorded_trace_and_finds_a_changed_token) {
  const std::string text = small_trace();
  const auto first_mismatch = [](const std::string& trace) -> std::optional<LinkMismatch> {
    std::istringstream in(trace);
    auto reader = TraceReader::open(in).value();
    LinkCheck check;
    while (const auto event = reader.next().value()) {
      const auto* step = std::get_if<StepEvent>(&*event);
      if (step == nullptr) continue;
      if (const auto mismatch = check.add(*step)) return mismatch;
    }
    return std::nullopt;
  };
  EXPECT_EQ(first_mismatch(text), std::nullopt);

  auto lines = lines_of(text);
  std::string& line = lines[testing::line_of_step(lines, 2)];
  line = replaced(line, "\"tokens\":[", "\"tokens\":[1");
  const auto mismatch = first_mismatch(joined(lines));
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->step, StepId{2});
}

}  // namespace
}  // namespace forge::trace
