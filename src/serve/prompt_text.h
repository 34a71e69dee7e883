// From a prompt to its tokens, in two steps: messages become a text, and a text tokens.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/serve/openai_api.h"

namespace forge::serve {

/// "prompt[2]" is of the field "prompt".
std::string field_of(const std::string& name);

/// Messages become a text. Errors: 400 with the template's words.
std::optional<ApiError> render(UntokenizedPrompt& prompt, const ModelCard& model,
                               const std::tm& now);

/// Errors: 400 for a text with a byte that has no token. Requires: a text.
tl::expected<std::vector<TokenId>, ApiError> encode(const UntokenizedPrompt& prompt,
                                                    text::EncodeOptions options,
                                                    const text::Tokenizer& tokenizer);

}  // namespace forge::serve
