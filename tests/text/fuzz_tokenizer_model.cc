// Any bytes as a tokenizer.model: refused with a message, or a tokenizer that encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "forge/core/check.h"
#include "forge/text/load_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forge;
  using namespace forge::text;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto loaded = parse_sentence_piece({bytes}, "tokenizer.model");
  if (!loaded) {
    FORGE_CHECK(!loaded.error().message.empty());
    return 0;
  }
  const Tokenizer& tokenizer = **loaded;
  FORGE_CHECK(tokenizer.vocabulary_size() <= size, "vocabulary ", tokenizer.vocabulary_size());
  for (const EncodeOptions options : {EncodeOptions{}, EncodeOptions{false, false}}) {
    const std::string_view start = bytes.substr(0, 4096);
    const auto tokens = tokenizer.encode(start, options);
    if (!tokens) continue;
    for (const TokenId token : *tokens) {
      FORGE_CHECK(token.value < tokenizer.vocabulary_size(), "token ", token.value);
      tokenizer.bytes_of(token);
    }
  }
  return 0;
}
