// WebSocket: the messages between this server and one client, once a request of HTTP has asked for
// them (an upgrade).
//
//   GET ... --> refuse_upgrade() --accept--> read, write, read ... --close--> over
//                     |                            |
//                     +-> Reply                    +-> gone: the client has closed or broken it
//
// Texts alone are taken, in frames that are masked and in any number of them; pings are answered
// while somebody reads. Nothing is compressed. What breaks the protocol is closed with 1002, a text
// that is no UTF-8 with 1007. One read and one write may be under way at the same time; a close
// beside them ends both.
//
// Source: RFC 6455, by Boost.Beast. Borrows the stream. Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client_stream.h"
#include "reply.h"

namespace forge::serve {

/// The answer to a request that is no upgrade which this server understands: 426 if it is none at
/// all or of another version, 400 if it lacks its key. `keeps_alive`: the connection goes on.
std::optional<Reply> refuse_upgrade(const HttpHeader& header, bool keeps_alive);

/// Why a WebSocket is closed. Source: RFC 6455, section 7.4.1, and its registry at IANA.
enum class CloseCode : std::uint16_t {
  going_away = 1001,
  unsupported_data = 1003,
  policy_violation = 1008,
  message_too_big = 1009,
  try_again_later = 1013,
};

class WebSocket {
 public:
  struct Message {
    enum class Kind { text, binary, too_big, gone };
    Kind kind = Kind::gone;
    std::string text = {};
  };

  /// `received`: what the client has sent behind its request. A client that does not take what is
  /// written within write_timeout is dropped: the stream is closed.
  WebSocket(ClientStream& stream, std::string received, std::chrono::milliseconds write_timeout);
  /// Requires: nothing is under way.
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  /// Answers 101. Requires: refuse_upgrade() does not refuse it. False: the client has gone.
  asio::awaitable<bool> accept(const HttpRequest& request, std::string_view request_id);

  /// The next message, of which no more than `bytes_max` and a byte are kept.
  asio::awaitable<Message> read(std::size_t bytes_max);

  /// One message, in one frame. False: the client has gone, or this has been closed.
  asio::awaitable<bool> write(const std::string& text);

  /// As of ClientStream: the client reads.
  bool takes_output();

  /// Says why, and waits for the client to say so, too, however long that takes. Of the reason 123
  /// bytes go with it. False: the client has gone before. Called once.
  asio::awaitable<bool> close(CloseCode code, std::string_view reason);

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
};

}  // namespace forge::serve
