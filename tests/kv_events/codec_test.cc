#include "forge/kv_events/codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace forge::kv_events {
namespace {

std::string hex(const std::string& bytes) {
  const char* const digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::vector<TokenId> tokens(std::size_t count) {
  std::vector<TokenId> list;
  for (std::size_t i = 1; i <= count; ++i) list.emplace_back(static_cast<std::uint32_t>(i));
  return list;
}

KvEventBatch three_events() {
  constexpr std::uint64_t kHash = (std::uint64_t{1} << 63) + 1;
  return {.timestamp = 1.5,
          .events = {BlockStored{.hashes = {kHash}, .tokens = tokens(4), .block_size = 4},
                     BlockRemoved{.hashes = {7}}, AllBlocksCleared()}};
}

// Both golden texts are msgspec's (Python, 0.22.0) for the structs of vLLM, which
// tests/serve/kv_events_test.py has; it holds what forge-infer sends against them.
TEST(KvEventCodec, the_array_form_is_that_of_msgspec) {
  EXPECT_EQ(hex(encode(three_events(), KvEventFormat::array)),
            "93cb3ff8000000000000939cab426c6f636b53746f72656491cf8000000000000001c0940102030404c0a3"
            "475055c0c0c0c0c094ac426c6f636b52656d6f7665649107a3475055c091b0416c6c426c6f636b73436c65"
            "6172656400");
}

TEST(KvEventCodec, the_map_form_is_that_of_msgspec) {
  EXPECT_EQ(hex(encode(three_events(), KvEventFormat::map)),
            "93cb3ff80000000000009388a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391"
            "cf8000000000000001b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304"
            "aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0"
            "83a474797065ac426c6f636b52656d6f766564ac626c6f636b5f6861736865739107a66d656469756da347"
            "505581a474797065b0416c6c426c6f636b73436c656172656400");
}

TEST(KvEventCodec, every_size_of_list_is_read_back) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 255U, 256U, 65'535U, 65'536U, 100'000U}) {
    const KvEventBatch batch{.events = {BlockStored{.tokens = tokens(count), .block_size = 1}}};
    const auto read = nlohmann::json::from_msgpack(encode(batch, KvEventFormat::map));
    const auto& read_tokens = read.at(1).at(0).at("token_ids");
    ASSERT_EQ(read_tokens.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(read_tokens[i], i + 1);
  }
}

TEST(KvEventCodec, every_size_of_number_is_read_back) {
  BlockRemoved event;
  for (int bits = 0; bits <= 64; ++bits) {
    const std::uint64_t power = bits < 64 ? std::uint64_t{1} << bits : 0;
    event.hashes.insert(event.hashes.end(), {power - 1, power, power + 1});
  }
  const auto read = nlohmann::json::from_msgpack(encode({.events = {event}}, KvEventFormat::array));
  EXPECT_EQ(read.at(1).at(0).at(1), event.hashes);
}

TEST(KvEventCodec, a_chain_has_its_parent) {
  const KvEventBatch batch{
      .timestamp = 1.8e9 + 0.25,
      .events = {
          BlockStored{.hashes = {300, 400}, .parent = 200, .tokens = tokens(6), .block_size = 3}}};
  const auto read = nlohmann::json::from_msgpack(encode(batch, KvEventFormat::array));
  EXPECT_EQ(read.dump(),
            "[1800000000.25,[[\"BlockStored\",[300,400],200,[1,2,3,4,5,6],3,null,\"GPU\",null,null,"
            "null,null,null]],0]");
}

}  // namespace
}  // namespace forge::kv_events
