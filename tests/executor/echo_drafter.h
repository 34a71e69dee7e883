// EchoDrafter: a drafter of the host, which proposes what followed the last token when it was said
// before.
#pragma once

#include <algorithm>
#include <vector>

#include "forge/executor/drafter.h"

namespace forge::testing {

class EchoDrafter : public executor::Drafter {
 public:
  void propose(const StepPlan& /*plan*/, executor::StepSlices& step) override {
    for (const executor::StepSlice& slice : step.all()) {
      const std::vector<TokenId>& said = slice.sequence->tokens;
      auto echo = std::find(said.begin(), said.end() - 1, said.back());
      for (std::uint32_t i = 0; i < slice.slice.drafts; ++i) {
        if (echo != said.end()) ++echo;
        step.drafts()[slice.first_draft + i] = echo < said.end() ? *echo : said.back();
      }
    }
  }
  bool knows_drafts() const override { return true; }
};

}  // namespace forge::testing
