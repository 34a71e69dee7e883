#include "batch.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

#include "random_id.h"
#include "request_intake.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

namespace {

/// Bodies of usual requests that the lines under way may be as long as.
constexpr std::uint64_t kBodiesAtOnce = 4;

ApiError late(std::chrono::milliseconds limit) {
  return request_error(408,
                       "nothing was under way, and no whole line arrived within " +
                           std::to_string(limit.count()) + " ms",
                       "request_timeout");
}

BatchFault shut_down(std::string custom_id) {
  const engine::LoopError error = engine::ShuttingDown{};
  return {std::move(custom_id), server_error(503, to_string(error), "shutting_down")};
}

}  // namespace

Batch::Batch(std::shared_ptr<ServerState> state, Client client, RequestRecord record, Wire wire)
    : state_(std::move(state)),
      client_(client),
      record_(std::move(record)),
      wire_(std::move(wire)),
      io_(state_->acceptor.get_executor()),
      splitter_(state_->options.body_limit_bytes),
      idle_since_(std::chrono::steady_clock::now()),
      changed_(io_, asio::steady_timer::time_point::max()) {}

asio::awaitable<Batch::Reading> Batch::read_lines() {
  bool goes_on = true;
  while (goes_on) {
    auto line = splitter_.next();
    if (line) {
      goes_on = co_await take(*std::move(line));
      idle_since_ = std::chrono::steady_clock::now();
      continue;
    }
    if (splitter_.is_finished()) break;
    BodyPart part = co_await read_part();
    switch (part.kind) {
      case BodyPart::Kind::bytes:
        splitter_.put(part.bytes);
        break;
      case BodyPart::Kind::end:
        splitter_.finish();
        break;
      case BodyPart::Kind::gone:
        if (failure_) std::rethrow_exception(failure_);
        co_return Reading::gone;
      case BodyPart::Kind::refused: {
        BatchFault fault{std::nullopt, std::move(part.refusal)};
        co_await refuse(std::move(fault), splitter_.number() + 1);
        goes_on = false;
        break;
      }
    }
  }
  if (goes_on && count_ == 0) {
    refusal_ = request_error(400, "the body has no lines; accepted is a JSON object a line");
  }
  co_return goes_on ? Reading::ended : Reading::stopped;
}

/// Reading is given up for good when patience is over: what has come by then is lost.
asio::awaitable<BodyPart> Batch::read_part() {
  auto first = co_await (wire_.read() || lose_patience());
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  BodyPart part{.kind = BodyPart::Kind::refused, .refusal = late(state_->options.read_timeout)};
  co_return part;
}

asio::awaitable<void> Batch::lose_patience() {
  const auto limit = state_->options.read_timeout;
  asio::steady_timer timer(io_);
  while (!lines_.empty() || std::chrono::steady_clock::now() < idle_since_ + limit) {
    timer.expires_at(lines_.empty() ? idle_since_ + limit
                                    : std::chrono::steady_clock::now() + limit);
    co_await timer.async_wait(kAsTuple);
  }
}

std::optional<BatchFault> Batch::fault_of(const LineSplitter::Line& line) const {
  if (count_ > state_->options.batch_lines) {
    return BatchFault{
        std::nullopt,
        request_error(413,
                      "a batch has at most " + std::to_string(state_->options.batch_lines) +
                          " lines; this one and those behind it are not read",
                      "too_many_lines")};
  }
  if (!line.is_too_long) return std::nullopt;
  return BatchFault{
      std::nullopt,
      request_error(413,
                    "the line is longer than " + std::to_string(state_->options.body_limit_bytes) +
                        " bytes, the limit of a request",
                    "line_too_long")};
}

asio::awaitable<bool> Batch::take(LineSplitter::Line line) {
  ++count_;
  if (auto fault = fault_of(line)) {
    const bool has_begun = co_await refuse(*std::move(fault), line.number);
    const bool goes_on = has_begun && count_ <= state_->options.batch_lines;
    co_return goes_on;
  }
  auto parsed = parse_batch_line(line.text);
  if (!parsed) co_return co_await refuse(std::move(parsed.error()), line.number);
  if (!custom_ids_.insert(parsed->custom_id).second) {
    ApiError error =
        bad_field("custom_id", "an earlier line has this custom_id", "repeated_custom_id");
    BatchFault fault{std::move(parsed->custom_id), std::move(error)};
    co_return co_await refuse(std::move(fault), line.number);
  }
  if (!std::exchange(has_begun_, true)) co_await tell("");
  co_await wait_for_room(parsed->body.size());
  if (failure_) std::rethrow_exception(failure_);
  if (is_gone_) co_return false;
  co_await begin(*std::move(parsed), line.number);
  co_return true;
}

asio::awaitable<bool> Batch::refuse(BatchFault fault, std::size_t number) {
  if (!has_begun_) {
    refusal_ = std::move(fault.error);
    co_return false;
  }
  std::string line = fault_line(fault, number);
  co_await tell(std::move(line));
  co_return true;
}

bool Batch::has_room(std::size_t bytes) const {
  if (lines_.empty()) return true;
  const std::uint64_t bytes_max = kBodiesAtOnce * state_->options.body_limit_bytes;
  if (lines_.size() >= kLinesAtOnce || bytes_ + bytes > bytes_max) return false;
  const engine::EngineLoop& loop = state_->model().loop;
  if (without_tokens_ == 0) return true;
  const engine::EngineStatus status = loop.status();  // may not have the last ones yet
  const auto ours = static_cast<std::size_t>(std::ranges::count_if(
      lines_, [](const auto& line) { return !line->is_submitted || line->run != nullptr; }));
  return std::max<std::size_t>(status.waiting + status.running + not_submitted_, ours) <
         loop.config().batch.max_batch_size;
}

asio::awaitable<void> Batch::wait_for_room(std::size_t bytes) {
  while (!has_room(bytes) && !failure_ && !is_gone_) co_await changed_.async_wait(kAsTuple);
}

asio::awaitable<void> Batch::begin(BatchLine parsed, std::size_t number) {
  const auto line = std::make_shared<Line>(io_);
  line->custom_id = std::move(parsed.custom_id);
  line->number = number;
  line->bytes = parsed.body.size();
  line->record = record_;
  line->record.request_id = random_id();
  line->begun = std::chrono::steady_clock::now();
  if (state_->phase != Phase::serving) {
    std::string fault = fault_line(shut_down(line->custom_id), number);
    co_await tell(std::move(fault));
    co_return;
  }
  const RouteCall call{.body = parsed.body, .id = "", .client = client_, .state = *state_};
  auto request = take_in(parsed.kind, call, {.priority = Priority::low});
  if (request && request->stream) {
    request = tl::unexpected(reply_of(bad_field("stream",
                                                "stream is true; accepted in a batch is "
                                                "only false")));
  }
  if (!request) {
    co_await reply(*line, request.error());
    co_return;
  }
  const RunOptions options{
      .client = client_, .record = line->record, .begun = line->begun, .patience = &line->patience};
  waiting_ = line;
  auto start = co_await RequestStart::admit(*state_, *std::move(request), options);
  waiting_.reset();
  if (!start) {
    co_await refuse(*line, start.error());
    co_return;
  }
  line->start.emplace(*std::move(start));
  spawn(line);
}

void Batch::spawn(const std::shared_ptr<Line>& line) {
  line->turn = turns_++;
  lines_.insert(line);
  bytes_ += line->bytes;
  ++without_tokens_;
  ++not_submitted_;
  asio::co_spawn(
      io_, answer(line),
      asio::bind_cancellation_slot(line->cancelled.slot(), [self = shared_from_this(),
                                                            line](const std::exception_ptr& error) {
        self->ended(line, error);
      }));
}

asio::awaitable<RequestRun::Started> Batch::start(Line& line) {
  const auto tokenized = co_await line.start->tokenize(TokenizerWorker::From::batch);
  while (line.turn != turn_) co_await changed_.async_wait(kAsTuple);
  RequestRun::Started started;
  if (tokenized) {
    started = co_await line.start->submit();
  } else {
    started = tl::unexpected(tokenized.error());
  }
  line.start.reset();
  was_submitted(line);
  co_return started;
}

asio::awaitable<Reply> Batch::run(Line& line) {
  while (!line.run->ended()) {
    const RequestRun::Step step = co_await line.run->next(false);
    if (step.failed) co_return reply_of(*step.failed);
    got_tokens(line);
  }
  co_return Reply{.body = line.run->answer()};
}

asio::awaitable<void> Batch::answer(std::shared_ptr<Line> line) {
  auto started = co_await start(*line);
  if (!started) {
    co_await refuse(*line, started.error());
    co_return;
  }
  line->run = *std::move(started);
  const Reply whole = co_await run(*line);
  line->run.reset();  // before the client takes the answer: others may have its place
  got_tokens(*line);
  co_await reply(*line, whole);
}

asio::awaitable<void> Batch::refuse(Line& line, const Reply& refusal) {
  if (state_->phase == Phase::serving) {
    co_await reply(line, refusal);
    co_return;
  }
  line.record.status = 503;
  std::string fault = fault_line(shut_down(line.custom_id), line.number);
  co_await tell(std::move(fault));
}

void Batch::was_submitted(Line& line) {
  if (std::exchange(line.is_submitted, true)) return;
  --not_submitted_;
  ++turn_;
  wake();
}

void Batch::got_tokens(Line& line) {
  if (std::exchange(line.has_tokens, true)) return;
  --without_tokens_;
  wake();
}

asio::awaitable<void> Batch::reply(Line& line, const Reply& reply) {
  line.record.status = reply.status;
  line.record.time = std::chrono::steady_clock::now() - line.begun;
  if (state_->options.on_request) state_->options.on_request(line.record);
  std::string text = response_line(line.custom_id, line.record.request_id, reply);
  co_await tell(std::move(text));
}

void Batch::ended(const std::shared_ptr<Line>& line, const std::exception_ptr& error) {
  if (line->record.status == 0 && state_->options.on_request) {
    line->record.time = std::chrono::steady_clock::now() - line->begun;
    state_->options.on_request(line->record);
  }
  line->run.reset();
  was_submitted(*line);
  got_tokens(*line);
  bytes_ -= line->bytes;
  lines_.erase(line);
  idle_since_ = std::chrono::steady_clock::now();
  if (error && !is_gone_) {
    failure_ = error;
    wire_.drop();
  }
  wake();
}

asio::awaitable<void> Batch::tell(std::string line) {
  unsent_ += line;
  const std::uint64_t number = ++told_;
  while (is_writing_ && sent_ < number && !is_gone_) co_await changed_.async_wait(kAsTuple);
  if (is_gone_ || sent_ >= number) co_return;
  is_writing_ = true;
  while (sent_ < told_ && !is_gone_) {
    const std::uint64_t last = told_;
    const bool written = co_await wire_.write(std::exchange(unsent_, ""));
    sent_ = last;
    is_gone_ = !written;
    wake();
  }
  is_writing_ = false;
}

asio::awaitable<void> Batch::finish() {
  while (!lines_.empty() && !failure_) co_await changed_.async_wait(kAsTuple);
  if (failure_) std::rethrow_exception(failure_);
}

void Batch::cancel() {
  is_gone_ = true;
  const auto lines = lines_;  // those that end leave it
  for (const auto& line : lines) line->cancelled.emit(asio::cancellation_type::terminal);
  wake();
}

void Batch::wake() {
  changed_.cancel();
  if (waiting_) waiting_->patience.cancel();
  for (const auto& line : lines_) line->patience.cancel();
}

}  // namespace forge::serve
