#include "request_start.h"

#include <boost/asio/this_coro.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "chat_turn.h"
#include "rate_limits.h"

namespace forge::serve {
namespace {

/// Of what the server is short of nobody knows when there will be more: ask again soon.
constexpr std::chrono::milliseconds kPause{100};

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

RequestStart::RequestStart(ServerState& state, UntokenizedRequest untokenized, RunOptions options,
                           ClientTable::Permit permit, Turn turn)
    : state_(state),
      options_(options),
      permit_(std::move(permit)),
      turn_(std::move(turn)),
      untokenized_(std::move(untokenized)) {}

asio::awaitable<tl::expected<RequestStart, Reply>> RequestStart::admit(
    ServerState& state, UntokenizedRequest untokenized, RunOptions options) {
  auto permit = co_await ask_patiently(state, options.patience, [&] {
    return state.clients.admit(options.client, demand_of(untokenized),
                               std::chrono::steady_clock::now());
  });
  if (!permit) co_return refused(state, permit.error());
  auto turn = begin_turn(state.model().chat_sessions, untokenized);
  if (!turn) co_return tl::unexpected(reply_of(turn.error()));
  co_return RequestStart(state, std::move(untokenized), options, *std::move(permit),
                         *std::move(turn));
}

asio::awaitable<tl::expected<void, Reply>> RequestStart::tokenize(TokenizerWorker::From from) {
  const bool until_context_ends = untokenized_.until_context_ends;
  auto request = co_await state_.model().worker.tokenize(std::move(untokenized_), from);
  if (!request) co_return tl::unexpected(reply_of(request.error()));
  request_ = *std::move(request);
  if (until_context_ends) fit_to_minute(*request_, options_.client.limits);
  co_return tl::expected<void, Reply>();
}

asio::awaitable<RequestRun::Started> RequestStart::submit() {
  const engine::EngineLoop& loop = state_.model().loop;
  const auto reserved = co_await ask_patiently(state_, options_.patience, [&] {
    return permit_.reserve(demand_of(*request_).tokens, std::chrono::steady_clock::now());
  });
  if (!reserved) co_return refused(state_, reserved.error());
  if (options_.patience != nullptr) {
    const auto taken = co_await ask_patiently(state_, options_.patience, [&] {
      return Generation::would_start(loop, *request_, request_->prompts.size());
    });
    if (!taken) co_return tl::unexpected(reply_of(taken.error()));
  }
  request_->trace_id = options_.record.trace_id;
  const Generation::TimeLimit time_limit{
      .arrival = options_.patience != nullptr ? std::chrono::steady_clock::now() : arrival_,
      .longest = state_.options.request_timeout};
  std::unique_ptr<RequestRun> run(new RequestRun(state_, *std::move(request_), std::move(turn_)));
  const asio::any_io_executor io = co_await asio::this_coro::executor;
  const auto begun = run->begin(io, time_limit, std::move(permit_),
                                {options_.record.tokens.emplace(), options_.begun});
  if (!begun) co_return tl::unexpected(reply_of(begun.error()));
  co_return std::move(run);
}

}  // namespace forge::serve
