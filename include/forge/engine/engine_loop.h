// EngineLoop: one thread that owns the engine; requests arrive and tokens leave through queues.
//
//   any thread --submit, cancel, ...--> inbox --+
//                                               v
//                               loop thread: take the inbox, end what is out of time,
//                                            step the engine, detokenize, look for stop strings
//                                               |
//                                            outbox
//                                               |
//   sink of the request <-------TokenEvent------+
//
// All requests share the engine's batch. Calls take effect in their order, between two steps. The
// thread sleeps while there is no work.
//
// What ends a request is looked for before the next plan is made. The events of a step are then
// sent while the target already works on the next step (Engine::step), or at once if there is none:
// sinks take the time of the device, not that of the next token.
//
// Text lives here and not in the engine because a stop string ends a sequence: when one is
// met, the loop cancels the sequence with FinishReason::stop before the next plan is made, so
// the end, too, is an event of the log. Time lives here for the same reason: the core counts steps,
// and a limit in seconds becomes a cancellation with FinishReason::deadline. The loop checks it
// before every step, so a request ends at most one step late, because there are steps while there
// is any request.
//
// If the run is recorded, the trace is handed to the system as the run happens: each step just
// before its tokens are sent, everything else before the thread sleeps. So a crash leaves a trace
// that goes at least as far as the tokens that any client has seen, and a disk that is full shows
// in status() at once.
//
// A target that is lost (executor.h), and not opened again, ends every request with an error; later
// ones are refused, and all KV is given up. The loop goes on, so that it can say so and be drained.
//
// Borrows the engine and the tokenizer. Thread contract: every public function may be called from
// any thread; sinks are called on the loop thread and must not block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/heartbeat.h"
#include "forge/core/request.h"
#include "forge/engine/draft_watch.h"
#include "forge/engine/engine.h"
#include "forge/engine/metrics.h"
#include "forge/text/text_stream.h"
#include "forge/text/tokenizer.h"

namespace forge::engine {

/// What a request asked to be told of a token (TokenReport in core/step_plan.h).
struct ToldToken {
  TokenId token;
  float logprob = 0.0F;
  float margin = 0.0F;
  std::vector<TokenLogprob> likely;  ///< the best first
};

/// One generated token as its caller sees it. `text` may be empty (half of a character, or
/// text held back because it could begin a stop string) or hold more than this token's.
struct TokenEvent {
  std::string text;
  /// Tokens generated so far, this one included. An event that ends a request without a
  /// token of its own (cancelled, deadline, error) repeats the last number.
  std::uint32_t completion_tokens = 0;
  /// Leading tokens of the prompt that were not run when the request was first admitted, because
  /// their KV was there.
  std::uint32_t cached_tokens = 0;
  DraftCounts drafts;  ///< of the request so far
  /// From submit() until it was first admitted.
  std::optional<std::chrono::steady_clock::duration> queued;
  /// Of this token, if the request asked and the event has one.
  std::optional<ToldToken> told;
  /// Of the tokens of the prompt, on the first event after they are known.
  std::vector<ToldToken> told_of_prompt;
  /// Set on the last event of a request, and only there.
  FinishReason finish = FinishReason::none;
  /// With FinishReason::error, a sentence that says what the target reported, or at which position
  /// the logits are not finite or the grammar of the output has no token.
  std::string error;
};
using TokenSink = std::function<void(const TokenEvent&)>;

/// What a request asks of the loop, beside its tokens.
struct SubmitOptions {
  /// Generation ends before the first of these strings in the text. No string is empty.
  std::vector<std::string> stop_strings;
  /// Control tokens that the text shows.
  std::vector<text::SpeltToken> spelt;
  /// A positive time, counted from submit(). When it is over, the request ends with
  /// FinishReason::deadline, wherever it is.
  std::optional<std::chrono::milliseconds> time_limit;
  /// When its text arrived, from which the metrics count; that of submit() if it was tokens.
  std::optional<TimePoint> arrival;
  /// SubmitEvent::trace_id (trace_event.h), for the trace.
  std::string trace_id;
  /// Called on the loop thread, as a sink is, when the request has got its first place in the
  /// batch. May be empty.
  std::function<void()> on_admitted;
};

/// Names a submission, before and after the scheduler has given it a sequence.
using TicketId = Id<struct TicketTag, std::uint64_t>;

struct QueueFull {
  std::size_t waiting = 0;
  std::size_t limit = 0;
};
/// Memory is under pressure (SchedulerConfig::memory_pressure), and the loop was told to refuse
/// then.
struct MemoryPressure {
  std::uint32_t available_blocks = 0;
  std::uint32_t total_blocks = 0;
};
struct ShuttingDown {};
struct TargetLost {
  std::string reason;  ///< what the target said
};
using LoopError = std::variant<QueueFull, MemoryPressure, ShuttingDown, TargetLost, SubmitError>;
std::string to_string(const LoopError& error);

struct EngineStatus {
  std::size_t waiting = 0;  ///< submitted and not in the batch
  std::size_t running = 0;
  std::size_t swapped = 0;  ///< waiting sequences whose KV is in host memory
  std::uint64_t steps = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t swaps = 0;  ///< preemptions by swap
  std::uint32_t free_blocks = 0;
  std::uint32_t evictable_blocks = 0;  ///< held by the prefix cache alone, given up when wanted
  std::uint32_t total_blocks = 0;
  std::uint32_t free_host_blocks = 0;
  std::uint32_t total_host_blocks = 0;
  PrefixCacheStatistics prefix_cache;
  DraftCounts drafts;                      ///< of all requests
  std::optional<std::string> draft_alarm;  ///< what is not as expected of the last of them
  std::size_t sessions = 0;
  /// Steps in a row in which the target failed to run any slice.
  std::uint64_t stalled_steps = 0;
  /// The target's message, once no step can succeed any more.
  std::optional<std::string> target_lost;
  /// How often the target was lost and opened again.
  std::uint64_t reopens = 0;
  /// The state of the recording, if the run is recorded.
  std::optional<TraceStatus> trace;
};

class EngineLoop {
 public:
  struct Options {
    std::size_t queue_limit = 256;  ///< requests waiting for a place in the batch
    /// A request that would have to wait for memory is refused: while others run and no block is
    /// available beyond those that admission leaves (blocks_kept_free in core/policy.h).
    bool refuse_under_pressure = false;
    AcceptanceBand acceptance;  ///< of drafts, as it is expected
    /// Of the target, for progress(); null: it tells nothing of itself. Borrowed.
    const Heartbeat* heartbeat = nullptr;
    /// Called on the loop thread with what status() tells, when an alarm begins or ends.
    std::function<void(const std::optional<std::string>& draft_alarm)> on_draft_alarm;
    /// Called on the loop thread, with what the target said, when it is lost.
    std::function<void(const std::string& reason)> on_target_lost;
    /// The same, when it is lost and has been opened again.
    std::function<void(const std::string& reason)> on_target_reopened;
    /// Called on the loop thread after each step that has changed the prefix cache, with what it
    /// changed and with the cache as it is then.
    std::function<void(const CacheDelta& delta, const PrefixIndex& index)> on_cache_change;
  };

  EngineLoop(Engine& engine, const text::Tokenizer& tokenizer, const Options& options);
  /// Cancels what is left and joins the thread; no sink is called afterwards.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// Queues a request; `sink` receives one event a token, the last one with a finish reason.
  /// Errors: QueueFull, MemoryPressure, ShuttingDown, TargetLost, or the request is refused. No
  /// event after an error.
  tl::expected<TicketId, LoopError> submit(Request request, SubmitOptions options, TokenSink sink);

  /// What submit() would answer now to `count` requests like this one at once, so that a caller
  /// need not work on requests that will be refused. It does not ask the target, which may take its
  /// time over a grammar. submit() may still answer otherwise. Errors: those of submit().
  tl::expected<void, LoopError> would_accept(const Request& request, std::size_t count) const;

  /// Ends a request, wherever it is; its blocks are free within a step. The sink receives
  /// FinishReason::cancelled unless the request has ended already.
  void cancel(TicketId ticket);

  /// Gives up the KV that is kept for `session`. `done` is called once, on the loop thread; `known`
  /// says whether there was any, or a request of the session.
  void release_session(SessionId session, std::function<void(bool known)> done);

  /// Forgets all cached prefixes, then calls `done` on the loop thread.
  void clear_prefix_cache(std::function<void()> done);

  /// Refuses new requests from now on and ends the present ones, with the tokens that they have so
  /// far and FinishReason::deadline. Does not wait.
  void end_all();

  /// Refuses new requests from now on and returns when the last one has ended: true; or, false,
  /// when that takes longer than `limit`.
  bool drain(std::optional<std::chrono::milliseconds> limit = std::nullopt);

  EngineStatus status() const;
  /// What had been counted when events were last sent: of every event that a sink has received, and
  /// of every step but the one under way. Waits for no step.
  EngineMetrics metrics() const;
  /// Grows with each step, and within one as the target's heartbeat does. While there is work, one
  /// that stays as it is for long says that the target hangs. Waits for no step.
  std::uint64_t progress() const;
  const SchedulerConfig& config() const { return config_; }
  const Options& options() const { return options_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Task = std::function<void()>;

  struct Submission {
    TicketId ticket;
    Request request;
    std::vector<std::string> stop_strings;
    std::vector<text::SpeltToken> spelt;
    std::string trace_id;
    TimePoint arrival;
    TimePoint submitted;
    std::optional<TimePoint> deadline;
    std::function<void()> on_admitted;
    TokenSink sink;
  };
  /// One request on the loop thread.
  struct Stream {
    TicketId ticket;
    text::TextStream text;
    std::shared_ptr<const TokenSink> sink;
    std::optional<TimePoint> deadline;
    std::function<void()> on_admitted;
    RequestProgress progress;
    DraftCounts drafts;
    std::vector<ToldToken> told_of_prompt;  // that no event has told yet

    void admit(std::uint32_t cached, TimePoint planned) {
      progress.admit(cached, planned);
      if (on_admitted) on_admitted();
    }
  };
  using Streams = std::map<SeqId, Stream>;
  /// An event that is still to be sent.
  struct Outgoing {
    std::shared_ptr<const TokenSink> sink;
    TokenEvent event;
  };

  /// The reason why `count` more requests have no place now; nullopt if they have one. Requires:
  /// the lock.
  std::optional<LoopError> no_place(std::size_t count) const;
  void post(Task task);
  void run();
  bool take_inbox(std::vector<Task>& tasks);
  void begin(Submission& submission);
  void cancel_on_loop(TicketId ticket, FinishReason reason);
  void expire();
  bool wants_step() const;
  void take(const Engine::Step& step);
  void tell_of_cache() const;
  FinishReason take_tokens(Stream& stream, const StepResult& result, const SliceResult& slice,
                           std::span<const TokenReport> reports);
  void abandon();
  void close(Streams::iterator stream, FinishReason reason, std::string error = {});
  Stream forget(Streams::iterator stream, FinishReason reason);
  void send();
  void count(const Engine::Step& step);
  void count_overtakers(const StepPlan& plan);
  void publish_status();

  Engine& engine_;
  const text::Tokenizer& tokenizer_;
  const Options options_;
  const SchedulerConfig config_;

  // Shared with the callers, guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable inbox_filled_;
  std::condition_variable drained_;
  std::vector<Task> inbox_;
  std::size_t submissions_pending_ = 0;  // in the inbox, or taken from it just now
  EngineStatus status_;
  EngineMetrics published_metrics_;
  std::uint64_t next_ticket_ = 1;
  bool draining_ = false;
  bool stopping_ = false;
  bool idle_ = true;
  Heartbeat steps_;  // any thread may read it without the mutex

  // Only the loop thread uses these.
  Streams streams_;
  std::vector<Outgoing> outbox_;
  DraftWatch drafts_;
  EngineMetrics metrics_;
  TimePoint now_;  // read when the inbox was taken, and when a step had ended
  std::map<TicketId, SeqId> seq_of_;
  std::set<std::pair<TimePoint, TicketId>> deadlines_;

  std::thread thread_;  // last: it starts when all the rest is there
};

}  // namespace forge::engine
