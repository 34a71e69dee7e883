#include "forge/kv_events/cache_feed.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "forge/core/prefix_hash.h"

namespace forge::kv_events {
namespace {

/// The number of leading blocks that are a chain. Requires: there is one.
std::size_t chain_length(std::span<const StoredBlock> stored) {
  std::size_t length = 1;
  while (length < stored.size() && stored[length].parent == stored[length - 1].block) ++length;
  return length;
}

}  // namespace

CacheFeed::CacheFeed(const SchedulerConfig& config)
    : key_{.k0 = config.prefix_hash_key},
      block_size_(config.cache.block_size),
      hashes_(config.cache.num_blocks) {}

KvEventBatch CacheFeed::follow(const CacheDelta& delta, const PrefixIndex& index,
                               double timestamp) {
  KvEventBatch batch{.timestamp = timestamp, .events = {}};
  if (delta.cleared) batch.events.emplace_back(AllBlocksCleared());
  if (!delta.removed.empty()) remove(delta.removed, batch);
  if (!delta.stored.empty()) store(delta.stored, index, batch);
  return batch;
}

void CacheFeed::remove(const std::vector<BlockId>& removed, KvEventBatch& batch) const {
  BlockRemoved event;
  event.hashes.reserve(removed.size());
  for (const BlockId block : removed) event.hashes.push_back(hashes_[block.value]);
  batch.events.emplace_back(std::move(event));
}

void CacheFeed::store(const std::vector<StoredBlock>& stored, const PrefixIndex& index,
                      KvEventBatch& batch) {
  for (std::span<const StoredBlock> left = stored; !left.empty();) {
    const auto chain = left.first(chain_length(left));
    left = left.subspan(chain.size());
    BlockStored event{.hashes = {}, .parent = {}, .tokens = {}, .block_size = block_size_};
    event.hashes.reserve(chain.size());
    event.tokens.reserve(chain.size() * block_size_);
    const std::optional<BlockId> parent = chain.front().parent;
    if (parent) event.parent = hashes_[parent->value];
    std::uint64_t hash = event.parent ? *event.parent : index.salt(chain.front().block).value;
    for (const StoredBlock& stored_block : chain) {
      const auto tokens = index.tokens(stored_block.block);
      hash = prefix_hash(key_, hash, tokens);
      hashes_[stored_block.block.value] = hash;
      event.hashes.push_back(hash);
      event.tokens.insert(event.tokens.end(), tokens.begin(), tokens.end());
    }
    batch.events.emplace_back(std::move(event));
  }
}

}  // namespace forge::kv_events
