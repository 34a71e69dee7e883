// The layer-skip draft of the default model is accepted between 40% and 80% of the time: often
// enough to pay, not so often that refusal goes unexercised. A property of the weights, measured.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <vector>

#include "executor/driver.h"

namespace forge::cpu {
namespace {

using testing::cpu_target;
using testing::Driver;
using testing::request_of;

constexpr const char* kPrompts[] = {
    "Hello, my name is",
    "The capital of France is",
    "Once upon a time there was a king who had three daughters.",
    "In 1905, Einstein published four papers",
    "def fibonacci(n):\n    return",
    "Q: What is the answer?\nA:",
    "\x8f\x12\xff\x80\x03\xc3\x28\xa0\xfe\x91",
    "\x01\x02\x03\x04\xf0\x9f\x94\xa5",
    "zxqj wvk 8821 ;;;; {}[]",
    "a",
};

/// 64 tokens of each prompt with 4 drafts a round: accepted over proposed.
double acceptance(float temperature) {
  Driver driver(cpu_target(), {.cache = {.num_blocks = 64}, .drafts = 4});
  std::uint64_t seq = 0;
  for (const char* prompt : kPrompts) {
    ++seq;
    driver.begin(seq, request_of(prompt, temperature, seq));
    driver.decode_to(seq, 64, 4);
    driver.finish(seq);
  }
  const SpeculationStatistics& s = driver.executor().speculation();
  return static_cast<double>(s.accepted) / static_cast<double>(s.proposed);
}

TEST(DraftAcceptance, lies_between_40_and_80_percent_greedy_and_sampled) {
  for (const float temperature : {0.0F, 0.8F}) {
    const double rate = acceptance(temperature);
    std::cout << "temperature " << temperature << ": " << rate << '\n';
    EXPECT_GT(rate, 0.40);
    EXPECT_LT(rate, 0.80);
  }
}

/// Text of all prompts at `temperature`, a string each.
std::vector<std::vector<TokenId>> texts(float temperature) {
  Driver driver(cpu_target(), {.cache = {.num_blocks = 64}});
  std::vector<std::vector<TokenId>> out;
  std::uint64_t seq = 0;
  for (const char* prompt : kPrompts) {
    ++seq;
    driver.begin(seq, request_of(prompt, temperature, seq));
    driver.decode_to(seq, 96);
    out.push_back(driver.output(seq));
    driver.finish(seq);
  }
  return out;
}

TEST(DemoText, is_mostly_printable_ascii) {
  for (const float temperature : {0.0F, 1.0F}) {
    int printable = 0, total = 0;
    for (const auto& text : texts(temperature)) {
      for (const TokenId token : text) {
        printable += token.value - 1 >= ' ' && token.value - 1 <= '~' ? 1 : 0;
        ++total;
      }
    }
    EXPECT_GT(printable, total * 9 / 10) << "temperature " << temperature;
  }
}

TEST(DemoText, is_no_loop_of_one_token) {
  for (const float temperature : {0.0F, 1.0F}) {
    for (const auto& text : texts(temperature)) {
      const std::set<TokenId> distinct(text.begin(), text.end());
      EXPECT_GE(distinct.size(), 12U) << "temperature " << temperature;
    }
  }
}

TEST(DemoText, ends_by_itself_now_and_then) {
  int ended = 0;
  Driver driver(cpu_target(), {.cache = {.num_blocks = 64}});
  for (std::uint64_t seq = 1; seq <= 100; ++seq) {
    Request request = request_of("Hello, my name is", 1.0F, seq);
    request.ignore_eos = false;
    driver.begin(seq, request);
    driver.decode_to(seq, 128);
    ended += driver.ended(seq) ? 1 : 0;
    driver.finish(seq);
  }
  std::cout << ended << " of 100 texts ended within 128 tokens\n";
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 90);
}

}  // namespace
}  // namespace forge::cpu
