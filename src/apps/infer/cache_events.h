// CacheEvents: tells who follows this server what its prefix cache stores and forgets (kv_events).
//
// Thread contract: tell() on the loop thread; counts() from any; the rest before the loop begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/core/cache_delta.h"
#include "forge/core/prefix_index.h"
#include "forge/core/scheduler_config.h"
#include "forge/kv_events/cache_feed.h"
#include "forge/kv_events/publisher.h"

namespace forge::apps {

class CacheEvents {
 public:
  /// Errors: a sentence that names the flag.
  static tl::expected<std::unique_ptr<CacheEvents>, std::string> open(
      const kv_events::KvEventOptions& options);

  /// Of a run with this configuration. Says on stderr what leaves this process, and where to.
  void begin(const SchedulerConfig& config);

  /// Requires: begin(). Says on stderr when batches begin to be dropped.
  void tell(const CacheDelta& delta, const PrefixIndex& index);

  kv_events::KvEventCounts counts() const { return publisher_->counts(); }

 private:
  explicit CacheEvents(std::unique_ptr<kv_events::KvEventPublisher> publisher)
      : publisher_(std::move(publisher)) {}

  std::unique_ptr<kv_events::KvEventPublisher> publisher_;
  std::optional<kv_events::CacheFeed> feed_;
  bool is_dropping_ = false;
};

}  // namespace forge::apps
