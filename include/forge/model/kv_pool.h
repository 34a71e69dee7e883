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
//   KV head | keys | values |                                      block_size slots of D each, as
//                                                                  numerics/attention.h
//
// Its numbers are of one type (numerics/kv_type.h): stored rounded, read widened. A model with
// latent attention has one row for all its heads, key and value in one:
//
//   layer   | rows [block_size][D] |                               as numerics/latent_attention.h
//
// To copy a block is to copy bytes, whatever they mean. Memory starts as NaN: if attention reads a
// slot that was never written, every output that follows shows it.
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

  /// Numbers of one token.
  std::size_t token_numbers() const;

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
  KvPool(const KvShape& shape, std::uint32_t num_blocks, std::uint32_t block_size,
         numerics::KvType type = numerics::KvType::f32);

  const KvShape& shape() const { return shape_; }
  numerics::KvType type() const { return type_; }
  std::uint32_t num_blocks() const { return num_blocks_; }
  std::uint32_t block_size() const { return block_size_; }

  /// All blocks, one after the other.
  std::span<const std::byte> bytes() const { return storage_; }

  /// Writes key [D] and value [D], rounded, of the token at `position` of the sequence that holds
  /// `blocks`. Requires: the layout has them, `blocks` covers position, its ids are below
  /// num_blocks().
  void store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
             const float* key, const float* value);

  /// Writes row [D], rounded, of a token. Requires: the layout is latent; the rest as for store().
  void store_latent(int layer, std::span<const std::uint32_t> blocks, std::uint32_t position,
                    const float* row);

  /// What attention reads: positions 0 .. length-1 of the sequence that holds `blocks`.
  numerics::PagedKV view(KvPlane plane, std::span<const std::uint32_t> blocks,
                         std::uint32_t length) const;

  /// The same for latents, whose values are the first value_size components.
  numerics::PagedLatent latent_view(int layer, std::span<const std::uint32_t> blocks,
                                    std::uint32_t length, int value_size) const;

  /// Copies one block, all its layers, from `source`: this pool or another of the same layout and
  /// type.
  /// Requires: `from` below source.num_blocks(), `to` below num_blocks().
  void copy(const KvPool& source, std::uint32_t from, std::uint32_t to);

 private:
  std::size_t head_size() const { return static_cast<std::size_t>(shape_.head_size); }
  std::size_t block_bytes() const { return block_stride_ * bytes_of(type_); }
  std::size_t first_of(KvPlane plane) const;
  void write(std::size_t first, std::size_t stride, const float* from);

  KvShape shape_;
  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  numerics::KvType type_;
  std::size_t plane_stride_;  // numbers of a KV head in a block
  std::size_t block_stride_;  // numbers of a block
  numerics::AlignedBytes storage_;
};

}  // namespace forge::model
