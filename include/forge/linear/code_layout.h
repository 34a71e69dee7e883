// How codes lie in panels, on a CPU and on a GPU: what LinearWeights packs and products read.
//
// A quad is a word of four bytes, the codes of one output for four consecutive inputs, the first
// in the lowest byte. A lane of a dot-product instruction takes a quad of weights and a quad of
// activations. Lanes run across outputs: [32] is always the outputs of the panel. A group is 32
// inputs, quads 0 .. 7 of each output:
//
//   8 bits   quads[q]    quad q: code + 128
//   4 bits   pairs[j]    low nibbles are quad j, high nibbles quad 4 + j
//   5th bit  fifth       bit q of a byte is the fifth bit of that byte of quad q
//   6 bits   uppers[j]   bits 2 i, 2 i + 1 of a byte are the upper two of that byte of quad 4 j + i
//   2 bits   lows[j]     likewise, the lower two
//   3rd bit  third       as the fifth
//
// Codes of fewer than 8 bits are unsigned; products take their offset off (4, 8, 16, 32, or the
// zero point of the group), or look the number up that they stand for. A panel is the structs below
// one after the other, as many as cover the inputs, after the head of its kind, if any. All structs
// but Int4Group are multiples of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forge/linear/panels.h"
#include "forge/numerics/half.h"
#include "forge/numerics/host_device.h"

namespace forge::linear::codes {

inline constexpr int kGroup = 32;  ///< inputs that share a scale of activations
inline constexpr int kQuads = kGroup / 4;
inline constexpr int kBlockGroups = 8;  ///< groups of a block of 256 inputs

struct Q80Group {
  std::uint32_t quads[kQuads][kPanelOutputs];
  numerics::F16 scales[kPanelOutputs];
};

/// The head of a panel; the groups follow.
struct Int8Head {
  float scales[kPanelOutputs];
};

struct Int8Group {
  std::uint32_t quads[kQuads][kPanelOutputs];
};

struct Q40Group {
  std::uint32_t pairs[kQuads / 2][kPanelOutputs];
  numerics::F16 scales[kPanelOutputs];
};

struct Int4Group {
  std::uint32_t pairs[kQuads / 2][kPanelOutputs];
  numerics::F16 scales[kPanelOutputs];
  std::uint8_t zeros[kPanelOutputs];
};

struct Q50Group {
  std::uint32_t pairs[kQuads / 2][kPanelOutputs];
  std::uint32_t fifth[kPanelOutputs];
  numerics::F16 scales[kPanelOutputs];
};

struct Q51Group {
  std::uint32_t pairs[kQuads / 2][kPanelOutputs];
  std::uint32_t fifth[kPanelOutputs];
  numerics::F16 scales[kPanelOutputs];
  numerics::F16 smallest[kPanelOutputs];  ///< the -m of forge/linear/product.h
};

/// The head of a panel of codes of a table; the groups follow.
struct TableHead {
  std::uint8_t numbers[64];  ///< of the 16 codes: number + 128; then zeros
};

struct TableGroup {
  std::uint32_t pairs[kQuads / 2][kPanelOutputs];
  float scales[kPanelOutputs];
};

struct Q2KBlock {
  struct Group {
    std::uint32_t lows[2][kPanelOutputs];
    std::uint8_t scales[2][kPanelOutputs];  ///< low nibble: scale, high nibble: offset; of halves
  };
  numerics::F16 d[kPanelOutputs];
  numerics::F16 m[kPanelOutputs];
  Group groups[kBlockGroups];
};

struct Q3KBlock {
  struct Group {
    std::uint32_t lows[2][kPanelOutputs];
    std::uint32_t third[kPanelOutputs];
    std::int8_t scales[2][kPanelOutputs];  ///< of inputs 0 .. 15 and 16 .. 31
  };
  numerics::F16 d[kPanelOutputs];
  Group groups[kBlockGroups];
};

struct Q4KBlock {
  struct Group {
    std::uint32_t pairs[kQuads / 2][kPanelOutputs];
    std::uint8_t scales[kPanelOutputs];
    std::uint8_t mins[kPanelOutputs];
  };
  numerics::F16 d[kPanelOutputs];
  numerics::F16 m[kPanelOutputs];
  Group groups[kBlockGroups];
};

struct Q5KBlock {
  struct Group {
    std::uint32_t pairs[kQuads / 2][kPanelOutputs];
    std::uint32_t fifth[kPanelOutputs];
    std::uint8_t scales[kPanelOutputs];
    std::uint8_t mins[kPanelOutputs];
  };
  numerics::F16 d[kPanelOutputs];
  numerics::F16 m[kPanelOutputs];
  Group groups[kBlockGroups];
};

struct Q6KBlock {
  struct Group {
    std::uint32_t pairs[kQuads / 2][kPanelOutputs];
    std::uint32_t uppers[2][kPanelOutputs];
    std::int8_t scales[2][kPanelOutputs];  ///< of inputs 0 .. 15 and 16 .. 31
  };
  numerics::F16 d[kPanelOutputs];
  Group groups[kBlockGroups];
};

static_assert(sizeof(Q80Group) == 32 * 34 && sizeof(Int8Group) == 32 * 32 &&
              sizeof(Q40Group) == 32 * 18 && sizeof(Int4Group) == 32 * 19 &&
              sizeof(Q50Group) == 32 * 22 && sizeof(Q51Group) == 32 * 24 &&
              sizeof(Q4KBlock) == 32 * 148 && sizeof(Q5KBlock) == 32 * 180 &&
              sizeof(Q6KBlock) == 32 * 210 && sizeof(TableHead) == 64 &&
              sizeof(TableGroup) == 32 * 20 && sizeof(Q2KBlock) == 32 * 84 &&
              sizeof(Q3KBlock) == 32 * 114);

/// A word that has the byte in all four places.
constexpr std::uint32_t four(std::uint32_t byte) { return byte * 0x01010101u; }

/// Groups that cover `inputs`; the last may be padded with zeros.
FORGE_HOST_DEVICE constexpr int group_count(int inputs) { return (inputs + kGroup - 1) / kGroup; }

/// Whether eight groups at a time are a block with a head.
FORGE_HOST_DEVICE constexpr bool has_blocks(PanelKind kind) {
  return kind == PanelKind::q2_k || kind == PanelKind::q3_k || kind == PanelKind::q4_k ||
         kind == PanelKind::q5_k || kind == PanelKind::q6_k;
}

/// Bytes before the groups: of the panel, or of each of its blocks.
FORGE_HOST_DEVICE constexpr std::size_t head_bytes(PanelKind kind) {
  switch (kind) {
    case PanelKind::int8:
      return sizeof(Int8Head);
    case PanelKind::table4:
      return sizeof(TableHead);
    case PanelKind::q2_k:
      return offsetof(Q2KBlock, groups);
    case PanelKind::q3_k:
      return offsetof(Q3KBlock, groups);
    case PanelKind::q4_k:
      return offsetof(Q4KBlock, groups);
    case PanelKind::q5_k:
      return offsetof(Q5KBlock, groups);
    case PanelKind::q6_k:
      return offsetof(Q6KBlock, groups);
    default:
      return 0;
  }
}

/// Bytes of a group; 0 for kinds of floats.
FORGE_HOST_DEVICE constexpr std::size_t group_bytes(PanelKind kind) {
  switch (kind) {
    case PanelKind::q8_0:
      return sizeof(Q80Group);
    case PanelKind::int8:
      return sizeof(Int8Group);
    case PanelKind::q4_0:
      return sizeof(Q40Group);
    case PanelKind::int4:
      return sizeof(Int4Group);
    case PanelKind::q5_0:
      return sizeof(Q50Group);
    case PanelKind::q5_1:
      return sizeof(Q51Group);
    case PanelKind::table4:
      return sizeof(TableGroup);
    case PanelKind::q2_k:
      return sizeof(Q2KBlock::Group);
    case PanelKind::q3_k:
      return sizeof(Q3KBlock::Group);
    case PanelKind::q4_k:
      return sizeof(Q4KBlock::Group);
    case PanelKind::q5_k:
      return sizeof(Q5KBlock::Group);
    case PanelKind::q6_k:
      return sizeof(Q6KBlock::Group);
    default:
      return 0;
  }
}

/// Lines of a group: words of each output, with the codes. They come first, and whatever scales
/// them after them. 0 for kinds of floats.
FORGE_HOST_DEVICE constexpr int line_count(PanelKind kind) {
  switch (kind) {
    case PanelKind::q8_0:
    case PanelKind::int8:
      return kQuads;
    case PanelKind::q4_0:
    case PanelKind::int4:
    case PanelKind::q4_k:
    case PanelKind::table4:
      return kQuads / 2;
    case PanelKind::q5_0:
    case PanelKind::q5_1:
    case PanelKind::q5_k:
      return kQuads / 2 + 1;
    case PanelKind::q6_k:
      return kQuads / 2 + 2;
    case PanelKind::q3_k:
      return 3;
    case PanelKind::q2_k:
      return 2;
    default:
      return 0;
  }
}

/// Bytes from the start of a panel to a group.
FORGE_HOST_DEVICE constexpr std::size_t group_offset(PanelKind kind, int group) {
  const auto before = static_cast<std::size_t>(group);
  const std::size_t heads = has_blocks(kind) ? before / kBlockGroups + 1 : 1;
  return heads * head_bytes(kind) + before * group_bytes(kind);
}

/// Bytes of a panel of codes, a multiple of 64; 0 for kinds of floats. Requires: of kinds with
/// blocks, inputs are whole ones.
FORGE_HOST_DEVICE constexpr std::size_t panel_bytes(PanelKind kind, int inputs) {
  const int groups = group_count(inputs);
  if (group_bytes(kind) == 0 || groups == 0) return 0;
  return (group_offset(kind, groups - 1) + group_bytes(kind) + 63) / 64 * 64;
}

}  // namespace forge::linear::codes
