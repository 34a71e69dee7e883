#include "forge/executor/faulty_executor.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "forge/core/quoted.h"

namespace forge::executor {
namespace {

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t highest) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool fits = error == std::errc() && stopped == end && value <= highest;
  return fits ? std::optional(value) : std::nullopt;
}

}  // namespace

tl::expected<StepFault, std::string> parse_fault(std::string_view text) {
  constexpr std::uint64_t kStepsMax = std::uint64_t{1} << 62;
  constexpr std::uint64_t kDelayMax = 86'400'000;
  const std::size_t at = text.find('@');
  const auto kind = from_name<FaultKind>(text.substr(0, at));
  std::string_view place = at == text.npos ? std::string_view() : text.substr(at + 1);
  StepFault fault;
  bool is_right = kind.has_value();
  if (kind == FaultKind::late) {
    const std::size_t colon = place.find(':');
    const auto delay =
        number(colon == place.npos ? std::string_view() : place.substr(colon + 1), kDelayMax);
    fault.delay = std::chrono::milliseconds(delay.value_or(0));
    is_right = is_right && delay.has_value();
    place = place.substr(0, colon);
  }
  const auto step = number(place, kStepsMax);
  if (!is_right || !step) {
    return tl::unexpected(in_quotes(text) +
                          " is no fault: accepted are fails@STEP, hangs@STEP, lost@STEP and "
                          "late@STEP:MILLISECONDS, where the first step is 0");
  }
  fault.kind = *kind;
  fault.step = *step;
  return fault;
}

bool FaultyExecutor::is_lost(StepId step) const {
  const StepFault lost{.kind = FaultKind::lost, .step = step.value};
  return lost_ || std::ranges::find(faults_, lost) != faults_.end();
}

/// The target must not begin a step that is lost: its answer would go into its books.
void FaultyExecutor::start(const StepPlan& plan) {
  if (!is_lost(plan.step)) target_.start(plan);
}

tl::expected<void, std::string> FaultyExecutor::reopen() {
  lost_.reset();
  return target_.reopen();
}

tl::expected<void, ExecutionError> FaultyExecutor::execute(const StepPlan& plan,
                                                           StepResult& result) {
  const std::string what = "step " + std::to_string(plan.step.value) + " fails, as it was told";
  bool fails = false;
  for (const StepFault& fault : faults_) {
    if (fault.step != plan.step.value) continue;
    if (fault.kind == FaultKind::late) std::this_thread::sleep_for(fault.delay);
    if (fault.kind == FaultKind::hangs) {
      std::unique_lock lock(mutex_);
      released_changed_.wait(lock, [this] { return released_; });
    }
    fails = fails || fault.kind == FaultKind::fails;
  }
  if (is_lost(plan.step)) {
    if (!lost_) lost_ = what;
    auto done = target_.execute(bookkeeping_of(plan), result);
    return done ? tl::unexpected(ExecutionError{*lost_, true}) : done;
  }
  auto done = target_.execute(plan, result);
  if (done && fails) return tl::unexpected(ExecutionError{what});
  return done;
}

void FaultyExecutor::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  released_changed_.notify_all();
}

}  // namespace forge::executor
