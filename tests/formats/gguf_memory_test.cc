// What reading a file costs in memory, against the promise of gguf.h. A program of its own, because
// heap_peak.cc replaces operator new.
#include <gtest/gtest.h>

#include "formats/gguf_bytes.h"
#include "formats/heap_peak.h"

namespace forge::formats {
namespace {

using testing::as_bytes;
using testing::GgufBytes;

constexpr std::size_t kEntryBytes = 250;  ///< of a key or tensor
constexpr std::size_t kFewBytes = 1000;   ///< an error's texts, the file's name

/// The most that was held at a time while `file` was read.
std::size_t bytes_held(const std::string& file, bool expect_fine) {
  const std::size_t before = testing::heap_bytes();
  testing::reset_heap_peak();
  const auto contents = parse_gguf(as_bytes(file), "memory.gguf");
  EXPECT_EQ(contents.has_value(), expect_fine) << (contents ? "" : to_string(contents.error()));
  return testing::heap_peak_bytes() - before;
}

TEST(GgufMemory, numbers_of_arrays_cost_nothing) {
  GgufBytes file(0, 1);
  file.array("k", GgufType::u8, 1 << 20);
  EXPECT_LT(bytes_held(file.data(1 << 20, 1).bytes(), true), kEntryBytes);
}

TEST(GgufMemory, texts_of_arrays_cost_twice_their_shortest) {
  constexpr std::size_t kTexts = 1 << 18;
  GgufBytes file(0, 1);
  file.array("k", GgufType::text, kTexts);
  for (std::size_t i = 0; i < kTexts; ++i) file.text("");
  const std::size_t held = bytes_held(file.bytes(), true);
  EXPECT_GE(held, 16 * kTexts);
  EXPECT_LT(held, 2 * file.bytes().size() + kEntryBytes);
}

TEST(GgufMemory, keys_cost_their_names_and_a_little) {
  GgufBytes file(0, Gguf::kKeysMax);
  for (std::uint64_t i = 0; i < Gguf::kKeysMax; ++i) {
    file.key("a.key.of.some.length." + std::to_string(i), GgufType::u8, std::uint8_t{1});
  }
  EXPECT_LT(bytes_held(file.bytes(), true), kEntryBytes * Gguf::kKeysMax);
}

TEST(GgufMemory, tensors_cost_their_names_and_a_little) {
  GgufBytes file(Gguf::kTensorsMax, 0);
  for (std::uint64_t i = 0; i < Gguf::kTensorsMax; ++i) {
    file.tensor("a.tensor.of.some.length." + std::to_string(i), {1, 1, 1, 1}, 32 * i);
  }
  EXPECT_LT(bytes_held(file.data(32 * Gguf::kTensorsMax).bytes(), true),
            kEntryBytes * Gguf::kTensorsMax);
}

TEST(GgufMemory, what_a_file_states_without_having_it_costs_nothing) {
  for (const std::uint64_t count :
       {std::uint64_t{65536}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_LT(bytes_held(GgufBytes(count, 0).bytes(), false), kFewBytes);
    EXPECT_LT(bytes_held(GgufBytes(0, count).bytes(), false), kFewBytes);
    for (const GgufType type : {GgufType::u8, GgufType::f64, GgufType::text}) {
      EXPECT_LT(bytes_held(GgufBytes(0, 1).array("k", type, count).bytes(), false), kFewBytes);
    }
    EXPECT_LT(bytes_held(GgufBytes(0, 1).key("k", GgufType::text, count).bytes(), false),
              kFewBytes);
  }
}

}  // namespace
}  // namespace forge::formats
