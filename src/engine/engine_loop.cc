#include "forge/engine/engine_loop.h"

#include <utility>

#include "forge/core/check.h"
#include "forge/core/must.h"

namespace forge {
namespace {

struct ErrorText {
  std::string operator()(const QueueFull& e) const {
    return "the queue is full: " + std::to_string(e.limit) + " requests are waiting";
  }
  std::string operator()(const ShuttingDown&) const { return "the server is shutting down"; }
  std::string operator()(const SubmitError& e) const { return to_string(e); }
};

}  // namespace

std::string to_string(const LoopError& error) { return std::visit(ErrorText{}, error); }

EngineLoop::EngineLoop(Engine& engine, const Options& options)
    : engine_(engine), options_(options), config_(engine.scheduler().config()) {
  FORGE_CHECK(options.queue_limit > 0, "a queue needs room for at least one request");
  status_.total_blocks = config_.num_blocks;
  status_.free_blocks = config_.num_blocks;
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

tl::expected<TicketId, LoopError> EngineLoop::submit(Request request,
                                                     std::vector<std::string> stop_strings,
                                                     TokenSink sink) {
  if (auto valid = validate(request, config_); !valid) {
    return tl::unexpected<LoopError>(valid.error());
  }
  const std::lock_guard lock(mutex_);
  if (draining_) return tl::unexpected<LoopError>(ShuttingDown{});
  if (status_.waiting >= options_.queue_limit) {
    return tl::unexpected<LoopError>(QueueFull{options_.queue_limit});
  }
  const TicketId ticket{next_ticket_++};
  inbox_.submissions.push_back(
      {ticket, std::move(request), std::move(stop_strings), std::move(sink)});
  ++status_.waiting;
  idle_ = false;
  inbox_filled_.notify_one();
  return ticket;
}

void EngineLoop::cancel(TicketId ticket) {
  const std::lock_guard lock(mutex_);
  inbox_.cancellations.push_back(ticket);
  inbox_filled_.notify_one();
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
  Inbox inbox;
  while (take_inbox(inbox)) {
    for (Submission& submission : inbox.submissions) begin(submission);
    for (const TicketId ticket : inbox.cancellations) cancel_on_loop(ticket);
    inbox.submissions.clear();
    inbox.cancellations.clear();
    if (!engine_.has_work()) continue;
    const Engine::Step step = engine_.step();
    publish_status(step);
    deliver(step);
  }
  for (Submission& submission : inbox.submissions) begin(submission);
  while (!streams_.empty()) close(streams_.begin()->first, FinishReason::cancelled);
}

/// Swaps the inbox for an empty one; waits for it while there is nothing else to do. False
/// when the loop is to stop.
bool EngineLoop::take_inbox(Inbox& inbox) {
  std::unique_lock lock(mutex_);
  const bool has_work = engine_.has_work();
  if (!has_work && inbox_.empty()) {
    idle_ = true;
    drained_.notify_all();
    inbox_filled_.wait(lock, [this] { return stopping_ || !inbox_.empty(); });
  }
  std::swap(inbox, inbox_);
  return !stopping_;
}

void EngineLoop::begin(Submission& submission) {
  const SeqId seq = must(engine_.submit(submission.request));  // validated by submit()
  seq_of_[submission.ticket] = seq;
  streams_.emplace(seq, Stream{submission.ticket, TextStream(submission.stop_strings),
                               std::move(submission.sink)});
}

void EngineLoop::cancel_on_loop(TicketId ticket) {
  const auto found = seq_of_.find(ticket);
  if (found == seq_of_.end()) return;  // ended before its caller gave up
  const SeqId seq = found->second;
  must(engine_.cancel(seq));
  close(seq, FinishReason::cancelled);
}

void EngineLoop::deliver(const Engine::Step& step) {
  for (const SliceResult& slice : step.result.slices) {
    const auto found = streams_.find(slice.seq);
    if (found == streams_.end()) continue;
    if (slice.signal == FinishSignal::error) {
      close(slice.seq, FinishReason::error);
    } else if (deliver_tokens(found->second, step.result, slice)) {
      seq_of_.erase(found->second.ticket);
      streams_.erase(found);
    }
  }
}

/// Sends one event a token; true when the last one has ended the request.
bool EngineLoop::deliver_tokens(Stream& stream, const StepResult& result,
                                const SliceResult& slice) {
  const FinishReason end = must(engine_.scheduler().view(slice.seq)).finish;
  const auto tokens = result.tokens_of(slice);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    TokenEvent event{.text = stream.text.push(tokens[i]),
                     .completion_tokens = ++stream.completion_tokens};
    if (stream.text.stopped()) {
      if (end == FinishReason::none) must(engine_.cancel(slice.seq, FinishReason::stop));
      event.finish = FinishReason::stop;
    } else if (i + 1 == tokens.size() && end != FinishReason::none) {
      event.text += stream.text.finish();
      event.finish = end;
    }
    stream.sink(event);
    if (event.finish != FinishReason::none) return true;
  }
  return false;
}

/// Ends a request without a token of its own.
void EngineLoop::close(SeqId seq, FinishReason reason) {
  const auto found = streams_.find(seq);
  Stream stream = std::move(found->second);
  seq_of_.erase(stream.ticket);
  streams_.erase(found);
  stream.sink({.text = stream.text.finish(),
               .completion_tokens = stream.completion_tokens,
               .finish = reason,
               .error = reason == FinishReason::error ? engine_.last_error() : ""});
}

void EngineLoop::publish_status(const Engine::Step& step) {
  const Scheduler& scheduler = engine_.scheduler();
  const std::lock_guard lock(mutex_);
  status_.waiting = scheduler.waiting_count() + inbox_.submissions.size();
  status_.running = scheduler.running_count();
  status_.free_blocks = scheduler.cache().pool().free_count();
  ++status_.steps;
  status_.generated_tokens += step.result.tokens.size();
  status_.preemptions += step.plan.preempted.size();
  if (!step.result.tokens.empty()) {
    status_.stalled_steps = 0;
  } else if (!step.plan.slices.empty()) {
    ++status_.stalled_steps;
  }
}

}  // namespace forge
