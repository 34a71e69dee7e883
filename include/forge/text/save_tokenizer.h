// Writes a tokenizer of Hugging Face as tokenizer.ggml.* of GGUF: what load_tokenizer.h reads.
//
//   tokenizer.json                              tokenizer.ggml.model
//   of bytes (ByteLevel), with merges           "gpt2", merges as they are; how text is cut into
//                                               words becomes a name, tokenizer.ggml.pre, of those
//                                               that llama.cpp has for such a regular expression;
//                                               "qwen2" also stands for normal form C
//   of characters (U+2581 for spaces) with      "llama", with scores: a token's is minus the place
//   byte_fallback                               of the first merge that makes it, so that the same
//                                               merge comes first
//
// A vocabulary that the model has padded is filled up with unused tokens, as llama.cpp expects.
// Source: https://github.com/ggml-org/ggml, docs/gguf.md; llama.cpp, convert_hf_to_gguf.py.
#pragma once

#include <string>
#include <vector>

#include "forge/formats/gguf_keys.h"

namespace forge::text {

/// Sets the keys for `directory`/tokenizer.json and tokenizer_config.json. Where there is no
/// tokenizer, or one that GGUF has no name for, tokenizer.ggml.model is "none". Returns the reason
/// for "none", and whatever else tokenizer.json says that these keys do not.
std::vector<std::string> save_tokenizer(const std::string& directory, int vocabulary_size,
                                        formats::GgufKeys& keys);

}  // namespace forge::text
