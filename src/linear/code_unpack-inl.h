// Weights of a group from a panel to registers, for the lanes of one vector of outputs.
#include "code_dot-inl.h"
#include "code_layout.h"
#include "hwy/highway.h"

#if defined(FORGE_LINEAR_CODE_UNPACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_CODE_UNPACK_INL_H
#undef FORGE_LINEAR_CODE_UNPACK_INL_H
#else
#define FORGE_LINEAR_CODE_UNPACK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::codes::HWY_NAMESPACE {

using Floats = hn::CappedTag<float, 16>;
inline constexpr int kVectorLanes = static_cast<int>(hn::MaxLanes(Floats()));

/// w = step * words, plus minus_minimum for kinds with minima. For kinds whose halves have scales,
/// the step is for half_scales[half] * words. The words hold unsigned bytes: c - o + 128 for kinds
/// that are kBiased, else c.
struct Unpacked {
  Unpacked() = default;  // see WideningDot
  hn::Vec<Words> words[kQuads];
  hn::Vec<Floats> step;
  hn::Vec<Floats> minus_minimum;
  hn::Vec<Floats> half_scales[2];
};

HWY_INLINE hn::Vec<Floats> load_floats(const quant::F16* from) {
  const hn::Rebind<std::uint16_t, Floats> bits;
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const auto stored = hn::LoadU(bits, reinterpret_cast<const std::uint16_t*>(from));
  return hn::PromoteTo(Floats(), hn::BitCast(halves, stored));
}

template <class Byte>
HWY_INLINE hn::Vec<Ints> load_ints(const Byte* from) {
  return hn::PromoteTo(Ints(), hn::LoadU(hn::Rebind<Byte, Ints>(), from));
}

template <class Byte>
HWY_INLINE hn::Vec<Floats> load_floats(const Byte* from) {
  return hn::ConvertTo(Floats(), load_ints(from));
}

HWY_INLINE void load_quads(const std::uint32_t (&quads)[kQuads][kPanelOutputs], int lane,
                           Unpacked& out) {
  for (int q = 0; q < kQuads; ++q) out.words[q] = hn::LoadU(Words(), quads[q] + lane);
}

HWY_INLINE void load_pairs(const std::uint32_t (&pairs)[kQuads / 2][kPanelOutputs], int lane,
                           Unpacked& out) {
  const auto nibbles = hn::Set(Words(), four(15));
  for (int j = 0; j < kQuads / 2; ++j) {
    const auto pair = hn::LoadU(Words(), pairs[j] + lane);
    out.words[j] = hn::And(pair, nibbles);
    out.words[kQuads / 2 + j] = hn::And(hn::ShiftRight<4>(pair), nibbles);
  }
}

/// Adds bytes, none of which overflows.
HWY_INLINE void add_bytes(hn::Vec<Words> bytes, Unpacked& out) {
  for (auto& word : out.words) word = hn::Add(word, bytes);
}

/// Bits [kFrom, kFrom + count of ones in `mask`) of each byte of x, moved to where `mask` (bits of
/// a byte, from bit 4 on) has its ones.
template <int kFrom>
HWY_INLINE hn::Vec<Words> upper_bits(hn::Vec<Words> x, std::uint32_t mask) {
  const auto wanted = hn::Set(Words(), four(mask));
  if constexpr (kFrom < 4) {
    return hn::And(hn::ShiftLeft<4 - kFrom>(x), wanted);
  } else {
    return hn::And(hn::ShiftRight<kFrom - 4>(x), wanted);
  }
}

HWY_INLINE void add_fifth_bits(const std::uint32_t* fifth, Unpacked& out) {
  const auto bits = hn::LoadU(Words(), fifth);
  constexpr std::uint32_t kMask = 0x10;
  out.words[0] = hn::Or(out.words[0], upper_bits<0>(bits, kMask));
  out.words[1] = hn::Or(out.words[1], upper_bits<1>(bits, kMask));
  out.words[2] = hn::Or(out.words[2], upper_bits<2>(bits, kMask));
  out.words[3] = hn::Or(out.words[3], upper_bits<3>(bits, kMask));
  out.words[4] = hn::Or(out.words[4], upper_bits<4>(bits, kMask));
  out.words[5] = hn::Or(out.words[5], upper_bits<5>(bits, kMask));
  out.words[6] = hn::Or(out.words[6], upper_bits<6>(bits, kMask));
  out.words[7] = hn::Or(out.words[7], upper_bits<7>(bits, kMask));
}

HWY_INLINE void add_upper_pairs(const std::uint32_t* uppers, hn::Vec<Words>* words) {
  const auto bits = hn::LoadU(Words(), uppers);
  constexpr std::uint32_t kMask = 0x30;
  words[0] = hn::Or(words[0], upper_bits<0>(bits, kMask));
  words[1] = hn::Or(words[1], upper_bits<2>(bits, kMask));
  words[2] = hn::Or(words[2], upper_bits<4>(bits, kMask));
  words[3] = hn::Or(words[3], upper_bits<6>(bits, kMask));
}

// The kinds of panels. unpack() reads the outputs [lane, lane + kVectorLanes) of group `group`.

template <class Struct>
HWY_INLINE const Struct& at(const std::byte* panel, int index) {
  return reinterpret_cast<const Struct*>(panel)[index];
}

struct Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q80Group);
  static constexpr bool kMinima = false;
  static constexpr bool kBiased = true;
  static constexpr int kHalves = 1;

  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& from = at<Q80Group>(panel, group);
    load_quads(from.quads, lane, out);
    out.step = load_floats(from.scales + lane);
  }
};

struct Int8 : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Int8Group);
  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    load_quads(at<Int8Group>(panel + sizeof(Int8Head), group).quads, lane, out);
    out.step = hn::LoadU(Floats(), at<Int8Head>(panel, 0).scales + lane);
  }
};

struct Q40 : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q40Group);
  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& from = at<Q40Group>(panel, group);
    load_pairs(from.pairs, lane, out);
    add_bytes(hn::Set(Words(), four(128 - 8)), out);
    out.step = load_floats(from.scales + lane);
  }
};

struct Int4 : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Int4Group);
  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& from = at<Int4Group>(panel, group);
    load_pairs(from.pairs, lane, out);
    const auto zeros = hn::BitCast(Words(), load_ints(from.zeros + lane));
    const auto twice = hn::Or(zeros, hn::ShiftLeft<8>(zeros));
    const auto offset = hn::Or(twice, hn::ShiftLeft<16>(twice));
    add_bytes(hn::Sub(hn::Set(Words(), four(128)), offset), out);
    out.step = load_floats(from.scales + lane);
  }
};

struct Q50 : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q50Group);
  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& from = at<Q50Group>(panel, group);
    load_pairs(from.pairs, lane, out);
    add_fifth_bits(from.fifth + lane, out);
    add_bytes(hn::Set(Words(), four(128 - 16)), out);
    out.step = load_floats(from.scales + lane);
  }
};

struct Q51 : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q51Group);
  static constexpr bool kMinima = true;
  static constexpr bool kBiased = false;

  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& from = at<Q51Group>(panel, group);
    load_pairs(from.pairs, lane, out);
    add_fifth_bits(from.fifth + lane, out);
    out.step = load_floats(from.scales + lane);
    out.minus_minimum = load_floats(from.smallest + lane);
  }
};

template <class Block>
HWY_INLINE void load_affine(const Block& block, const typename Block::Group& group, int lane,
                            Unpacked& out) {
  out.step = hn::Mul(load_floats(block.d + lane), load_floats(group.scales + lane));
  out.minus_minimum = hn::Neg(hn::Mul(load_floats(block.m + lane), load_floats(group.mins + lane)));
}

struct Q4K : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q4KBlock) / kBlockGroups;
  static constexpr bool kMinima = true;
  static constexpr bool kBiased = false;

  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& block = at<Q4KBlock>(panel, group / kBlockGroups);
    const auto& from = block.groups[group % kBlockGroups];
    load_pairs(from.pairs, lane, out);
    load_affine(block, from, lane, out);
  }
};

struct Q5K : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q5KBlock) / kBlockGroups;
  static constexpr bool kMinima = true;
  static constexpr bool kBiased = false;

  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& block = at<Q5KBlock>(panel, group / kBlockGroups);
    const auto& from = block.groups[group % kBlockGroups];
    load_pairs(from.pairs, lane, out);
    add_fifth_bits(from.fifth + lane, out);
    load_affine(block, from, lane, out);
  }
};

struct Q6K : Q80 {
  static constexpr std::size_t kGroupBytes = sizeof(Q6KBlock) / kBlockGroups;
  static constexpr int kHalves = 2;

  static HWY_INLINE void unpack(const std::byte* panel, int group, int lane, Unpacked& out) {
    const auto& block = at<Q6KBlock>(panel, group / kBlockGroups);
    const auto& from = block.groups[group % kBlockGroups];
    load_pairs(from.pairs, lane, out);
    add_upper_pairs(from.uppers[0] + lane, out.words);
    add_upper_pairs(from.uppers[1] + lane, out.words + kQuads / 2);
    add_bytes(hn::Set(Words(), four(128 - 32)), out);
    out.step = load_floats(block.d + lane);
    out.half_scales[0] = load_floats(from.scales[0] + lane);
    out.half_scales[1] = load_floats(from.scales[1] + lane);
  }
};

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
