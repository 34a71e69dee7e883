#include "forge/executor/faulty_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/loop_fixture.h"

namespace forge::executor {
namespace {

using test::ask;
using test::Listener;

/// A loop over a fake target that says "hello" and goes wrong.
struct FaultyLoop {
  explicit FaultyLoop(const std::vector<std::string>& faults,
                      engine::OnTargetLost on_target_lost = engine::OnTargetLost::exit)
      : target(test::says("hello")),
        executor(target, parsed(faults)),
        engine(test::kLoopConfig, executor, nullptr, on_target_lost) {}
  ~FaultyLoop() { executor.release(); }

  static std::vector<StepFault> parsed(const std::vector<std::string>& texts) {
    std::vector<StepFault> faults;
    for (const std::string& text : texts) faults.push_back(parse_fault(text).value());
    return faults;
  }
  /// The last event of a new request.
  engine::TokenEvent end_of_request() {
    Listener listener;
    EXPECT_TRUE(loop.submit(ask(), {}, listener.sink()));
    return listener.wait().back();
  }

  test::FakeExecutor target;
  FaultyExecutor executor;
  const text::ByteTokenizer tokenizer;
  engine::Engine engine;
  std::vector<std::string> losses;
  std::vector<std::string> reopens;
  engine::EngineLoop loop{
      engine, tokenizer,
      engine::EngineLoop::Options{
          .on_target_lost = [this](const std::string& reason) { losses.push_back(reason); },
          .on_target_reopened = [this](const std::string& reason) { reopens.push_back(reason); }}};
};

TEST(ParseFault, takes_what_the_header_says_and_names_the_rest) {
  EXPECT_EQ(parse_fault("fails@7").value(), (StepFault{FaultKind::fails, 7}));
  EXPECT_EQ(parse_fault("hangs@0").value(), (StepFault{FaultKind::hangs, 0}));
  EXPECT_EQ(parse_fault("lost@12").value(), (StepFault{FaultKind::lost, 12}));
  EXPECT_EQ(parse_fault("late@3:250").value(),
            (StepFault{FaultKind::late, 3, std::chrono::milliseconds(250)}));
  for (const char* text :
       {"", "fails", "fails@", "fails@-1", "fails@x", "fails@1:2", "late@1", "late@1:", "late@:1",
        "late@1:-1", "late@1:86400001", "breaks@1", "fails@99999999999999999999", "@1"}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_THAT(fault.error(), ::testing::HasSubstr("'" + std::string(text) + "' is no fault"));
  }
}

TEST(FaultyExecutor, a_step_that_fails_ends_its_requests_and_no_others) {
  FaultyLoop f({"fails@2"});
  const auto end = f.end_of_request();
  EXPECT_EQ(end.finish, FinishReason::error);
  EXPECT_EQ(end.completion_tokens, 2U);
  EXPECT_THAT(end.error, ::testing::HasSubstr("step 2 fails, as it was told"));
  EXPECT_EQ(f.end_of_request().finish, FinishReason::eos);
  f.loop.drain();
  EXPECT_TRUE(f.losses.empty());
}

TEST(FaultyExecutor, a_target_that_is_lost_stays_lost) {
  FaultyLoop f({"lost@1"});
  EXPECT_EQ(f.end_of_request().finish, FinishReason::error);
  f.loop.drain();
  EXPECT_EQ(f.loop.status().target_lost, "step 1 fails, as it was told");
  ASSERT_FALSE(f.losses.empty());
  EXPECT_EQ(f.losses.front(), "step 1 fails, as it was told");
}

TEST(FaultyExecutor, a_target_that_is_opened_again_loses_no_request_and_no_token) {
  FaultyLoop f({"lost@1", "lost@3", "lost@4"}, engine::OnTargetLost::reopen);
  Listener listener;
  ASSERT_TRUE(f.loop.submit(ask(), {}, listener.sink()));
  EXPECT_EQ(listener.text(), "hello");
  EXPECT_EQ(listener.finish(), FinishReason::eos);
  f.loop.drain();
  EXPECT_TRUE(f.losses.empty());
  EXPECT_EQ(f.reopens, (std::vector<std::string>{"step 1 fails, as it was told",
                                                 "step 3 fails, as it was told",
                                                 "step 4 fails, as it was told"}));
  EXPECT_EQ(f.loop.status().reopens, 3U);
  EXPECT_EQ(f.loop.status().target_lost, std::nullopt);
}

TEST(FaultyExecutor, a_target_that_is_lost_again_and_again_stays_lost) {
  FaultyLoop f({"lost@1", "lost@2", "lost@3", "lost@4"}, engine::OnTargetLost::reopen);
  EXPECT_EQ(f.end_of_request().finish, FinishReason::error);
  f.loop.drain();
  EXPECT_EQ(f.loop.status().target_lost,
            "step 4 fails, as it was told, after it was opened again 3 times in a row");
  EXPECT_FALSE(f.losses.empty());
}

TEST(FaultyExecutor, a_target_that_cannot_be_opened_again_stays_lost) {
  FaultyLoop f({"lost@1"}, engine::OnTargetLost::reopen);
  f.target.reopens = false;
  EXPECT_EQ(f.end_of_request().finish, FinishReason::error);
  f.loop.drain();
  EXPECT_EQ(f.loop.status().target_lost,
            "step 1 fails, as it was told, and it cannot be opened again: this target cannot be "
            "opened again in the same process");
}

TEST(FaultyExecutor, a_step_that_is_late_is_as_any_other) {
  FaultyLoop f({"late@1:20", "late@2:1"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(f.end_of_request().finish, FinishReason::eos);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

TEST(FaultyExecutor, a_step_that_hangs_does_so_until_it_is_released) {
  FaultyLoop f({"hangs@1"});
  Listener listener;
  ASSERT_TRUE(f.loop.submit(ask(), {}, listener.sink()));
  EXPECT_FALSE(f.loop.drain(std::chrono::milliseconds(5)));
  f.executor.release();
  EXPECT_EQ(listener.text(), "hello");
}

}  // namespace
}  // namespace forge::executor
