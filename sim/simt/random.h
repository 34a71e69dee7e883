// Random numbers of a schedule (SplitMix64: Steele, Lea, Flood, OOPSLA 2014). They are the same on
// every machine, unlike those of std::shuffle and the standard distributions.
#pragma once

#include <cstdint>

namespace forge::simt {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A number in [0, n). The bias of at most n / 2^32 does not matter here.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace forge::simt
