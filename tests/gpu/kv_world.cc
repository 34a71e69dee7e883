#include "gpu/kv_world.h"

#include <algorithm>
#include <ostream>

namespace forge::gpu {
namespace {

std::uint32_t blocks_for(int length, int block_size) {
  return static_cast<std::uint32_t>(ceil_div(length, block_size));
}

/// All sequences' blocks and one that belongs to none.
std::uint32_t blocks_for(const std::vector<int>& lengths, int block_size) {
  std::uint32_t count = 1;
  for (const int length : lengths) count += blocks_for(length, block_size);
  return count;
}

}  // namespace

reference::TinyConfig KvShape::config() const {
  reference::TinyConfig config;
  config.layers = KvWorld::kLayers;
  config.heads = heads();
  config.kv_heads = kv_heads;
  config.head_size = head_size;
  return config;
}

std::ostream& operator<<(std::ostream& out, const KvShape& shape) {
  return out << "Hkv " << shape.kv_heads << " G " << shape.group_size << " D " << shape.head_size
             << " S " << shape.block_size << " of " << name_of(shape.type);
}

KvWorld::KvWorld(const KvShape& shape, const std::vector<int>& lengths, Random& random)
    : shape_(shape),
      lengths_(lengths),
      pool_({.layers = kLayers, .heads = shape.kv_heads, .head_size = shape.head_size},
            blocks_for(lengths, shape.block_size), static_cast<std::uint32_t>(shape.block_size),
            shape.type) {
  const std::vector<std::uint32_t> shuffled = random.permutation(pool_.num_blocks());
  auto next = shuffled.begin();
  for (const int length : lengths) {
    const std::uint32_t count = blocks_for(length, shape.block_size);
    blocks_.emplace_back(next, next + count);
    next += count;
  }
}

void KvWorld::store(std::uint32_t sequence, int position, int head, const float* key,
                    const float* value) {
  pool_.store({kLayer, head}, blocks_[sequence], static_cast<std::uint32_t>(position), key, value);
}

void KvWorld::fill(Random& random) {
  const auto D = static_cast<std::size_t>(shape_.head_size);
  for (std::uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
    for (int position = 0; position < lengths_[sequence]; ++position) {
      for (int head = 0; head < shape_.kv_heads; ++head) {
        const std::vector<float> key = random.reals(D, 2.0f);
        const std::vector<float> value = random.reals(D, 2.0f);
        store(sequence, position, head, key.data(), value.data());
      }
    }
  }
}

std::vector<RowInput> KvWorld::rows_of(const std::vector<std::uint32_t>& sequences,
                                       Random& random) const {
  std::vector<RowInput> rows;
  while (rows.size() < sequences.size()) {
    const std::uint32_t sequence = sequences[rows.size()];
    const auto position = static_cast<std::uint32_t>(random.between(0, lengths_[sequence] - 1));
    const bool is_taken = std::ranges::any_of(rows, [&](const RowInput& row) {
      return row.table == sequence && row.position == position;
    });
    if (!is_taken) rows.push_back({.position = position, .table = sequence});
  }
  return rows;
}

numerics::PagedKV KvWorld::view(std::uint32_t sequence, int head, int length) const {
  return pool_.view({kLayer, head}, blocks_[sequence], static_cast<std::uint32_t>(length));
}

std::vector<std::byte> KvWorld::bytes() const {
  return {pool_.bytes().begin(), pool_.bytes().end()};
}

KvLayer KvWorld::layer(std::byte* pool, const std::uint32_t* tables) const {
  const std::ptrdiff_t first =
      static_cast<const std::byte*>(view(0, 0, 1).keys) - pool_.bytes().data();
  return {.pool = pool + first,
          .block_stride = static_cast<std::uint64_t>(view(0, 0, 1).block_stride),
          .tables = tables,
          .table_stride = stride(),
          .block_size = shape_.block_size,
          .kv_heads = shape_.kv_heads,
          .group_size = shape_.group_size,
          .head_size = shape_.head_size,
          .type = shape_.type};
}

std::uint32_t KvWorld::stride() const {
  std::size_t longest = 0;
  for (const auto& blocks : blocks_) longest = std::max(longest, blocks.size());
  return static_cast<std::uint32_t>(longest) + 2;
}

std::vector<std::uint32_t> KvWorld::tables() const {
  std::vector<std::uint32_t> tables(blocks_.size() * stride(), 0xffffffffu);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::copy(blocks_[i].begin(), blocks_[i].end(),
              tables.begin() + static_cast<std::ptrdiff_t>(i * stride()));
  }
  return tables;
}

}  // namespace forge::gpu
