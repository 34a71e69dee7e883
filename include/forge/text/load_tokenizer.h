// Reads the tokenizer of a checkpoint: from the files that Hugging Face's `tokenizers` writes, from
// SentencePiece's tokenizer.model, or from the metadata of a GGUF file.
//
// It reads byte-pair encodings of both kinds, and unigram models:
//
//   BPE of bytes        GPT-2, Llama 3, Qwen, DeepSeek, OLMo, Granite: a regular expression cuts
//                       the text into words, within which bytes are merged
//   BPE of characters   Llama 1 and 2, Mistral, Gemma, stories260K: as SentencePiece has it, U+2581
//                       stands for a space, one is put before the text, and characters outside the
//                       vocabulary are tokens <0x00> to <0xFF>, a byte each
//   unigram             T5, XLM-R, ALBERT and their kin: of all ways to cut a text into tokens the
//                       most likely one
//
//   where               BPE of bytes    BPE of characters            unigram
//   tokenizer.json      "BPE"           "BPE"                        "Unigram"
//   tokenizer.model                     model_type BPE               model_type UNIGRAM
//   GGUF                "gpt2"          "llama", by scores           "t5"
//                                       "gemma4", "gpt2" with the
//                                       names of its kind, by merges
//
// It does all that such a file asks for, or refuses it by name; WordPiece, for one.
//
// decode(encode(text)) is the text again; with tokens of characters, with the space that was put
// before it; as the file's normalizer left it, which for SentencePiece's models often is NFKC and
// one space in place of several; and in Unicode's normal form C where tokenizer.json asks for it
// (Qwen), or a GGUF file that cuts text as "qwen2": an "e" and a combining accent come back as the
// one character that they are equal to. (llama.cpp leaves such an "e" as it is, which gives it
// other tokens than the model was trained with. Nearly all text is in that form already.)
//
// "<0x41>" in a text is these six characters. (Hugging Face's `tokenizers` reads it as the byte
// where the model is unigram.)
//
// Files are not trusted: what is allocated is in proportion to its bytes; ids and spellings are
// unique; merges are of tokens that exist; a regular expression has a limited number of steps.
// Sources: https://huggingface.co/docs/tokenizers, https://github.com/ggml-org/ggml docs/gguf.md,
// https://github.com/google/sentencepiece src/sentencepiece_model.proto.
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

/// Reads the tokenizer that `path` names or has beside it: a directory with tokenizer.json or else
/// tokenizer.model, one of these files, a .safetensors file in such a directory, or a .gguf file.
/// tokenizer_config.json, if it is there, says what begins and ends a text (add_bos_token,
/// add_eos_token) and, beside tokenizer.model, which tokens were added to it; if it does not,
/// added_tokens.json does.
/// Errors: a file cannot be read, or as said above.
LoadedTokenizer load_tokenizer(const std::string& path);

/// Whether the directory has a file that load_tokenizer() reads.
bool has_tokenizer(const std::string& directory);

/// Reads tokenizer.ggml.*: see above. Copies what it needs. Errors: as said above.
LoadedTokenizer load_tokenizer(const formats::Gguf& file);

/// What load_tokenizer does with the contents of its two files, the second of which may be empty;
/// `path` is that of the first, for errors. For tests and fuzzers.
LoadedTokenizer parse_tokenizer(std::string_view tokenizer_json,
                                std::string_view tokenizer_config_json, const std::string& path);
struct SentencePieceFiles {
  std::string_view tokenizer_model;
  std::string_view tokenizer_config_json = {};  ///< as the next, empty where there is none
  std::string_view added_tokens_json = {};
};
LoadedTokenizer parse_sentence_piece(const SentencePieceFiles& files, const std::string& path);

}  // namespace forge::text
