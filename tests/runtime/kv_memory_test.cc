#include "forge/runtime/kv_memory.h"

#include <gtest/gtest.h>

namespace forge::runtime {
namespace {

TEST(KvMemory, is_an_amount_or_a_fraction) {
  EXPECT_EQ(parse_kv_memory("2GiB")->of(0), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_kv_memory("1.5MiB")->of(0), 3U << 19);
  EXPECT_EQ(parse_kv_memory("512KB")->of(0), 512'000U);
  EXPECT_EQ(parse_kv_memory("40%")->of(1000), 400U);
  EXPECT_EQ(parse_kv_memory("100%")->of(1000), 1000U);
}

TEST(KvMemory, anything_else_is_refused_with_what_is_accepted) {
  for (const char* text : {"", "2", "GiB", "2gib", "2 GiB", "-1GiB", "0MiB", "0.1B", "101%", "0%",
                           "nanGiB", "infGiB", "1e300GiB", "2000TiB", "2GiB "}) {
    const auto memory = parse_kv_memory(text);
    ASSERT_FALSE(memory.has_value()) << text;
    EXPECT_EQ(memory.error(), "'" + std::string(text) +
                                  "' is no amount of memory, accepted: 1B to 1024TiB as in 2GiB "
                                  "or 512MiB, or a fraction of the free memory, up to 100%");
  }
}

TEST(KvMemory, amounts_are_readable) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(312U << 20), "312 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 40), "5120 GiB");
}

}  // namespace
}  // namespace forge::runtime
