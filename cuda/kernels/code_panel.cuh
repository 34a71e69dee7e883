// Groups of codes in panels in global memory, as `project` and `embed` read them: a lane has an
// output, and finds in a group what code_quads.cuh and code_scales.cuh say.
//
// All loads of a lane are words, halves or bytes beside those of its neighbours: 128, 64 or 32
// consecutive bytes a warp.
#pragma once

#include "code_quads.cuh"
#include "code_scales.cuh"
#include "forge/linear/code_layout.h"
#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// A group of one output.
struct GroupCodes {
  std::uint32_t words[linear::codes::kQuads];  ///< c, four signed bytes a word
  GroupScales scales;
};

/// Arrays with a number of each output, from some place on.
struct GlobalArrays {
  const std::byte* at;
  int output;

  template <class T>
  FORGE_DEVICE gptr<const T> numbers(std::size_t n) const {
    return global(reinterpret_cast<const T*>(at + n));
  }
  FORGE_DEVICE float half(std::size_t n) const {
    const numerics::F16 number = numbers<numerics::F16>(n)[output];
    return widened_f16(number.bits);
  }
  FORGE_DEVICE std::int32_t byte(std::size_t n) const {
    const std::uint8_t number = numbers<std::uint8_t>(n)[output];
    return number;
  }
  FORGE_DEVICE std::int32_t signed_byte(std::size_t n) const {
    const std::int8_t number = numbers<std::int8_t>(n)[output];
    return number;
  }
  FORGE_DEVICE float number(std::size_t n) const { return numbers<float>(n)[output]; }
};

struct ReadGroup {
  const std::byte* panel;
  int group;
  int output;
  GroupCodes& out;

  template <linear::PanelKind kKind>
  FORGE_DEVICE void operator()(CodeKind<kKind> /*of*/) const {
    using namespace linear::codes;
    const std::byte* const from = panel + group_offset(kKind, group);
    const std::byte* head = panel;
    if (has_blocks(kKind))
      head = from - head_bytes(kKind) - group % kBlockGroups * group_bytes(kKind);
    const auto words = global(reinterpret_cast<const std::uint32_t*>(from)) + output;
    constexpr int kLines = line_count(kKind);
    std::uint32_t lines[kLines];
    for (int i = 0; i < kLines; ++i) lines[i] = words[i * linear::kPanelOutputs];
    CodeTable table;
    if constexpr (kKind == linear::PanelKind::table4) {
      table = CodeTable::of(global(reinterpret_cast<const std::uint32_t*>(head)));
    }
    for (int j = 0; j < kQuads / 2; ++j) {
      const TwoQuads quads = two_quads<kKind>([&](int i) { return lines[i]; }, j, table);
      out.words[j] = quads.first;
      out.words[j + 4] = quads.second;
    }
    out.scales = group_scales<kKind>(GlobalArrays{from, output}, GlobalArrays{head, output});
  }
};

/// Group `group` of output `output` of the panel, which has codes.
FORGE_DEVICE void read_group(linear::PanelKind kind, const std::byte* panel, int group, int output,
                             GroupCodes& out) {
  with_code_kind(kind, ReadGroup{panel, group, output, out});
}

}  // namespace FORGE_KERNELS
