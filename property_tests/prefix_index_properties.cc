// Stateful test of the prefix indices: random calls, all of them legal, against a map from whole
// prefixes to blocks. Few tokens and short blocks, so that prefixes are shared and return.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "forge/core/hash_index.h"
#include "forge/core/radix_index.h"

namespace forge {
namespace {

/// Tokens, and before them the salt as if it were one.
using Prefix = std::vector<TokenId>;

Prefix start_of(CacheSalt salt) { return {TokenId{static_cast<std::uint32_t>(salt.value)}}; }

/// What every index has to know, in the most obvious form.
struct Model {
  std::uint32_t num_blocks = 0;
  std::uint32_t block_size = 0;
  std::map<Prefix, BlockId> block_of;
  std::map<BlockId, Prefix> prefix_of;
  std::vector<BlockId> unused;  // in the order of release

  bool is_used(BlockId block) const {
    return prefix_of.contains(block) && std::ranges::count(unused, block) == 0;
  }
  Prefix prefix_before(BlockId block) const {
    const Prefix& prefix = prefix_of.at(block);
    return {prefix.begin(), prefix.end() - block_size};
  }
  Prefix prefix_at(PrefixParent parent) const {
    const BlockId* const block = std::get_if<BlockId>(&parent);
    return block == nullptr ? start_of(std::get<CacheSalt>(parent)) : prefix_of.at(*block);
  }
  std::optional<BlockId> parent_of(BlockId block) const { return lookup(prefix_before(block)); }
  std::optional<BlockId> lookup(const Prefix& prefix) const {
    const auto found = block_of.find(prefix);
    return found == block_of.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_parent(BlockId block, bool of_used) const {
    return std::ranges::any_of(prefix_of, [&](const auto& entry) {
      return parent_of(entry.first) == block && (!of_used || is_used(entry.first));
    });
  }
  void forget(BlockId block) {
    block_of.erase(prefix_of.at(block));
    prefix_of.erase(block);
    std::erase(unused, block);
  }
};

enum class Kind { insert, acquire, release, evict, clear, clone };

struct Call {
  Kind kind = Kind::insert;
  std::uint32_t which = 0;  // of the blocks that the call may name
  std::uint32_t below = 0;  // insert: of the blocks that may be the parent
  std::uint32_t text = 0;   // insert: the tokens, a digit each
  std::uint32_t salt = 0;   // insert: if it has no parent
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  const char* names[] = {"insert", "acquire", "release", "evict", "clear", "clone"};
  return out << names[static_cast<int>(call.kind)] << '(' << call.which << ", " << call.below
             << ", " << call.text << ", " << call.salt << ')';
}

rc::Gen<Call> any_call() {
  const auto any = [] { return rc::gen::inRange<std::uint32_t>(0, 64); };
  return rc::gen::build<Call>(
      rc::gen::set(&Call::kind, rc::gen::weightedElement<Kind>({{24, Kind::insert},
                                                                {10, Kind::acquire},
                                                                {20, Kind::release},
                                                                {8, Kind::evict},
                                                                {1, Kind::clear},
                                                                {2, Kind::clone}})),
      rc::gen::set(&Call::which, any()), rc::gen::set(&Call::below, any()),
      rc::gen::set(&Call::text, any()),
      rc::gen::set(&Call::salt, rc::gen::inRange<std::uint32_t>(0, 3)));
}

/// block_size tokens, each 0 or 1.
std::vector<TokenId> tokens_of(std::uint32_t text, std::uint32_t block_size) {
  std::vector<TokenId> tokens(block_size);
  for (TokenId& token : tokens) {
    token.value = text % 2;
    text /= 2;
  }
  return tokens;
}

template <class Legal>
std::vector<BlockId> all_blocks(const Model& model, Legal legal) {
  std::vector<BlockId> blocks;
  for (BlockId block; block.value < model.num_blocks; ++block.value) {
    if (legal(block)) blocks.push_back(block);
  }
  return blocks;
}

using Indices = std::vector<std::unique_ptr<PrefixIndex>>;

void play_insert(const Call& call, Model& model, const Indices& indices) {
  const auto free = all_blocks(model, [&](BlockId b) { return !model.prefix_of.contains(b); });
  const auto parents = all_blocks(model, [&](BlockId b) { return model.is_used(b); });
  if (free.empty()) return;
  const BlockId block = free[call.which % free.size()];
  const std::size_t below = call.below % (parents.size() + 1);
  const PrefixParent parent =
      below < parents.size() ? PrefixParent(parents[below]) : PrefixParent(CacheSalt{call.salt});
  const auto tokens = tokens_of(call.text, model.block_size);
  Prefix prefix = model.prefix_at(parent);
  prefix.insert(prefix.end(), tokens.begin(), tokens.end());
  const auto cached = model.block_of.find(prefix);
  if (cached != model.block_of.end()) {
    for (const auto& index : indices) {
      RC_ASSERT(index->insert(parent, tokens, block) == cached->second);
    }
    return;
  }
  for (const auto& index : indices) {
    RC_ASSERT(index->insert(parent, tokens, block) == std::nullopt);
  }
  model.block_of[prefix] = block;
  model.prefix_of[block] = prefix;
}

void play_acquire(const Call& call, Model& model, const Indices& indices) {
  const auto legal = all_blocks(model, [&](BlockId block) {
    if (!model.prefix_of.contains(block) || model.is_used(block)) return false;
    const auto parent = model.parent_of(block);
    return !parent || model.is_used(*parent);
  });
  if (legal.empty()) return;
  const BlockId block = legal[call.which % legal.size()];
  for (const auto& index : indices) index->acquire(block);
  std::erase(model.unused, block);
}

void play_release(const Call& call, Model& model, const Indices& indices) {
  const auto legal = all_blocks(model, [&](BlockId block) {
    return model.is_used(block) && !model.is_parent(block, /*of_used=*/true);
  });
  if (legal.empty()) return;
  const BlockId block = legal[call.which % legal.size()];
  for (const auto& index : indices) index->release(block);
  model.unused.push_back(block);
}

void play_evict(Model& model, const Indices& indices) {
  const auto first = model.unused.empty() ? std::nullopt : std::optional(model.unused.front());
  for (const auto& index : indices) RC_ASSERT(index->evict() == first);
  if (first) model.forget(*first);
}

void play(const Call& call, Model& model, Indices& indices) {
  switch (call.kind) {
    case Kind::insert:
      return play_insert(call, model, indices);
    case Kind::acquire:
      return play_acquire(call, model, indices);
    case Kind::release:
      return play_release(call, model, indices);
    case Kind::evict:
      return play_evict(model, indices);
    case Kind::clear:
      for (const auto& index : indices) index->clear();
      model = {.num_blocks = model.num_blocks, .block_size = model.block_size};
      return;
    case Kind::clone:
      for (auto& index : indices) index = index->clone();
      return;
  }
}

/// The invariants of prefix_index.h, from what the index itself says.
void check_invariants(const PrefixIndex& index) {
  const auto unused = index.unused();
  const std::set<BlockId> is_unused(unused.begin(), unused.end());
  std::set<std::tuple<std::optional<BlockId>, CacheSalt, Prefix>> seen;
  for (const BlockId block : index.blocks()) {
    const auto parent = index.parent(block);
    const auto tokens = index.tokens(block);
    if (parent) RC_ASSERT(index.contains(*parent));
    if (parent && !is_unused.contains(block)) RC_ASSERT(!is_unused.contains(*parent));
    RC_ASSERT(
        seen.insert({parent, index.salt(block), Prefix(tokens.begin(), tokens.end())}).second);
    if (parent) RC_ASSERT(index.salt(block) == index.salt(*parent));
    if (!unused.empty()) RC_ASSERT(parent != unused.front());
  }
}

void check_hits(const PrefixIndex& index, const Model& model, PrefixParent parent) {
  for (std::uint32_t text = 0; text < 1u << model.block_size; ++text) {
    const auto tokens = tokens_of(text, model.block_size);
    Prefix prefix = model.prefix_at(parent);
    prefix.insert(prefix.end(), tokens.begin(), tokens.end());
    RC_ASSERT(index.find(parent, tokens) == model.lookup(prefix));
  }
}

void check_equal(const PrefixIndex& index, const Model& model) {
  RC_ASSERT(index.size() == model.prefix_of.size());
  RC_ASSERT(index.unused_count() == model.unused.size());
  RC_ASSERT(index.unused() == model.unused);
  const auto cached = all_blocks(model, [&](BlockId b) { return model.prefix_of.contains(b); });
  RC_ASSERT(index.blocks() == cached);
  RC_ASSERT(all_blocks(model, [&](BlockId b) { return index.contains(b); }) == cached);
  for (const std::uint64_t salt : {0U, 1U, 2U}) check_hits(index, model, CacheSalt{salt});
  for (const BlockId block : cached) {
    const Prefix& prefix = model.prefix_of.at(block);
    RC_ASSERT(index.parent(block) == model.parent_of(block));
    RC_ASSERT(start_of(index.salt(block)).front() == prefix.front());
    RC_ASSERT(std::ranges::equal(index.tokens(block), std::span(prefix).last(model.block_size)));
    check_hits(index, model, block);
  }
}

RC_GTEST_PROP(PrefixIndex, both_kinds_follow_a_map_of_prefixes_whatever_hashes_collide, ()) {
  const SchedulerConfig config{.cache = {.num_blocks = *rc::gen::inRange<std::uint32_t>(1, 16),
                                         .block_size = *rc::gen::inRange<std::uint32_t>(1, 4)},
                               .prefix_hash_key = *rc::gen::arbitrary<std::uint64_t>()};
  const auto calls = *rc::gen::container<std::vector<Call>>(any_call());
  Model model{.num_blocks = config.cache.num_blocks, .block_size = config.cache.block_size};
  Indices indices;
  indices.push_back(std::make_unique<RadixIndex>(config));
  for (const std::uint32_t hash_bits : {64u, 2u, 0u}) {
    indices.push_back(std::make_unique<HashIndex>(config, hash_bits));
  }
  for (const Call& call : calls) {
    play(call, model, indices);
    for (const auto& index : indices) {
      check_equal(*index, model);
      check_invariants(*index);
    }
  }
}

}  // namespace
}  // namespace forge
