// The answers of POST /tokenize, POST /detokenize, GET /tokenizer_info, GET /props and of requests
// that are rendered and not run: pure functions, which take time in proportion to the text.
//
//   request                             answer
//   {"prompt": ..} or {"messages": ..}  {"count": 2, "max_model_len": 512, "tokens": [1, 2],
//                                        "token_strs": null}                    as vLLM
//   {"content": ..}                     {"tokens": [1, 2]}                      as llama.cpp
//   {"tokens": [1, 2]}                  {"prompt": "..", "content": ".."}       as either
//
// With with_pieces the tokens are objects {"id": 1, "piece": ".."}; a piece that is a part of a
// character alone is a list of its bytes. /detokenize spells out control tokens, as both do.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <tl/expected.hpp>

#include "forge/serve/openai_api.h"

namespace forge::serve {

/// The body of the answer to a request that is_of_tokenizer(). Errors: those of rendering messages,
/// and a text with a byte that has no token.
tl::expected<std::string, ApiError> tokenizer_answer(UntokenizedRequest request,
                                                     const ModelCard& model,
                                                     const text::Tokenizer& tokenizer,
                                                     const std::tm& now);

/// What clients ask that use the server's tokenizer as their own: spellings of the tokens with a
/// task, null where there is none, the length of the context, and the chat template.
std::string tokenizer_info(const ModelCard& model, const text::Tokenizer& tokenizer);

/// What clients of llama.cpp's server ask first: the length of the context, so many `places` in the
/// batch, the chat template and the tokens around a text, empty where there are none.
std::string model_props(const ModelCard& model, const text::Tokenizer& tokenizer,
                        std::uint32_t places);

/// The body of the answer to a request that only renders: an object for messages, a list of one for
/// each prompt otherwise, {"request_id": id, "model": .., "token_ids": [..], "max_tokens": ..}.
/// Routers read token_ids (llm-d's and Dynamo's, which ask vLLM the same).
std::string rendered_json(const CompletionRequest& request, const ModelCard& model,
                          const std::string& id);

}  // namespace forge::serve
