#include "peers_cache.h"

#include <cmath>

namespace forge {
namespace {

using numerics::BF16;

/// Random numbers of keys and values: again and again, but no block is the same as one near it.
constexpr std::size_t kCacheRandom = (std::size_t{1} << 22) + 24;
constexpr std::size_t kQueryRandom = std::size_t{1} << 20;
/// Scores then have a deviation of more than 1, and softmax prefers some keys.
constexpr float kQueryRange = 4;

/// Prime, and larger than what a number of blocks is made of: i * kStep % blocks meets each once.
constexpr std::uint64_t kStep = 1000003;

}  // namespace

std::uint32_t rows_in(const AttentionBatch& batch) {
  std::uint32_t rows = 0;
  for (const AttendingRequest& request : batch) rows += request.rows;
  return rows;
}

std::uint32_t CacheSize::blocks_each(const AttentionShape& shape) const {
  const auto block_size = static_cast<std::uint32_t>(shape.block_size);
  return (context + block_size - 1) / block_size;
}

std::uint64_t CacheSize::bytes(const AttentionShape& shape) const {
  return std::uint64_t{sequences} * blocks_each(shape) * layers * shape.layer_numbers() *
         sizeof(BF16);
}

PeerCache::PeerCache(gpu::Device& device, const AttentionShape& shape, const CacheSize& size)
    : shape_(shape), size_(size), random_(random_bf16(kQueryRandom, 2, kQueryRange)) {
  const std::uint64_t blocks = std::uint64_t{size.sequences} * size.blocks_each(shape);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    tables_.push_back(static_cast<std::uint32_t>(i * kStep % blocks));
  }
  PeerMemory memory(device);
  tables_on_device_ = memory.upload(tables_, "block tables");
  const std::size_t bytes = size.bytes(shape);
  pool_ = memory.repeat(random_bf16(std::min(kCacheRandom, bytes / sizeof(BF16)), 1, 1), bytes,
                        "keys and values");
}

float PeerCache::scale() const { return 1 / std::sqrt(static_cast<float>(shape_.head_size)); }

std::span<const std::uint32_t> PeerCache::table(std::uint32_t sequence) const {
  const std::size_t blocks = size_.blocks_each(shape_);
  return std::span(tables_).subspan(sequence * blocks, blocks);
}

std::vector<BF16> PeerCache::queries(const AttentionBatch& batch) const {
  constexpr std::size_t kSequenceStep = 977;  // of rows, which begin 8 numbers apart
  const std::size_t numbers = shape_.row_numbers();
  std::vector<BF16> queries;
  queries.reserve(rows_in(batch) * numbers);
  for (const AttendingRequest& request : batch) {
    for (std::size_t p = request.length - request.rows; p < request.length; ++p) {
      const std::size_t begin =
          (request.sequence * kSequenceStep + p) * 8 % (random_.size() - numbers);
      const auto row = std::span(random_).subspan(begin, numbers);
      queries.insert(queries.end(), row.begin(), row.end());
    }
  }
  return queries;
}

gpu::KvLayer PeerCache::layer(int index) const {
  const std::size_t numbers = shape_.layer_numbers();
  return {.pool = pool_.as<BF16>() + static_cast<std::size_t>(index) * numbers,
          .block_stride = size_.layers * numbers,
          .tables = tables_on_device_.as<std::uint32_t>(),
          .table_stride = size_.blocks_each(shape_),
          .block_size = shape_.block_size,
          .kv_heads = shape_.kv_heads,
          .group_size = shape_.heads / shape_.kv_heads,
          .head_size = shape_.head_size,
          .type = numerics::KvType::bf16};
}

PagedCache PeerCache::paged() const {
  const std::int64_t values = std::int64_t{shape_.block_size} * shape_.head_size;
  const auto numbers = static_cast<std::int64_t>(shape_.layer_numbers());
  return {.keys = pool_.as<BF16>(),
          .values = pool_.as<BF16>() + values,
          .page_stride = layers() * numbers,
          .head_stride = 2 * values,
          .layer_stride = numbers,
          .page_size = shape_.block_size,
          .layers = layers(),
          .heads = shape_.heads,
          .kv_heads = shape_.kv_heads,
          .head_size = shape_.head_size,
          .scale = scale()};
}

BatchRows rows_of(const AttentionBatch& batch, std::uint32_t tile_rows) {
  const bool decodes = rows_in(batch) == batch.size();
  BatchRows of;
  for (const AttendingRequest& request : batch) {
    for (std::uint32_t i = 0; i < request.rows; i += tile_rows) {
      const std::uint32_t count = std::min(tile_rows, request.rows - i);
      if (!decodes) of.tiles.push_back({static_cast<std::uint32_t>(of.rows.size()) + i, count});
      of.longest_tile = std::max(of.longest_tile, count);
    }
    for (std::uint32_t p = request.length - request.rows; p < request.length; ++p) {
      of.rows.push_back({.position = p, .table = request.sequence});
    }
    of.longest = std::max(of.longest, request.length);
  }
  const auto rows = static_cast<std::uint32_t>(of.rows.size());
  of.counts = {.rows = rows,
               .decode_rows = decodes ? rows : 0,
               .prompt_tiles = static_cast<std::uint32_t>(of.tiles.size())};
  return of;
}

PageLists pages_of(const AttentionBatch& batch, const PeerCache& cache) {
  const auto size = static_cast<std::uint32_t>(cache.shape().block_size);
  PageLists lists{.query_begins = {0}, .page_begins = {0}};
  for (const AttendingRequest& request : batch) {
    const auto pages = cache.table(request.sequence).first((request.length + size - 1) / size);
    lists.pages.insert(lists.pages.end(), pages.begin(), pages.end());
    lists.page_begins.push_back(static_cast<std::int32_t>(lists.pages.size()));
    lists.query_begins.push_back(lists.query_begins.back() +
                                 static_cast<std::int32_t>(request.rows));
    lists.last_page_rows.push_back(static_cast<std::int32_t>((request.length - 1) % size + 1));
  }
  return lists;
}

}  // namespace forge
