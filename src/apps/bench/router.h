// Router: which of several replicas of an engine serves a request.
//
//   turn     the replicas, one after the other
//   load     the one with the fewest tokens still to run
//   prefix   the one that has the most of the prompt in its cache; of several the least loaded
//   both     the one with the fewest tokens still to run, those of this prompt that it does not
//            have counted in
//
// Of several replicas that are equally good, the first.
//
// A router knows what it is told, and no more: what it has sent where, what has ended, and the KV
// events (kv_events/kv_event.h) that each replica publishes. The tokens that a request still has to
// run are its new ones and those of its prompt that were not cached when it was sent.
//
// Sources: the rules of cache-aware routing in SGLang (Zheng et al., NeurIPS 2024, and its router),
// and Preble (Srivatsa et al., ICLR 2025), which weighs load against cached prefixes.
//
// Owns its picture of the replicas. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "forge/core/names.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/siphash.h"
#include "forge/kv_events/kv_event.h"

namespace forge::apps {

enum class RoutingRule : std::uint8_t { turn, load, prefix, both };
constexpr Names<RoutingRule> names_of(RoutingRule) { return {"turn", "load", "prefix", "both"}; }

/// Where a request goes, and what that adds to the load there.
struct Route {
  std::size_t replica = 0;
  std::uint64_t tokens = 0;
};

class Router {
 public:
  /// Of `replicas` schedulers of this configuration, whose caches are empty.
  Router(RoutingRule rule, const SchedulerConfig& config, std::size_t replicas);

  /// Decides, and counts the request among those of its replica. O(replicas blocks of the prompt).
  Route send(const Request& request);

  /// A request that was sent so has ended.
  void end(const Route& route) { replicas_[route.replica].tokens -= route.tokens; }

  /// `replica` has published this.
  void follow(std::size_t replica, const kv_events::KvEventBatch& batch);

  /// Leading tokens of the prompt that `replica` has in its cache, at most all but the last one.
  std::uint64_t cached_tokens(std::size_t replica, const Request& request) const;

 private:
  struct Replica {
    std::uint64_t tokens = 0;                  // still to run
    std::unordered_set<std::uint64_t> cached;  // hashes of blocks
  };

  std::vector<std::uint64_t> hashes_of(const Request& request) const;
  std::uint64_t cached_tokens(const Replica& replica, std::span<const std::uint64_t> hashes,
                              const Request& request) const;
  /// Is `a` better than `b`, with so many tokens cached in each?
  bool is_better(const Replica& a, std::uint64_t cached_a, const Replica& b,
                 std::uint64_t cached_b) const;

  RoutingRule rule_;
  SipKey key_;
  std::size_t block_size_;
  std::vector<Replica> replicas_;
  std::size_t next_ = 0;  // of the rule `turn`
};

}  // namespace forge::apps
