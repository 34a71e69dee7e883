#include "executor/targets.h"

#include <utility>

#include "executor/seeded_gpu_model.h"
#include "forge/core/check.h"
#include "forge/cpu/cpu_executor.h"
#include "forge/cuda/cuda_device.h"

namespace forge::testing {
namespace {

std::unique_ptr<executor::Drafter> drafter_of(const Drafting& drafting) {
  return drafting.drafter ? drafting.drafter() : nullptr;
}

gpu::GpuModels gpu_models(const Drafting& drafting) {
  if (!drafting.model) return seeded_gpu_model();
  return {seeded_gpu_model(), seeded_gpu_model(*drafting.model)};
}

/// The executor with the device that it runs on.
class OnDevice : public executor::ModelExecutor {
 public:
  OnDevice(std::unique_ptr<gpu::Device> device, const executor::ExecutorOptions& options,
           const gpu::GpuOptions& gpu, const Drafting& drafting)
      : device_(std::move(device)) {
    auto created = gpu::GpuExecutor::create(*device_, gpu_models(drafting), options, gpu,
                                            drafter_of(drafting));
    FORGE_CHECK(created.has_value(), to_string(created.error()));
    executor_ = std::move(*created);
  }

  void begin(SeqId seq, const Request& request) override { executor_->begin(seq, request); }
  tl::expected<void, std::string> resume(SeqId seq, const Request& request,
                                         const PastRun& past) override {
    return executor_->resume(seq, request, past);
  }
  std::optional<std::string> refuses(const Request& request) const override {
    return executor_->refuses(request);
  }
  void start(const StepPlan& plan) override { executor_->start(plan); }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    return executor_->execute(plan, result);
  }
  const SpeculationStatistics& speculation() const override { return executor_->speculation(); }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
};

MakeTarget cuda_target(const Drafting& drafting) {
  return [drafting](const executor::ExecutorOptions& options) {
    auto device = cuda::open_device();
    FORGE_CHECK(device.has_value(), to_string(device.error()));
    return std::make_unique<OnDevice>(std::move(*device), options, gpu::GpuOptions{}, drafting);
  };
}

}  // namespace

MakeTarget cpu_target(const Drafting& drafting) {
  return [drafting](const executor::ExecutorOptions& options) {
    return std::make_unique<cpu::CpuExecutor>(
        options, cpu::seeded_cpu_model({}, options),
        drafting.model ? cpu::seeded_cpu_model(*drafting.model, options) : nullptr,
        drafter_of(drafting));
  };
}

MakeTarget sim_target(const sim::SimOptions& device, const gpu::GpuOptions& gpu,
                      const Drafting& drafting) {
  return [device, gpu, drafting](const executor::ExecutorOptions& options) {
    return std::make_unique<OnDevice>(std::make_unique<sim::SimDevice>(device), options, gpu,
                                      drafting);
  };
}

sim::SimOptions plain_sim() { return {.device = sim::find_device("h200").value()}; }

sim::SimOptions shuffled_sim(std::uint64_t seed) {
  sim::SimOptions options = plain_sim();
  options.schedule_seed = seed;
  options.host_threads = 2;
  return options;
}

MakeTarget target_of(TargetKind kind, const Drafting& drafting) {
  switch (kind) {
    case TargetKind::cpu:
      return cpu_target(drafting);
    case TargetKind::sim:
      return sim_target(plain_sim(), {}, drafting);
    case TargetKind::sim_shuffled:
      return sim_target(shuffled_sim(20'26), {.graphs = false}, drafting);
    case TargetKind::cuda:
      break;
  }
  return cuda_target(drafting);
}

std::string missing(TargetKind kind) {
  if (kind != TargetKind::cuda) return "";
  if (!cuda::built_with_cuda()) return "this build has no CUDA";
  return cuda::device_count() == 0 ? "there is no GPU here" : "";
}

std::string target_name(const ::testing::TestParamInfo<TargetKind>& info) {
  switch (info.param) {
    case TargetKind::cpu:
      return "cpu";
    case TargetKind::sim:
      return "sim";
    case TargetKind::sim_shuffled:
      return "sim_shuffled";
    case TargetKind::cuda:
      break;
  }
  return "cuda";
}

}  // namespace forge::testing
