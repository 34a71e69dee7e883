#include "cache_events.h"

#include <chrono>
#include <iostream>
#include <utility>

namespace forge::apps {

tl::expected<std::unique_ptr<CacheEvents>, std::string> CacheEvents::open(
    const kv_events::KvEventOptions& options) {
  auto publisher = kv_events::KvEventPublisher::open(options);
  if (!publisher) return tl::unexpected("--kv-events: " + publisher.error());
  return std::unique_ptr<CacheEvents>(new CacheEvents(*std::move(publisher)));
}

void CacheEvents::begin(const SchedulerConfig& config) {
  feed_.emplace(config);
  std::string line = "KV events: token ids of prompts and answers leave this process, to " +
                     publisher_->endpoint();
  if (!publisher_->replay_endpoint().empty()) {
    line += " and, where somebody asks again, from " + publisher_->replay_endpoint();
  }
  std::cerr << line + '\n';
}

void CacheEvents::tell(const CacheDelta& delta, const PrefixIndex& index) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const bool is_dropped = !publisher_->publish(feed_->follow(delta, index, now.count()));
  if (is_dropped && !is_dropping_) {
    std::cerr << "forge-infer: --kv-events: batches are dropped, since the queue is full\n";
  }
  is_dropping_ = is_dropped;
}

}  // namespace forge::apps
