// Sequence: all that the scheduler keeps of one unfinished sequence.
//
// It has four parts, of which the policy sees the first: the view; how far the sequence has come;
// what the target knows of its block table; what was found when its prefix was last looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/draft_history.h"
#include "forge/core/fair_shares.h"
#include "forge/core/prefix_index.h"
#include "forge/core/sequence_view.h"

namespace forge {

/// The length of a block table (its blocks are in PagedKVCache), and how much of it the target has.
/// Where the two differ, the next plan carries a TableDelta.
struct TargetTable {
  std::uint32_t length = 0;         ///< blocks in the scheduler's table
  std::uint32_t target_length = 0;  ///< blocks in the target's table ...
  std::uint32_t agrees = 0;         ///< ... and how many of its leading blocks are the same

  bool target_has_it() const { return target_length == length && agrees == length; }
  void change_from(std::uint32_t place) { agrees = std::min(agrees, place); }
  void cut_to(std::uint32_t blocks) {
    length = blocks;
    change_from(blocks);
  }
  void tell_target() { target_length = agrees = length; }
};

/// Bounds what a lookup of a sequence's prefix would find, so that waiting costs no lookups: at
/// most one block more than last time for each block that was published since.
struct PrefixMemo {
  std::uint64_t blocks = 0;      ///< found last time
  std::uint64_t insertions = 0;  ///< PagedKVCache::insertions() then

  std::uint64_t blocks_max(std::uint64_t insertions_now) const {
    return blocks + (insertions_now - insertions);
  }
};

/// While a sequence decodes, the KV of all its tokens but the last is valid between steps, and its
/// table has slots for just these.
struct Sequence {
  SequenceView view;
  bool uses_prefix_cache = false;
  CacheSalt cache_salt;
  FairShares::Index user = 0;
  std::uint32_t weight = 1;
  std::uint32_t charged_tokens = 0;  ///< leading tokens that its client has paid for, or need not
  bool admitted = false;             ///< has been in the batch
  bool decodes = false;              ///< has sampled, and its KV has not been dropped since
  std::uint32_t drafts = 0;          ///< wanted in the next step
  DraftHistory draft_history;        ///< stays empty where lengths are fixed
  TargetTable table;
  PrefixMemo memo;
  std::optional<SessionId> session;
  std::vector<TokenId> tokens;  ///< prompt and output, if it uses the prefix cache

  SaltedTokens salted_tokens() const { return {cache_salt, tokens}; }
  /// No KV of it is anywhere.
  void drop_kv() {
    view.computed_tokens = 0;
    decodes = false;
  }
  bool is_swapped() const {
    return view.state == SequenceState::waiting && view.computed_tokens > 0;
  }
};

}  // namespace forge
