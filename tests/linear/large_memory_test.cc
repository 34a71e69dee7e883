#include "forge/linear/large_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace forge::linear {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

std::uintptr_t address_of(const LargeMemory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.get());
}

// A large page begins at a multiple of its size: memory that does not has fewer of them than fit.
TEST(LargeMemory, begins_at_a_page_where_it_has_one_and_at_a_line_where_not) {
  for (const std::size_t bytes : {kLargePage, kLargePage + 1, 5 * kLargePage - 1}) {
    EXPECT_EQ(address_of(make_large_memory(bytes)) % kLargePage, 0u) << bytes;
  }
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kLargePage - 1}) {
    EXPECT_EQ(address_of(make_large_memory(bytes)) % 64, 0u) << bytes;
  }
}

TEST(LargeMemory, is_there_from_the_first_byte_to_the_last) {
  for (const std::size_t bytes : {std::size_t{1}, kLargePage - 1, kLargePage, 2 * kLargePage + 7}) {
    const LargeMemory memory = make_large_memory(bytes);
    std::memset(memory.get(), 7, bytes);
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(memory[bytes - 1], std::byte{7});
  }
}

}  // namespace
}  // namespace forge::linear
