// Names of the files of tokenizers.
#pragma once

#include <string>

namespace forge::text::detail {

inline constexpr const char* kTokenizerJson = "tokenizer.json";
inline constexpr const char* kSentencePiece = "tokenizer.model";

/// tokenizer_config.json in the directory of `path`.
std::string config_path_beside(const std::string& path);

}  // namespace forge::text::detail
