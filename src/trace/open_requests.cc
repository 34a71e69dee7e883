#include "forge/trace/open_requests.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::trace {

void OpenRequests::submit(const SubmitEvent& event, StepId before) {
  requests_[event.seq] = {.submit = event, .before = before};
}

void OpenRequests::step(const StepPlan& plan, const StepResult& result) {
  for (const Finish& finish : plan.finished) requests_.erase(finish.seq);
  for (const SliceResult& slice : result.slices) {
    if (slice.token_count == 0) continue;
    const auto found = requests_.find(slice.seq);
    FORGE_CHECK(found != requests_.end(), "sequence ", slice.seq.value, " is not known");
    std::vector<TokenId>& output = found->second.output;
    const auto tokens = result.tokens_of(slice);
    output.insert(output.end(), tokens.begin(), tokens.end());
  }
  for (const TokenReport& report : result.reports) {
    OpenRequest& request = requests_.at(report.seq);
    const bool is_of_prompt = report.position < request.submit.request.prompt.size();
    if (is_of_prompt) request.told = std::max(request.told, report.position + 1);
  }
}

std::vector<OpenRequest> OpenRequests::all() const {
  std::vector<OpenRequest> all;
  all.reserve(requests_.size());
  for (const auto& [seq, request] : requests_) all.push_back(request);
  return all;
}

}  // namespace forge::trace
