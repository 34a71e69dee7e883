// ClientStream: the bytes between this server and one client, over TCP or a Unix socket, plain or
// through TLS. Who reads and writes does not see which.
//
//                      plain                          TLS
//   read_some          what comes                     ... decrypted
//   write              what is sent                   ... encrypted first, all of it at once
//   finish             no more is sent (FIN)          a close_notify before it
//   close              the end                        a close_notify before it, if it fits
//   an end from the    only that side: it may still   the end of both: what comes later would reach
//   client means       wait for its answer            nobody (RFC 9112, section 9.8)
//
// A plain stream adds nothing to what the socket does: no copy, no allocation. Through TLS, one
// read and one write may be under way at the same time, as without, because reading never writes:
// what TLS itself has to say (an answer to a KeyUpdate) waits in the session for the next write,
// which is when it is due (RFC 8446, section 4.6.3).
//
// Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "asio_types.h"
#include "forge/serve/tls_certificate.h"
#include "tls_session.h"

namespace forge::serve {

class ClientStream {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  /// Bytes read or written, and the error that ended that: eof at the client's orderly end.
  using Transferred = std::tuple<boost::system::error_code, std::size_t>;
  enum class Handshake { done, failed, speaks_http };

  /// Through TLS, if there is a certificate.
  ClientStream(Socket socket, const std::optional<TlsCertificate>& certificate);
  /// Closes it.
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  bool has_tls() const { return tls_.has_value(); }
  bool is_open() const { return socket_.is_open(); }
  Socket::executor_type get_executor() { return socket_.get_executor(); }
  Socket::endpoint_type local_endpoint() const;
  Socket::endpoint_type remote_endpoint() const;

  /// Before anything else of a stream with TLS. A client that speaks HTTP without TLS has a plain
  /// stream from then on, so that it can be told; what it sent is gone.
  asio::awaitable<Handshake> shake_hands();

  /// At least one byte, or an error.
  asio::awaitable<Transferred> read_some(asio::mutable_buffer to);
  /// All of them, or an error. Requires: `bytes` is not empty.
  asio::awaitable<Transferred> write(asio::const_buffer bytes);
  /// Writes `bytes` if the system takes them at once. Requires: no TLS, no write is under way.
  bool write_at_once(std::string_view bytes);

  /// The system has room for more output: the client reads.
  bool takes_output();
  /// There is input that nobody has read yet.
  bool has_input() const;
  /// Returns when there is, or when the connection ends.
  asio::awaitable<void> wait_for_input();
  /// Returns when the connection is broken.
  asio::awaitable<void> wait_for_error();

  /// Says that nothing more will be sent. What is read after that is noise.
  asio::awaitable<void> finish();
  /// What waits for the stream ends. A write that is under way is cut off.
  void close();

 private:
  asio::awaitable<Transferred> read_through_tls(asio::mutable_buffer to);
  asio::awaitable<Transferred> write_through_tls(asio::const_buffer bytes);
  /// Sends what the session has for the client.
  asio::awaitable<boost::system::error_code> flush();

  Socket socket_;
  std::optional<TlsSession> tls_;
  bool is_whole_ = true;  // false while a write is under way, and once one has been cut off
};

}  // namespace forge::serve
