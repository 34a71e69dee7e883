// Batch: the requests of one POST /forge/v1/batch, line by line, as they are read.
//
//   body --> LineSplitter --> parse --> room? --> admit --> tokenize --> submit --> the model
//    ^           one line at a time, in their order        several    in their        |
//    |                                                     at once    order           v
//    +-- read only while there is room for one more line <------------------- a line of the answer
//                                                               in the order in which they end
//
// A line begins when there is room for it:
//   1. at most kLinesAtOnce are under way, from their beginning until their answer is written, and
//      no more text than four bodies of a usual request may have;
//   2. none of them waits for its first token, unless the batch of the model has a place for one
//      more, with those that are being tokenized: so lines fill what nobody uses, and where others
//      wait a batch has one place in the queue, for its turn;
//   3. its client may have one more, and has the tokens for it; the queue takes it. It waits for
//      as long as that takes, and all behind it do.
// Its priority is low unless it says otherwise. What is not read stays with the client: neither
// many lines nor long answers are kept here.
//
// The answer begins with the first line, if that is a request; otherwise nothing has happened and
// the error is that of the whole. A later line that is no request, or repeats a custom_id, is one
// error, and the rest goes on. Lines that have not begun when a shutdown does are errors, too.
//
// A client has to read while it sends, or send no more than the sockets between hold of what it is
// answered: who does not take an answer within write_timeout is dropped, and so is who has nothing
// under way and does not send a whole line within read_timeout.
//
// Source: the lines are those of OpenAI's batch API (batch_line.h).
// Borrows nothing that does not live as long as the state. Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "asio_types.h"
#include "batch_line.h"
#include "forge/serve/request_record.h"
#include "line_splitter.h"
#include "request_run.h"
#include "request_start.h"
#include "server_state.h"

namespace forge::serve {

/// What comes of a body that is read in parts.
struct BodyPart {
  enum class Kind { bytes, end, gone, refused };
  Kind kind = Kind::gone;
  std::string bytes = {};
  ApiError refusal = {};
};

class Batch : public std::enable_shared_from_this<Batch> {
 public:
  static constexpr std::size_t kLinesAtOnce = 64;

  /// The connection that it came by, which these keep alive.
  struct Wire {
    std::function<asio::awaitable<BodyPart>()> read;
    /// Lines of the answer, with its header before the first; none for that alone. False: the
    /// client has gone.
    std::function<asio::awaitable<bool>(std::string lines)> write;
    std::function<void()> drop;
  };

  /// `record`: what the records of all lines have in common.
  Batch(std::shared_ptr<ServerState> state, Client client, RequestRecord record, Wire wire);

  /// Where it stands when no more is read.
  enum class Reading { ended, stopped, gone };
  /// Reads and begins lines. Returns when that is done.
  asio::awaitable<Reading> read_lines();
  /// Returns when no line is under way.
  asio::awaitable<void> finish();
  /// Ends what is under way.
  void cancel();

  /// The answer to the whole, of which nothing has begun.
  const std::optional<ApiError>& refusal() const { return refusal_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// A line under way.
  struct Line {
    explicit Line(const asio::any_io_executor& io) : patience(io) {}

    std::string custom_id;
    std::size_t number = 0;  // as a text has lines
    std::uint64_t turn = 0;  // to be submitted
    std::size_t bytes = 0;
    RequestRecord record;
    TimePoint begun;
    std::optional<RequestStart> start;
    std::unique_ptr<RequestRun> run;
    bool is_submitted = false;
    bool has_tokens = false;
    asio::steady_timer patience;  // RunOptions::patience
    asio::cancellation_signal cancelled;
  };

  asio::awaitable<BodyPart> read_part();
  /// Returns when nothing is under way and no whole line has come for read_timeout.
  asio::awaitable<void> lose_patience();

  // Each returns whether reading goes on.
  asio::awaitable<bool> take(LineSplitter::Line line);
  asio::awaitable<bool> refuse(BatchFault fault, std::size_t number);

  /// What the lines before this one have to say of it.
  std::optional<BatchFault> fault_of(const LineSplitter::Line& line) const;
  bool has_room(std::size_t bytes) const;
  asio::awaitable<void> wait_for_room(std::size_t bytes);
  asio::awaitable<void> begin(BatchLine parsed, std::size_t number);
  /// Begins to answer it, beside the others. Requires: it has been admitted.
  void spawn(const std::shared_ptr<Line>& line);
  asio::awaitable<void> answer(std::shared_ptr<Line> line);
  /// Tokens, then its turn to be submitted.
  asio::awaitable<RequestRun::Started> start(Line& line);
  asio::awaitable<Reply> run(Line& line);
  /// `refusal`, or that a shutdown has come first.
  asio::awaitable<void> refuse(Line& line, const Reply& refusal);
  asio::awaitable<void> reply(Line& line, const Reply& reply);
  void ended(const std::shared_ptr<Line>& line, const std::exception_ptr& error);
  /// Returns when it is written, or the client has gone.
  asio::awaitable<void> tell(std::string line);
  void got_tokens(Line& line);
  void was_submitted(Line& line);
  void wake();

  const std::shared_ptr<ServerState> state_;
  const Client client_;
  const RequestRecord record_;
  const Wire wire_;
  const asio::any_io_executor io_;

  LineSplitter splitter_;
  std::size_t count_ = 0;  // of lines that have anything in them
  std::set<std::string> custom_ids_;
  bool has_begun_ = false;  // the answer has
  std::optional<ApiError> refusal_;

  std::shared_ptr<Line> waiting_;  // to be admitted
  std::set<std::shared_ptr<Line>> lines_;
  std::size_t bytes_ = 0;           // of the texts of those
  std::size_t without_tokens_ = 0;  // of those
  std::size_t not_submitted_ = 0;   // likewise
  std::uint64_t turns_ = 0;         // to be submitted, of all lines
  std::uint64_t turn_ = 0;          // whose it is
  TimePoint idle_since_;            // nothing is under way since, and no line has come
  std::exception_ptr failure_;      // of a line
  asio::steady_timer changed_;      // never expires; cancelled when any of this changes

  std::string unsent_;
  std::uint64_t told_ = 0;
  std::uint64_t sent_ = 0;  // of those told
  bool is_writing_ = false;
  bool is_gone_ = false;
};

}  // namespace forge::serve
