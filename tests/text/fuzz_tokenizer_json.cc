// Any bytes as a tokenizer.json: refused with a message, or a tokenizer that encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "forge/core/check.h"
#include "forge/text/load_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forge;
  using namespace forge::text;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = parse_tokenizer(text, {}, "tokenizer.json");
  if (!loaded) {
    FORGE_CHECK(!loaded.error().message.empty());
    return 0;
  }
  const Tokenizer& tokenizer = **loaded;
  FORGE_CHECK(tokenizer.vocabulary_size() <= size + 1, "vocabulary ", tokenizer.vocabulary_size());
  for (const EncodeOptions options : {EncodeOptions{}, EncodeOptions{false, false}}) {
    const std::string_view start = text.substr(0, 4096);
    const auto encoded = tokenizer.encode(start, options);
    if (!encoded) continue;
    const auto& tokens = *encoded;
    if (const auto bytes_max = tokenizer.token_bytes_max()) {
      FORGE_CHECK(tokens.size() * *bytes_max >= start.size(), "tokens ", tokens.size());
    }
    for (const TokenId token : tokens) {
      FORGE_CHECK(token.value < tokenizer.vocabulary_size(), "token ", token.value);
      tokenizer.bytes_of(token);
    }
  }
  return 0;
}
