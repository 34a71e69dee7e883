// SchedulerConfig: every number that the policy depends on.
//
// Two schedulers of equal configuration that see equal events make equal plans. All costs are
// integers, so that no rounding can come between them.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace forge {

/// What happens to the KV of a preempted sequence.
enum class PreemptionPolicy : std::uint8_t {
  automatic,  ///< swap where it is cheaper (swap_setup_cost) and the host has room
  recompute,  ///< always dropped
  swap,       ///< always swapped, unless the host has no room
};

/// Which prefix index is used (prefix_index.h). Both find the same prefixes.
enum class PrefixCacheKind : std::uint8_t { none, radix, hash };

struct SchedulerConfig {
  std::uint32_t num_blocks = 512;          ///< blocks of KV on the device
  std::uint32_t block_size = 16;           ///< slots (tokens) of a block
  std::uint32_t num_host_blocks = 0;       ///< blocks of KV in host memory, for swapping
  std::uint32_t max_batch_size = 16;       ///< sequences that hold device blocks
  std::uint32_t max_batch_tokens = 4096;   ///< tokens of one step, at least max_batch_size
  std::uint32_t prefill_chunk_size = 512;  ///< tokens of one prompt chunk

  /// Blocks that admission leaves free for the sequences that run. Without any, nothing waits
  /// for them.
  std::uint32_t watermark_blocks = 0;

  /// A request goes before those of the next lower priority that were submitted up to this many
  /// submissions earlier. So a normal request is overtaken fewer than this many times, a low one
  /// fewer than twice as many, a high one never (wait_queue.h).
  std::uint32_t priority_head_start = 64;

  PreemptionPolicy preemption = PreemptionPolicy::automatic;
  /// Cost of a swap, out and in, of b blocks: swap_setup_cost + b * swap_block_cost, counted in
  /// tokens. `automatic` swaps when that is less than the number of tokens to recompute.
  std::uint32_t swap_setup_cost = 32;
  std::uint32_t swap_block_cost = 2;

  PrefixCacheKind prefix_cache = PrefixCacheKind::radix;
  /// Key of the hash index. A server that strangers may send prompts to draws it at random, so
  /// that nobody can prepare collisions.
  std::uint64_t prefix_hash_key = 0;
  /// Steps for which the KV of an idle session stays.
  std::uint64_t session_idle_steps = 1000;

  friend bool operator==(const SchedulerConfig&, const SchedulerConfig&) = default;
};

/// A number of the configuration that is out of range.
struct ConfigError {
  std::string name;
  std::uint64_t value = 0;
  std::string accepted;

  friend bool operator==(const ConfigError&, const ConfigError&) = default;
};
std::string to_string(const ConfigError& error);

/// Errors: the first field that is out of range.
tl::expected<void, ConfigError> validate(const SchedulerConfig& config);

}  // namespace forge
