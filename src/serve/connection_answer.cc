// The half of Connection that answers.
#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <ctime>
#include <exception>
#include <span>
#include <utility>

#include "chat_turn.h"
#include "choice_writer.h"
#include "connection.h"
#include "engine_calls.h"
#include "generation_response.h"
#include "random_id.h"
#include "rate_limits.h"
#include "tokenizer_api.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

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

void add_to(Choice& choice, const ChoiceWriter::Part& part) {
  choice.text += part.text;
  choice.reasoning += part.reasoning;
  if (!part.call) return;
  if (!part.call->id.empty()) {
    choice.calls.push_back(*part.call);
  } else {
    choice.calls.back().arguments += part.call->arguments;
  }
}

std::string id_prefix(RequestKind kind) {
  if (kind == RequestKind::forge_generate) return "gen-";
  return kind == RequestKind::chat ? "chatcmpl-" : "cmpl-";
}

/// What a token adds to a stream: an event for each part of it, at least one, which together say
/// what `all` says.
std::string events_of(const AnswerHead& head, std::span<const ChoiceWriter::Part> parts,
                      const Chunk& all) {
  std::string events;
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
    events += event(chunk_json(head, chunk));
  }
  return events;
}

/// Counts a request at its end, however that comes.
class CountedRequest {
 public:
  CountedRequest(ServeCounts& counts, const CompletionRequest& request,
                 const Generation& generation)
      : counts_(counts), request_(request), generation_(generation) {}
  ~CountedRequest() { counts_.add_request(request_, generation_.completion_tokens()); }
  CountedRequest(const CountedRequest&) = delete;
  CountedRequest& operator=(const CountedRequest&) = delete;

 private:
  ServeCounts& counts_;
  const CompletionRequest& request_;
  const Generation& generation_;
};

/// What the record of a request says of its tokens, as they come.
struct TokenLog {
  RequestTokens& tokens;
  std::chrono::steady_clock::time_point begun;

  /// `choice`: as it was before the event.
  void add(const Choice& choice, const engine::TokenEvent& event, bool wants_tokens) {
    if (wants_tokens) tokens.completion += event.completion_tokens - choice.completion_tokens;
    tokens.cached += event.cached_tokens - choice.cached_tokens;
    tokens.drafts.proposed += event.drafts.proposed - choice.drafts.proposed;
    tokens.drafts.accepted += event.drafts.accepted - choice.drafts.accepted;
    if (event.queued) {
      tokens.queued =
          std::max(tokens.queued.value_or(LogMilliseconds(0)), LogMilliseconds(*event.queued));
    }
    if (!tokens.first && event.completion_tokens > 0) {
      tokens.first = std::chrono::steady_clock::now() - begun;
    }
    if (event.finish != FinishReason::none) tokens.finish = event.finish;
  }
};

/// What of an answer is known so far.
class Progress {
 public:
  Progress(const CompletionRequest& request, const text::Tokenizer& tokenizer,
           std::string_view draft_source, TokenLog log)
      : log_(log),
        wants_tokens_(request.max_tokens > 0),
        choices_(request.choices()),
        draft_source_(draft_source) {
    for (const auto& prompt : request.prompts) prompt_tokens_ += prompt.size();
    writers_.reserve(choices_.size());
    for (std::size_t i = 0; i < choices_.size(); ++i) writers_.emplace_back(request, i, tokenizer);
    log_.tokens.prompt = prompt_tokens_;
  }

  /// Returns what the event adds to its choice.
  ChoiceWriter::Addition add(const Generation::Event& event) {
    Choice& choice = choices_[event.index];
    log_.add(choice, event.token, wants_tokens_);
    ChoiceWriter::Addition addition = writers_[event.index].add(event.token);
    for (const ChoiceWriter::Part& part : addition.parts) add_to(choice, part);
    choice.calls_tools = writers_[event.index].calls_tools();
    choice.told.insert(choice.told.end(), addition.told.begin(), addition.told.end());
    if (event.token.told) choice.logprob += event.token.told->logprob;
    choice.completion_tokens = wants_tokens_ ? event.token.completion_tokens : 0;
    choice.cached_tokens = event.token.cached_tokens;
    choice.drafts = event.token.drafts;
    choice.finish = event.token.finish;
    return addition;
  }

  const std::vector<Choice>& choices() const { return choices_; }

  /// The whole answer, once every choice has ended.
  std::string answer(const CompletionRequest& request, const AnswerHead& head,
                     const ModelCard& model) {
    const Usage all = usage();
    if (request.kind == RequestKind::forge_generate) {
      const Choice& choice = choices_.front();
      return generation_json(head, choice, all, receipt_of(request, model, choice));
    }
    return answer_json(head, likeliest_choices(std::move(choices_), request.n, request.best_of),
                       all);
  }

  /// What ends a stream, but for its mark.
  std::string last_events(const CompletionRequest& request, const AnswerHead& head,
                          const ModelCard& model) const {
    if (request.kind == RequestKind::forge_generate) {
      const receipt::Receipt receipt = receipt_of(request, model, choices_.front());
      return event(generation_end_json(head, usage(), receipt));
    }
    return request.include_usage ? event(usage_chunk_json(head, usage())) : "";
  }

  Usage usage() const {
    Usage usage{.prompt_tokens = prompt_tokens_, .draft_source = draft_source_};
    for (const Choice& choice : choices_) {
      usage.cached_tokens += choice.cached_tokens;
      usage.completion_tokens += choice.completion_tokens;
      usage.drafts.proposed += choice.drafts.proposed;
      usage.drafts.accepted += choice.drafts.accepted;
    }
    return usage;
  }

 private:
  TokenLog log_;
  bool wants_tokens_;
  std::vector<Choice> choices_;
  std::vector<ChoiceWriter> writers_;  // [choices]
  std::string_view draft_source_;
  std::uint64_t prompt_tokens_ = 0;
};

}  // namespace

AnswerHead Connection::new_head(RequestKind kind, const Turn& turn) const {
  AnswerHead head{.kind = kind,
                  .id = id_prefix(kind) + random_id(),
                  .created = static_cast<std::int64_t>(std::time(nullptr)),
                  .model = state_->model().card.id};
  if (const auto& fingerprint = state_->model().card.fingerprint) {
    head.system_fingerprint = to_string(*fingerprint);
  }
  if (turn) head.session_messages = turn->messages_before();
  return head;
}

asio::awaitable<bool> Connection::answer(const HttpRequest& request) {
  const Framing framing = frame(request, request.keep_alive());
  record_->request_id = framing.request_id;
  answer_begun_ = false;
  Answer what = route(request, client_, *state_);
  if (auto* to_run = std::get_if<UntokenizedRequest>(&what)) {
    co_return co_await generate(std::move(*to_run), framing);
  }
  if (const auto* release = std::get_if<SessionRelease>(&what)) {
    const bool had_messages = state_->model().chat_sessions.forget(release->session);
    const bool had_kv = co_await release_session(state_->model().loop, release->session);
    co_return co_await send(session_released(release->said, had_messages || had_kv), framing);
  }
  if (std::holds_alternative<CacheClear>(what)) {
    co_await clear_prefix_cache(state_->model().loop);
    co_return co_await send(cache_cleared(), framing);
  }
  co_return co_await send(std::get<Reply>(what), framing);
}

void Connection::tell_limits(Framing& framing) const {
  if (asked_.route == nullptr || !asked_.route->generates) return;
  framing.limits = headers_of(state_->clients.standing(client_, std::chrono::steady_clock::now()));
}

void Connection::note_answer(unsigned status, const Framing& framing) {
  state_->counts.add_answer(asked_, status);
  if (!record_) return;
  record_->status = status;
  record_->request_id = framing.request_id;
}

asio::awaitable<bool> Connection::send(const Reply& reply, Framing framing) {
  framing.keep_alive = keeps_alive(framing);
  tell_limits(framing);
  note_answer(reply.status, framing);
  const bool written = co_await write(reply_bytes(reply, framing));
  co_return written&& framing.keep_alive;
}

asio::awaitable<bool> Connection::generate(UntokenizedRequest request, Framing framing) {
  // Of two that run side by side an exception of one does not end the other: it is handed on here.
  std::exception_ptr failure;
  const auto answer = [&]() -> asio::awaitable<bool> {
    try {
      co_return co_await tokenize_and_run(request, framing);
    } catch (...) {
      failure = std::current_exception();
    }
    co_return false;
  };
  const auto first = co_await (answer() || watch_for_disconnect(framing));
  if (failure) std::rethrow_exception(failure);
  if (first.index() == 0) co_return std::get<0>(first);
  drop();
  co_return false;
}

asio::awaitable<bool> Connection::refuse(const ClientTable::Refusal& refusal,
                                         const Framing& framing) {
  if (!refusal.is_for_ever()) state_->counts.add_limited(refusal.kind);
  const Reply reply = reply_of(refusal);
  co_return co_await send(reply, framing);
}

asio::awaitable<bool> Connection::render(UntokenizedRequest& untokenized, const Framing& framing) {
  ServedModel& model = state_->model();
  const auto turn = begin_turn(model.chat_sessions, untokenized);
  if (!turn) co_return co_await send(reply_of(turn.error()), framing);
  const auto request = co_await model.worker.tokenize(std::move(untokenized));
  if (!request) co_return co_await send(reply_of(request.error()), framing);
  const Reply reply{.body = rendered_json(*request, model.card, new_head(request->kind, *turn).id)};
  co_return co_await send(reply, framing);
}

/// From texts to the end of the answer, which needs no model where the tokenizer is asked alone.
asio::awaitable<bool> Connection::tokenize_and_run(UntokenizedRequest& untokenized,
                                                   const Framing& framing) {
  const Generation::TimeLimit time_limit{.arrival = std::chrono::steady_clock::now(),
                                         .longest = state_->options.request_timeout};
  if (is_of_tokenizer(untokenized.kind)) {
    auto body = co_await state_->model().worker.answer(std::move(untokenized));
    if (!body) co_return co_await send(reply_of(body.error()), framing);
    const Reply reply{.body = *std::move(body)};
    co_return co_await send(reply, framing);
  }
  if (untokenized.render_only) co_return co_await render(untokenized, framing);
  const bool until_context_ends = untokenized.until_context_ends;
  auto permit = state_->clients.admit(client_, demand_of(untokenized), time_limit.arrival);
  if (!permit) co_return co_await refuse(permit.error(), framing);
  auto turn = begin_turn(state_->model().chat_sessions, untokenized);
  if (!turn) {
    permit->release();
    co_return co_await send(reply_of(turn.error()), framing);
  }
  auto request = co_await state_->model().worker.tokenize(std::move(untokenized));
  if (!request) {
    permit->release();
    co_return co_await send(reply_of(request.error()), framing);
  }
  if (until_context_ends) fit_to_minute(*request, client_.limits);
  const auto now = std::chrono::steady_clock::now();
  if (const auto reserved = permit->reserve(demand_of(*request).tokens, now); !reserved) {
    permit->release();
    co_return co_await refuse(reserved.error(), framing);
  }
  auto generation = Generation::start(state_->model().loop, stream_.get_executor(), *request,
                                      time_limit, *std::move(permit));
  if (!generation) co_return co_await send(reply_of(generation.error()), framing);
  const CountedRequest counted(state_->counts, *request, **generation);
  if (request->stream) co_return co_await answer_stream(*request, **generation, *turn, framing);
  co_return co_await answer_whole(*request, **generation, *turn, framing);
}

asio::awaitable<bool> Connection::answer_whole(const CompletionRequest& request,
                                               Generation& generation, Turn& turn,
                                               Framing framing) {
  const AnswerHead head = new_head(request.kind, turn);
  Progress progress(request, state_->model().loop.tokenizer(), state_->model().card.draft_source,
                    TokenLog{record_->tokens.emplace(), begun_});
  while (!generation.ended()) {
    const std::vector<Generation::Event> events = co_await generation.next();
    for (const auto& event : events) {
      progress.add(event);
      const auto failed = failure(event.token);
      if (failed) co_return co_await send(reply_of(*failed), framing);
    }
  }
  if (turn) keep_turn(*turn, progress.choices().front());
  const Reply reply{.body = progress.answer(request, head, state_->model().card)};
  co_return co_await send(reply, framing);
}

asio::awaitable<bool> Connection::answer_stream(const CompletionRequest& request,
                                                Generation& generation, Turn& turn,
                                                Framing framing) {
  framing.keep_alive = keeps_alive(framing);
  generation.on_backlog(state_->options.stream_backlog_tokens, [this] {
    if (stream_.is_open() && !stream_.takes_output()) drop();
  });
  const AnswerHead head = new_head(request.kind, turn);
  Progress progress(request, state_->model().loop.tokenizer(), state_->model().card.draft_source,
                    TokenLog{record_->tokens.emplace(), begun_});
  tell_limits(framing);
  std::string header = stream_header(framing);  // sent with the first events
  std::optional<ApiError> failed;
  while (!generation.ended() && !failed) {
    const std::vector<Generation::Event> batch = co_await generation.next();
    std::string events;
    for (const auto& [index, token] : batch) {
      failed = failure(token);
      if (failed) break;
      const ChoiceWriter::Addition addition = progress.add({index, token});
      events += events_of(
          head, addition.parts,
          {.index = index,
           .first = addition.first,
           .told = addition.told,
           .finish = token.finish,
           .calls_tools = progress.choices()[index].calls_tools,
           .usage_follows = request.include_usage,
           .usage = request.continuous_usage ? std::optional(progress.usage()) : std::nullopt});
    }
    if (failed && events.empty() && !header.empty()) {
      co_return co_await send(reply_of(*failed), framing);
    }
    if (failed) {
      events += event(to_json(*failed));
    } else if (generation.ended()) {
      if (turn) keep_turn(*turn, progress.choices().front());
      events += progress.last_events(request, head, state_->model().card);
      events += event("[DONE]");
    }
    if (!header.empty()) note_answer(200, framing);
    std::string bytes = std::exchange(header, "") + stream_part(events, framing);
    if (failed || generation.ended()) bytes += stream_end(framing);
    const bool written = co_await write(bytes);
    if (!written) co_return false;
  }
  co_return keeps_alive(framing) && !framing.http_1_0;
}

}  // namespace forge::serve
