// WrappedTokenizer: a tokenizer of bytes, for a test to say what else encode() does.
#pragma once

#include "forge/text/byte_tokenizer.h"

namespace forge::test {

class WrappedTokenizer : public text::Tokenizer {
 public:
  std::uint32_t vocabulary_size() const override { return bytes_.vocabulary_size(); }
  text::EncodedText encode(std::string_view text, text::EncodeOptions options) const override {
    return bytes_.encode(text, options);
  }
  std::optional<std::size_t> token_bytes_max() const override { return 1; }
  std::string_view bytes_of(TokenId token) const override { return bytes_.bytes_of(token); }
  bool is_control(TokenId token) const override { return bytes_.is_control(token); }
  std::span<const TokenId> eos_tokens() const override { return bytes_.eos_tokens(); }

 private:
  text::ByteTokenizer bytes_;
};

}  // namespace forge::test
