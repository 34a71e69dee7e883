#include "router.h"

#include <algorithm>
#include <variant>

#include "forge/core/prefix_hash.h"

namespace forge::apps {
namespace {

/// Applies an event to the hashes of the blocks that are cached.
struct Follower {
  std::unordered_set<std::uint64_t>& cached;

  void operator()(const kv_events::BlockStored& event) const {
    cached.insert(event.hashes.begin(), event.hashes.end());
  }
  void operator()(const kv_events::BlockRemoved& event) const {
    for (const std::uint64_t hash : event.hashes) cached.erase(hash);
  }
  void operator()(const kv_events::AllBlocksCleared&) const { cached.clear(); }
};

}  // namespace

Router::Router(RoutingRule rule, const SchedulerConfig& config, std::size_t replicas)
    : rule_(rule),
      key_{.k0 = config.prefix_hash_key},
      block_size_(config.cache.block_size),
      replicas_(replicas) {}

Route Router::send(const Request& request) {
  const std::vector<std::uint64_t> hashes = hashes_of(request);
  std::size_t best = rule_ == RoutingRule::turn ? next_++ % replicas_.size() : 0;
  std::uint64_t best_cached = cached_tokens(replicas_[best], hashes, request);
  for (std::size_t i = 1; rule_ != RoutingRule::turn && i < replicas_.size(); ++i) {
    const std::uint64_t cached = cached_tokens(replicas_[i], hashes, request);
    if (!is_better(replicas_[i], cached, replicas_[best], best_cached)) continue;
    best = i;
    best_cached = cached;
  }
  const std::uint64_t tokens = request.prompt.size() - best_cached + request.max_new_tokens;
  replicas_[best].tokens += tokens;
  return {.replica = best, .tokens = tokens};
}

bool Router::is_better(const Replica& a, std::uint64_t cached_a, const Replica& b,
                       std::uint64_t cached_b) const {
  switch (rule_) {
    case RoutingRule::turn:
      return false;
    case RoutingRule::load:
      return a.tokens < b.tokens;
    case RoutingRule::prefix:
      return cached_a != cached_b ? cached_a > cached_b : a.tokens < b.tokens;
    case RoutingRule::both:
      return a.tokens + cached_b < b.tokens + cached_a;
  }
  return false;
}

void Router::follow(std::size_t replica, const kv_events::KvEventBatch& batch) {
  for (const kv_events::KvEvent& event : batch.events) {
    std::visit(Follower{replicas_[replica].cached}, event);
  }
}

std::uint64_t Router::cached_tokens(std::size_t replica, const Request& request) const {
  return cached_tokens(replicas_[replica], hashes_of(request), request);
}

std::vector<std::uint64_t> Router::hashes_of(const Request& request) const {
  std::vector<std::uint64_t> hashes;
  std::uint64_t hash = request.cache_salt.value;
  std::span<const TokenId> left = request.prompt;
  for (; left.size() >= block_size_; left = left.subspan(block_size_)) {
    hash = prefix_hash(key_, hash, left.first(block_size_));
    hashes.push_back(hash);
  }
  return hashes;
}

std::uint64_t Router::cached_tokens(const Replica& replica, std::span<const std::uint64_t> hashes,
                                    const Request& request) const {
  const auto missing = std::ranges::find_if(
      hashes, [&](std::uint64_t hash) { return !replica.cached.contains(hash); });
  const auto found = static_cast<std::size_t>(missing - hashes.begin()) * block_size_;
  return std::min(found, request.prompt.size() - 1);
}

}  // namespace forge::apps
