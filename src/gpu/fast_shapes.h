// What of a model the kernels of fast numerics take (numerics/fast.h).
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/gpu/device.h"
#include "forge/gpu/gpu_model.h"
#include "forge/model/model_config.h"
#include "forge/model/packed_model.h"

namespace forge::gpu {

/// Weights of codes of any kind and numbers of one type of 16 bits; sizes that fill rows of tensor
/// cores. Errors: the first property that is otherwise, its value and what is accepted. `layout` is
/// that of weights in rows (linear::PackOptions).
tl::expected<void, std::string> takes_fast(const model::ModelConfig& config,
                                           const model::PackedModel& layout);

/// The type of the rows between the kernels: that of weights of 16 bits, or bf16. Requires: as
/// takes_fast.
numerics::HalfType half_type(const model::PackedModel& layout);

/// Whether the blocks of the kernels of fast models find room on the device. Errors: what they need
/// and what it has. Requires: the KV of fast models is of 16 bits.
Status fits_fast(const GpuModels& models, numerics::KvType kv_type, const DeviceInfo& device);

}  // namespace forge::gpu
