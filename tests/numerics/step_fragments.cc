#include "numerics/step_fragments.h"

#include <algorithm>

namespace forge::testing {
namespace {

using numerics::bits_of;
using numerics::float_of;

/// Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014: SplitMix64.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  bool one_in(std::uint64_t n) { return word() % n == 0; }
  int between(int low, int high) {
    return low + static_cast<int>(word() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

/// How a type's bits are laid out.
struct Layout {
  int fraction;
  int exponent;
  std::uint32_t sign() const { return 1u << (fraction + exponent); }
  std::uint32_t fractions() const { return (1u << fraction) - 1; }
  std::uint32_t infinity() const { return ((1u << exponent) - 1) << fraction; }
  int largest() const { return (1 << (exponent - 1)) - 1; }

  /// A random sign and fraction; an exponent in [low, high], or the type's next.
  std::uint32_t number(Draws& draws, int low, int high) const {
    const int biased = std::clamp(draws.between(low, high) + largest(), 0, 2 * largest());
    const std::uint64_t word = draws.word();
    return static_cast<std::uint32_t>((word & sign()) |
                                      static_cast<std::uint32_t>(biased) << fraction |
                                      (word >> 40 & fractions()));
  }
};
constexpr Layout kFloat{23, 8};
template <class Half>
constexpr Layout kLayout{7, 8};
template <>
constexpr Layout kLayout<numerics::F16>{10, 5};

struct Exponents {
  int low, high;      ///< of factors
  int c_low, c_high;  ///< of accumulators
};

Exponents exponents_of(FragmentKind kind, int largest) {
  const bool wide = largest > 15;
  switch (kind) {
    case FragmentKind::any_bits:
      return {-largest, largest, -126, 127};
    case FragmentKind::spread:
      return {-14, 14, -28, 30};
    case FragmentKind::tiny:
      return wide ? Exponents{-80, -60, -149, -120} : Exponents{-14, -10, -149, -20};
    case FragmentKind::huge:
      return wide ? Exponents{58, 64, 120, 127} : Exponents{10, 15, 120, 127};
    default:
      return {-4, 3, -2, 6};
  }
}

template <class Half>
class Maker {
 public:
  Maker(FragmentKind kind, std::uint64_t number)
      : kind_(kind), draws_(number * 16 + static_cast<std::uint64_t>(kind)) {}

  StepFragment<Half> make() {
    for (auto& row : made_.a) std::ranges::generate(row, [&] { return factor(); });
    for (auto& row : made_.b) std::ranges::generate(row, [&] { return factor(); });
    for (auto& row : made_.c) std::ranges::generate(row, [&] { return accumulator(); });
    if (kind_ == FragmentKind::cancelling) cancel();
    return made_;
  }

 private:
  static constexpr Layout kHalf = kLayout<Half>;

  static Half half(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }

  Half factor() {
    std::uint32_t x = kHalf.number(draws_, exponents_.low, exponents_.high);
    const std::uint32_t zero = x & kHalf.sign();
    switch (kind_) {
      case FragmentKind::integers: {
        const float whole = static_cast<float>(draws_.between(-16, 16));
        return half(kHalf.fraction == 7 ? numerics::to_bf16(whole).bits
                                        : numerics::to_f16(whole).bits);
      }
      case FragmentKind::subnormal:
        if (draws_.one_in(3)) return half(zero);
        if (draws_.one_in(2)) x &= kHalf.sign() | kHalf.fractions();
        return half(x);
      case FragmentKind::mostly_zero:
        return draws_.one_in(4) ? half(kHalf.number(draws_, -kHalf.largest(), kHalf.largest()))
                                : half(zero);
      case FragmentKind::special:
        if (draws_.one_in(97)) return half(x | kHalf.infinity() | 1);
        if (draws_.one_in(40)) return half(zero | kHalf.infinity());
        return draws_.one_in(20) ? half(zero) : half(x);
      default:
        return half(x);
    }
  }

  float accumulator() {
    std::uint32_t x = kFloat.number(draws_, exponents_.c_low, exponents_.c_high);
    const std::uint32_t zero = x & kFloat.sign();
    switch (kind_) {
      case FragmentKind::integers:
        return static_cast<float>(draws_.between(-1000, 1000));
      case FragmentKind::special:
        if (draws_.one_in(60)) x |= kFloat.infinity() | 1;
        return float_of(draws_.one_in(30) ? zero | kFloat.infinity() : x);
      case FragmentKind::subnormal:
      case FragmentKind::mostly_zero:
        if (draws_.one_in(3)) return float_of(zero);
        if (draws_.one_in(2)) return float_of(x & (kFloat.sign() | kFloat.fractions()));
        return float_of(kFloat.number(draws_, -126, 40));
      case FragmentKind::tiny:
        return float_of(draws_.one_in(4) ? zero : x);
      default:
        return float_of(x);
    }
  }

  /// Each second product is the one before it, with the other sign and sometimes another last bit.
  void cancel() {
    for (auto& row : made_.a) {
      for (int k = 0; k < 16; k += 2) row[k + 1] = half(row[k].bits ^ kHalf.sign());
    }
    for (auto& row : made_.b) {
      for (int k = 0; k < 16; k += 2) {
        row[k + 1] = half(row[k].bits ^ (draws_.one_in(3) ? 1u : 0u));
      }
    }
    for (auto& row : made_.c) {
      for (float& c : row)
        c *= float_of(static_cast<std::uint32_t>(127 - draws_.between(0, 25)) << 23);
    }
  }

  FragmentKind kind_;
  Draws draws_;
  Exponents exponents_ = exponents_of(kind_, kHalf.largest());
  StepFragment<Half> made_{};
};

}  // namespace

template <class Half>
StepFragment<Half> step_fragment(FragmentKind kind, std::uint64_t number) {
  return Maker<Half>(kind, number).make();
}
template StepFragment<numerics::BF16> step_fragment(FragmentKind, std::uint64_t);
template StepFragment<numerics::F16> step_fragment(FragmentKind, std::uint64_t);

}  // namespace forge::testing
