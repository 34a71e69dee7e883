// ModelExecutor: an Executor that runs a model, on any target. Equal options give equal tokens and
// logits on all targets, bit for bit.
#pragma once

#include "forge/core/acceptance.h"
#include "forge/core/executor.h"

namespace forge::executor {

class ModelExecutor : public Executor {
 public:
  /// Drafts proposed and accepted so far, in steps that succeeded. Only rounds with drafts count.
  virtual const SpeculationStatistics& speculation() const = 0;
};

}  // namespace forge::executor
