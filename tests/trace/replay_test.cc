#include "forge/trace/replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>
#include <vector>

#include "forge/trace/trace_json.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::HashExecutor;
using testing::joined;
using testing::lines_of;
using testing::replaced;
using testing::request;
using testing::small_trace;

tl::expected<ReplayReport, TraceError> replay_text(const std::string& text,
                                                   HashExecutor executor = {}) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in);
  if (!reader) return tl::unexpected(reader.error());
  return replay(*reader, executor, HashExecutor::kVocabulary);
}

std::string difference_of(const std::string& text) {
  const auto report = replay_text(text);
  if (!report) return "error: " + report.error().message;
  if (!report->difference) return "none";
  return "step " + std::to_string(report->difference->step.value) + ": " +
         to_string(report->difference->difference);
}

TEST(Replay, a_recorded_run_replays_to_its_digest) {
  const std::string text = small_trace();
  ASSERT_NE(text.find("preempted"), std::string::npos);
  const auto report = replay_text(text).value();
  EXPECT_FALSE(report.difference);
  const std::string last = lines_of(text).back();
  EXPECT_NE(last.find(digest_text(report.digest)), std::string::npos);
}

tl::expected<ReplayReport, TraceError> replay_plans_of(const std::string& text) {
  std::istringstream in(text);
  auto reader = TraceReader::open(in);
  if (!reader) return tl::unexpected(reader.error());
  return replay_plans(*reader);
}

std::vector<StepEvent> steps_of(const std::string& text) {
  std::vector<StepEvent> steps;
  std::istringstream in(text);
  auto reader = TraceReader::open(in).value();
  while (auto event = reader.next().value()) {
    if (const auto* step = std::get_if<StepEvent>(&*event)) steps.push_back(*step);
  }
  return steps;
}

TEST(Replay, a_veiled_run_has_the_plans_of_the_run_and_replays_to_its_digest) {
  for (const auto preemption : {PreemptionPolicy::automatic, PreemptionPolicy::recompute}) {
    const std::string veiled = testing::eventful_trace(preemption, TraceTokens::veiled);
    const auto told = steps_of(veiled);
    const auto happened = steps_of(testing::eventful_trace(preemption));
    ASSERT_EQ(told.size(), happened.size());
    for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i].plan, happened[i].plan);
    const auto report = replay_plans_of(veiled).value();
    EXPECT_FALSE(report.difference);
    EXPECT_EQ(report.steps, told.size());
    EXPECT_EQ(report.digest, told.back().link);
  }
}

TEST(Replay, plans_alone_replay_of_exposed_runs_too) {
  const auto report = replay_plans_of(small_trace()).value();
  EXPECT_FALSE(report.difference);
  EXPECT_EQ(report.digest, replay_text(small_trace()).value().digest);
}

TEST(Replay, a_result_that_answers_another_plan_is_not_committed) {
  std::vector<std::string> lines = lines_of(small_trace());
  const auto spoil = [&](auto change) {
    std::vector<std::string> spoiled = lines;
    for (std::string& line : spoiled) {
      if (!line.starts_with("{\"step\"")) continue;
      auto event = std::get<StepEvent>(event_from_json(nlohmann::json::parse(line)).value());
      change(event.result);
      line = to_json_line(TraceEvent(event));
      break;
    }
    const auto report = replay_plans_of(joined(spoiled));
    return report ? "no error" : report.error().message;
  };
  EXPECT_NE(spoil([](StepResult& result) { result.slices.clear(); }), "no error");
  EXPECT_NE(spoil([](StepResult& result) { result.slices[0].seq = SeqId{9}; }), "no error");
  EXPECT_NE(spoil([](StepResult& result) { result.slices[0].token_count = 0; }), "no error");
}

TEST(Replay, a_target_that_was_lost_is_lost_again_and_opened_again) {
  HashExecutor executor;
  executor.lost_steps = {2, 5};
  const std::string text = testing::record({{.cache = {.num_blocks = 12, .block_size = 4}}},
                                           {request(5, 4), request(9, 6)}, executor);
  ASSERT_NE(text.find("\"kv_lost\":true"), std::string::npos);
  EXPECT_FALSE(replay_plans_of(text).value().difference);
  const auto report = replay_text(text).value();
  EXPECT_FALSE(report.difference);
  EXPECT_EQ(report.digest, replay_plans_of(text).value().digest);
}

TEST(Replay, what_was_cached_is_compared_where_the_trace_says_it) {
  const std::string text = testing::eventful_trace();
  const std::string other = replaced(text, "\"stored\":[[0,1,0]]", "\"stored\":[[0,1,1]]");
  const auto report = replay_plans_of(other).value();
  ASSERT_TRUE(report.difference);
  EXPECT_EQ(to_string(report.difference->difference), "cache.stored[0].place: 1 against 0");
  const std::string silent = replaced(other, "\"forge_trace\":10", "\"forge_trace\":8");
  EXPECT_FALSE(replay_plans_of(silent).value().difference);
}

// The stored traces are seeds of the fuzzer and what book/traces.md shows. They were written by
// this test with FORGE_UPDATE_CORPUS=1 in the environment; nothing in them is made by hand.
TEST(Replay, stored_traces_are_what_the_scheduler_does_today) {
  const std::pair<const char*, std::string> stored[] = {
      {"preemption.jsonl", small_trace()},
      {"eventful.jsonl", testing::eventful_trace()},
      {"shared.jsonl", testing::shared_trace()},
      {"killed.jsonl", testing::eventful_trace().substr(0, 4891)},
      {"rotated.jsonl", testing::joined_files(testing::eventful_files(PreemptionPolicy::swap,
                                                                      TraceTokens::exposed, 12))},
      {"later.jsonl", testing::shared_files(30)[1]},
      {"recompute.jsonl", testing::eventful_trace(PreemptionPolicy::recompute)}};
  for (const auto& [name, text] : stored) {
    const std::string path = std::string(FORGE_TRACE_CORPUS "/") + name;
    if (std::getenv("FORGE_UPDATE_CORPUS") != nullptr) std::ofstream(path) << text;
    std::ifstream in(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << path;
  }
}

TEST(Replay, turns_failures_and_lost_kv_replay_to_the_digest) {
  const std::string text = testing::shared_trace();
  for (const char* part : {"\"kv_lost\":true", "\"error\"", "\"swap\"]", "\"weight\":3", "\"low\"",
                           "\"deadline\"]", "\"cancelled\"", "\"session\":18446744073709551"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "the run has no " << part;
  }
  const auto report = replay_plans_of(text).value();
  EXPECT_FALSE(report.difference) << to_string(report.difference->difference);
}

TEST(Replay, chunks_prefix_hits_swaps_and_sessions_replay_to_the_digest) {
  const std::string text = testing::eventful_trace();
  for (const char* part :
       {"false]", "[\"within\",", "\"swap\"]", "[\"swap_in\",", "preempted\":[[5]]",
        "\"deadline\"]", "release_session", "clear_prefix_cache"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "the run has no " << part;
  }
  HashExecutor executor;
  executor.drafts = 2;
  const auto report = replay_text(text, executor).value();
  ASSERT_FALSE(report.difference) << to_string(report.difference->difference);
  EXPECT_NE(lines_of(text).back().find(digest_text(report.digest)), std::string::npos);
}

TEST(Replay, sessions_that_were_not_released_then_are_a_difference) {
  const std::string text = testing::eventful_trace();
  HashExecutor executor;
  executor.drafts = 2;
  const auto unknown =
      replay_text(replaced(text, "{\"session\":7}}\n", "{\"session\":8}}\n"), executor);
  ASSERT_TRUE(unknown->difference);
  EXPECT_EQ(to_string(unknown->difference->difference),
            "release_session.session: 8 against no such session");
}

TEST(Replay, a_cache_that_is_not_cleared_then_makes_another_plan) {
  HashExecutor executor;
  executor.drafts = 2;
  const auto report = replay_text(
      replaced(testing::eventful_trace(), "{\"clear_prefix_cache\":{}}\n", ""), executor);
  ASSERT_TRUE(report->difference);
  EXPECT_EQ(report->difference->difference.field, "step.admitted[0].cached_tokens");
}

TEST(Replay, a_run_with_drafts_replays) {
  HashExecutor executor;
  executor.drafts = 4;
  const std::string text = testing::record(
      {{.cache = {.num_blocks = 12, .block_size = 2}, .batch = {.max_batch_size = 4}}},
      std::vector<Request>(6, testing::request(3, 12)), executor);
  EXPECT_NE(text.find("\"preempted\""), std::string::npos);
  EXPECT_FALSE(replay_text(text, executor)->difference);
}

TEST(Replay, a_changed_plan_is_found_at_its_step_and_not_executed) {
  auto lines = lines_of(small_trace());
  std::string& line = lines[testing::line_of_step(lines, 2)];
  line = replaced(line, "\"slices\":[[1,", "\"slices\":[[2,");
  std::istringstream in(joined(lines));
  auto reader = TraceReader::open(in).value();
  HashExecutor executor;
  const auto report = replay(reader, executor, HashExecutor::kVocabulary).value();
  ASSERT_TRUE(report.difference);
  EXPECT_EQ(report.difference->step, StepId{2});
  EXPECT_EQ(report.difference->line, testing::line_of_step(lines, 2) + 1);
  EXPECT_EQ(to_string(report.difference->difference), "step.slices[0].seq: 2 against 1");
  EXPECT_EQ(report.steps, 2u);
  EXPECT_EQ(executor.executed_steps, 2u);
}

TEST(Replay, changed_tokens_logits_and_links_are_found_at_their_step) {
  const auto changed = [](const std::string& from, const std::string& to) {
    auto lines = lines_of(small_trace());
    std::string& line = lines[testing::line_of_step(lines, 1)];
    line = replaced(line, from, to);
    return difference_of(joined(lines));
  };
  EXPECT_EQ(changed("\"tokens\":[", "\"tokens\":[1").substr(0, 26), "step 1: result.tokens[0]: ");
  EXPECT_EQ(changed("\"link\":\"", "\"link\":\"0000000000000000\",\"x\":\"").substr(0, 6),
            "error:");
  std::string digest = "\"logits\":[\"";
  auto lines = lines_of(small_trace());
  std::string& line = lines[testing::line_of_step(lines, 1)];
  char& digit = line[line.find(digest) + digest.size()];
  digit = digit == '0' ? '1' : '0';
  EXPECT_EQ(difference_of(joined(lines)).substr(0, 26), "step 1: result.logits[0]: ");
  lines = lines_of(small_trace());
  std::string& again = lines[testing::line_of_step(lines, 1)];
  char& link_digit = again[again.size() - 3];
  link_digit = link_digit == '0' ? '1' : '0';
  EXPECT_EQ(difference_of(joined(lines)).substr(0, 14), "step 1: link: ");
}

TEST(Replay, changed_submissions_and_cancellations_are_differences) {
  const std::string text = small_trace();
  EXPECT_EQ(difference_of(replaced(text, "{\"submit\":{\"seq\":2,", "{\"submit\":{\"seq\":5,")),
            "step 0: submit.seq: 5 against 2");
  EXPECT_EQ(difference_of(replaced(text, "{\"cancel\":{\"seq\":3,", "{\"cancel\":{\"seq\":9,")),
            "step 2: cancel.seq: 9 against no such sequence");
  EXPECT_EQ(difference_of(replaced(text, "\"max_new_tokens\":4", "\"max_new_tokens\":5")),
            "step 0: submit: taken as sequence 1 against refused: prompt of 2 tokens plus "
            "max_new_tokens 5 exceeds the KV cache of 6 tokens");
}

TEST(Replay, tokens_outside_the_vocabulary_never_reach_the_target) {
  EXPECT_EQ(difference_of(replaced(small_trace(), "\"prompt\":[5,", "\"prompt\":[320,")),
            "error: submit.request.prompt: token 320 is not in 0..319, the target's vocabulary");
}

TEST(Replay, a_failed_step_replays_on_a_target_that_fails_likewise) {
  HashExecutor executor;
  executor.failing_steps = {2};
  const std::string text = testing::record(
      {{.cache = {.num_blocks = 8, .block_size = 4}, .batch = {.max_batch_size = 2}}},
      std::vector<Request>(4, testing::request(3, 4)), executor);
  EXPECT_FALSE(replay_text(text, executor)->difference);
  const auto healthy = replay_text(text).value();
  ASSERT_TRUE(healthy.difference);
  EXPECT_EQ(healthy.difference->step, StepId{2});

  const auto failing = replay_text(small_trace(), executor).value();
  ASSERT_TRUE(failing.difference);
  EXPECT_EQ(failing.difference->target_error, "the device is on fire");
}

}  // namespace
}  // namespace forge::trace
