// How fast a tokenizer makes tokens of a text: megabytes a second of one thread, the best of
// several runs, as a line that bench/tokenizers_bench.py reads.
//
//   tokenizer_bench FILE TEXT [RUNS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "forge/text/load_tokenizer.h"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench FILE TEXT [RUNS]\n");
    return 2;
  }
  const auto tokenizer = forge::text::load_tokenizer(argv[1]);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", to_string(tokenizer.error()).c_str());
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const int runs = argc > 3 ? std::atoi(argv[3]) : 3;
  double best = 1e300;
  std::size_t count = 0;
  for (int run = 0; run < runs; ++run) {
    const auto begin = Clock::now();
    const auto tokens = (*tokenizer)->encode(text, {.add_special = false});
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    if (!tokens) {
      std::fprintf(stderr, "%s\n", to_string(tokens.error()).c_str());
      return 2;
    }
    count = tokens->size();
  }
  std::printf("%.3f MB/s %zu tokens\n", static_cast<double>(text.size()) / best / 1e6, count);
}
