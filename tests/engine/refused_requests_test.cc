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

}  // namespace
}  // namespace forge::engine
