#include "forge/trace/trace_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trace/generators.h"
#include "trace/recorded_run.h"

namespace forge {
namespace {

using nlohmann::json;

StepEvent documented_step() {
  StepEvent event;
  event.plan.step = StepId{7};
  event.plan.admitted = {SeqId{4}};
  event.plan.resumed = {SeqId{3}};
  event.plan.preempted = {{SeqId{2}, PreemptionMode::recompute}};
  event.plan.finished = {{SeqId{1}, FinishReason::length}};
  event.plan.copies = {{BlockId{0}, BlockId{5}}};
  event.plan.tables = {{SeqId{4}, 0, 0, 2}};
  event.plan.appended_blocks = {BlockId{9}, BlockId{8}};
  event.plan.slices = {{SeqId{4}, 0, 2, 0, true}};
  event.result.step = StepId{7};
  event.result.slices = {{SeqId{4}, 0, 1, FinishSignal::none, 0}};
  event.result.tokens = {TokenId{105}};
  event.result.logits = {0xcbf29ce484222325};
  event.link = 0x84222325cbf29ce4;
  return event;
}

TEST(TraceJson, a_step_is_written_as_documented) {
  EXPECT_EQ(to_json_line(TraceEvent(documented_step())),
            R"({"step":{"step":7,"admitted":[4],"resumed":[3],"preempted":[[2,"recompute"]],)"
            R"("finished":[[1,"length"]],"copies":[[0,5]],"tables":[[4,0,0,2]],)"
            R"("appended_blocks":[9,8],"slices":[[4,0,2,0,true]],"decodes":0},)"
            R"("result":{"step":7,"slices":[[4,0,1,"none",0]],"tokens":[105],)"
            R"("logits":["cbf29ce484222325"]},"link":"84222325cbf29ce4"})");
}

TEST(TraceJson, an_empty_step_has_no_lists) {
  EXPECT_EQ(to_json_line(TraceEvent(StepEvent{})),
            R"({"step":{"step":0,"decodes":0},"result":{"step":0},"link":"0000000000000000"})");
}

TEST(TraceJson, header_submit_and_cancel_are_written_as_documented) {
  EXPECT_EQ(to_json_line(TraceHeader{{6, 1, 16}, {{"model", "tiny"}}}),
            R"({"forge_trace":1,"scheduler":{"num_blocks":6,"block_size":1,"max_batch_size":16},)"
            R"("target":{"model":"tiny"}})");
  const Request request{.prompt = {TokenId{73}, TokenId{106}}, .sampling = {0.7F, 9}};
  EXPECT_EQ(to_json_line(TraceEvent(SubmitEvent{SeqId{1}, request})),
            R"({"submit":{"seq":1,"request":{"prompt":[73,106],"max_new_tokens":32,)"
            R"("sampling":{"temperature":0.7,"seed":9},"ignore_eos":false}}})");
  EXPECT_EQ(to_json_line(TraceEvent(CancelEvent{SeqId{1}, FinishReason::stop})),
            R"({"cancel":{"seq":1,"reason":"stop"}})");
}

TEST(TraceJson, every_event_reads_back_equal) {
  EXPECT_TRUE(rc::check("an event reads back equal", [] {
    const TraceEvent event = testing::any_event();
    const auto read = event_from_json(json::parse(to_json_line(event)));
    if (!read) RC_FAIL(read.error());
    RC_ASSERT(*read == event);
  }));
}

TEST(TraceJson, headers_read_back_equal) {
  const TraceHeader header{{1, 1u << 14, 1}, json::parse(R"({"a":[1,{"b":0.1}],"c":null})")};
  EXPECT_EQ(header_from_json(json::parse(to_json_line(header))).value(), header);
}

TEST(TraceJson, extreme_temperatures_read_back_exactly) {
  using Limits = std::numeric_limits<float>;
  for (const float value : {0.0F, Limits::denorm_min(), Limits::min(), 0.1F, 1.0F,
                            std::nextafter(1.0F, 2.0F), 16777216.0F, Limits::max()}) {
    const TraceEvent event = SubmitEvent{SeqId{1}, {.prompt = {TokenId{1}}, .sampling = {value}}};
    EXPECT_EQ(event_from_json(json::parse(to_json_line(event))).value(), event) << value;
  }
}

TEST(TraceJson, errors_name_field_value_and_accepted_range) {
  const auto error_after = [](const std::string& from, const std::string& to) {
    const std::string line = to_json_line(TraceEvent(documented_step()));
    const auto event = event_from_json(json::parse(testing::replaced(line, from, to)));
    return event ? "accepted" : event.error();
  };
  EXPECT_EQ(error_after("[4,0,2,0,true]", "[4,0,4294967296,0,true]"),
            "step.slices[0].count: 4294967296 is not an integer in 0..4294967295");
  EXPECT_EQ(error_after("[4,0,2,0,true]", "[4,0,-2,0,true]"),
            "step.slices[0].count: -2 is not an integer in 0..4294967295");
  EXPECT_EQ(error_after("[4,0,2,0,true]", "[4,0,2,0,1]"),
            "step.slices[0].samples: 1 is neither true nor false");
  EXPECT_EQ(error_after("[4,0,2,0,true]", "[4,0,2,0]"),
            "step.slices[0]: array is not an array of 5 values");
  EXPECT_EQ(error_after("\"recompute\"", "\"forget\""),
            "step.preempted[0].mode: \"forget\" is none of recompute, swap");
  EXPECT_EQ(error_after("\"tables\":[[4,0,0,2]]", "\"tables\":[[4,0,1,2]]"),
            "step.tables[0]: [1, 3) is not inside a list of 2");
  EXPECT_EQ(error_after("[4,0,1,\"none\",0]", "[4,4294967295,4294967295,\"none\",0]"),
            "result.slices[0]: [4294967295, 8589934590) is not inside a list of 1");
  EXPECT_EQ(error_after("\"decodes\":0", "\"decodes\":2"),
            "step.decodes: 2 is not in 0..1, the number of slices");
  EXPECT_EQ(error_after("[\"cbf29ce484222325\"]", "[\"cbf29ce484222325\",\"cbf29ce484222325\"]"),
            "result.logits: 2 digests for 1 tokens");
  EXPECT_EQ(error_after("cbf29", "CBF29"),
            "result.logits[0]: \"CBF29ce484222325\" is not a string of 16 lower-case hexadecimal "
            "digits");
  EXPECT_EQ(error_after("\"copies\"", "\"copied\""), "step: unknown field 'copied'");
  EXPECT_EQ(error_after(",\"decodes\":0", ""), "step: field 'decodes' is missing");
}

TEST(TraceJson, a_changed_byte_of_a_step_is_an_error_or_another_value) {
  const TraceEvent event = documented_step();
  const std::string line = to_json_line(event);
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = line;
      changed[i] = static_cast<char>(byte);
      if (changed == line) continue;
      const json parsed = json::parse(changed, nullptr, false);
      if (parsed.is_discarded()) continue;
      const auto read = event_from_json(parsed);
      ASSERT_TRUE(!read || *read != event) << changed;
    }
  }
}

}  // namespace
}  // namespace forge
