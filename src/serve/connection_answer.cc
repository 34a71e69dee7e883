// The half of Connection that answers.
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>
#include <utility>

#include "chat_turn.h"
#include "connection.h"
#include "engine_calls.h"
#include "rate_limits.h"
#include "request_run.h"
#include "tokenizer_api.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

asio::awaitable<bool> Connection::answer(const HttpRequest& request) {
  const Framing framing = frame(request, request.keep_alive());
  record_->request_id = framing.request_id;
  answer_begun_ = false;
  Answer what = route(request, request.body(), client_, *state_);
  if (auto* to_run = std::get_if<UntokenizedRequest>(&what)) {
    co_return co_await generate(std::move(*to_run), framing);
  }
  if (const auto* release = std::get_if<SessionRelease>(&what)) {
    const bool had_messages = state_->model().chat_sessions.forget(release->session);
    const bool had_kv = co_await release_session(state_->model().loop, release->session);
    co_return co_await send(session_released(release->said, had_messages || had_kv), framing);
  }
  if (std::holds_alternative<StreamOfMessages>(what)) {
    co_return co_await answer_messages(request, framing);
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

asio::awaitable<bool> Connection::render(UntokenizedRequest& untokenized, const Framing& framing) {
  ServedModel& model = state_->model();
  const auto turn = begin_turn(model.chat_sessions, untokenized);
  if (!turn) co_return co_await send(reply_of(turn.error()), framing);
  const auto request = co_await model.worker.tokenize(std::move(untokenized));
  if (!request) co_return co_await send(reply_of(request.error()), framing);
  const Reply reply{
      .body = rendered_json(*request, model.card, new_head(model.card, request->kind, *turn).id)};
  co_return co_await send(reply, framing);
}

/// From texts to the end of the answer, which needs no model where the tokenizer is asked alone.
asio::awaitable<bool> Connection::tokenize_and_run(UntokenizedRequest& untokenized,
                                                   const Framing& framing) {
  if (is_of_tokenizer(untokenized.kind)) {
    auto body = co_await state_->model().worker.answer(std::move(untokenized));
    if (!body) co_return co_await send(reply_of(body.error()), framing);
    const Reply reply{.body = *std::move(body)};
    co_return co_await send(reply, framing);
  }
  if (untokenized.render_only) co_return co_await render(untokenized, framing);
  const RunOptions options{.client = client_, .record = *record_, .begun = begun_};
  auto run = co_await RequestRun::start(*state_, std::move(untokenized), options);
  if (!run) co_return co_await send(run.error(), framing);
  if ((*run)->request().stream) co_return co_await answer_stream(**run, framing);
  co_return co_await answer_whole(**run, framing);
}

asio::awaitable<bool> Connection::answer_whole(RequestRun& run, Framing framing) {
  while (!run.ended()) {
    const RequestRun::Step step = co_await run.next(false);
    if (step.failed) co_return co_await send(reply_of(*step.failed), framing);
  }
  const Reply reply{.body = run.answer()};
  co_return co_await send(reply, framing);
}

asio::awaitable<bool> Connection::answer_stream(RequestRun& run, Framing framing) {
  framing.keep_alive = keeps_alive(framing);
  run.on_backlog(state_->options.stream_backlog_tokens, [this] {
    if (stream_.is_open() && !stream_.takes_output()) drop();
  });
  tell_limits(framing);
  std::string header = stream_header(framing);  // sent with the first events
  bool goes_on = true;
  while (goes_on) {
    RequestRun::Step step = co_await run.next(true);
    if (step.failed && step.chunks.empty() && !header.empty()) {
      co_return co_await send(reply_of(*step.failed), framing);
    }
    std::string events;
    for (const std::string& chunk : step.chunks) events += event(chunk);
    if (step.failed) {
      events += event(to_json(*step.failed));
    } else if (run.ended()) {
      for (const std::string& chunk : run.last_chunks()) events += event(chunk);
      events += event("[DONE]");
    }
    goes_on = !step.failed && !run.ended();
    if (!header.empty()) note_answer(200, framing);
    std::string bytes = std::exchange(header, "") + stream_part(events, framing);
    if (!goes_on) bytes += stream_end(framing);
    const bool written = co_await write(bytes);
    if (!written) co_return false;
  }
  co_return keeps_alive(framing) && !framing.http_1_0;
}

}  // namespace forge::serve
