// The part of Connection that becomes a WebSocket: GET /forge/v1/stream.
#include <boost/beast/core/buffers_to_string.hpp>
#include <memory>
#include <utility>

#include "connection.h"

namespace forge::serve {

MessageStream::Caller Connection::caller() const {
  MessageStream::Caller caller{.client = client_, .record = *record_};
  caller.record.status = 0;  // that of the upgrade
  return caller;
}

std::optional<MessageStream::Caller> Connection::admit_key(std::string_view key) {
  const ApiKey* const found = state_->keys ? state_->keys->find(key) : nullptr;
  if (found == nullptr) return std::nullopt;
  asker_ = {*found};
  client_ = client_of(asker_);
  record_->key = found->name;
  return caller();
}

asio::awaitable<bool> Connection::answer_messages(const HttpRequest& request,
                                                  const Framing& framing) {
  if (const auto refused = refuse_upgrade(request, keeps_alive(framing))) {
    co_return co_await send(*refused, framing);
  }
  auto socket = std::make_unique<WebSocket>(
      stream_, boost::beast::buffers_to_string(buffer_.data()), state_->options.write_timeout);
  buffer_.clear();
  note_answer(101, framing);
  const bool accepted = co_await socket->accept(request, framing.request_id);
  if (!accepted) {
    drop();
    co_return false;
  }
  const bool key_follows = state_->keys && !asker_.key;
  const auto self = shared_from_this();
  const auto messages = std::make_shared<MessageStream>(
      state_, std::move(socket), key_follows ? std::nullopt : std::optional(caller()),
      MessageStream::Wire{.admit = [self](std::string_view key) { return self->admit_key(key); },
                          .set_busy =
                              [self](bool busy) {
                                ConnectionTable& connections = self->state_->connections;
                                busy ? connections.set_busy(*self) : connections.set_idle(*self);
                              },
                          .drop = [self] { self->drop(); }});
  messages_ = messages;
  co_await messages->run();
  co_return false;
}

}  // namespace forge::serve
