#include "null_executor.h"

#include <gtest/gtest.h>

namespace forge::apps {
namespace {

StepResult answer(std::uint32_t drafts, std::vector<Slice> slices) {
  StepPlan plan;
  plan.step = StepId(4);
  plan.slices = std::move(slices);
  NullExecutor executor(drafts);
  StepResult result;
  EXPECT_TRUE(executor.execute(plan, result));
  EXPECT_EQ(result.step, plan.step);
  return result;
}

TEST(NullExecutor, slices_that_sample_yield_one_token_others_none) {
  const StepResult result = answer(0, {{SeqId(1), 5, 1, 0, true}, {SeqId(2), 0, 16, 0, false}});
  ASSERT_EQ(result.slices.size(), 2u);
  EXPECT_EQ(result.slices[0].token_count, 1u);
  EXPECT_EQ(result.slices[1].token_count, 0u);
  EXPECT_EQ(result.tokens.size(), 1u);
}

TEST(NullExecutor, a_token_is_a_function_of_sequence_and_position) {
  const StepResult decode = answer(0, {{SeqId(3), 20, 1, 0, true}});
  const StepResult recompute = answer(0, {{SeqId(9), 0, 7, 0, true}, {SeqId(3), 0, 21, 0, true}});
  EXPECT_EQ(decode.tokens[0], recompute.tokens[1]);
  std::vector<TokenId> first;
  std::vector<TokenId> second;
  for (std::uint32_t position = 0; position < 16; ++position) {
    first.push_back(answer(0, {{SeqId(1), position, 1, 0, true}}).tokens[0]);
    second.push_back(answer(0, {{SeqId(2), position, 1, 0, true}}).tokens[0]);
  }
  EXPECT_NE(first, second);
}

TEST(NullExecutor, drafts_are_asked_for_and_accepted_in_part) {
  std::uint32_t fewest = 9;
  std::uint32_t most = 0;
  for (std::uint32_t position = 0; position < 200; ++position) {
    const StepResult result = answer(3, {{SeqId(1), position, 4, 3, true}});
    EXPECT_EQ(result.slices[0].drafts, 3u);
    fewest = std::min(fewest, result.slices[0].token_count);
    most = std::max(most, result.slices[0].token_count);
  }
  EXPECT_EQ(fewest, 1u);
  EXPECT_EQ(most, 4u);
}

}  // namespace
}  // namespace forge::apps
