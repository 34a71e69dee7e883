// A model that drafts for another, in a KV cache of its own.
#include <gtest/gtest.h>

#include "executor/driver.h"
#include "forge/cpu/cpu_executor.h"

namespace forge::cpu {
namespace {

using testing::cpu_target;
using testing::Driver;
using testing::MakeTarget;
using testing::request_of;

constexpr std::uint32_t kTokens = 40;

/// The built-in model, for which that of `seed` drafts.
MakeTarget drafted_by(std::uint64_t seed) {
  return [seed](const executor::ExecutorOptions& options) {
    return std::make_unique<CpuExecutor>(options, seeded_cpu_model({}, options),
                                         seeded_cpu_model({.seed = seed}, options));
  };
}

executor::ExecutorOptions options_of() {
  return {
      .num_blocks = 64, .block_size = 4, .num_host_blocks = 64, .drafts = 4, .digest_logits = true};
}

/// What `request` yields without drafts.
testing::Output plain(const Request& request) {
  Driver driver(cpu_target(), options_of());
  driver.begin(1, request);
  driver.decode_to(1, kTokens, 0);
  return driver.result(1);
}

TEST(DraftModel, changes_no_token_and_no_logit) {
  for (const float temperature : {0.0F, 1.0F}) {
    const Request request = request_of("Hello, my name is", temperature, 3);
    Driver driver(drafted_by(99), options_of());
    driver.begin(1, request);
    driver.decode_to(1, kTokens, 4);
    EXPECT_EQ(driver.result(1), plain(request));
    EXPECT_LT(driver.executor().speculation().accepted, driver.executor().speculation().proposed);
  }
}

// A model drafts for itself without a miss, as long as its KV is right. So these stories are told
// with it: a slot that the draft did not write, or wrote wrongly, costs an accepted draft.

void expect_no_miss(Driver& driver) {
  const SpeculationStatistics& s = driver.executor().speculation();
  EXPECT_GT(s.proposed, 0U);
  EXPECT_EQ(s.accepted, s.proposed);
}

constexpr std::uint64_t kItself = 1;  // the seed of the default model

TEST(DraftModel, knows_what_was_accepted_in_full) {
  Driver driver(drafted_by(kItself), options_of());
  driver.begin(1, request_of("Hello, my name is"));
  driver.decode_to(1, kTokens, 4);
  expect_no_miss(driver);
}

TEST(DraftModel, knows_prompts_that_came_in_chunks_and_steps_without_drafts) {
  Driver driver(drafted_by(kItself), options_of());
  driver.begin(1, request_of("Hello, my name is"));
  driver.step({driver.chunk(1, 5)});
  driver.step({driver.chunk(1, 7)});
  driver.step({driver.chunk(1, 5)});
  for (int i = 0; i < 3; ++i) driver.step({driver.decode(1, 0)});
  driver.decode_to(1, kTokens, 4);
  expect_no_miss(driver);
}

TEST(DraftModel, moves_with_the_blocks_that_are_swapped) {
  const Request request = request_of("Hello, my name is");
  Driver driver(drafted_by(kItself), options_of());
  driver.begin(1, request);
  driver.decode_to(1, 10, 4);
  driver.swap_out(1);
  driver.decode_to(1, kTokens, 4);
  expect_no_miss(driver);
  EXPECT_EQ(driver.result(1), plain(request));
}

TEST(DraftModel, shares_the_prefixes_that_the_model_shares) {
  Driver driver(drafted_by(kItself), options_of());
  driver.begin(1, request_of("Hello, my name is"));
  driver.decode_to(1, 8, 4);
  driver.begin(2, request_of("Hello, my name is"));
  driver.share(2, 1, 4);
  driver.decode_to(2, kTokens, 4);
  expect_no_miss(driver);
  EXPECT_EQ(driver.result(2), plain(request_of("Hello, my name is")));
}

}  // namespace
}  // namespace forge::cpu
