// The numbers of the KV cache: read as floats and written rounded, whatever type they are kept in.
// What a number becomes is numerics/kv_type.h, the same code as on the CPU, but for the f16 that a
// GPU widens by its instruction for that. Below, Stored is what they are kept as: float, BF16, F16.
#pragma once

#include "forge/numerics/kv_type.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Calls body(Stored{}) for a pool of that type.
template <class Body>
FORGE_DEVICE void with_stored(numerics::KvType type, const Body& body) {
  if (type == numerics::KvType::bf16) return body(numerics::BF16{});
  if (type == numerics::KvType::f16) return body(numerics::F16{});
  return body(float{});
}

/// The pool of a layer, gpu::KvLayer or gpu::LatentLayer.
template <class Stored, class Layer>
FORGE_DEVICE gptr<Stored> numbers_of(const Layer& layer) {
  return global(static_cast<Stored*>(layer.pool));
}

/// The two numbers of 16 bits in the word that `x` has the bits of, the lower half first.
template <class Stored>
FORGE_DEVICE void widen_pair(float x, float& first, float& second) {
  const std::uint32_t bits = numerics::bits_of(x);
  first = numerics::widened(Stored{static_cast<std::uint16_t>(bits)});
  second = numerics::widened(Stored{static_cast<std::uint16_t>(bits >> 16)});
}

/// x = eight neighbouring numbers of 16 bits, in one load. Requires: 16-byte aligned.
template <class Stored>
FORGE_DEVICE void load_eight(gptr<const float> words, float (&x)[8]) {
  const Float4 four = load4(words);
  widen_pair<Stored>(four.x, x[0], x[1]);
  widen_pair<Stored>(four.y, x[2], x[3]);
  widen_pair<Stored>(four.z, x[4], x[5]);
  widen_pair<Stored>(four.w, x[6], x[7]);
}

}  // namespace FORGE_KERNELS
