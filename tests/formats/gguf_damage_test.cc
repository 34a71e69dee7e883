// What fuzz_gguf.cc does under libFuzzer, for every compiler: damage of every simple kind.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "formats/gguf_bytes.h"
#include "formats/read_gguf.h"

namespace forge::formats {
namespace {

using testing::as_bytes;
using testing::read_gguf;
using testing::small_gguf;

/// In memory of exactly its size, so that a sanitizer sees a read beyond it.
bool can_be_read(std::span<const std::byte> bytes) {
  const std::vector<std::byte> file(bytes.begin(), bytes.end());
  return read_gguf(file);
}

/// One bit away from `byte`, and the extremes.
std::array<char, 10> values_near(char byte) {
  std::array<char, 10> values = {0, '\xff'};
  for (int bit = 0; bit < 8; ++bit) values[2 + bit] = static_cast<char>(byte ^ (1 << bit));
  return values;
}

TEST(GgufDamage, the_seeds_can_be_read) {
  EXPECT_TRUE(can_be_read(as_bytes(small_gguf())));
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORGE_GGUF_CORPUS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    read_gguf(as_bytes(file));
    ++seeds;
  }
  EXPECT_GT(seeds, 0u);
}

TEST(GgufDamage, no_prefix_of_a_file_can_be_read) {
  const std::string file = small_gguf();
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(can_be_read(as_bytes(file).first(length))) << length << " of " << file.size();
  }
}

TEST(GgufDamage, no_prefix_of_a_file_of_any_type_of_blocks_can_be_read) {
  // ggml's number, bytes of 256 numbers.
  for (const auto& [type, bytes] : {std::pair(2U, 144U),
                                    {3U, 160U},
                                    {6U, 176U},
                                    {7U, 192U},
                                    {8U, 272U},
                                    {10U, 84U},
                                    {11U, 110U},
                                    {12U, 144U},
                                    {13U, 176U},
                                    {14U, 210U},
                                    {20U, 144U},
                                    {23U, 136U},
                                    {39U, 136U}}) {
    const std::string file = testing::GgufBytes(1, 0)
                                 .tensor("blk.0.ffn_up.weight", {256, 3}, 0, type)
                                 .data(std::size_t{3} * bytes)
                                 .bytes();
    EXPECT_TRUE(can_be_read(as_bytes(file))) << type;
    for (std::size_t length = 0; length < file.size(); ++length) {
      ASSERT_FALSE(can_be_read(as_bytes(file).first(length))) << type << ": " << length;
    }
  }
}

TEST(GgufDamage, what_follows_the_last_tensor_is_not_looked_at) {
  EXPECT_TRUE(can_be_read(as_bytes(small_gguf() + std::string(100, '\xff'))));
}

TEST(GgufDamage, one_wrong_byte_is_an_error_or_another_file) {
  const std::string file = small_gguf();
  constexpr std::size_t kHeadBytes = 8;
  constexpr std::size_t kDataBytes = 84;
  std::size_t read_with_another_head = 0;
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char value : values_near(file[at])) {
      std::string damaged = file;
      damaged[at] = value;
      const bool read = can_be_read(as_bytes(damaged));
      if (at < kHeadBytes && damaged != file) read_with_another_head += read ? 1 : 0;
      if (at >= file.size() - kDataBytes) {
        EXPECT_TRUE(read) << "data may be anything, at " << at;
      }
    }
  }
  EXPECT_EQ(read_with_another_head, 1u) << "version 2 in place of 3";
}

TEST(GgufDamage, a_field_of_ones_is_survived_anywhere) {
  const std::string file = small_gguf();
  for (std::size_t width : {2, 4, 8}) {
    for (std::size_t at = 0; at + width <= file.size(); ++at) {
      std::string damaged = file;
      damaged.replace(at, width, width, '\xff');
      read_gguf(as_bytes(damaged));
      damaged[at + width - 1] = '\x7f';  // the largest signed one
      read_gguf(as_bytes(damaged));
    }
  }
}

}  // namespace
}  // namespace forge::formats
