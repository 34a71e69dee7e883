// What a cache says of its changes, and a scheduler of those of a step.
#include "forge/core/cache_delta.h"

#include <gtest/gtest.h>

#include "core/policy_story.h"
#include "forge/core/must.h"

namespace forge {
namespace {

using testing::prompt;
using testing::small;
using testing::with;
using testing::World;

/// "cleared -7 +2 +5<2": removed, and stored at the start or after another one.
std::string words(const CacheDelta& delta) {
  std::string text = delta.cleared ? "cleared" : "";
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const BlockId block : delta.removed) add("-" + std::to_string(block.value));
  for (const StoredBlock& stored : delta.stored) {
    add("+" + std::to_string(stored.block.value) +
        (stored.parent ? "<" + std::to_string(stored.parent->value) : ""));
  }
  return text;
}

SchedulerConfig caching(std::uint32_t num_blocks) {
  SchedulerConfig config = small(num_blocks, 2);
  config.prefix_cache = PrefixCacheKind::radix;
  return config;
}

std::string delta_of_step(World& world) {
  world.step();
  return words(world.scheduler.cache_delta());
}

// Blocks of two slots. A prompt is stored when its step has been committed, its output as it fills
// blocks; the second request shares two blocks and stores what it has alone; the third needs the
// memory of what nobody uses any more, the last block of a path first.
TEST(CacheDelta, says_what_each_step_stores_and_gives_up) {
  World world(caching(6));
  world.submit(prompt(0, 5, 2));
  EXPECT_EQ(delta_of_step(world), "+0 +1<0");
  EXPECT_EQ(delta_of_step(world), "+2<1");
  world.submit(prompt(0, 8, 1));
  EXPECT_EQ(delta_of_step(world), "+3<1 +4<3") << "behind what both begin with";
  world.submit(prompt(50, 8, 1));
  EXPECT_EQ(delta_of_step(world), "-2 -4 -3 +5 +2<5 +4<2 +3<4");
}

TEST(CacheDelta, a_block_that_gives_way_to_an_equal_one_is_not_stored) {
  World world(caching(16));
  world.submit(prompt(0, 4, 3));
  world.submit(prompt(0, 6, 3));
  EXPECT_EQ(delta_of_step(world), "+0 +1<0 +4<1");
}

TEST(CacheDelta, says_whose_tokens_a_block_has_and_where) {
  World world(caching(16));
  world.submit(prompt(0, 2, 1));
  world.step();
  world.submit(prompt(0, 6, 1));
  world.step();
  const std::vector<StoredBlock> stored = world.scheduler.cache_delta().stored;
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[0].seq, SeqId{2});
  EXPECT_EQ(stored[0].place, 1U);
  EXPECT_EQ(stored[0].parent, BlockId{0});
  EXPECT_EQ(stored[1].place, 2U);
}

TEST(CacheDelta, events_between_two_steps_belong_to_the_second) {
  World world(caching(16));
  world.submit(prompt(0, 4, 1));
  world.step();
  world.scheduler.clear_prefix_cache();
  EXPECT_EQ(words(world.scheduler.cache_delta()), "+0 +1<0");
  world.submit(prompt(10, 2, 1));
  EXPECT_EQ(delta_of_step(world), "cleared +0");
  EXPECT_EQ(delta_of_step(world), "") << "it retires the sequence";
}

TEST(CacheDelta, clearing_an_empty_cache_is_no_change) {
  World world(caching(4));
  world.scheduler.clear_prefix_cache();
  EXPECT_TRUE(world.scheduler.cache().changes().empty());
}

TEST(CacheDelta, what_is_stored_and_given_up_between_two_looks_was_never_there) {
  SchedulerConfig config = caching(2);
  config.cache.block_size = 1;
  PagedKVCache cache(2, 1, make_prefix_index(config));
  const std::vector<TokenId> tokens{TokenId{1}, TokenId{2}};
  must(cache.add(SeqId{1}));
  must(cache.append(SeqId{1}, 2));
  must(cache.publish(SeqId{1}, {{}, tokens}, 2));
  must(cache.free(SeqId{1}));
  must(cache.add(SeqId{2}));
  must(cache.append(SeqId{2}, 1));
  EXPECT_EQ(words(cache.changes()), "+0");
  CacheDelta delta;
  cache.take_changes(delta);
  EXPECT_EQ(words(delta), "+0");
  EXPECT_TRUE(cache.changes().empty());
  must(cache.append(SeqId{2}, 1));
  EXPECT_EQ(words(cache.changes()), "-0");
}

}  // namespace
}  // namespace forge
