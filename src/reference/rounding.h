// What the single operations of the engine may be off by, as rounding_analysis.h lists them.
// Legend: tiny_transformer.h. All errors are bounds of absolute errors, unless they are called
// relative.
#pragma once

#include "forge/reference/tiny_transformer.h"

namespace forge::reference {

/// The relative error of one operation: floats have 24 bits.
inline constexpr double kUnit = 0x1p-24;

/// What a step of the engine computes: the exact value, and by how much its last operation may be
/// off.
struct Rounded {
  Rows value;
  Rows error;
};

/// x w^T and its errors, in the order of numerics::product_reference.
Rounded rounded_product(const Rows& x, const Matrix& w);

/// The same for x [T][n] and y [S][n], both activations.
Rounded rounded_product(const Rows& x, const Rows& y);

/// The relative error of the factor that a norm of `size` numbers multiplies with.
double norm_factor_error(int size);

/// The errors of `turned` = rotate(heads), whose pairs are D / 2 apart.
Rows rotation_errors(const TinyConfig& config, const Rows& heads, const Rows& turned);

/// The softmax of one head.
struct RoundedAttention {
  Rows weights;              ///< [T][T] TinyTransformer::attention_weights
  Rows score_error;          ///< [T][T] of the scores: products, exponents, the merge of segments
  Eigen::ArrayXd sum_error;  ///< [T] of the softmax's denominator, relative
};

/// One query head over all positions. q, k, v: [T][D], rotated.
struct HeadErrors {
  RoundedAttention attention;
  Rounded out;  ///< [T][D]
};
HeadErrors rounded_attention(const TinyTransformer& model, const Rows& q, const Rows& k,
                             const Rows& v);

}  // namespace forge::reference
