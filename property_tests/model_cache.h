// ModelCache: PagedKVCache once more, as plainly as it can be said.
//
// Blocks have names that are never used again instead of places in a pool, so nothing here says
// which physical block is handed out; all counts, hits and evictions are those of the real one.
// Written from the text of paged_kv_cache.h and prefix_index.h, not from their sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "forge/core/prefix_index.h"
#include "forge/core/scheduler_config.h"

namespace forge::testing {

class ModelCache {
 public:
  using Block = std::uint64_t;

  struct Match {
    std::vector<Block> shared;
    std::optional<Block> copied;
    std::uint32_t tokens = 0;
  };

  explicit ModelCache(const SchedulerConfig& config)
      : num_blocks_(config.cache.num_blocks),
        block_size_(config.cache.block_size),
        unused_max_(config.prefix_cache_max) {}

  std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + block_size_ - 1) / block_size_);
  }
  std::uint32_t free_count() const {
    return num_blocks_ - static_cast<std::uint32_t>(holders_.size());
  }
  std::uint32_t cached_count() const { return static_cast<std::uint32_t>(places_.size()); }
  std::uint32_t unused_count() const { return static_cast<std::uint32_t>(unused_.size()); }
  std::uint32_t available() const { return free_count() + unused_count(); }
  std::uint64_t evictions() const { return evictions_; }
  std::size_t table_length(SeqId seq) const { return tables_.at(seq).blocks.size(); }
  bool contains(SeqId seq) const { return tables_.contains(seq); }
  std::size_t published(SeqId seq) const { return tables_.at(seq).published; }

  /// The longest cached prefix of the tokens with their salt, without the last of them.
  Match match(SaltedTokens of) const {
    Match match;
    Block parent = kRoot;
    while ((match.shared.size() + 1) * block_size_ <= of.tokens.size()) {
      const auto child = children_.find({parent, block_of(of, match.shared.size())});
      if (child == children_.end()) break;
      parent = child->second;
      match.shared.push_back(parent);
    }
    match.tokens = static_cast<std::uint32_t>(match.shared.size()) * block_size_;
    if (match.tokens == of.tokens.size() && match.tokens > 0) {
      match.tokens -= 1;
      if (block_size_ > 1) match.copied = match.shared.back();
      match.shared.pop_back();
    }
    return match;
  }

  Match without_copy(Match match) const {
    match.copied.reset();
    match.tokens = static_cast<std::uint32_t>(match.shared.size()) * block_size_;
    return match;
  }

  /// Available blocks that a sequence of `tokens` tokens takes if it starts with `match`.
  std::uint32_t needed(const Match& match, std::uint64_t tokens) const {
    std::uint32_t count = blocks_for(tokens) - static_cast<std::uint32_t>(match.shared.size());
    for (const Block block : match.shared) count += holders_.at(block) == 0;
    if (match.copied) count += holders_.at(*match.copied) == 0;
    return count;
  }

  void add(SeqId seq, const Match& match, std::uint64_t tokens) {
    for (const Block block : match.shared) hold(block);
    if (match.copied) hold(*match.copied);
    tables_[seq] = {match.shared, match.shared.size()};
    resize(seq, tokens);
    if (match.copied) release(*match.copied);
  }

  /// Blocks that the table of `seq` lacks for `tokens` tokens.
  std::uint32_t missing(SeqId seq, std::uint64_t tokens) const {
    const auto held = static_cast<std::uint32_t>(table_length(seq));
    return std::max(blocks_for(tokens), held) - held;
  }

  /// The table of `seq` is as long as `tokens` tokens need it. Requires: so many blocks are
  /// available.
  void resize(SeqId seq, std::uint64_t tokens) {
    std::vector<Block>& blocks = tables_.at(seq).blocks;
    while (blocks.size() < blocks_for(tokens)) blocks.push_back(take_new());
    while (blocks.size() > blocks_for(tokens)) {
      release(blocks.back());
      blocks.pop_back();
    }
  }

  void publish(SeqId seq, SaltedTokens of, std::uint32_t valid) {
    Table& table = tables_.at(seq);
    if (!table.publishes) return;
    for (std::size_t& i = table.published; (i + 1) * block_size_ <= valid; ++i) {
      Place place{i == 0 ? kRoot : table.blocks[i - 1], block_of(of, i)};
      const auto cached = children_.find(place);
      if (cached == children_.end()) {
        children_[place] = table.blocks[i];
        places_[table.blocks[i]] = place;
      } else if (cached->second != table.blocks[i]) {
        hold(cached->second);
        release(std::exchange(table.blocks[i], cached->second));
      }
    }
  }

  void free(SeqId seq) {
    resize(seq, 0);
    tables_.erase(seq);
  }

  std::vector<Block> pin(SeqId seq) {
    const Table& table = tables_.at(seq);
    const std::vector<Block> pinned(table.blocks.begin(), table.blocks.begin() + table.published);
    for (const Block block : pinned) hold(block);
    return pinned;
  }
  void unpin(const std::vector<Block>& pinned) {
    for (std::size_t i = pinned.size(); i > 0; --i) release(pinned[i - 1]);
  }

  void clear_index() {
    children_.clear();
    places_.clear();
    for (const Block block : unused_) holders_.erase(block);
    unused_.clear();
    for (auto& [seq, table] : tables_) {
      table.published = 0;
      table.publishes = false;
    }
  }

 private:
  static constexpr Block kRoot = 0;
  using Key = std::pair<CacheSalt, std::vector<TokenId>>;
  using Place = std::pair<Block, Key>;  // parent, salt and own tokens
  struct Table {
    std::vector<Block> blocks;
    std::size_t published = 0;
    bool publishes = true;  // not any more once the index has been cleared
  };

  Key block_of(SaltedTokens of, std::size_t index) const {
    const auto block = of.tokens.subspan(index * block_size_, block_size_);
    return {of.salt, {block.begin(), block.end()}};
  }

  void hold(Block block) {
    if (holders_.at(block)++ == 0) std::erase(unused_, block);
  }

  void release(Block block) {
    if (--holders_.at(block) > 0) return;
    if (places_.contains(block)) {
      unused_.push_back(block);
      if (unused_.size() > unused_max_) evict();
    } else {
      holders_.erase(block);
    }
  }

  Block take_new() {
    if (free_count() == 0) evict();
    holders_[next_] = 1;
    return next_++;
  }

  void evict() {
    const Block victim = unused_.front();
    unused_.pop_front();
    children_.erase(places_.at(victim));
    places_.erase(victim);
    holders_.erase(victim);
    ++evictions_;
  }

  std::uint32_t num_blocks_;
  std::uint32_t block_size_;
  std::uint32_t unused_max_;
  Block next_ = 1;
  std::map<Block, std::uint32_t> holders_;  // tables and pins; 0 if cached and unused
  std::map<Place, Block> children_;         // cached blocks by place ...
  std::map<Block, Place> places_;           // ... and the reverse
  std::deque<Block> unused_;                // released first in front
  std::map<SeqId, Table> tables_;
  std::uint64_t evictions_ = 0;
};

}  // namespace forge::testing
