// The readers of openai_api.h: from a body to an UntokenizedRequest.
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "forge/serve/openai_api.h"
#include "request_body.h"
#include "sampling_fields.h"

namespace forge::serve {
namespace {

using json::Fault;
using json::Fields;
using Tokens = std::vector<TokenId>;

constexpr std::size_t kPromptsMax = 64;
constexpr std::size_t kStopStringsMax = 16;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

/// Seconds: the clock's resolution here, and a day.
constexpr NumberRange kTimeouts = {0.001, 86400};

bool is_token_ids(const nlohmann::json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

/// Nothing and a fault if it is no prompt.
std::optional<UntokenizedPrompt> read_prompt(const nlohmann::json& value, std::string name,
                                             const ModelCard& model, Fault& fault) {
  if (value.is_string()) return UntokenizedPrompt{std::move(name), value.get<std::string>()};
  if (!is_token_ids(value)) {
    fault.set(name + " is " + json::shown(value) +
                  "; accepted is a text, a list of token ids, or a list of either of these",
              "prompt");
    return std::nullopt;
  }
  Tokens tokens;
  tokens.reserve(value.size());
  for (const nlohmann::json& id : value) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= model.vocabulary_size) {
      fault.set(name + " has the token id " + json::shown(id) + "; accepted is " +
                    accepted(IntegerRange{0, model.vocabulary_size - 1}),
                "prompt");
      return std::nullopt;
    }
    tokens.emplace_back(id.get<std::uint32_t>());
  }
  return UntokenizedPrompt{std::move(name), std::move(tokens)};
}

void read_prompts(const Fields& fields, const ModelCard& model, UntokenizedRequest& request) {
  const nlohmann::json* value = fields.find("prompt");
  if (value == nullptr) {
    return fields.fail("prompt", "a text, a list of token ids, or a list of either of these");
  }
  const bool many = value->is_array() && !is_token_ids(*value);
  const std::size_t count = many ? value->size() : 1;
  if (count < 1 || count > kPromptsMax) {
    return fields.refuse("prompt", "has " + std::to_string(count) + " prompts; accepted are 1 .. " +
                                       std::to_string(kPromptsMax));
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto prompt =
        read_prompt(many ? (*value)[i] : *value,
                    many ? "prompt[" + std::to_string(i) + "]" : "prompt", model, fields.fault());
    if (!prompt) return;
    request.prompts.push_back(std::move(*prompt));
  }
}

text::EncodeOptions read_encode_options(const Fields& fields) {
  return {.begin_of_sequence = fields.boolean("add_special_tokens", true),
          .control_tokens = fields.boolean("parse_special", true)};
}

void read_max_tokens(const Fields& fields, CompletionOptions& request) {
  request.max_tokens = fields.integer<std::uint32_t>(
      "max_tokens", {1, std::numeric_limits<std::int32_t>::max()}, request.max_tokens);
}

void read_stop(const Fields& fields, CompletionOptions& request) {
  const nlohmann::json* value = fields.find("stop");
  if (value == nullptr) return;
  const bool many = value->is_array();
  const nlohmann::json list = many ? *value : nlohmann::json::array({*value});
  const std::string most = std::to_string(kStopStringsMax);
  if (list.size() > kStopStringsMax) {
    return fields.refuse(
        "stop", "has " + std::to_string(list.size()) + " texts; accepted are up to " + most);
  }
  for (const nlohmann::json& stop : list) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty()) {
      return fields.refuse("stop", (many ? "has " : "is ") + json::shown(stop) +
                                       "; accepted is a text that is not empty, or a list of up "
                                       "to " +
                                       most + " of them");
    }
    request.stop.push_back(stop.get<std::string>());
  }
}

void read_stream(const Fields& fields, CompletionOptions& request) {
  request.stream = fields.boolean("stream", false);
  const auto options = fields.object("stream_options");
  if (!options) return;
  if (!request.stream) {
    return fields.refuse("stream_options", "is accepted only together with \"stream\": true");
  }
  request.include_usage = options->boolean("include_usage", false);
  options->only("include_obfuscation", false);
  options->finish();
}

void read_session(const Fields& fields, UntokenizedRequest& request) {
  const auto session = fields.integer<std::uint64_t>("session", {0, kSessionIdMax}, 0);
  if (fields.failed() || !fields.has("session")) return;
  if (request.prompts.size() > 1) {
    return fields.refuse("session", "is accepted with one prompt; 'prompt' has " +
                                        std::to_string(request.prompts.size()));
  }
  if (request.prefix_cache == PrefixCacheUse::disable) {
    return fields.refuse("session", "needs the prefix cache, which 'prefix_cache' disables");
  }
  request.session = SessionId(session);
}

/// Forge's own fields, but those of the prompt.
void read_own_fields(const Fields& fields, UntokenizedRequest& request) {
  request.priority = fields.choice<Priority>("priority", request.priority);
  request.prefix_cache = fields.choice<PrefixCacheUse>("prefix_cache", request.prefix_cache);
  read_session(fields, request);
  const double timeout = fields.number("timeout_s", kTimeouts, 0);
  if (timeout > 0) {
    request.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(timeout * 1000)));
  }
  request.deadline_steps = fields.integer<std::uint64_t>("deadline_steps", {0, kInt64Max}, 0);
  request.ignore_eos = fields.boolean("ignore_eos", false);
}

void read_unsupported(const Fields& fields) {
  fields.only("n", 1);
  fields.only("best_of", 1);
  fields.only("echo", false);
  fields.only("logprobs", nullptr);
  fields.only("suffix", nullptr);
}

}  // namespace

tl::expected<UntokenizedRequest, ApiError> parse_completion_request(std::string_view body,
                                                                    const ModelCard& model) {
  UntokenizedRequest request;
  std::string id;
  auto error = read_body(body, [&](const Fields& fields) {
    if (!fields.has("model")) fields.fail("model", "the id of the model, '" + model.id + "'");
    id = fields.text("model", "");
    read_max_tokens(fields, request);
    read_prompts(fields, model, request);
    request.encode_options = read_encode_options(fields);
    request.sampling = read_sampling(fields, model.vocabulary_size, 1);
    read_stop(fields, request);
    read_stream(fields, request);
    fields.text("user", "");
    read_own_fields(fields, request);
    read_unsupported(fields);
  });
  if (error) return tl::unexpected(*std::move(error));
  if (id != model.id) return tl::unexpected(model_not_found(id, model));
  return request;
}

tl::expected<UntokenizedRequest, ApiError> parse_generate_request(std::string_view body,
                                                                  const ModelCard& model) {
  UntokenizedRequest request;
  request.max_tokens = 32;
  auto error = read_body(body, [&](const Fields& fields) {
    read_max_tokens(fields, request);
    const nlohmann::json* prompt = fields.find("prompt");
    if (prompt == nullptr || !prompt->is_string()) fields.fail("prompt", "a text");
    if (!fields.failed()) read_prompts(fields, model, request);
    request.sampling = read_sampling(fields, model.vocabulary_size, 0);
  });
  if (error) return tl::unexpected(*std::move(error));
  return request;
}

}  // namespace forge::serve
