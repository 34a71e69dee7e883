// KvEvent: what happened to the prefix cache, told to somebody who cannot look into it.
//
// A router that knows which server has the KV of which prefix sends a prompt where most of it need
// not run. So a server publishes what its prefix cache stores and forgets:
//
//   event              the follower's map of this server
//   BlockStored        hashes[i] -> its tokens, after hashes[i - 1]; the first is after parent
//   BlockRemoved       without these hashes
//   AllBlocksCleared   empty
//
// A block is named by a hash of its whole prefix (core/prefix_hash.h), never by its id: ids are
// used again, and mean nothing elsewhere. A follower that has applied all batches in their order
// has what PrefixIndex has after the last one's step.
//
// Source: the events of vLLM, its module distributed/kv_events. Thread contract: values.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "forge/core/ids.h"

namespace forge::kv_events {

/// A chain of blocks, each the parent of the next one. `tokens` has block_size for each of them.
struct BlockStored {
  std::vector<std::uint64_t> hashes;
  std::optional<std::uint64_t> parent;  ///< of the first one; nothing at the start of a prefix
  std::vector<TokenId> tokens;
  std::uint32_t block_size = 0;

  friend bool operator==(const BlockStored&, const BlockStored&) = default;
};

/// Nobody finds these any more.
struct BlockRemoved {
  std::vector<std::uint64_t> hashes;

  friend bool operator==(const BlockRemoved&, const BlockRemoved&) = default;
};

struct AllBlocksCleared {
  friend bool operator==(const AllBlocksCleared&, const AllBlocksCleared&) = default;
};

using KvEvent = std::variant<BlockStored, BlockRemoved, AllBlocksCleared>;

/// What one step changed. A parent is stored before its children.
struct KvEventBatch {
  double timestamp = 0;  ///< seconds since 1970
  std::vector<KvEvent> events;

  friend bool operator==(const KvEventBatch&, const KvEventBatch&) = default;
};

}  // namespace forge::kv_events
