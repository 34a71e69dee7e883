#include "forge/text/tokenizer.h"

#include "forge/text/utf8_stream.h"

namespace forge::text {

std::string to_string(const MissingByte& error) {
  return "the vocabulary has no token for the byte " + std::to_string(error.byte);
}

std::string Tokenizer::decode_bytes(std::span<const TokenId> tokens) const {
  std::string bytes;
  for (const TokenId token : tokens) bytes += bytes_of(token);
  return bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  return to_valid_utf8(decode_bytes(tokens));
}

std::string Tokenizer::spelt_out(std::span<const TokenId> tokens) const {
  std::string bytes;
  for (const TokenId token : tokens)
    bytes += is_control(token) ? spelling_of(token) : bytes_of(token);
  return bytes;
}

}  // namespace forge::text
