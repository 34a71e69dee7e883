// FaultyExecutor: any target, going wrong at steps that are known beforehand.
//
// What becomes of the requests, the probes and the trace when a GPU hangs or falls off the bus? No
// test can wait for that to happen, so this wrapper makes it happen:
//
//   fails@7      step 7 returns an error
//   late@7:250   step 7 takes 250 ms longer
//   hangs@7      step 7 does not return, until release()
//   lost@7       step 7 returns an error that says that the target is lost, and so do all after
//                it, until it is opened again
//
// Steps have the numbers of their plans, as traces have them: the first is 0. The target underneath
// runs every step all the same, since its books must be kept (core/executor.h); a step that fails
// drops its answer. Of a step that is lost it runs nothing.
//
// Borrows the target. Thread contract: that of an Executor; release() from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/executor.h"
#include "forge/core/names.h"

namespace forge::executor {

enum class FaultKind : std::uint8_t { fails, late, hangs, lost };
constexpr Names<FaultKind> names_of(FaultKind) { return {"fails", "late", "hangs", "lost"}; }

struct StepFault {
  FaultKind kind = FaultKind::fails;
  std::uint64_t step = 0;
  std::chrono::milliseconds delay{0};  ///< of `late`

  friend bool operator==(const StepFault&, const StepFault&) = default;
};

/// As above. Errors: a sentence that names the text, its fault and what is accepted.
tl::expected<StepFault, std::string> parse_fault(std::string_view text);

class FaultyExecutor : public Executor {
 public:
  FaultyExecutor(Executor& target, std::vector<StepFault> faults)
      : target_(target), faults_(std::move(faults)) {}

  std::optional<std::string> refuses(const Request& request) const override {
    return target_.refuses(request);
  }
  void begin(SeqId seq, const Request& request) override { target_.begin(seq, request); }
  tl::expected<void, std::string> resume(SeqId seq, const Request& request,
                                         const PastRun& past) override {
    return target_.resume(seq, request, past);
  }
  void start(const StepPlan& plan) override;
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;
  tl::expected<void, std::string> reopen() override;

  /// No step hangs any more.
  void release();

 private:
  bool is_lost(StepId step) const;

  Executor& target_;
  const std::vector<StepFault> faults_;
  std::optional<std::string> lost_;  // what it said then

  std::mutex mutex_;
  std::condition_variable released_changed_;
  bool released_ = false;
};

}  // namespace forge::executor
