// Session: one connection, from accept to close.
//
//   read a request -> route it -> answer it (whole, or as a stream) -> the next one
//
// What the client has already sent of its next request waits in the buffer (pipelining). The
// session ends when the client goes away, breaks the protocol, is too slow, or the server shuts
// down. Registered with the server's state while it lives.
//
// Thread contract: the I/O thread.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "framing.h"
#include "generation.h"
#include "routes.h"
#include "server_state.h"

namespace forge {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Serves the connection to its end. `self` keeps the session alive meanwhile.
  static asio::awaitable<void> run(std::shared_ptr<Session> self);

  /// Closes the connection unless a request is under way. For the server's shutdown.
  void close_if_idle();

 private:
  using TimePoint = asio::steady_timer::time_point;
  enum class Received { data, closed, timeout };

  /// Why no request was read: answer this and close, or just close.
  using NoRequest = std::optional<Reply>;
  using ReadResult = tl::expected<HttpRequest, NoRequest>;

  asio::awaitable<ReadResult> read_request();
  /// Answers `Expect: 100-continue`: with a 100, or with what the header deserves.
  asio::awaitable<std::optional<NoRequest>> meet_expectation(const HttpHeader& header);
  asio::awaitable<Received> receive(TimePoint deadline);

  /// Each returns whether the connection goes on.
  asio::awaitable<bool> answer(const HttpRequest& request);
  asio::awaitable<bool> generate(const Job& job, Framing framing);
  asio::awaitable<bool> answer_whole(const Job& job, Generation& generation, Framing framing);
  asio::awaitable<bool> answer_stream(const Job& job, Generation& generation, Framing framing);
  asio::awaitable<bool> send(const Reply& reply, Framing framing);

  /// Returns when the client has gone. What it sends meanwhile is kept for the next request.
  asio::awaitable<void> watch_for_disconnect();
  /// False if the client has gone or does not take it in time; the socket is then closed.
  asio::awaitable<bool> write(const std::string& bytes);
  asio::awaitable<void> linger();
  void drop();

  AnswerHead new_head();
  bool keeps_alive(Framing framing) const { return framing.keep_alive && !state_->shutting_down; }

  asio::ip::tcp::socket socket_;
  std::shared_ptr<ServerState> state_;
  boost::beast::flat_buffer buffer_;
  bool idle_ = false;
};

}  // namespace forge
