// Serving: forge-infer from its start to its end.
//
//   listen --> load the model, on a thread of its own --> serve --> a signal --> drain --> end
//
// It listens first, so that who probes it hears "loading" and not a refused connection.
//
// What it writes to may go away while it serves: the reader of its log, the room on the disk of its
// trace. Nobody's answer depends on them, so it goes on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "cache_events.h"
#include "forge/core/heartbeat.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/http_server.h"
#include "forge/trace/trace_window.h"
#include "infer_options.h"
#include "request_log.h"
#include "served_run.h"
#include "service_manager.h"

namespace forge::apps {

/// As many connections as the system allows; says on stderr where they are fewer. Errors: it allows
/// none.
tl::expected<void, std::string> fit_connections(serve::HttpOptions& http);

class Serving {
 public:
  /// `request_log` and `cache_events` may be null. Requires: finish_options() has found no fault,
  /// fit_connections() neither.
  Serving(InferOptions options, std::unique_ptr<RequestLog> request_log,
          std::unique_ptr<CacheEvents> cache_events);

  /// Returns when it has ended, with the exit status. What is wrong it has said on stderr.
  int run();

 private:
  /// Errors: what keeps it from its address.
  tl::expected<void, std::string> listen();
  void load();
  /// The model is there, or is not.
  void begin();
  void await_signals();
  void shut_down();
  void feed_watchdog();
  /// Ends the program as soon as it can, with this to say.
  void fail(int status, const std::string& what);
  /// After the last connection. Returns the exit status.
  int end();

  const ServiceManager manager_ = ServiceManager::from_environment();
  Heartbeat heartbeat_;                        // of the target
  std::unique_ptr<RequestLog> request_log_;    // outlives connections, which io_ may still have
  std::unique_ptr<CacheEvents> cache_events_;  // outlives the loop, which tells it
  std::unique_ptr<trace::TraceWindow> trace_window_;  // outlives the loop, which records into it
  InferOptions options_;
  boost::asio::io_context io_;  // outlives the loop, which posts to it
  boost::asio::signal_set signals_;
  boost::asio::signal_set hangups_;  // that have the credentials read again
  boost::asio::steady_timer watchdog_;
  serve::Address address_;
  std::unique_ptr<ServedRun> served_;
  std::unique_ptr<engine::EngineLoop> loop_;
  serve::HttpServer server_;
  bool is_ending_ = false;
  int status_ = 0;
  std::future<ServedRun::Opened> loading_;  // last: what it uses is there until it has ended
};

}  // namespace forge::apps
