// stats: what a run did, and what its trace is made of, in numbers.
//
// All of it comes from one pass over the events, with only the unfinished sequences in memory.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

struct TraceStats {
  /// The distribution of a number over steps. A percentile is the least value that so many percent
  /// do not exceed.
  struct Distribution {
    std::uint64_t p50 = 0;
    std::uint64_t p95 = 0;
    std::uint64_t max = 0;
    friend bool operator==(const Distribution&, const Distribution&) = default;
  };
  /// What the bytes of the file are spent on.
  struct Bytes {
    std::uint64_t total = 0;
    std::uint64_t submissions = 0;     ///< mostly prompts
    std::uint64_t steps = 0;           ///< plans, results and links
    std::uint64_t logits_digests = 0;  ///< in `steps`, the digests of logits ...
    std::uint64_t links = 0;           ///< ... and the links
    std::uint64_t snapshots = 0;       ///< with which files begin
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };

  std::uint64_t requests = 0;  ///< submitted, and those that were unfinished where the trace begins
  std::array<std::uint64_t, 7> finished{};  ///< by FinishReason
  std::uint64_t steps = 0;

  std::uint64_t prompt_tokens = 0;  ///< submitted
  std::uint64_t generated_tokens = 0;
  std::uint64_t run_tokens = 0;         ///< through the model, drafts and repetitions included
  std::uint64_t recomputed_tokens = 0;  ///< those of run_tokens that had valid KV before
  std::uint64_t cached_tokens = 0;      ///< found in the prefix cache at first admissions
  std::uint64_t recovered_tokens = 0;   ///< the same, after a preemption without swap

  std::uint64_t admissions = 0;   ///< first ones
  std::uint64_t prefix_hits = 0;  ///< first admissions that found something
  std::uint64_t preemptions_recompute = 0;
  std::uint64_t preemptions_swap = 0;
  std::array<std::uint64_t, 3> copies{};  ///< blocks by CopyKind

  Distribution batch_size;        ///< sequences with a slice, of steps that have any
  Distribution batch_tokens;      ///< tokens that ran, of the same steps
  std::uint64_t blocks_peak = 0;  ///< held by sequences at the same time
  std::uint64_t host_blocks_peak = 0;
  std::uint64_t waiting_peak = 0;  ///< swapped ones included
  std::uint64_t drafts_proposed = 0;
  std::uint64_t drafts_accepted = 0;

  Bytes bytes;

  std::uint64_t unfinished() const;
  friend bool operator==(const TraceStats&, const TraceStats&) = default;
};

/// Reads to the end. Errors: the trace cannot be read or contradicts itself.
tl::expected<TraceStats, TraceError> stats(TraceReader& trace);

/// print() is for people. to_json() is for programs: an object with the same numbers, in the same
/// groups.
void print(const TraceStats& stats, std::ostream& out);
nlohmann::ordered_json to_json(const TraceStats& stats);

}  // namespace forge::trace
