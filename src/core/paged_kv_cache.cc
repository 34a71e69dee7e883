#include "forge/core/paged_kv_cache.h"

#include "forge/core/check.h"

namespace forge {
namespace {

struct ErrorText {
  std::string operator()(const OutOfBlocks& e) const {
    return "out of blocks: " + std::to_string(e.needed) + " needed, " + std::to_string(e.free) +
           " free";
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

}  // namespace

std::string to_string(const CacheError& error) { return std::visit(ErrorText{}, error); }

PagedKVCache::PagedKVCache(std::uint32_t num_blocks, std::uint32_t block_size)
    : block_size_(block_size), pool_(num_blocks) {
  FORGE_CHECK(block_size > 0, "a block needs at least one slot");
}

tl::expected<void, CacheError> PagedKVCache::add(SeqId seq) {
  if (contains(seq)) return tl::unexpected<CacheError>(DuplicateSequence{seq});
  if (free_rows_.empty()) {
    free_rows_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
    free_rows_.reserve(rows_.capacity());
  }
  rows_of_.insert(seq, free_rows_.back());
  free_rows_.pop_back();
  return {};
}

tl::expected<std::span<const BlockId>, CacheError> PagedKVCache::append(SeqId seq,
                                                                        std::uint32_t tokens) {
  Row* row = find(seq);
  if (row == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  const std::uint32_t needed = blocks_needed(*row, tokens);
  if (needed > pool_.free_count()) {
    return tl::unexpected<CacheError>(OutOfBlocks{needed, pool_.free_count()});
  }
  for (std::uint32_t i = 0; i < needed; ++i) row->table.push_back(pool_.allocate());
  row->tokens += tokens;
  return std::span<const BlockId>(row->table).last(needed);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::rollback(SeqId seq, std::uint32_t tokens) {
  Row* row = find(seq);
  if (row == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  if (tokens > row->tokens) {
    return tl::unexpected<CacheError>(RollbackTooLong{tokens, row->tokens});
  }
  row->tokens -= tokens;
  const std::uint32_t kept = blocks_for(row->tokens);
  std::uint32_t freed = 0;
  for (; row->table.size() > kept; ++freed) {
    pool_.release(row->table.back());
    row->table.pop_back();
  }
  return freed;
}

tl::expected<void, CacheError> PagedKVCache::free(SeqId seq) {
  const auto index = rows_of_.find(seq);
  if (!index) return tl::unexpected<CacheError>(UnknownSequence{seq});
  Row& row = rows_[*index];
  for (; !row.table.empty(); row.table.pop_back()) pool_.release(row.table.back());
  row.tokens = 0;
  rows_of_.erase(seq);
  free_rows_.push_back(*index);
  return {};
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::blocks_needed(
    SeqId seq, std::uint32_t extra_tokens) const {
  const Row* row = find(seq);
  if (row == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  return blocks_needed(*row, extra_tokens);
}

std::uint32_t PagedKVCache::blocks_for(std::uint32_t tokens) const {
  return tokens / block_size_ + (tokens % block_size_ != 0 ? 1 : 0);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::tokens(SeqId seq) const {
  const Row* row = find(seq);
  if (row == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  return row->tokens;
}

tl::expected<std::span<const BlockId>, CacheError> PagedKVCache::block_table(SeqId seq) const {
  const Row* row = find(seq);
  if (row == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
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

std::uint32_t PagedKVCache::blocks_needed(const Row& row, std::uint32_t extra_tokens) const {
  const auto held = static_cast<std::uint32_t>(row.table.size());
  const std::uint32_t slack = held * block_size_ - row.tokens;
  return extra_tokens <= slack ? 0 : blocks_for(extra_tokens - slack);
}

}  // namespace forge
