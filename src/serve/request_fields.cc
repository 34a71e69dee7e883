// The table of request_fields.h.
#include "forge/serve/request_fields.h"

#include <vector>

#include "field_readers.h"

namespace forge::serve {
namespace {

constexpr RequestKinds kAll{
    .completions = true, .generate = true, .chat = true, .forge_generate = true};
constexpr RequestKinds kPrompted{.completions = true, .generate = true, .forge_generate = true};
constexpr RequestKinds kOpenAi{.completions = true, .chat = true};
constexpr RequestKinds kStreams{.completions = true, .chat = true, .forge_generate = true};
constexpr RequestKinds kCompletions{.completions = true};
constexpr RequestKinds kChat{.chat = true};
constexpr RequestKinds kTokenize{.tokenize = true};
constexpr RequestKinds kDetokenize{.detokenize = true};
constexpr RequestKinds kTokenizer{.tokenize = true, .detokenize = true};
constexpr RequestKinds kEncodes{
    .completions = true, .generate = true, .chat = true, .forge_generate = true, .tokenize = true};
constexpr RequestKinds kEncodesPrompts{
    .completions = true, .generate = true, .forge_generate = true, .tokenize = true};
constexpr RequestKinds kConverses{.chat = true, .tokenize = true};

/// A field that is accepted at one value only.
constexpr FieldReader only(std::string_view name, std::string_view value,
                           RequestKinds kinds = kOpenAi) {
  return {{.name = name, .accepted = value, .kinds = kinds}};
}

constexpr FieldReader kReaders[] = {
    {{"model", "the id of the model", "which model answers; required", kStreams}, read_model},
    {{"model", "the id of the model", "is nothing to the output", kTokenizer},
     read_tokenizers_model},
    {{"prompt", "a text, token ids, or a list of up to 64 of either",
      "what goes on; a choice each; required. `/generate` takes one text, `/forge/v1/generate` one "
      "text or token ids",
      kPrompted},
     read_prompts},
    {{"messages", "a list of objects with role, content, tool_calls, tool_call_id, name",
      "the conversation, which the model goes on with; required", kChat},
     read_messages},
    {{"prompt", "a text", "what becomes tokens; it, content or messages is required", kTokenize},
     read_text_prompt},
    {{"content", "a text",
      "the same, and asks for an answer as llama.cpp gives it, without add_special_tokens",
      kTokenize},
     read_content},
    {{"messages", "as of chat", "what becomes tokens, as the chat template spells it", kTokenize},
     read_messages},
    {{"add_generation_prompt", "true or false",
      "messages end with what begins the model's answer; true", kTokenize},
     read_add_generation_prompt},
    {{"tokens", "token ids", "what becomes text; required", kDetokenize}, read_tokens},
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
    {{"best_of", "n .. 64; of chat, and with stream, n",
      "choices of each prompt that are run, of which the n with the highest mean log-probability "
      "are answered; n",
      kOpenAi},
     read_best_of},
    {{"stop", "a text, or up to 16", "ends a choice before it", kAll}, read_stop},
    {{"stream", "true or false", "sends events as tokens come; false", kStreams}, read_stream},
    {{"stream_options", "include_usage, continuous_usage_stats: true or false",
      "usage in an event at the end; in each event; false", kOpenAi},
     read_stream_options},
    {{"user", "a text",
      "for whom the client asks: its users share what it has of the machine; nothing to the output",
      kStreams},
     read_user},
    {{"safety_identifier", "a text", "is nothing to the output", kChat}, read_safety_identifier},
    {{"prompt_cache_key", "a text", "is nothing to the output", kChat}, read_prompt_cache_key},
    {{"chat_template_kwargs", "an object", "more variables of the chat template; none", kConverses},
     read_chat_template_kwargs},

    {{"tools",
      "up to 128 of {\"type\": \"function\", \"function\": {name, description, parameters}}",
      "what the model may call; none", kChat},
     read_with_messages},
    {{"tool_choice",
      "\"none\", \"auto\", \"required\", or {\"type\": \"function\", \"function\": {name}}",
      "no calls; calls or text; calls; calls of this tool; auto", kChat},
     read_with_messages},
    {{"parallel_tool_calls", "true or false", "whether an answer may have several calls; true",
      kChat},
     read_with_messages},

    {{"priority", "\"low\", \"normal\", \"high\"",
      "which requests go first; 403 above what the client may ask for; normal, or that", kAll},
     read_priority},
    {{"prefix_cache", "\"auto\", \"disable\"",
      "disable neither reads nor leaves KV of others; auto", kAll},
     read_prefix_cache},
    {{"cache_salt", "a string of 1 .. 1024 bytes",
      "prefixes are shared with requests that have the same, and the same key; none", kAll},
     read_cache_salt},
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
      kEncodes},
     read_add_special_tokens},
    {{"add_special", "true or false", "add_special_tokens by the name that llama.cpp has for it",
      kTokenize},
     read_add_special},
    {{"parse_special", "true or false",
      "spellings of control tokens in the text of a prompt are these tokens; true",
      kEncodesPrompts},
     read_parse_special},
    {{"return_token_strs", "true or false", "tokens as the vocabulary spells them, too; false",
      kTokenize},
     read_return_token_strs},
    {{"with_pieces", "true or false",
      "each token is an object with its id and its text, or its bytes where they are no text; "
      "false",
      kTokenize},
     read_with_pieces},

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
    only("kv_transfer_params", "null"),
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
    only("continue_final_message", "false", kConverses),
    only("documents", "null", kChat),
    only("chat_template", "null", kConverses),
    only("tools", "null", kTokenize),
    only("mm_processor_kwargs", "null", kTokenize),
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
