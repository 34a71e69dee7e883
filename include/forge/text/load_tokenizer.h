// Reads the tokenizer of a checkpoint: from the files that Hugging Face's `tokenizers` writes, or
// from the metadata of a GGUF file.
//
// It reads byte-pair encodings of both kinds:
//
//   of bytes        GPT-2, Llama 3, Qwen, DeepSeek, OLMo, Granite: a regular expression cuts the
//                   text into words, within which bytes are merged
//   of characters   Llama 1 and 2, Mistral, stories260K: as SentencePiece has it, U+2581 stands for
//                   a space, one is put before the text, and characters outside the vocabulary are
//                   tokens <0x00> to <0xFF>, a byte each
//
// It does all that such a file asks for, or refuses it by name.
//
// decode(encode(text)) is the text again; with merges of characters, with the space that was put
// before it; and in Unicode's normal form C where tokenizer.json asks for it (Qwen), or a GGUF file
// that cuts text as "qwen2": an "e" and a combining accent come back as the one character that they
// are equal to. (llama.cpp leaves such an "e" as it is, which gives it other tokens than the model
// was trained with. Nearly all text is in that form already.)
//
// Files are not trusted: what is allocated is in proportion to its bytes; ids and spellings are
// unique; merges are of tokens that exist; a regular expression has a limited number of steps.
// Sources: https://huggingface.co/docs/tokenizers, https://github.com/ggml-org/ggml docs/gguf.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/formats/file_error.h"
#include "forge/formats/gguf.h"
#include "forge/text/tokenizer.h"

namespace forge::text {

using LoadedTokenizer = tl::expected<std::unique_ptr<const Tokenizer>, formats::FileError>;

/// Reads `directory`/tokenizer.json and, if it exists, `directory`/tokenizer_config.json, which
/// says what ends a text and decides what begins one (add_bos_token).
/// Errors: a file cannot be read, or as said above.
LoadedTokenizer load_tokenizer(const std::string& directory);

/// Reads tokenizer.ggml.*: `model` "llama" (of characters, with scores) or "gpt2" (of bytes, with
/// merges). Copies what it needs. Errors: as said above.
LoadedTokenizer load_tokenizer(const formats::Gguf& file);

/// What load_tokenizer does with the texts of its two files, the second of which may be empty;
/// `path` is that of the first, for errors. For tests and fuzzers.
LoadedTokenizer parse_tokenizer(std::string_view tokenizer_json,
                                std::string_view tokenizer_config_json, const std::string& path);

}  // namespace forge::text
