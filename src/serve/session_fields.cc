// The fields that make a request a turn of a session.
#include <cstdint>
#include <limits>
#include <string>

#include "field_readers.h"

namespace forge::serve {

using json::Fields;

void read_session(const Reading& reading) {
  const Fields& fields = reading.fields;
  const UntokenizedRequest& request = reading.request;
  const auto session = fields.integer<std::uint64_t>("session", {0, kSessionIdMax}, 0);
  if (fields.failed() || !fields.has("session")) return;
  if (request.prompts.size() > 1) {
    return fields.refuse("session", "is accepted with one prompt; 'prompt' has " +
                                        std::to_string(request.prompts.size()));
  }
  if (request.best_of > 1) {
    return fields.refuse(
        "session", "is accepted with one choice; there are " + std::to_string(request.best_of));
  }
  if (request.prefix_cache == PrefixCacheUse::disable) {
    return fields.refuse("session", "needs the prefix cache, which 'prefix_cache' disables");
  }
  reading.request.session = SessionId(session);
}

void read_session_messages(const Reading& reading) {
  const Fields& fields = reading.fields;
  const auto messages = fields.integer<std::uint64_t>(
      "session_messages", {0, std::numeric_limits<std::int64_t>::max()}, 0);
  if (!fields.has("session_messages")) return;
  if (!reading.request.session) {
    return fields.refuse("session_messages", "is accepted only together with 'session'");
  }
  reading.request.session_messages = messages;
}

}  // namespace forge::serve
