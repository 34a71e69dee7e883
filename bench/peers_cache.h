// What attention peers attend over: keys and values of made-up sequences in one pool of blocks, and
// the rows of a batch, as our kernels are given them and as lists of pages.
//
// The pool is random numbers from end to end, so any block can be any sequence's. Those of a
// sequence are scattered. Where what a launch reads would find room in a device's caches, the pool
// has several layers, as a model has: launches take one after the other.
//
// The query of a row depends on its sequence and position alone, so that a batch, a chunk and a row
// by itself ask the same.
//
// Thread contract: as the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/gpu/device.h"
#include "forge/numerics/half.h"
#include "peers_memory.h"
#include "peers_paged.h"

namespace forge {

struct AttentionShape {
  int heads = 32;
  int kv_heads = 8;
  int head_size = 128;
  int block_size = 16;

  /// Of a row of queries, or of results.
  std::size_t row_numbers() const { return static_cast<std::size_t>(heads * head_size); }
  /// Of a block in one layer.
  std::size_t layer_numbers() const {
    return static_cast<std::size_t>(2 * kv_heads * head_size * block_size);
  }
};

/// A sequence of which the last `rows` of `length` positions attend.
struct AttendingRequest {
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;
  std::uint32_t rows = 1;
};
using AttentionBatch = std::vector<AttendingRequest>;
std::uint32_t rows_in(const AttentionBatch& batch);

struct CacheSize {
  std::uint32_t sequences = 1;
  std::uint32_t context = 1;  ///< positions of each
  std::uint32_t layers = 1;

  std::uint32_t blocks_each(const AttentionShape& shape) const;
  std::uint64_t bytes(const AttentionShape& shape) const;
};

class PeerCache {
 public:
  /// Takes memory of the device, which outlives it.
  PeerCache(gpu::Device& device, const AttentionShape& shape, const CacheSize& size);

  const AttentionShape& shape() const { return shape_; }
  int layers() const { return static_cast<int>(size_.layers); }
  float scale() const;
  /// Blocks of a sequence.
  std::span<const std::uint32_t> table(std::uint32_t sequence) const;

  /// [rows][H D], request after request.
  std::vector<numerics::BF16> queries(const AttentionBatch& batch) const;

  gpu::KvLayer layer(int index) const;
  PagedCache paged() const;

 private:
  AttentionShape shape_;
  CacheSize size_;
  std::vector<std::uint32_t> tables_;  // [sequences][blocks_each]
  std::vector<numerics::BF16> random_;
  gpu::Buffer pool_;
  gpu::Buffer tables_on_device_;
};

/// A batch as our kernels are given it: rows that decode if each request has one, tiles if not.
struct BatchRows {
  std::vector<gpu::RowInput> rows;
  std::vector<gpu::PromptTile> tiles;
  gpu::PassCounts counts;
  std::uint32_t longest = 0;       ///< length of a request, the most
  std::uint32_t longest_tile = 0;  ///< rows of a tile, the most
};
BatchRows rows_of(const AttentionBatch& batch, std::uint32_t tile_rows);

/// The same batch as lists of pages.
PageLists pages_of(const AttentionBatch& batch, const PeerCache& cache);

}  // namespace forge
