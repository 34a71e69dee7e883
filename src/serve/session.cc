#include "session.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

namespace forge {

using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t kReadBytes = 8192;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// The answer to a request that is not HTTP, or too large.
Reply refuse_syntax(boost::beast::error_code error, const HttpOptions& options) {
  if (error == http::error::body_limit) {
    return reply_of(request_error(413,
                                  "the body is larger than " +
                                      std::to_string(options.body_limit_bytes) +
                                      " bytes, the limit of this server",
                                  "body_too_large"));
  }
  if (error == http::error::header_limit) {
    return reply_of(request_error(431,
                                  "the header is larger than " +
                                      std::to_string(options.header_limit_bytes) +
                                      " bytes, the limit of this server",
                                  "header_too_large"));
  }
  if (error == http::error::bad_version) {
    return reply_of(request_error(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"));
  }
  return reply_of(request_error(400, "the request is not valid HTTP: " + error.message()));
}

Reply refuse_slow(const HttpOptions& options) {
  return reply_of(request_error(
      408,
      "the request did not arrive within " + std::to_string(options.read_timeout.count()) + " ms",
      "request_timeout"));
}

}  // namespace

Session::Session(asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state)
    : socket_(std::move(socket)), state_(std::move(state)) {
  state_->sessions.insert(this);
}

Session::~Session() {
  state_->sessions.erase(this);
  state_->session_ended.cancel();
  if (state_->shutting_down && state_->sessions.empty() && state_->ended) {
    std::exchange(state_->ended, nullptr)();
  }
}

asio::awaitable<void> Session::run(std::shared_ptr<Session> self) {
  bool goes_on = true;
  while (goes_on && !self->state_->shutting_down) {
    ReadResult request = co_await self->read_request();
    if (request) {
      goes_on = co_await self->answer(*request);
    } else if (request.error()) {
      goes_on = co_await self->send(*request.error(), Framing{});
    } else {
      co_return;
    }
  }
  co_await self->linger();
}

void Session::close_if_idle() {
  if (idle_) drop();
}

asio::awaitable<Session::ReadResult> Session::read_request() {
  if (buffer_.size() == 0) {
    idle_ = true;
    const Received first =
        co_await receive(asio::steady_timer::clock_type::now() + state_->options.idle_timeout);
    idle_ = false;
    if (first != Received::data) co_return tl::unexpected(NoRequest());
  }
  const TimePoint deadline = asio::steady_timer::clock_type::now() + state_->options.read_timeout;
  http::request_parser<http::string_body> parser;
  parser.header_limit(state_->options.header_limit_bytes);
  parser.body_limit(state_->options.body_limit_bytes);

  bool header_seen = false;
  while (!parser.is_done()) {
    boost::beast::error_code error;
    buffer_.consume(parser.put(buffer_.data(), error));
    if (error && error != http::error::need_more) {
      co_return tl::unexpected(NoRequest(refuse_syntax(error, state_->options)));
    }
    if (parser.is_header_done() && !std::exchange(header_seen, true)) {
      std::optional<NoRequest> refused = co_await meet_expectation(parser.get());
      if (refused) co_return tl::unexpected(std::move(*refused));
      parser.eager(true);
      if (buffer_.size() > 0) continue;
    }
    if (parser.is_done()) break;
    switch (co_await receive(deadline)) {
      case Received::data:
        break;
      case Received::closed:
        co_return tl::unexpected(NoRequest());
      case Received::timeout:
        co_return tl::unexpected(NoRequest(refuse_slow(state_->options)));
    }
  }
  co_return parser.release();
}

asio::awaitable<std::optional<Session::NoRequest>> Session::meet_expectation(
    const HttpHeader& header) {
  const auto expected = header[http::field::expect];
  if (expected.empty() || header.version() < 11) co_return std::nullopt;
  if (!boost::beast::iequals(expected, "100-continue")) {
    co_return NoRequest(
        reply_of(request_error(417, "the only expectation that is met is '100-continue'")));
  }
  if (auto refusal = refuse_header(header)) co_return NoRequest(std::move(*refusal));
  const bool written = co_await write(std::string(kContinue));
  if (!written) co_return NoRequest();
  co_return std::nullopt;
}

asio::awaitable<Session::Received> Session::receive(TimePoint deadline) {
  asio::steady_timer timer(socket_.get_executor(), deadline);
  const auto space = buffer_.prepare(kReadBytes);
  const auto first =
      co_await (socket_.async_read_some(space, kAsTuple) || timer.async_wait(kAsTuple));
  if (first.index() == 1) co_return Received::timeout;
  const auto [error, count] = std::get<0>(first);
  buffer_.commit(count);
  co_return error ? Received::closed : Received::data;
}

asio::awaitable<void> Session::watch_for_disconnect() {
  const std::size_t kept_max =
      state_->options.header_limit_bytes + state_->options.body_limit_bytes;
  while (buffer_.size() < kept_max) {
    const auto [error, count] =
        co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kAsTuple);
    buffer_.commit(count);
    if (error) co_return;
  }
  // A client that sends so much ahead is no longer watched: its next request is not read
  // before this one is answered.
  asio::steady_timer never(socket_.get_executor(), TimePoint::max());
  co_await never.async_wait(kAsTuple);
}

asio::awaitable<bool> Session::write(const std::string& bytes) {
  asio::steady_timer timer(socket_.get_executor(), state_->options.write_timeout);
  const auto first = co_await (asio::async_write(socket_, asio::buffer(bytes), kAsTuple) ||
                               timer.async_wait(kAsTuple));
  const bool written = first.index() == 0 && !std::get<0>(std::get<0>(first));
  if (!written) drop();
  co_return written;
}

/// Ends the connection so that the client gets all of the last answer: closing a socket with
/// unread input would reset the connection, and the client could lose what it has not read yet.
asio::awaitable<void> Session::linger() {
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  const TimePoint deadline = asio::steady_timer::clock_type::now() + state_->options.linger_timeout;
  Received received = Received::data;
  while (socket_.is_open() && received == Received::data) {
    buffer_.clear();
    received = co_await receive(deadline);
  }
}

void Session::drop() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace forge
