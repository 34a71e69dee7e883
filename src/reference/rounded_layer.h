// TinyTransformer::layer, which here keeps all that it computes and what the engine may be off by.
// Legend: tiny_transformer.h.
#pragma once

#include <vector>

#include "rounding.h"

namespace forge::reference {

/// The values of one layer, in the order of the pass.
struct RoundedLayer {
  Rows x;                ///< [T][d] the input, a result of the layer before
  Rows attention_input;  ///< [T][d] normed
  Rounded query, key;    ///< [T][H D], [T][Hkv D] before rotation
  Rounded turned_query, turned_key;
  Rounded value;                        ///< [T][Hkv D]
  std::vector<RoundedAttention> heads;  ///< [H]
  Rounded attended;                     ///< [T][H D]
  Rounded middle;                       ///< [T][d] x and what attention adds
  Rows mlp_input;                       ///< [T][d] normed
  Rounded gate, up, gated;              ///< [T][F]
  Rounded output;                       ///< [T][d] middle and what the MLP adds
};

RoundedLayer rounded_layer(const TinyTransformer& model, const LayerWeights& w, const Rows& x);

}  // namespace forge::reference
