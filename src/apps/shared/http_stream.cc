#include "http_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <tuple>

namespace forge::apps {

namespace asio = boost::asio;
using asio::use_awaitable;

asio::awaitable<std::unique_ptr<HttpStream>> HttpStream::connect(const HttpUrl& url) {
  const auto executor = co_await asio::this_coro::executor;
  std::unique_ptr<HttpStream> stream(new HttpStream(executor));
  if (url.address.is_unix()) {
    const asio::local::stream_protocol::endpoint endpoint(url.address.path);
    co_await stream->socket_.async_connect(endpoint, use_awaitable);
  } else {
    asio::ip::tcp::resolver resolver(executor);
    const auto found = co_await resolver.async_resolve(
        url.address.host, std::to_string(url.address.port), use_awaitable);
    co_await stream->socket_.async_connect(found.begin()->endpoint(), use_awaitable);
    stream->socket_.set_option(asio::ip::tcp::no_delay(true));
  }
  if (url.has_tls) {
    stream->context_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
    stream->secure_ =
        std::make_unique<asio::ssl::stream<Socket&>>(stream->socket_, *stream->context_);
    co_await stream->secure_->async_handshake(asio::ssl::stream_base::client, use_awaitable);
  }
  co_return stream;
}

asio::awaitable<void> HttpStream::write(std::string_view bytes) {
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  if (secure_) {
    co_await asio::async_write(*secure_, buffer, use_awaitable);
  } else {
    co_await asio::async_write(socket_, buffer, use_awaitable);
  }
}

asio::awaitable<std::size_t> HttpStream::read_some(asio::mutable_buffer to) {
  constexpr auto kAsTuple = asio::as_tuple(use_awaitable);
  boost::system::error_code error;
  std::size_t count = 0;
  if (secure_) {
    std::tie(error, count) = co_await secure_->async_read_some(to, kAsTuple);
  } else {
    std::tie(error, count) = co_await socket_.async_read_some(to, kAsTuple);
  }
  const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  if (error && !ended) throw boost::system::system_error(error);
  co_return error ? 0 : count;
}

}  // namespace forge::apps
