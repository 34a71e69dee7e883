// How the fields of the table in request_fields.h are read: a function for each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "forge/json/fields.h"
#include "forge/serve/openai_api.h"
#include "forge/serve/request_fields.h"

namespace forge::serve {

/// A body on its way to becoming a request.
struct Reading {
  const json::Fields& fields;
  const ModelCard& model;
  RequestKind kind;
  UntokenizedRequest& request;
};

struct FieldReader {
  RequestField field;
  void (*read)(const Reading&) = nullptr;  ///< null for a field that is not honoured
};

/// The readers of the table, in its order. Those of prompts, of sampling and of grammars are in
/// files of their own.
std::span<const FieldReader> field_readers();

void read_prompts(const Reading& reading);
void read_messages(const Reading& reading);
/// The message of an answer, in the form that chat templates expect, as if a client had sent it
/// back. nullopt if it could not be sent back.
std::optional<nlohmann::ordered_json> message_of_answer(const nlohmann::ordered_json& answer);
void read_temperature(const Reading& reading);
void read_seed(const Reading& reading);
void read_logit_bias(const Reading& reading);
void read_repetition_penalty(const Reading& reading);
void read_presence_penalty(const Reading& reading);
void read_frequency_penalty(const Reading& reading);
void read_top_k(const Reading& reading);
void read_top_p(const Reading& reading);
void read_min_p(const Reading& reading);
void read_response_format(const Reading& reading);
void read_structured_outputs(const Reading& reading);
void read_json_schema(const Reading& reading);
void read_guided_json(const Reading& reading);
void read_plain_regex(const Reading& reading);
void read_guided_regex(const Reading& reading);
void read_plain_choice(const Reading& reading);
void read_guided_choice(const Reading& reading);
void read_session(const Reading& reading);
void read_session_messages(const Reading& reading);

}  // namespace forge::serve
