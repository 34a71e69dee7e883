// A follower that reads the bytes of the events, and nothing else, has the prefix index: after each
// of many random steps of a scheduler, with short memories, salts, sessions, preemptions and
// clears.
//
// `scripts/prove serve` runs a million steps of each index; a run of the test suite, with a seed of
// its own each time, some tens of thousands. FORGE_SEED is the seed of a run that failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>

#include "forge/core/prefix_hash.h"
#include "forge/core/scheduler.h"
#include "forge/kv_events/cache_feed.h"
#include "forge/kv_events/codec.h"
#include "kv_events/follower.h"
#include "serve/proof.h"

namespace forge::kv_events {
namespace {

using test::Follower;

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  std::uint32_t any(std::uint32_t lowest, std::uint32_t highest) {
    return lowest + static_cast<std::uint32_t>(generator_() % (highest - lowest + 1));
  }
  bool one_in(std::uint32_t count) { return any(1, count) == 1; }

 private:
  std::mt19937_64 generator_;
};

SchedulerConfig any_config(Random& random, PrefixCacheKind kind) {
  return {.cache = {.num_blocks = random.any(2, 40), .block_size = random.any(1, 4)},
          .batch = {.max_batch_size = random.any(1, 6), .max_batch_tokens = random.any(6, 60)},
          .prefill_chunk_size = random.any(1, 20),
          .prefix_cache = kind,
          .prefix_cache_max = random.one_in(3) ? random.any(0, 6) : 1000,
          .prefix_hash_key = random.any(0, 1000),
          .session_idle_steps = random.any(1, 20)};
}

/// Prompts are made to meet: few tokens, one of a few beginnings.
Request any_request(Random& random, const SchedulerConfig& config) {
  const std::uint32_t longest = std::min(config.cache.num_blocks * config.cache.block_size, 60U);
  Request request;
  request.prompt.assign(random.any(1, longest), TokenId{random.any(1, 2)});
  for (std::size_t i = request.prompt.size() / 2; i < request.prompt.size(); ++i) {
    if (random.one_in(8)) request.prompt[i] = TokenId{3};
  }
  request.max_new_tokens = random.any(1, 12);
  if (random.one_in(4)) request.cache_salt = CacheSalt{random.any(1, 2)};
  if (random.one_in(4)) request.session = SessionId{random.any(1, 3)};
  return request;
}

StepResult any_result(Random& random, const StepPlan& plan) {
  StepResult result;
  if (random.one_in(150)) {
    lose_step(plan, result);
    return result;
  }
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    SliceResult answer{.seq = slice.seq,
                       .first_token = static_cast<std::uint32_t>(result.tokens.size())};
    if (random.one_in(40)) {
      answer.signal = FinishSignal::error;
    } else if (slice.samples) {
      answer.token_count = 1;
      if (random.one_in(20)) answer.signal = FinishSignal::eos;
      result.tokens.push_back(TokenId{random.any(1, 3)});
    }
    result.slices.push_back(answer);
  }
  return result;
}

/// What a follower should have, from the index alone.
Follower::Blocks expected(const PrefixIndex& index, SipKey key) {
  std::map<BlockId, std::uint64_t> hashes;
  const auto hash_of = [&](auto&& self, BlockId block) -> std::uint64_t {
    const auto known = hashes.find(block);
    if (known != hashes.end()) return known->second;
    const auto parent = index.parent(block);
    const std::uint64_t before = parent ? self(self, *parent) : index.salt(block).value;
    return hashes[block] = prefix_hash(key, before, index.tokens(block));
  };
  Follower::Blocks blocks;
  for (const BlockId block : index.blocks()) {
    Follower::Block& told = blocks[hash_of(hash_of, block)];
    if (const auto parent = index.parent(block)) told.parent = hash_of(hash_of, *parent);
    for (const TokenId token : index.tokens(block)) told.tokens.push_back(token.value);
  }
  return blocks;
}

/// A scheduler, and who follows it.
class World {
 public:
  World(Random& random, PrefixCacheKind kind)
      : random_(random), config_(any_config(random, kind)), scheduler_(config_), feed_(config_) {}

  void step() {
    if (random_.one_in(3)) {
      for (std::uint32_t count = random_.any(1, 3); count > 0; --count) {
        static_cast<void>(scheduler_.submit(any_request(random_, config_)));
      }
    }
    if (random_.one_in(60)) scheduler_.clear_prefix_cache();
    if (random_.one_in(30)) {
      static_cast<void>(scheduler_.release_session(SessionId{random_.any(1, 3)}));
    }
    const StepPlan& plan = scheduler_.schedule();
    if (random_.one_in(60)) scheduler_.clear_prefix_cache();
    scheduler_.commit(plan, any_result(random_, plan));
    follow();
  }

  std::uint64_t removed() const { return removed_; }
  std::uint64_t stored() const { return stored_; }
  std::uint64_t cleared() const { return cleared_; }

 private:
  void follow() {
    const PrefixIndex& index = *scheduler_.cache().index();
    const CacheDelta& delta = scheduler_.cache_delta();
    removed_ += delta.removed.size();
    stored_ += delta.stored.size();
    cleared_ += delta.cleared ? 1 : 0;
    follower_.apply(encode(feed_.follow(delta, index, 0), KvEventFormat::map));
    ASSERT_EQ(follower_.blocks(), expected(index, {.k0 = config_.prefix_hash_key}));
  }

  Random& random_;
  SchedulerConfig config_;
  Scheduler scheduler_;
  CacheFeed feed_;
  Follower follower_;
  std::uint64_t removed_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t cleared_ = 0;
};

class FeedFollows : public testing::TestWithParam<PrefixCacheKind> {};

TEST_P(FeedFollows, a_follower_has_the_index_after_each_step) {
  constexpr int kStepsOfWorld = 200;
  const auto proof = test::proof_seed();
  const std::uint64_t seed = proof ? *proof : std::random_device{}();
  const int steps = proof ? 1'000'000 : 20'000;
  Random random(seed);
  std::uint64_t removed = 0;
  std::uint64_t stored = 0;
  std::uint64_t cleared = 0;
  for (int done = 0; done < steps; done += kStepsOfWorld) {
    World world(random, GetParam());
    for (int i = 0; i < kStepsOfWorld; ++i) {
      world.step();
      if (HasFailure()) FAIL() << "step " << done + i << "; FORGE_SEED=" << seed << " repeats it";
    }
    removed += world.removed();
    stored += world.stored();
    cleared += world.cleared();
  }
  EXPECT_GT(stored, static_cast<std::uint64_t>(steps));
  EXPECT_GT(removed, static_cast<std::uint64_t>(steps) / 4);
  EXPECT_GT(cleared, static_cast<std::uint64_t>(steps) / 100);
  std::cout << stored << " blocks stored, " << removed << " removed one by one, " << cleared
            << " times all\n[  CASES   ] " << steps << '\n';
}

INSTANTIATE_TEST_SUITE_P(, FeedFollows,
                         testing::Values(PrefixCacheKind::radix, PrefixCacheKind::hash),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace forge::kv_events
