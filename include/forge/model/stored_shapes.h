// The shapes of a model: a StoredModel without weights, to be filled or made up.
//
// Which roles a configuration switches on, and how large each is, is said here and nowhere else. A
// reader asks its file for these matrices and vectors, role by role (weight_roles.h).
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"

namespace forge::model {

/// Which of the two forms of StoredLatent's keys and values.
enum class LatentLayout : std::uint8_t { whole, by_heads };

/// Matrices have rows of F32 that are nowhere, norms are ones and biases zeros.
/// Requires: `config` is valid.
StoredModel model_shapes(const ModelConfig& config, LatentLayout layout = LatentLayout::whole);

/// Its parts, for who takes one layer after the other: all but the layers, and layer `layer`.
StoredModel outer_shapes(const ModelConfig& config);
StoredLayer layer_shapes(const ModelConfig& config, int layer, LatentLayout layout);

}  // namespace forge::model
