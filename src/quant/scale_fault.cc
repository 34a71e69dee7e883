#include "forge/quant/scale_fault.h"

#include <cmath>
#include <cstring>

#include "forge/core/check.h"
#include "forge/quant/block_formats.h"

namespace forge::quant {
namespace {

/// Whichever of a block's scales is not finite; where all are, one of them.
template <class Block>
float worst(const Block& block) {
  if constexpr (requires { block.m; }) {
    return std::isfinite(to_float(block.d)) ? to_float(block.m) : to_float(block.d);
  } else {
    return to_float(block.d);
  }
}

float worst(const BlockMXFP4& block) {
  constexpr int kLargest = 12;
  const float half = half_of(block.e);
  return half * kLargest;
}

template <class Block>
std::optional<float> fault_of(const std::byte* stored) {
  Block block;
  std::memcpy(&block, stored, sizeof block);
  const float scale = worst(block);
  return std::isfinite(scale) ? std::nullopt : std::optional(scale);
}

}  // namespace

std::optional<float> scale_fault(WeightType type, const std::byte* block) {
  switch (type) {
    case WeightType::f32:
    case WeightType::f16:
    case WeightType::bf16:
    case WeightType::i8:
      FORGE_CHECK(false, "type=", name_of(type), " has no blocks");
      return std::nullopt;
    case WeightType::q8_0:
      return fault_of<BlockQ80>(block);
    case WeightType::q4_0:
      return fault_of<BlockQ40>(block);
    case WeightType::q5_0:
      return fault_of<BlockQ50>(block);
    case WeightType::q5_1:
      return fault_of<BlockQ51>(block);
    case WeightType::q4_k:
      return fault_of<BlockQ4K>(block);
    case WeightType::q5_k:
      return fault_of<BlockQ5K>(block);
    case WeightType::q6_k:
      return fault_of<BlockQ6K>(block);
    case WeightType::q4_1:
      return fault_of<BlockQ41>(block);
    case WeightType::q2_k:
      return fault_of<BlockQ2K>(block);
    case WeightType::q3_k:
      return fault_of<BlockQ3K>(block);
    case WeightType::iq4_nl:
      return fault_of<BlockIQ4NL>(block);
    case WeightType::iq4_xs:
      return fault_of<BlockIQ4XS>(block);
    case WeightType::mxfp4:
      return fault_of<BlockMXFP4>(block);
  }
  return std::nullopt;
}

}  // namespace forge::quant
