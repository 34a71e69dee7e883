#include "forge/text/chat_byte_tokenizer.h"

#include <utility>
#include <vector>

namespace forge::text {

EncodedText ChatByteTokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (!options.control_tokens) return bytes_.encode(text, options);
  constexpr std::pair<std::string_view, TokenId> kMarks[] = {{kTurnBeginMark, kTurnBegin},
                                                             {kTurnEndMark, kTurnEnd}};
  std::vector<TokenId> tokens;
  tokens.reserve(text.size());
  while (!text.empty()) {
    std::size_t size = 1;
    TokenId token = ByteTokenizer::token_of(static_cast<unsigned char>(text.front()));
    for (const auto& [mark, its_token] : kMarks) {
      if (!text.starts_with(mark)) continue;
      size = mark.size();
      token = its_token;
    }
    tokens.push_back(token);
    text.remove_prefix(size);
  }
  return tokens;
}

std::string_view ChatByteTokenizer::spelling_of(TokenId token) const {
  if (token == kTurnBegin) return kTurnBeginMark;
  return token == kTurnEnd ? kTurnEndMark : bytes_of(token);
}

std::span<const TokenId> ChatByteTokenizer::eos_tokens() const {
  static constexpr TokenId kTokens[] = {ByteTokenizer::kEos, kTurnEnd};
  return kTokens;
}

}  // namespace forge::text
