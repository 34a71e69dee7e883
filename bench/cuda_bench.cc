// forge-cuda-bench: measures the GPU target on a real GPU.
//
//   limits    bandwidth of copies, cost of a launch, cuBLAS's matrix product
//   steps     decode steps at batches of 1, 8 and 64, with graphs and without; what the host does
//   models    decode steps and prefills of published models, beside what the device could do at
//             best by its copies and its products
//   kernels   each kernel beside the estimate from a device description, and the factors between
//             them, which calibrate the description
//   peers     attention and products beside FlashInfer's and cuBLASLt's (peers.h)
//
// --sections and --models name those to measure; limits are measured in any case, since the others
// refer to them. scripts/gpu-check runs it whole. With --count there is no GPU: the same steps of
// the same models are counted launch by launch, and their times predicted from a description.
//
// Exit status: 0; 2 for bad input, no GPU, or a file that cannot be written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "cuda_blas.h"
#include "cuda_kernels.h"
#include "cuda_limits.h"
#include "cuda_models.h"
#include "cuda_steps.h"
#include "forge/cuda/cuda_device.h"
#include "model_count.h"
#include "peers.h"

namespace forge {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMatrixSize = 8192;
constexpr int kSteps = 64;

const std::vector<std::string> kSections{"limits", "steps", "models", "kernels", "peers"};

/// "llama-3-8b Q4_K".
std::string title(const BenchmarkedModel& model) {
  return model.name + " " + std::string(name_of(model.weights));
}

std::vector<std::string> model_titles() {
  std::vector<std::string> titles;
  for (const BenchmarkedModel& model : benchmarked_models()) titles.push_back(title(model));
  return titles;
}

struct Options {
  bool count = false;
  std::vector<std::string> sections = kSections;
  std::vector<std::string> models = model_titles();
  std::string description_file;
  std::string calibrated_file;
  std::string json_file;
  sim::Calibration calibration;  ///< driver, date and commit
};

void add_options(CLI::App& app, Options& options) {
  auto* const device = app.add_option("--device", options.description_file,
                                      "Description of this GPU (sim/devices/*.json), to compare "
                                      "kernels with; without it they are not measured");
  auto* const calibrated = app.add_option("--calibrated", options.calibrated_file,
                                          "Write the description with what was measured");
  calibrated->needs(device);
  app.add_flag(
         "--count", options.count,
         "Use no GPU: count what steps of models cost, and predict their times on --device, a "
         "description or its name [h200]")
      ->excludes(calibrated);
  app.add_option("--sections", options.sections, "Measure these, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(kSections))
      ->capture_default_str()
      ->excludes("--count");
  app.add_option("--models", options.models, "Measure or count these, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(model_titles()))
      ->capture_default_str();
  app.add_option("--json", options.json_file, "Write the results as JSON");
  app.add_option("--driver", options.calibration.driver, "Version of the driver, for the results");
  app.add_option("--date", options.calibration.date, "Today, for the results");
  app.add_option("--commit", options.calibration.commit, "Of this program, for the results");
}

int fail(const std::string& message) {
  std::cerr << "forge-cuda-bench: " << message << "\n";
  return 2;
}

tl::expected<std::string, std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return tl::unexpected("cannot read '" + path + "'");
  return text.str();
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out.good();
}

/// Exit status.
int write_json(const Options& options, const Json& json) {
  if (options.json_file.empty() || write_file(options.json_file, json.dump(2) + "\n")) return 0;
  return fail("--json: cannot write '" + options.json_file + "'");
}

Json measure_all_limits(gpu::Device& device, DeviceLimits& limits) {
  limits = measure_limits(device);
  Json json = to_json(limits);
  const auto tflops = cublas_tflops(kMatrixSize);
  json["cublas_sgemm_tflops"] = tflops ? Json(tflops->f32) : Json(nullptr);
  json["cublas_bf16_tflops"] = tflops ? Json(tflops->bf16) : Json(nullptr);
  if (!tflops) json["cublas_missing"] = tflops.error();
  for (const auto& [name, value] : json.items()) std::cout << name << " " << value << "\n";
  return json;
}

Json measure_all_steps(gpu::Device& device) {
  Json json = Json::array();
  for (const StepCase& step : step_cases()) {
    json.push_back(to_json(step, measure_steps(device, step, kSteps)));
    std::cout << json.back() << std::endl;
  }
  return json;
}

/// Packs the weights of models.
int thread_count() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                    linear::ThreadPool::kThreadsMax);
}

/// Calls body(model, batches) with each that is asked for.
void for_each_model(const Options& options, const auto& body) {
  linear::ThreadPool threads(thread_count());
  for (const BenchmarkedModel& each : benchmarked_models()) {
    if (std::ranges::find(options.models, title(each)) == options.models.end()) continue;
    std::cout << "loading " << title(each) << std::endl;
    body(BenchModel(each.name, each.weights, published_config(each.name), threads), each.batches);
  }
}

Json measure_all_models(const Options& options, gpu::Device& device, const BestRates& rates) {
  Json json = Json::array();
  for_each_model(options, [&](const BenchModel& model, const auto& batches) {
    measure_model(device, model, {.batches = batches}, [&](const ModelTime& time) {
      json.push_back(to_json(model, time, rates));
      std::cout << json.back() << std::endl;
    });
  });
  return json;
}

int count(const Options& options) {
  const auto description =
      sim::find_device(options.description_file.empty() ? "h200" : options.description_file);
  if (!description) return fail("--device: " + description.error());
  Json json{{"device", description->full_name}};
  for_each_model(options, [&](const BenchModel& model, const auto& batches) {
    const std::vector<ModelCount> counts = count_model(*description, model, {.batches = batches});
    std::cout << to_text(model, *description, counts);
    for (const ModelCount& count : counts) {
      json["predictions"].push_back(to_json(model, count, rates_of(*description)));
    }
  });
  return write_json(options, json);
}

bool has_section(const Options& options, std::string_view section) {
  return std::ranges::find(options.sections, section) != options.sections.end();
}

/// What contradicts `options` of the flags that were `given`, or nothing.
std::string contradiction(const CLI::App& given, const Options& options) {
  if (options.count) return {};
  if (given.count("--models") > 0 && !has_section(options, "models")) {
    return "--models: 'models' is not among --sections";
  }
  if (given.count("--sections") > 0 && has_section(options, "kernels") &&
      options.description_file.empty()) {
    return "--sections: 'kernels' needs --device";
  }
  if (!options.calibrated_file.empty() && !has_section(options, "kernels")) {
    return "--calibrated: 'kernels' is not among --sections";
  }
  return {};
}

int bench(Options options) {
  sim::DeviceDescription description;
  std::string description_text;
  if (!options.description_file.empty()) {
    const auto text = read_file(options.description_file);
    if (!text) return fail(text.error());
    const auto parsed = sim::parse_device(*text);
    if (!parsed) return fail(options.description_file + ": " + parsed.error());
    description_text = *text;
    description = *parsed;
  }
  const auto device = cuda::open_device();
  if (!device) return fail(to_string(device.error()));

  sim::Calibration& calibration = options.calibration;
  calibration.device = (*device)->info().name;
  DeviceLimits limits;
  Json json{{"device", calibration.device}};
  json["limits"] = measure_all_limits(**device, limits);
  if (has_section(options, "steps")) json["steps"] = measure_all_steps(**device);
  const Json& product = json["limits"]["cublas_bf16_tflops"];
  BestRates rates{.copy_gb_per_s = limits.copy_within_gb_per_s};
  if (product.is_number()) rates.product_tflops = product.get<double>();
  if (has_section(options, "models")) {
    json["models"] = measure_all_models(options, **device, rates);
  }
  if (has_section(options, "kernels") && !description_text.empty()) {
    const auto kernels = measure_kernels(**device, description);
    for (const KernelMeasurement& kernel : kernels) json["kernels"].push_back(to_json(kernel));
    for (const Json& line : json["kernels"]) std::cout << line << "\n";
    calibration.launch_us = limits.launch_us;
    calibration.graph_launch_us = limits.graph_launch_us;
    calibration.kernel_factors = kernel_factors(kernels, limits);
    json["kernel_factors"] = calibration.kernel_factors;
    const auto calibrated = sim::with_calibration(description_text, calibration);
    if (!calibrated) return fail("calibration: " + calibrated.error());
    if (!options.calibrated_file.empty() && !write_file(options.calibrated_file, *calibrated)) {
      return fail("--calibrated: cannot write '" + options.calibrated_file + "'");
    }
  }
  // Before code of others runs: if it takes the device down, what was measured is there.
  if (const int status = write_json(options, json); status != 0) return status;
  if (has_section(options, "peers")) json["peers"] = measure_peers(**device);
  return write_json(options, json);
}

}  // namespace
}  // namespace forge

int main(int argc, char** argv) {
  CLI::App app("Measures the GPU target on a real GPU.", "forge-cuda-bench");
  forge::Options options;
  forge::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string contradiction = forge::contradiction(app, options);
  if (!contradiction.empty()) return forge::fail(contradiction);
  return options.count ? forge::count(options) : forge::bench(options);
}
