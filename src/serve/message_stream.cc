#include "message_stream.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>
#include <variant>

#include "route_table.h"
#include "serve_counts.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

namespace {

constexpr auto kNever = asio::steady_timer::time_point::max();

std::string in_ms(std::chrono::milliseconds time) { return std::to_string(time.count()) + " ms"; }

ApiError repeated_id(const std::string& id) {
  ApiError error =
      bad_field("id", "id is '" + id + "', which a request under way has", "repeated_id");
  error.status = 409;
  return error;
}

ApiError late_key() {
  return bad_field("key", "a key is said once, as the first message, or in the header", "late_key");
}

}  // namespace

MessageStream::MessageStream(std::shared_ptr<ServerState> state, std::unique_ptr<WebSocket> socket,
                             std::optional<Caller> caller, Wire wire)
    : state_(std::move(state)),
      socket_(std::move(socket)),
      wire_(std::move(wire)),
      io_(state_->acceptor.get_executor()),
      caller_(std::move(caller)),
      idle_since_(std::chrono::steady_clock::now()),
      to_send_(io_, kNever),
      room_(io_, kNever),
      changed_(io_, kNever) {}

asio::awaitable<void> MessageStream::run() {
  wire_.set_busy(false);
  co_await (guard(receive()) && guard(send()) && guard(watch()));
  lose();
  changed_.expires_at(kNever);
  while (!under_way_.empty()) co_await changed_.async_wait(kAsTuple);
  if (failure_) std::rethrow_exception(failure_);
}

asio::awaitable<void> MessageStream::guard(asio::awaitable<void> work) {
  try {
    co_await std::move(work);
    co_return;
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  wire_.drop();
  lose();
}

// What comes.

asio::awaitable<void> MessageStream::receive() {
  bool goes_on = true;
  while (goes_on) {
    co_await wait_for_room();
    const std::size_t bytes_max = caller_ ? state_->options.body_limit_bytes : kKeyMessageBytesMax;
    const WebSocket::Message message = co_await socket_->read(bytes_max);
    goes_on = !is_over() && take(message);
  }
}

bool MessageStream::take(const WebSocket::Message& message) {
  switch (message.kind) {
    case WebSocket::Message::Kind::gone:
      lose();
      return false;
    case WebSocket::Message::Kind::binary:
      close(CloseCode::unsupported_data, "messages are texts of JSON");
      return false;
    case WebSocket::Message::Kind::too_big:
      close(CloseCode::message_too_big,
            "a message may have " +
                std::to_string(caller_ ? state_->options.body_limit_bytes : kKeyMessageBytesMax) +
                " bytes" + (caller_ ? "" : " before its key is known"));
      return false;
    case WebSocket::Message::Kind::text:
      break;
  }
  idle_since_ = std::chrono::steady_clock::now();
  if (caller_) {
    take_text(message.text);
  } else {
    take_key(message.text);
  }
  return !is_over();
}

void MessageStream::take_key(std::string_view text) {
  const auto message = parse_stream_message(text);
  const auto* const said = message ? std::get_if<StreamKey>(&*message) : nullptr;
  if (said == nullptr) {
    return close(CloseCode::policy_violation,
                 R"(a key is needed: say {"key": KEY} first, or Authorization in the header)");
  }
  caller_ = wire_.admit(said->key);
  if (!caller_) close(CloseCode::policy_violation, "this key is not known here");
  changed_.cancel();
}

void MessageStream::take_text(std::string_view text) {
  auto message = parse_stream_message(text);
  if (!message) return refuse(std::move(message.error()));
  if (auto* const request = std::get_if<StreamRequest>(&*message)) {
    begin(std::move(*request));
  } else if (const auto* const enough = std::get_if<StreamCancel>(&*message)) {
    cancel(enough->id);
  } else if (state_->keys) {
    refuse({std::nullopt, late_key()});
  }
}

void MessageStream::refuse(StreamFault fault) {
  if (fault.id && under_way_.contains(*fault.id)) fault.id.reset();
  say(reply_message(fault.id, reply_of(fault.error)));
}

void MessageStream::begin(StreamRequest request) {
  if (under_way_.contains(request.id)) {
    return refuse({std::nullopt, repeated_id(request.id)});
  }
  if (under_way_.size() >= kRequestsAtOnce) {
    return close(CloseCode::try_again_later,
                 std::to_string(kRequestsAtOnce) + " requests are under way, as many as may be");
  }
  const auto work = std::make_shared<Work>();
  work->record = caller_->record;
  work->record.method = kWebSocketMethod;
  work->record.route = pattern_of(*request.route);
  work->record.request_id = request.id;
  work->begun = std::chrono::steady_clock::now();
  work->request = std::move(request);
  under_way_.emplace(work->request.id, work);
  if (under_way_.size() == 1) {
    wire_.set_busy(true);
    changed_.cancel();
  }
  asio::co_spawn(
      io_, answer(work),
      asio::bind_cancellation_slot(work->cancelled.slot(), [self = shared_from_this(),
                                                            work](const std::exception_ptr& error) {
        self->ended(work, error);
      }));
}

/// What has ended meanwhile is left alone: its end is on its way.
void MessageStream::cancel(const std::string& id) {
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  const auto work = found->second;
  work->is_cancelled = true;
  work->cancelled.emit(asio::cancellation_type::terminal);
}

// What is answered.

asio::awaitable<void> MessageStream::answer(std::shared_ptr<Work> work) {
  const RouteCall call{
      .body = work->request.body, .id = "", .client = caller_->client, .state = *state_};
  Answer what = work->request.route->handle(call);
  if (const auto* const refused = std::get_if<Reply>(&what)) {
    end(*work, *refused);
    co_return;
  }
  const RunOptions options{.client = caller_->client, .record = work->record, .begun = work->begun};
  auto run =
      co_await RequestRun::start(*state_, std::get<UntokenizedRequest>(std::move(what)), options);
  if (!run) {
    end(*work, run.error());
    co_return;
  }
  work->run = *std::move(run);
  if (work->run->request().stream) {
    co_await answer_stream(*work);
  } else {
    co_await answer_whole(*work);
  }
}

asio::awaitable<void> MessageStream::answer_stream(Work& work) {
  RequestRun& run = *work.run;
  const std::string& id = work.request.id;
  run.on_backlog(state_->options.stream_backlog_tokens, [this] {
    if (is_over() || has_room() || socket_->takes_output()) return;
    close(CloseCode::try_again_later, "what is sent is not read fast enough");
  });
  while (!run.ended()) {
    co_await wait_for_room();
    RequestRun::Step step = co_await run.next(true);
    if (run.ended() && !step.failed) {
      for (std::string& chunk : run.last_chunks()) step.chunks.push_back(std::move(chunk));
    }
    if (!step.chunks.empty()) note(work, 200);
    for (const std::string& chunk : step.chunks) say(chunk_message(id, chunk));
    if (step.failed) {
      end(work, reply_of(*step.failed));
      co_return;
    }
  }
  end(work, 200, done_message(id));
}

asio::awaitable<void> MessageStream::answer_whole(Work& work) {
  while (!work.run->ended()) {
    const RequestRun::Step step = co_await work.run->next(false);
    if (step.failed) {
      end(work, reply_of(*step.failed));
      co_return;
    }
  }
  const Reply reply{.body = work.run->answer()};
  work.run.reset();  // before the client takes the answer: others may have its place
  co_await wait_for_room();
  end(work, reply);
}

void MessageStream::note(Work& work, unsigned status) {
  if (work.record.status != 0) return;
  work.record.status = status;
  state_->counts.add_message(*work.request.route, status);
}

void MessageStream::end(Work& work, const Reply& reply) {
  end(work, reply.status, reply_message(work.request.id, reply));
}

void MessageStream::end(Work& work, unsigned status, std::string message) {
  note(work, status);
  work.run.reset();
  work.has_ended = true;
  forget(work);
  say(std::move(message));
}

void MessageStream::ended(const std::shared_ptr<Work>& work, const std::exception_ptr& error) {
  work->run.reset();
  work->record.time = std::chrono::steady_clock::now() - work->begun;
  if (state_->options.on_request) state_->options.on_request(work->record);
  if (work->has_ended) return;
  forget(*work);
  if (is_over()) return;
  if (work->is_cancelled) return say(cancelled_message(work->request.id));
  failure_ = error;
  wire_.drop();
  lose();
}

void MessageStream::forget(const Work& work) {
  under_way_.erase(work.request.id);
  if (!under_way_.empty()) return;
  idle_since_ = std::chrono::steady_clock::now();
  wire_.set_busy(false);
  changed_.cancel();
}

// What goes.

void MessageStream::say(std::string message) {
  unsent_bytes_ += message.size();
  unsent_.push_back(std::move(message));
  to_send_.cancel();
}

asio::awaitable<void> MessageStream::wait_for_room() {
  while (!has_room() && !is_over()) co_await room_.async_wait(kAsTuple);
}

asio::awaitable<void> MessageStream::send() {
  while (!is_gone_) {
    if (unsent_.empty()) {
      if (closing_) break;
      co_await to_send_.async_wait(kAsTuple);
      continue;
    }
    const std::string message = std::move(unsent_.front());
    unsent_.pop_front();
    const bool written = co_await socket_->write(message);
    if (!written) lose();
    unsent_bytes_ -= message.size();
    if (has_room()) room_.cancel();
  }
  if (!is_gone_) co_await say_closing();
}

asio::awaitable<void> MessageStream::say_closing() {
  asio::steady_timer patience(io_, state_->options.linger_timeout);
  patience.async_wait([drop = wire_.drop](boost::system::error_code error) {
    if (!error) drop();
  });
  const bool closed = co_await socket_->close(closing_->code, closing_->reason);
  if (!closed) wire_.drop();
}

/// For want of messages, of a key, or of a server.
asio::awaitable<void> MessageStream::watch() {
  const HttpOptions& options = state_->options;
  while (!is_over()) {
    const bool is_idle = under_way_.empty();
    const auto patience = caller_ ? options.idle_timeout : options.header_timeout;
    if (is_idle && state_->phase != Phase::serving) {
      close(CloseCode::going_away, "the server is shutting down");
    } else if (is_idle && std::chrono::steady_clock::now() >= idle_since_ + patience) {
      if (caller_) {
        close(CloseCode::try_again_later, "nothing was under way for " + in_ms(patience));
      } else {
        close(CloseCode::policy_violation, "no key came within " + in_ms(patience));
      }
    } else {
      changed_.expires_at(is_idle ? idle_since_ + patience : kNever);
      co_await changed_.async_wait(kAsTuple);
    }
  }
}

void MessageStream::close(CloseCode code, std::string reason) {
  if (is_over()) return;
  closing_ = Closing{code, std::move(reason)};
  end_all();
}

void MessageStream::lose() {
  is_gone_ = true;
  end_all();
}

void MessageStream::end_all() {
  const auto works = under_way_;  // those that end leave it
  for (const auto& [id, work] : works) work->cancelled.emit(asio::cancellation_type::terminal);
  to_send_.cancel();
  room_.cancel();
  changed_.cancel();
}

}  // namespace forge::serve
