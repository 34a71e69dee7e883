// RoundingAnalysis: how far may the engine's logits be from TinyTransformer's, on this very text?
//
// The engine computes in float. Each of its operations returns the exact result of what it was
// given times (1 + e), |e| <= u = 2^-24: the standard model of rounding (Higham, "Accuracy and
// Stability of Numerical Algorithms", 2nd ed., section 2.2). So an operation with the result z adds
// an error of at most u |z|, whose sign and size are unknown. Bounding it with the z of this text,
// not with the largest there may be, is running error analysis (section 3.3).
//
// What that error does to a logit is a derivative. To first order
//
//   |engine's logit - exact logit|  <=  sum over all operations of  |d logit / d z| u |z|
//
// and all derivatives of one logit cost about as much as the logit itself: the chain rule, applied
// from the logit backwards. (It was invented for this sum: Linnainmaa, "Taylor expansion of the
// accumulated rounding error", BIT 16, 1976. Networks learned to be trained by it later.) Adding
// up magnitudes forwards would not do: each product would multiply the bound by the sum of the
// magnitudes in a row of its weights, where errors of either sign mostly cancel.
//
//   operation of the engine                      adds at most
//   product, a chain of fma in segments of 256     u |s| for each partial sum s
//   norm: the scale, common to its row           (ceil(d / 32) + 7) / 2 + 2 times u, relative
//         what it multiplies                     u |y|, and again where the weight is not one
//   rotation of a pair (a, b)                    u (|b sin| + |result| + 1.02 (|a cos| + |b sin|))
//   score of a key, a chain times the scale      as a product, and u |score|
//   exp(score - max), 0.8 ulp                    u (|score - max| + 1.6), relative
//   sums over keys, in segments of 256             u |s| for each partial sum s, merging included
//   silu(gate) up, 2.5 ulp                       6 u |result|
//   residual sum                                 u |sum|
//
// Left out: products of two errors, about a thousandth of the bound where the bound is a thousandth
// of the logits; underflow; the rounding of the doubles that all this is computed in. A bound holds
// for what is rounding alone: an engine that computes something else leaves it. That is its use.
//
// Borrows the model. Thread contract: const after construction. Legend: tiny_transformer.h.
#pragma once

#include <memory>
#include <span>

#include "forge/reference/tiny_transformer.h"

namespace forge::reference {

struct RoundedPass;

class RoundingAnalysis {
 public:
  /// Runs `tokens` through `model`. O(layers T d (d + F + T)).
  RoundingAnalysis(const TinyTransformer& model, std::span<const TokenId> tokens);
  ~RoundingAnalysis();

  /// [T][V], those of the model.
  const Rows& logits() const;

  struct Sensitivity {
    double error = 0;  ///< the most by which the engine's sum may differ, to first order
    Rows gradient;     ///< [row + 1][d]: derivative of the sum by the embeddings
  };

  /// The derivatives of the sum over tokens v of factors[v] * logits()(row, v), which is a logit or
  /// the difference of two. factors: [V]. Costs two passes over row + 1 tokens.
  Sensitivity sensitivity(Eigen::Index row, const Eigen::RowVectorXd& factors) const;

  /// Bounds the difference between the engine's logit and this one.
  double logit_error(Eigen::Index row, Eigen::Index token) const;

  /// The same for the difference of two logits.
  double margin_error(Eigen::Index row, Eigen::Index token, Eigen::Index other) const;

 private:
  const TinyTransformer& model_;
  std::unique_ptr<const RoundedPass> pass_;
};

}  // namespace forge::reference
