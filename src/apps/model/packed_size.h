// How much memory a model's products take once it is packed (packed_model.h), found without packing
// more than one panel of each kind and length of row.
#pragma once

#include <cstdint>

#include "forge/transformer/model_config.h"
#include "forge/transformer/stored_model.h"

namespace forge {

/// PackedModel::bytes() of it. Where layers of GPTQ that are packed together have different orders,
/// up to a panel a layer less.
std::uint64_t packed_bytes(const ModelConfig& config, const StoredModel& model);

}  // namespace forge
