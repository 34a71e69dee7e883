// The pre-tokenizers that GGUF files name in tokenizer.ggml.pre, and what else the name stands for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forge::text::detail {

struct NamedPreTokenizer {
  std::vector<std::string_view> names;     ///< the first is written
  std::vector<std::string_view> patterns;  ///< one after the other, each isolating its matches
  /// What files of that name leave to be known.
  bool whole_pieces = false;  ///< a piece that is a token is not merged
  bool begin_of_sequence = false;
  bool composes = false;  ///< the models' tokenizer.json asks for normal form C
};

std::span<const NamedPreTokenizer> gguf_pre_tokenizers();

/// Their names, "default, gpt-2, ...", for an error.
std::string gguf_pre_tokenizer_names();

}  // namespace forge::text::detail
