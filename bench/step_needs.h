// StepNeeds: the bytes that a step cannot but move and the operations that it cannot but do,
// whatever the kernels are, and the time that a device needs for these at the least.
//
//   bytes       each matrix once, in the panels in which it is read (linear/linear_weights.h), that
//               of the head if a token is sampled; of experts as many as rows meet, on average, if
//               they choose evenly: E (1 - (1 - A / E)^rows); the vectors of norms; of the
//               embedding a row for each row; the keys and values of all that the sequences have,
//               read once, and those of the new tokens, written once
//   operations  two for each multiply-add: of each row with every matrix, or those of the experts
//               that it chooses, of rows with logits with the head, and of each query head with
//               each key that its row sees, and its value; over latents those are the latent
//   light       the larger of bytes / copy rate and operations / rate of a large product in bf16:
//               how fast the step would be if light were the only limit
//
// What kernels hand to one another (hidden states, queries, gates, logits) is in neither: it need
// not leave the chip. In decodes of Llama-3-8B it is 0.1 to 3.7% beside these bytes; in prefills
// one to four times as many again, but there operations take longer.
//
// Thread contract: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "forge/core/step_plan.h"
#include "forge/gpu/gpu_model.h"
#include "forge/numerics/kv_type.h"

namespace forge {

struct StepNeeds {
  // Bytes.
  std::uint64_t weights = 0;  ///< matrices
  std::uint64_t norms = 0;
  std::uint64_t embedding = 0;  ///< rows of it
  std::uint64_t kv_read = 0;
  std::uint64_t kv_written = 0;

  std::uint64_t operations = 0;

  std::uint64_t bytes() const { return weights + norms + embedding + kv_read + kv_written; }
  StepNeeds& operator+=(const StepNeeds& other);
  friend bool operator==(const StepNeeds&, const StepNeeds&) = default;
};

/// Requires: the model has attention without windows, its weights in panels that its kernels read;
/// the plan has no drafts.
StepNeeds needs_of(const gpu::GpuModel& model, numerics::KvType kv_type, const StepPlan& plan);

/// What a device does at best.
struct BestRates {
  double copy_gb_per_s = 0;              ///< read and written
  std::optional<double> product_tflops;  ///< of a product of 8192 x 8192 matrices in bf16
};

/// nullopt where the rate of products is not known.
std::optional<double> light_us(const StepNeeds& needs, const BestRates& rates);

}  // namespace forge
