// What a run had in it, counted from its plans: a test says so of the runs that it relies on.
#pragma once

#include "forge/core/step_plan.h"

namespace forge::testing {

/// How often something happened in plans.
struct Events {
  int chunks = 0;  ///< of prompts, but for the last
  int prefix_hits = 0;
  int copies_within = 0;
  int swaps_out = 0;
  int swaps_in = 0;
  int recomputes = 0;
  int drafts = 0;

  void add(const Events& more) {
    chunks += more.chunks;
    prefix_hits += more.prefix_hits;
    copies_within += more.copies_within;
    swaps_out += more.swaps_out;
    swaps_in += more.swaps_in;
    recomputes += more.recomputes;
    drafts += more.drafts;
  }

  void count(const StepPlan& plan) {
    for (const Slice& slice : plan.slices) {
      chunks += slice.samples ? 0 : 1;
      drafts += static_cast<int>(slice.drafts);
    }
    for (const Admission& admission : plan.admitted) prefix_hits += admission.cached_tokens > 0;
    for (const Preemption& p : plan.preempted) recomputes += p.mode == PreemptionMode::recompute;
    for (const BlockCopy& copy : plan.copies) {
      copies_within += copy.kind == CopyKind::within;
      swaps_out += copy.kind == CopyKind::swap_out;
      swaps_in += copy.kind == CopyKind::swap_in;
    }
  }
};

}  // namespace forge::testing
