// The MLP: down( silu(gate x) * up x ), SwiGLU.
#pragma once

#include <vector>

#include "forge/model/packed_model.h"
#include "forge/model/workers.h"

namespace forge::model {

struct MlpScratch {
  std::vector<float> gate_up;  // [T][2 F]
  std::vector<float> gated;    // [T][F]
};

/// out [T][d] = the MLP of x [T][d].
void mlp(const PackedMlp& weights, Rows x, float* out, MlpScratch& scratch, Workers& workers);

}  // namespace forge::model
