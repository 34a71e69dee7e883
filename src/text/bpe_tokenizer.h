// BpeTokenizer: byte-pair encoding, of bytes or of characters, as checkpoints describe it.
//
//   text --AddedTokens--> parts --Normalizer--> --AddedTokens--> parts --PreTokenizer--> pieces
//        --Alphabet--> symbols --Merges--> tokens
//
// The stages and their order are those of Hugging Face's `tokenizers`
// (https://huggingface.co/docs/tokenizers/pipeline). A text that is not valid UTF-8 is encoded as
// the text that it decodes to, with U+FFFD in place of what is ill-formed.
//
// Thread contract: const, any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "added_tokens.h"
#include "alphabet.h"
#include "forge/text/tokenizer.h"
#include "merges.h"
#include "normalizer.h"
#include "pre_tokenizer.h"

namespace forge::text::detail {

struct BpeToken {
  std::string bytes;
  bool control = false;
};

/// What a checkpoint's stages are made of.
struct BpeStages {
  AddedTokens added;  ///< found in the text as it is
  Normalizer normalizer;
  AddedTokens added_normalized;  ///< found in what the normalizer made
  Normalizer marks;              ///< what the pre-tokenizer writes into its parts before it cuts
  PreTokenizer pre_tokenizer;
  Alphabet alphabet;
  Merges merges;
  bool whole_pieces = false;  ///< a piece that is a token is not merged
};

/// What does not depend on the text.
struct BpeVocabulary {
  std::vector<BpeToken> tokens;  ///< by their ids
  std::optional<TokenId> begin_of_sequence;
  std::vector<TokenId> eos;
  std::optional<std::size_t> token_bytes_max;             ///< as Tokenizer has it
  std::unordered_map<std::string, std::uint32_t> pieces;  ///< by their bytes, for whole_pieces
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeVocabulary vocabulary, BpeStages stages)
      : vocabulary_(std::move(vocabulary)), stages_(std::move(stages)) {}

  std::uint32_t vocabulary_size() const override {
    return static_cast<std::uint32_t>(vocabulary_.tokens.size());
  }
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  using Tokenizer::encode;
  std::optional<std::size_t> token_bytes_max() const override {
    return vocabulary_.token_bytes_max;
  }
  std::string_view bytes_of(TokenId token) const override;
  bool is_control(TokenId token) const override;
  std::span<const TokenId> eos_tokens() const override { return vocabulary_.eos; }

 private:
  class Encoder;

  BpeVocabulary vocabulary_;
  BpeStages stages_;
};

}  // namespace forge::text::detail
