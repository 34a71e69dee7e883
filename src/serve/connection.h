// Connection: one connection of a client, from accept to close.
//
//   read a request -> route it -> answer it (whole, or as a stream) -> the next one
//
// With TLS the handshake comes first, which must be done within header_timeout; a client that
// speaks HTTP instead is told so, without TLS.
//
// What the client has already sent of its next request waits in the buffer (pipelining). The
// connection ends when the client goes away, breaks the protocol, is too slow, or the server shuts
// down. A visitor (connection_table.h) ends after one answer. A connection is in the table of
// connections while it lives.
//
// Thread contract: the I/O thread.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "access.h"
#include "batch.h"
#include "client_stream.h"
#include "framing.h"
#include "message_stream.h"
#include "routes.h"
#include "server_state.h"

namespace forge::serve {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ClientStream::Socket socket, ConnectionTable::Place place,
             std::shared_ptr<ServerState> state);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves the connection to its end. `self` keeps it alive meanwhile.
  static asio::awaitable<void> run(std::shared_ptr<Connection> self);

  /// Closes the connection unless a request is arriving or under way; a WebSocket closes itself
  /// when none is. For the server's shutdown.
  void close_if_silent();

  /// Closes the connection of a key that is not among these. For keys that change.
  void drop_unless_in(const ApiKeys& keys);

  /// Closes the stream: what waits for it ends, and so does the connection.
  void drop();

 private:
  using TimePoint = asio::steady_timer::time_point;
  enum class Received { data, closed, timeout };
  struct Lines;

  struct Refusal {
    Reply reply;
    Framing framing;
  };
  /// Why no request was read: answer this and close, or just close.
  using NoRequest = std::optional<Refusal>;
  using ReadResult = tl::expected<void, NoRequest>;
  using Parser = http::request_parser<http::string_body>;

  /// False: there is no TLS, and the client has been told or is gone.
  asio::awaitable<bool> shake_hands();
  /// Into the parser: all of it, or, where lines are read while they are answered, its header.
  asio::awaitable<ReadResult> read_request(Parser& parser);
  /// Waits for the first byte of a request, past empty lines. False: the client has gone, or was
  /// silent for too long.
  asio::awaitable<bool> await_request();
  /// Waits for the client to send anything. False: it did not in time, or the stream was closed.
  asio::awaitable<bool> await_input(TimePoint deadline);
  /// Fills the parser. Errors: the answer to a request that cannot be read.
  asio::awaitable<ReadResult> fill(Parser& parser);
  /// Looks at a header before the body is read. It says 100 if the client waits for that. Errors:
  /// the answer to a request that is refused.
  asio::awaitable<ReadResult> examine(const HttpHeader& header);
  asio::awaitable<Received> receive(TimePoint deadline);
  /// Of a request that is not HTTP, or too large.
  ApiError syntax_error(boost::beast::error_code error, const HttpHeader& header) const;
  ApiError large_gap() const;  ///< between two chunks
  /// Bytes of the body.
  std::uint64_t body_limit(const HttpHeader& header) const;

  /// Each returns whether the connection goes on.
  asio::awaitable<bool> answer(const HttpRequest& request);
  asio::awaitable<bool> generate(UntokenizedRequest request, Framing framing);
  asio::awaitable<bool> tokenize_and_run(UntokenizedRequest& untokenized, const Framing& framing);
  /// What the request would run.
  asio::awaitable<bool> render(UntokenizedRequest& untokenized, const Framing& framing);
  asio::awaitable<bool> answer_whole(RequestRun& run, Framing framing);
  asio::awaitable<bool> answer_stream(RequestRun& run, Framing framing);
  asio::awaitable<bool> answer_lines(Parser& parser);
  asio::awaitable<bool> answer_batch(Batch& batch, Lines& lines);
  asio::awaitable<bool> answer_messages(const HttpRequest& request, const Framing& framing);
  asio::awaitable<bool> send(const Reply& reply, Framing framing);

  /// More of the body of a batch.
  asio::awaitable<BodyPart> read_part(Lines& lines);
  /// Who asks by the messages of a WebSocket.
  MessageStream::Caller caller() const;
  /// The same, once its key has come; nothing: that is not known.
  std::optional<MessageStream::Caller> admit_key(std::string_view key);

  /// False if the client has gone; `text`, of the answer to a batch, may be empty.
  asio::awaitable<bool> write_lines(Lines& lines, std::string text);
  /// False: `gone` has ended before `work` has.
  asio::awaitable<bool> unless_gone(asio::awaitable<void> work, asio::awaitable<void> gone);

  /// Returns when the client has gone. What it sends meanwhile is kept for the next request.
  asio::awaitable<void> watch_for_disconnect(Framing framing);
  /// Sends what makes a client that has gone say so, if that is possible now.
  void probe(const Framing& framing);
  /// False if the client has gone or does not take it in time; the stream is then closed.
  asio::awaitable<bool> write(const std::string& bytes);
  asio::awaitable<void> linger();
  /// An answer begins to be written.
  void note_answer(unsigned status, const Framing& framing);
  /// Tells of the request that was answered or cut off.
  void report();

  Framing frame(const HttpHeader& header, bool keep_alive) const;
  Client client_of(const Asker& asker) const;
  /// Says in the header of the answer how its client stands with its limits.
  void tell_limits(Framing& framing) const;
  bool keeps_alive(const Framing& framing) const {
    return framing.keep_alive && !is_visitor_ && state_->phase == Phase::serving;
  }

  ClientStream stream_;
  const bool is_visitor_;
  const Arrival arrival_;
  const std::string host_;               // from which it comes (peer.h)
  Asker asker_;                          // of the request that arrives or is under way
  Client client_;                        // likewise, as the limits and the engine know it
  Asked asked_;                          // likewise
  std::optional<RequestRecord> record_;  // likewise
  TimePoint begun_;                      // its header was there
  std::shared_ptr<ServerState> state_;
  std::weak_ptr<MessageStream> messages_;  // of a WebSocket
  boost::beast::flat_buffer buffer_;
  bool silent_ = false;        // nothing of a request has arrived
  bool answer_begun_ = false;  // something of the answer has been written
};

}  // namespace forge::serve
