// ServerState: what all connections of a server share. Used on the I/O thread alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>

#include "asio_types.h"
#include "chat_sessions.h"
#include "client_table.h"
#include "connection_table.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/http_server.h"
#include "forge/serve/tls_certificate.h"
#include "progress_watch.h"
#include "random_id.h"
#include "serve_counts.h"
#include "socket_file.h"
#include "tokenizer_worker.h"

namespace forge::serve {

/// The model that a server answers for, and what it keeps of its clients.
struct ServedModel {
  ServedModel(engine::EngineLoop& engine_loop, ModelCard model_card, const HttpOptions& options)
      : loop(engine_loop),
        card(std::move(model_card)),
        chat_sessions(options.chat_sessions,
                      [this](SessionId session) { loop.release_session(session, [](bool) {}); }),
        worker(card, loop.tokenizer()) {}
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  engine::EngineLoop& loop;
  const ModelCard card;
  ChatSessions chat_sessions;
  ProgressWatch progress;
  TokenizerWorker worker;  // last: it uses the card until its threads have ended
};

/// A server serves, then lets what is in flight end, then closes.
enum class Phase { serving, draining, closing };

struct ServerState {
  ServerState(asio::io_context& io, const HttpOptions& http_options)
      : options(http_options),
        acceptor(io),
        connections(http_options.max_connections),
        time_to_look(io),
        time_to_end(io) {}

  /// Requires: the model is there.
  ServedModel& model() { return *served; }
  const ServedModel& model() const { return *served; }

  const HttpOptions options;
  Acceptor acceptor;
  std::optional<SocketFile> socket_file;      // of a Unix socket
  std::optional<ApiKeys> keys;                // nothing: no key is asked for
  std::optional<TlsCertificate> certificate;  // of connections to come; nothing: no TLS
  const std::string host_salt = random_id();  // of the numbers of clients without keys
  ClientTable clients;
  ConnectionTable connections;
  ServeCounts counts;
  asio::steady_timer time_to_look;  // at the model's progress
  asio::steady_timer time_to_end;   // of a shutdown; ended early when a connection is gone
  Phase phase = Phase::serving;
  std::optional<ServedModel> served;  // nothing: it is loading
};

}  // namespace forge::serve
