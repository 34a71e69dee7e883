#include "forge/engine/metrics.h"

#include <algorithm>

namespace forge::engine {
namespace {

double seconds(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void EngineMetrics::add_step(const StepPlan& plan, const StepResult& result,
                             const StepTimes& times) {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const Slice& slice = plan.slices[i];
    tokens += slice.count;
    if (slice.drafts == 0 || result.kv_lost) continue;
    const std::size_t kept = std::max(result.slices[i].token_count, 1U) - 1;
    ++drafts.rounds;
    drafts.proposed += slice.drafts;
    drafts.accepted += kept;
    drafts.places = std::clamp<std::size_t>(slice.drafts, drafts.places, DraftMetrics::kPlaces);
    for (std::size_t place = 0; place < std::min(kept, drafts.places); ++place) {
      ++drafts.accepted_at[place];
    }
  }
  tokens_of_step.add(static_cast<double>(tokens));
  step_time.add(seconds(times.begun, times.ended));
  schedule_time.add(seconds(times.begun, times.planned));
  execute_time.add(seconds(times.planned, times.executed));
  last_step = times.ended;
}

void EngineMetrics::add_slice(RequestProgress& request, const Slice& slice,
                              const SliceResult& result, TimePoint now) {
  const std::uint32_t end = slice.first + slice.count;
  const std::uint32_t repeated_end = std::min({end, request.run_tokens, request.prompt_tokens});
  if (repeated_end > slice.first) repeated_prompt_tokens += repeated_end - slice.first;
  request.run_tokens = std::max(request.run_tokens, end);
  if (result.token_count == 0) return;
  if (request.first_token) {
    time_between_tokens.add(seconds(request.last_token, now));
  } else {
    request.first_token = now;
    time_to_first_token.add(seconds(request.arrival, now));
    prompt_tokens += request.prompt_tokens;
    cached_prompt_tokens += request.cached_tokens;
  }
  request.last_token = now;
}

void EngineMetrics::add_end(const RequestProgress& request, FinishReason reason, TimePoint now) {
  ++ended[static_cast<std::size_t>(reason)];
  end_to_end.add(seconds(request.arrival, now));
  prompt_length.add(request.prompt_tokens);
  completion_length.add(request.completion_tokens);
  max_new_tokens.add(request.max_new_tokens);
  if (!request.scheduled) return;
  queue.add(seconds(request.submitted, *request.scheduled));
  if (!request.first_token) return;
  prompt_tokens_run.add(request.prompt_tokens - request.cached_tokens);
  prefill.add(seconds(*request.scheduled, *request.first_token));
  decode.add(seconds(*request.first_token, request.last_token));
  inference.add(seconds(*request.scheduled, request.last_token));
  if (request.completion_tokens < 2) return;
  time_per_token.add(seconds(*request.first_token, request.last_token) /
                     (request.completion_tokens - 1));
}

}  // namespace forge::engine
