// SchedulerSnapshot: a scheduler between two steps, as a value.
//
// It has all that future plans depend on. A scheduler that is made from it (Scheduler::restore)
// answers the same events by the same plans as the one that it was taken of, to the bit: this is
// how a recording goes on in a new file that can be replayed without those before it.
//
//   sequences   who waits and runs, and how far each has come
//   cache       which block holds whose tokens, which one is free, which is given up next
//   shares      what clients and users have had
//   sessions    what is kept between the turns of conversations
//
// Not in it: KV itself, which depends on the tokens of a block and those before it alone; counters
// for people (PrefixCacheStatistics, SequenceView::overtaken), which begin anew; where things lie
// in memory.
//
// All types are regular values; the trace format writes them as JSON (src/trace/snapshot_fields.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/ids.h"
#include "forge/core/request.h"
#include "forge/core/sequence_view.h"

namespace forge {

/// A block of the prefix index.
struct CachedBlock {
  BlockId block;
  std::vector<TokenId> tokens;  ///< block_size of them
  CacheSalt salt;
  std::optional<BlockId> parent;  ///< the block of the tokens before; none at the start

  friend bool operator==(const CachedBlock&, const CachedBlock&) = default;
};

/// The block table of a sequence.
struct TableSnapshot {
  SeqId seq;
  std::uint32_t tokens = 0;     ///< slots in use
  std::uint32_t published = 0;  ///< leading blocks that are a path of the index
  bool publishes = true;        ///< false if the index was cleared since the table began
  std::vector<BlockId> blocks;

  friend bool operator==(const TableSnapshot&, const TableSnapshot&) = default;
};

/// A PagedKVCache, but for what is pinned in it.
struct CacheSnapshot {
  std::vector<BlockId> free;        ///< the last one is taken first
  std::vector<CachedBlock> cached;  ///< a parent before its children
  std::vector<BlockId> unused;      ///< cached and held by nobody; the first one is evicted first
  std::vector<TableSnapshot> tables;
  CacheDelta changes;  ///< since the last commit

  friend bool operator==(const CacheSnapshot&, const CacheSnapshot&) = default;
};

struct SequenceSnapshot {
  SequenceView view;  ///< without `overtaken`
  ClientId client;
  UserId user;
  std::uint32_t weight = 1;
  std::uint32_t charged_tokens = 0;  ///< leading tokens that its client has paid for, or need not
  bool uses_prefix_cache = false;
  CacheSalt cache_salt;
  std::optional<SessionId> session;
  std::optional<StepId> deadline;   ///< the first step in which it takes no part any more
  bool admitted = false;            ///< has been in the batch
  bool decodes = false;             ///< has sampled, and its KV has not been dropped since
  std::uint32_t drafts = 0;         ///< wanted in the next step
  std::uint64_t draft_history = 0;  ///< DraftHistory::word()
  std::uint32_t target_length = 0;  ///< blocks in the target's table ...
  std::uint32_t target_agrees = 0;  ///< ... and how many of its leading ones are the scheduler's
  std::vector<TokenId> tokens;      ///< prompt and output, if it uses the prefix cache

  friend bool operator==(const SequenceSnapshot&, const SequenceSnapshot&) = default;
};

struct UserSnapshot {
  UserId user;
  std::uint64_t served = 0;  ///< Share::served
  std::uint64_t turn = 0;    ///< Share::turn

  friend bool operator==(const UserSnapshot&, const UserSnapshot&) = default;
};
struct ClientSnapshot {
  ClientId client;
  std::uint64_t served = 0;
  std::uint64_t turn = 0;
  std::uint64_t floor = 0;  ///< that of its users
  std::vector<UserSnapshot> users;

  friend bool operator==(const ClientSnapshot&, const ClientSnapshot&) = default;
};
/// FairShares, of those that it does not forget; by client and user.
struct SharesSnapshot {
  std::uint64_t turns = 0;  ///< taken so far
  std::uint64_t floor = 0;  ///< that of the clients
  std::vector<ClientSnapshot> clients;

  friend bool operator==(const SharesSnapshot&, const SharesSnapshot&) = default;
};

struct SessionSnapshot {
  SessionId session;
  StepId idle_since;  ///< 0 while a request of it is unfinished
  std::vector<BlockId> pinned;

  friend bool operator==(const SessionSnapshot&, const SessionSnapshot&) = default;
};

struct SchedulerSnapshot {
  StepId next_step;
  SeqId next_seq{1};
  std::vector<SequenceSnapshot> sequences;  ///< by id
  std::vector<SeqId> running;               ///< in order of admission
  std::vector<SeqId> finishing;             ///< in the order in which they ended
  CacheSnapshot cache;
  CacheSnapshot host;
  SharesSnapshot shares;
  std::vector<SessionSnapshot> sessions;  ///< by id

  friend bool operator==(const SchedulerSnapshot&, const SchedulerSnapshot&) = default;
};

}  // namespace forge
