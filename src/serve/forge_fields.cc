// Readers of the fields that are Forge's own, but for those of sessions.
#include <cmath>
#include <limits>
#include <string>

#include "field_readers.h"
#include "forge/chat/chat_format.h"

namespace forge::serve {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

constexpr std::size_t kCacheSaltBytesMax = 1024;

/// Seconds: the clock's resolution here, and a day.
constexpr NumberRange kTimeouts = {0.001, 86400};

}  // namespace

void read_forge(const Reading& reading) {
  const auto forge = reading.fields.object("forge");
  if (!forge) return;
  reading.request.sampling.margins = forge->boolean("flip_risk", false);
  forge->finish();
}

void read_priority(const Reading& reading) {
  if (!reading.fields.has("priority")) return;
  reading.request.priority = reading.fields.choice<Priority>("priority", Priority::normal);
}

void read_prefix_cache(const Reading& reading) {
  reading.request.prefix_cache =
      reading.fields.choice<PrefixCacheUse>("prefix_cache", PrefixCacheUse::automatic);
}

void read_cache_salt(const Reading& reading) {
  reading.request.cache_salt = reading.fields.text("cache_salt", "");
  const std::size_t bytes = reading.request.cache_salt.size();
  if (bytes > kCacheSaltBytesMax || (bytes == 0 && reading.fields.has("cache_salt"))) {
    reading.fields.refuse("cache_salt", "has " + std::to_string(bytes) +
                                            " bytes; accepted are 1 .. " +
                                            std::to_string(kCacheSaltBytesMax));
  }
}

void read_timeout(const Reading& reading) {
  const double timeout = reading.fields.number("timeout_s", kTimeouts, 0);
  if (timeout <= 0) return;
  reading.request.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(timeout * 1000)));
}

void read_deadline(const Reading& reading) {
  reading.request.deadline_steps =
      reading.fields.integer<std::uint64_t>("deadline_steps", {0, kInt64Max}, 0);
}

void read_ignore_eos(const Reading& reading) {
  reading.request.ignore_eos = reading.fields.boolean("ignore_eos", false);
  const auto& calls = reading.request.sampling.grammar;  // of tools, which are read before
  if (reading.request.ignore_eos && calls && calls->after.empty()) {
    reading.fields.refuse("ignore_eos",
                          "is true; accepted is it only without a tool_choice that forces a call");
  }
}

void read_add_special_tokens(const Reading& reading) {
  // A template of the model prints what begins a text itself, and llama.cpp adds nothing.
  const auto& format = reading.model.chat;
  const auto& prompts = reading.request.prompts;
  const bool is_chat = !prompts.empty() && prompts.front().name == "messages";
  const bool printed = is_chat && format.has_value() && (*format)->of_model;
  const bool otherwise = !printed && reading.request.encode_options.add_special;
  reading.request.encode_options.add_special =
      reading.fields.boolean("add_special_tokens", otherwise);
}

void read_parse_special(const Reading& reading) {
  reading.request.encode_options.control_tokens = reading.fields.boolean("parse_special", true);
}

}  // namespace forge::serve
