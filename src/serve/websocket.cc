#include "websocket.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <exception>
#include <utility>

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

namespace {

namespace beast = boost::beast;

constexpr std::size_t kMessageReadBytes = 4096;  // at first
constexpr std::size_t kFrameWriteBytes = std::size_t{64} << 10;
constexpr std::size_t kReasonBytesMax = 123;  // what a close frame has room for
constexpr std::string_view kVersion = "13";
constexpr std::size_t kUpgradeKeyBytes = 24;  // 16 bytes in base64

Reply refuse_protocol(unsigned status, const std::string& message, bool keeps_alive) {
  Reply reply = reply_of(request_error(status, message, "websocket_needed"));
  if (status != 426) return reply;
  reply.headers.emplace_back(http::field::upgrade, "websocket");
  reply.headers.emplace_back(http::field::connection, keeps_alive ? "upgrade" : "close, upgrade");
  reply.headers.emplace_back(http::field::sec_websocket_version, std::string(kVersion));
  return reply;
}

/// The bytes of frames, as Beast wants to read and write them: a stream of Asio's over a
/// ClientStream, whose ends are left to who has that.
class FrameBytes {
 public:
  using executor_type = asio::any_io_executor;  // NOLINT(readability-identifier-naming): Asio's
  using Transferred = ClientStream::Transferred;

  FrameBytes(ClientStream& stream, std::string received, std::chrono::milliseconds write_timeout)
      : stream_(stream), received_(std::move(received)), write_timeout_(write_timeout) {}

  executor_type get_executor() { return stream_.get_executor(); }
  bool takes_output() { return stream_.takes_output(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& to, Token&& token) {
    asio::mutable_buffer first;
    for (const asio::mutable_buffer buffer : beast::buffers_range_ref(to)) {
      if (first.size() == 0) first = buffer;
    }
    return asio::async_initiate<Token, void(beast::error_code, std::size_t)>(
        [this, first](auto handler) { start(read(first), std::move(handler)); }, token);
  }

  /// The head of a frame and its payload go out together.
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    std::string bytes;
    for (const asio::const_buffer buffer : beast::buffers_range_ref(from)) {
      const std::size_t count = std::min(buffer.size(), kFrameWriteBytes - bytes.size());
      bytes.append(static_cast<const char*>(buffer.data()), count);
    }
    return asio::async_initiate<Token, void(beast::error_code, std::size_t)>(
        [this, &bytes](auto handler) { start(write(std::move(bytes)), std::move(handler)); },
        token);
  }

  /// Connection lingers.
  template <class Handler>
  friend void async_teardown(beast::role_type, FrameBytes& bytes, Handler&& handler) {
    asio::post(bytes.get_executor(),
               beast::bind_front_handler(std::forward<Handler>(handler), beast::error_code()));
  }
  friend void beast_close_socket(FrameBytes& bytes) { bytes.stream_.close(); }

 private:
  /// The handler is not called before this returns.
  template <class Handler>
  void start(asio::awaitable<Transferred> work, Handler handler) {
    asio::co_spawn(get_executor(), std::move(work),
                   [handler = std::move(handler)](const std::exception_ptr& failure,
                                                  const Transferred& done) mutable {
                     const auto [error, count] = done;
                     std::move(handler)(failure ? asio::error::no_memory : error,
                                        failure ? 0 : count);
                   });
  }

  asio::awaitable<Transferred> read(asio::mutable_buffer to) {
    if (received_.empty()) co_return co_await stream_.read_some(to);
    const std::size_t count = asio::buffer_copy(to, asio::buffer(received_));
    received_.erase(0, count);
    co_return Transferred(beast::error_code(), count);
  }

  asio::awaitable<Transferred> write(std::string bytes) {
    asio::steady_timer timer(get_executor(), write_timeout_);
    const auto first = co_await (stream_.write(asio::buffer(bytes)) || timer.async_wait(kAsTuple));
    if (first.index() == 0) co_return std::get<0>(first);
    stream_.close();
    co_return Transferred(asio::error::timed_out, 0);
  }

  ClientStream& stream_;
  std::string received_;
  const std::chrono::milliseconds write_timeout_;
};

}  // namespace

std::optional<Reply> refuse_upgrade(const HttpHeader& header, bool keeps_alive) {
  if (!beast::websocket::is_upgrade(header)) {
    return refuse_protocol(426, "this is for a WebSocket: ask with Upgrade: websocket",
                           keeps_alive);
  }
  if (view(header[http::field::sec_websocket_version]) != kVersion) {
    return refuse_protocol(426, "Sec-WebSocket-Version must be 13", keeps_alive);
  }
  const std::string_view key = view(header[http::field::sec_websocket_key]);
  if (key.size() == kUpgradeKeyBytes) return std::nullopt;
  return refuse_protocol(400, "Sec-WebSocket-Key must be 16 bytes in base64, 24 characters",
                         keeps_alive);
}

struct WebSocket::Beast {
  Beast(ClientStream& stream, std::string received, std::chrono::milliseconds write_timeout)
      : socket(stream, std::move(received), write_timeout) {}

  beast::websocket::stream<FrameBytes, false> socket;
};

WebSocket::WebSocket(ClientStream& stream, std::string received,
                     std::chrono::milliseconds write_timeout)
    : beast_(std::make_unique<Beast>(stream, std::move(received), write_timeout)) {
  auto& socket = beast_->socket;
  socket.auto_fragment(false);
  socket.read_message_max(0);  // read() counts
  socket.text(true);
}

WebSocket::~WebSocket() = default;

asio::awaitable<bool> WebSocket::accept(const HttpRequest& request, std::string_view request_id) {
  auto& socket = beast_->socket;
  socket.set_option(beast::websocket::stream_base::decorator(
      [id = std::string(request_id)](beast::websocket::response_type& response) {
        response.set(http::field::server, "forge");
        response.set("X-Request-Id", id);
      }));
  const auto [error] = co_await socket.async_accept(request, kAsTuple);
  co_return !error;
}

asio::awaitable<WebSocket::Message> WebSocket::read(std::size_t bytes_max) {
  auto& socket = beast_->socket;
  Message message{.kind = Message::Kind::text};
  std::string& text = message.text;
  do {
    const std::size_t has = text.size();
    const std::size_t room = std::min(std::max(has, kMessageReadBytes), bytes_max + 1 - has);
    text.resize(has + room);
    const auto [error, count] =
        co_await socket.async_read_some(asio::buffer(text.data() + has, room), kAsTuple);
    text.resize(has + count);
    if (error) co_return Message();
    if (socket.got_binary()) co_return Message{.kind = Message::Kind::binary};
    if (text.size() > bytes_max) co_return Message{.kind = Message::Kind::too_big};
  } while (!socket.is_message_done());
  co_return message;
}

asio::awaitable<bool> WebSocket::write(const std::string& text) {
  const auto [error, count] = co_await beast_->socket.async_write(asio::buffer(text), kAsTuple);
  co_return !error;
}

bool WebSocket::takes_output() { return beast_->socket.next_layer().takes_output(); }

asio::awaitable<bool> WebSocket::close(CloseCode code, std::string_view reason) {
  reason = reason.substr(0, kReasonBytesMax);
  const beast::websocket::close_reason why(static_cast<beast::websocket::close_code>(code),
                                           beast::string_view(reason.data(), reason.size()));
  const auto [error] = co_await beast_->socket.async_close(why, kAsTuple);
  co_return !error;
}

}  // namespace forge::serve
