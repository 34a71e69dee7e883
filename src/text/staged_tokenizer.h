// StagedTokenizer: a tokenizer as checkpoints describe it, stage by stage.
//
//   text --AddedTokens--> parts --Normalizer--> --AddedTokens--> parts --PreTokenizer--> pieces
//        --PieceModel--> tokens
//
// The stages and their order are those of Hugging Face's `tokenizers`
// (https://huggingface.co/docs/tokenizers/pipeline). A text that is not valid UTF-8 is encoded as
// the text that it decodes to, with U+FFFD in place of what is ill-formed.
//
// Thread contract: const, any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "added_tokens.h"
#include "forge/text/tokenizer.h"
#include "normalizer.h"
#include "piece_model.h"
#include "pre_tokenizer.h"

namespace forge::text::detail {

struct VocabularyToken {
  std::string spelling;
  std::string bytes;
  bool control = false;
};

/// Tokens with a task of their own.
struct SpecialTokens {
  std::optional<TokenId> begin;    ///< of a sequence, whether or not encode() puts it there
  std::optional<TokenId> padding;  ///< fills up batches
  std::vector<TokenId> end;        ///< of a text
  std::vector<TokenId> before;     ///< what encode() puts before a text
  std::vector<TokenId> after;      ///< what it puts after it
};

/// What a checkpoint's stages are made of.
struct TokenizerStages {
  AddedTokens added;  ///< found in the text as it is
  Normalizer normalizer;
  AddedTokens added_normalized;  ///< found in what the normalizer made
  Normalizer marks;              ///< what the pre-tokenizer writes into its parts before it cuts
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const PieceModel> model;
};

/// What does not depend on the text.
struct StagedVocabulary {
  std::vector<VocabularyToken> tokens;  ///< by their ids
  SpecialTokens special;
  std::optional<std::size_t> token_bytes_max;  ///< as Tokenizer has it
};

class StagedTokenizer final : public Tokenizer {
 public:
  StagedTokenizer(StagedVocabulary vocabulary, TokenizerStages stages)
      : vocabulary_(std::move(vocabulary)), stages_(std::move(stages)) {}

  std::uint32_t vocabulary_size() const override {
    return static_cast<std::uint32_t>(vocabulary_.tokens.size());
  }
  EncodedText encode(std::string_view text, EncodeOptions options) const override;
  using Tokenizer::encode;
  std::optional<std::size_t> token_bytes_max() const override {
    return vocabulary_.token_bytes_max;
  }
  std::string_view bytes_of(TokenId token) const override;
  bool is_control(TokenId token) const override;
  std::string_view spelling_of(TokenId token) const override;
  std::span<const TokenId> eos_tokens() const override { return vocabulary_.special.end; }
  std::optional<TokenId> bos_token() const override { return vocabulary_.special.begin; }
  std::optional<TokenId> pad_token() const override { return vocabulary_.special.padding; }

 private:
  class Encoder;

  StagedVocabulary vocabulary_;
  TokenizerStages stages_;
};

}  // namespace forge::text::detail
