#include "forge/text/byte_tokenizer.h"

#include <array>

namespace forge::text {
namespace {

constexpr std::array<char, 256> all_bytes() {
  std::array<char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

constexpr std::array<char, 256> kBytes = all_bytes();

}  // namespace

std::vector<TokenId> ByteTokenizer::tokens_of(std::string_view text) {
  std::vector<TokenId> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(token_of(static_cast<unsigned char>(c)));
  return tokens;
}

EncodedText ByteTokenizer::encode(std::string_view text, EncodeOptions) const {
  return tokens_of(text);
}

std::string_view ByteTokenizer::bytes_of(TokenId token) const {
  const auto byte = byte_of(token);
  return byte ? std::string_view(&kBytes[*byte], 1) : std::string_view();
}

bool ByteTokenizer::is_control(TokenId token) const {
  return token.value < kVocabularySize && !byte_of(token);
}

std::span<const TokenId> ByteTokenizer::eos_tokens() const {
  static constexpr TokenId kTokens[] = {kEos};
  return kTokens;
}

}  // namespace forge::text
