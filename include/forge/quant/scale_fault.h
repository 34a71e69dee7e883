// Scales of stored blocks that no product is defined for.
//
// Pure, thread-safe, allocates nothing.
#pragma once

#include <cstddef>
#include <optional>

#include "forge/quant/weight_type.h"

namespace forge::quant {

/// The scale of a block that is an infinity or a NaN, or the number of MXFP4 that its scale takes
/// beyond the largest float; nullopt where all numbers that the block can hold are finite. `block`:
/// block_bytes(type) bytes of any alignment. Requires: type has blocks.
std::optional<float> scale_fault(WeightType type, const std::byte* block);

}  // namespace forge::quant
