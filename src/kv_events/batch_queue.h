// BatchQueue: between who publishes, who must not wait, and the thread that sends.
//
// A batch gets its sequence number before there is known to be room for it. So a follower sees that
// one was dropped: a number is missing.
//
// Thread contract: any thread may call anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "forge/kv_events/kv_event.h"

namespace forge::kv_events {

struct NumberedBatch {
  std::uint64_t sequence = 0;
  KvEventBatch batch;

  friend bool operator==(const NumberedBatch&, const NumberedBatch&) = default;
};

class BatchQueue {
 public:
  enum class Pushed { onto_none, onto_others, dropped };

  explicit BatchQueue(std::size_t batches_max) : batches_max_(batches_max) {}

  /// Where it was pushed onto none, whoever takes may be asleep.
  Pushed push(KvEventBatch batch) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t sequence = next_++;
    if (batches_.size() >= batches_max_) {
      ++dropped_;
      return Pushed::dropped;
    }
    batches_.push_back({sequence, std::move(batch)});
    return batches_.size() == 1 ? Pushed::onto_none : Pushed::onto_others;
  }

  std::optional<NumberedBatch> pop() {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) return std::nullopt;
    NumberedBatch first = std::move(batches_.front());
    batches_.pop_front();
    return first;
  }

  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return batches_.empty();
  }
  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  const std::size_t batches_max_;
  mutable std::mutex mutex_;
  std::deque<NumberedBatch> batches_;
  std::uint64_t next_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace forge::kv_events
