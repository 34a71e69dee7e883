#include "chat_turn.h"

#include <memory>
#include <utility>

#include "field_readers.h"
#include "forge/chat/chat_template.h"
#include "ownership.h"
#include "response_json.h"

namespace forge::serve {

using Clock = ChatSessions::Clock;

tl::expected<std::optional<ChatSessions::Turn>, ApiError> begin_turn(ChatSessions& sessions,
                                                                     UntokenizedRequest& request) {
  if (request.kind != RequestKind::chat || !request.session) return std::nullopt;
  auto& content = request.prompts.front().content;
  auto all = std::make_shared<chat::Conversation>(
      *std::get<std::shared_ptr<const chat::Conversation>>(content));
  auto turn =
      sessions.begin({session_of(request.owner, *request.session), request.session_messages},
                     std::move(all->messages), Clock::now());
  if (!turn) return tl::unexpected(std::move(turn.error()));
  all->messages = turn->messages();
  content = std::move(all);
  return std::optional<ChatSessions::Turn>(*std::move(turn));
}

void keep_turn(ChatSessions::Turn& turn, const Choice& answer) {
  auto message = message_of_answer(chat_choice(0, answer)["message"]);
  if (message) turn.keep(*std::move(message), Clock::now());
}

}  // namespace forge::serve
