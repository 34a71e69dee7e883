// What tests of the engine loop share: a loop over a fake target, and who listens to a request.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/fake_executor.h"
#include "forge/engine/engine_loop.h"

namespace forge::test {

inline constexpr SchedulerConfig kLoopConfig{.cache = {.num_blocks = 64, .block_size = 4},
                                             .batch = {.max_batch_size = 4}};

inline Request ask(std::uint32_t max_new_tokens = 100) {
  return {.prompt = text::ByteTokenizer::tokens_of("prompt"), .max_new_tokens = max_new_tokens};
}

/// Collects the events of one request; wait() returns when the last one is there.
class Listener {
 public:
  engine::TokenSink sink() {
    return [this](const engine::TokenEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      arrived_.notify_all();
    };
  }
  const std::vector<engine::TokenEvent>& wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(
        lock, [this] { return !events_.empty() && events_.back().finish != FinishReason::none; });
    return events_;
  }
  void wait_for_first() { wait_for(1); }
  void wait_for(std::size_t events) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return events_.size() >= events; });
  }
  std::string text() {
    std::string all;
    for (const engine::TokenEvent& event : wait()) all += event.text;
    return all;
  }
  FinishReason finish() { return wait().back().finish; }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<engine::TokenEvent> events_;
};

/// An engine loop over a fake target.
struct LoopFixture {
  FakeExecutor executor;
  text::ByteTokenizer tokenizer;
  engine::Engine engine;
  std::unique_ptr<engine::EngineLoop> loop;

  explicit LoopFixture(std::string text, std::size_t queue_limit = 8, bool held = false,
                       const SchedulerConfig& config = kLoopConfig)
      : executor(says(std::move(text))), engine(config, executor) {
    if (held) executor.allow_only(0);
    loop = std::make_unique<engine::EngineLoop>(
        engine, tokenizer, engine::EngineLoop::Options{.queue_limit = queue_limit});
  }
  ~LoopFixture() { executor.release(); }

  /// All blocks are free, but for those that the prefix cache would give up.
  bool all_blocks_are_back() const {
    const engine::EngineStatus status = loop->status();
    return status.free_blocks + status.evictable_blocks == status.total_blocks;
  }

  engine::TicketId submit(Listener& listener, Request request = ask(),
                          engine::SubmitOptions options = {}) {
    return loop->submit(std::move(request), std::move(options), listener.sink()).value();
  }
};

}  // namespace forge::test
