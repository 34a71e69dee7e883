// What turns the codes of a group of 32 inputs of one output into numbers, kind by kind:
//
//   kind                  codes of            a number is
//   q8_0 int8             8 bits, signed      step * c
//   q4_0 int4 q5_0        4 or 5 bits         step * (c - offset)
//   q5_1 q4_k q5_k        4 or 5 bits         step * c + minus_minimum
//   table4                4 bits              step * table[c]
//   q3_k q6_k             3 or 6 bits         step * half_scales[h] * (c - offset)
//   q2_k                  2 bits              step * half_scales[h] * c
//                                             + minus_minimum * half_mins[h]
//
// h is the half of the group in which the input is. Where the layout has these (code_layout.h) is
// said here, how memory is read is the caller's: `group` and `head`, of the panel or of the block,
// are such that half(n), byte(n), signed_byte(n) and number(n) are the output's F16, bytes and
// float of the array that begins at byte n.
#pragma once

#include "forge/linear/code_layout.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

struct GroupScales {
  float step;
  float minus_minimum = 0.0f;  ///< of kinds with minima
  std::int32_t offset = 0;
  std::int32_t half_scales[2] = {1, 1};
  std::int32_t half_mins[2] = {1, 1};
};

/// Of kinds whose groups have a scale and an offset each, by which those of the block are
/// multiplied.
template <class Block, class Source, class Head>
FORGE_DEVICE GroupScales affine_scales(const Source& group, const Head& head) {
  using Group = typename Block::Group;
  const auto scale = static_cast<float>(group.byte(offsetof(Group, scales)));
  const auto minimum = static_cast<float>(group.byte(offsetof(Group, mins)));
  return {.step = head.half(offsetof(Block, d)) * scale,
          .minus_minimum = -(head.half(offsetof(Block, m)) * minimum)};
}

/// Of kinds whose halves have a scale each.
template <class Block, class Source, class Head>
FORGE_DEVICE GroupScales half_scales(const Source& group, const Head& head, int offset) {
  constexpr std::size_t kFirst = offsetof(typename Block::Group, scales);
  constexpr std::size_t kSecond = kFirst + linear::kPanelOutputs;
  return {.step = head.half(offsetof(Block, d)),
          .offset = offset,
          .half_scales = {group.signed_byte(kFirst), group.signed_byte(kSecond)}};
}

template <class Source, class Head>
FORGE_DEVICE GroupScales q2_k_scales(const Source& group, const Head& head) {
  using Block = linear::codes::Q2KBlock;
  constexpr std::size_t kFirst = offsetof(Block::Group, scales);
  const std::int32_t first = group.byte(kFirst);
  const std::int32_t second = group.byte(kFirst + linear::kPanelOutputs);
  return {.step = head.half(offsetof(Block, d)),
          .minus_minimum = -head.half(offsetof(Block, m)),
          .half_scales = {first & 15, second & 15},
          .half_mins = {first >> 4, second >> 4}};
}

template <linear::PanelKind kKind, class Source, class Head>
FORGE_DEVICE GroupScales group_scales(const Source& group, const Head& head) {
  using Kind = linear::PanelKind;
  using namespace linear::codes;
  if constexpr (kKind == Kind::q8_0) {
    return {.step = group.half(offsetof(Q80Group, scales))};
  } else if constexpr (kKind == Kind::int8) {
    return {.step = head.number(offsetof(Int8Head, scales))};
  } else if constexpr (kKind == Kind::q4_0) {
    return {.step = group.half(offsetof(Q40Group, scales)), .offset = 8};
  } else if constexpr (kKind == Kind::int4) {
    return {.step = group.half(offsetof(Int4Group, scales)),
            .offset = group.byte(offsetof(Int4Group, zeros))};
  } else if constexpr (kKind == Kind::q5_0) {
    return {.step = group.half(offsetof(Q50Group, scales)), .offset = 16};
  } else if constexpr (kKind == Kind::q5_1) {
    return {.step = group.half(offsetof(Q51Group, scales)),
            .minus_minimum = group.half(offsetof(Q51Group, smallest))};
  } else if constexpr (kKind == Kind::table4) {
    return {.step = group.number(offsetof(TableGroup, scales))};
  } else if constexpr (kKind == Kind::q4_k) {
    return affine_scales<Q4KBlock>(group, head);
  } else if constexpr (kKind == Kind::q5_k) {
    return affine_scales<Q5KBlock>(group, head);
  } else if constexpr (kKind == Kind::q3_k) {
    return half_scales<Q3KBlock>(group, head, 4);
  } else if constexpr (kKind == Kind::q6_k) {
    return half_scales<Q6KBlock>(group, head, 32);
  } else {
    static_assert(kKind == Kind::q2_k);
    return q2_k_scales(group, head);
  }
}

/// A kind of codes that is known to the compiler.
template <linear::PanelKind kOf>
struct CodeKind {
  static constexpr linear::PanelKind kKind = kOf;
};

/// Calls body(CodeKind<kind>()). Requires: the kind has codes.
template <class Body>
FORGE_DEVICE void with_code_kind(linear::PanelKind kind, const Body& body) {
  using Kind = linear::PanelKind;
  switch (kind) {
    case Kind::q8_0:
      return body(CodeKind<Kind::q8_0>());
    case Kind::int8:
      return body(CodeKind<Kind::int8>());
    case Kind::q4_0:
      return body(CodeKind<Kind::q4_0>());
    case Kind::int4:
      return body(CodeKind<Kind::int4>());
    case Kind::q5_0:
      return body(CodeKind<Kind::q5_0>());
    case Kind::q5_1:
      return body(CodeKind<Kind::q5_1>());
    case Kind::q4_k:
      return body(CodeKind<Kind::q4_k>());
    case Kind::q5_k:
      return body(CodeKind<Kind::q5_k>());
    case Kind::q6_k:
      return body(CodeKind<Kind::q6_k>());
    case Kind::table4:
      return body(CodeKind<Kind::table4>());
    case Kind::q2_k:
      return body(CodeKind<Kind::q2_k>());
    case Kind::q3_k:
      return body(CodeKind<Kind::q3_k>());
    default:
      return;  // floats
  }
}

}  // namespace FORGE_KERNELS
