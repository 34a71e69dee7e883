// Weights of a group from a panel to registers, for the lanes of one vector of outputs, step by
// step.
#include "code_dot-inl.h"
#include "forge/linear/code_layout.h"
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

/// What the words of a group mean: w = step * words, plus minus_minimum for kinds with minima. For
/// kinds whose halves have scales, the step is for half_scales[half] * words, and minus_minimum for
/// half_mins[half]. The words hold unsigned bytes, the codes c, from which kOffset is to be taken.
struct Scales {
  Scales() = default;  // see WideningDot
  hn::Vec<Floats> step;
  hn::Vec<Floats> minus_minimum;
  hn::Vec<Floats> half_scales[2];
  hn::Vec<Floats> half_mins[2];
};

HWY_INLINE hn::Vec<Floats> load_floats(const numerics::F16* from) {
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

/// Two quads from a word of nibbles, low ones first.
HWY_INLINE void load_pair(const std::uint32_t* from, hn::Vec<Words> (&words)[2]) {
  const auto nibbles = hn::Set(Words(), four(15));
  const auto pair = hn::LoadU(Words(), from);
  words[0] = hn::And(pair, nibbles);
  words[1] = hn::And(hn::ShiftRight<4>(pair), nibbles);
}

/// Adds bytes, none of which overflows.
HWY_INLINE void add_bytes(hn::Vec<Words> bytes, hn::Vec<Words> (&words)[2]) {
  for (auto& word : words) word = hn::Add(word, bytes);
}

/// The numbers that codes of 4 bits, one a byte, stand for.
HWY_INLINE hn::Vec<Words> look_up(const std::uint8_t* table, hn::Vec<Words> codes) {
#if HWY_TARGET == HWY_SCALAR
  std::uint32_t word = 0;
  for (int i = 0; i < 32; i += 8) {
    word |= std::uint32_t{table[hn::GetLane(codes) >> i & 15]} << i;
  }
  return hn::Set(Words(), word);
#else
  const hn::Repartition<std::uint8_t, Words> bytes;
  const auto numbers = hn::LoadDup128(bytes, table);
  return hn::BitCast(Words(), hn::TableLookupBytes(numbers, hn::BitCast(bytes, codes)));
#endif
}

/// The lower two bits of quads `step` and 4 + `step`.
HWY_INLINE void load_lows(const std::uint32_t (&lows)[2][kPanelOutputs], int lane, int step,
                          hn::Vec<Words> (&words)[2]) {
  for (int i = 0; i < 2; ++i) {
    const auto bits = hn::ShiftRightSame(hn::LoadU(Words(), lows[i] + lane), 2 * step);
    words[i] = hn::And(bits, hn::Set(Words(), four(3)));
  }
}

/// Their third bits.
HWY_INLINE void add_third_bits(const std::uint32_t* third, int step, hn::Vec<Words> (&words)[2]) {
  const auto mask = hn::Set(Words(), four(4));
  const auto bits = hn::ShiftRightSame(hn::LoadU(Words(), third), step);
  words[0] = hn::Or(words[0], hn::And(hn::ShiftLeft<2>(bits), mask));
  words[1] = hn::Or(words[1], hn::And(hn::ShiftRight<2>(bits), mask));
}

/// The fifth bits of quads `step` and 4 + `step`.
HWY_INLINE void add_fifth_bits(const std::uint32_t* fifth, int step, hn::Vec<Words> (&words)[2]) {
  const auto mask = hn::Set(Words(), four(0x10));
  const auto bits = hn::ShiftRightSame(hn::LoadU(Words(), fifth), step);
  words[0] = hn::Or(words[0], hn::And(hn::ShiftLeft<4>(bits), mask));
  words[1] = hn::Or(words[1], hn::And(bits, mask));
}

/// The upper two bits of quads `step` and 4 + `step`.
HWY_INLINE void add_upper_pairs(const std::uint32_t (&uppers)[2][kPanelOutputs], int lane, int step,
                                hn::Vec<Words> (&words)[2]) {
  const auto mask = hn::Set(Words(), four(0x30));
  for (int i = 0; i < 2; ++i) {
    const auto bits = hn::ShiftRightSame(hn::LoadU(Words(), uppers[i] + lane), 2 * step);
    words[i] = hn::Or(words[i], hn::And(hn::ShiftLeft<4>(bits), mask));
  }
}

// The kinds of panels: how the outputs [lane, lane + kVectorLanes) of a group are read. Codes come
// in kSteps steps of a few words, in the order of memory: of step s quads s, s + kSteps, ...

template <class Struct>
HWY_INLINE const Struct& at(const std::byte* panel, int index) {
  return reinterpret_cast<const Struct*>(panel)[index];
}

/// Codes of 8 bits.
struct Bytes {
  static constexpr int kSteps = kQuads;
  static constexpr int kStepWords = 1;
  static constexpr bool kMinima = false;
  static constexpr int kBits = 8;      ///< of a code, at most
  static constexpr int kOffset = 128;  ///< 0, or a power of two
  static constexpr int kHalves = 1;
};

/// Codes whose lower 4 bits lie in pairs.
struct Nibbles : Bytes {
  static constexpr int kSteps = kQuads / 2;
  static constexpr int kStepWords = 2;
  static constexpr int kBits = 4;
};

struct Q80 : Bytes {
  static constexpr std::size_t kGroupBytes = sizeof(Q80Group);

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[1]) {
    out[0] = hn::LoadU(Words(), at<Q80Group>(panel, group).quads[step] + lane);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    out.step = load_floats(at<Q80Group>(panel, group).scales + lane);
  }
};

struct Int8 : Bytes {
  static constexpr std::size_t kGroupBytes = sizeof(Int8Group);

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[1]) {
    const auto& from = at<Int8Group>(panel + sizeof(Int8Head), group);
    out[0] = hn::LoadU(Words(), from.quads[step] + lane);
  }
  static HWY_INLINE void scales(const std::byte* panel, int, int lane, Scales& out) {
    out.step = hn::LoadU(Floats(), at<Int8Head>(panel, 0).scales + lane);
  }
};

struct Q40 : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(Q40Group);
  static constexpr int kOffset = 8;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    load_pair(at<Q40Group>(panel, group).pairs[step] + lane, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    out.step = load_floats(at<Q40Group>(panel, group).scales + lane);
  }
};

struct Int4 : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(Int4Group);
  static constexpr int kBits = 5;
  static constexpr int kOffset = 16;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = at<Int4Group>(panel, group);
    load_pair(from.pairs[step] + lane, out);
    const auto zeros = hn::BitCast(Words(), load_ints(from.zeros + lane));
    const auto twice = hn::Or(zeros, hn::ShiftLeft<8>(zeros));
    const auto offset = hn::Or(twice, hn::ShiftLeft<16>(twice));
    add_bytes(hn::Sub(hn::Set(Words(), four(kOffset)), offset), out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    out.step = load_floats(at<Int4Group>(panel, group).scales + lane);
  }
};

struct Q50 : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(Q50Group);
  static constexpr int kBits = 5;
  static constexpr int kOffset = 16;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = at<Q50Group>(panel, group);
    load_pair(from.pairs[step] + lane, out);
    add_fifth_bits(from.fifth + lane, step, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    out.step = load_floats(at<Q50Group>(panel, group).scales + lane);
  }
};

struct Q51 : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(Q51Group);
  static constexpr int kBits = 5;
  static constexpr bool kMinima = true;
  static constexpr int kOffset = 0;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = at<Q51Group>(panel, group);
    load_pair(from.pairs[step] + lane, out);
    add_fifth_bits(from.fifth + lane, step, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    const auto& from = at<Q51Group>(panel, group);
    out.step = load_floats(from.scales + lane);
    out.minus_minimum = load_floats(from.smallest + lane);
  }
};

struct Table4 : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(TableGroup);
  static constexpr int kBits = 8;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    load_pair(at<TableGroup>(panel + sizeof(TableHead), group).pairs[step] + lane, out);
    for (auto& word : out) word = look_up(at<TableHead>(panel, 0).numbers, word);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    out.step = hn::LoadU(Floats(), at<TableGroup>(panel + sizeof(TableHead), group).scales + lane);
  }
};

/// Kinds with blocks of 256 inputs.
template <class Block>
struct Blocks : Nibbles {
  static constexpr std::size_t kGroupBytes = sizeof(Block) / kBlockGroups;

  static HWY_INLINE const Block& block_of(const std::byte* panel, int group) {
    return at<Block>(panel, group / kBlockGroups);
  }
  static HWY_INLINE const auto& group_of(const std::byte* panel, int group) {
    return block_of(panel, group).groups[group % kBlockGroups];
  }
};

template <class Block>
struct AffineBlocks : Blocks<Block> {
  static constexpr bool kMinima = true;
  static constexpr int kOffset = 0;

  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    const auto& block = Blocks<Block>::block_of(panel, group);
    const auto& from = Blocks<Block>::group_of(panel, group);
    out.step = hn::Mul(load_floats(block.d + lane), load_floats(from.scales + lane));
    out.minus_minimum =
        hn::Neg(hn::Mul(load_floats(block.m + lane), load_floats(from.mins + lane)));
  }
};

struct Q2K : Blocks<Q2KBlock> {
  static constexpr bool kMinima = true;
  static constexpr int kOffset = 0;
  static constexpr int kHalves = 2;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    load_lows(group_of(panel, group).lows, lane, step, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    const auto& block = block_of(panel, group);
    const auto& from = group_of(panel, group);
    out.step = load_floats(block.d + lane);
    out.minus_minimum = hn::Neg(load_floats(block.m + lane));
    for (int half = 0; half < 2; ++half) {
      const auto both = load_ints(from.scales[half] + lane);
      out.half_scales[half] = hn::ConvertTo(Floats(), hn::And(both, hn::Set(Ints(), 15)));
      out.half_mins[half] = hn::ConvertTo(Floats(), hn::ShiftRight<4>(both));
    }
  }
};

struct Q3K : Blocks<Q3KBlock> {
  static constexpr int kOffset = 4;
  static constexpr int kHalves = 2;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = group_of(panel, group);
    load_lows(from.lows, lane, step, out);
    add_third_bits(from.third + lane, step, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    const auto& from = group_of(panel, group);
    out.step = load_floats(block_of(panel, group).d + lane);
    out.half_scales[0] = load_floats(from.scales[0] + lane);
    out.half_scales[1] = load_floats(from.scales[1] + lane);
  }
};

struct Q4K : AffineBlocks<Q4KBlock> {
  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    load_pair(group_of(panel, group).pairs[step] + lane, out);
  }
};

struct Q5K : AffineBlocks<Q5KBlock> {
  static constexpr int kBits = 5;
  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = group_of(panel, group);
    load_pair(from.pairs[step] + lane, out);
    add_fifth_bits(from.fifth + lane, step, out);
  }
};

struct Q6K : Blocks<Q6KBlock> {
  static constexpr int kBits = 6;
  static constexpr int kOffset = 32;
  static constexpr int kHalves = 2;

  static HWY_INLINE void words(const std::byte* panel, int group, int lane, int step,
                               hn::Vec<Words> (&out)[2]) {
    const auto& from = group_of(panel, group);
    load_pair(from.pairs[step] + lane, out);
    add_upper_pairs(from.uppers, lane, step, out);
  }
  static HWY_INLINE void scales(const std::byte* panel, int group, int lane, Scales& out) {
    const auto& from = group_of(panel, group);
    out.step = load_floats(block_of(panel, group).d + lane);
    out.half_scales[0] = load_floats(from.scales[0] + lane);
    out.half_scales[1] = load_floats(from.scales[1] + lane);
  }
};

}  // namespace forge::linear::codes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
