#include "forge/core/scheduler_config.h"

#include <gtest/gtest.h>

#include "forge/core/scheduler.h"

namespace forge {
namespace {

TEST(SchedulerConfig, the_defaults_are_valid) {
  EXPECT_TRUE(validate(SchedulerConfig{}).has_value());
}

TEST(SchedulerConfig, a_number_out_of_range_is_named_with_what_is_accepted) {
  const auto error =
      validate(SchedulerConfig{.batch = {.max_batch_size = 64, .max_batch_tokens = 63}});
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(to_string(error.error()), "max_batch_tokens is 63, accepted: 64 .. 4294967295");
  EXPECT_EQ(validate(SchedulerConfig{.cache = {.num_blocks = 0}}).error().name, "num_blocks");
  EXPECT_EQ(validate(SchedulerConfig{.cache = {.block_size = 0}}).error().name, "block_size");
  EXPECT_EQ(validate(SchedulerConfig{.batch = {.max_batch_size = 0}}).error().name,
            "max_batch_size");
  EXPECT_EQ(validate(SchedulerConfig{.prefill_chunk_size = 0}).error().name, "prefill_chunk_size");
  EXPECT_EQ(
      validate(SchedulerConfig{.cache = {.num_blocks = 4}, .watermark_blocks = 5}).error().name,
      "watermark_blocks");
  EXPECT_EQ(validate(SchedulerConfig{.priority_head_start = 1u << 17}).error().name,
            "priority_head_start");
  EXPECT_EQ(validate(SchedulerConfig{.session_idle_steps = 0}).error().name, "session_idle_steps");
}

TEST(SchedulerConfigDeathTest, a_scheduler_refuses_an_invalid_one) {
  EXPECT_DEATH(Scheduler(SchedulerConfig{.cache = {.block_size = 0}}),
               "block_size is 0, accepted: 1 .. ");
}

TEST(SchedulerConfig, a_session_needs_a_prefix_cache) {
  const SchedulerConfig off{.prefix_cache = PrefixCacheKind::none};
  Request request{.prompt = {TokenId{1}}};
  EXPECT_TRUE(validate(request, off).has_value());
  request.session = SessionId{1};
  EXPECT_TRUE(validate(request, SchedulerConfig{}).has_value());
  ASSERT_FALSE(validate(request, off).has_value());
  EXPECT_EQ(validate(request, off).error(), SubmitError(NoPrefixCache{}));
  request.prefix_cache = PrefixCacheUse::disable;
  EXPECT_FALSE(validate(request, SchedulerConfig{}).has_value());
}

}  // namespace
}  // namespace forge
