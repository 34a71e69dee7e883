// KvWorld: a KV pool with sequences in it, for the tests of kernels that read and write KV. The
// pool is the CPU's (model/kv_pool.h), so the kernels are held to its layout.
//
// Blocks of the sequences are shuffled, and entries of block tables beyond a sequence name no block
// at all. Slots that hold nothing hold NaN.
#pragma once

#include <vector>

#include "forge/gpu/kernels.h"
#include "forge/model/kv_pool.h"
#include "forge/reference/tiny_config.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {

struct KvShape {
  int kv_heads = 1;
  int group_size = 1;
  int head_size = 16;
  int block_size = 16;
  numerics::KvType type = numerics::KvType::f32;

  int heads() const { return kv_heads * group_size; }
  int width() const { return (heads() + 2 * kv_heads) * head_size; }  ///< of a row of qkv
  reference::TinyConfig config() const;  ///< with KvWorld::kLayers layers
};
std::ostream& operator<<(std::ostream& out, const KvShape& shape);

inline constexpr numerics::KvType kKvTypes[] = {numerics::KvType::f32, numerics::KvType::bf16,
                                                numerics::KvType::f16};

class KvWorld {
 public:
  static constexpr int kLayers = 2;
  static constexpr int kLayer = 1;  ///< that the kernels work on

  /// Room for sequences of these lengths.
  KvWorld(const KvShape& shape, const std::vector<int>& lengths, Random& random);

  const KvShape& shape() const { return shape_; }

  /// Writes key and value of one position in the pool; fill: random ones for all positions.
  void store(std::uint32_t sequence, int position, int head, const float* key, const float* value);
  void fill(Random& random);

  /// Rows of these sequences at random positions, no two at the same. Requires: there are so many.
  std::vector<RowInput> rows_of(const std::vector<std::uint32_t>& sequences, Random& random) const;

  /// What the CPU reads of a KV head.
  numerics::PagedKV view(std::uint32_t sequence, int head, int length) const;

  std::vector<std::byte> bytes() const;  ///< the whole pool

  /// The kernels' view of it, over memory that holds bytes().
  KvLayer layer(std::byte* pool, const std::uint32_t* tables) const;
  std::vector<std::uint32_t> tables() const;  ///< [sequences][stride]

 private:
  std::uint32_t stride() const;

  KvShape shape_;
  std::vector<int> lengths_;
  std::vector<std::vector<std::uint32_t>> blocks_;  // of each sequence
  model::KvPool pool_;
};

}  // namespace forge::gpu
