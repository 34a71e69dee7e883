// GpuOptions: how a GPU runs a model. Tokens and logits do not depend on it.
#pragma once

#include <cstdint>

#include "forge/core/range.h"

namespace forge::gpu {

struct GpuOptions {
  bool graphs = true;  ///< capture decode steps
  /// Let a kernel begin before the one before it has ended, if its page allows it and the device
  /// can; and the caller go on between start() and execute() while the device works. Otherwise one
  /// thing happens after the other.
  bool overlap = true;
  /// In fast numerics, leave products of many rows to the vendor's library (matrix_library.h) where
  /// the device has one and its trial finds our bits. Its sums take memory, chunk_rows of the most
  /// outputs.
  bool matrix_library = false;
  /// Rows that go through the model together; the rest of a pass follows. Intermediate results take
  /// memory for so many. More of them read the weights more seldom.
  std::uint32_t chunk_rows = 512;
  static constexpr IntegerRange kChunkRows{1, 1 << 16};
};

}  // namespace forge::gpu
