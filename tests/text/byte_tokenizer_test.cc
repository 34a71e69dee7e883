#include "forge/text/byte_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace forge::text {
namespace {

TEST(ByteTokenizer, byte_b_is_token_b_plus_one) {
  EXPECT_EQ(ByteTokenizer::tokens_of(std::string_view("\0A\xFF", 3)),
            (std::vector{TokenId(1), TokenId(66), TokenId(256)}));
}

TEST(ByteTokenizer, eos_reserved_and_unknown_tokens_decode_to_nothing) {
  std::vector<TokenId> tokens{ByteTokenizer::kEos};
  for (std::uint32_t id = 257; id < 330; ++id) tokens.emplace_back(id);
  tokens.emplace_back(0xFFFFFFFF);
  EXPECT_EQ(ByteTokenizer().decode_bytes(tokens), "");
  EXPECT_EQ(ByteTokenizer().decode(tokens), "");
}

TEST(ByteTokenizer, every_byte_survives_the_round_trip) {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  EXPECT_EQ(ByteTokenizer().decode_bytes(ByteTokenizer::tokens_of(bytes)), bytes);
}

RC_GTEST_PROP(ByteTokenizer, every_input_encodes_and_decodes_to_itself, (const std::string& text)) {
  const auto tokens = ByteTokenizer::tokens_of(text);
  RC_ASSERT(tokens.size() == text.size());
  for (const TokenId token : tokens) RC_ASSERT(token != ByteTokenizer::kEos);
  RC_ASSERT(ByteTokenizer().decode_bytes(tokens) == text);
}

}  // namespace
}  // namespace forge::text
