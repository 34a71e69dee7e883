// check_invariants: the promises of the policy core, as one function.
//
// Called after every operation of every random test. Numbers are those of the list below;
// a violation is returned as text that names the invariant and the values.
//
//   1. used + free == total blocks, on the device and on the host; a block has as many holders
//      as there are tables, sessions and index entries that name it.
//   2. A table of n slots has exactly ceil(n / block_size) blocks. A waiting sequence has none on
//      the device; on the host it has those of its valid tokens, and no other has any.
//   3. A block that is in two tables is at the same place in both, full of valid KV; a step writes
//      only to blocks that are in one table and not cached.
//   4. The published blocks of a table are a path of the index from its root, full of valid KV and
//      with the sequence's salt. An index entry is used exactly if a table or a session holds its
//      block, and the block that evict() would give up next is a leaf.
//   5. In flight: every slice starts at the end of valid KV, has slots for all its tokens, samples
//      exactly if it reaches the end of the known tokens, and the deltas give the target its table.
//   6. In flight: at most max_batch_size sequences run, at most max_batch_tokens tokens, and of
//      prompts as many as prompt_budget says, in chunks of at most prefill_chunk_size.
//   7. In flight: decodes come first, each decoding sequence has one slice, and a prompt was left
//      out only when no token was left for it.
//   8. In flight: admission stopped only because a sequence was preempted, the batch was full,
//      no token was left, the queue was empty, or the front of the queue did not fit.
//   9. A decoding sequence has valid KV for all tokens but the last, a prefilling one for fewer.
//  10. No request was overtaken by others of its user more often than overtakers_max says
//      (policy.h).
//  11. With no work left only the index and idle sessions hold blocks; without sessions all are
//      available.
#pragma once

#include <optional>
#include <string>

#include "forge/core/scheduler.h"

namespace forge {

/// The first violated invariant, or nothing. O(blocks + sequences * table length).
std::optional<std::string> check_invariants(const Scheduler& scheduler);

}  // namespace forge
