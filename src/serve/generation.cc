#include "generation.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace forge {

namespace asio = boost::asio;

namespace {

using TimeLimit = std::optional<std::chrono::milliseconds>;

TimeLimit shorter(TimeLimit a, TimeLimit b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

/// Where posted tokens arrive. Shared with the sinks, which may outlive the generation.
struct Generation::Inbox {
  explicit Inbox(const asio::any_io_executor& io) : filled(io) {
    filled.expires_at(asio::steady_timer::time_point::max());
  }

  void push(Event event) {
    if (abandoned) return;
    events.push_back(std::move(event));
    filled.cancel();
    if (overflowed && events.size() > limit) overflowed();
  }

  std::vector<Event> events;
  asio::steady_timer filled;  // never expires; cancelled to wake next()
  std::size_t limit = 0;
  std::function<void()> overflowed;
  bool abandoned = false;
};

Generation::Generation(EngineLoop& loop, const asio::any_io_executor& io)
    : loop_(loop), inbox_(std::make_shared<Inbox>(io)) {}

tl::expected<std::unique_ptr<Generation>, LoopError> Generation::start(
    EngineLoop& loop, const asio::any_io_executor& io, const CompletionRequest& request,
    std::optional<std::chrono::milliseconds> longest) {
  const TimeLimit time_limit = shorter(request.time_limit, longest);
  std::unique_ptr<Generation> generation(new Generation(loop, io));
  for (std::size_t index = 0; index < request.prompts.size(); ++index) {
    const auto sink = [inbox = generation->inbox_, io, index](const TokenEvent& token) {
      asio::post(io,
                 [inbox, event = Event{index, token}]() mutable { inbox->push(std::move(event)); });
    };
    const auto ticket = loop.submit(Request{.prompt = request.prompts[index],
                                            .max_new_tokens = request.max_tokens,
                                            .sampling = request.sampling,
                                            .ignore_eos = request.ignore_eos,
                                            .priority = request.priority,
                                            .prefix_cache = request.prefix_cache,
                                            .deadline_steps = request.deadline_steps,
                                            .session = request.session},
                                    {.stop_strings = request.stop, .time_limit = time_limit}, sink);
    if (!ticket) return tl::unexpected(ticket.error());  // cancels the prompts before this one
    generation->tickets_.push_back(*ticket);
    ++generation->open_;
  }
  return generation;
}

Generation::~Generation() {
  inbox_->abandoned = true;
  inbox_->overflowed = nullptr;
  if (open_ == 0) return;
  // Those that have ended are no longer known to the loop, which ignores them.
  for (const TicketId ticket : tickets_) loop_.cancel(ticket);
}

asio::awaitable<std::vector<Generation::Event>> Generation::next() {
  while (inbox_->events.empty()) {
    co_await inbox_->filled.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  std::vector<Event> events = std::exchange(inbox_->events, {});
  for (const Event& event : events) {
    if (event.token.finish != FinishReason::none) --open_;
  }
  co_return events;
}

void Generation::on_backlog(std::size_t limit, std::function<void()> overflowed) {
  inbox_->limit = limit;
  inbox_->overflowed = std::move(overflowed);
}

}  // namespace forge
