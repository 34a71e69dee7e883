// A model that drafts for another, in a KV pool of its own, on each target. Reads of either pool
// are checked (kv_guard.h).
#include <gtest/gtest.h>

#include "executor/driver.h"

namespace forge::executor {
namespace {

using testing::Driver;
using testing::MakeTarget;
using testing::request_of;

constexpr std::uint32_t kTokens = 40;

ExecutorOptions checked_options() {
  return {.cache = {.num_blocks = 64, .block_size = 4, .num_host_blocks = 64},
          .drafts = 4,
          .digest_logits = true,
          .check_kv = true};
}

/// What `request` yields without drafts, on the CPU.
testing::Output told_plainly(const Request& request) {
  Driver driver(testing::cpu_target(), checked_options());
  driver.begin(1, request);
  driver.decode_to(1, kTokens, 0);
  return driver.result(1);
}

class DraftModel : public testing::TargetTest {
 protected:
  static MakeTarget drafted_by(const reference::TinyConfig& model) {
    return target({.model = model, .drafter = {}});
  }
};

TEST_P(DraftModel, changes_no_token_and_no_logit) {
  for (const float temperature : {0.0F, 1.0F}) {
    const Request request = request_of("Hello, my name is", temperature, 3);
    Driver driver(drafted_by({.layers = 2, .heads = 8, .seed = 99}), checked_options());
    driver.begin(1, request);
    driver.decode_to(1, kTokens, 4);
    EXPECT_EQ(driver.result(1), told_plainly(request));
    EXPECT_LT(driver.executor().speculation().accepted, driver.executor().speculation().proposed);
  }
}

TEST_P(DraftModel, may_have_a_smaller_vocabulary) {
  const Request request = request_of("Hello, my name is");
  Driver driver(drafted_by({.vocabulary_size = 100}), checked_options());
  driver.begin(1, request);
  driver.decode_to(1, kTokens, 4);
  EXPECT_EQ(driver.result(1), told_plainly(request));
}

// A model drafts for itself without a miss, as long as its KV is right. So these stories are told
// with it: a slot that the draft model did not write, or wrote wrongly, costs an accepted draft.

class DraftsForItself : public DraftModel {
 protected:
  void SetUp() override {
    DraftModel::SetUp();
    if (!IsSkipped()) driver_.emplace(drafted_by({}), checked_options());
  }

  void expect_no_miss() {
    const SpeculationStatistics& s = driver_->executor().speculation();
    EXPECT_GT(s.proposed, 0U);
    EXPECT_EQ(s.accepted, s.proposed);
  }

  std::optional<Driver> driver_;
};

TEST_P(DraftsForItself, knows_what_was_accepted_in_full) {
  driver_->begin(1, request_of("Hello, my name is"));
  driver_->decode_to(1, kTokens, 4);
  expect_no_miss();
}

TEST_P(DraftsForItself, knows_prompts_that_came_in_chunks_and_steps_without_drafts) {
  driver_->begin(1, request_of("Hello, my name is"));
  driver_->step({driver_->chunk(1, 5)});
  driver_->step({driver_->chunk(1, 7)});
  driver_->step({driver_->chunk(1, 5)});
  for (int i = 0; i < 3; ++i) driver_->step({driver_->decode(1, 0)});
  driver_->decode_to(1, kTokens, 4);
  expect_no_miss();
}

TEST_P(DraftsForItself, moves_with_the_blocks_that_are_swapped) {
  const Request request = request_of("Hello, my name is");
  driver_->begin(1, request);
  for (const std::size_t count : {10U, 20U, 28U}) {  // 28: 3 + 17 tokens, a block's last slot lacks
    driver_->decode_to(1, count, 4);
    driver_->swap_out(1);
  }
  driver_->decode_to(1, kTokens, 4);
  expect_no_miss();
  EXPECT_EQ(driver_->result(1), told_plainly(request));
}

TEST_P(DraftsForItself, shares_the_prefixes_that_the_model_shares) {
  driver_->begin(1, request_of("Hello, my name is"));
  driver_->decode_to(1, 8, 4);
  driver_->begin(2, request_of("Hello, my name is"));
  driver_->share(2, 1, 4);
  driver_->decode_to(2, kTokens, 4);
  expect_no_miss();
  EXPECT_EQ(driver_->result(2), told_plainly(request_of("Hello, my name is")));
}

/// Sequence 1 ends where its last draft, kept, fills a block: nothing has run that draft.
class LackingSlot : public DraftsForItself {
 protected:
  void SetUp() override {
    DraftsForItself::SetUp();
    if (IsSkipped()) return;
    // 3 known tokens, then 4 drafts and a token of the model's own: positions 3 .. 7.
    driver_->begin(1, request_of("cat"));
    driver_->step({driver_->decode(1)});
    driver_->step({driver_->decode(1, 4)});
    text_ = request_of("cat");
    for (const TokenId token : driver_->output(1)) text_.prompt.push_back(token);
    ASSERT_EQ(text_.prompt.size(), 9U) << "8 of them with KV";
  }

  Request text_;  // what sequence 1 knows
};

TEST_P(LackingSlot, is_filled_by_whoever_finds_the_block_cached) {
  driver_->begin(2, text_);
  driver_->share(2, 1, 2);
  driver_->finish(1);
  driver_->decode_to(2, 1);
  driver_->decode_to(2, kTokens, 4);
  expect_no_miss();
}

TEST_P(LackingSlot, is_filled_once_where_several_read_it_in_one_step) {
  for (const std::uint64_t seq : {2U, 3U}) {
    driver_->begin(seq, text_);
    driver_->share(seq, 1, 2);
  }
  driver_->step({driver_->decode(1, 4), driver_->decode(2, 4), driver_->decode(3, 4)});
  expect_no_miss();
  EXPECT_EQ(driver_->output(2), driver_->output(3));
}

TEST_P(LackingSlot, goes_with_a_copy_of_its_block) {
  Request shorter = text_;
  shorter.prompt.pop_back();
  driver_->begin(2, shorter);
  driver_->share(2, 1, 1);
  driver_->copy_prefix(2, 1, 3);
  driver_->finish(1);
  driver_->decode_to(2, kTokens, 4);
  expect_no_miss();
}

FORGE_FOR_EACH_TARGET(DraftModel);
FORGE_FOR_EACH_TARGET(DraftsForItself);
FORGE_FOR_EACH_TARGET(LackingSlot);

}  // namespace
}  // namespace forge::executor
