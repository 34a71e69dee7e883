// MessageStream: the requests of one WebSocket, GET /forge/v1/stream, many at a time.
//
//   WebSocket --> receive --> parse --> the route's handler --> RequestRun --+
//                    ^                                                       |
//                    |  waits while too much is unsent                       | chunks, ends
//                    |                                                       v
//   WebSocket <-- send <----------------------------------------------- messages
//
// stream_message.h has the messages of both sides. A request is what a POST to its route is: it has
// the same fields, limits of its client, refusals, counts and record; what its chunks say is what
// the events of that POST say. Requests end in the order in which they are done.
//
//   what happens                                              closed with
//   a message is longer than body_limit_bytes                 1009
//   a message is binary                                       1003
//   kRequestsAtOnce are under way, and one more is asked      1013
//   the client does not read: kUnsentBytesMax wait to be      1013
//     sent, so its requests wait, too, and one of them for
//     more tokens than stream_backlog_tokens
//   it takes nothing of what is written in write_timeout      nothing: it is dropped
//   nothing is under way, and no message came in              1013
//     idle_timeout
//   a key is needed, and the first message is not a known     1008; until then a message may have
//     one, or does not come in header_timeout                 kKeyMessageBytesMax bytes
//   the server shuts down, and nothing is under way any       1001
//     more; new requests are 503 meanwhile
//
// A message that is no request is an error, and closes nothing. A close, on either side, ends what
// is under way. A client that has nothing under way is idle for the table of connections, too: it
// gives way to others.
//
// Borrows nothing that does not live as long as the state and the wire. Thread contract: the I/O
// thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "asio_types.h"
#include "forge/serve/request_record.h"
#include "request_run.h"
#include "server_state.h"
#include "stream_message.h"
#include "websocket.h"

namespace forge::serve {

class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  static constexpr std::size_t kRequestsAtOnce = 256;
  static constexpr std::uint64_t kUnsentBytesMax = std::uint64_t{1} << 20;
  static constexpr std::size_t kKeyMessageBytesMax = 1024;

  /// Who asks.
  struct Caller {
    Client client;
    RequestRecord record;  ///< what the records of all requests have in common
  };

  /// The connection that it came by, which these keep alive.
  struct Wire {
    /// Whose key this is; nothing: it is not known.
    std::function<std::optional<Caller>(std::string_view key)> admit;
    /// Something is under way, or nothing is.
    std::function<void(bool busy)> set_busy;
    std::function<void()> drop;
  };

  /// `caller`: nothing where the first message has to say who it is.
  MessageStream(std::shared_ptr<ServerState> state, std::unique_ptr<WebSocket> socket,
                std::optional<Caller> caller, Wire wire);

  /// Returns when it has been closed and nothing of it runs any more.
  asio::awaitable<void> run();

  /// The server begins to shut down.
  void drain() { changed_.cancel(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// A request under way.
  struct Work {
    StreamRequest request;
    RequestRecord record;
    TimePoint begun;
    std::unique_ptr<RequestRun> run;
    bool has_ended = false;     // and its end has been said
    bool is_cancelled = false;  // by its client
    asio::cancellation_signal cancelled;
  };

  struct Closing {
    CloseCode code = CloseCode::going_away;
    std::string reason;
  };

  // Three that run side by side until it is over.
  asio::awaitable<void> receive();
  asio::awaitable<void> send();
  asio::awaitable<void> watch();
  /// Of an exception: it is kept, and the others end.
  asio::awaitable<void> guard(asio::awaitable<void> work);

  /// False: this was the last message.
  bool take(const WebSocket::Message& message);
  void take_key(std::string_view text);
  void take_text(std::string_view text);
  void begin(StreamRequest request);
  void cancel(const std::string& id);
  void refuse(StreamFault fault);

  asio::awaitable<void> answer(std::shared_ptr<Work> work);
  asio::awaitable<void> answer_stream(Work& work);
  asio::awaitable<void> answer_whole(Work& work);
  /// An answer begins.
  void note(Work& work, unsigned status);
  /// The last that is said of it.
  void end(Work& work, unsigned status, std::string message);
  void end(Work& work, const Reply& reply);
  void ended(const std::shared_ptr<Work>& work, const std::exception_ptr& error);
  void forget(const Work& work);

  void say(std::string message);
  bool has_room() const { return unsent_bytes_ <= kUnsentBytesMax; }
  asio::awaitable<void> wait_for_room();

  // How it ends: with a close, or without a word.
  void close(CloseCode code, std::string reason);
  void lose();
  void end_all();
  bool is_over() const { return closing_ || is_gone_; }
  asio::awaitable<void> say_closing();

  const std::shared_ptr<ServerState> state_;
  const std::unique_ptr<WebSocket> socket_;
  const Wire wire_;
  const asio::any_io_executor io_;
  std::optional<Caller> caller_;

  std::map<std::string, std::shared_ptr<Work>> under_way_;  // by id
  TimePoint idle_since_;  // no message has come since, and nothing has been under way

  std::deque<std::string> unsent_;
  std::uint64_t unsent_bytes_ = 0;  // of those, and of the one that is being written

  std::optional<Closing> closing_;
  bool is_gone_ = false;
  std::exception_ptr failure_;

  asio::steady_timer to_send_;  // never expires; cancelled when there is something to send
  asio::steady_timer room_;     // likewise, when there is room for more
  asio::steady_timer changed_;  // cancelled when watch() has to look again
};

}  // namespace forge::serve
