// SchedulerConfig: every number that the policy depends on, with its range.
//
// Two schedulers of equal configuration that see equal events make equal plans. All costs are
// integers, so that no rounding can come between them.
#pragma once

#include <cstdint>
#include <limits>
#include <tl/expected.hpp>

#include "forge/core/names.h"
#include "forge/core/sizes.h"

namespace forge {

/// What happens to the KV of a preempted sequence.
enum class PreemptionPolicy : std::uint8_t {
  automatic,  ///< swap where it is cheaper (swap_setup_cost) and the host has room
  recompute,  ///< always dropped
  swap,       ///< always swapped, unless the host has no room
};
constexpr Names<PreemptionPolicy> names_of(PreemptionPolicy) {
  return {"auto", "recompute", "swap"};
}

/// Which prefix index is used (prefix_index.h). Both find the same prefixes.
enum class PrefixCacheKind : std::uint8_t { none, radix, hash };
constexpr Names<PrefixCacheKind> names_of(PrefixCacheKind) { return {"none", "radix", "hash"}; }

/// How many of the drafts that a target offers are run (drafts_wanted in policy.h).
enum class DraftLengths : std::uint8_t {
  fixed,     ///< all of them
  adaptive,  ///< as many as those before let expect to be kept
};
constexpr Names<DraftLengths> names_of(DraftLengths) { return {"fixed", "adaptive"}; }

struct SchedulerConfig {
  static constexpr IntegerRange kAny32{0, std::numeric_limits<std::uint32_t>::max()};

  CacheShape cache;
  BatchLimits batch;

  std::uint32_t prefill_chunk_size = 512;  ///< tokens of one prompt chunk
  static constexpr IntegerRange kPrefillChunkSize{1, kAny32.highest};

  /// The blocks that admission leaves free for the running sequences, up to num_blocks. While no
  /// sequence runs, it leaves none.
  std::uint32_t watermark_blocks = 0;
  static constexpr IntegerRange kWatermarkBlocks{0, CacheShape::kNumBlocks.highest};

  /// The percentage of blocks in use from which on memory is under pressure: no sequence is
  /// admitted that would bring more into use while another one runs. Blocks that the prefix cache
  /// alone holds are not in use. At 100 there is no such limit.
  std::uint32_t memory_pressure = 100;
  static constexpr IntegerRange kMemoryPressure{1, 100};

  /// The percentage of max_batch_tokens that prompts leave alone while sequences decode: the
  /// higher, the shorter are the steps of those that decode, and the longer takes a prompt. One
  /// token of a prompt may run in any case.
  std::uint32_t decode_priority = 0;
  static constexpr IntegerRange kDecodePriority{0, 100};

  /// A request goes before those of the next lower priority that were submitted up to this many
  /// submissions earlier. So a normal request is overtaken fewer than this many times, a low one
  /// fewer than twice as many, a high one never (policy.h).
  std::uint32_t priority_head_start = 64;
  static constexpr IntegerRange kPriorityHeadStart{0, 1 << 16};

  PreemptionPolicy preemption = PreemptionPolicy::automatic;
  /// Cost of a swap, out and in, of b blocks: swap_setup_cost + b * swap_block_cost, counted in
  /// tokens. `automatic` swaps when that is less than the number of tokens to recompute.
  std::uint32_t swap_setup_cost = 32;
  std::uint32_t swap_block_cost = 2;
  static constexpr IntegerRange kSwapCost = kAny32;  ///< for each of the two

  DraftLengths draft_lengths = DraftLengths::fixed;
  /// `adaptive`: the percentage of drafts that have to be kept for drafts to be worth their while.
  /// It depends on what a draft costs beside a token without one, which the target and the drafter
  /// decide (book/course/16_speculation.md).
  std::uint32_t draft_break_even = 30;
  static constexpr IntegerRange kDraftBreakEven{0, 100};

  PrefixCacheKind prefix_cache = PrefixCacheKind::radix;
  /// Blocks that the prefix cache keeps for later while nobody uses them; beyond it, those that
  /// were released first are given up.
  std::uint32_t prefix_cache_max = kAny32.highest;
  /// Key of the hash index. A server that strangers may send prompts to draws it at random, so
  /// that nobody can prepare collisions.
  std::uint64_t prefix_hash_key = 0;
  /// Steps for which the KV of an idle session stays.
  std::uint64_t session_idle_steps = 1000;
  static constexpr IntegerRange kSessionIdleSteps{1, std::numeric_limits<std::int64_t>::max()};

  friend bool operator==(const SchedulerConfig&, const SchedulerConfig&) = default;
};

/// Errors: the first field that is out of range.
tl::expected<void, ConfigError> validate(const SchedulerConfig& config);

}  // namespace forge
