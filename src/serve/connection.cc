#include "connection.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "cors.h"
#include "header_rules.h"
#include "ownership.h"
#include "peer.h"
#include "traceparent.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t kReadBytes = 8192;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

ApiError too_large(unsigned status, const std::string& what, std::uint64_t limit_bytes) {
  return request_error(
      status,
      what + " is larger than " + std::to_string(limit_bytes) + " bytes, the limit of this server",
      status == 413 ? "body_too_large" : "header_too_large");
}

Reply refuse_slow(const std::string& what, std::chrono::milliseconds limit) {
  return reply_of(
      request_error(408, what + " did not arrive within " + std::to_string(limit.count()) + " ms",
                    "request_timeout"));
}

Reply refuse_newcomer(const HttpOptions& options) {
  return reply_of(server_error(503,
                               "all " + std::to_string(options.max_connections) +
                                   " connections that this server takes are busy",
                               "too_many_connections"));
}

Reply refuse_plain() {
  return reply_of(
      request_error(400, "this port speaks TLS: ask it as https://, not http://", "tls_needed"));
}

}  // namespace

Connection::Connection(ClientStream::Socket socket, ConnectionTable::Place place,
                       std::shared_ptr<ServerState> state)
    : stream_(std::move(socket), state->certificate),
      is_visitor_(place == ConnectionTable::Place::visitor),
      arrival_(arrival_at(stream_.local_endpoint())),
      host_(host_at(stream_.remote_endpoint())),
      state_(std::move(state)),
      buffer_(state_->options.header_limit_bytes + state_->options.body_limit_bytes + kReadBytes) {
  state_->connections.add(*this, place);
}

Connection::~Connection() {
  report();
  state_->connections.remove(*this);
  if (state_->phase != Phase::serving) state_->time_to_end.cancel();
}

asio::awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  if (self->stream_.has_tls()) {
    const bool secure = co_await self->shake_hands();
    if (!secure) co_return;
  }
  ConnectionTable& connections = self->state_->connections;
  bool goes_on = true;
  while (goes_on) {
    Parser parser;
    const ReadResult read = co_await self->read_request(parser);
    if (!read && !read.error()) co_return;
    if (!read) {
      goes_on = co_await self->send(read.error()->reply, read.error()->framing);
    } else if (is_read_in_lines(parser.get())) {
      goes_on = co_await self->answer_lines(parser);
    } else {
      goes_on = co_await self->answer(parser.release());
    }
    self->report();
    connections.set_idle(*self);
  }
  co_await self->linger();
}

void Connection::report() {
  auto record = std::exchange(record_, std::nullopt);
  if (!record || !state_->options.on_request) return;
  record->time = asio::steady_timer::clock_type::now() - begun_;
  const bool is_probe = asked_.route != nullptr && asked_.route->audience == Audience::everyone;
  if (is_probe && record->status == 200) return;
  state_->options.on_request(*record);
}

void Connection::close_if_silent() {
  if (const auto messages = messages_.lock()) return messages->drain();
  if (silent_ && !stream_.has_input()) drop();
}

void Connection::drop_unless_in(const ApiKeys& keys) {
  if (asker_.key && !keys.contains(*asker_.key)) drop();
}

asio::awaitable<bool> Connection::shake_hands() {
  const TimePoint deadline = asio::steady_timer::clock_type::now() + state_->options.header_timeout;
  const bool begun = co_await await_input(deadline);
  if (!begun) co_return false;
  asio::steady_timer timer(stream_.get_executor(), deadline);
  const auto first = co_await (stream_.shake_hands() || timer.async_wait(kAsTuple));
  if (first.index() == 1) co_return false;
  const ClientStream::Handshake handshake = std::get<0>(first);
  if (handshake == ClientStream::Handshake::speaks_http) {
    co_await send(refuse_plain(), new_framing());
    co_await linger();
  }
  co_return handshake == ClientStream::Handshake::done;
}

asio::awaitable<Connection::ReadResult> Connection::read_request(Parser& parser) {
  asked_ = {};
  const bool begun = co_await await_request();
  if (!begun) co_return tl::unexpected(NoRequest());
  record_.emplace();
  begun_ = asio::steady_timer::clock_type::now();
  const HttpOptions& options = state_->options;
  parser.header_limit(options.header_limit_bytes);
  parser.body_limit(std::max(options.body_limit_bytes, options.batch_body_limit_bytes));
  co_return co_await fill(parser);
}

/// RFC 9112, section 2.2: empty lines before a request are passed over.
asio::awaitable<bool> Connection::await_request() {
  const HttpOptions& options = state_->options;
  const auto patience =
      state_->phase == Phase::serving ? options.idle_timeout : options.linger_timeout;
  const auto deadline = asio::steady_timer::clock_type::now() + patience;
  for (;;) {
    const auto held = static_cast<const char*>(buffer_.data().data());
    if (buffer_.size() >= 2 && held[0] == '\r' && held[1] == '\n') {
      buffer_.consume(2);
    } else if (buffer_.size() == 0 || (buffer_.size() == 1 && held[0] == '\r')) {
      const bool begun = co_await await_input(deadline);
      if (!begun) co_return false;
      const Received received = co_await receive(deadline);
      if (received != Received::data) co_return false;
    } else {
      co_return true;
    }
  }
}

/// What has arrived stays with the stream, so that a shutdown sees it (close_if_silent).
asio::awaitable<bool> Connection::await_input(TimePoint deadline) {
  asio::steady_timer timer(stream_.get_executor(), deadline);
  silent_ = true;
  const auto first = co_await (stream_.wait_for_input() || timer.async_wait(kAsTuple));
  silent_ = false;
  co_return first.index() == 0 && stream_.is_open();
}

ApiError Connection::syntax_error(boost::beast::error_code error, const HttpHeader& header) const {
  if (error == http::error::body_limit) return too_large(413, "the body", body_limit(header));
  if (error == http::error::header_limit) {
    return too_large(431, "the header", state_->options.header_limit_bytes);
  }
  if (error == http::error::bad_version) {
    return request_error(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  return request_error(400, "the request is not valid HTTP: " + error.message());
}

ApiError Connection::large_gap() const {
  return too_large(431, "what stands between two chunks", state_->options.header_limit_bytes);
}

std::uint64_t Connection::body_limit(const HttpHeader& header) const {
  const HttpOptions& options = state_->options;
  return is_read_in_lines(header) ? options.batch_body_limit_bytes : options.body_limit_bytes;
}

asio::awaitable<Connection::ReadResult> Connection::fill(Parser& parser) {
  const HttpOptions& options = state_->options;
  const TimePoint begun = asio::steady_timer::clock_type::now();
  const auto header_limit = std::min(options.header_timeout, options.read_timeout);
  bool header_seen = false;
  const auto refusal = [&](Reply reply) {
    return tl::unexpected(
        NoRequest({std::move(reply), header_seen ? frame(parser.get(), false) : new_framing()}));
  };
  while (!parser.is_done()) {
    boost::beast::error_code error;
    buffer_.consume(parser.put(buffer_.data(), error));
    if (parser.is_header_done() && !header_seen) {
      parser.body_limit(body_limit(parser.get()));
      if (parser.content_length() > body_limit(parser.get())) error = http::error::body_limit;
    }
    if (error && error != http::error::need_more) {
      co_return refusal(reply_of(syntax_error(error, parser.get())));
    }
    if (parser.is_header_done() && !std::exchange(header_seen, true)) {
      auto examined = co_await examine(parser.get());
      if (!examined || is_read_in_lines(parser.get())) co_return examined;
      parser.eager(true);
      if (buffer_.size() > 0) continue;
    }
    if (parser.is_done()) break;
    // The parser takes a body as it comes, but the lines between its chunks only as a whole.
    if (buffer_.size() > options.header_limit_bytes) {
      co_return refusal(reply_of(large_gap()));
    }
    switch (co_await receive(begun + (header_seen ? options.read_timeout : header_limit))) {
      case Received::data:
        break;
      case Received::closed:
        co_return tl::unexpected(NoRequest());
      case Received::timeout:
        co_return refusal(header_seen ? refuse_slow("the request", options.read_timeout)
                                      : refuse_slow("the header", header_limit));
    }
  }
  co_return ReadResult();
}

asio::awaitable<Connection::ReadResult> Connection::examine(const HttpHeader& header) {
  state_->connections.set_busy(*this);
  asked_ = {.route = route_of(header), .method = header.method()};
  asker_ = {};
  client_ = {};
  record_ = RequestRecord{.trace_id = std::string(trace_id_of(view(header["traceparent"]))),
                          .method = std::string(view(header.method_string())),
                          .route = asked_.route != nullptr ? pattern_of(*asked_.route) : ""};
  begun_ = asio::steady_timer::clock_type::now();
  const auto refusal = [&](Reply reply) {
    return tl::unexpected(NoRequest({std::move(reply), frame(header, false)}));
  };
  if (auto refused = refuse_ambiguity(header)) co_return refusal(std::move(*refused));
  const HttpOptions& options = state_->options;
  if (is_visitor_ && !is_for_everyone(header, options)) co_return refusal(refuse_newcomer(options));
  if (!answer_preflight(header, options, state_->keys.has_value())) {
    const ApiKeys* const keys = state_->keys ? &*state_->keys : nullptr;
    auto asker = is_upgrade(header) ? admit_upgrade(header, options.cors_origins, keys, arrival_)
                                    : admit(header, audience_of(header, options), keys, arrival_);
    if (!asker) co_return refusal(std::move(asker.error()));
    asker_ = *std::move(asker);
    client_ = client_of(asker_);
    if (asker_.key) record_->key = asker_.key->name;
  }
  const auto expected = header[http::field::expect];
  if (expected.empty() || header.version() < 11) co_return ReadResult();
  if (!iequals(view(expected), "100-continue")) {
    co_return refusal(
        reply_of(request_error(417, "the only expectation that is met is '100-continue'")));
  }
  if (auto refused = refuse_header(header)) co_return refusal(std::move(*refused));
  const bool written = co_await write(std::string(kContinue));
  if (!written) co_return tl::unexpected(NoRequest());
  co_return ReadResult();
}

Framing Connection::frame(const HttpHeader& header, bool keep_alive) const {
  Framing framing = framing_of(header, keep_alive);
  framing.allowed_origin = allowed_origin(header, state_->options, state_->keys.has_value());
  return framing;
}

Client Connection::client_of(const Asker& asker) const {
  const ClientLimits& limits = state_->options.client_limits;
  return {.owner = asker.owner(),
          .id = serve::client_of(asker.owner(), host_, state_->host_salt),
          .limits = asker.key ? asker.key->settings.over(limits) : limits};
}

asio::awaitable<Connection::Received> Connection::receive(TimePoint deadline) {
  asio::steady_timer timer(stream_.get_executor(), deadline);
  const auto space = buffer_.prepare(kReadBytes);
  const auto first = co_await (stream_.read_some(space) || timer.async_wait(kAsTuple));
  if (first.index() == 1) co_return Received::timeout;
  const auto [error, count] = std::get<0>(first);
  buffer_.commit(count);
  co_return error ? Received::closed : Received::data;
}

asio::awaitable<void> Connection::watch_for_disconnect(Framing framing) {
  const std::size_t kept_max =
      state_->options.header_limit_bytes + state_->options.body_limit_bytes;
  bool is_sending = true;
  while (is_sending && buffer_.size() < kept_max) {
    const auto [error, count] = co_await stream_.read_some(buffer_.prepare(kReadBytes));
    buffer_.commit(count);
    const bool may_wait = error == asio::error::eof && !stream_.has_tls();
    if (error && !may_wait) co_return;
    is_sending = !error;
  }
  // Of one that sends nothing more, or so much ahead that no more is read now, a reset tells.
  if (!is_sending) probe(framing);
  co_await stream_.wait_for_error();
}

void Connection::probe(const Framing& framing) {
  if (framing.http_1_0 || answer_begun_) return;  // an answer under way is as good
  if (!stream_.write_at_once(kContinue)) drop();
}

asio::awaitable<bool> Connection::write(const std::string& bytes) {
  answer_begun_ = true;
  asio::steady_timer timer(stream_.get_executor(), state_->options.write_timeout);
  const auto first = co_await (stream_.write(asio::buffer(bytes)) || timer.async_wait(kAsTuple));
  const bool written = first.index() == 0 && !std::get<0>(std::get<0>(first));
  if (!written) drop();
  co_return written;
}

/// Ends the connection so that the client gets all of the last answer: closing a socket with
/// unread input would reset the connection, and the client could lose what it has not read yet.
asio::awaitable<void> Connection::linger() {
  const TimePoint deadline = asio::steady_timer::clock_type::now() + state_->options.linger_timeout;
  asio::steady_timer timer(stream_.get_executor(), deadline);
  co_await (stream_.finish() || timer.async_wait(kAsTuple));
  Received received = Received::data;
  while (stream_.is_open() && received == Received::data) {
    buffer_.clear();
    received = co_await receive(deadline);
  }
}

void Connection::drop() { stream_.close(); }

}  // namespace forge::serve
