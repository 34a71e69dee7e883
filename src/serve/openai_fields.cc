// Readers of the fields that OpenAI's API has, but for messages, prompts, tools and sampling.
#include <nlohmann/json.hpp>

#include "field_readers.h"
#include "forge/json/parse.h"

namespace forge::serve {

using json::Fields;

namespace {

constexpr std::size_t kChoicesMax = 64;
constexpr std::size_t kStopStringsMax = 16;

}  // namespace

void read_model(const Reading& reading) {
  if (!reading.fields.has("model")) {
    reading.fields.fail("model", "the id of the model, '" + reading.model.id + "'");
  }
  reading.request.model = reading.fields.text("model", "");
}

void read_max_tokens(const Reading& reading) {
  const bool generate = reading.kind == RequestKind::generate;
  reading.request.max_tokens = reading.fields.integer<std::uint32_t>(
      "max_tokens", {reading.kind == RequestKind::completions ? 0 : 1, kMaxTokensMax},
      generate ? 32 : 16);
}

/// Chat has two names for it, and no number where neither is given.
void read_max_completion_tokens(const Reading& reading) {
  const Fields& fields = reading.fields;
  const bool has_old = fields.has("max_tokens");
  const auto tokens = fields.integer<std::uint32_t>("max_completion_tokens", {1, kMaxTokensMax},
                                                    has_old ? reading.request.max_tokens : 1);
  if (has_old && tokens != reading.request.max_tokens) {
    return fields.refuse("max_completion_tokens",
                         "is " + std::to_string(tokens) + ", and max_tokens " +
                             std::to_string(reading.request.max_tokens) +
                             "; accepted is one of them, or the same number");
  }
  reading.request.max_tokens = tokens;
  reading.request.until_context_ends = !has_old && !fields.has("max_completion_tokens");
}

void read_echo(const Reading& reading) {
  reading.request.echo = reading.fields.boolean("echo", false);
  if (reading.request.max_tokens == 0 && !reading.request.echo) {
    reading.fields.fail("max_tokens",
                        "an integer, 1 .. 2147483647, or 0 together with \"echo\": true");
  }
}

void read_logprobs(const Reading& reading) {
  UntokenizedRequest& request = reading.request;
  if (!reading.fields.has("logprobs")) return;
  request.sampling.logprobs =
      reading.fields.integer<std::uint32_t>("logprobs", SamplingParams::kLogprobs, 0);
  request.sampling.prompt_logprobs = request.echo;
  if (!request.echo) return;
  if (request.session) {
    reading.fields.refuse("logprobs",
                          "of an echoed prompt need all of it to be run; accepted is no 'session' "
                          "beside them");
  }
}

/// Of chat: whether, and of how many of the likeliest.
void read_chat_logprobs(const Reading& reading) {
  const bool asked = reading.fields.boolean("logprobs", false);
  const auto likely =
      reading.fields.integer<std::uint32_t>("top_logprobs", SamplingParams::kLogprobs, 0);
  if (asked) {
    reading.request.sampling.logprobs = likely;
  } else if (reading.fields.has("top_logprobs") && likely > 0) {
    reading.fields.refuse(
        "top_logprobs",
        "is " + std::to_string(likely) + "; accepted is it only together with \"logprobs\": true");
  }
}

void read_chat_template_kwargs(const Reading& reading) {
  reading.fields.object("chat_template_kwargs");  // read with the messages
}

/// What read_messages() reads.
void read_with_messages(const Reading& reading) {
  for (const char* const name : {"tools", "tool_choice", "parallel_tool_calls"}) {
    reading.fields.find(name);
  }
}

void read_n(const Reading& reading) {
  const auto n = reading.fields.integer<std::uint32_t>("n", {1, kChoicesMax}, 1);
  const std::size_t prompts = reading.request.prompts.size();
  if (prompts * n > kChoicesMax) {
    return reading.fields.refuse(
        "n", "is " + std::to_string(n) + ", for each of " + std::to_string(prompts) +
                 " prompts; accepted are up to " + std::to_string(kChoicesMax) + " choices in all");
  }
  reading.request.n = reading.request.best_of = n;
}

void read_best_of(const Reading& reading) {
  const Fields& fields = reading.fields;
  UntokenizedRequest& request = reading.request;
  if (request.kind == RequestKind::chat) return fields.only("best_of", request.n);
  const auto best_of =
      fields.integer<std::uint32_t>("best_of", {request.n, kChoicesMax}, request.n);
  const std::size_t prompts = request.prompts.size();
  if (fields.failed() || best_of == request.n) return;
  if (prompts * best_of > kChoicesMax) {
    return fields.refuse("best_of", "is " + std::to_string(best_of) + ", for each of " +
                                        std::to_string(prompts) + " prompts; accepted are up to " +
                                        std::to_string(kChoicesMax) + " choices in all");
  }
  if (fields.boolean("stream", false)) {
    return fields.refuse("best_of", "is " + std::to_string(best_of) + "; accepted with stream is " +
                                        std::to_string(request.n) +
                                        ", as the best are known at the end");
  }
  request.best_of = best_of;
}

void read_stop(const Reading& reading) {
  const nlohmann::json* value = reading.fields.find("stop");
  if (value == nullptr) return;
  const bool many = value->is_array();
  const nlohmann::json list = many ? *value : nlohmann::json::array({*value});
  const std::string most = std::to_string(kStopStringsMax);
  if (list.size() > kStopStringsMax) {
    return reading.fields.refuse(
        "stop", "has " + std::to_string(list.size()) + " texts; accepted are up to " + most);
  }
  for (const nlohmann::json& stop : list) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty()) {
      return reading.fields.refuse("stop", (many ? "has " : "is ") + json::shown(stop) +
                                               "; accepted is a text that is not empty, or a list "
                                               "of up to " +
                                               most + " of them");
    }
    reading.request.stop.push_back(stop.get<std::string>());
  }
}

void read_stream(const Reading& reading) {
  reading.request.stream = reading.fields.boolean("stream", false);
}

void read_stream_options(const Reading& reading) {
  const auto options = reading.fields.object("stream_options");
  if (!options) return;
  if (!reading.request.stream) {
    return reading.fields.refuse("stream_options",
                                 "is accepted only together with \"stream\": true");
  }
  reading.request.include_usage = options->boolean("include_usage", false);
  reading.request.continuous_usage = options->boolean("continuous_usage_stats", false);
  options->only("include_obfuscation", false);
  options->finish();
}

void read_user(const Reading& reading) { reading.request.user = reading.fields.text("user", ""); }

void read_safety_identifier(const Reading& reading) {
  reading.fields.text("safety_identifier", "");
}

void read_prompt_cache_key(const Reading& reading) { reading.fields.text("prompt_cache_key", ""); }

}  // namespace forge::serve
