// A GpuExecutor on a simulated device of its own, whose calls fail when they are told to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "forge/core/check.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"
#include "schedule_scenario.h"

namespace forge::testing {

/// GpuExecutor on a simulated device of its own.
class FailingSim : public FallibleTarget {
 public:
  FailingSim(const executor::ExecutorOptions& options, sim::SimOptions device,
             const gpu::GpuOptions& gpu, const gpu::GpuModels& models)
      : device_(with_faults(std::move(device))) {
    auto created = gpu::GpuExecutor::create(device_, models, with_kv_checked(options), gpu);
    FORGE_CHECK(created.has_value(), to_string(created.error()));
    executor_ = std::move(*created);
  }

  /// One of the next calls to the device fails, or its result arrives late.
  void fail_soon() override {
    calls_to_fault_ = draw(1, 60);
    fault_ = one_in(3) ? sim::Fault::late : sim::Fault::fails;
  }

  void begin(SeqId seq, const Request& request) override { executor_->begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return executor_->refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    return executor_->execute(plan, result);
  }
  tl::expected<void, std::string> reopen() override { return executor_->reopen(); }
  const SpeculationStatistics& speculation() const override { return executor_->speculation(); }

 private:
  static executor::ExecutorOptions with_kv_checked(executor::ExecutorOptions options) {
    options.check_kv = true;
    return options;
  }

  sim::SimOptions with_faults(sim::SimOptions options) {
    options.faults = [this](const sim::DeviceCall&) {
      if (calls_to_fault_ == 0 || --calls_to_fault_ > 0) return sim::Fault::none;
      return fault_;
    };
    return options;
  }

  std::uint32_t calls_to_fault_ = 0;  // 0: no call is to fail
  sim::Fault fault_ = sim::Fault::none;
  sim::SimDevice device_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
};

}  // namespace forge::testing
