// ByteTokenizer: the smallest tokenizer that is a real one.
//
//   token   0     1 .. 256     257 .. 319
//           eos   byte - 1     reserved, stand for nothing
//
// Every input encodes, every output decodes, and no input encodes to eos or to a
// reserved token: there are no spellings of control tokens, and no begin of a sequence.
//
// Owns nothing. Thread contract: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "forge/text/tokenizer.h"

namespace forge::text {

class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr std::uint32_t kVocabularySize = 320;
  static constexpr TokenId kEos{0};

  static constexpr TokenId token_of(unsigned char byte) { return TokenId(byte + 1U); }

  /// The byte that `token` stands for; nullopt for eos, reserved and unknown tokens.
  static constexpr std::optional<unsigned char> byte_of(TokenId token) {
    if (token.value < 1 || token.value > 256) return std::nullopt;
    return static_cast<unsigned char>(token.value - 1);
  }

  std::uint32_t vocabulary_size() const override { return kVocabularySize; }

  /// One token a byte; `text` need not be valid UTF-8.
  static std::vector<TokenId> tokens_of(std::string_view text);

  /// tokens_of(text), always. The options change nothing.
  EncodedText encode(std::string_view text, EncodeOptions options) const override;
  using Tokenizer::encode;

  std::optional<std::size_t> token_bytes_max() const override { return 1; }

  std::string_view bytes_of(TokenId token) const override;
  bool is_control(TokenId token) const override;
  std::span<const TokenId> eos_tokens() const override;
};

}  // namespace forge::text
