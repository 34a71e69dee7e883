// How long it takes to refuse a key tells nothing of how much of it was right.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "forge/serve/api_keys.h"
#include "serve/proof.h"

namespace forge::serve {
namespace {

using Clock = std::chrono::steady_clock;
using test::proof_seed;

/// Welch's t of two samples: beyond 4.5 their means differ, by all that is known (Goodwill et al.,
/// "A testing methodology for side-channel resistance validation", NIST workshop 2011).
double welch_t(const std::vector<double>& a, const std::vector<double>& b) {
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  const auto variance = [](const std::vector<double>& values, double middle) {
    double sum = 0;
    for (const double value : values) sum += (value - middle) * (value - middle);
    return sum / static_cast<double>(values.size() - 1);
  };
  const double of_a = mean(a);
  const double of_b = mean(b);
  return (of_a - of_b) / std::sqrt(variance(a, of_a) / static_cast<double>(a.size()) +
                                   variance(b, of_b) / static_cast<double>(b.size()));
}

/// Without the slowest tenth of all, which an interrupt or another process has made slow.
void crop(std::vector<double>& a, std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto limit = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 9 / 10);
  std::ranges::nth_element(all, limit);
  for (auto* sample : {&a, &b}) std::erase_if(*sample, [&](double time) { return time > *limit; });
}

TEST(ApiKeysTiming, a_wrong_byte_at_the_beginning_takes_as_long_as_one_at_the_end) {
  const std::size_t tries = proof_seed() ? 1'000'000 : 20'000;
  const NewKey right = make_key("alice:client").value();
  const ApiKeys keys =
      ApiKeys::parse(make_key("bob:client").value().line + "\n" + right.line).value();
  std::string wrong[] = {right.key, right.key};
  const std::size_t places[] = {1, 31};
  for (int i = 0; i < 2; ++i) {
    char& byte = wrong[i][places[i]];
    byte = byte == 'a' ? 'b' : 'a';
  }
  std::vector<double> times[2];
  std::string asked = right.key;  // one place in memory for both, which may be a slower one
  std::mt19937 random(static_cast<unsigned>(proof_seed().value_or(1)));
  for (std::size_t i = 0; i < tries; ++i) {
    const unsigned which = random() % 2;
    asked = wrong[which];
    const auto begun = Clock::now();
    const bool found = keys.find(asked) != nullptr;
    const std::chrono::duration<double, std::nano> time = Clock::now() - begun;
    ASSERT_FALSE(found);
    times[which].push_back(time.count());
  }
  ASSERT_NE(keys.find(right.key), nullptr);
  crop(times[0], times[1]);
  const double t = welch_t(times[0], times[1]);
  std::cout << "Welch's t " << t << "\n[  CASES   ] " << tries << '\n';
  if (proof_seed()) {
    EXPECT_LT(std::abs(t), 4.5);
  }
}

}  // namespace
}  // namespace forge::serve
