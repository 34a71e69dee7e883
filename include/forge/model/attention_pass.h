// AttentionPass: what the attention of one layer reads and writes beside its weights.
//
// Borrows everything. Thread contract: a value.
#pragma once

#include "forge/model/forward_batch.h"
#include "forge/model/kv_pool.h"
#include "forge/model/model_config.h"
#include "forge/model/rotary_table.h"
#include "forge/model/workers.h"

namespace forge::model {

struct AttentionPass {
  const ModelConfig& config;
  int layer = 0;
  const ForwardBatch& batch;
  KvPool& pool;
  const RotaryTable* rotary;  ///< the layer's, with rows for the positions of the batch; or null
  Workers& workers;

  /// Turns the first config.rope.size components of `head` to `position`, if the layer has RoPE.
  void rotate(float* head, std::uint32_t position) const;

  /// What rows do that see `window` keys up to their own, or all (0). A key takes a row so many
  /// operations; neighbouring rows of one sequence read its keys once, so many bytes of each.
  Work work(int window, double operations_of_key, double bytes_of_key) const;
};

}  // namespace forge::model
