// KvType: how the KV cache keeps the numbers of keys, values and latents.
//
// They are computed in f32, rounded once when they are stored, and widened, which is exact, when
// they are read: attention is what attention.h says, of the numbers that are there. So a token's
// logits depend on the type and on nothing else that stores or reads: on every target, alone or in
// a batch, computed or found in the cache, the bits are the same.
//
//   f32    as they are
//   bf16   to nearest, ties to even; half the memory, 8 bits of precision
//   f16    to nearest, ties to even; half the memory, 11 bits of precision, up to 65504
//
// A number beyond the largest of its type, an infinity included, becomes that largest one, with its
// sign: an infinite key would make scores NaN, which targets need not have alike (canonical.h). NaN
// stays NaN.
//
// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forge/core/names.h"
#include "forge/numerics/half.h"

namespace forge::numerics {

enum class KvType : std::uint8_t { f32, bf16, f16 };
constexpr Names<KvType> names_of(KvType) { return {"f32", "bf16", "f16"}; }

/// Bytes of a number.
FORGE_HOST_DEVICE constexpr std::size_t bytes_of(KvType type) {
  return type == KvType::f32 ? sizeof(float) : sizeof(F16);
}

/// Requires: type is bf16 or f16.
FORGE_HOST_DEVICE constexpr HalfType half_type(KvType type) {
  return type == KvType::f16 ? HalfType::f16 : HalfType::bf16;
}

/// The type of numbers that are kept as Stored: float, BF16 or F16.
template <class Stored>
inline constexpr KvType kKvTypeOf = KvType::f32;
template <>
inline constexpr KvType kKvTypeOf<BF16> = KvType::bf16;
template <>
inline constexpr KvType kKvTypeOf<F16> = KvType::f16;

/// Whether the keys of a block lie [D][slots], component by component, rather than as its values
/// do, [slots][D]. Lanes that run across slots read the former as they lie; of 16 bits, which have
/// to be widened anyway, they make it in passing.
FORGE_HOST_DEVICE constexpr bool has_transposed_keys(KvType type) { return type == KvType::f32; }

// What is stored of x, and what is read of that.

FORGE_HOST_DEVICE inline float widened(float x) { return x; }
FORGE_HOST_DEVICE inline float widened(BF16 x) { return to_float(x); }
FORGE_HOST_DEVICE inline float widened(F16 x) { return to_float(x); }

namespace detail {

FORGE_HOST_DEVICE inline float clamped(float x, float most) {
  return x > most ? most : x < -most ? -most : x;  // NaN is neither
}

}  // namespace detail

template <class Stored>
FORGE_HOST_DEVICE Stored stored(float x);
template <>
FORGE_HOST_DEVICE inline float stored<float>(float x) {
  return x;
}
template <>
FORGE_HOST_DEVICE inline BF16 stored<BF16>(float x) {
  return to_bf16(detail::clamped(x, 0x1.fep127F));
}
template <>
FORGE_HOST_DEVICE inline F16 stored<F16>(float x) {
  return to_f16(detail::clamped(x, 65504.0F));
}

}  // namespace forge::numerics
