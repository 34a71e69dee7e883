// What answers of all kinds are made of.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "forge/serve/openai_api.h"

namespace forge::serve {

using ResponseJson = nlohmann::ordered_json;  // fields in the order in which OpenAI documents them

/// A token as OpenAI writes it: its text, or "bytes:\\xe2\\x82" where its bytes are no text.
std::string token_text(std::string_view bytes);

/// As the body of an answer; bytes that are no UTF-8 are replaced.
std::string text_of(const ResponseJson& body);

/// What all answers begin with: id, object, created, model, system_fingerprint.
ResponseJson beginning_json(const AnswerHead& head, bool chunk);

ResponseJson usage_json(const Usage& usage);

/// Of each token of the output how far it was from being another; null where there was no other.
ResponseJson flip_risk_json(std::span<const ToldText> told);

/// null while it is not finished.
ResponseJson finish_json(FinishReason reason, bool calls_tools);

/// The entry of a choice in the list of choices; of chat, whole or as an event.
ResponseJson completion_choice(std::size_t index, std::string_view text,
                               std::span<const ToldText> told);
ResponseJson chat_choice(std::size_t index, const Choice& choice);
ResponseJson chat_delta(const Chunk& chunk);

}  // namespace forge::serve
