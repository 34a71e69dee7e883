#include "forge/text/byte_tokeniser.h"

#include "forge/text/utf8_stream.h"

namespace forge {

std::vector<TokenId> ByteTokeniser::encode(std::string_view text) {
  std::vector<TokenId> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(token_of(static_cast<unsigned char>(c)));
  return tokens;
}

std::string ByteTokeniser::decode_bytes(std::span<const TokenId> tokens) {
  std::string bytes;
  bytes.reserve(tokens.size());
  for (const TokenId token : tokens) {
    if (const auto byte = byte_of(token)) bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

std::string ByteTokeniser::decode(std::span<const TokenId> tokens) {
  return to_valid_utf8(decode_bytes(tokens));
}

}  // namespace forge
