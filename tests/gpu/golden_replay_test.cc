// One stack for all targets: for each model of tests/golden, of every family and every stored form,
// what the CPU recorded with canonical numerics a GPU answers, simulated or real: chunks, prefix
// hits, swaps, drafts of the model's first layers or of another model, logits bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "forge/checkpoint/checkpoint.h"
#include "forge/gpu/gpu_executor.h"
#include "gpu/golden_folder.h"
#include "gpu/replay_world.h"
#include "model/stored_weights.h"

namespace forge::testing {
namespace {

namespace fs = std::filesystem;

/// A model with its weights packed for canonical numerics: a checkpoint's, or random ones.
struct CanonicalModel {
  explicit CanonicalModel(const std::string& path)
      : checkpoint(checkpoint::Checkpoint::open(path).value()),
        reader(std::make_unique<checkpoint::CheckpointReader>(*checkpoint)),
        stored(checkpoint->model()),
        transformer(packed(checkpoint->config())) {}
  explicit CanonicalModel(const model::ModelConfig& config)
      : reader(std::make_unique<linear::MemoryReader>()),
        stored(weights.random(config, quant::WeightType::f32)),
        transformer(packed(config)) {}

  model::Transformer packed(const model::ModelConfig& config) {
    return {config,
            pack(config, stored, threads, {linear::Numerics::canonical, reader.get()}).value()};
  }

  gpu::GpuModel on_gpu() const {
    return gpu::GpuModel::of(transformer.config(), stored, threads, reader.get()).value();
  }

  std::optional<checkpoint::Checkpoint> checkpoint;
  StoredWeights weights;
  std::unique_ptr<linear::WeightReader> reader;
  model::StoredModel stored;
  mutable linear::ThreadPool threads{2};
  model::Transformer transformer;
};

/// Paths below tests/golden: folders, and GGUF files in them.
std::vector<std::string> golden_models() {
  std::vector<std::string> names;
  for (const std::string folder : {"models", "quantized", "lora"}) {
    for (const auto& entry : fs::recursive_directory_iterator(golden(folder))) {
      const fs::path path = fs::relative(entry.path(), golden_folder());
      if (path.extension() == ".gguf") names.push_back(path.string());
      if (path.filename() == "config.json") names.push_back(path.parent_path().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

/// Besides: random weights for the architecture of a golden model with two changes that no
/// published mixture of experts, and none with latents, has: norms are around the sub-layers, and
/// the first layer is without RoPE.
constexpr const char* kAround = " around";

std::vector<std::string> all_models() {
  std::vector<std::string> names = golden_models();
  for (const char* const name : {"models/qwen2_moe", "models/deepseek_v2_lite"}) {
    names.push_back(std::string(name) + kAround);
  }
  return names;
}

std::unique_ptr<CanonicalModel> model_of(const std::string& name) {
  const std::size_t end = name.find(kAround);
  if (end == std::string::npos) return std::make_unique<CanonicalModel>(golden(name));
  model::ModelConfig config =
      checkpoint::Checkpoint::open(golden(name.substr(0, end))).value().config();
  config.norm = model::NormPlacement::around;
  config.unturned_layers.assign(static_cast<std::size_t>(config.layers), false);
  config.unturned_layers.front() = true;
  return std::make_unique<CanonicalModel>(config);
}

/// One of no larger vocabulary, whose KV and attention are of another shape where there is one.
std::string other_model(const std::string& name) {
  if (name.starts_with("quantized/")) return "quantized/packed_8_zeros";
  return name == "models/llama" ? "models/deepseek_v2_lite" : "models/llama";
}

gpu::GpuModels gpu_models_of(const CanonicalModel& model, const CanonicalModel* draft) {
  gpu::GpuModels models(model.on_gpu());
  if (draft != nullptr) models.draft = draft->on_gpu();
  return models;
}

class GoldenReplay : public ::testing::TestWithParam<std::tuple<std::string, Replayer>> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(replayer()); !why.empty()) GTEST_SKIP() << why;
    model_ = model_of(name());
  }

  const std::string& name() const { return std::get<std::string>(GetParam()); }
  Replayer replayer() const { return std::get<Replayer>(GetParam()); }

  /// The trace of a run on the CPU, for which `draft` drafts or, if null, the first layers do.
  std::string recorded(PreemptionPolicy preemption, const CanonicalModel* draft = nullptr) {
    const CpuRun run =
        run_on_cpu(model_->transformer, draft != nullptr ? &draft->transformer : nullptr,
                   model_->threads, {.preemption = preemption});
    events_.add(run.events);
    accepted_ += run.accepted;
    return run.trace;
  }

  gpu::GpuModels gpu_models(const CanonicalModel* draft = nullptr) const {
    return gpu_models_of(*model_, draft);
  }

  std::unique_ptr<CanonicalModel> model_;
  Events events_;
  std::uint64_t accepted_ = 0;
};

TEST_P(GoldenReplay, what_the_cpu_recorded_the_gpu_answers) {
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    expect_replayed(replayer(), recorded(preemption), gpu_models());
  }
  EXPECT_GT(events_.chunks, 0);
  EXPECT_GT(events_.prefix_hits, 0);
  EXPECT_GT(events_.swaps_out, 0);
  EXPECT_GT(events_.swaps_in, 0);
  EXPECT_GT(events_.recomputes, 0);
  EXPECT_GT(events_.drafts, 0);
  EXPECT_GT(accepted_, 0U);
}

TEST_P(GoldenReplay, what_another_model_drafted_is_answered_too) {
  CanonicalModel other(golden(other_model(name())));
  for (CanonicalModel* draft : {model_.get(), &other}) {
    expect_replayed(replayer(), recorded(PreemptionPolicy::swap, draft), gpu_models(draft));
  }
  EXPECT_GT(events_.prefix_hits, 0);
  EXPECT_GT(events_.swaps_in, 0);
  EXPECT_GT(events_.drafts, 0);
  EXPECT_GT(accepted_, 0U);
}

std::string identifier(std::string name) {
  const auto is_other = [](char c) { return c == '/' || c == '.' || c == ' '; };
  std::ranges::replace_if(name, is_other, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenReplay,
                         ::testing::Combine(::testing::ValuesIn(all_models()),
                                            ::testing::ValuesIn(kReplayers)),
                         [](const auto& instance) {
                           return std::string(name_of(std::get<Replayer>(instance.param))) + "_" +
                                  identifier(std::get<std::string>(instance.param));
                         });

class GoldenMemory : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenMemory, a_byte_less_than_the_models_take_is_too_little) {
  const auto model = model_of(GetParam());
  const CanonicalModel* const drafts[] = {nullptr, model.get()};
  for (const CanonicalModel* draft : drafts) {
    const gpu::GpuModels models = gpu_models_of(*model, draft);
    const auto device = device_for(models, 1);
    const auto executor =
        gpu::GpuExecutor::create(*device, models, replay_options(model->transformer.config()));
    ASSERT_FALSE(executor.has_value());
    EXPECT_NE(to_string(executor.error()).find("out of memory"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenMemory, ::testing::ValuesIn(all_models()),
                         [](const auto& instance) { return "sim_" + identifier(instance.param); });

}  // namespace
}  // namespace forge::testing
