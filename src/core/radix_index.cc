#include "forge/core/radix_index.h"

#include <algorithm>

namespace forge {
namespace {

/// The last steps of MurmurHash3 (Appleby): a permutation, so no two priorities are equal.
std::uint32_t priority(BlockId block) {
  std::uint32_t x = block.value;
  x = (x ^ (x >> 16)) * 0x85ebca6b;
  x = (x ^ (x >> 13)) * 0xc2b2ae35;
  return x ^ (x >> 16);
}

}  // namespace

RadixIndex::RadixIndex(const SchedulerConfig& config)
    : PrefixIndex(config),
      links_(std::size_t{config.cache.num_blocks} + 1, {root(), root(), root(), {}}) {}

std::unique_ptr<PrefixIndex> RadixIndex::clone() const {
  return std::make_unique<RadixIndex>(*this);
}

std::optional<BlockId> RadixIndex::find_child(BlockId parent, const SaltedTokens& key) const {
  BlockId child = links_[parent.value].children;
  while (child != root()) {
    const int order = order_among_siblings(key, child);
    if (order == 0) return child;
    child = order < 0 ? links_[child.value].lower : links_[child.value].higher;
  }
  return std::nullopt;
}

std::optional<BlockId> RadixIndex::link(BlockId parent, const SaltedTokens& key, BlockId block) {
  if (const auto child = find_child(parent, key)) return child;
  links_[block.value].last_token = key.tokens.back();
  BlockId* place = &links_[parent.value].children;
  while (*place != root() && priority(*place) > priority(block)) place = &side(key, *place);

  // The siblings at this place go below the block: split their tree by its key.
  BlockId sibling = *place;
  *place = block;
  BlockId* lower = &links_[block.value].lower;
  BlockId* higher = &links_[block.value].higher;
  while (sibling != root()) {
    Links& links = links_[sibling.value];
    const bool is_higher = order_among_siblings(key, sibling) < 0;
    BlockId*& end = is_higher ? higher : lower;
    *end = sibling;
    end = is_higher ? &links.lower : &links.higher;
    sibling = *end;
  }
  *lower = root();
  *higher = root();
  return std::nullopt;
}

void RadixIndex::unlink(BlockId block) {
  BlockId* place = &links_[parent_or_root(block).value].children;
  const SaltedTokens key{salt(block), tokens(block)};
  while (*place != block) place = &side(key, *place);

  // What was below the block takes its place: merge the two trees.
  BlockId lower = links_[block.value].lower;
  BlockId higher = links_[block.value].higher;
  while (lower != root() && higher != root()) {
    if (priority(lower) > priority(higher)) {
      *place = lower;
      place = &links_[lower.value].higher;
      lower = *place;
    } else {
      *place = higher;
      place = &links_[higher.value].lower;
      higher = *place;
    }
  }
  *place = lower != root() ? lower : higher;
}

void RadixIndex::unlink_all() { std::ranges::fill(links_, Links{root(), root(), root(), {}}); }

int RadixIndex::order_among_siblings(const SaltedTokens& key, BlockId sibling) const {
  const TokenId last_token = links_[sibling.value].last_token;
  if (key.tokens.back() != last_token) return key.tokens.back() < last_token ? -1 : 1;
  return compare(key, sibling);
}

BlockId& RadixIndex::side(const SaltedTokens& key, BlockId sibling) {
  Links& links = links_[sibling.value];
  return order_among_siblings(key, sibling) < 0 ? links.lower : links.higher;
}

}  // namespace forge
