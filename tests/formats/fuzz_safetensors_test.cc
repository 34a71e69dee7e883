// What fuzz_safetensors.cc does under libFuzzer, for every compiler: the seeds, and seeds changed
// at random, the same ones in every run.
#include <gtest/gtest.h>

#include <random>

#include "formats/read_safetensors.h"
#include "formats/safetensors_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::read_in_every_way;
using testing::span_of;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

/// Pieces that get further into the reader than random bytes do.
const char* const kPieces[] = {"0",
                               "-1",
                               "18446744073709551615",
                               "18446744073709551616",
                               "1e99",
                               "null",
                               "[]",
                               "{}",
                               "\"\"",
                               "[[",
                               "}}",
                               ",",
                               "\"U8\"",
                               "\"F64\"",
                               "\"shape\":[],",
                               "\"data_offsets\":[0,0],",
                               "\"__metadata__\":{},",
                               "\"weight_map\":{",
                               "\\u0000",
                               "\xff"};

std::vector<std::string> seeds() {
  std::vector<std::string> seeds;
  for (const auto& file : std::filesystem::directory_iterator(FORGE_SAFETENSORS_CORPUS)) {
    seeds.push_back(testing::file_bytes(file.path().string()));
  }
  std::sort(seeds.begin(), seeds.end());  // whatever order the file system has
  return seeds;
}

void mutate(std::string& text, Random& random) {
  const std::size_t at = below(random, text.size());
  switch (below(random, 4)) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:  // digits are where the numbers are
      if (const std::size_t digit = text.find_first_of("0123456789", at); digit < text.size()) {
        text[digit] = static_cast<char>('0' + below(random, 10));
      }
      break;
    case 2:
      text.insert(at, kPieces[below(random, std::size(kPieces))]);
      break;
    default:
      text.erase(at, 1 + below(random, 20));
  }
  if (text.empty()) text = "{";
}

TEST(FuzzSafeTensors, every_seed_is_read_in_some_way) {
  ASSERT_GE(seeds().size(), 5u);
  for (const std::string& seed : seeds()) EXPECT_GE(read_in_every_way(span_of(seed)), 1) << seed;
}

TEST(FuzzSafeTensors, changed_files_never_crash) {
  const std::vector<std::string> originals = seeds();
  Random random(20);
  int readable = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = originals[below(random, originals.size())];
    for (std::size_t i = 1 + below(random, 3); i > 0; --i) mutate(text, random);
    SCOPED_TRACE("round " + std::to_string(round));
    readable += read_in_every_way(span_of(text)) > 0;
  }
  EXPECT_GT(readable, 500) << "changes that are no damage, so the promises were put to a test too";
}

TEST(FuzzSafeTensors, a_cut_anywhere_never_crashes) {
  for (const std::string& seed : seeds()) {
    for (std::size_t length = 0; length < seed.size(); ++length) {
      read_in_every_way(span_of(seed.substr(0, length)));
    }
  }
}

}  // namespace
}  // namespace forge::formats
