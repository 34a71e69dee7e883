// Fast numerics: what a model computes on the tensor cores of a GPU, to the bit.
//
//   what                                        is
//   a product with weights of 16 bits           tensor_product.h; x rounded to the weights' type
//   a product with floats of 8 bits, codes      the same, with each weight (a code times its scale)
//   that no kernel multiplies, or of a          rounded once, to nearest even, to the type of the
//   router that is not of 16 bits               model's weights of 16 bits, or to bf16
//   a product with weights of codes             linear/product.h, of x rounded to 16 bits, and
//                                               then, as there, to 8 bits in groups
//   a norm before a product                     scaled_norm.h; the product is multiplied by s
//   attention                                   span_attention.h, over a KV cache of 16 bits
//   embedding, bias, RoPE, soft caps,           the canonical functions, of floats (canonical.h,
//   norms of queries and keys, activations,     vector_ops.h; model/experts.h chooses experts),
//   choices of experts, residual stream,        and the canonical pipeline of
//   sampling                                    sampling
//
// So numbers are of 16 bits where a product reads them, and floats everywhere else: the residual
// stream, queries and keys until they are turned, gates, logits.
//
//   x        h, q            h = half_of(x w), q groups of squares (scaled_norm.h)
//   qkv      s W h + b       floats
//   q, k, v  norm, RoPE      half_of, of the KV cache's type
//   out      attention       half_of, of the weights' type; of codes alone it is bf16
//   x        += m (W out + b)
//   g, u     s W h + b       h of the new x and the next norm
//   gated    f(g, u)         half_of
//   x        += m (W gated + b)
//   logits   s W h           h of the last x and the final norm; then the canonical pipeline
//
// Where attention is over latents (model/latent_attention.h), keys and values of heads are never
// made, neither for prompts nor for decodes ("absorbed"), and the lines from qkv to out are these;
// C is the size of a latent, N that of the part of a head's query that does not turn:
//
//   a        s W h                   floats, of the queries' latent, where there is one; its norm
//                                    is one before a product: h and s of a, for q
//   q        s W h                   floats, [H][N + R]
//   c        s W h                   floats, [C + R]
//   c        norm of C, RoPE of R    half_of, of the KV cache's type
//   q_h      RoPE of R               the same
//   q_h      K_h half_of(q_h of N)   the same: N becomes C, in terms of latents
//   a_h      attention, c for keys,  half_of, of the weights' type
//            C of each for values
//   out      V_h a_h                 half_of, of the weights' type
//
// Where a layer has a mixture of experts (model/experts.h), the lines from g, u to the last x are
// these. Router and gate of the shared experts are products with weights of 16 bits, whatever the
// file has; what is made of them is canonical:
//
//   z        s W h + b           of the router, floats; then choose_experts: experts e, weights w_e
//   g, u     s W_e h + b_e       of each expert that the row chose
//   gated_e  f(g, u)             half_of
//   y_e      W_e gated_e + b_e   floats
//   y        W gated + b         of the shared experts, whose MLP is like any other; floats
//   sum      ((0 + w_a y_a) + w_b y_b) + ... + t y, each by fma; a < b < ... the chosen experts;
//            t = 1 / (1 + exp(-s w h)) where the shared experts have a gate, otherwise 1
//   x        += m sum
//
// Where a model has a norm after a sub-layer, that is a canonical norm of floats; where it has none
// before it, h is half_of(x) and there is no s.
//
// These bits depend on a request alone, as the canonical ones do. They are not the canonical ones,
// and they depend on the generation of the tensor core by its step (matrix_step.h): a run says
// which that was, and kFastVersion, which changes when the bits of a model do.
#pragma once

#include "forge/numerics/exp2.h"
#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/span_attention.h"
#include "forge/numerics/tensor_product.h"

namespace forge::numerics {

inline constexpr int kFastVersion = 1;

}  // namespace forge::numerics
