// TlsSession: this server's end of TLS with one client, without a socket: bytes go in and come out.
//
//   socket --> put()         --> +---------+ --> read()  --> HTTP
//                                | session |
//   socket <-- take_output() <-- +---------+ <-- write() <-- HTTP
//
// Memory: one record of input at most (16 KiB), and the output that has not been taken. A client
// that makes the session owe it more than kOwedBytesMax (by asking for KeyUpdates without end) has
// broken the protocol.
//
// Sources: RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2); by OpenSSL. Thread contract: one thread.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/serve/tls_certificate.h"

struct ssl_st;

namespace forge::serve {

class TlsSession {
 public:
  enum class Handshake { done, needs_input, failed, speaks_http };

  static constexpr std::size_t kOwedBytesMax = std::size_t{64} << 10;

  explicit TlsSession(const TlsCertificate& certificate);

  /// Goes on with the handshake as far as the input allows. After `failed` the output may say why.
  Handshake shake_hands();

  /// What has arrived.
  void put(std::span<const char> bytes);

  /// Returns: how many bytes of HTTP are in `to` now; 0: it needs input. Errors: eof at the
  /// client's close_notify; protocol_error.
  tl::expected<std::size_t, boost::system::error_code> read(std::span<char> to);

  /// It has input that read() has not looked at, or not returned.
  bool has_input() const;

  /// Encrypts all of it. Requires: `bytes` is not empty. False: the session has failed.
  bool write(std::string_view bytes);

  /// Says close_notify, once.
  void end();

  /// What is to be sent now, and is not kept.
  std::string take_output();

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };

  std::unique_ptr<ssl_st, Free> ssl_;
  bool failed_ = false;  // OpenSSL must not be asked again
};

}  // namespace forge::serve
