// CacheDelta: what a step changed in the prefix cache, as a value.
//
// A plan says which blocks a sequence gets; this says which prefixes other sequences can find from
// now on, and which no longer. It is all that a router of a cluster needs to know which engine has
// the KV of a prompt, and all that a trace needs to show what was cached at any step.
//
//   step 4   stored  block 7: tokens 0..3 of sequence 1, at the start
//            stored  block 2: tokens 4..7 of sequence 1, after block 7
//   step 9   removed block 2: its memory was wanted
//
// The three parts are applied in the order of their declaration. That is no loss: between two
// commits blocks are only given up, and blocks become findable at a commit alone.
//
// A block is removed when it can no longer be found, not when the last sequence lets it go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

/// A block that can be found from now on.
struct StoredBlock {
  BlockId block;
  SeqId seq;                      ///< that computed it: it holds the tokens of this sequence ...
  std::uint32_t place = 0;        ///< ... from place * block_size on
  std::optional<BlockId> parent;  ///< the cached block of the tokens before; none at the start

  friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

struct CacheDelta {
  bool cleared = false;             ///< nothing that was cached before can be found
  std::vector<BlockId> removed;     ///< a child before its parent
  std::vector<StoredBlock> stored;  ///< a parent before its children

  bool empty() const { return !cleared && removed.empty() && stored.empty(); }
  /// Makes it empty and keeps its memory.
  void clear();

  void add_removal(BlockId block);
  void add_clear();

  friend bool operator==(const CacheDelta&, const CacheDelta&) = default;
};

}  // namespace forge
