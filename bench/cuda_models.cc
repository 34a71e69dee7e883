#include "cuda_models.h"

#include <optional>

#include "cuda_clock.h"

namespace forge {
namespace {

using Phase = ModelCase::Phase;

constexpr int kPrefills = 5;

/// All steps that are left; launch by launch, where they are not captured.
void finish(ModelRun& run, ModelTime& time) {
  const bool are_captured = time.of.phase == Phase::decode && time.gpu.graphs;
  if (!are_captured) run.time_launches();
  while (!run.is_done()) run.step();
  time.launches = run.take_times();
}

/// A time of the host's, by what the executor has waited since.
class HostShare {
 public:
  explicit HostShare(const gpu::GpuStatistics& statistics)
      : statistics_(statistics), waited_us_(statistics.wait_us) {}
  double of(double whole_us) const { return whole_us - (statistics_.wait_us - waited_us_); }

 private:
  const gpu::GpuStatistics& statistics_;
  double waited_us_;
};

void measure_decodes(ModelRun& run, const BenchModel& model, std::uint32_t steps, ModelTime& time) {
  run.begin(time.of);
  const HostShare host(run.statistics());
  std::vector<double> times;
  double sum_us = 0;
  for (std::uint32_t i = 0; i < steps; ++i) {
    times.push_back(run.step().step_us);
    sum_us += times.back();
    if (i == steps / 2) time.needs = needs_of(model.on_gpu(), kModelKv, run.plan());
  }
  time.step_us = median(times);
  time.host_us = host.of(sum_us) / steps;
  finish(run, time);
}

void measure_prefills(ModelRun& run, const BenchModel& model, ModelTime& time) {
  std::vector<double> times;
  std::optional<HostShare> host;
  double sum_us = 0;
  for (int i = -1; i < kPrefills; ++i) {  // the first warms up
    if (i == 0) host.emplace(run.statistics());
    run.begin(time.of);
    double whole_us = 0;
    StepNeeds needs;
    while (!run.is_done()) {
      whole_us += run.step().step_us;
      needs += needs_of(model.on_gpu(), kModelKv, run.plan());
    }
    time.needs = needs;
    if (i < 0) continue;
    times.push_back(whole_us);
    sum_us += whole_us;
  }
  time.step_us = median(times);
  time.host_us = host->of(sum_us) / kPrefills;
  run.begin(time.of);
  finish(run, time);
}

nlohmann::ordered_json to_json(const gpu::LibraryReport& report) {
  nlohmann::ordered_json json{{"name", report.library}, {"missing", report.missing}};
  json["admitted"] = nlohmann::ordered_json::array();
  json["refused"] = nlohmann::ordered_json::array();
  for (const auto& each : report.admitted) json["admitted"].push_back(to_string(each));
  for (const auto& each : report.refused) json["refused"].push_back(to_string(each));
  return json;
}

void measure(ModelRun& run, const BenchModel& model, std::uint32_t steps, ModelTime& time) {
  if (time.of.phase == Phase::prefill) {
    measure_prefills(run, model, time);
  } else {
    measure_decodes(run, model, steps, time);
  }
}

}  // namespace

void measure_model(gpu::Device& device, const BenchModel& model, const ModelSizes& sizes,
                   const std::function<void(const ModelTime&)>& tell) {
  for (const CaseGroup& group : model_cases(sizes)) {
    const FittingCases fitting = fitting_cases(device, model, group, sizes);
    std::optional<ModelRun> run;
    if (fitting.room.batch > 0) run.emplace(device, model, fitting.room, group.gpu, sizes);
    for (std::size_t i = 0; i < group.cases.size(); ++i) {
      ModelTime time{
          .of = group.cases[i], .gpu = group.gpu, .library = {}, .not_run = fitting.not_run[i]};
      if (time.not_run.empty()) {
        time.library = run->library();
        measure(*run, model, sizes.steps, time);
      }
      tell(time);
    }
  }
}

nlohmann::ordered_json to_json(const BenchModel& model, const ModelTime& time,
                               const BestRates& rates) {
  nlohmann::ordered_json json = to_json(model, time.of);
  json["graphs"] = time.gpu.graphs;
  json["overlap"] = time.gpu.overlap;
  json["matrix_library"] = time.gpu.matrix_library;
  if (!time.not_run.empty()) {
    json["not_run"] = time.not_run;
    return json;
  }
  const std::optional<double> light = light_us(time.needs, rates);
  json["step_us"] = time.step_us;
  json["host_us"] = time.host_us;
  json["bytes"] = time.needs.bytes();
  json["operations"] = time.needs.operations;
  json["light_us"] = light ? nlohmann::ordered_json(*light) : nullptr;
  for (const auto& [kernel, times] : time.launches) {
    json["kernels"][kernel] = {{"launches", times.launches}, {"us", times.us}};
  }
  json["share"] = light ? nlohmann::ordered_json(*light / time.step_us) : nullptr;
  // All cases of an executor have the same.
  if (time.gpu.matrix_library && time.of.phase == ModelCase::Phase::prefill) {
    json["library"] = to_json(time.library);
  }
  return json;
}

}  // namespace forge
