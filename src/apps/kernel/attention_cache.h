// Sequences whose KV lies in a pool of blocks, and rotary tables: what the inputs of all kernels of
// grouped-query attention are made from.
#pragma once

#include "kernel_case_builder.h"

namespace forge::apps {

/// The KV of all sequences, and the rows of a pass.
struct AttentionCache {
  std::size_t head_size;
  std::size_t block_size;
  std::size_t kv_heads;
  std::size_t heads;
  std::size_t blocks_each;  ///< blocks of a sequence, and entries of its table
  float scale;
  int window;  ///< positions that a row sees; 0: all
  float score_cap;
  Uploaded<float> sinks;  ///< of each query head; none where it is empty
  Uploaded<std::uint32_t> tables;
  std::shared_ptr<const model::KvPool> kv;
  Uploaded<std::uint32_t> pool;  ///< the words of that
  Uploaded<gpu::RowInput> rows;
  Uploaded<float> qkv;

  /// First position that a row sees.
  std::size_t first_seen(const gpu::RowInput& row) const {
    const auto reach = static_cast<std::uint32_t>(window);
    return window > 0 && row.position >= reach ? row.position + 1 - reach : 0;
  }
  std::size_t row_floats() const { return (heads + 2 * kv_heads) * head_size; }
  std::size_t out_floats() const { return rows.size() * heads * head_size; }

  std::span<const std::uint32_t> table(const gpu::RowInput& row) const {
    return {tables.data() + row.table * blocks_each, blocks_each};
  }
  const float* query(std::size_t row, std::size_t head) const {
    return qkv.data() + row * row_floats() + head * head_size;
  }
  /// `count` query heads of a row from `head` on, which share a KV head.
  numerics::QueryGroup group(std::size_t row, std::size_t head, std::size_t count) const {
    return {.q = query(row, head),
            .heads = static_cast<int>(count),
            .scale = scale,
            .score_cap = score_cap,
            .sinks = sinks.host != nullptr ? sinks.data() + head : nullptr};
  }
  /// What a row sees of a KV head.
  numerics::PagedKV view(const gpu::RowInput& row, std::size_t head) const {
    numerics::PagedKV seen =
        kv->view({.head = static_cast<int>(head)}, table(row), row.position + 1);
    seen.first = static_cast<int>(first_seen(row));
    return seen;
  }
  gpu::KvLayer layer() const {
    return {.pool = pool.device,
            .block_stride = 2 * kv_heads * head_size * block_size,
            .tables = tables.device,
            .table_stride = static_cast<std::uint32_t>(blocks_each),
            .block_size = static_cast<int>(block_size),
            .kv_heads = static_cast<int>(kv_heads),
            .group_size = static_cast<int>(heads / kv_heads),
            .head_size = static_cast<int>(head_size),
            .type = kv->type()};
  }
};

/// The last `rows_each` positions of each sequence are rows of the pass. Keys and values of all
/// positions are random, and kept as `type`.
AttentionCache make_cache(KernelCaseBuilder& b, std::size_t rows_each, numerics::KvType type);

/// How heads turn.
struct Rotary {
  std::size_t size;  ///< components of a head that turn
  bool adjacent;
  Uploaded<float> angles;  ///< [positions][2][size / 2]

  /// As the CPU does.
  void turn(float* head, std::uint32_t position) const;
};
Rotary make_rotary(KernelCaseBuilder& b);

}  // namespace forge::apps
