#include "model_count.h"

#include <iomanip>
#include <optional>
#include <sstream>

#include "counting_device.h"
#include "even_routing.h"
#include "forge/sim/kernel_time.h"

namespace forge {
namespace {

using Phase = ModelCase::Phase;

/// What some launches cost together.
struct LaunchSums {
  sim::KernelWork work;
  std::vector<KernelCount> kernels{gpu::kKernelNames.size()};
  bool calibrated = true;

  void add(const gpu::KernelLaunch& launch, const sim::KernelWork& of,
           const sim::KernelTime& time) {
    work.bytes_read += of.bytes_read;
    work.bytes_written += of.bytes_written;
    work.flops += of.flops;
    work.matrix_flops += of.matrix_flops;
    calibrated = calibrated && time.calibrated;
    KernelCount& kernel = kernels[static_cast<std::size_t>(launch.kernel)];
    ++kernel.launches;
    kernel.predicted_us += time.total_us;
    kernel.memory_us += time.memory_us;
    kernel.compute_us += time.compute_us;
    kernel.latency_us += time.latency_us;
  }
};

/// The device, and what has run on it since the last clear().
class Counter {
 public:
  explicit Counter(const sim::DeviceDescription& description)
      : description_(description),
        device_({.description = description,
                 .run = [this](const auto& launch, bool in_graph) { count(launch, in_graph); }}) {}

  CountingDevice& device() { return device_; }
  void clear() {
    sums_ = {};
    copies_us_ = device_.copies_us();
  }
  const LaunchSums& sums() const { return sums_; }
  double copies_us() const { return device_.copies_us() - copies_us_; }

 private:
  void count(const gpu::KernelLaunch& launch, bool in_graph) {
    routing_.run(launch);
    const sim::KernelWork work = sim::work_of(launch);
    const sim::LaunchContext context{.in_graph = in_graph,
                                     .working_set_bytes = device_.bytes_allocated()};
    sums_.add(launch, work, sim::estimate(description_, launch, work, context));
  }

  const sim::DeviceDescription& description_;
  EvenRouting routing_;
  LaunchSums sums_;
  double copies_us_ = 0;  // before the last clear()
  CountingDevice device_;
};

/// Runs the case, and counts the step in the middle, or all steps of a prefill.
void count_case(Counter& counter, ModelRun& run, const BenchModel& model, const ModelSizes& sizes,
                ModelCount& count) {
  const bool is_prefill = count.of.phase == Phase::prefill;
  run.begin(count.of);
  for (std::uint32_t i = 0; !is_prefill && i < sizes.steps / 2; ++i) run.step();
  counter.clear();
  std::uint64_t steps = 0;
  do {
    run.step();
    count.needs += needs_of(model.on_gpu(), kModelKv, run.plan());
    ++steps;
  } while (is_prefill && !run.is_done());
  const LaunchSums& sums = counter.sums();
  count.work = sums.work;
  count.calibrated = sums.calibrated;
  count.kernels = sums.kernels;
  count.predicted_us = counter.copies_us();
  const auto layers = static_cast<std::uint64_t>(model.on_gpu().config().layers);
  for (const KernelCount& kernel : sums.kernels) {
    count.launches += kernel.launches;
    count.layer_launches += kernel.launches / (layers * steps);
    count.predicted_us += kernel.predicted_us;
  }
  while (!run.is_done()) run.step();
}

std::uint64_t bytes_of(const sim::KernelWork& work) { return work.bytes_read + work.bytes_written; }

}  // namespace

std::vector<ModelCount> count_model(const sim::DeviceDescription& description,
                                    const BenchModel& model, const ModelSizes& sizes) {
  const CaseGroup group = model_cases(sizes).front();
  Counter counter(description);
  const FittingCases fitting = fitting_cases(counter.device(), model, group, sizes);
  std::optional<ModelRun> run;
  if (fitting.room.batch > 0) {
    run.emplace(counter.device(), model, fitting.room, group.gpu, sizes);
  }
  std::vector<ModelCount> counts;
  for (std::size_t i = 0; i < group.cases.size(); ++i) {
    counts.push_back({.of = group.cases[i], .not_run = fitting.not_run[i]});
    if (counts.back().not_run.empty()) count_case(counter, *run, model, sizes, counts.back());
  }
  return counts;
}

BestRates rates_of(const sim::DeviceDescription& description) {
  return {.copy_gb_per_s = description.memory_gb_per_s,
          .product_tflops =
              description.multiprocessors * description.matrix_flops * description.clock_ghz / 1e3};
}

nlohmann::ordered_json to_json(const BenchModel& model, const ModelCount& count,
                               const BestRates& rates) {
  nlohmann::ordered_json json = to_json(model, count.of);
  if (!count.not_run.empty()) {
    json["not_run"] = count.not_run;
    return json;
  }
  const double light = light_us(count.needs, rates).value();
  json["launches"] = count.launches;
  json["layer_launches"] = count.layer_launches;
  json["bytes_counted"] = bytes_of(count.work);
  json["bytes"] = count.needs.bytes();
  json["weight_bytes"] = count.needs.weights;
  json["norm_bytes"] = count.needs.norms;
  json["embedding_bytes"] = count.needs.embedding;
  json["kv_bytes_read"] = count.needs.kv_read;
  json["kv_bytes_written"] = count.needs.kv_written;
  json["operations_counted"] = count.work.flops + count.work.matrix_flops;
  json["operations"] = count.needs.operations;
  json["light_us"] = light;
  json["predicted_us"] = count.predicted_us;
  json["predicted_share"] = light / count.predicted_us;
  json["calibrated"] = count.calibrated;
  for (std::size_t i = 0; i < count.kernels.size(); ++i) {
    const KernelCount& kernel = count.kernels[i];
    if (kernel.launches == 0) continue;
    json["kernels"][std::string(gpu::kKernelNames[i])] = {{"launches", kernel.launches},
                                                          {"predicted_us", kernel.predicted_us},
                                                          {"memory_us", kernel.memory_us},
                                                          {"compute_us", kernel.compute_us},
                                                          {"latency_us", kernel.latency_us}};
  }
  return json;
}

std::string to_text(const BenchModel& model, const sim::DeviceDescription& description,
                    const std::vector<ModelCount>& counts) {
  const BestRates rates = rates_of(description);
  std::ostringstream out;
  out << model.name() << " " << name_of(model.weights()) << " on a described "
      << description.full_name << ": counted and predicted, not measured\n"
      << "phase   batch tokens launches layer   GB counted   needed    other  TFLOP counted   "
         "needed"
         "  light ms  predicted  share\n"
      << std::fixed;
  for (const ModelCount& count : counts) {
    out << std::left << std::setw(7) << name_of(count.of.phase) << std::right << std::setw(6)
        << count.of.batch << std::setw(7) << count.of.tokens;
    if (!count.not_run.empty()) {
      out << "  not run: " << count.not_run << "\n";
      continue;
    }
    const auto counted = static_cast<double>(bytes_of(count.work));
    const auto needed = static_cast<double>(count.needs.bytes());
    const double light = light_us(count.needs, rates).value();
    out << std::setw(9) << count.launches << std::setw(6) << count.layer_launches
        << std::setprecision(3) << std::setw(13) << counted / 1e9 << std::setw(9) << needed / 1e9
        << std::setw(9) << (counted - needed) / 1e9 << std::setw(15)
        << static_cast<double>(count.work.flops + count.work.matrix_flops) / 1e12 << std::setw(9)
        << static_cast<double>(count.needs.operations) / 1e12 << std::setw(10) << light / 1e3
        << std::setw(11) << count.predicted_us / 1e3 << std::setprecision(1) << std::setw(6)
        << 100 * light / count.predicted_us << "%" << (count.calibrated ? "" : " uncalibrated")
        << "\n";
  }
  return out.str();
}

}  // namespace forge
