// What forge-bench --url makes of a stream of events, and of the times of many.
#include "load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sse_reader.h"

namespace forge::apps {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> events_of(std::string_view text, std::size_t piece) {
  SseReader reader;
  std::vector<std::string> events;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    reader.put(text.substr(0, piece), [&](std::string_view data) { events.emplace_back(data); });
  }
  return events;
}

TEST(SseReader, finds_the_same_events_however_the_bytes_are_split) {
  const std::string_view text =
      "data: one\n\n: a comment\n\ndata:two\r\n\r\nevent: x\ndata: three\ndata: lines\nid: 7\n\n\n"
      "data: \n\ndata: [DONE]\n\ndata: cut off\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_THAT(events_of(text, piece), ElementsAre("one", "two", "three\nlines", "", "[DONE]"))
        << piece;
  }
}

TEST(LoadLimits, name_a_time_and_milliseconds) {
  EXPECT_EQ(parse_limit("ttft:500").value(), (LoadLimit{LoadTime::ttft, 500}));
  EXPECT_EQ(parse_limit("tpot:0.5").value(), (LoadLimit{LoadTime::tpot, 0.5}));
  EXPECT_EQ(parse_limit("e2el:1e4").value(), (LoadLimit{LoadTime::e2el, 1e4}));
  for (const std::string text : {"", "ttft", "ttft:", "ttft:0", "ttft:-1", "ttft:x", "itl:5",
                                 "ttft:inf", "ttft:nan", "ttft:1 ", ":1", "ttft:1:2"}) {
    const auto limit = parse_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_THAT(limit.error(), HasSubstr("'" + text + "' is no limit"));
  }
}

TEST(LoadTimes, are_by_nearest_rank) {
  std::vector<float> none;
  EXPECT_EQ(times_of(none).p99, 0);
  std::vector<float> one{7};
  EXPECT_EQ(times_of(one).p50, 7);
  std::vector<float> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(static_cast<float>(i));
  const LoadTimes times = times_of(hundred);
  EXPECT_EQ(times.mean, 50.5);
  EXPECT_EQ(times.p50, 50);
  EXPECT_EQ(times.p90, 90);
  EXPECT_EQ(times.p99, 99);
}

/// Three requests of which one failed.
LoadResult three_requests() {
  return {.model = "m",
          .seconds = 2,
          .requests = {{.due = 0.5,
                        .first = 0.6,
                        .last = 1.0,
                        .prompt_tokens = 10,
                        .events = 4,
                        .output_tokens = 5,
                        .gaps = {0.1F, 0.1F, 0.2F}},
                       {.due = 1.0, .prompt_tokens = 20, .error = "HTTP 503 full"},
                       {.due = 1.5,
                        .first = 2.0,
                        .last = 2.0,
                        .prompt_tokens = 30,
                        .events = 1,
                        .output_tokens = 1}}};
}

TEST(LoadReport, counts_complete_requests_alone_and_takes_times_from_when_they_were_due) {
  const LoadReport report = report_of(three_requests(), {});
  EXPECT_EQ(report.completed, 2U);
  EXPECT_EQ(report.failed, 1U);
  EXPECT_EQ(report.prompt_tokens, 40U);
  EXPECT_EQ(report.output_tokens, 6U);
  EXPECT_THAT(report.errors, ElementsAre("HTTP 503 full"));
  const auto of = [&report](LoadTime time) { return report.times[static_cast<std::size_t>(time)]; };
  EXPECT_THAT(of(LoadTime::ttft).p50, DoubleNear(100, 1e-3));
  EXPECT_THAT(of(LoadTime::ttft).p99, DoubleNear(500, 1e-3));
  EXPECT_THAT(of(LoadTime::e2el).mean, DoubleNear(500, 1e-3));
  EXPECT_THAT(of(LoadTime::tpot).p99, DoubleNear(100, 1e-3)) << "0.4 s for four tokens";
  EXPECT_THAT(of(LoadTime::itl).p99, DoubleNear(200, 1e-3));
}

TEST(LoadReport, a_request_is_good_that_keeps_every_limit) {
  const auto good = [](const std::vector<LoadLimit>& limits) {
    return report_of(three_requests(), limits).good;
  };
  EXPECT_EQ(good({}), 2U);
  EXPECT_EQ(good({{LoadTime::ttft, 200}}), 1U);
  EXPECT_EQ(good({{LoadTime::ttft, 200}, {LoadTime::tpot, 99}}), 0U);
  EXPECT_EQ(good({{LoadTime::e2el, 501}}), 2U);
}

TEST(LoadReport, is_told_as_a_table_and_under_the_names_of_the_field) {
  const LoadFlags flags{.is_on = true,
                        .options = {.url = {.address = {.host = "h", .port = 1}}},
                        .limits = {{LoadTime::ttft, 200}}};
  const LoadResult result = three_requests();
  const LoadReport report = report_of(result, flags.limits);
  std::ostringstream out;
  print(report, flags, result, out);
  EXPECT_THAT(out.str(), HasSubstr("server        h:1, model m, 16 clients\n"));
  EXPECT_THAT(out.str(),
              HasSubstr("requests      2 complete, 1 failed, in 2.000 s: 1.00 requests/s"));
  EXPECT_THAT(out.str(),
              HasSubstr("goodput       0.50 requests/s, 1 with ttft at most 200.0 ms\n"));
  EXPECT_THAT(out.str(), HasSubstr("FAILED: HTTP 503 full\n"));
  const nlohmann::json json = to_json(report, flags, result);
  EXPECT_EQ(json["completed"], 2);
  EXPECT_EQ(json["output_throughput"], 3.0);
  EXPECT_EQ(json["request_goodput"], 0.5);
  EXPECT_THAT(json["median_ttft_ms"].get<double>(), DoubleNear(100, 1e-3));
  EXPECT_EQ(json["max_concurrency"], 16);
}

}  // namespace
}  // namespace forge::apps
