// The turn of a chat request that names a session (chat_sessions.h): where it begins and is kept.
//
// Thread contract: the I/O thread.
#pragma once

#include <optional>
#include <tl/expected.hpp>

#include "chat_sessions.h"
#include "forge/serve/openai_api.h"

namespace forge::serve {

/// Puts the messages that were kept before those of the request; no turn if it names no session.
/// Errors: those of ChatSessions::begin.
tl::expected<std::optional<ChatSessions::Turn>, ApiError> begin_turn(ChatSessions& sessions,
                                                                     UntokenizedRequest& request);

/// Keeps the turn with its answer: the message as the client gets it, read as if it were sent back.
/// A message that could not be sent back is not kept, nor is its turn.
void keep_turn(ChatSessions::Turn& turn, const Choice& answer);

}  // namespace forge::serve
