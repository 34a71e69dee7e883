// RequestRun: one request of a client while the model works on it, whoever is told of it and how: a
// whole answer, a stream of Server-Sent Events, a line of a batch, messages of a WebSocket.
//
//   body --parse_request--> UntokenizedRequest --start--> RequestRun --next ... next--> ended
//                                                |                     |                  |
//                                                +-> Reply: refused    chunks             answer
//
// start() counts it against its client, begins its turn of a session, has it tokenized and submits
// it (request_start.h). What it took is given back with this object, and what still runs then is
// cancelled; a coroutine that holds one and ends for whatever reason leaves nothing behind. So it
// is not kept longer than the answer is under way.
//
// Borrows the state, the client and the record. Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "answer_progress.h"
#include "asio_types.h"
#include "chat_sessions.h"
#include "forge/serve/request_record.h"
#include "generation.h"
#include "reply.h"
#include "server_state.h"

namespace forge::serve {

using Turn = std::optional<ChatSessions::Turn>;  ///< if a request is a turn of a session

AnswerHead new_head(const ModelCard& model, RequestKind kind, const Turn& turn);

/// Who asks, and what is told of it.
struct RunOptions {
  const Client& client;
  RequestRecord& record;                        ///< gets `tokens` once it runs
  std::chrono::steady_clock::time_point begun;  ///< the request was there
  /// Where it is refused for what may pass (a limit of its client, a full queue), it waits, and
  /// asks again each time that this timer is cancelled, or soon; null: it is refused.
  asio::steady_timer* patience = nullptr;
};

class RequestRun {
 public:
  using Started = tl::expected<std::unique_ptr<RequestRun>, Reply>;

  /// Errors: the answer to a request that is refused.
  static asio::awaitable<Started> start(ServerState& state, UntokenizedRequest untokenized,
                                        RunOptions options);
  ~RequestRun();
  RequestRun(const RequestRun&) = delete;
  RequestRun& operator=(const RequestRun&) = delete;

  const CompletionRequest& request() const { return request_; }

  /// What tokens add to a stream: JSON, one chunk an event.
  struct Step {
    std::vector<std::string> chunks;
    std::optional<ApiError> failed;  ///< it ends with this; nothing comes after it
  };
  /// Waits for tokens. Has chunks if they are wanted. Requires: !ended().
  asio::awaitable<Step> next(bool wants_chunks);
  bool ended() const { return generation_->ended(); }

  // Once it has ended and nothing has failed, one of these, once. Keeps its turn.
  std::string answer();                    ///< whole
  std::vector<std::string> last_chunks();  ///< what ends a stream, but for its mark

  /// Generation::on_backlog.
  void on_backlog(std::size_t limit, std::function<void()> overflowed) {
    generation_->on_backlog(limit, std::move(overflowed));
  }

 private:
  friend class RequestStart;
  RequestRun(ServerState& state, CompletionRequest request, Turn turn);

  /// Submits it. Errors: those of Generation::start().
  tl::expected<void, engine::LoopError> begin(const asio::any_io_executor& io,
                                              const Generation::TimeLimit& time_limit,
                                              ClientTable::Permit permit, TokenLog log);
  void add_chunks(const Generation::Event& event, const ChoiceWriter::Addition& addition,
                  std::vector<std::string>& chunks) const;
  void keep_its_turn();

  ServerState& state_;
  const CompletionRequest request_;
  Turn turn_;
  AnswerHead head_;
  ChunkWriter chunk_writer_;
  // Once it has begun.
  std::unique_ptr<Generation> generation_;
  std::optional<AnswerProgress> progress_;
};

}  // namespace forge::serve
