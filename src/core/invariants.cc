#include "forge/core/invariants.h"

#include "forge/core/policy.h"
#include "invariant_checks.h"

namespace forge {
namespace {

using detail::violated;
using detail::Violation;

// 9, 10: one sequence by itself.
Violation check_sequence(const Scheduler& scheduler, const SequenceView& view) {
  const std::uint32_t length = view.length();
  const bool is_right =
      view.state == SequenceState::decoding
          ? view.computed_tokens + 1 == length
          : view.state == SequenceState::finishing || view.computed_tokens < length;
  if (!is_right) {
    return violated(9, "sequence ", view.seq.value, " in state ", static_cast<int>(view.state),
                    " has valid KV of ", view.computed_tokens, " tokens of ", length);
  }
  const std::uint64_t most = overtakers_max(view.priority, scheduler.config());
  if (view.overtaken > most) {
    return violated(10, "sequence ", view.seq.value, " was overtaken ", view.overtaken,
                    " times, at most ", most, " allowed");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_invariants(const Scheduler& scheduler) {
  if (auto violation = detail::check_memory(scheduler)) return violation;
  for (const SequenceView& view : scheduler.running()) {
    if (auto violation = check_sequence(scheduler, view)) return violation;
  }
  for (const SequenceView& view : scheduler.waiting()) {
    if (auto violation = check_sequence(scheduler, view)) return violation;
  }
  return scheduler.in_flight() ? detail::check_plan(scheduler) : std::nullopt;
}

}  // namespace forge
