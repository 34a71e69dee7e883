// The table of request_fields.h, and the readers of fields that need no page of their own.
#include "forge/serve/request_fields.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "field_readers.h"
#include "forge/chat/chat_format.h"
#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using json::Fields;

constexpr std::size_t kChoicesMax = 64;
constexpr std::size_t kStopStringsMax = 16;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

/// Seconds: the clock's resolution here, and a day.
constexpr NumberRange kTimeouts = {0.001, 86400};

// ---- Of OpenAI ----------------------------------------------------------------------------------

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
  if (request.session || request.prefix_cache == PrefixCacheUse::force) {
    reading.fields.refuse("logprobs",
                          "of an echoed prompt need all of it to be run; accepted is neither "
                          "'session' nor 'prefix_cache' force beside them");
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

void read_forge(const Reading& reading) {
  const auto forge = reading.fields.object("forge");
  if (!forge) return;
  reading.request.sampling.margins = forge->boolean("flip_risk", false);
  forge->finish();
}

void read_n(const Reading& reading) {
  const auto n = reading.fields.integer<std::uint32_t>("n", {1, kChoicesMax}, 1);
  const std::size_t prompts = reading.request.prompts.size();
  if (prompts * n > kChoicesMax) {
    return reading.fields.refuse(
        "n", "is " + std::to_string(n) + ", for each of " + std::to_string(prompts) +
                 " prompts; accepted are up to " + std::to_string(kChoicesMax) + " choices in all");
  }
  reading.request.n = n;
}

void read_best_of(const Reading& reading) { reading.fields.only("best_of", reading.request.n); }

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

void read_user(const Reading& reading) { reading.fields.text("user", ""); }

void read_safety_identifier(const Reading& reading) {
  reading.fields.text("safety_identifier", "");
}

void read_prompt_cache_key(const Reading& reading) { reading.fields.text("prompt_cache_key", ""); }

// ---- Forge's own --------------------------------------------------------------------------------

void read_priority(const Reading& reading) {
  reading.request.priority = reading.fields.choice<Priority>("priority", Priority::normal);
}

void read_prefix_cache(const Reading& reading) {
  reading.request.prefix_cache =
      reading.fields.choice<PrefixCacheUse>("prefix_cache", PrefixCacheUse::automatic);
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
}

void read_add_special_tokens(const Reading& reading) {
  // A template of the model prints what begins a text itself.
  const auto& format = reading.model.chat;
  const bool printed =
      reading.kind == RequestKind::chat && format.has_value() && (*format)->of_model;
  reading.request.encode_options.begin_of_sequence =
      reading.fields.boolean("add_special_tokens", !printed);
}

void read_parse_special(const Reading& reading) {
  reading.request.encode_options.control_tokens = reading.fields.boolean("parse_special", true);
}

// ---- The table ----------------------------------------------------------------------------------

constexpr RequestKinds kAll{.completions = true, .generate = true, .chat = true};
constexpr RequestKinds kPrompted{.completions = true, .generate = true};
constexpr RequestKinds kOpenAi{.completions = true, .chat = true};
constexpr RequestKinds kCompletions{.completions = true};
constexpr RequestKinds kChat{.chat = true};

/// A field that is accepted at one value only.
constexpr FieldReader only(std::string_view name, std::string_view value,
                           RequestKinds kinds = kOpenAi) {
  return {{.name = name, .accepted = value, .kinds = kinds}};
}

constexpr FieldReader kReaders[] = {
    {{"model", "the id of the model", "which model answers; required", kOpenAi}, read_model},
    {{"prompt", "a text, token ids, or a list of up to 64 of either",
      "what goes on; a choice each; required. `/generate` takes one text", kPrompted},
     read_prompts},
    {{"messages", "a list of objects with role, content, tool_calls, tool_call_id, name",
      "the conversation, which the model goes on with; required", kChat},
     read_messages},
    {{"max_tokens", "an integer from 1, with echo from 0",
      "the most tokens of a choice; 16, of `/generate` 32, of chat what the context leaves", kAll},
     read_max_tokens},
    {{"max_completion_tokens", "an integer from 1", "the same, by its newer name", kChat},
     read_max_completion_tokens},
    {{"temperature", "0 .. 2", "0 is greedy; 1, of `/generate` 0", kAll}, read_temperature},
    {{"seed", "an integer of 64 bits", "the noise of sampling; 0", kAll}, read_seed},
    {{"top_p", "0 .. 1", "keeps the most likely tokens of this part of the mass; 1", kAll},
     read_top_p},
    {{"top_k", "an integer from -1", "keeps so many of the most likely tokens; 0 and -1 keep all",
      kAll},
     read_top_k},
    {{"min_p", "0 .. 1", "keeps tokens at least this times as likely as the best; 0", kAll},
     read_min_p},
    {{"repetition_penalty", "0.0625 .. 16",
      "divides the logits above 0 of tokens in prompt or output, multiplies the others; 1", kAll},
     read_repetition_penalty},
    {{"presence_penalty", "-2 .. 2", "is taken from the logits of tokens in the output; 0", kAll},
     read_presence_penalty},
    {{"frequency_penalty", "-2 .. 2", "the same for each time that the output has the token; 0",
      kAll},
     read_frequency_penalty},
    {{"logit_bias", "an object {\"token id\": -100 .. 100} of up to 1024",
      "is added to the logits of these tokens", kAll},
     read_logit_bias},
    {{"n", "1 .. 64", "choices of each prompt, 64 in all; choice i has the seed + i; 1", kOpenAi},
     read_n},
    {{"best_of", "the value of n", "n without the rest, that is, nothing", kOpenAi}, read_best_of},
    {{"stop", "a text, or up to 16", "ends a choice before it", kAll}, read_stop},
    {{"stream", "true or false", "sends events as tokens come; false", kOpenAi}, read_stream},
    {{"stream_options", "include_usage, continuous_usage_stats: true or false",
      "usage in an event at the end; in each event; false", kOpenAi},
     read_stream_options},
    {{"user", "a text", "is nothing to the output", kOpenAi}, read_user},
    {{"safety_identifier", "a text", "is nothing to the output", kChat}, read_safety_identifier},
    {{"prompt_cache_key", "a text", "is nothing to the output", kChat}, read_prompt_cache_key},
    {{"chat_template_kwargs", "an object", "more variables of the chat template; none", kChat},
     read_chat_template_kwargs},

    {{"priority", "\"low\", \"normal\", \"high\"", "which requests go first; normal", kAll},
     read_priority},
    {{"prefix_cache", "\"auto\", \"force\", \"disable\"",
      "force is an error if the server has no prefix cache; auto", kAll},
     read_prefix_cache},
    {{"session", "an integer from 0",
      "a conversation, whose KV stays for its next turn until DELETE /forge/v1/sessions/ID or for "
      "--session-idle-steps",
      kPrompted},
     read_session},
    {{"session", "an integer from 0",
      "a conversation, whose messages the server keeps: `messages` are the new ones. Until DELETE "
      "/forge/v1/sessions/ID or for --chat-session-idle-s",
      kChat},
     read_session},
    {{"session_messages", "an integer from 0",
      "an error if the session has another number of messages; any", kChat},
     read_session_messages},
    {{"timeout_s", "0.001 .. 86400",
      "seconds, after which the request ends with what it has; the server's limit, if it is "
      "shorter",
      kAll},
     read_timeout},
    {{"deadline_steps", "an integer from 0", "the same in steps of the engine; 0 is no limit",
      kAll},
     read_deadline},
    {{"ignore_eos", "true or false", "goes on after the end-of-sequence token; false", kAll},
     read_ignore_eos},
    {{"add_special_tokens", "true or false",
      "a prompt that is a text begins with the begin-of-sequence token; true; after a chat "
      "template of the model false",
      kAll},
     read_add_special_tokens},
    {{"parse_special", "true or false",
      "spellings of control tokens in the text of a prompt are these tokens; true", kPrompted},
     read_parse_special},

    {{"echo", "true or false", "the text begins with that of the prompt; false", kCompletions},
     read_echo},
    {{"logprobs", "0 .. 20",
      "the log-probability of each token, of an echoed prompt, too, and so many of the likeliest; "
      "none",
      kCompletions},
     read_logprobs},
    {{"logprobs", "true or false", "the log-probability of each token; false", kChat},
     read_chat_logprobs},
    {{"top_logprobs", "0 .. 20", "with logprobs so many of the likeliest tokens, too; 0", kChat},
     read_chat_logprobs},
    {{"forge", "{\"flip_risk\": true or false}",
      "of each token by how much logits would have to change for another; false", kOpenAi},
     read_forge},

    {{"response_format",
      "{\"type\": \"text\", \"json_object\" or \"json_schema\"}, with json_schema: {name, "
      "description, schema, strict}",
      "the answer is JSON, an object or of a schema, which is always strict; text", kAll},
     read_response_format},
    {{"structured_outputs", "an object with one of json, regex, choice, json_object",
      "the answer is of a schema, an expression or a list, or an object; none", kAll},
     read_structured_outputs},
    {{"json_schema", "a JSON Schema, or one as a text", "the answer is an instance of it; none",
      kAll},
     read_json_schema},
    {{"regex", "a regular expression", "the answer matches it as a whole; none", kAll},
     read_plain_regex},
    {{"choice", "a list of up to 1024 texts", "the answer is one of them; none", kAll},
     read_plain_choice},
    {{"guided_json", "as json_schema", "the same, by vLLM's older name", kAll}, read_guided_json},
    {{"guided_regex", "as regex", "the same, by vLLM's older name", kAll}, read_guided_regex},
    {{"guided_choice", "as choice", "the same, by vLLM's older name", kAll}, read_guided_choice},

    only("prompt_logprobs", "null"),
    only("suffix", "null", kCompletions),
    only("min_tokens", "0"),
    only("stop_token_ids", "[]"),
    only("include_stop_str_in_output", "false"),
    only("skip_special_tokens", "true"),
    only("spaces_between_special_tokens", "true"),
    only("length_penalty", "1"),
    only("use_beam_search", "false"),
    only("allowed_token_ids", "null"),
    only("truncate_prompt_tokens", "null"),
    only("store", "false"),
    only("metadata", "{}"),
    only("service_tier", "\"auto\""),
    only("request_id", "null"),
    only("cache_salt", "null"),
    only("kv_transfer_params", "null"),
    only("tools", "null", kChat),
    only("tool_choice", "\"none\"", kChat),
    only("parallel_tool_calls", "true", kChat),
    only("reasoning_effort", "null", kChat),
    only("include_reasoning", "true", kChat),
    only("modalities", "[\"text\"]", kChat),
    only("audio", "null", kChat),
    only("prediction", "null", kChat),
    only("functions", "null", kChat),
    only("function_call", "null", kChat),
    only("web_search_options", "null", kChat),
    only("verbosity", "null", kChat),
    only("echo", "false", kChat),
    only("add_generation_prompt", "true", kChat),
    only("continue_final_message", "false", kChat),
    only("documents", "null", kChat),
    only("chat_template", "null", kChat),
};

}  // namespace

std::span<const FieldReader> field_readers() { return kReaders; }

std::span<const RequestField> request_fields() {
  static const std::vector<RequestField> kFields = [] {
    std::vector<RequestField> fields;
    fields.reserve(std::size(kReaders));
    for (const FieldReader& reader : kReaders) fields.push_back(reader.field);
    return fields;
  }();
  return kFields;
}

}  // namespace forge::serve
