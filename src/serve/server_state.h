// ServerState: what all connections of a server share. Used on the I/O thread alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "asio_types.h"
#include "chat_sessions.h"
#include "connection_table.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/http_server.h"
#include "forge/serve/tls_certificate.h"
#include "serve_counts.h"
#include "socket_file.h"
#include "tokenizer_worker.h"

namespace forge::serve {

struct ServerState {
  ServerState(asio::io_context& io, engine::EngineLoop& engine_loop, ModelCard card,
              const HttpOptions& http_options)
      : loop(engine_loop),
        model(std::move(card)),
        options(http_options),
        acceptor(io),
        connections(http_options.max_connections),
        chat_sessions(http_options.chat_sessions,
                      [this](SessionId session) { loop.release_session(session, [](bool) {}); }),
        time_to_end(io),
        worker(model, loop.tokenizer()) {}

  /// Calls `ended`, once, when a server that shuts down has no connection left.
  void tell_if_ended() {
    if (!shutting_down || !connections.empty()) return;
    time_to_end.cancel();
    if (ended) std::exchange(ended, nullptr)();
  }

  engine::EngineLoop& loop;
  const ModelCard model;
  const HttpOptions options;
  Acceptor acceptor;
  std::optional<SocketFile> socket_file;      // of a Unix socket
  std::optional<ApiKeys> keys;                // nothing: no key is asked for
  std::optional<TlsCertificate> certificate;  // of connections to come; nothing: no TLS
  ConnectionTable connections;
  ChatSessions chat_sessions;
  ServeCounts counts;
  asio::steady_timer time_to_end;  // of a shutdown
  bool shutting_down = false;
  std::function<void()> ended;
  TokenizerWorker worker;  // last: it uses the model until its threads have ended
};

}  // namespace forge::serve
