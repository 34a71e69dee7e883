// PackedWeights: the weights of a Transformer in the form in which the products read them
// (numerics/packed_matrix.h), matrices that meet the same input on top of one another.
//
// Owns its matrices. Thread contract: a value that never changes.
#pragma once

#include <vector>

#include "forge/numerics/packed_matrix.h"
#include "forge/reference/tiny_config.h"
#include "forge/reference/weights.h"

namespace forge::reference {

struct PackedLayer {
  Vector attention_norm;           ///< [d]
  numerics::PackedMatrix qkv;      ///< query, key, value: d -> (H + 2 Hkv) D
  numerics::PackedMatrix output;   ///< H D -> d
  Vector ffn_norm;                 ///< [d]
  numerics::PackedMatrix gate_up;  ///< gate, up: d -> 2 F
  numerics::PackedMatrix down;     ///< F -> d
};

struct PackedWeights {
  Matrix embedding;  ///< [V, d]
  std::vector<PackedLayer> layers;
  Vector final_norm;            ///< [d]
  numerics::PackedMatrix head;  ///< the embedding as a product: d -> V
};

/// Requires: the shapes of `weights` are those of `config`, which is valid.
PackedWeights packed(const TinyConfig& config, const Weights& weights);

/// 1 / sqrt(D), by which attention scores are scaled.
float attention_scale(const TinyConfig& config);

}  // namespace forge::reference
