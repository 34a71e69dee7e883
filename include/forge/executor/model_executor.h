// ModelExecutor: an Executor that runs a model, wherever it does. Equal options give
// equal tokens and logits on all of them, bit for bit.
#pragma once

#include "forge/core/acceptance.h"
#include "forge/core/executor.h"

namespace forge::executor {

class ModelExecutor : public Executor {
 public:
  /// Drafts proposed and accepted so far, in steps that succeeded, rounds with drafts alone.
  virtual const SpeculationStatistics& speculation() const = 0;
};

}  // namespace forge::executor
