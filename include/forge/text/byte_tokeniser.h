// ByteTokeniser: the smallest tokeniser that is a real one.
//
//   token   0     1 .. 256     257 .. 319
//           eos   byte - 1     reserved, stand for nothing
//
// Every input encodes, every output decodes, and no input encodes to eos or to a
// reserved token. Tokens outside the vocabulary decode to nothing, like reserved ones.
//
// Owns nothing. Thread contract: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class ByteTokeniser {
 public:
  static constexpr std::uint32_t kVocabularySize = 320;
  static constexpr TokenId kEos{0};

  /// One token a byte; `text` need not be valid UTF-8.
  static std::vector<TokenId> encode(std::string_view text);

  static constexpr TokenId token_of(unsigned char byte) { return TokenId(byte + 1U); }

  /// The byte that `token` stands for; none for eos, reserved and unknown tokens.
  static constexpr std::optional<unsigned char> byte_of(TokenId token) {
    if (token.value < 1 || token.value > 256) return std::nullopt;
    return static_cast<unsigned char>(token.value - 1);
  }

  /// Inverse of encode: the bytes, whatever they are.
  static std::string decode_bytes(std::span<const TokenId> tokens);

  /// The text: decode_bytes with each ill-formed part replaced by U+FFFD (utf8_stream.h).
  static std::string decode(std::span<const TokenId> tokens);
};

}  // namespace forge
