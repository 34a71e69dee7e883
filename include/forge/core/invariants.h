// check_invariants: the promises of the policy core, as one function.
//
// Called after every operation of every random test. Numbers are those of the list below;
// a violation is returned as text that names the invariant and the values.
//
//   1. used + free == total blocks, and each block is in exactly one table or free.
//   2. A sequence of n tokens holds exactly ceil(n / block_size) blocks.
//   3. In flight: every slice has slots for first + count tokens, `first` is the number of
//      tokens with valid KV, and the plan's deltas give the target exactly these tables.
//   4. At most max_batch_size sequences run.
//   5. In flight: each running sequence has exactly one slice, decodes first: nobody that could
//      decode is left out for a prompt.
//   6. A waiting sequence holds no blocks.
//   7. In flight: admission stopped only because the batch was full, the queue empty, or the
//      front of the queue did not fit.
//   8. With no work left, every block is free.
#pragma once

#include <optional>
#include <string>

#include "forge/core/scheduler.h"

namespace forge {

/// The first violated invariant, or nothing. O(blocks + sequences).
std::optional<std::string> check_invariants(const Scheduler& scheduler);

}  // namespace forge
