// dequantize: the numbers of a stored row as floats.
//
// Equal, bit for bit, to decode() of block_formats.h number by number (and to the exact widening of
// plain types; I8 gives its integers), on every machine. An infinity or NaN that a scale in the
// file makes comes out as one; the bits of a NaN are outside the contract (numerics/canonical.h).
//
// Pure, thread-safe, allocates nothing.
#pragma once

#include <cstddef>

#include "forge/quant/weight_type.h"

namespace forge::quant {

/// out[i] = number i of `stored`, for i < count. stored: bytes_of(type, count) bytes of any
/// alignment; out: [count]. Requires: count is a multiple of block_elements(type); the machine is
/// little-endian.
void dequantize(WeightType type, const std::byte* stored, std::size_t count, float* out);

}  // namespace forge::quant
