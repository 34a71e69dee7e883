// HttpServer: the engine behind HTTP/1.1, over TCP or a Unix socket, with TLS or without.
//
// What it answers stands in one table: routes_page(), `forge-infer --list-routes`, book/routes.md.
// What it counts for operators stands in another: metrics_page(), `--list-metrics`,
// book/metrics.md.
//
//   listen() -> serve(loop, model) -> shutdown() -> ended
//   503 "loading"   answers           503 "shutting_down", but for what is in flight
//
// Probes are answered all the way (src/serve/health.h), /metrics from serve() on.
//
// One thread runs the io_context, and all that the server does happens there, except that texts
// become tokens on threads of their own (src/serve/tokenizer_worker.h), because that takes time; it
// is not done for requests that will be refused anyway. Generated tokens come from the engine's
// loop thread; all of these threads post to the io_context. One coroutine serves a connection,
// request by request; while a request is answered a second one reads from the socket, so that a
// client that goes away is noticed and its request cancelled, whatever it was waiting for.
//
// A connection may become a WebSocket, whose messages are requests and their answers, many at a
// time (src/serve/message_stream.h).
//
// A client that closes its sending side after a whole request still gets its answer. To TCP it
// looks like one that has gone, until something is sent to it; so an HTTP/1.1 client gets a "100
// Continue", which a present client ignores and one that has gone answers with a reset. A client
// with TLS that says its end has gone (client_stream.h).
//
// At most max_connections are served at a time. A further one takes the place of the connection
// that has been idle longest (no whole header of a request has arrived since its last answer). If
// none is idle, the new connection gets its answer if it asks for what is for everyone, as the
// health is, and 503 with Retry-After otherwise.
//
// Nothing waits for a slow client for ever: its header must arrive within header_timeout and its
// request within read_timeout, it must take what is written within write_timeout, and while it does
// not read, at most stream_backlog_tokens are kept for it. The engine never waits. What fails in
// one connection (no memory, say) ends that connection.
//
// Borrows the io_context and the loop, which must outlive it. The io_context must outlive the
// loop, which posts to it. Thread contract: shutdown() from any thread, the rest from the thread
// that runs the io_context, or before it runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/engine/engine_loop.h"
#include "forge/serve/address.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/http_options.h"
#include "forge/serve/openai_api.h"
#include "forge/serve/tls_certificate.h"

namespace boost::asio {
class io_context;
}

namespace forge::serve {

/// The table of routes as a page in Markdown.
std::string routes_page();
/// The table of metrics (metrics_page.h) as another.
std::string metrics_page();

class HttpServer {
 public:
  HttpServer(boost::asio::io_context& io, const HttpOptions& options);
  /// Requires: the io_context no longer runs.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Starts to accept connections once the io_context runs. Returns: the address with its real
  /// port. Errors: a sentence that names the address and what is wrong with it; others than this
  /// machine can reach it, and it has not both keys and a certificate, nor `insecure`. A Unix
  /// socket's file (socket_file.h) is there until shutdown(). Called once.
  tl::expected<Address, std::string> listen(const Address& address);

  /// Answers for this model from now on. Called once.
  void serve(engine::EngineLoop& loop, ModelCard model);

  /// False when only a new start can help: there is work and it does not get on, or the target is
  /// lost.
  bool is_live() const;

  /// Who has none of these keys is refused from now on, but for what is for everyone (access.h).
  /// What runs for a key that is not among them ends.
  void set_keys(ApiKeys keys);

  /// Connections to come speak TLS and are shown this certificate; those that there are go on as
  /// they began.
  void set_certificate(TlsCertificate certificate);

  /// Closes connections that are idle, refuses new requests with 503 and answers what is in flight,
  /// for as long as shutdown_timeout; then that ends with the text so far. Meanwhile it listens, so
  /// that probes are answered; then it does not. Connections that are still there linger_timeout
  /// later are closed. Calls `ended` on the io_context's thread when the last one is, or does not
  /// end for linger_timeout more. Called once.
  void shutdown(std::function<void()> ended = {});

 private:
  std::shared_ptr<struct ServerState> state_;
};

}  // namespace forge::serve
