// HttpStream: a client's connection to an HTTP server, over TCP or a Unix socket, with TLS or
// without.
//
// Functions throw boost::system::system_error where the connection fails.
//
// Thread contract: that of the executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

#include "http_url.h"

namespace forge::apps {

class HttpStream {
 public:
  /// Whether the server's certificate must be of its host, by an authority that this system trusts.
  enum class Certificate { any, trusted };

  static boost::asio::awaitable<std::unique_ptr<HttpStream>> connect(const HttpUrl& url,
                                                                     Certificate certificate);

  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  boost::asio::awaitable<void> write(std::string_view bytes);
  /// At least one byte; 0 at the server's end of the connection.
  boost::asio::awaitable<std::size_t> read_some(boost::asio::mutable_buffer to);

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;

  explicit HttpStream(const boost::asio::any_io_executor& executor) : socket_(executor) {}

  Socket socket_;
  std::unique_ptr<boost::asio::ssl::context> context_;         // of TLS
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> secure_;  // over the socket, with TLS
};

}  // namespace forge::apps
