// ChatByteTokenizer: ByteTokenizer with the two marks of ChatML as tokens of their own.
//
//   token   0     1 .. 256     257            258          259 .. 319
//           eos   byte - 1     <|im_start|>   <|im_end|>   reserved, stand for nothing
//
// The built-in model has it: a conversation is then marks and bytes, as models of other makers see
// theirs, and the model ends its turn with a token that no text can spell by chance.
//
// Owns nothing. Thread contract: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "forge/text/byte_tokenizer.h"
#include "forge/text/tokenizer.h"

namespace forge::text {

class ChatByteTokenizer final : public Tokenizer {
 public:
  static constexpr TokenId kTurnBegin{257};
  static constexpr TokenId kTurnEnd{258};
  static constexpr std::string_view kTurnBeginMark = "<|im_start|>";
  static constexpr std::string_view kTurnEndMark = "<|im_end|>";

  std::uint32_t vocabulary_size() const override { return ByteTokenizer::kVocabularySize; }

  /// A token a mark, where options.control_tokens, and one for each other byte, always. Nothing
  /// begins a sequence.
  EncodedText encode(std::string_view text, EncodeOptions options) const override;
  using Tokenizer::encode;

  std::optional<std::size_t> token_bytes_max() const override { return kTurnBeginMark.size(); }

  std::string_view bytes_of(TokenId token) const override { return bytes_.bytes_of(token); }
  bool is_control(TokenId token) const override { return bytes_.is_control(token); }

  /// The marks as they are spelt; else the bytes.
  std::string_view spelling_of(TokenId token) const override;

  /// The end of a text, and of a turn.
  std::span<const TokenId> eos_tokens() const override;

 private:
  ByteTokenizer bytes_;
};

}  // namespace forge::text
