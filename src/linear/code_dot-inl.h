// Sums of products of bytes, in words: for each lane, sum += w0 a0 + w1 a1 + w2 a2 + w3 a3, where a
// word of w holds four unsigned bytes and `a` is four signed ones, the same for all lanes.
//
// All sums are exact, so every version gives the same. A version has the types
//
//   Weights, Quad    words of w, and four bytes a, in the form that add() takes
//   Sum              a vector of sums in progress
//
// and the operations weights(words), quad(bytes), begin(bias), add(sum, w, a), total(sum, bias).
// The bias, a sum from before, is given twice: a version adds it where that costs less.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

#if defined(FORGE_LINEAR_CODE_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_CODE_DOT_INL_H
#undef FORGE_LINEAR_CODE_DOT_INL_H
#else
#define FORGE_LINEAR_CODE_DOT_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint32_t, 16>;
using Ints = hn::CappedTag<std::int32_t, 16>;

HWY_INLINE std::uint32_t word_at(const std::int8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

#if HWY_TARGET == HWY_SCALAR
/// One lane, plain arithmetic.
struct WideningDot {
  using Weights = std::uint32_t;
  using Quad = const std::int8_t*;
  using Sum = std::int32_t;

  static Weights weights(hn::Vec<Words> words) { return hn::GetLane(words); }
  static Quad quad(const std::int8_t* bytes) { return bytes; }
  static Sum begin(hn::Vec<Ints> bias) { return hn::GetLane(bias); }
  static Sum add(Sum sum, Weights w, Quad a) {
    for (int i = 0; i < 4; ++i) sum += static_cast<int>(w >> (8 * i) & 255) * a[i];
    return sum;
  }
  static hn::Vec<Ints> total(Sum sum, hn::Vec<Ints>) { return hn::Set(Ints(), sum); }
};
#else
/// Bytes widened to 16 bits, those with odd and those with even index apart, and multiplied in
/// pairs.
///
/// Structs of vectors declare their constructors: g++ compiles those that it adds itself without
/// the target's options, and then cannot inline those of NEON's vectors.
struct WideningDot {
  using Shorts = hn::Repartition<std::int16_t, Words>;
  struct Pairs {
    Pairs() = default;
    HWY_INLINE Pairs(hn::Vec<Shorts> a, hn::Vec<Shorts> b) : even(a), odd(b) {}
    hn::Vec<Shorts> even;
    hn::Vec<Shorts> odd;
  };
  using Weights = Pairs;
  using Quad = Pairs;
  struct Sum {
    Sum() = default;
    explicit HWY_INLINE Sum(hn::Vec<Ints> zero) : first(zero), second(zero) {}
    hn::Vec<Ints> first;   // sums of pairs; which lanes of the two belong together depends on the
    hn::Vec<Ints> second;  // target
  };

  static HWY_INLINE Weights weights(hn::Vec<Words> words) {
    const auto even = hn::And(words, hn::Set(Words(), 0x00ff00ffu));
    const auto odd = hn::And(hn::ShiftRight<8>(words), hn::Set(Words(), 0x00ff00ffu));
    return {hn::BitCast(Shorts(), even), hn::BitCast(Shorts(), odd)};
  }

  static HWY_INLINE Quad quad(const std::int8_t* bytes) {
    const auto shorts = hn::BitCast(Shorts(), hn::Set(Words(), word_at(bytes)));
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(shorts)), hn::ShiftRight<8>(shorts)};
  }

  static HWY_INLINE Sum begin(hn::Vec<Ints>) { return Sum(hn::Zero(Ints())); }

  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    const Ints d;
    sum.first = hn::ReorderWidenMulAccumulate(d, w.even, a.even, sum.first, sum.second);
    sum.first = hn::ReorderWidenMulAccumulate(d, w.odd, a.odd, sum.first, sum.second);
    return sum;
  }

  static HWY_INLINE hn::Vec<Ints> total(Sum sum, hn::Vec<Ints> bias) {
    return hn::Add(bias, hn::RearrangeToOddPlusEven(sum.first, sum.second));
  }
};
#endif

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// AVX512-VNNI: vpdpbusd does all of it. Highway 1.0 has no name for the instruction; callers have
/// asked the processor whether it has it.
struct VnniDot {
  using Weights = hn::Vec<Words>;
  using Quad = hn::Vec<Words>;
  using Sum = hn::Vec<Ints>;

  static HWY_INLINE Weights weights(hn::Vec<Words> words) { return words; }
  static HWY_INLINE Quad quad(const std::int8_t* bytes) { return hn::Set(Words(), word_at(bytes)); }
  static HWY_INLINE Sum begin(hn::Vec<Ints> bias) { return bias; }
  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    asm("vpdpbusd %[a], %[w], %[sum]" : [sum] "+v"(sum.raw) : [w] "v"(w.raw), [a] "v"(a.raw));
    return sum;
  }
  static HWY_INLINE hn::Vec<Ints> total(Sum sum, hn::Vec<Ints>) { return sum; }
};
#endif

#if HWY_TARGET == HWY_AVX2
// pmaddubsw adds two products of bytes in 16 bits, where it saturates; two of magnitudes 128 and
// 127 fit. So it takes codes of 7 bits as they are, and codes of 8 bits by their magnitudes.

HWY_INLINE __m256i pairs_of(__m256i w, __m256i a) { return _mm256_maddubs_epi16(w, a); }
HWY_INLINE hn::Vec<Ints> sums_of_pairs(__m256i pairs) {
  return hn::Vec<Ints>{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))};
}

/// Codes of up to 4 bits: all 16 products of a group have room in 16 bits.
struct Dot4 {
  using Weights = hn::Vec<Words>;
  using Quad = hn::Vec<Words>;
  using Sum = hn::Vec<Words>;

  static HWY_INLINE Weights weights(hn::Vec<Words> words) { return words; }
  static HWY_INLINE Quad quad(const std::int8_t* bytes) { return hn::Set(Words(), word_at(bytes)); }
  static HWY_INLINE Sum begin(hn::Vec<Ints>) { return hn::Zero(Words()); }
  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    return Sum{_mm256_add_epi16(sum.raw, pairs_of(w.raw, a.raw))};
  }
  static HWY_INLINE hn::Vec<Ints> total(Sum sum, hn::Vec<Ints> bias) {
    return hn::Add(bias, sums_of_pairs(sum.raw));
  }
};

/// Codes of up to 7 bits.
struct Dot7 {
  using Weights = hn::Vec<Words>;
  using Quad = hn::Vec<Words>;
  using Sum = hn::Vec<Ints>;

  static HWY_INLINE Weights weights(hn::Vec<Words> words) { return words; }
  static HWY_INLINE Quad quad(const std::int8_t* bytes) { return Dot4::quad(bytes); }
  static HWY_INLINE Sum begin(hn::Vec<Ints> bias) { return bias; }
  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    return hn::Add(sum, sums_of_pairs(pairs_of(w.raw, a.raw)));
  }
  static HWY_INLINE hn::Vec<Ints> total(Sum sum, hn::Vec<Ints>) { return sum; }
};

/// Codes of 8 bits from which 128 is to be taken, which this does, so that there is no bias: then
/// w a is |w| times a with the sign of w.
struct Dot8 {
  struct Weights {
    Weights() = default;
    explicit HWY_INLINE Weights(hn::Vec<Words> w)
        : magnitude(_mm256_abs_epi8(w.raw)), sign(w.raw) {}
    __m256i magnitude;
    __m256i sign;
  };
  using Quad = hn::Vec<Words>;
  using Sum = hn::Vec<Ints>;

  static HWY_INLINE Weights weights(hn::Vec<Words> words) {
    return Weights(hn::Xor(words, hn::Set(Words(), 0x80808080u)));
  }
  static HWY_INLINE Quad quad(const std::int8_t* bytes) { return Dot4::quad(bytes); }
  static HWY_INLINE Sum begin(hn::Vec<Ints>) { return hn::Zero(Ints()); }
  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    const __m256i pairs = pairs_of(w.magnitude, _mm256_sign_epi8(a.raw, w.sign));
    return hn::Add(sum, sums_of_pairs(pairs));
  }
  static HWY_INLINE hn::Vec<Ints> total(Sum sum, hn::Vec<Ints>) { return sum; }
};

/// For codes of so many bits.
template <int kBits>
using DotOf = std::conditional_t<kBits <= 4, Dot4, std::conditional_t<kBits <= 7, Dot7, Dot8>>;
#endif

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
