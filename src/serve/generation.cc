#include "generation.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include "ownership.h"

namespace forge::serve {

namespace asio = boost::asio;

namespace {

using Milliseconds = std::chrono::milliseconds;

/// What is left of the time of a request, at least 1 ms; none without a limit.
std::optional<Milliseconds> time_left(const CompletionRequest& request,
                                      const Generation::TimeLimit& limit) {
  auto longest = request.time_limit ? request.time_limit : limit.longest;
  if (!longest) return std::nullopt;
  if (limit.longest) longest = std::min(*longest, *limit.longest);
  const auto passed =
      std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - limit.arrival);
  return std::max(*longest - passed, Milliseconds(1));
}

/// Choice number `choice` of a prompt.
Request to_engine(const CompletionOptions& options, std::vector<TokenId> prompt,
                  std::uint32_t choice) {
  SamplingParams sampling = options.sampling;
  sampling.seed += choice;
  if (options.best_of > options.n && !sampling.logprobs) sampling.logprobs = 0;  // to rank them
  const bool runs_all = sampling.prompt_logprobs;  // what a cached prefix does not run is not told
  return {.prompt = std::move(prompt),
          .max_new_tokens = std::max(options.max_tokens, 1U),
          .sampling = std::move(sampling),
          .ignore_eos = options.ignore_eos,
          .priority = options.priority.value_or(Priority::normal),
          .client = options.client,
          .user = user_of(options.owner, options.user),
          .weight = options.weight,
          .prefix_cache = runs_all ? PrefixCacheUse::disable : options.prefix_cache,
          .cache_salt = salt_of(options.owner, options.cache_salt),
          .deadline_steps = options.deadline_steps,
          .session = options.session ? std::optional(session_of(options.owner, *options.session))
                                     : std::nullopt};
}

}  // namespace

/// Where tokens arrive, from the loop's thread. Shared with the sinks, which may outlive the
/// generation; what the I/O thread has made goes with the generation, on that thread. However many
/// tokens come before the I/O thread looks, it is woken once: a token costs the loop a place in a
/// list.
struct Generation::Inbox {
  Inbox(const asio::any_io_executor& io, ClientTable::Permit its_permit)
      : filled(io), permit(std::move(its_permit)) {
    filled.expires_at(asio::steady_timer::time_point::max());
  }

  /// On the loop's thread. True: wake() must be posted.
  bool push(Event event) {
    const std::lock_guard lock(mutex);
    arrived.push_back(std::move(event));
    return !std::exchange(is_awaited, true);
  }

  /// On the loop's thread, likewise.
  bool admit_one() {
    const std::lock_guard lock(mutex);
    ++admitted;
    return !std::exchange(is_awaited, true);
  }

  /// On the I/O thread. What fails in it (no memory, most likely) is the failure of who waits in
  /// next().
  void wake() noexcept {
    try {
      take();
    } catch (...) {
      failure = std::current_exception();
      filled.cancel();
    }
  }

  void take() {
    std::deque<Event> more;
    std::uint32_t more_admitted = 0;
    {
      const std::lock_guard lock(mutex);
      more.swap(arrived);
      more_admitted = std::exchange(admitted, 0);
      is_awaited = false;
    }
    if (abandoned) return;
    if (more_admitted > 0) permit.in_batch(more_admitted);
    for (const Event& event : more) tell_permit(event);
    events.insert(events.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
    filled.cancel();
    if (overflowed && events.size() > limit) overflowed();
  }

  void tell_permit(const Event& event) {
    std::uint32_t& known = tokens[event.index];
    permit.generated(event.token.completion_tokens - known);
    known = event.token.completion_tokens;
    if (event.token.finish != FinishReason::none) permit.ended(event.token.queued.has_value());
  }

  // Of both threads.
  std::mutex mutex;
  std::deque<Event> arrived;   // does not move what it has while the other thread waits
  std::uint32_t admitted = 0;  // choices that have got a place in the batch since
  bool is_awaited = false;     // wake() is posted

  // Of the I/O thread.
  std::vector<Event> events;
  std::vector<std::uint32_t> tokens;  // [choices] that have arrived
  asio::steady_timer filled;          // never expires; cancelled to wake next()
  ClientTable::Permit permit;
  std::size_t limit = 0;
  std::function<void()> overflowed;
  bool abandoned = false;
  std::exception_ptr failure;
};

Generation::Generation(engine::EngineLoop& loop, const asio::any_io_executor& io,
                       ClientTable::Permit permit)
    : loop_(loop), inbox_(std::make_shared<Inbox>(io, std::move(permit))) {}

tl::expected<void, engine::LoopError> Generation::would_start(const engine::EngineLoop& loop,
                                                              const CompletionOptions& options,
                                                              std::size_t prompts) {
  std::vector<TokenId> shortest{TokenId(0)};
  return loop.would_accept(to_engine(options, std::move(shortest), 0), prompts * options.best_of);
}

tl::expected<std::unique_ptr<Generation>, engine::LoopError> Generation::start(
    engine::EngineLoop& loop, const asio::any_io_executor& io, const CompletionRequest& request,
    const TimeLimit& time_limit, ClientTable::Permit permit) {
  const auto left = time_left(request, time_limit);
  const bool counts_waiting = permit.counts_waiting();
  std::unique_ptr<Generation> generation(new Generation(loop, io, std::move(permit)));
  generation->completion_tokens_.resize(request.choices());
  Inbox& inbox = *generation->inbox_;
  inbox.tokens.resize(request.choices());
  for (std::size_t index = 0; index < request.choices(); ++index) {
    const auto sink = [inbox = generation->inbox_, io, index](const engine::TokenEvent& token) {
      if (inbox->push({index, token})) asio::post(io, [inbox] { inbox->wake(); });
    };
    std::function<void()> on_admitted;
    if (counts_waiting) {
      on_admitted = [inbox = generation->inbox_, io] {
        if (inbox->admit_one()) asio::post(io, [inbox] { inbox->wake(); });
      };
    }
    const auto choice = static_cast<std::uint32_t>(index % request.best_of);
    const auto ticket =
        loop.submit(to_engine(request, request.prompts[index / request.best_of], choice),
                    {.stop_strings = request.stop,
                     .spelt = request.spelt,
                     .time_limit = left,
                     .arrival = time_limit.arrival,
                     .trace_id = request.trace_id,
                     .on_admitted = std::move(on_admitted)},
                    sink);
    if (!ticket) return tl::unexpected(ticket.error());  // cancels the choices before this one
    generation->tickets_.push_back(*ticket);
    ++generation->open_;
  }
  for (const auto& prompt : request.prompts) inbox.permit.started(prompt.size());
  return generation;
}

Generation::~Generation() {
  inbox_->abandoned = true;
  inbox_->overflowed = nullptr;
  inbox_->failure = nullptr;
  inbox_->permit = {};
  if (open_ == 0) return;
  // Those that have ended are no longer known to the loop, which ignores them.
  for (const engine::TicketId ticket : tickets_) loop_.cancel(ticket);
}

asio::awaitable<std::vector<Generation::Event>> Generation::next() {
  while (inbox_->events.empty() && !inbox_->failure) {
    co_await inbox_->filled.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (inbox_->failure) std::rethrow_exception(std::exchange(inbox_->failure, nullptr));
  std::vector<Event> events = std::exchange(inbox_->events, {});
  for (const Event& event : events) {
    completion_tokens_[event.index] = event.token.completion_tokens;
    if (event.token.finish != FinishReason::none) --open_;
  }
  co_return events;
}

void Generation::on_backlog(std::size_t limit, std::function<void()> overflowed) {
  inbox_->limit = limit;
  inbox_->overflowed = std::move(overflowed);
}

}  // namespace forge::serve
