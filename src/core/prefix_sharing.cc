// The part of PagedKVCache that shares blocks through the prefix index.
#include <utility>

#include "forge/core/check.h"
#include "forge/core/paged_kv_cache.h"

namespace forge {

void PrefixMatch::clear() {
  shared.clear();
  copied.reset();
  tokens = 0;
}

void PrefixMatch::drop_copy(std::uint32_t block_size) {
  copied.reset();
  tokens = static_cast<std::uint32_t>(shared.size()) * block_size;
}

void PagedKVCache::match_prefix(SaltedTokens of, PrefixMatch& match) const {
  match.clear();
  if (!index_) return;
  PrefixParent parent = of.salt;
  for (auto tokens = of.tokens; tokens.size() >= block_size_;
       tokens = tokens.subspan(block_size_)) {
    const auto block = index_->find(parent, tokens.first(block_size_));
    if (!block) return;
    if (tokens.size() == block_size_) {
      // All tokens are cached, and the last one must run.
      if (block_size_ == 1) return;
      match.copied = *block;
      match.tokens += block_size_ - 1;
      return;
    }
    match.shared.push_back(*block);
    match.tokens += block_size_;
    parent = *block;
  }
}

std::uint32_t PagedKVCache::blocks_needed(const PrefixMatch& match, std::uint32_t tokens) const {
  std::uint32_t needed = blocks_for(tokens) - static_cast<std::uint32_t>(match.shared.size());
  for (const BlockId block : match.shared) needed += is_unused(block) ? 1 : 0;
  if (match.copied && is_unused(*match.copied)) ++needed;
  return needed;
}

tl::expected<std::optional<std::uint32_t>, CacheError> PagedKVCache::publish(SeqId seq,
                                                                             SaltedTokens of,
                                                                             std::uint32_t valid) {
  FORGE_CHECK(index_ != nullptr && valid <= of.tokens.size(), "valid=", valid,
              " tokens=", of.tokens.size());
  Entry* entry = find(seq);
  if (entry == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  std::optional<std::uint32_t> changed;
  if (entry->epoch != epoch_) return changed;
  for (; (entry->published + 1) * block_size_ <= valid; ++entry->published) {
    const std::uint32_t place = entry->published;
    BlockId& block = entry->table[place];
    const PrefixParent parent =
        place == 0 ? PrefixParent(of.salt) : PrefixParent(entry->table[place - 1]);
    const auto its_tokens = of.tokens.subspan(std::size_t{place} * block_size_, block_size_);
    if (const auto cached = index_->insert(parent, its_tokens, block)) {
      acquire(*cached);
      release(block);
      block = *cached;
      if (!changed) changed = place;
    } else {
      pool_.acquire(block);
      ++insertions_;
      changes_.stored.push_back({block, seq, place, index_->parent(block)});
    }
  }
  return changed;
}

tl::expected<void, CacheError> PagedKVCache::pin(SeqId seq, std::vector<BlockId>& pinned) {
  const Entry* entry = find(seq);
  if (entry == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  const std::uint32_t count = entry->epoch == epoch_ ? entry->published : 0;
  pinned.assign(entry->table.begin(), entry->table.begin() + count);
  for (const BlockId block : pinned) acquire(block);
  return {};
}

void PagedKVCache::unpin(std::span<const BlockId> pinned) {
  for (std::size_t i = pinned.size(); i > 0; --i) release(pinned[i - 1]);
}

void PagedKVCache::clear_index() {
  if (!index_) return;
  const std::vector<BlockId> blocks = index_->blocks();
  index_->clear();
  ++epoch_;
  if (!blocks.empty()) changes_.add_clear();
  for (const BlockId block : blocks) pool_.release(block);
}

void PagedKVCache::take_changes(CacheDelta& changes) {
  std::swap(changes_, changes);
  changes_.clear();
}

tl::expected<std::uint32_t, CacheError> PagedKVCache::published(SeqId seq) const {
  const Entry* entry = find(seq);
  if (entry == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  return entry->epoch == epoch_ ? entry->published : 0;
}

tl::expected<bool, CacheError> PagedKVCache::publishes(SeqId seq) const {
  const Entry* entry = find(seq);
  if (entry == nullptr) return tl::unexpected<CacheError>(UnknownSequence{seq});
  return entry->epoch == epoch_;
}

bool PagedKVCache::is_unused(BlockId block) const {
  return pool_.holders(block) == 1 && index_ && index_->contains(block);
}

void PagedKVCache::acquire(BlockId block) {
  if (is_unused(block)) index_->acquire(block);
  pool_.acquire(block);
}

void PagedKVCache::release(BlockId block) {
  pool_.release(block);
  if (!is_unused(block)) return;
  index_->release(block);
  if (index_->unused_count() > unused_max_) evict();
}

}  // namespace forge
