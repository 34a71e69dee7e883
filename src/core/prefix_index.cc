#include "forge/core/prefix_index.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "forge/core/check.h"

namespace forge {

PrefixIndex::PrefixIndex(const SchedulerConfig& config)
    : block_size_(config.cache.block_size),
      root_(config.cache.num_blocks),
      nodes_(std::size_t{config.cache.num_blocks} + 1),
      salts_(config.cache.num_blocks),
      tokens_(std::size_t{config.cache.num_blocks} * config.cache.block_size) {
  FORGE_CHECK(block_size_ > 0, "block_size=", block_size_);
  forget_all();
}

std::optional<BlockId> PrefixIndex::find(PrefixParent parent,
                                         std::span<const TokenId> tokens) const {
  FORGE_CHECK(tokens.size() == block_size_, tokens.size(), " tokens, block_size=", block_size_);
  return find_child(block_or_root(parent), {salt_after(parent), tokens});
}

std::optional<BlockId> PrefixIndex::insert(PrefixParent parent, std::span<const TokenId> tokens,
                                           BlockId block) {
  FORGE_CHECK(tokens.size() == block_size_, tokens.size(), " tokens, block_size=", block_size_);
  FORGE_CHECK(!contains(block), "block ", block.value, " is cached already");
  const CacheSalt salt = salt_after(parent);
  const BlockId before = block_or_root(parent);
  Node& above = nodes_[before.value];
  FORGE_CHECK(above.state == State::used, "parent ", before.value, " of block ", block.value,
              " is unused");
  if (const auto cached_already = link(before, {salt, tokens}, block)) return cached_already;
  ++above.children;
  ++above.used_children;
  nodes_[block.value] = {.parent = before, .state = State::used};
  salts_[block.value] = salt;
  std::ranges::copy(tokens, tokens_.begin() + static_cast<std::ptrdiff_t>(std::size_t{block.value} *
                                                                          block_size_));
  ++size_;
  return std::nullopt;
}

void PrefixIndex::acquire(BlockId block) {
  Node& taken = cached(block);
  Node& above = nodes_[taken.parent.value];
  FORGE_CHECK(taken.state == State::unused, "block ", block.value, " is used already");
  FORGE_CHECK(above.state == State::used, "parent ", taken.parent.value, " of block ", block.value,
              " is unused");
  leave_unused(taken);
  ++above.used_children;
  taken.state = State::used;
}

void PrefixIndex::release(BlockId block) {
  Node& gone = cached(block);
  Node& ring = nodes_.back();
  FORGE_CHECK(gone.state == State::used, "block ", block.value, " is unused already");
  FORGE_CHECK(gone.used_children == 0, "block ", block.value, " has ", gone.used_children,
              " used children");
  --nodes_[gone.parent.value].used_children;
  gone.state = State::unused;
  gone.before = ring.before;
  gone.after = root_;
  nodes_[ring.before.value].after = block;
  ring.before = block;
  ++unused_count_;
}

std::optional<BlockId> PrefixIndex::evict() {
  const BlockId first = nodes_.back().after;
  if (first == root_) return std::nullopt;
  Node& evicted = nodes_[first.value];
  FORGE_CHECK(evicted.children == 0, "block ", first.value, " has ", evicted.children, " children");
  unlink(first);
  leave_unused(evicted);
  --nodes_[evicted.parent.value].children;
  evicted.state = State::absent;
  --size_;
  return first;
}

void PrefixIndex::clear() {
  forget_all();
  unlink_all();
}

std::optional<BlockId> PrefixIndex::parent(BlockId block) const {
  const BlockId parent = cached(block).parent;
  return parent == root_ ? std::nullopt : std::optional(parent);
}

CacheSalt PrefixIndex::salt(BlockId block) const {
  cached(block);
  return salts_[block.value];
}

bool PrefixIndex::has_used_children(BlockId block) const { return cached(block).used_children > 0; }

std::span<const TokenId> PrefixIndex::tokens(BlockId block) const {
  cached(block);
  return std::span(tokens_).subspan(std::size_t{block.value} * block_size_, block_size_);
}

std::vector<BlockId> PrefixIndex::unused() const {
  std::vector<BlockId> list;
  list.reserve(unused_count_);
  for (BlockId block = nodes_.back().after; block != root_; block = nodes_[block.value].after) {
    list.push_back(block);
  }
  return list;
}

std::vector<BlockId> PrefixIndex::blocks() const {
  std::vector<BlockId> list;
  list.reserve(size_);
  for (BlockId block; block != root_; ++block.value) {
    if (contains(block)) list.push_back(block);
  }
  return list;
}

int PrefixIndex::compare(const SaltedTokens& key, BlockId block) const {
  // The order of the bytes in memory, which is not that of the numbers, but cheaper.
  static_assert(std::has_unique_object_representations_v<TokenId>);
  const int order = std::memcmp(key.tokens.data(), &tokens_[std::size_t{block.value} * block_size_],
                                key.tokens.size_bytes());
  if (order != 0 || key.salt == salts_[block.value]) return order;
  return key.salt < salts_[block.value] ? -1 : 1;
}

const PrefixIndex::Node& PrefixIndex::node(BlockId block) const {
  FORGE_CHECK(block < root_, "block=", block.value, " num_blocks=", root_.value);
  return nodes_[block.value];
}

const PrefixIndex::Node& PrefixIndex::cached(BlockId block) const {
  FORGE_CHECK(contains(block), "block ", block.value, " is not cached");
  return nodes_[block.value];
}

PrefixIndex::Node& PrefixIndex::cached(BlockId block) {
  FORGE_CHECK(contains(block), "block ", block.value, " is not cached");
  return nodes_[block.value];
}

BlockId PrefixIndex::block_or_root(PrefixParent parent) const {
  const BlockId* const block = std::get_if<BlockId>(&parent);
  if (block == nullptr) return root_;
  cached(*block);
  return *block;
}

CacheSalt PrefixIndex::salt_after(PrefixParent parent) const {
  const BlockId* const block = std::get_if<BlockId>(&parent);
  return block == nullptr ? std::get<CacheSalt>(parent) : salt(*block);
}

void PrefixIndex::leave_unused(const Node& node) {
  nodes_[node.before.value].after = node.after;
  nodes_[node.after.value].before = node.before;
  --unused_count_;
}

void PrefixIndex::forget_all() {
  std::ranges::fill(nodes_, Node{});
  nodes_.back() = {.parent = root_, .before = root_, .after = root_, .state = State::used};
  size_ = 0;
  unused_count_ = 0;
}

}  // namespace forge
