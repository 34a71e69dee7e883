// What reading a file costs in memory: in proportion to the header that is there, whatever it
// states. A program of its own, because heap_peak.cc replaces operator new.
#include <gtest/gtest.h>

#include "forge/formats/safetensors.h"
#include "formats/heap_peak.h"
#include "formats/safetensors_bytes.h"

namespace forge::formats {
namespace {

using testing::member;
using testing::safetensors_bytes;
using testing::span_of;

constexpr std::size_t kFewBytes = 4000;  ///< the parser's state, an error's texts

/// The most that was held at a time while `file` was read.
std::size_t bytes_held(const std::string& file, bool expect_fine) {
  const std::size_t before = testing::heap_bytes();
  testing::reset_heap_peak();
  std::map<std::string, std::string> metadata;
  const auto tensors = parse_safetensors(span_of(file), "f", metadata);
  EXPECT_EQ(tensors.has_value(), expect_fine) << (tensors ? "" : to_string(tensors.error()));
  return testing::heap_peak_bytes() - before;
}

TEST(SafeTensorsMemory, what_a_file_states_without_having_it_costs_nothing) {
  for (const char* const number : {"100000000", "1099511627776", "18446744073709551615"}) {
    const std::string n = number;
    for (const std::string& tensor :
         {member("a", "F32", "[" + n + "]", "[0,8]"), member("a", "U8", "[8]", "[0," + n + "]"),
          member("a", "U8", "[" + n + "]", "[0," + n + "]")}) {
      EXPECT_LT(bytes_held(safetensors_bytes("{" + tensor + "}", "12345678"), false), kFewBytes)
          << tensor;
    }
  }
  for (const char last : {'\0', '\1', '\xff'}) {
    std::string length(8, '\xff');
    length[7] = last;
    EXPECT_LT(bytes_held(length + "{}", false), kFewBytes);
  }
}

TEST(SafeTensorsMemory, data_cost_nothing) {
  const std::string header = "{" + member("a", "U8", "[4000000]", "[0,4000000]") + "}";
  EXPECT_LT(bytes_held(safetensors_bytes(header, std::string(4000000, 'd')), true), kFewBytes);
}

TEST(SafeTensorsMemory, tensors_cost_a_few_times_their_text) {
  std::string header = "{";
  for (int i = 0; i < 20000; ++i) {
    if (i > 0) header += ',';
    header += member(std::to_string(i), "U8", "[0]", "[0,0]");
  }
  header += '}';
  EXPECT_LT(bytes_held(safetensors_bytes(header), true), 10 * header.size());
}

TEST(SafeTensorsMemory, nesting_costs_nothing) {
  EXPECT_LT(bytes_held(safetensors_bytes("{\"a\":" + std::string(4000000, '[')), false), kFewBytes);
  const std::string index = "{\"x\":" + std::string(4000000, '[');
  const std::size_t before = testing::heap_bytes();
  testing::reset_heap_peak();
  EXPECT_FALSE(parse_safetensors_index(span_of(index), "f"));
  EXPECT_LT(testing::heap_peak_bytes() - before, kFewBytes);
}

}  // namespace
}  // namespace forge::formats
