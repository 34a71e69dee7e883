// EngineLoop: one thread that owns the engine; requests arrive and tokens leave through queues.
//
//   any thread --submit/cancel--> inbox --+
//                                         v
//                               loop thread: take the inbox, step the engine,
//                                            detokenise, look for stop strings
//                                         |
//   sink of the request <--TokenEvent-----+
//
// All requests share the engine's batch. The thread sleeps while there is no work.
// Text lives here and not in the engine because a stop string ends a sequence: when one is
// met, the loop cancels the sequence with FinishReason::stop before the next plan is made, so
// the end, too, is an event of the log.
//
// Borrows the engine. Thread contract: every public function may be called from any thread;
// sinks are called on the loop thread and must not block.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/request.h"
#include "forge/engine/engine.h"
#include "forge/text/text_stream.h"

namespace forge {

/// One generated token as its caller sees it. `text` may be empty (half of a character, or
/// text held back because it could begin a stop string) or hold more than this token's.
struct TokenEvent {
  std::string text;
  /// Tokens generated so far, this one included. An event that ends a request without a
  /// token of its own (cancelled, error) repeats the last number.
  std::uint32_t completion_tokens = 0;
  /// Set on the last event of a request, and only there.
  FinishReason finish = FinishReason::none;
  /// With FinishReason::error, what the target said.
  std::string error;
};
using TokenSink = std::function<void(const TokenEvent&)>;

/// Names a submission, before and after the scheduler has given it a sequence.
using TicketId = Id<struct TicketTag, std::uint64_t>;

struct QueueFull {
  std::size_t limit = 0;
};
struct ShuttingDown {};
using LoopError = std::variant<QueueFull, ShuttingDown, SubmitError>;
std::string to_string(const LoopError& error);

struct EngineStatus {
  std::size_t waiting = 0;  ///< submitted and not in the batch
  std::size_t running = 0;
  std::uint64_t steps = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint32_t free_blocks = 0;
  std::uint32_t total_blocks = 0;
  /// Steps in a row that ran slices and yielded no token (a target that keeps failing).
  std::uint64_t stalled_steps = 0;
};

class EngineLoop {
 public:
  struct Options {
    std::size_t queue_limit = 256;  ///< requests waiting for a place in the batch
  };

  EngineLoop(Engine& engine, const Options& options);
  /// Cancels what is left and joins the thread; no sink is called afterwards.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// Queues a request; `sink` receives one event a token, the last one with a finish reason.
  /// Generation ends before the first of `stop_strings` (each non-empty) in the text.
  /// Errors: QueueFull, ShuttingDown, or the request is refused. No event after an error.
  tl::expected<TicketId, LoopError> submit(Request request, std::vector<std::string> stop_strings,
                                           TokenSink sink);

  /// Ends a request, wherever it is; its blocks are free within a step. The sink receives
  /// FinishReason::cancelled unless the request has ended already.
  void cancel(TicketId ticket);

  /// Refuses new requests from now on and returns when the last one has ended.
  void drain();

  EngineStatus status() const;

 private:
  struct Submission {
    TicketId ticket;
    Request request;
    std::vector<std::string> stop_strings;
    TokenSink sink;
  };
  struct Inbox {
    std::vector<Submission> submissions;
    std::vector<TicketId> cancellations;

    bool empty() const { return submissions.empty() && cancellations.empty(); }
  };
  /// One request on the loop thread.
  struct Stream {
    TicketId ticket;
    TextStream text;
    TokenSink sink;
    std::uint32_t completion_tokens = 0;
  };

  void run();
  bool take_inbox(Inbox& inbox);
  void begin(Submission& submission);
  void cancel_on_loop(TicketId ticket);
  void deliver(const Engine::Step& step);
  bool deliver_tokens(Stream& stream, const StepResult& result, const SliceResult& slice);
  void close(SeqId seq, FinishReason reason);
  void publish_status(const Engine::Step& step);

  Engine& engine_;
  const Options options_;
  const SchedulerConfig config_;

  // Shared with the callers, guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable inbox_filled_;
  std::condition_variable drained_;
  Inbox inbox_;
  EngineStatus status_;
  std::uint64_t next_ticket_ = 1;
  bool draining_ = false;
  bool stopping_ = false;
  bool idle_ = true;

  // Of the loop thread alone.
  std::map<SeqId, Stream> streams_;
  std::map<TicketId, SeqId> seq_of_;

  std::thread thread_;  // last: it starts when all the rest is there
};

}  // namespace forge
