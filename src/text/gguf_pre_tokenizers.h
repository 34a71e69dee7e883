// The pre-tokenizers that GGUF files name in tokenizer.ggml.pre, and what else the name stands for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pre_tokenizer.h"

namespace forge::text::detail {

struct NamedCut {
  std::string_view pattern;
  PreTokenizer::Cut cut = PreTokenizer::Cut::isolated;
};

struct NamedPreTokenizer {
  std::vector<std::string_view> names;  ///< the first is written
  std::vector<NamedCut> cuts;           ///< one after the other
  /// What files of that name leave to be known.
  bool whole_pieces = false;  ///< a piece that is a token is not merged
  bool begin_of_sequence = false;
  bool composes = false;      ///< the models' tokenizer.json asks for normal form C
  bool characters = false;    ///< characters are merged, not bytes
  bool marks_spaces = false;  ///< U+2581 stands for a space, with characters
  bool whole_lines = false;   ///< a piece of line ends that is a token is not merged
};

std::span<const NamedPreTokenizer> gguf_pre_tokenizers();

/// The one of that name, or null.
const NamedPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);

/// Their names, "default, gpt-2, ...", for an error.
std::string gguf_pre_tokenizer_names();

}  // namespace forge::text::detail
