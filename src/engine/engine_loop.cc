#include "forge/engine/engine_loop.h"

#include <algorithm>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/must.h"

namespace forge::engine {
namespace {

struct ErrorText {
  std::string operator()(const QueueFull& e) const {
    return "the queue has no room: " + std::to_string(e.waiting) +
           " requests are waiting, accepted are up to " + std::to_string(e.limit);
  }
  std::string operator()(const ShuttingDown&) const { return "the server is shutting down"; }
  std::string operator()(const TargetLost& e) const {
    return "the target is lost and runs nothing any more: " + e.reason;
  }
  std::string operator()(const SubmitError& e) const { return to_string(e); }
};

std::string failed_text(const std::string& reason) {
  return "the target failed while it ran this request: " + reason;
}

/// Of a slice whose logits are not: those of its last token that is no draft.
std::string not_finite_text(const Slice& slice) {
  const std::uint32_t next = slice.first + slice.count - slice.drafts;
  return "the logits are not finite at position " + std::to_string(next) +
         " of prompt and output: the model's arithmetic overflows on this text";
}

/// Of a slice that has no token by the grammar of its request.
std::string no_token_text(const Slice& slice, FinishSignal signal) {
  const std::uint32_t next = slice.first + slice.count - slice.drafts;
  const std::string place = "at position " + std::to_string(next) + " of prompt and output ";
  if (signal == FinishSignal::grammar_limit) {
    return place +
           "it takes more work than the grammar of the output may take to find the tokens "
           "that may follow";
  }
  return place + "no token of the vocabulary leads on to a text of the grammar of the output";
}

tl::unexpected<LoopError> refusal(LoopError error) {
  return tl::unexpected<LoopError>(std::move(error));
}

ToldToken told(const TokenReport& report, const StepResult& result) {
  const auto likely = result.likely_of(report);
  return {report.token, report.logprob, report.margin, {likely.begin(), likely.end()}};
}

}  // namespace

std::string to_string(const LoopError& error) { return std::visit(ErrorText{}, error); }

EngineLoop::EngineLoop(Engine& engine, const text::Tokenizer& tokenizer, const Options& options)
    : engine_(engine),
      tokenizer_(tokenizer),
      options_(options),
      config_(engine.scheduler().config()),
      drafts_(options.acceptance) {
  FORGE_CHECK(options.queue_limit > 0, "a queue needs room for at least one request");
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
                        .sink = std::move(sink)};
  if (options.time_limit) {
    FORGE_CHECK(options.time_limit->count() > 0, "time_limit=", options.time_limit->count());
    submission.deadline = Clock::now() + *options.time_limit;
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

void EngineLoop::drain() {
  std::unique_lock lock(mutex_);
  draining_ = true;
  drained_.wait(lock, [this] { return idle_; });
}

EngineStatus EngineLoop::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void EngineLoop::run() {
  std::vector<Task> tasks;
  bool goes_on = true;
  while (goes_on) {
    goes_on = take_inbox(tasks);
    for (const Task& task : tasks) task();
    tasks.clear();
    if (!goes_on) break;
    expire(Clock::now());
    if (engine_.has_work()) {
      const Engine::Step step = engine_.step([this] { send(); });
      count(step);
      publish_status();
      take(step);
      if (engine_.target_lost()) abandon();
    } else {
      publish_status();
    }
    if (!engine_.has_work()) send();
  }
  while (!streams_.empty()) close(streams_.begin(), FinishReason::cancelled);
  if (!outbox_.empty()) send();
}

/// Hands the trace to the system and the events that wait to their sinks.
void EngineLoop::send() {
  engine_.flush_trace();
  {
    const std::lock_guard lock(mutex_);
    status_.trace = engine_.trace_status();
  }
  for (const Outgoing& each : outbox_) (*each.sink)(each.event);
  outbox_.clear();
}

/// Swaps the inbox for an empty one; waits for it while there is nothing else to do. False
/// when the loop is to stop.
bool EngineLoop::take_inbox(std::vector<Task>& tasks) {
  std::unique_lock lock(mutex_);
  const bool has_work = engine_.has_work();
  if (!has_work && inbox_.empty()) {
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
  if (engine_.target_lost()) {  // since submit()
    submission.sink(
        {.finish = FinishReason::error, .error = to_string(TargetLost{engine_.last_error()})});
    return publish_status();
  }
  const auto prompt_tokens = static_cast<std::uint32_t>(submission.request.prompt.size());
  const SeqId seq = must(engine_.submit(submission.request));  // validated by submit()
  seq_of_[submission.ticket] = seq;
  if (submission.deadline) deadlines_.emplace(*submission.deadline, submission.ticket);
  streams_.emplace(seq, Stream{.ticket = submission.ticket,
                               .text = text::TextStream(tokenizer_, submission.stop_strings,
                                                        std::move(submission.spelt)),
                               .sink = std::make_shared<TokenSink>(std::move(submission.sink)),
                               .deadline = submission.deadline,
                               .prompt_tokens = prompt_tokens});
}

void EngineLoop::cancel_on_loop(TicketId ticket, FinishReason reason) {
  const auto found = seq_of_.find(ticket);
  if (found == seq_of_.end()) return;  // ended before its caller gave up
  const SeqId seq = found->second;
  must(engine_.cancel(seq, reason));
  close(streams_.find(seq), reason);
}

/// Ends the requests whose time is over.
void EngineLoop::expire(Clock::time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
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
    const auto found = streams_.find(admission.seq);
    if (found != streams_.end()) found->second.cached_tokens = admission.cached_tokens;
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
    if (slice.signal == FinishSignal::error) {
      close(found, FinishReason::error, failed_text(engine_.last_error()));
    } else if (slice.signal == FinishSignal::not_finite) {
      close(found, FinishReason::error, not_finite_text(step.plan.slices[i]));
    } else if (has_failed(slice.signal)) {
      close(found, FinishReason::error, no_token_text(step.plan.slices[i], slice.signal));
    } else if (take_tokens(found->second, step.result, slice, own)) {
      forget(found);
    }
  }
}

/// Makes one event a token, with what was asked of it; true when the last one has ended the
/// request.
bool EngineLoop::take_tokens(Stream& stream, const StepResult& result, const SliceResult& slice,
                             std::span<const TokenReport> reports) {
  for (; !reports.empty() && reports.front().position < stream.prompt_tokens;
       reports = reports.subspan(1)) {
    stream.told_of_prompt.push_back(told(reports.front(), result));
  }
  const FinishReason end = must(engine_.scheduler().view(slice.seq)).finish;
  const auto tokens = result.tokens_of(slice);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    TokenEvent event{.text = stream.text.push(tokens[i]),
                     .completion_tokens = ++stream.completion_tokens,
                     .cached_tokens = stream.cached_tokens,
                     .drafts = stream.drafts,
                     .told_of_prompt = std::exchange(stream.told_of_prompt, {})};
    if (i < reports.size()) event.told = told(reports[i], result);
    if (stream.text.stopped()) {
      if (end == FinishReason::none) must(engine_.cancel(slice.seq, FinishReason::stop));
      event.finish = FinishReason::stop;
    } else if (i + 1 == tokens.size() && end != FinishReason::none) {
      event.text += stream.text.finish();
      event.finish = end;
    }
    const bool ends = event.finish != FinishReason::none;
    outbox_.push_back({stream.sink, std::move(event)});
    if (ends) return true;
  }
  return false;
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
}

/// Ends a request without a token of its own.
void EngineLoop::close(Streams::iterator found, FinishReason reason, std::string error) {
  Stream stream = forget(found);
  outbox_.push_back({std::move(stream.sink),
                     {.text = stream.text.finish(),
                      .completion_tokens = stream.completion_tokens,
                      .cached_tokens = stream.cached_tokens,
                      .drafts = stream.drafts,
                      .finish = reason,
                      .error = std::move(error)}});
}

EngineLoop::Stream EngineLoop::forget(Streams::iterator found) {
  Stream stream = std::move(found->second);
  seq_of_.erase(stream.ticket);
  if (stream.deadline) deadlines_.erase({*stream.deadline, stream.ticket});
  streams_.erase(found);
  return stream;
}

void EngineLoop::count(const Engine::Step& step) {
  bool alarm_changed = false;
  for (std::size_t i = 0; i < step.result.slices.size(); ++i) {
    alarm_changed |= drafts_.add(step.plan.slices[i].drafts, step.result.slices[i].token_count);
  }
  if (alarm_changed && options_.on_draft_alarm) options_.on_draft_alarm(drafts_.alarm());
  const std::lock_guard lock(mutex_);
  status_.drafts = drafts_.counts();
  status_.draft_alarm = drafts_.alarm();
  ++status_.steps;
  status_.generated_tokens += step.result.tokens.size();
  status_.preemptions += step.plan.preempted.size();
  for (const Preemption& preemption : step.plan.preempted) {
    status_.swaps += preemption.mode == PreemptionMode::swap ? 1 : 0;
  }
  const auto failed = [](const SliceResult& slice) { return slice.signal == FinishSignal::error; };
  if (step.result.slices.empty()) return;
  status_.stalled_steps =
      std::ranges::all_of(step.result.slices, failed) ? status_.stalled_steps + 1 : 0;
}

void EngineLoop::publish_status() {
  const Scheduler& scheduler = engine_.scheduler();
  const PagedKVCache& cache = scheduler.cache();
  const std::lock_guard lock(mutex_);
  status_.waiting = scheduler.waiting_count() + submissions_pending_;
  status_.running = scheduler.running_count();
  status_.swapped = scheduler.host().sequence_count();
  status_.free_blocks = cache.pool().free_count();
  status_.evictable_blocks = cache.available_count() - cache.pool().free_count();
  status_.free_host_blocks = scheduler.host().pool().free_count();
  status_.prefix_cache = scheduler.prefix_cache_statistics();
  status_.sessions = scheduler.sessions().all().size();
  if (engine_.target_lost()) status_.target_lost = engine_.last_error();
  status_.trace = engine_.trace_status();
}

}  // namespace forge::engine
