// CacheShape and BatchLimits: the sizes that a scheduler and the executor of its plans agree on.
//
// SchedulerConfig and ExecutorOptions have them as members, so one assignment makes the two agree.
// Beside each field stands its range: validate(), the command line and the reader of traces ask the
// same one. The upper ends are far above any real machine (2^22 blocks of 16 tokens are 67 million
// tokens of KV), yet small enough that a typing error or a damaged trace cannot exhaust one: the
// books of a block take some hundred bytes.
#pragma once

#include <cstdint>
#include <limits>

#include "forge/core/range.h"

namespace forge {

struct CacheShape {
  std::uint32_t num_blocks = 512;  ///< blocks of KV on the device
  static constexpr IntegerRange kNumBlocks{1, 1 << 22};

  std::uint32_t block_size = 16;  ///< slots (tokens) of a block
  static constexpr IntegerRange kBlockSize{1, 1 << 14};

  std::uint32_t num_host_blocks = 0;  ///< blocks of KV in host memory, for swapping
  static constexpr IntegerRange kNumHostBlocks{0, 1 << 22};

  friend bool operator==(const CacheShape&, const CacheShape&) = default;
};

struct BatchLimits {
  std::uint32_t max_batch_size = 16;  ///< sequences that hold device blocks
  static constexpr IntegerRange kMaxBatchSize{1, 1 << 16};

  std::uint32_t max_batch_tokens = 4096;  ///< tokens of one step, at least max_batch_size
  static constexpr IntegerRange kMaxBatchTokens{1, std::numeric_limits<std::uint32_t>::max()};

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// Errors: the first field out of range; a step must have room for a token of each sequence.
tl::expected<void, ConfigError> validate(const CacheShape& cache, const BatchLimits& batch);

}  // namespace forge
