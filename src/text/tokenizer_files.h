// Names of the files of tokenizers.
#pragma once

#include <string>

namespace forge::text::detail {

inline constexpr const char* kTokenizerJson = "tokenizer.json";
inline constexpr const char* kSentencePiece = "tokenizer.model";

inline constexpr const char* kTokenizerConfig = "tokenizer_config.json";
inline constexpr const char* kAddedTokens = "added_tokens.json";

/// The file of this name in the directory of `path`.
std::string path_beside(const std::string& path, const char* name);

}  // namespace forge::text::detail
