// RequestStart: a request on its way to its run, in steps, for whoever has others to tokenize
// meanwhile (batch.h). RequestRun::start() takes them all.
//
//   UntokenizedRequest --admit--> --tokenize--> --submit--> RequestRun
//
// What it took is given back with this object, until submit() hands it on.
//
// Borrows the state, the client and the record. Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <tl/expected.hpp>

#include "asio_types.h"
#include "client_table.h"
#include "reply.h"
#include "request_run.h"
#include "server_state.h"
#include "tokenizer_worker.h"

namespace forge::serve {

class RequestStart {
 public:
  /// Counts it against its client and begins its turn of a session. Errors: the answer to a request
  /// that is refused, of each step.
  static asio::awaitable<tl::expected<RequestStart, Reply>> admit(ServerState& state,
                                                                  UntokenizedRequest untokenized,
                                                                  RunOptions options);
  /// Once.
  asio::awaitable<tl::expected<void, Reply>> tokenize(TokenizerWorker::From from);
  /// Counts its tokens and submits it. Requires: tokenize() has succeeded; once.
  asio::awaitable<RequestRun::Started> submit();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  RequestStart(ServerState& state, UntokenizedRequest untokenized, RunOptions options,
               ClientTable::Permit permit, Turn turn);

  ServerState& state_;
  const RunOptions options_;
  const TimePoint arrival_ = std::chrono::steady_clock::now();
  ClientTable::Permit permit_;
  Turn turn_;
  UntokenizedRequest untokenized_;
  std::optional<CompletionRequest> request_;
};

}  // namespace forge::serve
