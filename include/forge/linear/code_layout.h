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

/// Bytes of a panel of codes, a multiple of 64; 0 for kinds of floats. Requires: of kinds with
/// blocks, inputs are whole ones.
FORGE_HOST_DEVICE constexpr std::size_t panel_bytes(PanelKind kind, int inputs) {
  const auto groups = static_cast<std::size_t>(group_count(inputs));
  const std::size_t blocks = groups / kBlockGroups;
  switch (kind) {
    case PanelKind::q8_0:
      return groups * sizeof(Q80Group);
    case PanelKind::int8:
      return sizeof(Int8Head) + groups * sizeof(Int8Group);
    case PanelKind::q4_0:
      return groups * sizeof(Q40Group);
    case PanelKind::int4:
      return (groups * sizeof(Int4Group) + 63) / 64 * 64;
    case PanelKind::q5_0:
      return groups * sizeof(Q50Group);
    case PanelKind::q5_1:
      return groups * sizeof(Q51Group);
    case PanelKind::q4_k:
      return blocks * sizeof(Q4KBlock);
    case PanelKind::q5_k:
      return blocks * sizeof(Q5KBlock);
    case PanelKind::q6_k:
      return blocks * sizeof(Q6KBlock);
    case PanelKind::table4:
      return sizeof(TableHead) + groups * sizeof(TableGroup);
    case PanelKind::q2_k:
      return blocks * sizeof(Q2KBlock);
    case PanelKind::q3_k:
      return blocks * sizeof(Q3KBlock);
    default:
      return 0;
  }
}

}  // namespace forge::linear::codes
