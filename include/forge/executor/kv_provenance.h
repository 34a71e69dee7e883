// KvProvenance: which token's KV lies in each slot, and which step wrote it, so that attention
// never reads KV that is not what its sequence's table says it is.
//
// Block tables, shared prefixes, copies and swaps are bookkeeping; a mistake in it shows as a wrong
// number many steps later, or not at all. Here each slot of each block remembers what was written
// to it, copies carry that along, and every read is compared with what the reader needs:
//
//   sequence   position  0 1 2 3 | 4 5 6 7 | 8        block_size 4
//              token     t h e _ | c a t _ | s
//              table        7         2      5
//   block 2    slot 1 must hold: position 5, token 'a', after the prefix "the_c", all layers,
//              written by an earlier step
//
// Nothing in a slot names a sequence: any sequence with the same tokens may read it.
//
// Position and token are not enough. The KV of a token depends on all tokens before it, and the
// blocks of "the_|cat_" and "one_|cat_" agree in every token of the second. So a slot also
// remembers a hash of its whole prefix, chained from token to token. (64 bits: a chance of 2^-64
// that a wrong prefix goes unseen; this finds mistakes and resists no adversary.)
//
// A step may read what it writes itself, from the slice's first token on. All before that is
// claimed to be valid KV from earlier steps, so a slot that this very step has written does not
// count, even if its contents are right: with the rows in another order they would not be.
//
// It costs a pass over the whole context of every slice. All targets use it (kv_guard.h) when
// ExecutorOptions::check_kv is on, as it is in debug and sanitizer builds.
//
// Owns one record a slot. Thread contract: none of its own. Once the largest step has been seen,
// no call allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/step_plan.h"

namespace forge::executor {

/// The token whose KV it is, and its prefix.
struct KvContent {
  TokenId token;
  std::uint32_t position = 0;     ///< of the token in its sequence
  std::uint64_t prefix_hash = 0;  ///< of all tokens up to this one

  friend bool operator==(const KvContent&, const KvContent&) = default;
};

/// What lies in a slot.
struct KvWrite {
  KvContent content;
  StepId step;     ///< the step that wrote it
  int layers = 0;  ///< the number of layers that have it, from the first

  friend bool operator==(const KvWrite&, const KvWrite&) = default;
};

/// One sequence's part in a pass of the model: the pass runs its tokens [first, known + drafts),
/// writes their slots and reads all slots up to them.
struct KvPass {
  SeqId seq;
  std::span<const std::uint32_t> blocks;
  std::span<const TokenId> known;   ///< the sequence's known tokens
  std::span<const TokenId> drafts;  ///< the drafts after them
  std::uint32_t computed = 0;       ///< leading tokens with KV of earlier steps; up to `first`
  std::uint32_t first = 0;
  bool catches_up = false;  ///< earlier KV may also be of this step's first rows
};

/// A read that would not have found what it needs.
struct KvViolation {
  SeqId seq;
  StepId step;  ///< the step that reads
  std::uint32_t block = 0;
  std::uint32_t slot = 0;
  KvContent expected;
  bool earlier = false;  ///< expected from an earlier step, with all layers; else from this one
  std::optional<KvWrite> found;

  friend bool operator==(const KvViolation&, const KvViolation&) = default;
};
std::string to_string(const KvViolation& violation);

class KvProvenance {
 public:
  /// `layers` are those of the whole model. Requires: block_size at least 1.
  KvProvenance(std::uint32_t num_blocks, std::uint32_t num_host_blocks, std::uint32_t block_size,
               int layers);

  /// Copies what is recorded for the slots of the block. Requires: both blocks exist.
  void copy(const BlockCopy& copy);

  /// Records what the first `layers` layers are about to write in `step`, then checks all that
  /// they are about to read. Errors: the first bad read, in the order of `passes` and positions.
  /// Requires: every pass has blocks for its tokens, all of them below num_blocks.
  tl::expected<void, KvViolation> run(StepId step, int layers, std::span<const KvPass> passes);

  /// Forgets what lies in the block that the copy writes, or in the slots that the pass writes.
  void forget_destination(const BlockCopy& copy);
  void forget(const KvPass& pass);
  void forget_all();

 private:
  using Slots = std::vector<std::optional<KvWrite>>;

  std::size_t slot_of(const KvPass& pass, std::uint32_t position) const;
  void write(StepId step, int layers, const KvPass& pass);
  tl::expected<void, KvViolation> check(StepId step, int layers, const KvPass& pass) const;

  std::uint32_t block_size_;
  int layers_;
  Slots device_;  // [num_blocks * block_size]
  Slots host_;    // [num_host_blocks * block_size]
};

}  // namespace forge::executor
