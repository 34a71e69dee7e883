// Generation: one API request inside the engine, seen from the I/O thread.
//
// Submits each prompt of the request and collects their tokens. While it lives, its requests run;
// its destructor cancels those that have not ended, so a coroutine that holds one and ends for
// whatever reason leaves nothing behind.
//
// Thread contract: the I/O thread. The sinks it gives to the loop run on the loop's thread; they
// only note what arrives, and post.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "client_table.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

class Generation {
 public:
  /// One token of choice `index`.
  struct Event {
    std::size_t index = 0;
    engine::TokenEvent token;
  };

  /// When a request is out of time: `longest` after its arrival, if there is such a limit, or
  /// sooner if the request asks for it.
  struct TimeLimit {
    std::chrono::steady_clock::time_point arrival;
    std::optional<std::chrono::milliseconds> longest;
  };

  /// What start() would say now, whatever the tokens, so that a request that it would refuse need
  /// not be tokenized.
  static tl::expected<void, engine::LoopError> would_start(const engine::EngineLoop& loop,
                                                           const CompletionOptions& options,
                                                           std::size_t prompts);

  /// Submits all prompts of `request`, or none. The permit hears of what becomes of them, and is
  /// given back with this object. Errors: those of EngineLoop::submit.
  static tl::expected<std::unique_ptr<Generation>, engine::LoopError> start(
      engine::EngineLoop& loop, const boost::asio::any_io_executor& io,
      const CompletionRequest& request, const TimeLimit& time_limit, ClientTable::Permit permit);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Waits for tokens. Returns: all that have arrived, at least one, in order for each choice.
  /// Requires: !ended().
  boost::asio::awaitable<std::vector<Event>> next();

  /// Of each choice, as far as next() has returned them.
  std::span<const std::uint32_t> completion_tokens() const { return completion_tokens_; }

  /// Whether next() has returned the last token of every choice.
  bool ended() const { return open_ == 0; }

  /// `overflowed` is called when tokens arrive while more than `limit` wait for next(), these among
  /// them.
  void on_backlog(std::size_t limit, std::function<void()> overflowed);

 private:
  struct Inbox;

  Generation(engine::EngineLoop& loop, const boost::asio::any_io_executor& io,
             ClientTable::Permit permit);

  engine::EngineLoop& loop_;
  std::vector<engine::TicketId> tickets_;
  std::vector<std::uint32_t> completion_tokens_;  // [choices]
  std::size_t open_ = 0;  // choices whose last token next() has not returned
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace forge::serve
