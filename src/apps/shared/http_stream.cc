#include "http_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <tuple>

namespace forge::apps {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

constexpr auto kAsTuple = asio::as_tuple(use_awaitable);

/// A name may have several addresses: localhost has one of IPv6 and one of IPv4.
asio::awaitable<void> connect_to_host(asio::generic::stream_protocol::socket& socket,
                                      const serve::Address& address) {
  asio::ip::tcp::resolver resolver(socket.get_executor());
  const auto found =
      co_await resolver.async_resolve(address.host, std::to_string(address.port), use_awaitable);
  boost::system::error_code failed;
  for (const auto& entry : found) {
    std::tie(failed) = co_await socket.async_connect(entry.endpoint(), kAsTuple);
    if (!failed) co_return;
    socket.close();
  }
  throw boost::system::system_error(failed);
}

}  // namespace

asio::awaitable<std::unique_ptr<HttpStream>> HttpStream::connect(const HttpUrl& url,
                                                                 Certificate certificate) {
  const auto executor = co_await asio::this_coro::executor;
  std::unique_ptr<HttpStream> stream(new HttpStream(executor));
  if (url.address.is_unix()) {
    const asio::local::stream_protocol::endpoint endpoint(url.address.path);
    co_await stream->socket_.async_connect(endpoint, use_awaitable);
  } else {
    co_await connect_to_host(stream->socket_, url.address);
    stream->socket_.set_option(asio::ip::tcp::no_delay(true));
  }
  if (url.has_tls) {
    const std::string& host = url.address.host;
    stream->context_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
    if (certificate == Certificate::trusted) {
      stream->context_->set_default_verify_paths();
      stream->context_->set_verify_mode(asio::ssl::verify_peer);
      stream->context_->set_verify_callback(asio::ssl::host_name_verification(host));
    }
    stream->secure_ =
        std::make_unique<asio::ssl::stream<Socket&>>(stream->socket_, *stream->context_);
    boost::system::error_code is_name;  // of which servers have several, and no address
    asio::ip::make_address(host, is_name);
    if (is_name) SSL_set_tlsext_host_name(stream->secure_->native_handle(), host.c_str());
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
