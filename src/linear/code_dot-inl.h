// Sums of products of bytes, in words: for each lane, sum += w0 a0 + w1 a1 + w2 a2 + w3 a3, where a
// word of w holds four unsigned bytes and `a` is four signed ones, the same for all lanes.
//
// All sums are exact, so every version gives the same. A version has the types
//
//   Weights, Quad    words of w, and four bytes a, in the form that add() takes
//   Sum              a vector of sums in progress
//
// and the operations weights(words), quad(bytes), begin(sums), add(sum, w, a), total(sum).
#include <cstdint>
#include <cstring>

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
  static Sum begin(hn::Vec<Ints> sums) { return hn::GetLane(sums); }
  static Sum add(Sum sum, Weights w, Quad a) {
    for (int i = 0; i < 4; ++i) sum += static_cast<int>(w >> (8 * i) & 255) * a[i];
    return sum;
  }
  static hn::Vec<Ints> total(Sum sum) { return hn::Set(Ints(), sum); }
};
#else
/// Bytes widened to 16 bits, those with odd and those with even index apart, and multiplied in
/// pairs. (The instruction for pairs of bytes, pmaddubsw, saturates.)
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
    HWY_INLINE Sum(hn::Vec<Ints> begin, hn::Vec<Ints> zero)
        : start(begin), first(zero), second(zero) {}
    hn::Vec<Ints> start;
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

  static HWY_INLINE Sum begin(hn::Vec<Ints> sums) { return {sums, hn::Zero(Ints())}; }

  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    const Ints d;
    sum.first = hn::ReorderWidenMulAccumulate(d, w.even, a.even, sum.first, sum.second);
    sum.first = hn::ReorderWidenMulAccumulate(d, w.odd, a.odd, sum.first, sum.second);
    return sum;
  }

  static HWY_INLINE hn::Vec<Ints> total(Sum sum) {
    return hn::Add(sum.start, hn::RearrangeToOddPlusEven(sum.first, sum.second));
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
  static HWY_INLINE Sum begin(hn::Vec<Ints> sums) { return sums; }
  static HWY_INLINE Sum add(Sum sum, Weights w, Quad a) {
    asm("vpdpbusd %[a], %[w], %[sum]" : [sum] "+v"(sum.raw) : [w] "v"(w.raw), [a] "v"(a.raw));
    return sum;
  }
  static HWY_INLINE hn::Vec<Ints> total(Sum sum) { return sum; }
};
#endif

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
