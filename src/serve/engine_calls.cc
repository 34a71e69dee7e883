#include "engine_calls.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>

namespace forge::serve {

namespace asio = boost::asio;

namespace {

/// An answer on its way from the loop thread. Shared with the loop, which may outlast the waiting.
struct LoopReply {
  explicit LoopReply(const asio::any_io_executor& io)
      : arrived(io, asio::steady_timer::time_point::max()) {}

  asio::steady_timer arrived;  // never expires; cancelled when the answer is there
  std::optional<bool> answer;
};

asio::awaitable<bool> wait_for(std::shared_ptr<LoopReply> reception) {
  while (!reception->answer) {
    co_await reception->arrived.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return *reception->answer;
}

/// To be called on the loop thread.
auto sender(const asio::any_io_executor& io, std::shared_ptr<LoopReply> reception) {
  return [io, reception = std::move(reception)](bool answer) {
    asio::post(io, [reception, answer] {
      reception->answer = answer;
      reception->arrived.cancel();
    });
  };
}

}  // namespace

asio::awaitable<bool> release_session(engine::EngineLoop& loop, SessionId session) {
  const asio::any_io_executor io = co_await asio::this_coro::executor;
  const auto reception = std::make_shared<LoopReply>(io);
  loop.release_session(session, sender(io, reception));
  co_return co_await wait_for(reception);
}

asio::awaitable<void> clear_prefix_cache(engine::EngineLoop& loop) {
  const asio::any_io_executor io = co_await asio::this_coro::executor;
  const auto reception = std::make_shared<LoopReply>(io);
  loop.clear_prefix_cache([send = sender(io, reception)] { send(true); });
  co_await wait_for(reception);
}

}  // namespace forge::serve
