#include "serving.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <utility>

#include "credentials.h"
#include "descriptors.h"
#include "greeting.h"

namespace forge::apps {
namespace {

constexpr int kTargetLost = 3;  // exit status

void note(const std::string& text) { std::cerr << "forge-infer: " + text + '\n'; }

/// By the one who started this program: nohup(1) wants it to outlive the terminal.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The second signal ends the program, but for SIGHUP: a terminal that is closed may send it twice.
void await_second_signal(boost::asio::signal_set& signals) {
  signals.async_wait([&signals](const boost::system::error_code& cancelled, int signal) {
    if (cancelled) return;
    if (signal != SIGHUP) std::_Exit(128 + signal);
    await_second_signal(signals);
  });
}

/// What the server and the loop have to say while they run, on stderr.
InferOptions with_reporters(InferOptions options, RequestLog* request_log,
                            CacheEvents* cache_events, const trace::TraceWindow* window) {
  options.http.on_connection_error = [](std::string_view what) {
    note("a connection was closed: " + std::string(what));
  };
  options.loop.on_draft_alarm = [](const std::optional<std::string>& alarm) {
    note("drafts: " + alarm.value_or("as many are kept as expected again"));
  };
  if (request_log != nullptr) {
    options.http.on_request = [request_log](const serve::RequestRecord& record) {
      request_log->add(record, std::chrono::system_clock::now());
    };
  }
  if (cache_events != nullptr) {
    options.loop.on_cache_change = [cache_events](const CacheDelta& delta,
                                                  const PrefixIndex& index) {
      cache_events->tell(delta, index);
    };
    options.http.event_counts = [cache_events] {
      const kv_events::KvEventCounts counts = cache_events->counts();
      return serve::EventCounts{.published = counts.published, .dropped = counts.dropped};
    };
  }
  if (window != nullptr) {
    options.http.trace_window = [window] { return window->text(); };
  }
  return options;
}

std::unique_ptr<trace::TraceWindow> window_of(const InferOptions& options) {
  const std::uint64_t bytes = options.trace_window_bytes.value_or(kTraceWindowBytes);
  return bytes == 0 ? nullptr : std::make_unique<trace::TraceWindow>(bytes);
}

/// Calls `function` when it goes, whether by a return or an exception.
struct AtEnd {
  ~AtEnd() { function(); }
  std::function<void()> function;
};

}  // namespace

tl::expected<void, std::string> fit_connections(serve::HttpOptions& http) {
  const auto fit = allow_connections(http.max_connections);
  if (!fit) return tl::unexpected(fit.error());
  if (*fit < http.max_connections) {
    note("--max-connections is " + std::to_string(*fit) + " instead of " +
         std::to_string(http.max_connections) +
         ": this process may not open more files (ulimit -n)");
  }
  http.max_connections = *fit;
  return {};
}

Serving::Serving(InferOptions options, std::unique_ptr<RequestLog> request_log,
                 std::unique_ptr<CacheEvents> cache_events)
    : request_log_(std::move(request_log)),
      cache_events_(std::move(cache_events)),
      trace_window_(window_of(options)),
      options_(with_reporters(std::move(options), request_log_.get(), cache_events_.get(),
                              trace_window_.get())),
      signals_(io_, SIGINT, SIGTERM),
      hangups_(io_),
      watchdog_(io_),
      server_(io_, options_.http) {
  options_.target.executor.heartbeat = &heartbeat_;
  options_.loop.heartbeat = &heartbeat_;
  options_.loop.on_target_lost = [this](const std::string& reason) {
    boost::asio::post(io_, [this, reason] { fail(kTargetLost, "the target is lost: " + reason); });
  };
  options_.loop.on_target_reopened = [](const std::string& reason) {
    note("the target was lost and has been opened again; all requests go on: " + reason);
  };
}

int Serving::run() {
  if (const auto listening = listen(); !listening) {
    note(listening.error());
    return 1;
  }
  await_signals();
  load();
  io_.run();
  return end();
}

tl::expected<void, std::string> Serving::listen() {
  auto credentials = read_credentials(options_);
  if (!credentials) return tl::unexpected(std::move(credentials.error()));
  give(*std::move(credentials), server_);
  auto address = server_.listen(serve::parse_address(options_.addr).value());
  if (!address) return tl::unexpected(std::move(address.error()));
  address_ = *std::move(address);
  return {};
}

void Serving::load() {
  if (options_.target.source.is_file()) {
    note("loading the model; listening on " + place_of(address_, options_));
  }
  loading_ = std::async(std::launch::async, [this] {
    const AtEnd tell{[this] { boost::asio::post(io_, [this] { begin(); }); }};
    return ServedRun::open(options_, trace_window_.get());
  });
}

void Serving::begin() {
  ServedRun::Opened loading = loading_.get();
  if (is_ending_) return;
  if (!loading) return fail(1, loading.error());
  served_ = *std::move(loading);
  if (cache_events_ != nullptr) cache_events_->begin(served_->engine().scheduler().config());
  loop_ =
      std::make_unique<engine::EngineLoop>(served_->engine(), served_->tokenizer(), options_.loop);
  const serve::ModelCard card = served_->card();
  server_.serve(*loop_, card);
  print_welcome(address_, card.id, options_);
  manager_.tell_ready();
  feed_watchdog();
}

/// The first signal shuts the server down.
void Serving::await_signals() {
  if (has_credentials(options_)) {
    hangups_.add(SIGHUP);
    read_credentials_on(hangups_, options_, server_);
  } else if (!is_ignored(SIGHUP)) {
    signals_.add(SIGHUP);
  }
  signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    note("answering what is in flight; a second signal ends at once");
    await_second_signal(signals_);
    shut_down();
  });
}

void Serving::shut_down() {
  is_ending_ = true;
  manager_.tell_stopping();
  server_.shutdown([this] {
    // Nothing is in flight, and nobody waits for a model that is not there yet.
    if (loading_.valid()) std::_Exit(0);
    signals_.cancel();
    hangups_.cancel();
    watchdog_.cancel();
    io_.stop();  // should a connection be left that waits for a target that hangs
  });
}

void Serving::feed_watchdog() {
  const auto period = manager_.watchdog_period();
  if (!period) return;
  if (server_.is_live()) manager_.tell_alive();
  watchdog_.expires_after(*period);
  watchdog_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) feed_watchdog();
  });
}

void Serving::fail(int status, const std::string& what) {
  if (status_ != 0) return;  // more of the same
  status_ = status;
  note(what);
  if (!is_ending_) shut_down();
}

int Serving::end() {
  if (loop_ == nullptr) return status_;
  if (!loop_->drain(options_.http.linger_timeout)) {
    note("the target does not end its step: it is left behind");
    std::_Exit(1);
  }
  loop_.reset();
  const std::string failure = served_->finish();
  if (failure.empty()) return status_;
  note(failure);
  return status_ == 0 ? 1 : status_;
}

}  // namespace forge::apps
