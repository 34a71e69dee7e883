#include "forge/core/hash_index.h"

#include <algorithm>
#include <bit>

#include "forge/core/check.h"
#include "forge/core/prefix_hash.h"

namespace forge {
namespace {

std::uint64_t low_bits(std::uint32_t count) {
  FORGE_CHECK(count <= 64, "hash_bits=", count);
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

HashIndex::HashIndex(const SchedulerConfig& config, std::uint32_t hash_bits)
    : PrefixIndex(config),
      key_{.k0 = config.prefix_hash_key},
      hash_mask_(low_bits(hash_bits)),
      hashes_(config.cache.num_blocks),
      entries_(std::bit_ceil(std::size_t{config.cache.num_blocks} * 2), {0, root()}) {}

std::unique_ptr<PrefixIndex> HashIndex::clone() const { return std::make_unique<HashIndex>(*this); }

std::optional<BlockId> HashIndex::find_child(BlockId parent, const SaltedTokens& key) const {
  const Entry& entry = entries_[locate(hash(parent, key), parent, key)];
  return entry.block == root() ? std::nullopt : std::optional(entry.block);
}

std::optional<BlockId> HashIndex::link(BlockId parent, const SaltedTokens& key, BlockId block) {
  const std::uint64_t hashed = hash(parent, key);
  Entry& entry = entries_[locate(hashed, parent, key)];
  if (entry.block != root()) return entry.block;
  hashes_[block.value] = hashed;
  entry = {static_cast<std::uint32_t>(hashed), block};
  return std::nullopt;
}

void HashIndex::unlink(BlockId block) {
  std::size_t hole = home(static_cast<std::uint32_t>(hashes_[block.value]));
  while (entries_[hole].block != block) hole = next(hole);
  for (std::size_t i = next(hole); entries_[i].block != root(); i = next(i)) {
    // An entry may move back into the hole unless its home lies cyclically in (hole, i].
    const std::size_t mask = entries_.size() - 1;
    if (((i - home(entries_[i].hash)) & mask) >= ((i - hole) & mask)) {
      entries_[hole] = entries_[i];
      hole = i;
    }
  }
  entries_[hole] = {0, root()};
}

void HashIndex::unlink_all() { std::ranges::fill(entries_, Entry{0, root()}); }

std::uint64_t HashIndex::hash(BlockId parent, const SaltedTokens& key) const {
  const std::uint64_t before = parent == root() ? key.salt.value : hashes_[parent.value];
  return prefix_hash(key_, before, key.tokens) & hash_mask_;
}

std::size_t HashIndex::locate(std::uint64_t hash, BlockId parent, const SaltedTokens& key) const {
  for (std::size_t i = home(static_cast<std::uint32_t>(hash));; i = next(i)) {
    const Entry& entry = entries_[i];
    if (entry.block == root()) return i;
    if (entry.hash == static_cast<std::uint32_t>(hash) && parent_or_root(entry.block) == parent &&
        compare(key, entry.block) == 0) {
      return i;
    }
  }
}

}  // namespace forge
