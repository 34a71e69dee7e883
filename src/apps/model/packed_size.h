// How much memory a model's products take once it is packed (packed_model.h), found without packing
// more than one panel of each kind and length of row.
#pragma once

#include <cstdint>

#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"

namespace forge::apps {

/// PackedModel::bytes() of it. Where layers of GPTQ that are packed together have different orders,
/// up to a panel a layer less.
std::uint64_t packed_bytes(const model::ModelConfig& config, const model::StoredModel& model);

}  // namespace forge::apps
