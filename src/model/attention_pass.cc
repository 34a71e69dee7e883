#include "forge/model/attention_pass.h"

#include "forge/numerics/vector_ops.h"

namespace forge::model {

void AttentionPass::rotate(float* head, std::uint32_t position) const {
  const int half = config.rope.size / 2;
  if (config.rope.pairing == RopePairing::adjacent) {
    numerics::rotate_adjacent_pairs(head, rotary.cos(position), rotary.sin(position), half);
  } else {
    numerics::rotate_pairs(head, rotary.cos(position), rotary.sin(position), half);
  }
}

}  // namespace forge::model
