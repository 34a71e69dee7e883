#include "running_batch.h"

#include <algorithm>
#include <chrono>

#include "forge/core/check.h"

namespace forge {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

RunningBatch::RunningBatch(gpu::GpuExecutor& executor, const SchedulerConfig& config)
    : scheduler_(config), executor_(executor) {}

void RunningBatch::submit(const AlikeRequests& requests) {
  for (std::uint32_t i = 0; i < requests.count; ++i) {
    Request request{.max_new_tokens = requests.new_tokens, .ignore_eos = true};
    request.prompt.reserve(requests.prompt);
    for (std::uint32_t t = 0; t < requests.prompt; ++t) {
      request.prompt.emplace_back(1 + (i * 31 + t) % 256);
    }
    executor_.begin(*scheduler_.submit(request), request);
  }
  tokens_left_ += std::uint64_t{requests.count} * requests.new_tokens;
}

StepTimes RunningBatch::step() {
  const Clock::time_point begin = Clock::now();
  const StepPlan& plan = scheduler_.schedule();
  const Clock::time_point planned = Clock::now();
  const auto done = executor_.execute(plan, result_);
  const Clock::time_point executed = Clock::now();
  FORGE_CHECK(done.has_value(), done.error().message);
  scheduler_.commit(plan, result_);
  const Clock::time_point committed = Clock::now();
  for (const SliceResult& slice : result_.slices) {
    FORGE_CHECK(!has_failed(slice.signal), "sequence ", slice.seq.value, " has failed");
  }
  tokens_left_ -= result_.tokens.size();
  return {microseconds(begin, committed), microseconds(planned, executed)};
}

bool RunningBatch::decodes() const {
  return std::ranges::all_of(result_.slices,
                             [](const SliceResult& slice) { return slice.token_count == 1; });
}

}  // namespace forge
