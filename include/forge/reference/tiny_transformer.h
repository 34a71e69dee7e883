// TinyTransformer: the built-in model as a textbook writes it, to be read in one sitting.
//
//   x = embed(tokens)             a row for each token
//   x = x + attention(norm(x))    in each layer: RoPE, causal, queries in groups
//   x = x + mlp(norm(x))          in each layer: SwiGLU
//   logits = norm(x) E^T          E is the embedding: the head is tied
//
// A whole text goes in, the logits of all its positions come out. There is no cache, no batch, no
// schedule and no rounding to speak of: all is double. So this is what the engine's model
// (model/transformer.h) is held against; rounding_analysis.h says how near the two must be.
//
// The architecture is Llama's (Touvron et al., arXiv:2302.13971; grouped-query attention: Ainslie
// et al., arXiv:2305.13245; RoPE: Su et al., arXiv:2104.09864; SwiGLU: Shazeer, arXiv:2002.05202;
// RMSNorm: Zhang, Sennrich, arXiv:1910.07467).
//
// Each step is a function that can be called alone, and replaced by a wrong one: that is how tests
// show that a mistake in any of them would be seen.
//
// Owns its weights. Thread contract: const after construction. Legend: tiny_config.h; here T is the
// length of the text. O(layers T d (d + F + T)).
#pragma once

#include <Eigen/Core>
#include <span>

#include "forge/core/ids.h"
#include "forge/reference/tiny_config.h"
#include "forge/reference/weights.h"

namespace forge::reference {

/// Activations: a row for each token.
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class TinyTransformer {
 public:
  /// Requires: `config` is valid, and `weights` have its shapes.
  TinyTransformer(const TinyConfig& config, Weights weights);

  /// The model with seeded_weights(config).
  explicit TinyTransformer(const TinyConfig& config);

  virtual ~TinyTransformer() = default;

  const TinyConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }

  /// [T][V]: row t has the logits of the token after tokens[0 .. t].
  Rows logits(std::span<const TokenId> tokens) const;

  /// The same for a model that has only the first `layers` layers: a cheap draft of the whole
  /// (layer skipping; Elhoushi et al., arXiv:2404.16710). Requires: 1 <= layers <= config().layers.
  Rows logits(std::span<const TokenId> tokens, int layers) const;

  // The steps, in the order of the pass.

  /// [T][d]. Requires: every token is below V.
  virtual Rows embed(std::span<const TokenId> tokens) const;

  /// [T][d] -> [T][d]
  virtual Rows layer(const LayerWeights& w, const Rows& x) const;

  /// Each row divided by the root of its mean square, times `weight`. [T][d] -> [T][d]
  virtual Rows norm(const Rows& x, const Vector& weight) const;

  /// What attention adds. [T][d] -> [T][d]
  virtual Rows attention(const LayerWeights& w, const Rows& x) const;

  /// Turns pair (i, i + D/2) of each head by the angle t base^(-2i/D). [T][n D] -> [T][n D]
  virtual Rows rotate(Rows heads) const;

  /// How much each token looks at each: softmax(q k^T / sqrt(D)) over itself and those before it,
  /// zero for those after it. q, k: [T][D]; -> [T][T]
  virtual Rows attention_weights(const Rows& q, const Rows& k) const;

  /// What the MLP adds. [T][d] -> [T][d]
  virtual Rows mlp(const LayerWeights& w, const Rows& x) const;

  /// x / (1 + e^-x), of each number.
  virtual Rows silu(const Rows& x) const;

  /// [T][d] -> [T][V]
  virtual Rows head(const Rows& x) const;

 private:
  TinyConfig config_;
  Weights weights_;
};

/// A linear layer. x [T][inputs], w [outputs][inputs]; -> [T][outputs]
Rows product(const Rows& x, const Matrix& w);

}  // namespace forge::reference
