// Numbers of 16 bits as the kernels of fast numerics write them (numerics/tensor_product.h): of
// the type that a launch says, two to a word.
#pragma once

#include <cstdint>

#include "forge/numerics/tensor_product.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Calls body(numerics::BF16{}) or body(numerics::F16{}).
template <class Body>
FORGE_DEVICE void with_half(numerics::HalfType type, const Body& body) {
  if (type == numerics::HalfType::bf16) return body(numerics::BF16{});
  return body(numerics::F16{});
}

/// Two numbers rounded, the first in the lower half of the word: as two neighbours in memory.
template <class Half>
FORGE_DEVICE std::uint32_t pack_pair(float first, float second) {
  const std::uint32_t low = numerics::half_of<Half>(first).bits;
  const std::uint32_t high = numerics::half_of<Half>(second).bits;
  return low | high << 16;
}

}  // namespace FORGE_KERNELS
