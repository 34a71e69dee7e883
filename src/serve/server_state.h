// ServerState: what all connections of a server share. Used on the I/O thread alone.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "forge/serve/http_server.h"

namespace forge {

namespace asio = boost::asio;

/// Completion token: co_await yields (error_code, ...) instead of throwing.
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

class Session;

struct ServerState {
  ServerState(asio::io_context& io, EngineLoop& engine_loop, ModelCard card,
              const HttpOptions& http_options)
      : loop(engine_loop),
        model(std::move(card)),
        options(http_options),
        acceptor(io),
        session_ended(io) {}

  EngineLoop& loop;
  const ModelCard model;
  const HttpOptions options;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer session_ended;  // cancelled at each end: wakes who waits for a place
  std::set<Session*> sessions;
  std::uint64_t next_answer = 1;
  bool shutting_down = false;
  std::function<void()> ended;
};

}  // namespace forge
