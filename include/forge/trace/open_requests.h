// OpenRequests: the unfinished requests of a run and their tokens so far, as a trace tells them.
//
// The policy does not know them: it sees numbers of tokens. A file with which a recording goes on
// tells them once more, so that it can be read without the files before it.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "forge/trace/trace_event.h"

namespace forge::trace {

class OpenRequests {
 public:
  /// `before`: the step that follows.
  void submit(const SubmitEvent& event, StepId before);

  /// Takes in the tokens of a step, and forgets who is retired by its plan. Requires: `result`
  /// answers `plan`, whose sequences were submitted.
  void step(const StepPlan& plan, const StepResult& result);

  /// By id. O(all their tokens)
  std::vector<OpenRequest> all() const;

 private:
  std::map<SeqId, OpenRequest> requests_;
};

}  // namespace forge::trace
