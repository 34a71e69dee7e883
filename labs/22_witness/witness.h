// Witnesses: promises of a scheduler, as tests that see of it what anybody sees from outside.
//
// A run is what a scheduler was asked for, what it planned and what came out. Nothing is known of
// its queues, its pool of blocks or its prefix index, so a test of a run works for any scheduler
// that makes such plans, and a bug cannot hide behind books that are wrong in the same way. Each
// function here is one promise: it looks at a run and names the first step whose plan breaks it.
//
// A good witness does two things: it raises the alarm about a scheduler that is broken, and never
// about one that is not. Both are tested here.
//
// What somebody knows who has followed a run up to a step is in books.h.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"

namespace forge::labs::witness {

struct Submission {
  SeqId seq;
  Request request;
};

struct Step {
  std::vector<Submission> submitted;  ///< before it was planned
  std::vector<SeqId> cancelled;       ///< before it was planned; the plan retires them
  StepPlan plan;
  StepResult result;
};

/// All requests are of one client and one user. No slice fails, and the target loses no KV. That a
/// session keeps KV, or that the prefix cache is cleared, is seen only in what is planned.
struct Run {
  SchedulerConfig config;
  std::vector<Step> steps;
};

// Each returns the first step whose plan breaks the promise, counted from 0, or nothing.

/// What runs is what has to. A slice begins where the KV of its sequence ends: behind what its
/// admission says is cached, if it enters the batch in this step, else where it stopped. It has
/// more tokens than drafts. It does not go beyond the last known token but with drafts, and it has
/// drafts only if it goes up to that one: at most as many as the answer to its last slice has
/// offered, and none in the step in which its sequence enters the batch. It samples exactly if it
/// goes up to the last known token.
std::optional<std::size_t> slices(const Run& run);

/// Blocks are shared only where KV is equal. Of the sequences that have a slice in a step, two have
/// a block in common only if both use the prefix cache and have the same salt, the block has the
/// same place in both tables, and their tokens are known and equal from the first one to the end of
/// that block. No table has a block twice.
std::optional<std::size_t> tables(const Run& run);

/// Nobody writes what others read. Each token of a slice, drafts too, has a block: that at place
/// position / block_size of the table of its sequence. No other sequence that has a slice in this
/// step has it in its table.
std::optional<std::size_t> writes(const Run& run);

/// What is called cached was computed. A sequence that enters the batch with the KV of its first n
/// tokens, and has none in host memory, uses the prefix cache if n is not 0; and in a step before
/// this one the KV of the same n tokens has been there for a sequence with the same salt, perhaps
/// one that has ended since, perhaps itself, that uses the prefix cache.
std::optional<std::size_t> hits(const Run& run);

/// Work is done. A plan has slices while somebody has work left, which means all that were
/// submitted and that no plan has retired, this one included. And up to each step at most as many
/// plans preempt, this one included, as tokens came out of the steps before it.
std::optional<std::size_t> progress(const Run& run);

/// Nobody pushes in. When a plan is done, nobody waits whose admission_key (policy.h) is smaller
/// than that of a sequence that enters the batch in it, for the first time or again.
std::optional<std::size_t> order(const Run& run);

/// Host memory comes back. KV of n valid tokens takes ceil(n / block_size) blocks of the host from
/// the step in which it is swapped out to the step in which the sequence comes back or is retired;
/// what a plan retires goes before what it preempts, in its order. A victim is swapped only if its
/// KV fits beside the others' and the policy is not PreemptionPolicy::recompute. If it is
/// PreemptionPolicy::swap, a victim is dropped only if it does not fit. And who comes back from the
/// host has the KV of as many tokens as it had.
std::optional<std::size_t> swaps(const Run& run);

}  // namespace forge::labs::witness
