#include "forge/model/kv_pool.h"

#include <algorithm>
#include <limits>

#include "forge/core/check.h"

namespace forge::model {
namespace {

/// Floats of one token in one KV head.
std::size_t plane_floats(const KvShape& shape) {
  const auto size = static_cast<std::size_t>(shape.head_size);
  return shape.layout == KvLayout::latent ? size : 2 * size;
}

std::size_t planes(const KvShape& shape) {
  return static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.heads);
}

}  // namespace

std::size_t KvShape::token_floats() const { return planes(*this) * plane_floats(*this); }

KvPool::KvPool(const KvShape& shape, std::uint32_t num_blocks, std::uint32_t block_size)
    : shape_(shape),
      num_blocks_(num_blocks),
      block_size_(block_size),
      plane_stride_(plane_floats(shape) * block_size),
      block_stride_(planes(shape) * plane_stride_) {
  FORGE_CHECK(block_size >= 1, "block_size=", block_size);
  FORGE_CHECK(shape.layers >= 1 && shape.heads >= 1 && shape.head_size >= 1,
              "layers=", shape.layers, " heads=", shape.heads, " head_size=", shape.head_size);
  FORGE_CHECK(shape.layout != KvLayout::latent || shape.heads == 1,
              "latents of heads=", shape.heads);
  storage_.assign(num_blocks * block_stride_, std::numeric_limits<float>::quiet_NaN());
}

std::size_t KvPool::offset_of(KvPlane plane) const {
  const auto heads = static_cast<std::size_t>(shape_.heads);
  return (static_cast<std::size_t>(plane.layer) * heads + static_cast<std::size_t>(plane.head)) *
         plane_stride_;
}

void KvPool::store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
                   const float* key, const float* value) {
  const std::size_t D = head_size();
  const std::size_t block = blocks[position / block_size_];
  const std::size_t slot = position % block_size_;
  float* keys = storage_.data() + block * block_stride_ + offset_of(plane);
  float* values = keys + D * block_size_;
  for (std::size_t d = 0; d < D; ++d) keys[d * block_size_ + slot] = key[d];
  std::copy_n(value, D, values + slot * D);
}

void KvPool::store_latent(int layer, std::span<const std::uint32_t> blocks, std::uint32_t position,
                          const float* row) {
  const std::size_t block = blocks[position / block_size_];
  const std::size_t slot = position % block_size_;
  float* rows = storage_.data() + block * block_stride_ + offset_of({layer, 0});
  std::copy_n(row, head_size(), rows + slot * head_size());
}

numerics::PagedKV KvPool::view(KvPlane plane, std::span<const std::uint32_t> blocks,
                               std::uint32_t length) const {
  FORGE_CHECK(shape_.layout == KvLayout::key_and_value, "the pool holds latents");
  const float* keys = storage_.data() + offset_of(plane);
  return {.keys = keys,
          .values = keys + head_size() * block_size_,
          .block_stride = static_cast<std::ptrdiff_t>(block_stride_),
          .block_size = static_cast<int>(block_size_),
          .head_size = shape_.head_size,
          .blocks = blocks,
          .length = static_cast<int>(length)};
}

numerics::PagedLatent KvPool::latent_view(int layer, std::span<const std::uint32_t> blocks,
                                          std::uint32_t length, int value_size) const {
  FORGE_CHECK(shape_.layout == KvLayout::latent, "the pool holds keys and values");
  return {.rows = storage_.data() + offset_of({layer, 0}),
          .block_stride = static_cast<std::ptrdiff_t>(block_stride_),
          .block_size = static_cast<int>(block_size_),
          .key_size = shape_.head_size,
          .value_size = value_size,
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

}  // namespace forge::model
