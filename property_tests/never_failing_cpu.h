// NeverFailingCpu: what a request alone runs on.
#pragma once

#include "forge/cpu/cpu_executor.h"
#include "schedule_scenario.h"

namespace forge::testing {

class NeverFailingCpu : public FallibleTarget {
 public:
  explicit NeverFailingCpu(const executor::ExecutorOptions& options)
      : cpu_(options, cpu::seeded_cpu_model(kScenarioModel, options)) {}

  void fail_soon() override {}
  void begin(SeqId seq, const Request& request) override { cpu_.begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return cpu_.refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    return cpu_.execute(plan, result);
  }
  tl::expected<void, std::string> reopen() override { return cpu_.reopen(); }
  const SpeculationStatistics& speculation() const override { return cpu_.speculation(); }

 private:
  cpu::CpuExecutor cpu_;
};

}  // namespace forge::testing
