// Requests that can never run: refused at the door of the loop, by scheduler or target.
#include <gtest/gtest.h>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

using test::ask;
using test::Listener;
using test::LoopFixture;

TEST(EngineLoop, refuses_what_the_scheduler_would_refuse) {
  LoopFixture f("hi");
  Listener listener;
  const auto ticket = f.loop->submit(ask(100000), {}, listener.sink());
  ASSERT_FALSE(ticket.has_value());
  EXPECT_TRUE(std::holds_alternative<SubmitError>(ticket.error()));
}

TEST(EngineLoop, refuses_what_the_target_would_refuse) {
  LoopFixture f("hi");
  Listener listener;
  Request bound = ask();
  bound.sampling.grammar = OutputGrammar{{{GrammarKind::json_object}}, ""};
  const auto ticket = f.loop->submit(bound, {}, listener.sink());
  ASSERT_FALSE(ticket.has_value());
  EXPECT_EQ(to_string(ticket.error()), Executor::kNoGrammars);
}

TEST(EngineLoop, refuses_under_memory_pressure_if_it_is_told_to) {
  SchedulerConfig config = test::kLoopConfig;
  config.memory_pressure = 1;  // of 64 blocks none may be in use
  LoopFixture f("hello", /*queue_limit=*/8, /*held=*/true, config);
  f.loop = std::make_unique<EngineLoop>(f.engine, f.tokenizer,
                                        EngineLoop::Options{.refuse_under_pressure = true});
  Listener first;
  f.submit(first);
  f.executor.allow_only(1);
  first.wait_for_first();
  Listener second;
  const auto ticket = f.loop->submit(ask(), {}, second.sink());
  ASSERT_FALSE(ticket.has_value());
  EXPECT_EQ(std::get<MemoryPressure>(ticket.error()).total_blocks, 64U);
  EXPECT_EQ(to_string(ticket.error()),
            "memory is under pressure: 62 of 64 blocks of the KV cache are available");
  f.executor.release();
  first.wait();
  f.loop->drain();
}

}  // namespace
}  // namespace forge::engine
