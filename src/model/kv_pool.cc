#include "forge/model/kv_pool.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::model {
namespace {

using numerics::BF16;
using numerics::F16;
using numerics::KvType;

/// Every type reads these bits as NaN.
constexpr std::byte kUnwritten{0xff};

/// Numbers of one token in one KV head.
std::size_t plane_numbers(const KvShape& shape) {
  const auto size = static_cast<std::size_t>(shape.head_size);
  return shape.layout == KvLayout::latent ? size : 2 * size;
}

std::size_t planes(const KvShape& shape) {
  return static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.heads);
}

/// Numbers [count] go to `to`, `stride` numbers from one to the next.
template <class Stored>
void store_numbers(std::span<const float> numbers, std::size_t stride, std::byte* to) {
  auto* at = reinterpret_cast<Stored*>(to);
  for (const float x : numbers) {
    *at = numerics::stored<Stored>(x);
    at += stride;
  }
}

}  // namespace

std::size_t KvShape::token_numbers() const { return planes(*this) * plane_numbers(*this); }

KvPool::KvPool(const KvShape& shape, std::uint32_t num_blocks, std::uint32_t block_size,
               KvType type)
    : shape_(shape),
      num_blocks_(num_blocks),
      block_size_(block_size),
      type_(type),
      plane_stride_(plane_numbers(shape) * block_size),
      block_stride_(planes(shape) * plane_stride_) {
  FORGE_CHECK(block_size >= 1, "block_size=", block_size);
  FORGE_CHECK(shape.layers >= 1 && shape.heads >= 1 && shape.head_size >= 1,
              "layers=", shape.layers, " heads=", shape.heads, " head_size=", shape.head_size);
  FORGE_CHECK(shape.layout != KvLayout::latent || shape.heads == 1,
              "latents of heads=", shape.heads);
  storage_.assign(num_blocks * block_bytes(), kUnwritten);
}

/// The number with which a plane of block 0 begins.
std::size_t KvPool::first_of(KvPlane plane) const {
  const auto heads = static_cast<std::size_t>(shape_.heads);
  return (static_cast<std::size_t>(plane.layer) * heads + static_cast<std::size_t>(plane.head)) *
         plane_stride_;
}

/// Writes numbers [D] from number `first` of the pool on.
void KvPool::write(std::size_t first, std::size_t stride, const float* from) {
  const std::span<const float> numbers(from, head_size());
  std::byte* const to = storage_.data() + first * bytes_of(type_);
  switch (type_) {
    case KvType::f32:
      return store_numbers<float>(numbers, stride, to);
    case KvType::bf16:
      return store_numbers<BF16>(numbers, stride, to);
    case KvType::f16:
      return store_numbers<F16>(numbers, stride, to);
  }
}

void KvPool::store(KvPlane plane, std::span<const std::uint32_t> blocks, std::uint32_t position,
                   const float* key, const float* value) {
  const std::size_t D = head_size();
  const std::size_t block = blocks[position / block_size_];
  const std::size_t slot = position % block_size_;
  const std::size_t keys = block * block_stride_ + first_of(plane);
  if (has_transposed_keys(type_)) {
    write(keys + slot, block_size_, key);
  } else {
    write(keys + slot * D, 1, key);
  }
  write(keys + (block_size_ + slot) * D, 1, value);
}

void KvPool::store_latent(int layer, std::span<const std::uint32_t> blocks, std::uint32_t position,
                          const float* row) {
  const std::size_t block = blocks[position / block_size_];
  const std::size_t slot = position % block_size_;
  write(block * block_stride_ + first_of({layer, 0}) + slot * head_size(), 1, row);
}

numerics::PagedKV KvPool::view(KvPlane plane, std::span<const std::uint32_t> blocks,
                               std::uint32_t length) const {
  FORGE_CHECK(shape_.layout == KvLayout::key_and_value, "the pool holds latents");
  const std::byte* keys = storage_.data() + first_of(plane) * bytes_of(type_);
  return {.keys = keys,
          .values = keys + head_size() * block_size_ * bytes_of(type_),
          .block_stride = static_cast<std::ptrdiff_t>(block_stride_),
          .block_size = static_cast<int>(block_size_),
          .head_size = shape_.head_size,
          .blocks = blocks,
          .length = static_cast<int>(length),
          .type = type_};
}

numerics::PagedLatent KvPool::latent_view(int layer, std::span<const std::uint32_t> blocks,
                                          std::uint32_t length, int value_size) const {
  FORGE_CHECK(shape_.layout == KvLayout::latent, "the pool holds keys and values");
  return {.rows = storage_.data() + first_of({layer, 0}) * bytes_of(type_),
          .block_stride = static_cast<std::ptrdiff_t>(block_stride_),
          .block_size = static_cast<int>(block_size_),
          .key_size = shape_.head_size,
          .value_size = value_size,
          .blocks = blocks,
          .length = static_cast<int>(length),
          .type = type_};
}

void KvPool::copy(const KvPool& source, std::uint32_t from, std::uint32_t to) {
  FORGE_CHECK(source.type_ == type_, "of ", name_of(source.type_), " and ", name_of(type_));
  FORGE_CHECK(source.block_bytes() == block_bytes(), "bytes of a block: ", source.block_bytes(),
              " and ", block_bytes());
  FORGE_CHECK(from < source.num_blocks_ && to < num_blocks_, "from=", from,
              " num_blocks=", source.num_blocks_, ", to=", to, " num_blocks=", num_blocks_);
  std::copy_n(source.storage_.data() + from * block_bytes(), block_bytes(),
              storage_.data() + to * block_bytes());
}

}  // namespace forge::model
