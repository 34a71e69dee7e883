#include "forge/engine/engine_loop.h"

#include <algorithm>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/must.h"
#include "forge/core/policy.h"
#include "loop_texts.h"

namespace forge::engine {
namespace {

tl::unexpected<LoopError> refusal(LoopError error) {
  return tl::unexpected<LoopError>(std::move(error));
}

ToldToken told(const TokenReport& report, const StepResult& result) {
  const auto likely = result.likely_of(report);
  return {report.token, report.logprob, report.margin, {likely.begin(), likely.end()}};
}

}  // namespace

EngineLoop::EngineLoop(Engine& engine, const text::Tokenizer& tokenizer, const Options& options)
    : engine_(engine),
      tokenizer_(tokenizer),
      options_(options),
      config_(engine.scheduler().config()),
      drafts_(options.acceptance) {
  FORGE_CHECK(options.queue_limit > 0, "a queue needs room for at least one request");
  metrics_.last_step = Clock::now();
  published_metrics_ = metrics_;
  status_.total_blocks = config_.cache.num_blocks;
  status_.total_host_blocks = config_.cache.num_host_blocks;
  publish_status();
  thread_ = std::thread([this] { run(); });
}

EngineLoop::~EngineLoop() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    stopping_ = true;
  }
  inbox_filled_.notify_one();
  thread_.join();
}

tl::expected<TicketId, LoopError> EngineLoop::submit(Request request, SubmitOptions options,
                                                     TokenSink sink) {
  if (auto taken = engine_.would_take(request); !taken) return refusal(taken.error());
  Submission submission{.request = std::move(request),
                        .stop_strings = std::move(options.stop_strings),
                        .spelt = std::move(options.spelt),
                        .trace_id = std::move(options.trace_id),
                        .submitted = Clock::now(),
                        .on_admitted = std::move(options.on_admitted),
                        .sink = std::move(sink)};
  submission.arrival = options.arrival.value_or(submission.submitted);
  if (options.time_limit) {
    FORGE_CHECK(options.time_limit->count() > 0, "time_limit=", options.time_limit->count());
    submission.deadline = submission.submitted + *options.time_limit;
  }
  const std::lock_guard lock(mutex_);
  if (auto reason = no_place(1)) return refusal(std::move(*reason));
  const TicketId ticket{next_ticket_++};
  submission.ticket = ticket;
  inbox_.emplace_back([this, submission = std::move(submission)]() mutable { begin(submission); });
  ++submissions_pending_;
  ++status_.waiting;
  idle_ = false;
  inbox_filled_.notify_one();
  return ticket;
}

tl::expected<void, LoopError> EngineLoop::would_accept(const Request& request,
                                                       std::size_t count) const {
  if (auto valid = validate(request, config_); !valid) return refusal(valid.error());
  const std::lock_guard lock(mutex_);
  if (auto reason = no_place(count)) return refusal(std::move(*reason));
  return {};
}

std::optional<LoopError> EngineLoop::no_place(std::size_t count) const {
  if (draining_) return ShuttingDown{};
  if (status_.target_lost) return TargetLost{*status_.target_lost};
  if (status_.waiting + count > options_.queue_limit) {
    return QueueFull{.waiting = status_.waiting, .limit = options_.queue_limit};
  }
  const std::uint32_t available = status_.free_blocks + status_.evictable_blocks;
  const bool is_pressed =
      status_.running > 0 && available <= blocks_kept_free(status_.running, config_);
  if (options_.refuse_under_pressure && is_pressed) {
    return MemoryPressure{.available_blocks = available, .total_blocks = status_.total_blocks};
  }
  return std::nullopt;
}

void EngineLoop::cancel(TicketId ticket) {
  post([this, ticket] { cancel_on_loop(ticket, FinishReason::cancelled); });
}

void EngineLoop::release_session(SessionId session, std::function<void(bool known)> done) {
  post([this, session, done = std::move(done)] {
    const bool known = engine_.release_session(session).has_value();
    publish_status();
    done(known);
  });
}

void EngineLoop::clear_prefix_cache(std::function<void()> done) {
  post([this, done = std::move(done)] {
    engine_.clear_prefix_cache();
    publish_status();
    done();
  });
}

void EngineLoop::post(Task task) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(task));
  inbox_filled_.notify_one();
}

void EngineLoop::end_all() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  post([this] {
    while (!seq_of_.empty()) cancel_on_loop(seq_of_.begin()->first, FinishReason::deadline);
    publish_status();
  });
}

bool EngineLoop::drain(std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  const auto ended = [this] { return idle_; };
  if (limit) return drained_.wait_for(lock, *limit, ended);
  drained_.wait(lock, ended);
  return true;
}

EngineStatus EngineLoop::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

EngineMetrics EngineLoop::metrics() const {
  const std::lock_guard lock(mutex_);
  return published_metrics_;
}

std::uint64_t EngineLoop::progress() const {
  return steps_.beats() + (options_.heartbeat != nullptr ? options_.heartbeat->beats() : 0);
}

void EngineLoop::run() {
  std::vector<Task> tasks;
  bool goes_on = true;
  while (goes_on) {
    goes_on = take_inbox(tasks);
    now_ = Clock::now();
    for (const Task& task : tasks) task();
    tasks.clear();
    if (!goes_on) break;
    expire();
    if (wants_step()) {
      const Engine::Step step = engine_.step([this] { send(); });
      steps_.beat();
      now_ = engine_.step_times().ended;
      count(step);
      publish_status();
      tell_of_cache();
      take(step);
      if (engine_.target_lost()) abandon();
    } else {
      publish_status();
    }
    if (!wants_step()) send();
  }
  while (!streams_.empty()) close(streams_.begin(), FinishReason::cancelled);
  if (!outbox_.empty()) send();
}

/// A change of the prefix cache is told by a step, which may have nothing else to do.
bool EngineLoop::wants_step() const {
  return engine_.has_work() || !engine_.scheduler().cache().changes().empty();
}

void EngineLoop::tell_of_cache() const {
  const CacheDelta& delta = engine_.scheduler().cache_delta();
  const PrefixIndex* const index = engine_.scheduler().cache().index();
  if (options_.on_cache_change && !delta.empty()) options_.on_cache_change(delta, *index);
}

/// Hands the trace to the system and the events that wait to their sinks. Who has seen an event
/// finds it counted.
void EngineLoop::send() {
  engine_.flush_trace();
  {
    const std::lock_guard lock(mutex_);
    status_.trace = engine_.trace_status();
    published_metrics_ = metrics_;
  }
  for (const Outgoing& each : outbox_) (*each.sink)(each.event);
  outbox_.clear();
}

/// Swaps the inbox for an empty one; waits for it while there is nothing else to do. False
/// when the loop is to stop.
bool EngineLoop::take_inbox(std::vector<Task>& tasks) {
  std::unique_lock lock(mutex_);
  if (!wants_step() && inbox_.empty()) {
    idle_ = true;
    drained_.notify_all();
    inbox_filled_.wait(lock, [this] { return stopping_ || !inbox_.empty(); });
  }
  std::swap(tasks, inbox_);
  return !stopping_;
}

void EngineLoop::begin(Submission& submission) {
  {
    const std::lock_guard lock(mutex_);
    --submissions_pending_;
  }
  RequestProgress progress{
      .arrival = submission.arrival,
      .submitted = submission.submitted,
      .prompt_tokens = static_cast<std::uint32_t>(submission.request.prompt.size()),
      .max_new_tokens = submission.request.max_new_tokens};
  if (engine_.target_lost()) {  // since submit()
    metrics_.add_end(progress, FinishReason::error, now_);
    submission.sink(
        {.finish = FinishReason::error, .error = to_string(TargetLost{engine_.last_error()})});
    return publish_status();
  }
  // Validated by submit().
  const SeqId seq = must(engine_.submit(submission.request, submission.trace_id));
  seq_of_[submission.ticket] = seq;
  if (submission.deadline) deadlines_.emplace(*submission.deadline, submission.ticket);
  streams_.emplace(seq, Stream{.ticket = submission.ticket,
                               .text = text::TextStream(tokenizer_, submission.stop_strings,
                                                        std::move(submission.spelt)),
                               .sink = std::make_shared<TokenSink>(std::move(submission.sink)),
                               .deadline = submission.deadline,
                               .on_admitted = std::move(submission.on_admitted),
                               .progress = progress});
}

void EngineLoop::cancel_on_loop(TicketId ticket, FinishReason reason) {
  const auto found = seq_of_.find(ticket);
  if (found == seq_of_.end()) return;  // ended before its caller gave up
  const SeqId seq = found->second;
  must(engine_.cancel(seq, reason));
  close(streams_.find(seq), reason);
}

/// Ends the requests whose time is over.
void EngineLoop::expire() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    cancel_on_loop(deadlines_.begin()->second, FinishReason::deadline);
  }
}

/// Makes the events of a step.
void EngineLoop::take(const Engine::Step& step) {
  for (const Finish& finish : step.plan.finished) {
    // Without a token of its own: the deadline in steps.
    if (const auto found = streams_.find(finish.seq); found != streams_.end()) {
      close(found, finish.reason);
    }
  }
  for (const Admission& admission : step.plan.admitted) {
    if (const auto found = streams_.find(admission.seq); found != streams_.end()) {
      found->second.admit(admission.cached_tokens, engine_.step_times().planned);
    }
  }
  if (step.result.kv_lost) {
    if (options_.on_target_reopened) options_.on_target_reopened(engine_.last_error());
    return;
  }
  std::span<const TokenReport> reports = step.result.reports;  // in slice order
  for (std::size_t i = 0; i < step.result.slices.size(); ++i) {
    const SliceResult& slice = step.result.slices[i];
    const auto end = std::ranges::find_if(
        reports, [&](const TokenReport& report) { return report.seq != slice.seq; });
    const auto own = reports.first(static_cast<std::size_t>(end - reports.begin()));
    reports = reports.subspan(own.size());
    const auto found = streams_.find(slice.seq);
    if (found == streams_.end()) continue;
    found->second.drafts.add(step.plan.slices[i].drafts, slice.token_count);
    metrics_.add_slice(found->second.progress, step.plan.slices[i], slice, now_);
    if (slice.signal == FinishSignal::error) {
      close(found, FinishReason::error, failed_text(engine_.last_error()));
    } else if (slice.signal == FinishSignal::not_finite) {
      close(found, FinishReason::error, not_finite_text(step.plan.slices[i]));
    } else if (has_failed(slice.signal)) {
      close(found, FinishReason::error, no_token_text(step.plan.slices[i], slice.signal));
    } else {
      const FinishReason reason = take_tokens(found->second, step.result, slice, own);
      if (reason != FinishReason::none) forget(found, reason);
    }
  }
}

/// Makes one event a token, with what was asked of it. Returns: why the last one has ended the
/// request, if it has.
FinishReason EngineLoop::take_tokens(Stream& stream, const StepResult& result,
                                     const SliceResult& slice,
                                     std::span<const TokenReport> reports) {
  for (; !reports.empty() && reports.front().position < stream.progress.prompt_tokens;
       reports = reports.subspan(1)) {
    stream.told_of_prompt.push_back(told(reports.front(), result));
  }
  const FinishReason end = must(engine_.scheduler().view(slice.seq)).finish;
  const auto tokens = result.tokens_of(slice);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    TokenEvent event{.text = stream.text.push(tokens[i]),
                     .completion_tokens = ++stream.progress.completion_tokens,
                     .cached_tokens = stream.progress.cached_tokens,
                     .drafts = stream.drafts,
                     .queued = stream.progress.queued(),
                     .told_of_prompt = std::exchange(stream.told_of_prompt, {})};
    if (i < reports.size()) event.told = told(reports[i], result);
    if (stream.text.stopped()) {
      if (end == FinishReason::none) must(engine_.cancel(slice.seq, FinishReason::stop));
      event.finish = FinishReason::stop;
    } else if (i + 1 == tokens.size() && end != FinishReason::none) {
      event.text += stream.text.finish();
      event.finish = end;
    }
    const FinishReason finish = event.finish;
    outbox_.push_back({stream.sink, std::move(event)});
    if (finish != FinishReason::none) return finish;
  }
  return FinishReason::none;
}

/// After a step of a lost target: nothing that is left can go on, and no KV is worth keeping.
void EngineLoop::abandon() {
  const std::string reason = to_string(TargetLost{engine_.last_error()});
  while (!streams_.empty()) {
    must(engine_.cancel(streams_.begin()->first, FinishReason::error));
    close(streams_.begin(), FinishReason::error, reason);
  }
  engine_.clear_prefix_cache();
  publish_status();
  if (options_.on_target_lost) options_.on_target_lost(engine_.last_error());
}

/// Ends a request without a token of its own.
void EngineLoop::close(Streams::iterator found, FinishReason reason, std::string error) {
  Stream stream = forget(found, reason);
  outbox_.push_back({std::move(stream.sink),
                     {.text = stream.text.finish(),
                      .completion_tokens = stream.progress.completion_tokens,
                      .cached_tokens = stream.progress.cached_tokens,
                      .drafts = stream.drafts,
                      .queued = stream.progress.queued(),
                      .finish = reason,
                      .error = std::move(error)}});
}

EngineLoop::Stream EngineLoop::forget(Streams::iterator found, FinishReason reason) {
  Stream stream = std::move(found->second);
  metrics_.add_end(stream.progress, reason, now_);
  seq_of_.erase(stream.ticket);
  if (stream.deadline) deadlines_.erase({*stream.deadline, stream.ticket});
  streams_.erase(found);
  return stream;
}

}  // namespace forge::engine
