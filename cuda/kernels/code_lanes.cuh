// Groups of codes from global memory straight into registers, as they lie there
// (linear/code_layout.h). A lane takes two neighbouring outputs of a group, and a warp two groups,
// so that each of its loads is of whole lines. What is loaded is looked at later.
#pragma once

#include <type_traits>

#include "code_quads.cuh"
#include "code_scales.cuh"
#include "forge/linear/code_layout.h"
#include "forge/numerics/half.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Two neighbouring numbers of kSize bytes each, loaded at once.
template <int kSize>
struct alignas(2 * kSize) TwoNumbers {
  using Word = std::conditional_t<kSize == 1, std::uint16_t, std::uint32_t>;
  Word words[kSize == 4 ? 2 : 1];

  static FORGE_DEVICE TwoNumbers of(const std::byte* from) {
    return global(reinterpret_cast<const TwoNumbers*>(from))[0];
  }
  FORGE_DEVICE std::uint32_t number(int i) const {
    if constexpr (kSize == 4) {
      return words[i];
    } else {
      return words[0] >> i * 8 * kSize & ((1u << 8 * kSize) - 1u);
    }
  }
};
/// Of an array that is not there.
template <>
struct TwoNumbers<0> {
  static FORGE_DEVICE TwoNumbers of(const std::byte* /*from*/) { return {}; }
  FORGE_DEVICE std::uint32_t number(int /*i*/) const { return 0; }
};

/// Bytes of a number in up to two arrays with a number of each output, one after the other; 0:
/// there is no such array.
struct ArraySizes {
  int first;
  int second;
};

/// Those behind the lines of a group.
constexpr ArraySizes group_arrays(linear::PanelKind kind) {
  using Kind = linear::PanelKind;
  switch (kind) {
    case Kind::int8:
      return {0, 0};
    case Kind::q8_0:
    case Kind::q4_0:
    case Kind::q5_0:
      return {2, 0};
    case Kind::int4:
      return {2, 1};
    case Kind::q5_1:
      return {2, 2};
    case Kind::table4:
      return {4, 0};
    default:  // of blocks
      return {1, 1};
  }
}
/// Those of the head, of numbers that scales are made of.
constexpr ArraySizes head_arrays(linear::PanelKind kind) {
  using Kind = linear::PanelKind;
  switch (kind) {
    case Kind::int8:
      return {4, 0};
    case Kind::q3_k:
    case Kind::q6_k:
      return {2, 0};
    case Kind::q2_k:
    case Kind::q4_k:
    case Kind::q5_k:
      return {2, 2};
    default:
      return {0, 0};
  }
}

/// A lane's numbers of such arrays, which begin kAt bytes after something.
template <int kFirst, int kSecond, int kAt>
struct LaneArrays {
  static constexpr int kNext = kAt + kFirst * linear::kPanelOutputs;
  TwoNumbers<kFirst> first;
  TwoNumbers<kSecond> second;

  static FORGE_DEVICE LaneArrays of(const std::byte* from, int output) {
    return {TwoNumbers<kFirst>::of(from + kAt + output * kFirst),
            TwoNumbers<kSecond>::of(from + kNext + output * kSecond)};
  }

  /// Those of one output, as code_scales.cuh asks for them.
  struct Output {
    const LaneArrays& of;
    int i;

    FORGE_DEVICE std::uint32_t bits(std::size_t n) const {
      return n == kAt ? of.first.number(i) : of.second.number(i);
    }
    FORGE_DEVICE float half(std::size_t n) const {
      return numerics::to_float(numerics::F16{static_cast<std::uint16_t>(bits(n))});
    }
    FORGE_DEVICE std::int32_t byte(std::size_t n) const {
      return static_cast<std::int32_t>(bits(n));
    }
    FORGE_DEVICE std::int32_t signed_byte(std::size_t n) const {
      return static_cast<std::int8_t>(bits(n));
    }
    FORGE_DEVICE float number(std::size_t n) const { return numerics::float_of(bits(n)); }
  };
};

/// What a lane loads of a group.
template <linear::PanelKind kKind>
struct LaneGroup {
  static constexpr int kLines = linear::codes::line_count(kKind);
  static constexpr int kLineBytes = linear::kPanelOutputs * 4;
  using Group =
      LaneArrays<group_arrays(kKind).first, group_arrays(kKind).second, kLines * kLineBytes>;
  using Head = LaneArrays<head_arrays(kKind).first, head_arrays(kKind).second, 0>;

  TwoNumbers<4> lines[kLines];
  Group group;
  Head head;

  /// from: the group; head: that of the panel, or of its block. Two outputs from `output` on.
  static FORGE_DEVICE LaneGroup of(const std::byte* from, const std::byte* head, int output) {
    LaneGroup loaded;
    FORGE_UNROLLED for (int i = 0; i < kLines; ++i) {
      loaded.lines[i] = TwoNumbers<4>::of(from + output * 4 + i * kLineBytes);
    }
    loaded.group = Group::of(from, output);
    loaded.head = Head::of(head, output);
    return loaded;
  }
};

/// The codes and scales of a lane's two outputs.
template <linear::PanelKind kKind>
struct LaneCodes {
  std::uint32_t quads[2][linear::codes::kQuads];
  GroupScales scales[2];

  static FORGE_DEVICE LaneCodes of(const LaneGroup<kKind>& loaded, const CodeTable& table) {
    LaneCodes codes;
    FORGE_UNROLLED for (int v = 0; v < 2; ++v) {
      FORGE_UNROLLED for (int j = 0; j < linear::codes::kQuads / 2; ++j) {
        const TwoQuads two =
            two_quads<kKind>([&](int line) { return loaded.lines[line].number(v); }, j, table);
        codes.quads[v][j] = two.first;
        codes.quads[v][j + 4] = two.second;
      }
      using Loaded = LaneGroup<kKind>;
      codes.scales[v] = group_scales<kKind>(typename Loaded::Group::Output{loaded.group, v},
                                            typename Loaded::Head::Output{loaded.head, v});
    }
    return codes;
  }
};

}  // namespace FORGE_KERNELS
