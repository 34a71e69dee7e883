// The limits of an HttpServer (http_server.h), each with what happens beyond it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "forge/serve/client_limits.h"
#include "forge/serve/cors_origins.h"
#include "forge/serve/request_record.h"

namespace forge::serve {

/// The limits of conversations whose messages are kept (session of POST /v1/chat/completions).
struct ChatSessionLimits {
  std::size_t sessions = 1024;  ///< beyond it the one that has been idle for longest is forgotten
  /// Bytes of the messages of one session; a request that would exceed it: 400. An answer may.
  std::uint64_t session_bytes = std::uint64_t{1} << 20;
  /// Bytes of all messages; beyond it sessions are forgotten, those idle for longest first.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds idle_timeout{3'600'000};  ///< beyond it a session is forgotten
};

/// What was told of the cache to those who follow it.
struct EventCounts {
  std::uint64_t published = 0;  ///< batches that were sent
  std::uint64_t dropped = 0;    ///< batches that were not, for want of room in a queue
};

struct HttpOptions {
  /// Beyond it: 413; of a message of a WebSocket: it is closed, 1009.
  std::uint64_t body_limit_bytes = std::uint64_t{1} << 20;
  /// Of all lines of a batch together; beyond it: 413, or an error as the last line of the answer.
  std::uint64_t batch_body_limit_bytes = std::uint64_t{1} << 28;
  /// Lines of a batch; the one beyond it: an error, and no more are read.
  std::size_t batch_lines = 10'000;
  /// The limit of a header; beyond it: 431. It holds also for what stands between the chunks of a
  /// body, and behind the last.
  std::uint32_t header_limit_bytes = 16U << 10;
  /// Time from the first byte of a request to the end of its header; beyond it: 408.
  std::chrono::milliseconds header_timeout{10'000};
  /// Time from the first byte of a request to its last; beyond it: 408.
  std::chrono::milliseconds read_timeout{30'000};
  /// Time limit of each request, from its arrival on; a request may ask for less (timeout_s).
  std::optional<std::chrono::milliseconds> request_timeout;
  /// A connection without a request is closed after this time, a WebSocket with 1013.
  std::chrono::milliseconds idle_timeout{60'000};
  /// A client that does not take what is written to it is dropped after this time.
  std::chrono::milliseconds write_timeout{30'000};
  /// The time for which a connection that the server ends waits for the client to end it, too, so
  /// that the last answer is not lost.
  std::chrono::milliseconds linger_timeout{2'000};
  /// Tokens kept for a stream whose client does not read; with more it is dropped, a WebSocket
  /// closed with 1013.
  std::size_t stream_backlog_tokens = 4096;
  /// Connections served at a time.
  std::size_t max_connections = 512;
  ChatSessionLimits chat_sessions;
  ClientLimits client_limits;  ///< of each client, but for what the line of its key says
  CorsOrigins cors_origins;    ///< sites whose pages may ask and read the answers
  /// Listen where others than this machine can connect, although without keys anybody may ask, and
  /// without TLS what they send and get can be read on its way.
  bool insecure = false;
  /// Anybody may ask for /metrics, which is for operators otherwise.
  bool metrics_open = false;
  /// Time from shutdown() on, after which requests that still run end with the text so far and the
  /// finish reason "deadline".
  std::chrono::milliseconds shutdown_timeout{25'000};
  /// The health is "stalled" when there is work and this many steps in a row failed.
  std::uint64_t health_stall_steps = 100;
  /// It is, too, when there is work that has not got on for so long: no step has ended, and the
  /// target, if it tells, has not got on within one.
  std::chrono::milliseconds health_stall{60'000};
  /// Asked, on the io_context's thread, by a scrape of /metrics; empty: nobody is told.
  std::function<EventCounts()> event_counts;
  /// Asked, there too, for GET /forge/v1/trace: the last steps as a trace (trace_window.h). Empty,
  /// as an empty function: they are not kept.
  std::function<std::string()> trace_window;
  /// Called, on the io_context's thread, with the text of an exception that has ended a connection.
  std::function<void(std::string_view what)> on_connection_error;
  /// Called, there too, with each request that has been answered or cut off, but not with a probe
  /// that was answered well. It must not wait.
  std::function<void(const RequestRecord&)> on_request;
};

}  // namespace forge::serve
