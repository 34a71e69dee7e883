// NullExecutor: a target that costs nothing, for running the policy alone.
//
// It answers at once. The token at position p of a sequence is a pure function of (seq, p), so few
// outputs begin alike, and the prefix cache is hit by prompts alone. With drafts, it asks for
// `drafts` in every step and accepts 0 .. drafts of them, a function of (seq, p) too.
//
// A sequence ends only by its length. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "forge/core/executor.h"

namespace forge::apps {

class NullExecutor : public Executor {
 public:
  struct Tokens {
    std::uint32_t first = 1;
    std::uint32_t count = 256;
  };

  explicit NullExecutor(std::uint32_t drafts) : NullExecutor(drafts, Tokens()) {}
  /// Its tokens are these.
  NullExecutor(std::uint32_t drafts, const Tokens& tokens) : drafts_(drafts), tokens_(tokens) {}

  void begin(SeqId, const Request&) override {}
  tl::expected<void, std::string> resume(SeqId, const Request&, const PastRun&) override {
    return {};
  }

  /// Never fails.
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;
  tl::expected<void, std::string> reopen() override { return {}; }

 private:
  std::uint32_t drafts_;
  Tokens tokens_;
};

}  // namespace forge::apps
