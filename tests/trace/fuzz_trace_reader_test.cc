// What fuzz_trace_reader.cc does under libFuzzer, for every compiler: the seeds, and seeds
// changed at random, the same ones in every run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "trace/read_everything.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::read_everything;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

/// Pieces that get further into the reader than random bytes do.
const char* const kPieces[] = {"0",
                               "-1",
                               "4294967295",
                               "4294967296",
                               "18446744073709551615",
                               "1e99",
                               "null",
                               "[]",
                               "{}",
                               "\"\"",
                               "\n",
                               "\"eos\"",
                               "true",
                               "[[",
                               "]]",
                               ",",
                               "{\"cancel\":{\"seq\":1,\"reason\":\"stop\"}}\n",
                               "{\"release_session\":{\"session\":7}}\n",
                               "{\"clear_prefix_cache\":{}}\n",
                               "\"session\":7,",
                               "\"swap\"",
                               "\"swap_out\"",
                               "\"deadline_steps\":1,"};

void mutate(std::string& text, Random& random) {
  const std::size_t at = below(random, text.size());
  switch (below(random, 5)) {
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
    case 3:
      text.erase(at, 1 + below(random, 30));
      break;
    default:
      text.insert(below(random, text.size()), text.substr(at, below(random, 200)));
  }
  if (text.empty()) text = "\n";
}

TEST(FuzzTraceReader, seeds_are_read) {
  read_everything("");
  read_everything("\n");
  for (const auto& file : std::filesystem::directory_iterator(FORGE_TRACE_CORPUS)) {
    std::ifstream in(file.path());
    read_everything({std::istreambuf_iterator<char>(in), {}});
  }
}

TEST(FuzzTraceReader, changed_traces_never_crash) {
  const std::string seeds[] = {testing::small_trace(), testing::eventful_trace(),
                               testing::shared_files(60)[1]};
  Random random(20);
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[round % 3];
    for (std::size_t i = 1 + below(random, 4); i > 0; --i) mutate(text, random);
    if (round % 5 == 0) text.resize(below(random, text.size() + 1));
    SCOPED_TRACE("round " + std::to_string(round));
    read_everything(text);
  }
}

TEST(FuzzTraceReader, a_cut_anywhere_never_crashes) {
  const std::string seed = testing::small_trace();
  for (std::size_t length = 0; length < seed.size(); length += 7) {
    read_everything(seed.substr(0, length));
  }
}

}  // namespace
}  // namespace forge::trace
