#include "instances.h"

#include <string>

namespace forge::testing {
namespace {

Request request(std::vector<std::uint32_t> prompt, std::uint32_t max_new_tokens,
                Priority priority = Priority::normal) {
  Request request;
  for (const std::uint32_t token : prompt) request.prompt.push_back(TokenId{token});
  request.max_new_tokens = max_new_tokens;
  request.priority = priority;
  return request;
}

SchedulerConfig config_of(std::uint32_t block_size, PreemptionPolicy preemption,
                          PrefixCacheKind prefix_cache) {
  return {
      .cache = {.num_blocks = 6, .block_size = block_size, .num_host_blocks = 3},
      .batch = {.max_batch_size = 3, .max_batch_tokens = 4},
      .prefill_chunk_size = 2,
      .priority_head_start = 1,
      .preemption = preemption,
      // `automatic` swaps what has more than one valid token.
      .swap_setup_cost = 1,
      .swap_block_cost = 0,
      .prefix_cache = prefix_cache,
      .session_idle_steps = 2,
  };
}

std::string name_of(const SchedulerConfig& config) {
  const char* const policies[] = {"automatic", "recompute", "swap"};
  const char* const caches[] = {"none", "radix", "hash"};
  return "block size " + std::to_string(config.cache.block_size) + ", " +
         policies[static_cast<int>(config.preemption)] + ", prefix cache " +
         caches[static_cast<int>(config.prefix_cache)];
}

/// Two requests with one prompt and one that parts from them; the last goes first.
std::vector<Request> menu_of(std::uint32_t block_size) {
  if (block_size == 1) {
    return {request({1, 1}, 4), request({1, 1}, 3), request({2}, 3, Priority::high)};
  }
  return {request({1, 1, 1, 1}, 4), request({1, 1, 1, 1}, 3),
          request({1, 1, 2}, 3, Priority::high)};
}

Instance basic(std::uint32_t block_size, PreemptionPolicy preemption,
               PrefixCacheKind prefix_cache) {
  const SchedulerConfig config = config_of(block_size, preemption, prefix_cache);
  return {.name = name_of(config),
          .config = config,
          .menu = menu_of(block_size),
          .max_drafts = block_size == 1 ? 2U : 1U};
}

/// Two turns of a conversation and a stranger; sessions end by themselves, by release, for memory.
Instance with_sessions() {
  Instance instance = basic(2, PreemptionPolicy::automatic, PrefixCacheKind::radix);
  instance.name = "sessions";
  instance.config.cache.num_blocks = 4;
  instance.menu = {request({1, 1, 1, 1}, 2), request({1, 1, 1, 1, 1, 2}, 2),
                   request({3, 3, 3, 3, 3}, 3)};
  instance.menu[0].session = SessionId{1};
  instance.menu[1].session = SessionId{1};
  return instance;
}

/// A request that generates, word for word, what a session keeps: its prefix grows without anything
/// being published. Two others stay out of the cache.
Instance with_one_text() {
  Instance instance = basic(1, PreemptionPolicy::recompute, PrefixCacheKind::radix);
  instance.name = "one text";
  instance.config.cache.num_blocks = 8;
  instance.config.session_idle_steps = 12;
  instance.menu = {request({1}, 3), request({1}, 4), request({2}, 4),
                   request({3}, 3, Priority::high)};
  instance.menu[0].session = SessionId{1};
  instance.menu[2].prefix_cache = PrefixCacheUse::disable;
  instance.menu[3].prefix_cache = PrefixCacheUse::disable;
  instance.max_drafts = 0;
  instance.errors = false;
  instance.cancels = false;
  return instance;
}

/// The cache is cleared while blocks of it are shared.
Instance with_clear() {
  Instance instance = basic(1, PreemptionPolicy::recompute, PrefixCacheKind::hash);
  instance.name = "clear";
  instance.menu = {request({1, 1, 1}, 2), request({1, 1, 1}, 3), request({1, 1, 1}, 2)};
  instance.clears = true;
  instance.errors = false;
  return instance;
}

/// The target is lost and opened again, while blocks are shared, swapped out, kept by a session.
Instance with_loss() {
  Instance instance = basic(1, PreemptionPolicy::automatic, PrefixCacheKind::radix);
  instance.name = "lost target";
  instance.menu = {request({1, 1}, 3), request({1, 1}, 3), request({2}, 3, Priority::high)};
  instance.menu[0].session = SessionId{1};
  instance.menu[2].client = ClientId{1};
  instance.loses = true;
  instance.errors = false;
  return instance;
}

/// Two requests with one prompt and different salts, and one that may find the KV of the first,
/// which a session keeps.
Instance with_salts() {
  Instance instance = basic(1, PreemptionPolicy::recompute, PrefixCacheKind::radix);
  instance.name = "salts";
  instance.menu = {request({1, 1}, 3), request({1, 1}, 3), request({1, 1, 1}, 2)};
  instance.menu[0].cache_salt = CacheSalt{1};
  instance.menu[2].cache_salt = CacheSalt{1};
  instance.menu[0].session = SessionId{1};
  instance.errors = false;
  return instance;
}

/// A client with three requests, one of twice its weight with one, and one slot: who is passed by
/// whom, and how often.
Instance with_clients() {
  Instance instance = basic(1, PreemptionPolicy::recompute, PrefixCacheKind::none);
  instance.name = "clients";
  instance.config.batch = {.max_batch_size = 1, .max_batch_tokens = 2};
  instance.menu = {request({1, 1}, 3), request({1, 1}, 3), request({1, 1}, 3), request({2}, 3)};
  for (std::uint32_t i = 0; i < 3; ++i) instance.menu[i].client = ClientId{1};
  instance.menu[3].client = ClientId{2};
  instance.menu[3].weight = 2;
  instance.max_drafts = 0;
  instance.errors = false;
  return instance;
}

/// Two users of a client and another client; one slot, prompts wait for decodes, memory is under
/// pressure when half of it is in use, nothing stays cached.
Instance with_users() {
  Instance instance = basic(1, PreemptionPolicy::recompute, PrefixCacheKind::radix);
  instance.name = "users, pressure, decode priority";
  instance.config.memory_pressure = 50;
  instance.config.decode_priority = 100;
  instance.config.prefix_cache_max = 1;
  instance.menu = {request({1, 1}, 3), request({1, 1}, 2), request({2}, 3), request({1}, 2)};
  for (std::uint32_t i = 0; i < 3; ++i) instance.menu[i].client = ClientId{1};
  instance.menu[2].user = UserId{2};
  instance.menu[3].client = ClientId{2};
  instance.max_drafts = 0;
  instance.errors = false;
  return instance;
}

/// Little of everything but blocks: one slot in the batch less than requests, chunks of one token,
/// deadlines, a watermark, all priorities.
Instance with_small_budget() {
  Instance instance = basic(2, PreemptionPolicy::swap, PrefixCacheKind::radix);
  instance.name = "budget, deadlines, watermark, priorities";
  instance.config.batch.max_batch_size = 2;
  instance.config.batch.max_batch_tokens = 2;
  instance.config.prefill_chunk_size = 1;
  instance.config.watermark_blocks = 1;
  instance.config.priority_head_start = 2;
  instance.menu = {request({1, 1, 1}, 3, Priority::low), request({1, 1}, 4),
                   request({1, 2}, 3, Priority::high)};
  instance.menu[1].deadline_steps = 5;
  return instance;
}

}  // namespace

std::vector<Instance> full_instances() {
  std::vector<Instance> instances;
  for (const std::uint32_t block_size : {1U, 2U}) {
    for (const auto preemption :
         {PreemptionPolicy::recompute, PreemptionPolicy::swap, PreemptionPolicy::automatic}) {
      for (const auto prefix_cache :
           {PrefixCacheKind::none, PrefixCacheKind::radix, PrefixCacheKind::hash}) {
        instances.push_back(basic(block_size, preemption, prefix_cache));
      }
    }
  }
  instances.push_back(with_sessions());
  instances.push_back(with_clear());
  instances.push_back(with_loss());
  instances.push_back(with_one_text());
  instances.push_back(with_small_budget());
  instances.push_back(with_salts());
  instances.push_back(with_clients());
  instances.push_back(with_users());
  return instances;
}

std::vector<Instance> small_instances() {
  std::vector<Instance> instances = {
      with_sessions(),
      with_clear(),
      basic(1, PreemptionPolicy::recompute, PrefixCacheKind::none),
      with_small_budget(),
      basic(1, PreemptionPolicy::automatic, PrefixCacheKind::hash),
      basic(2, PreemptionPolicy::swap, PrefixCacheKind::radix),
      with_salts(),
      with_clients(),
      with_users(),
      with_loss(),
  };
  instances[8].cancels = false;
  instances[9].cancels = false;
  for (Instance& instance : instances) {
    instance.max_drafts = std::min(instance.max_drafts, 1U);
    for (Request& request : instance.menu) request.max_new_tokens -= 1;
  }
  return instances;
}

}  // namespace forge::testing
