#include "request_run.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <utility>

#include "chat_turn.h"
#include "random_id.h"
#include "request_start.h"

namespace forge::serve {
namespace {

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
void add_chunks_of(const ChunkWriter& writer, std::span<const ChoiceWriter::Part> parts,
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
    chunks.push_back(writer.chunk(chunk));
  }
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
      head_(new_head(state.model().card, request_.kind, turn_)),
      chunk_writer_(head_) {}

RequestRun::~RequestRun() {
  if (generation_) state_.counts.add_request(request_, generation_->completion_tokens());
}

asio::awaitable<RequestRun::Started> RequestRun::start(ServerState& state,
                                                       UntokenizedRequest untokenized,
                                                       RunOptions options) {
  auto start = co_await RequestStart::admit(state, std::move(untokenized), options);
  if (!start) co_return tl::unexpected(std::move(start.error()));
  auto tokenized = co_await start->tokenize(TokenizerWorker::From::client);
  if (!tokenized) co_return tl::unexpected(std::move(tokenized.error()));
  co_return co_await start->submit();
}

tl::expected<void, engine::LoopError> RequestRun::begin(const asio::any_io_executor& io,
                                                        const Generation::TimeLimit& time_limit,
                                                        ClientTable::Permit permit, TokenLog log) {
  ServedModel& model = state_.model();
  auto generation = Generation::start(model.loop, io, request_, time_limit, std::move(permit));
  if (!generation) return tl::unexpected(std::move(generation.error()));
  generation_ = *std::move(generation);
  progress_.emplace(request_, model.loop.tokenizer(), model.card.draft_source, log);
  return {};
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
      chunk_writer_, addition.parts,
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
