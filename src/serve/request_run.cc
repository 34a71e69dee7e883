#include "request_run.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <ctime>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "chat_turn.h"
#include "random_id.h"
#include "rate_limits.h"

namespace forge::serve {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// Of what the server is short of nobody knows when there will be more: ask again soon.
constexpr Milliseconds kPause{100};

/// Of a request that ended without a finish reason of OpenAI's.
std::optional<ApiError> failure(const engine::TokenEvent& token) {
  if (token.finish == FinishReason::error) {
    return server_error(500, token.error, "execution_failed");
  }
  if (token.finish == FinishReason::cancelled) {
    return server_error(503, to_string(engine::LoopError(engine::ShuttingDown{})), "shutting_down");
  }
  return std::nullopt;
}

std::string id_prefix(RequestKind kind) {
  if (kind == RequestKind::forge_generate) return "gen-";
  return kind == RequestKind::chat ? "chatcmpl-" : "cmpl-";
}

/// What a token adds to a stream: a chunk for each part of it, at least one, which together say
/// what `all` says.
void add_chunks_of(const AnswerHead& head, std::span<const ChoiceWriter::Part> parts,
                   const Chunk& all, std::vector<std::string>& chunks) {
  const std::size_t count = std::max<std::size_t>(parts.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    Chunk chunk = all;
    chunk.first = all.first && i == 0;
    if (i > 0) chunk.told = {};
    if (i + 1 < count) chunk.finish = FinishReason::none;
    if (i < parts.size()) {
      chunk.text = parts[i].text;
      chunk.reasoning = parts[i].reasoning;
      chunk.call = parts[i].call ? &*parts[i].call : nullptr;
      chunk.call_index = parts[i].call_index;
    }
    chunks.push_back(chunk_json(head, chunk));
  }
}

tl::unexpected<Reply> refused(ServerState& state, const ClientTable::Refusal& refusal) {
  if (!refusal.is_for_ever()) state.counts.add_limited(refusal.kind);
  return tl::unexpected(reply_of(refusal));
}

bool may_pass(const ClientTable::Refusal& refusal) { return !refusal.is_for_ever(); }
bool may_pass(const engine::LoopError& error) {
  return std::holds_alternative<engine::QueueFull>(error) ||
         std::holds_alternative<engine::MemoryPressure>(error);
}

/// What ask() gives, which is asked again as long as it may and there is patience.
template <class Ask>
asio::awaitable<std::invoke_result_t<Ask>> ask_patiently(const ServerState& state,
                                                         asio::steady_timer* patience, Ask ask) {
  auto given = ask();
  while (!given && patience != nullptr && state.phase == Phase::serving &&
         may_pass(given.error())) {
    patience->expires_after(kPause);
    co_await patience->async_wait(kAsTuple);
    given = ask();
  }
  co_return given;
}

}  // namespace

AnswerHead new_head(const ModelCard& model, RequestKind kind, const Turn& turn) {
  AnswerHead head{.kind = kind,
                  .id = id_prefix(kind) + random_id(),
                  .created = static_cast<std::int64_t>(std::time(nullptr)),
                  .model = model.id};
  if (model.fingerprint) head.system_fingerprint = to_string(*model.fingerprint);
  if (turn) head.session_messages = turn->messages_before();
  return head;
}

RequestRun::RequestRun(ServerState& state, CompletionRequest request, Turn turn)
    : state_(state),
      request_(std::move(request)),
      turn_(std::move(turn)),
      head_(new_head(state.model().card, request_.kind, turn_)) {}

RequestRun::~RequestRun() {
  if (generation_) state_.counts.add_request(request_, generation_->completion_tokens());
}

asio::awaitable<RequestRun::Started> RequestRun::start(ServerState& state,
                                                       UntokenizedRequest untokenized,
                                                       RunOptions options) {
  const auto arrival = std::chrono::steady_clock::now();
  ServedModel& model = state.model();
  const Client& client = options.client;
  const bool until_context_ends = untokenized.until_context_ends;
  auto permit = co_await ask_patiently(state, options.patience, [&] {
    return state.clients.admit(client, demand_of(untokenized), std::chrono::steady_clock::now());
  });
  if (!permit) co_return refused(state, permit.error());
  auto turn = begin_turn(model.chat_sessions, untokenized);
  if (!turn) co_return tl::unexpected(reply_of(turn.error()));
  auto request = co_await model.worker.tokenize(std::move(untokenized));
  if (!request) co_return tl::unexpected(reply_of(request.error()));
  if (until_context_ends) fit_to_minute(*request, client.limits);
  const auto reserved = co_await ask_patiently(state, options.patience, [&] {
    return permit->reserve(demand_of(*request).tokens, std::chrono::steady_clock::now());
  });
  if (!reserved) co_return refused(state, reserved.error());
  if (options.patience != nullptr) {
    const auto taken = co_await ask_patiently(state, options.patience, [&] {
      return Generation::would_start(model.loop, *request, request->prompts.size());
    });
    if (!taken) co_return tl::unexpected(reply_of(taken.error()));
  }
  request->trace_id = options.record.trace_id;
  const Generation::TimeLimit time_limit{
      .arrival = options.patience != nullptr ? std::chrono::steady_clock::now() : arrival,
      .longest = state.options.request_timeout};
  std::unique_ptr<RequestRun> run(new RequestRun(state, *std::move(request), *std::move(turn)));
  const asio::any_io_executor io = co_await asio::this_coro::executor;
  auto generation =
      Generation::start(model.loop, io, run->request_, time_limit, *std::move(permit));
  if (!generation) co_return tl::unexpected(reply_of(generation.error()));
  run->generation_ = *std::move(generation);
  run->progress_.emplace(run->request_, model.loop.tokenizer(), model.card.draft_source,
                         TokenLog{options.record.tokens.emplace(), options.begun});
  co_return std::move(run);
}

asio::awaitable<RequestRun::Step> RequestRun::next(bool wants_chunks) {
  Step step;
  const std::vector<Generation::Event> events = co_await generation_->next();
  for (const Generation::Event& event : events) {
    const ChoiceWriter::Addition addition = progress_->add(event);
    step.failed = failure(event.token);
    if (step.failed) break;
    if (wants_chunks) add_chunks(event, addition, step.chunks);
  }
  co_return step;
}

void RequestRun::add_chunks(const Generation::Event& event, const ChoiceWriter::Addition& addition,
                            std::vector<std::string>& chunks) const {
  add_chunks_of(
      head_, addition.parts,
      {.index = event.index,
       .first = addition.first,
       .told = addition.told,
       .finish = event.token.finish,
       .calls_tools = progress_->choices()[event.index].calls_tools,
       .usage_follows = request_.include_usage,
       .usage = request_.continuous_usage ? std::optional(progress_->usage()) : std::nullopt},
      chunks);
}

void RequestRun::keep_its_turn() {
  if (turn_) keep_turn(*turn_, progress_->choices().front());
}

std::string RequestRun::answer() {
  keep_its_turn();
  return progress_->answer(head_, state_.model().card);
}

std::vector<std::string> RequestRun::last_chunks() {
  keep_its_turn();
  return progress_->last_chunks(head_, state_.model().card);
}

}  // namespace forge::serve
