// The embedding on the device: rows of floats as they are stored, or widened where products take
// the type as floats, too (FP8); codes in panels, as products read them.
#pragma once

#include <cstddef>
#include <tl/expected.hpp>

#include "forge/gpu/gpu_model.h"
#include "weight_upload.h"

namespace forge::gpu {

/// What it takes; 0 where the head is tied and has the same panels.
std::size_t embedding_bytes(const GpuModel& model);

/// Brings it to the device. Returns: where it is. Errors: those of the model's reader; the store
/// knows its own. Requires: embedding_bytes() is not 0.
tl::expected<const void*, linear::ReadFault> upload_embedding(const GpuModel& model,
                                                              WeightUpload& upload);

}  // namespace forge::gpu
