// Weights: the parameters of a Transformer, as Eigen matrices.
//
// A linear layer is [outputs, inputs], row-major, as checkpoints store it: y = W x.
// The head is tied: logits are the products with the rows of the embedding.
//
// seeded_weights draws them: element i of tensor n is a pure function of (seed, n, i), so
// it does not matter in which order or on which machine they are made.
//
// Owns its matrices. Thread contract: a value.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "forge/reference/tiny_config.h"

namespace forge::reference {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;

struct LayerWeights {
  Vector attention_norm;  ///< [d]
  Matrix query;           ///< [H D, d]
  Matrix key;             ///< [Hkv D, d]
  Matrix value;           ///< [Hkv D, d]
  Matrix output;          ///< [d, H D]
  Vector mlp_norm;        ///< [d]
  Matrix gate;            ///< [F, d]
  Matrix up;              ///< [F, d]
  Matrix down;            ///< [d, F]
};

struct Weights {
  Matrix embedding;  ///< [V, d], also the output head
  std::vector<LayerWeights> layers;
  Vector final_norm;  ///< [d]
};

Weights seeded_weights(const TinyConfig& config);

}  // namespace forge::reference
