// A step, its reasons and the story of a sequence as JSON.
#include "forge/trace/moment_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "forge/trace/trace_json.h"
#include "forge/trace/trace_why_json.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using Json = nlohmann::json;
using testing::eventful_trace;

/// The JSON of all steps of a trace.
std::vector<Json> moments(const std::string& text) {
  std::istringstream in(text);
  auto timeline = TraceTimeline::open(in).value();
  std::vector<Json> all;
  while (timeline.seek(StepId{all.size()}).value()) {
    const std::string line = moment_json(timeline.moment(), timeline.state());
    EXPECT_EQ(line.find('\n'), line.npos);
    all.push_back(Json::parse(line));
  }
  return all;
}

std::string why_json(const std::string& text, std::uint64_t step) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  return to_json_line(reasons_of(reader, StepId{step}).value().value());
}

TEST(MomentJson, has_the_queue_the_host_and_the_batch) {
  const Json moment = moments(eventful_trace()).at(13);
  EXPECT_EQ(moment["step"], 13);
  EXPECT_EQ(moment["line"], 21);
  EXPECT_EQ(moment["link"], "f3bac3be31a1e120");
  EXPECT_EQ(moment["waiting"][0]["seq"], 5);
  EXPECT_EQ(moment["waiting"][1]["priority"], "low");
  EXPECT_EQ(moment["swapped"][0]["host_blocks"], 6);
  EXPECT_EQ(moment["host_blocks"], 6);
  EXPECT_EQ(moment["running"][0], Json::parse(R"({
    "seq":3,"priority":"high","client":"0000000000000000","user":"0000000000000000","weight":1,
    "prompt_tokens":15,"output_tokens":8,"max_new_tokens":16,"computed_tokens":22,
    "most_computed_tokens":22,"charged_tokens":22,"host_blocks":0,"preemptions":0,"submitted":8,
    "deadline_steps":0,"is_queued":false,"has_begun":true,"ends":false})"));
  EXPECT_EQ(moment["plan"]["preempted"], Json::parse(R"([[4,"swap"]])"));
  EXPECT_EQ(moment["cache"], Json::parse(R"({"removed":[12]})"));
}

TEST(MomentJson, has_the_holders_of_each_block_and_the_cached_tree) {
  const Json moment = moments(eventful_trace()).at(8);
  EXPECT_EQ(moment["blocks"],
            Json::parse("[[2,3,4,5],[2,3,4,5],[3,4],[],[],[3],[2],[4],[4],[5],[],[],[],[]]"));
  EXPECT_EQ(moment["cached"],
            Json::parse("[[0,1,0],[1,1,1,0],[2,1,2,1],[3,1,3,2],[4,1,4,3],[7,4,3,2]]"));
  EXPECT_EQ(moment["asked"].size(), 5U);
  EXPECT_EQ(moment["asked"][4]["submit"]["request"]["deadline_steps"], 12);
}

TEST(MomentJson, says_of_each_step_what_the_trace_says) {
  std::istringstream in(eventful_trace());
  auto reader = TraceReader::open(in).value();
  Json asked = Json::array();
  for (const Json& moment : moments(eventful_trace())) {
    Json event = Json::parse(to_json_line(reader.next().value().value()));
    for (; !event.contains("step"); event = Json::parse(to_json_line(*reader.next().value()))) {
      asked.push_back(event);
    }
    EXPECT_EQ(moment["asked"], asked);
    EXPECT_EQ(moment["line"], reader.line());
    EXPECT_EQ(moment["plan"], event["step"]);
    EXPECT_EQ(moment["result"], event["result"]);
    EXPECT_EQ(moment["cache"], event.value("cache", Json::object()));
    EXPECT_EQ(moment["link"], event["link"]);
    asked = Json::array();
  }
}

TEST(MomentJson, ids_keep_all_64_bits) {
  const std::string header = to_json_line(TraceHeader{});
  const Json moment = moments(header + R"(
{"submit":{"seq":18446744073709551615,"request":{"prompt":[1],"max_new_tokens":1,"session":9007199254740993}}}
{"step":{"step":0,"decodes":0},"result":{"step":0},"link":"0000000000000000"}
)")
                          .at(0);
  EXPECT_EQ(moment["waiting"][0]["seq"], 18446744073709551615U);
  EXPECT_EQ(moment["waiting"][0]["session"], 9007199254740993U);
}

TEST(TraceWhyJson, has_the_candidates_of_a_victim) {
  EXPECT_EQ(why_json(eventful_trace(), 12),
            R"({"step":12,"victims":[{"seq":5,"mode":"recompute","candidates":[)"
            R"({"seq":5,"priority":"normal","output_tokens":6},)"
            R"({"seq":4,"priority":"normal","output_tokens":6},)"
            R"({"seq":2,"priority":"normal","output_tokens":6},)"
            R"({"seq":3,"priority":"high","output_tokens":6}]}],"turns":[],)"
            R"("end":"a step that preempts admits nobody","next":5})");
}

TEST(TraceWhyJson, has_the_candidates_of_a_turn) {
  EXPECT_EQ(why_json(eventful_trace(), 0),
            R"({"step":0,"victims":[],"turns":[{"seq":1,"cached_tokens":0,"resumes":false,)"
            R"("rule":"no other user waits","candidates":[{"seq":1,"client":"0000000000000000",)"
            R"("user":"0000000000000000","place":65,"resumes":false,"client_share":[0,1],)"
            R"("user_share":[0,2]}]}],"end":"nobody waits"})");
  EXPECT_EQ(why_json(eventful_trace(), 7),
            R"({"step":7,"victims":[],"turns":[],"end":"nobody waits"})");
}

TEST(TraceWhyJson, tells_the_story_of_a_sequence) {
  std::istringstream in(eventful_trace());
  auto reader = TraceReader::open(in).value();
  const auto story = story_of(reader, SeqId{6}).value().value();
  EXPECT_THAT(to_json_line(SeqId{6}, story),
              ::testing::StartsWith(
                  R"({"seq":6,"story":[)"
                  R"({"first":8,"last":8,"words":"submitted before it: 9+20 tokens, low"},)"
                  R"({"first":8,"last":11,"words":"waits and is next: the batch is full"},)"));
  in = std::istringstream(eventful_trace());
  reader = TraceReader::open(in).value();
  EXPECT_FALSE(story_of(reader, SeqId{99}).value().has_value());
}

}  // namespace
}  // namespace forge::trace
