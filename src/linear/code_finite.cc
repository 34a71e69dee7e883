// Whether the scales of a panel's codes are all finite.
#include <algorithm>
#include <cmath>

#include "forge/core/check.h"
#include "forge/linear/code_layout.h"
#include "panels.h"

namespace forge::linear::codes {
namespace {

/// A half whose exponent bits are all set is infinite or none.
bool are_finite(const numerics::F16 (&scales)[kPanelOutputs]) {
  return std::ranges::none_of(scales,
                              [](numerics::F16 scale) { return (scale.bits & 0x7c00) == 0x7c00; });
}

bool are_finite(const float (&scales)[kPanelOutputs]) {
  return std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale); });
}

/// Of a group, or a block of them: of whichever of these it has.
template <class Struct>
bool is_finite(const Struct& codes) {
  if constexpr (requires { codes.smallest; }) {
    if (!are_finite(codes.smallest)) return false;
  }
  if constexpr (requires { codes.m; }) {
    if (!are_finite(codes.m)) return false;
  }
  if constexpr (requires { codes.d; }) {
    return are_finite(codes.d);
  } else {
    return are_finite(codes.scales);
  }
}

/// Its scales are floats, any power of two among them: their products with 12, the largest number
/// of MXFP4, have to be finite too.
bool is_finite(const TableGroup& group) {
  return std::ranges::all_of(group.scales, [](float scale) { return std::isfinite(12 * scale); });
}

/// A panel of `count` such structs.
template <class Struct>
bool all_finite(const std::byte* panel, int count) {
  const auto* const structs = reinterpret_cast<const Struct*>(panel);
  return std::all_of(structs, structs + count, [](const Struct& s) { return is_finite(s); });
}

}  // namespace

bool is_finite(PanelKind kind, const std::byte* panel, int inputs) {
  const int groups = group_count(inputs);
  const int blocks = groups / kBlockGroups;
  switch (kind) {
    case PanelKind::int8:
      return all_finite<Int8Head>(panel, 1);
    case PanelKind::q8_0:
      return all_finite<Q80Group>(panel, groups);
    case PanelKind::q4_0:
      return all_finite<Q40Group>(panel, groups);
    case PanelKind::int4:
      return all_finite<Int4Group>(panel, groups);
    case PanelKind::q5_0:
      return all_finite<Q50Group>(panel, groups);
    case PanelKind::q5_1:
      return all_finite<Q51Group>(panel, groups);
    case PanelKind::q4_k:
      return all_finite<Q4KBlock>(panel, blocks);
    case PanelKind::q5_k:
      return all_finite<Q5KBlock>(panel, blocks);
    case PanelKind::q6_k:
      return all_finite<Q6KBlock>(panel, blocks);
    case PanelKind::table4:
      return all_finite<TableGroup>(panel + sizeof(TableHead), groups);
    case PanelKind::q2_k:
      return all_finite<Q2KBlock>(panel, blocks);
    case PanelKind::q3_k:
      return all_finite<Q3KBlock>(panel, blocks);
    default:
      FORGE_CHECK(false, "kind=", static_cast<int>(kind), " has no codes");
      return false;
  }
}

}  // namespace forge::linear::codes
