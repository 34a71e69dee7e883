// The feed-forward network: down( silu(gate x) * up x ), SwiGLU.
#pragma once

#include <vector>

#include "forge/model/packed_model.h"
#include "forge/model/workers.h"

namespace forge::model {

struct FeedForwardScratch {
  std::vector<float> gate_up;  // [T][2 F]
  std::vector<float> gated;    // [T][F]
};

/// out [T][d] = the network of x [T][d].
void feed_forward(const PackedFeedForward& network, Rows x, float* out, FeedForwardScratch& scratch,
                  Workers& workers);

}  // namespace forge::model
