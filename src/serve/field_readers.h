// How the fields of the table in request_fields.h are read: a function for each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/json/fields.h"
#include "forge/serve/openai_api.h"
#include "forge/serve/request_fields.h"

namespace forge::serve {

/// A body on its way to becoming a request.
struct Reading {
  const json::Fields& fields;
  std::string_view body;  ///< the text that has the fields
  const ModelCard& model;
  RequestKind kind;
  UntokenizedRequest& request;
};

struct FieldReader {
  RequestField field;
  void (*read)(const Reading&) = nullptr;  ///< null for a field that is not honoured
};

/// The readers of the table, in its order; below, each with the file that has it.
std::span<const FieldReader> field_readers();

// openai_fields.cc
void read_model(const Reading& reading);
void read_max_tokens(const Reading& reading);
void read_max_completion_tokens(const Reading& reading);
void read_echo(const Reading& reading);
void read_logprobs(const Reading& reading);
void read_chat_logprobs(const Reading& reading);
void read_chat_template_kwargs(const Reading& reading);
void read_with_messages(const Reading& reading);
void read_n(const Reading& reading);
void read_best_of(const Reading& reading);
void read_stop(const Reading& reading);
void read_stream(const Reading& reading);
void read_stream_options(const Reading& reading);
void read_user(const Reading& reading);
void read_safety_identifier(const Reading& reading);
void read_prompt_cache_key(const Reading& reading);

// forge_fields.cc
void read_forge(const Reading& reading);
void read_priority(const Reading& reading);
void read_prefix_cache(const Reading& reading);
void read_cache_salt(const Reading& reading);
void read_timeout(const Reading& reading);
void read_deadline(const Reading& reading);
void read_ignore_eos(const Reading& reading);
void read_add_special_tokens(const Reading& reading);
void read_parse_special(const Reading& reading);

// prompt_fields.cc
void read_prompts(const Reading& reading);
/// Token ids of the vocabulary; nothing and a fault of the field `field` for anything else. `name`
/// is that of the list in the fault.
std::optional<std::vector<TokenId>> read_token_ids(const nlohmann::json& list,
                                                   const std::string& name, const char* field,
                                                   const Reading& reading);

// message_fields.cc
void read_messages(const Reading& reading);
/// The message of an answer, in the form that chat templates expect, as if a client had sent it
/// back. nullopt if it could not be sent back.
std::optional<nlohmann::ordered_json> message_of_answer(const nlohmann::ordered_json& answer);

// session_fields.cc
void read_session(const Reading& reading);
void read_session_messages(const Reading& reading);

// tokenizer_fields.cc
void read_text_prompt(const Reading& reading);
void read_content(const Reading& reading);
void read_add_generation_prompt(const Reading& reading);
void read_tokens(const Reading& reading);
void read_tokenizers_model(const Reading& reading);
void read_add_special(const Reading& reading);
void read_return_token_strs(const Reading& reading);
void read_with_pieces(const Reading& reading);

// sampling_fields.cc
void read_temperature(const Reading& reading);
void read_seed(const Reading& reading);
void read_logit_bias(const Reading& reading);
void read_repetition_penalty(const Reading& reading);
void read_presence_penalty(const Reading& reading);
void read_frequency_penalty(const Reading& reading);
void read_top_k(const Reading& reading);
void read_top_p(const Reading& reading);
void read_min_p(const Reading& reading);

// grammar_fields.cc
void read_response_format(const Reading& reading);
void read_structured_outputs(const Reading& reading);
void read_json_schema(const Reading& reading);
void read_guided_json(const Reading& reading);
void read_plain_regex(const Reading& reading);
void read_guided_regex(const Reading& reading);
void read_plain_choice(const Reading& reading);
void read_guided_choice(const Reading& reading);

}  // namespace forge::serve
