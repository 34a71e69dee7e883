#include "forge/core/paged_kv_cache.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge {
namespace {

struct ErrorText {
  std::string operator()(const OutOfBlocks& e) const {
    return "out of blocks: " + std::to_string(e.needed) + " needed, " +
           std::to_string(e.available) + " available";
  }
  std::string operator()(const UnknownSequence& e) const {
    return "sequence " + std::to_string(e.seq.value) + " is not in the cache";
  }
  std::string operator()(const DuplicateSequence& e) const {
    return "sequence " + std::to_string(e.seq.value) + " is in the cache already";
  }
  std::string operator()(const RollbackTooLong& e) const {
    return "cannot roll back " + std::to_string(e.tokens) + " tokens of " + std::to_string(e.held);
  }
};

tl::unexpected<CacheError> unknown(SeqId seq) {
  return tl::unexpected<CacheError>(UnknownSequence{seq});
}

}  // namespace

std::string to_string(const CacheError& error) { return std::visit(ErrorText{}, error); }

PagedKVCache::PagedKVCache(std::uint32_t num_blocks, std::uint32_t block_size,
                           std::unique_ptr<PrefixIndex> index)
    : block_size_(block_size), pool_(num_blocks), index_(std::move(index)) {
  FORGE_CHECK(block_size > 0, "a block needs at least one slot");
}

PagedKVCache::PagedKVCache(const PagedKVCache& other)
    : block_size_(other.block_size_),
      pool_(other.pool_),
      index_(other.index_ ? other.index_->clone() : nullptr),
      epoch_(other.epoch_),
      insertions_(other.insertions_),
      evictions_(other.evictions_),
      rows_of_(other.rows_of_),
      rows_(other.rows_),
      free_rows_(other.free_rows_) {}

PagedKVCache& PagedKVCache::operator=(const PagedKVCache& other) {
  return *this = PagedKVCache(other);
}

tl::expected<void, CacheError> PagedKVCache::add(SeqId seq) {
  if (contains(seq)) return tl::unexpected<CacheError>(DuplicateSequence{seq});
  make_row(seq);
  return {};
}

tl::expected<std::span<const BlockId>, CacheError> PagedKVCache::add(SeqId seq,
                                                                     const PrefixMatch& match,
                                                                     std::uint32_t tokens) {
  if (contains(seq)) return tl::unexpected<CacheError>(DuplicateSequence{seq});
  const std::uint32_t needed = blocks_needed(match, tokens);
  if (needed > available_count()) {
    return tl::unexpected<CacheError>(OutOfBlocks{needed, available_count()});
  }
  Row& row = make_row(seq);
  for (const BlockId block : match.shared) {
    retain(block);
    row.table.push_back(block);
  }
  row.published = static_cast<std::uint32_t>(match.shared.size());
  // The block to copy from is held while others are taken, lest it be one of them.
  if (match.copied) retain(*match.copied);
  grow(row, blocks_for(tokens) - row.published);
  if (match.copied) release(*match.copied);
  row.tokens = tokens;
  return std::span<const BlockId>(row.table);
}

tl::expected<GrownTable, CacheError> PagedKVCache::append(SeqId seq, std::uint32_t tokens) {
  Row* row = find(seq);
  if (row == nullptr) return unknown(seq);
  const std::uint32_t needed = blocks_needed(*row, tokens);
  if (needed > 0) {
    if (needed > available_count()) {
      return tl::unexpected<CacheError>(OutOfBlocks{needed, available_count()});
    }
    grow(*row, needed);
  }
  row->tokens += tokens;
  return GrownTable{row->table, needed};
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::rollback(SeqId seq, std::uint32_t tokens) {
  Row* row = find(seq);
  if (row == nullptr) return unknown(seq);
  const std::uint32_t shared = row->epoch == epoch_ ? row->published * block_size_ : 0;
  if (tokens > row->tokens - shared) {
    return tl::unexpected<CacheError>(RollbackTooLong{tokens, row->tokens - shared});
  }
  row->tokens -= tokens;
  const std::uint32_t kept = blocks_for(row->tokens);
  for (; row->table.size() > kept; row->table.pop_back()) release(row->table.back());
  return kept;
}

tl::expected<void, CacheError> PagedKVCache::free(SeqId seq) {
  const auto index = rows_of_.find(seq);
  if (!index) return unknown(seq);
  Row& row = rows_[*index];
  for (; !row.table.empty(); row.table.pop_back()) release(row.table.back());
  row.tokens = 0;
  rows_of_.erase(seq);
  free_rows_.push_back(*index);
  return {};
}

std::uint32_t PagedKVCache::blocks_for(std::uint32_t tokens) const {
  return tokens / block_size_ + (tokens % block_size_ != 0 ? 1 : 0);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::blocks_needed(
    SeqId seq, std::uint32_t extra_tokens) const {
  const Row* row = find(seq);
  if (row == nullptr) return unknown(seq);
  return blocks_needed(*row, extra_tokens);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::tokens(SeqId seq) const {
  const Row* row = find(seq);
  if (row == nullptr) return unknown(seq);
  return row->tokens;
}

tl::expected<std::span<const BlockId>, CacheError> PagedKVCache::block_table(SeqId seq) const {
  const Row* row = find(seq);
  if (row == nullptr) return unknown(seq);
  return std::span<const BlockId>(row->table);
}

PagedKVCache::Row* PagedKVCache::find(SeqId seq) {
  const auto index = rows_of_.find(seq);
  return index ? &rows_[*index] : nullptr;
}

const PagedKVCache::Row* PagedKVCache::find(SeqId seq) const {
  const auto index = rows_of_.find(seq);
  return index ? &rows_[*index] : nullptr;
}

PagedKVCache::Row& PagedKVCache::make_row(SeqId seq) {
  if (free_rows_.empty()) {
    free_rows_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
    free_rows_.reserve(rows_.capacity());
  }
  const std::uint32_t index = free_rows_.back();
  free_rows_.pop_back();
  rows_of_.insert(seq, index);
  Row& row = rows_[index];
  row.published = 0;
  row.epoch = epoch_;
  return row;
}

std::uint32_t PagedKVCache::blocks_needed(const Row& row, std::uint32_t extra_tokens) const {
  const auto held = static_cast<std::uint32_t>(row.table.size());
  const std::uint32_t slack = held * block_size_ - row.tokens;
  return extra_tokens <= slack ? 0 : blocks_for(extra_tokens - slack);
}

/// Requires: blocks <= available_count().
void PagedKVCache::grow(Row& row, std::uint32_t blocks) {
  for (std::uint32_t i = 0; i < blocks; ++i) row.table.push_back(allocate());
}

BlockId PagedKVCache::allocate() {
  if (pool_.free_count() == 0 && index_) {
    const std::optional<BlockId> evicted = index_->evict();
    FORGE_CHECK(evicted.has_value(), "no block is free or unused");
    ++evictions_;
    pool_.release(*evicted);
  }
  return pool_.allocate();
}

}  // namespace forge
