#include "forge/core/invariants.h"

#include <algorithm>
#include <string>

#include "forge/core/check.h"
#include "forge/core/must.h"

namespace forge {
namespace {

using Violation = std::optional<std::string>;

template <class... Parts>
Violation violated(int number, const Parts&... parts) {
  return "invariant " + std::to_string(number) + ": " + detail::concat(parts...);
}

// 1, 2: every block has one owner, every table its length.
Violation check_blocks(const Scheduler& scheduler) {
  const PagedKVCache& cache = scheduler.cache();
  const BlockPool& pool = cache.pool();
  std::vector<std::uint32_t> owners(pool.size(), 0);
  for (const BlockId block : pool.free_list()) ++owners[block.value];
  for (const SequenceView& view : scheduler.running()) {
    if (!cache.contains(view.seq)) continue;  // ended before it was ever admitted
    const auto table = must(cache.block_table(view.seq));
    const std::uint32_t tokens = must(cache.tokens(view.seq));
    for (const BlockId block : table) ++owners[block.value];
    if (table.size() != cache.blocks_for(tokens)) {
      return violated(2, "sequence ", view.seq.value, " holds ", table.size(), " blocks for ",
                      tokens, " tokens");
    }
  }
  for (std::size_t block = 0; block < owners.size(); ++block) {
    if (owners[block] != 1) return violated(1, "block ", block, " has ", owners[block], " owners");
  }
  if (pool.free_count() + pool.used_count() != pool.size()) {
    return violated(1, pool.free_count(), " free + ", pool.used_count(), " used");
  }
  return std::nullopt;
}

// 3: the slots of a slice are there, and the deltas describe them.
Violation check_slice(const Scheduler& scheduler, const Slice& slice) {
  const PagedKVCache& cache = scheduler.cache();
  const auto tokens = cache.tokens(slice.seq);
  if (!tokens || *tokens != slice.first + slice.count) {
    return violated(3, "sequence ", slice.seq.value, " runs [", slice.first, ", +", slice.count,
                    ") with ", tokens.value_or(0), " slots");
  }
  const SequenceView view = scheduler.view(slice.seq).value();
  const std::uint32_t length = view.prompt_tokens + view.output_tokens;
  const bool valid_first = slice.first == 0 || slice.first == length - 1;
  if (!valid_first || slice.first + slice.count != length + slice.drafts) {
    return violated(3, "sequence ", slice.seq.value, " of length ", length, " runs [", slice.first,
                    ", +", slice.count, ") with ", slice.drafts, " drafts");
  }
  const StepPlan& plan = scheduler.plan();
  const auto table = must(cache.block_table(slice.seq));
  for (const TableDelta& delta : plan.tables) {
    if (delta.seq != slice.seq) continue;
    const auto appended = plan.appended(delta);
    if (delta.truncated_to + appended.size() != table.size() ||
        !std::equal(appended.begin(), appended.end(), table.begin() + delta.truncated_to)) {
      return violated(3, "table delta of sequence ", slice.seq.value, " misses its table");
    }
  }
  return std::nullopt;
}

// 5: everyone that runs has one slice, decodes first.
Violation check_batch(const Scheduler& scheduler) {
  const StepPlan& plan = scheduler.plan();
  const auto running = scheduler.running();
  if (plan.slices.size() != running.size()) {
    return violated(5, running.size(), " running, ", plan.slices.size(), " slices");
  }
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (plan.slices[i].seq != running[i].seq) return violated(5, "slice ", i, " is out of order");
    const bool admitted = std::ranges::count(plan.admitted, running[i].seq) > 0 ||
                          std::ranges::count(plan.resumed, running[i].seq) > 0;
    if (admitted != (i >= plan.decodes)) return violated(5, "slice ", i, " is on the wrong side");
    if (auto violation = check_slice(scheduler, plan.slices[i])) return violation;
  }
  return std::nullopt;
}

// 7: the queue moved as far as it could.
Violation check_admission(const Scheduler& scheduler) {
  const auto waiting = scheduler.waiting();
  if (waiting.empty() || scheduler.running_count() >= scheduler.config().max_batch_size) {
    return std::nullopt;
  }
  const PagedKVCache& cache = scheduler.cache();
  const std::uint32_t needed =
      cache.blocks_for(waiting.front().prompt_tokens + waiting.front().output_tokens);
  if (needed <= cache.pool().free_count()) {
    return violated(7, "sequence ", waiting.front().seq.value, " waits for ", needed,
                    " blocks with ", cache.pool().free_count(), " free");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_invariants(const Scheduler& scheduler) {
  if (auto violation = check_blocks(scheduler)) return violation;
  if (scheduler.running_count() > scheduler.config().max_batch_size) {
    return violated(4, scheduler.running_count(), " sequences run");
  }
  for (const SequenceView& view : scheduler.waiting()) {
    if (scheduler.cache().contains(view.seq)) {
      return violated(6, "waiting sequence ", view.seq.value, " holds blocks");
    }
  }
  if (!scheduler.has_work() && scheduler.cache().pool().used_count() != 0) {
    return violated(8, scheduler.cache().pool().used_count(), " blocks in use with no work");
  }
  if (!scheduler.in_flight()) return std::nullopt;
  if (auto violation = check_batch(scheduler)) return violation;
  return check_admission(scheduler);
}

}  // namespace forge
