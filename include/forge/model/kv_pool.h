// KvPool: the memory behind the block tables, keys and values of every layer.
//
// The policy core hands out block ids; here is what they stand for. One block holds the
// keys and values of block_size tokens for all layers and KV heads, so that a block is
// one contiguous piece of memory: it can be copied, swapped or sent as such. The host tier, to
// which preempted sequences are swapped, is a second pool of the same layout.
//
//   pool    | block 0 | block 1 | ...                              num_blocks
//   block   | layer 0 | layer 1 | ...                              layers
//   layer   | KV head 0 | KV head 1 | ...                          kv_heads
//   KV head | keys [D][block_size] | values [block_size][D] |      as numerics/attention.h
//
// Memory starts as NaN: attention that reads a slot nobody has written is then seen in
// every output that follows.
//
// Owns the memory. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forge/model/tiny_config.h"
#include "forge/numerics/attention.h"

namespace forge {

/// One KV head of one layer.
struct KvPlane {
  int layer = 0;
  int head = 0;
};

class KvPool {
 public:
  /// All memory is taken here. Requires: `config` is valid, block_size at least 1.
  KvPool(const TinyConfig& config, std::uint32_t num_blocks, std::uint32_t block_size);

  std::uint32_t num_blocks() const { return num_blocks_; }
  std::uint32_t block_size() const { return block_size_; }

  /// Writes key [D] and value [D] of the token at `position` of the sequence that holds `blocks`.
  /// Requires: `blocks` covers position, its ids are below num_blocks().
  void store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
             const float* key, const float* value);

  /// What attention reads: positions 0 .. length-1 of the sequence that holds `blocks`.
  numerics::PagedKV view(KvPlane plane, std::span<const std::uint32_t> blocks,
                         std::uint32_t length) const;

  /// Copies one block, all layers, from `source`: this pool or another of the same layout.
  /// Requires: `from` below source.num_blocks(), `to` below num_blocks().
  void copy(const KvPool& source, std::uint32_t from, std::uint32_t to);

 private:
  std::size_t offset_of(KvPlane plane) const;

  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  std::size_t kv_heads_;
  std::size_t head_size_;
  std::size_t block_stride_;  // floats of a block
  std::vector<float> storage_;
};

}  // namespace forge
