// The readers of openai_api.h: from a body to an UntokenisedRequest.
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "forge/serve/openai_api.h"
#include "json_fields.h"

namespace forge::serve {
namespace {

using nlohmann::json;
using Tokens = std::vector<TokenId>;

constexpr std::size_t kPromptsMax = 64;
constexpr std::size_t kStopStringsMax = 4;
constexpr std::string_view kPromptForms =
    "a string, an array of token ids, or an array of either of these";

/// Below it, logits divided by the temperature could overflow; 0 itself is greedy.
constexpr double kTemperatureLowest = 1e-6;

/// Seconds: the clock's resolution here, and a day.
constexpr double kTimeoutLowest = 0.001;
constexpr double kTimeoutHighest = 86400;

std::string prompt_name(std::size_t index, bool in_array) {
  return in_array ? "'prompt[" + std::to_string(index) + "]'" : "'prompt'";
}

bool is_token_ids(const json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

tl::expected<Tokens, ApiError> read_token_ids(const json& ids, const ModelCard& model,
                                              const std::string& name) {
  Tokens tokens;
  tokens.reserve(ids.size());
  for (const json& id : ids) {
    const bool valid = id.is_number_unsigned() && id.get<std::uint64_t>() < model.vocabulary_size;
    if (!valid) {
      return tl::unexpected(bad_field("prompt", name + ": token ids are integers from 0 to " +
                                                    std::to_string(model.vocabulary_size - 1) +
                                                    ", got " + describe(id)));
    }
    tokens.emplace_back(id.get<std::uint32_t>());
  }
  return tokens;
}

tl::expected<UntokenisedPrompt, ApiError> read_prompt(const json& value, const ModelCard& model,
                                                      std::string name) {
  if (value.is_string()) return UntokenisedPrompt{std::move(name), value.get<std::string>()};
  if (!is_token_ids(value)) {
    return tl::unexpected(bad_field(
        "prompt", name + " must be " + std::string(kPromptForms) + ", got " + describe(value)));
  }
  auto ids = read_token_ids(value, model, name);
  if (!ids) return tl::unexpected(std::move(ids.error()));
  return UntokenisedPrompt{std::move(name), std::move(*ids)};
}

void read_prompts(JsonFields& fields, const ModelCard& model, UntokenisedRequest& request) {
  const json* value = fields.required("prompt", kPromptForms);
  if (value == nullptr) return;
  const bool many = value->is_array() && !is_token_ids(*value);
  const std::size_t count = many ? value->size() : 1;
  if (count < 1 || count > kPromptsMax) {
    fields.fail(bad_field("prompt", "'prompt' has " + std::to_string(count) +
                                        " prompts: accepted are 1 to " +
                                        std::to_string(kPromptsMax)));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto prompt = read_prompt(many ? (*value)[i] : *value, model, prompt_name(i, many));
    if (!prompt) return fields.fail(std::move(prompt.error()));
    request.prompts.push_back(std::move(*prompt));
  }
}

text::EncodeOptions read_encode_options(JsonFields& fields) {
  return {.begin_of_sequence = fields.boolean("add_special_tokens", true),
          .control_tokens = fields.boolean("parse_special", true)};
}

void read_max_tokens(JsonFields& fields, CompletionOptions& request) {
  const auto otherwise = static_cast<std::int64_t>(request.max_tokens);
  request.max_tokens = static_cast<std::uint32_t>(
      fields.integer("max_tokens", otherwise, {1, std::numeric_limits<std::int32_t>::max()}));
}

void read_sampling(JsonFields& fields, CompletionOptions& request) {
  const double temperature = fields.number("temperature", 1.0, {0, 2});
  if (temperature != 0 && temperature < kTemperatureLowest) {
    fields.fail(bad_field("temperature",
                          "'temperature' must be 0 (greedy) or a number from 0.000001 to 2, got " +
                              describe(*fields.value("temperature"))));
  }
  request.sampling.temperature = static_cast<float>(temperature);
  // A negative seed is as good as another: its bits count.
  request.sampling.seed = static_cast<std::uint64_t>(fields.integer(
      "seed", 0,
      {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}));
}

void read_stop(JsonFields& fields, CompletionOptions& request) {
  const json* value = fields.value("stop");
  if (value == nullptr) return;
  const json list = value->is_array() ? *value : json::array({*value});
  if (list.size() > kStopStringsMax) {
    return fields.fail(bad_field("stop", "'stop' has " + std::to_string(list.size()) +
                                             " strings: accepted are up to " +
                                             std::to_string(kStopStringsMax)));
  }
  for (const json& stop : list) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty()) {
      return fields.fail(bad_field(
          "stop", "'stop' must be a non-empty string or an array of up to " +
                      std::to_string(kStopStringsMax) + " of them, got " + describe(stop)));
    }
    request.stop.push_back(stop.get<std::string>());
  }
}

void read_stream(JsonFields& fields, CompletionOptions& request) {
  request.stream = fields.boolean("stream", false);
  const json* value = fields.value("stream_options");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields.fail(
        bad_field("stream_options", "'stream_options' must be an object, got " + describe(*value)));
  }
  if (!request.stream) {
    return fields.fail(bad_field(
        "stream_options", "'stream_options' is accepted only together with \"stream\": true"));
  }
  JsonFields options(*value, "stream_options.");
  request.include_usage = options.boolean("include_usage", false);
  options.only("include_obfuscation", false);
  if (auto error = options.finish()) fields.fail(std::move(*error));
}

void read_model(JsonFields& fields, const ModelCard& model) {
  const json* value = fields.required("model", "the id of the model, '" + model.id + "'");
  if (value == nullptr) return;
  if (!value->is_string()) {
    return fields.fail(bad_field("model", "'model' must be a string, got " + describe(*value)));
  }
  if (*value == model.id) return;
  fields.fail({.status = 404,
               .message = "the model " + shortened(value->dump()) +
                          " does not exist; this server has '" + model.id + "'",
               .param = "model",
               .code = "model_not_found"});
}

void read_user(JsonFields& fields) {
  const json* value = fields.value("user");
  if (value == nullptr || value->is_string()) return;
  fields.fail(bad_field("user", "'user' must be a string, got " + describe(*value)));
}

void read_session(JsonFields& fields, UntokenisedRequest& request) {
  const auto session = fields.integer("session", 0, {0, static_cast<std::int64_t>(kSessionIdMax)});
  if (fields.failed() || fields.value("session") == nullptr) return;
  if (request.prompts.size() > 1) {
    return fields.fail(bad_field("session", "'session' is accepted with one prompt: 'prompt' has " +
                                                std::to_string(request.prompts.size())));
  }
  if (request.prefix_cache == PrefixCacheUse::disable) {
    return fields.fail(
        bad_field("session", "'session' needs the prefix cache, which 'prefix_cache' disables"));
  }
  request.session = SessionId(static_cast<std::uint64_t>(session));
}

/// Forge's own fields, but those of the prompt.
void read_own_fields(JsonFields& fields, UntokenisedRequest& request) {
  // In the order of the enumerators.
  constexpr std::string_view kPriorities[] = {"low", "normal", "high"};
  constexpr std::string_view kUses[] = {"auto", "force", "disable"};
  request.priority = static_cast<Priority>(fields.choice("priority", 1, kPriorities));
  request.prefix_cache = static_cast<PrefixCacheUse>(fields.choice("prefix_cache", 0, kUses));
  read_session(fields, request);
  const double timeout = fields.number("timeout_s", 0, {kTimeoutLowest, kTimeoutHighest});
  if (timeout > 0) {
    request.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(timeout * 1000)));
  }
  request.deadline_steps = static_cast<std::uint64_t>(
      fields.integer("deadline_steps", 0, {0, std::numeric_limits<std::int64_t>::max()}));
  request.ignore_eos = fields.boolean("ignore_eos", false);
}

void read_unsupported(JsonFields& fields) {
  fields.only("n", 1);
  fields.only("best_of", 1);
  fields.only("top_p", 1);
  fields.only("echo", false);
  fields.only("logprobs", nullptr);
  fields.only("suffix", nullptr);
  fields.only("logit_bias", json::object());
  fields.only("frequency_penalty", 0);
  fields.only("presence_penalty", 0);
}

}  // namespace

tl::expected<UntokenisedRequest, ApiError> parse_completion_request(std::string_view body,
                                                                    const ModelCard& model) {
  const auto object = parse_json_object(body);
  if (!object) return tl::unexpected(object.error());
  JsonFields fields(*object);
  UntokenisedRequest request;
  read_model(fields, model);
  read_max_tokens(fields, request);
  read_prompts(fields, model, request);
  request.encode_options = read_encode_options(fields);
  read_sampling(fields, request);
  read_stop(fields, request);
  read_stream(fields, request);
  read_user(fields);
  read_own_fields(fields, request);
  read_unsupported(fields);
  if (auto error = fields.finish()) return tl::unexpected(std::move(*error));
  return request;
}

tl::expected<UntokenisedRequest, ApiError> parse_generate_request(std::string_view body,
                                                                  const ModelCard& model) {
  const auto object = parse_json_object(body);
  if (!object) return tl::unexpected(object.error());
  JsonFields fields(*object);
  UntokenisedRequest request;
  request.max_tokens = 32;
  read_max_tokens(fields, request);
  const json* prompt = fields.required("prompt", "a string");
  if (prompt != nullptr && !prompt->is_string()) {
    fields.fail(bad_field("prompt", "'prompt' must be a string, got " + describe(*prompt)));
  }
  if (!fields.failed()) read_prompts(fields, model, request);
  if (auto error = fields.finish()) return tl::unexpected(std::move(*error));
  return request;
}

}  // namespace forge::serve
