// The shapes of a model: a StoredModel without weights, to be filled or made up.
//
// This alone decides which roles a configuration switches on, and how large each is. A reader asks
// its file for these matrices and vectors, role by role (weight_roles.h).
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"

namespace forge::model {

/// The two forms of StoredLatent's keys and values.
enum class LatentLayout : std::uint8_t { whole, by_heads };

/// The shapes of a model: matrices have F32 rows without memory, norms are ones and biases zeros.
/// Requires: `config` is valid.
StoredModel model_shapes(const ModelConfig& config, LatentLayout layout = LatentLayout::whole);

/// The parts of the same, for code that takes one layer after the other: all but the layers, and
/// layer `layer`.
StoredModel outer_shapes(const ModelConfig& config);
StoredLayer layer_shapes(const ModelConfig& config, int layer, LatentLayout layout);

}  // namespace forge::model
