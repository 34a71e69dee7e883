#include "forge/model/kv_pool.h"

#include <algorithm>
#include <limits>

#include "forge/core/check.h"

namespace forge {

KvPool::KvPool(const TinyConfig& config, std::uint32_t num_blocks, std::uint32_t block_size)
    : num_blocks_(num_blocks),
      block_size_(block_size),
      kv_heads_(static_cast<std::size_t>(config.kv_heads)),
      head_size_(static_cast<std::size_t>(config.head_size)),
      block_stride_(static_cast<std::size_t>(config.layers) * kv_heads_ * 2 * head_size_ *
                    block_size) {
  FORGE_CHECK(block_size >= 1, "block_size=", block_size);
  storage_.assign(num_blocks * block_stride_, std::numeric_limits<float>::quiet_NaN());
}

std::size_t KvPool::offset_of(KvPlane plane) const {
  const std::size_t index =
      static_cast<std::size_t>(plane.layer) * kv_heads_ + static_cast<std::size_t>(plane.head);
  return index * 2 * head_size_ * block_size_;
}

void KvPool::store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
                   const float* key, const float* value) {
  const std::size_t block = blocks[position / block_size_];
  const std::size_t slot = position % block_size_;
  float* keys = storage_.data() + block * block_stride_ + offset_of(plane);
  float* values = keys + head_size_ * block_size_;
  for (std::size_t d = 0; d < head_size_; ++d) keys[d * block_size_ + slot] = key[d];
  std::copy_n(value, head_size_, values + slot * head_size_);
}

numerics::PagedKV KvPool::view(KvPlane plane, std::span<const std::uint32_t> blocks,
                               std::uint32_t length) const {
  const float* keys = storage_.data() + offset_of(plane);
  return {.keys = keys,
          .values = keys + head_size_ * block_size_,
          .block_stride = static_cast<std::ptrdiff_t>(block_stride_),
          .block_size = static_cast<int>(block_size_),
          .head_size = static_cast<int>(head_size_),
          .blocks = blocks,
          .length = static_cast<int>(length)};
}

void KvPool::copy(const KvPool& source, std::uint32_t from, std::uint32_t to) {
  FORGE_CHECK(source.block_stride_ == block_stride_, "floats of a block: ", source.block_stride_,
              " and ", block_stride_);
  FORGE_CHECK(from < source.num_blocks_ && to < num_blocks_, "from=", from,
              " num_blocks=", source.num_blocks_, ", to=", to, " num_blocks=", num_blocks_);
  std::copy_n(source.storage_.data() + from * block_stride_, block_stride_,
              storage_.data() + to * block_stride_);
}

}  // namespace forge
