#include "forge/engine/engine.h"

#include <gtest/gtest.h>

#include <sstream>

#include "engine/fake_executor.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_writer.h"

namespace forge {
namespace {

using test::FakeExecutor;
using test::says;

constexpr SchedulerConfig kConfig{.num_blocks = 16, .block_size = 4, .max_batch_size = 4};

Request ask(std::string_view prompt, std::uint32_t max_new_tokens) {
  return {.prompt = ByteTokeniser::encode(prompt), .max_new_tokens = max_new_tokens};
}

std::map<std::uint64_t, std::string> run(Engine& engine) {
  std::map<std::uint64_t, std::string> texts;
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const SliceResult& slice : result.slices) {
      texts[slice.seq.value] += ByteTokeniser::decode(result.tokens_of(slice));
    }
  }
  return texts;
}

TEST(Engine, runs_requests_to_their_end) {
  FakeExecutor executor(says("hello"));
  Engine engine(kConfig, executor);
  ASSERT_TRUE(engine.submit(ask("a", 3)));
  ASSERT_TRUE(engine.submit(ask("b", 30)));
  EXPECT_EQ(run(engine), (std::map<std::uint64_t, std::string>{{1, "hel"}, {2, "hello"}}));
  EXPECT_EQ(executor.known_sequences(), 0u) << "the target forgets what has finished";
}

TEST(Engine, a_refused_request_reaches_neither_target_nor_trace) {
  FakeExecutor executor(says("hello"));
  std::ostringstream out;
  TraceWriter trace(out, {.scheduler = kConfig});
  Engine engine(kConfig, executor, &trace);
  const auto before = out.str();
  EXPECT_FALSE(engine.submit(ask("a", 1000)).has_value());
  EXPECT_EQ(executor.known_sequences(), 0u);
  EXPECT_EQ(out.str(), before);
}

TEST(Engine, a_failing_target_ends_the_sequences_of_its_step_and_the_engine_goes_on) {
  FakeExecutor executor(says("hello"));
  executor.failing_steps = {1};
  Engine engine({.num_blocks = 16, .block_size = 4, .max_batch_size = 1}, executor);
  ASSERT_TRUE(engine.submit(ask("a", 9)));
  ASSERT_TRUE(engine.submit(ask("b", 9)));
  EXPECT_EQ(run(engine), (std::map<std::uint64_t, std::string>{{1, "h"}, {2, "hello"}}));
  EXPECT_EQ(engine.last_error(), "told to fail");
  EXPECT_EQ(engine.scheduler().cache().pool().used_count(), 0u);
}

TEST(Engine, a_recorded_run_replays_to_the_same_digest) {
  std::stringstream out;
  FakeExecutor executor(says("hello"));
  executor.drafts = 2;
  TraceWriter trace(out, {.scheduler = kConfig});
  Engine engine(kConfig, executor, &trace);
  ASSERT_TRUE(engine.submit(ask("a", 9)));
  ASSERT_TRUE(engine.submit(ask("b", 9)));
  engine.step();
  ASSERT_TRUE(engine.cancel(SeqId{1}));
  run(engine);

  FakeExecutor fresh(says("hello"));
  fresh.drafts = 2;
  auto reader = TraceReader::open(out);
  ASSERT_TRUE(reader.has_value());
  const auto report = replay(*reader, fresh, ByteTokeniser::kVocabularySize);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->difference.has_value());
  EXPECT_EQ(report->digest, trace.digest());
}

}  // namespace
}  // namespace forge
