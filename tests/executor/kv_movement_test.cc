// KV that reaches a sequence by other ways than running its tokens: shared blocks, copies, swaps.
// The output must be that of the request alone on the CPU, bit for bit.
#include <gtest/gtest.h>

#include <string>

#include "executor/driver.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::Output;
using testing::request_of;

constexpr std::size_t kTokens = 18;

ExecutorOptions options_of(std::uint32_t block_size = 4) {
  return {.cache = {.num_blocks = 256 / block_size,
                    .block_size = block_size,
                    .num_host_blocks = 64 / block_size},
          .digest_logits = true,
          .check_kv = true};
}

/// The request alone, on the CPU.
Output alone(const Request& request) {
  Driver driver(testing::cpu_target(), {.cache = {.num_blocks = 64}, .digest_logits = true});
  driver.begin(1, request);
  driver.decode_to(1, kTokens);
  return driver.result(1);
}

class KvMovement : public testing::TargetTest {};

TEST_P(KvMovement, a_prompt_behind_a_shared_prefix_comes_out_as_alone) {
  const Request other = request_of("the cat sat", 0.8F, 3);
  Driver driver(target(), options_of());
  driver.begin(1, request_of("the cat is black"));
  driver.step({driver.decode(1)});
  driver.begin(2, other);
  driver.share(2, 1, 2);  // "the cat "
  driver.step({driver.decode(1), driver.decode(2)});
  driver.decode_to(2, kTokens);
  EXPECT_EQ(driver.result(2), alone(other));
}

TEST_P(KvMovement, the_owner_of_a_shared_prefix_may_leave) {
  const Request other = request_of("the cat sat");
  Driver driver(target(), options_of());
  driver.begin(1, request_of("the cat is black"));
  driver.step({driver.decode(1)});
  driver.begin(2, other);
  driver.share(2, 1, 2);
  driver.finish(1);
  driver.begin(3, request_of("takes the blocks that are free"));
  driver.step({driver.decode(2), driver.decode(3)});
  driver.decode_to(2, kTokens);
  EXPECT_EQ(driver.result(2), alone(other));
}

TEST_P(KvMovement, a_prompt_that_is_cached_whole_runs_its_last_token_in_a_copied_block) {
  const Request request = request_of("the cat sat!");  // three full blocks
  Driver driver(target(), options_of());
  driver.begin(1, request);
  driver.step({driver.decode(1)});
  driver.begin(2, request);
  driver.share(2, 1, 2);
  driver.copy_prefix(2, 1, 3);
  const StepResult& result = driver.step({driver.decode(2)});
  EXPECT_EQ(result.tokens.size(), 1U);
  driver.decode_to(2, kTokens);
  driver.decode_to(1, kTokens);
  EXPECT_EQ(driver.result(2), alone(request));
  EXPECT_EQ(driver.result(1), alone(request)) << "the copy leaves the original alone";
}

TEST_P(KvMovement, resume_by_swap_changes_nothing) {
  for (const std::uint32_t block_size : {1U, 4U, 16U}) {
    const Request request = request_of("Once upon a time", 0.8F, 7);
    Driver driver(target(), options_of(block_size));
    driver.begin(1, request);
    for (const std::size_t count : {3U, 4U, 17U}) {
      driver.decode_to(1, count);
      driver.swap_out(1);
      driver.begin(count + 100, request_of("someone else takes the blocks"));
      driver.step({driver.decode(count + 100)});
    }
    driver.decode_to(1, kTokens);
    EXPECT_EQ(driver.result(1), alone(request)) << "block_size " << block_size;
  }
}

TEST_P(KvMovement, a_prompt_swapped_out_between_its_chunks_goes_on_where_it_stopped) {
  const Request request = request_of("Once upon a time");
  Driver driver(target(), options_of());
  driver.begin(1, request);
  driver.step({driver.chunk(1, 6)});
  driver.swap_out(1);
  driver.begin(2, request_of("someone else takes the blocks"));
  driver.step({driver.decode(2)});
  driver.step({driver.chunk(1, 3)});
  driver.decode_to(1, kTokens);
  EXPECT_EQ(driver.result(1), alone(request));
}

TEST_P(KvMovement, copies_happen_in_the_order_of_the_list) {
  // In one plan: sequence 1 goes out, sequence 2 comes in, into the very blocks that 1 gives up,
  // from host blocks that 1 does not get.
  const Request first = request_of("abcdefghijk"), second = request_of("lmnopqrstuv");
  ExecutorOptions options = options_of();
  options.cache.num_blocks = 5;
  Driver driver(target(), options);
  driver.begin(1, first);
  driver.begin(2, second);
  driver.step({driver.decode(2)});
  driver.swap_out(2);
  driver.step({driver.decode(1)});
  driver.swap_out(1);
  driver.step({driver.decode(2)});
  driver.swap_out(2);
  driver.decode_to(1, 8);
  driver.finish(1);
  driver.decode_to(2, 8);
  const auto head = [](const Request& request) {
    const Output whole = alone(request);
    return std::vector<TokenId>(whole.tokens.begin(), whole.tokens.begin() + 8);
  };
  EXPECT_EQ(driver.output(2), head(second));
}

TEST_P(KvMovement, a_block_replaced_by_an_equal_one_changes_nothing) {
  const Request request = request_of("the cat sat on the mat");
  Driver driver(target(), options_of());
  driver.begin(1, request);
  driver.begin(2, request);
  driver.step({driver.decode(1), driver.decode(2)});
  // Blocks 0 .. 5 are the first sequence's, 6 .. 11 the second's: it gives up its own first two.
  StepPlan plan;
  plan.step = StepId(7);
  plan.tables = {{SeqId(2), 0, 0, 6}};
  for (const std::uint32_t block : {0U, 1U, 8U, 9U, 10U, 11U}) {
    plan.appended_blocks.emplace_back(block);
  }
  plan.slices = {driver.decode(2)};
  StepResult result;
  ASSERT_TRUE(driver.executor().execute(plan, result).has_value());
  EXPECT_EQ(result.logits[0], alone(request).digests[1]);
}

FORGE_FOR_EACH_TARGET(KvMovement);

}  // namespace
}  // namespace forge::executor
