#include "forge/trace/trace_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "forge/trace/trace_header.h"
#include "trace/generators.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using nlohmann::json;

StepEvent documented_step() {
  StepEvent event;
  event.plan.step = StepId{7};
  event.plan.admitted = {{SeqId{4}}};
  event.plan.resumed = {{SeqId{3}, 32}};
  event.plan.preempted = {{SeqId{2}, PreemptionMode::recompute}};
  event.plan.finished = {{SeqId{1}, FinishReason::length}};
  event.plan.copies = {{CopyKind::within, BlockId{0}, BlockId{5}}};
  event.plan.tables = {{SeqId{4}, 0, 0, 2}};
  event.plan.appended_blocks = {BlockId{9}, BlockId{8}};
  event.plan.slices = {{SeqId{4}, 0, 2, 0, true}};
  event.result.step = StepId{7};
  event.result.slices = {{SeqId{4}, 0, 1, FinishSignal::none, 0}};
  event.result.tokens = {TokenId{105}};
  event.result.logits = {0xcbf29ce484222325};
  event.cache.removed = {BlockId{5}};
  event.cache.stored = {{BlockId{9}, SeqId{4}, 0}, {BlockId{8}, SeqId{4}, 1, BlockId{9}}};
  event.link = 0x84222325cbf29ce4;
  return event;
}

TEST(TraceJson, a_step_is_written_as_documented) {
  EXPECT_EQ(to_json_line(TraceEvent(documented_step())),
            R"({"step":{"step":7,"admitted":[[4]],"resumed":[[3,32]],"preempted":[[2]],)"
            R"("finished":[[1,"length"]],"copies":[["within",0,5]],"tables":[[4,0,0,2]],)"
            R"("appended_blocks":[9,8],"slices":[[4,0,2]],"decodes":0},)"
            R"("result":{"step":7,"slices":[[4,0]],"tokens":[105],)"
            R"("logits":["cbf29ce484222325"]},)"
            R"("cache":{"removed":[5],"stored":[[9,4,0],[8,4,1,9]]},"link":"84222325cbf29ce4"})");
}

TEST(TraceJson, the_loss_of_all_kv_is_written_as_documented) {
  StepEvent event;
  event.result.kv_lost = true;
  event.cache.cleared = true;
  EXPECT_EQ(to_json_line(TraceEvent(event)),
            R"({"step":{"step":0,"decodes":0},"result":{"step":0,"kv_lost":true},)"
            R"("cache":{"cleared":true},"link":"0000000000000000"})");
}

TEST(TraceJson, an_empty_step_has_no_lists) {
  EXPECT_EQ(to_json_line(TraceEvent(StepEvent{})),
            R"({"step":{"step":0,"decodes":0},"result":{"step":0},"link":"0000000000000000"})");
}

TEST(TraceJson, the_header_has_every_field_of_the_scheduler) {
  const TraceHeader header{{.cache = {.num_blocks = 6, .block_size = 1, .num_host_blocks = 3},
                            .batch = {.max_batch_size = 16, .max_batch_tokens = 64},
                            .prefill_chunk_size = 8,
                            .watermark_blocks = 2,
                            .memory_pressure = 90,
                            .decode_priority = 25,
                            .priority_head_start = 9,
                            .preemption = PreemptionPolicy::swap,
                            .swap_setup_cost = 4,
                            .swap_block_cost = 5,
                            .draft_lengths = DraftLengths::adaptive,
                            .draft_break_even = 45,
                            .prefix_cache = PrefixCacheKind::hash,
                            .prefix_cache_max = 3,
                            .prefix_hash_key = 18446744073709551615u,
                            .session_idle_steps = 10},
                           {{"model", "tiny"}}};
  EXPECT_EQ(to_json_line(header),
            R"({"forge_trace":10,"scheduler":{"num_blocks":6,"block_size":1,"num_host_blocks":3,)"
            R"("max_batch_size":16,"max_batch_tokens":64,"prefill_chunk_size":8,)"
            R"("watermark_blocks":2,"priority_head_start":9,"preemption":"swap",)"
            R"("swap_setup_cost":4,"swap_block_cost":5,"prefix_cache":"hash",)"
            R"("prefix_hash_key":18446744073709551615,"session_idle_steps":10,)"
            R"("draft_lengths":"adaptive","draft_break_even":45,)"
            R"("memory_pressure":90,"decode_priority":25,)"
            R"("prefix_cache_max":3},"target":{"model":"tiny"}})");
  EXPECT_EQ(header_from_json(json::parse(to_json_line(header))).value(), header);
}

TEST(TraceJson, a_header_says_that_tokens_are_veiled) {
  const TraceHeader header{.tokens = TraceTokens::veiled};
  const std::string line = to_json_line(header);
  EXPECT_TRUE(line.ends_with(R"("target":{},"tokens":"veiled"})")) << line;
  EXPECT_EQ(header_from_json(json::parse(line)).value(), header);
}

TEST(TraceJson, a_request_says_what_is_not_as_usual) {
  const auto line = [](const Request& request) {
    return to_json_line(TraceEvent(SubmitEvent{SeqId{1}, request}));
  };
  EXPECT_EQ(line({.prompt = {TokenId{73}, TokenId{106}}}),
            R"({"submit":{"seq":1,"request":{"prompt":[73,106],"max_new_tokens":32}}})");
  EXPECT_EQ(line({.prompt = {TokenId{73}},
                  .sampling = {0.7F, 9},
                  .ignore_eos = true,
                  .priority = Priority::high,
                  .client = ClientId{0xc1},
                  .user = UserId{0x05e7},
                  .weight = 3,
                  .prefix_cache = PrefixCacheUse::disable,
                  .cache_salt = CacheSalt{0x1f},
                  .deadline_steps = 50,
                  .session = SessionId{0}}),
            R"({"submit":{"seq":1,"request":{"prompt":[73],"max_new_tokens":32,)"
            R"("sampling":{"temperature":0.7,"seed":9},"ignore_eos":true,"priority":"high",)"
            R"("prefix_cache":"disable","deadline_steps":50,"session":0,)"
            R"("cache_salt":"000000000000001f","client":"00000000000000c1",)"
            R"("user":"00000000000005e7","weight":3}}})");
}

// Version 3 is what these say. A new default of Request or of a row needs a new version.
TEST(TraceJson, what_is_usual_belongs_to_the_version) {
  const auto same = [](const char* left_out, const char* written_out) {
    const auto left = event_from_json(json::parse(left_out));
    const auto right = event_from_json(json::parse(written_out));
    return left && right && *left == *right;
  };
  EXPECT_TRUE(same(R"({"submit":{"seq":1,"request":{"prompt":[7],"max_new_tokens":32}}})",
                   R"({"submit":{"seq":1,"request":{"prompt":[7],"max_new_tokens":32,)"
                   R"("sampling":{"temperature":0,"seed":0},"ignore_eos":false,)"
                   R"("priority":"normal","prefix_cache":"auto","deadline_steps":0,)"
                   R"("cache_salt":"0000000000000000","client":"0000000000000000",)"
                   R"("user":"0000000000000000","weight":1}}})"));
  EXPECT_TRUE(same(R"({"step":{"step":7,"admitted":[[4]],"preempted":[[2]],"tables":[[4,0,0]],)"
                   R"("appended_blocks":[3],"slices":[[4,9]],"decodes":0},)"
                   R"("result":{"step":7,"slices":[[4,0]],"tokens":[1]},)"
                   R"("link":"0000000000000000"})",
                   R"({"step":{"step":7,"admitted":[[4,0]],"preempted":[[2,"recompute"]],)"
                   R"("tables":[[4,0,0,1]],"appended_blocks":[3],"slices":[[4,9,1,0,true]],)"
                   R"("decodes":0},"result":{"step":7,"slices":[[4,0,1,"none",0]],"tokens":[1]},)"
                   R"("link":"0000000000000000"})"));
}

TEST(TraceJson, the_other_events_are_written_as_documented) {
  EXPECT_EQ(to_json_line(TraceEvent(CancelEvent{SeqId{1}, FinishReason::stop})),
            R"({"cancel":{"seq":1,"reason":"stop"}})");
  EXPECT_EQ(to_json_line(TraceEvent(ReleaseSessionEvent{SessionId{7}})),
            R"({"release_session":{"session":7}})");
  EXPECT_EQ(to_json_line(TraceEvent(ClearPrefixCacheEvent{})), R"({"clear_prefix_cache":{}})");
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
  const TraceHeader header{
      {.cache = {.num_blocks = 1, .block_size = 1u << 14}, .batch = {.max_batch_size = 1}},
      json::parse(R"({"a":[1,{"b":0.1}],"c":null})")};
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
  EXPECT_EQ(error_after("[4,0,2]", "[4,0,4294967296]"),
            "step.slices[0].count: 4294967296 is not an integer in 0..4294967295");
  EXPECT_EQ(error_after("[4,0,2]", "[4,0,-2]"),
            "step.slices[0].count: -2 is not an integer in 0..4294967295");
  EXPECT_EQ(error_after("[4,0,2]", "[4,0,2,0,1]"),
            "step.slices[0].samples: 1 is neither true nor false");
  EXPECT_EQ(error_after("[4,0,2]", "[4]"),
            "step.slices[0]: a list of 1 is not a list of 2 to 5 values");
  EXPECT_EQ(error_after("[4,0,2]", "[4,0,2,0,true,0]"),
            "step.slices[0]: a list of 6 is not a list of 2 to 5 values");
  EXPECT_EQ(error_after("[\"within\",0,5]", "[\"within\",0]"),
            "step.copies[0]: a list of 2 is not a list of 3 values");
  EXPECT_EQ(error_after("\"within\"", "\"across\""),
            "step.copies[0].kind: \"across\" is none of within, swap_out, swap_in");
  EXPECT_EQ(error_after("\"preempted\":[[2]]", "\"preempted\":[[2,\"forget\"]]"),
            "step.preempted[0].mode: \"forget\" is none of recompute, swap");
  EXPECT_EQ(error_after("\"tables\":[[4,0,0,2]]", "\"tables\":[[4,0,1,2]]"),
            "step.tables[0]: [1, 3) is not inside a list of 2");
  EXPECT_EQ(error_after("\"slices\":[[4,0]]", "\"slices\":[[4,4294967295,4294967295]]"),
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
}  // namespace forge::trace
