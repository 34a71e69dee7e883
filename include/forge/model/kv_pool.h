// KvPool: the memory behind the block tables, keys and values of every layer.
//
// The policy core hands out block ids; this is the memory that they stand for. One block holds the
// keys and values of block_size tokens for all layers and KV heads, so that a block is one
// contiguous piece of memory: it can be copied, swapped or sent as such. The host tier, to which
// preempted sequences are swapped, is a second pool of the same layout.
//
//   pool    | block 0 | block 1 | ...                              num_blocks
//   block   | layer 0 | layer 1 | ...                              layers
//   layer   | KV head 0 | KV head 1 | ...                          heads
//   KV head | keys [D][block_size] | values [block_size][D] |      as numerics/attention.h
//
// A model with latent attention has one row for all its heads, key and value in one:
//
//   layer   | rows [block_size][D] |                               as numerics/latent_attention.h
//
// Memory starts as NaN: if attention reads a slot that was never written, every output that follows
// shows it.
//
// Owns the memory. Thread contract: stores to different slots and views may run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "forge/numerics/aligned.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/latent_attention.h"

namespace forge::model {

/// What a model keeps of a token in each KV head.
enum class KvLayout : std::uint8_t {
  key_and_value,  ///< a key [D] and a value [D]
  latent          ///< one row [D], whose first components are the value
};

struct KvShape {
  int layers = 1;
  int heads = 1;       ///< Hkv; 1 where the layout is latent
  int head_size = 16;  ///< D
  KvLayout layout = KvLayout::key_and_value;

  /// Floats of one token.
  std::size_t token_floats() const;

  friend bool operator==(const KvShape&, const KvShape&) = default;
};

/// One KV head of one layer.
struct KvPlane {
  int layer = 0;
  int head = 0;
};

class KvPool {
 public:
  /// All memory is taken here. Requires: layers, heads, head_size and block_size at least 1.
  KvPool(const KvShape& shape, std::uint32_t num_blocks, std::uint32_t block_size);

  const KvShape& shape() const { return shape_; }
  std::uint32_t num_blocks() const { return num_blocks_; }
  std::uint32_t block_size() const { return block_size_; }

  /// Writes key [D] and value [D] of the token at `position` of the sequence that holds `blocks`.
  /// Requires: the layout has them, `blocks` covers position, its ids are below num_blocks().
  void store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
             const float* key, const float* value);

  /// Writes row [D] of a token. Requires: the layout is latent; the rest as for store().
  void store_latent(int layer, std::span<const std::uint32_t> blocks, std::uint32_t position,
                    const float* row);

  /// What attention reads: positions 0 .. length-1 of the sequence that holds `blocks`.
  numerics::PagedKV view(KvPlane plane, std::span<const std::uint32_t> blocks,
                         std::uint32_t length) const;

  /// The same for latents, whose values are the first value_size components.
  numerics::PagedLatent latent_view(int layer, std::span<const std::uint32_t> blocks,
                                    std::uint32_t length, int value_size) const;

  /// Copies one block, all its layers, from `source`: this pool or another of the same layout.
  /// Requires: `from` below source.num_blocks(), `to` below num_blocks().
  void copy(const KvPool& source, std::uint32_t from, std::uint32_t to);

 private:
  std::size_t head_size() const { return static_cast<std::size_t>(shape_.head_size); }
  std::size_t offset_of(KvPlane plane) const;

  KvShape shape_;
  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  std::size_t plane_stride_;  // floats of a KV head in a block
  std::size_t block_stride_;  // floats of a block
  numerics::AlignedFloats storage_;
};

}  // namespace forge::model
