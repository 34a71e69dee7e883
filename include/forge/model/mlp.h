// The MLP: down( activation(gate x + b) * (up x + b) ) + b, where a configuration has biases. With
// SiLU it is SwiGLU, with GELU GeGLU (Shazeer, arXiv:2002.05202). Of clamped_swiglu the middle is
// what numerics/canonical.h says.
#pragma once

#include "forge/model/packed_model.h"
#include "forge/model/workers.h"
#include "forge/numerics/aligned.h"

namespace forge::model {

struct MlpScratch {
  numerics::AlignedFloats gate_up;  // [T][2 F]
  numerics::AlignedFloats gated;    // [T][F]
};

/// out [T][d] = the MLP of x [T][d].
void mlp(const PackedMlp& weights, Rows x, float* out, MlpScratch& scratch, Workers& workers);

}  // namespace forge::model
