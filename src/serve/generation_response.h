// What POST /forge/v1/generate answers: tokens, what is told of them, and a receipt.
//
//   whole    {..., "text", "tokens", "logprobs", "flip_risk", "finish_reason", "usage", "receipt"}
//   stream   {..., "text", "tokens", "logprobs", "flip_risk", "finish_reason"}   for each token
//            {..., "usage", "receipt"}                                           at the end
//
// `tokens` has what the model answered, so also the token that ends a text and those of a stop
// string, of which `text` has nothing.
#pragma once

#include <string>

#include "forge/receipt/receipt.h"
#include "forge/serve/openai_api.h"
#include "response_json.h"

namespace forge::serve {

/// Requires: the model has a fingerprint; `choice` has ended, by itself or by a limit, and all its
/// tokens have been told.
receipt::Receipt receipt_of(const CompletionRequest& request, const ModelCard& model,
                            const Choice& choice);

std::string generation_json(const AnswerHead& head, const Choice& choice, const Usage& usage,
                            const receipt::Receipt& receipt);
/// What an event says beside its head.
ResponseJson generation_chunk(const Chunk& chunk);
std::string generation_end_json(const AnswerHead& head, const Usage& usage,
                                const receipt::Receipt& receipt);

}  // namespace forge::serve
