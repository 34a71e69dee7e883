#include "step_recorder.h"

#include <fstream>
#include <utility>

#include "forge/numerics/kv_type.h"

namespace forge::apps {
namespace {

/// As Linux tells it.
std::string processor_name() {
  constexpr std::string_view kKey = "model name";
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t name = line.find(": ");
    if (line.starts_with(kKey) && name != line.npos) return line.substr(name + 2);
  }
  return "unknown";
}

}  // namespace

RecordedTarget recorded_target(const runtime::TargetOptions& options,
                               const runtime::LoadedModel& model, const runtime::Target& target) {
  const runtime::RunRecord& record = target.record();
  return {.kind = std::string(name_of(options.kind)),
          .device = is_gpu(options.kind) ? target.device_name() : processor_name(),
          .instructions = record.instructions,
          .numerics = std::string(name_of(record.numerics)),
          .model = model.name(),
          .config = record.model ? record.model->config : "unknown",
          .kv = std::string(name_of(options.executor.kv_type)),
          .threads = model.threads().threads()};
}

RecordedWorkload recorded_workload(std::string_view mode, const runtime::TargetOptions& options,
                                   std::size_t requests) {
  return {.mode = std::string(mode),
          .name = "synthetic",
          .requests = requests,
          .max_batch_size = options.scheduler.batch.max_batch_size,
          .max_batch_tokens = options.scheduler.batch.max_batch_tokens,
          .drafts = options.executor.drafts};
}

void StepRecorder::arrive(std::size_t request) {
  arrived_.push_back(static_cast<std::uint32_t>(request));
}

void StepRecorder::step(const StepPlan& plan, double execute_us, double policy_us) {
  const auto work = work_of(plan);
  if (!work) return;
  recording_.steps.push_back({.step = plan.step.value,
                              .execute_us = execute_us,
                              .policy_us = policy_us,
                              .work = *work,
                              .arrived = std::exchange(arrived_, {})});
}

void StepRecorder::take(std::size_t request, std::size_t count) {
  std::vector<std::uint32_t>& tokens = recording_.steps.back().tokens;
  tokens.insert(tokens.end(), count, static_cast<std::uint32_t>(request));
}

}  // namespace forge::apps
