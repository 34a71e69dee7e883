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
                           std::unique_ptr<PrefixIndex> index, std::uint32_t unused_max)
    : block_size_(block_size),
      unused_max_(unused_max),
      pool_(num_blocks),
      index_(std::move(index)) {
  FORGE_CHECK(block_size > 0, "a block needs at least one slot");
}

PagedKVCache::PagedKVCache(const PagedKVCache& other)
    : block_size_(other.block_size_),
      unused_max_(other.unused_max_),
      pool_(other.pool_),
      index_(other.index_ ? other.index_->clone() : nullptr),
      epoch_(other.epoch_),
      insertions_(other.insertions_),
      evictions_(other.evictions_),
      changes_(other.changes_),
      entry_of_(other.entry_of_),
      entries_(other.entries_),
      free_entries_(other.free_entries_) {}

PagedKVCache& PagedKVCache::operator=(const PagedKVCache& other) {
  return *this = PagedKVCache(other);
}

tl::expected<void, CacheError> PagedKVCache::add(SeqId seq) {
  if (contains(seq)) return tl::unexpected<CacheError>(DuplicateSequence{seq});
  make_entry(seq);
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
  Entry& entry = make_entry(seq);
  for (const BlockId block : match.shared) {
    acquire(block);
    entry.table.push_back(block);
  }
  entry.published = static_cast<std::uint32_t>(match.shared.size());
  // The block to copy from is held while others are taken, lest it be one of them.
  if (match.copied) acquire(*match.copied);
  grow(entry, blocks_for(tokens) - entry.published);
  if (match.copied) release(*match.copied);
  entry.tokens = tokens;
  return std::span<const BlockId>(entry.table);
}

tl::expected<GrownTable, CacheError> PagedKVCache::append(SeqId seq, std::uint32_t tokens) {
  Entry* entry = find(seq);
  if (entry == nullptr) return unknown(seq);
  const std::uint32_t needed = blocks_needed(*entry, tokens);
  if (needed > 0) {
    if (needed > available_count()) {
      return tl::unexpected<CacheError>(OutOfBlocks{needed, available_count()});
    }
    grow(*entry, needed);
  }
  entry->tokens += tokens;
  return GrownTable{entry->table, needed};
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::rollback(SeqId seq, std::uint32_t tokens) {
  Entry* entry = find(seq);
  if (entry == nullptr) return unknown(seq);
  const std::uint32_t shared = entry->epoch == epoch_ ? entry->published * block_size_ : 0;
  if (tokens > entry->tokens - shared) {
    return tl::unexpected<CacheError>(RollbackTooLong{tokens, entry->tokens - shared});
  }
  entry->tokens -= tokens;
  const std::uint32_t kept = blocks_for(entry->tokens);
  for (; entry->table.size() > kept; entry->table.pop_back()) release(entry->table.back());
  return kept;
}

tl::expected<void, CacheError> PagedKVCache::free(SeqId seq) {
  const auto place = entry_of_.find(seq);
  if (!place) return unknown(seq);
  Entry& entry = entries_[*place];
  for (; !entry.table.empty(); entry.table.pop_back()) release(entry.table.back());
  entry.tokens = 0;
  entry_of_.erase(seq);
  free_entries_.push_back(*place);
  return {};
}

std::uint32_t PagedKVCache::blocks_for(std::uint32_t tokens) const {
  return tokens / block_size_ + (tokens % block_size_ != 0 ? 1 : 0);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::blocks_needed(
    SeqId seq, std::uint32_t extra_tokens) const {
  const Entry* entry = find(seq);
  if (entry == nullptr) return unknown(seq);
  return blocks_needed(*entry, extra_tokens);
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::tokens(SeqId seq) const {
  const Entry* entry = find(seq);
  if (entry == nullptr) return unknown(seq);
  return entry->tokens;
}

tl::expected<std::span<const BlockId>, CacheError> PagedKVCache::block_table(SeqId seq) const {
  const Entry* entry = find(seq);
  if (entry == nullptr) return unknown(seq);
  return std::span<const BlockId>(entry->table);
}

PagedKVCache::Entry* PagedKVCache::find(SeqId seq) {
  const auto place = entry_of_.find(seq);
  return place ? &entries_[*place] : nullptr;
}

const PagedKVCache::Entry* PagedKVCache::find(SeqId seq) const {
  const auto place = entry_of_.find(seq);
  return place ? &entries_[*place] : nullptr;
}

PagedKVCache::Entry& PagedKVCache::make_entry(SeqId seq) {
  if (free_entries_.empty()) {
    free_entries_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
    free_entries_.reserve(entries_.capacity());
  }
  const std::uint32_t index = free_entries_.back();
  free_entries_.pop_back();
  entry_of_.insert(seq, index);
  Entry& entry = entries_[index];
  entry.published = 0;
  entry.epoch = epoch_;
  return entry;
}

std::uint32_t PagedKVCache::blocks_needed(const Entry& entry, std::uint32_t extra_tokens) const {
  const auto held = static_cast<std::uint32_t>(entry.table.size());
  const std::uint32_t slack = held * block_size_ - entry.tokens;
  return extra_tokens <= slack ? 0 : blocks_for(extra_tokens - slack);
}

/// Requires: blocks <= available_count().
void PagedKVCache::grow(Entry& entry, std::uint32_t blocks) {
  for (std::uint32_t i = 0; i < blocks; ++i) entry.table.push_back(allocate());
}

BlockId PagedKVCache::allocate() {
  if (pool_.free_count() == 0 && index_) evict();
  return pool_.allocate();
}

void PagedKVCache::evict() {
  const std::optional<BlockId> evicted = index_->evict();
  FORGE_CHECK(evicted.has_value(), "no block is free or unused");
  ++evictions_;
  changes_.add_removal(*evicted);
  pool_.release(*evicted);
}

}  // namespace forge
