// The same promise for models from files: however random requests are scheduled together, each
// comes out as it does alone, logits bit for bit (schedule_scenario.h). Quantized weights, experts,
// latent attention, properties of single layers, several threads, and drafts by the first layers or
// by another model.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <utility>

#include "forge/cpu/cpu_executor.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/transformer.h"
#include "model/stored_weights.h"
#include "schedule_scenario.h"

namespace forge {
namespace {

using quant::WeightType;

/// Random weights: the same for the same configuration, but for how they are stored.
struct Model {
  Model(model::ModelConfig shape, WeightType type) : config(in_scenario(std::move(shape))) {
    transformer.emplace(config, pack(config, weights.random(config, type), threads).value());
  }

  static model::ModelConfig in_scenario(model::ModelConfig config) {
    config.vocabulary_size = 320;
    config.layers = testing::kScenarioLayers;
    if (config.experts) config.experts->dense_layers = {true, false, false};
    return config;
  }

  std::unique_ptr<cpu::CpuModel> with_cache(const executor::ExecutorOptions& options) {
    return cpu::cpu_model(*transformer, threads, options);
  }

  model::ModelConfig config;
  testing::StoredWeights weights;
  linear::ThreadPool threads{2};
  std::optional<model::Transformer> transformer;
};

executor::ExecutorOptions checked(executor::ExecutorOptions options) {
  options.check_kv = true;
  return options;
}

class ModelTarget : public testing::FallibleTarget {
 public:
  /// Reads of KV are checked, of both models.
  ModelTarget(const executor::ExecutorOptions& options, Model& model, Model* draft)
      : cpu_(checked(options), model.with_cache(options),
             draft != nullptr ? draft->with_cache(options) : nullptr) {}

  void fail_soon() override { fails_ = true; }
  void begin(SeqId seq, const Request& request) override { cpu_.begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return cpu_.refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    auto done = cpu_.execute(plan, result);
    if (std::exchange(fails_, false)) return tl::unexpected(ExecutionError{"told to fail"});
    return done;
  }
  tl::expected<void, std::string> reopen() override { return cpu_.reopen(); }
  const SpeculationStatistics& speculation() const override { return cpu_.speculation(); }

 private:
  cpu::CpuExecutor cpu_;
  bool fails_ = false;
};

/// Plays scenarios on `model`. Returns: the ways that they took.
testing::Ways play(Model& model, Model* draft = nullptr) {
  testing::Ways ways;
  const auto together = [&](const executor::ExecutorOptions& options) {
    return std::make_unique<ModelTarget>(options, model, draft);
  };
  const auto alone = [&](const executor::ExecutorOptions& options) {
    return std::make_unique<ModelTarget>(options, model, nullptr);
  };
  EXPECT_TRUE(rc::check("a request comes out as it does alone",
                        [&] { ways.add(testing::play_scenario(together, alone)); }));
  EXPECT_GT(ways.chunks, 0U);
  EXPECT_GT(ways.hit_tokens, 0U);
  EXPECT_GT(ways.recomputes, 0U);
  EXPECT_GT(ways.accepted_drafts, 0U);
  return ways;
}

TEST(ScheduleIndependenceOfModels, quantized_weights) {
  Model model(testing::wide_llama(), WeightType::q4_k);
  play(model);
}

TEST(ScheduleIndependenceOfModels, mixtures_of_experts) {
  Model model(testing::wide_experts(), WeightType::bf16);
  play(model);
}

TEST(ScheduleIndependenceOfModels, latent_attention) {
  Model model(testing::wide_latent(), WeightType::q8_0);
  play(model);
}

/// What single layers have, and whatever else a family may have beside its attention.
model::ModelConfig of_many_properties() {
  model::ModelConfig config = testing::wide_experts();
  config.norm = model::NormPlacement::around;
  config.activation = model::Activation::gelu_tanh;
  config.mlp_bias = true;
  config.logits_cap = 20;
  config.experts->shared_size = 256;
  config.experts->shared_gate = true;
  auto& attention = std::get<model::GroupedQueryConfig>(config.attention);
  attention.sliding_window = 19;
  attention.full_layers = {false, true, false};
  attention.score_cap = 5;
  config.unturned_layers = {false, false, true};
  config.rope.size = 32;
  config.rope.scaling = model::LongRope{.short_divisors = std::vector<float>(16, 1.0F),
                                        .long_divisors = std::vector<float>(16, 2.0F),
                                        .original_positions = 20,
                                        .attention_factor = 1.25,
                                        .is_long = true};
  config.window_rope = model::RopeConfig{.size = 32, .base = 50};
  return config;
}

TEST(ScheduleIndependenceOfModels, windows_and_turns_by_layer_norms_around_caps_and_gates) {
  Model model(of_many_properties(), WeightType::bf16);
  play(model);
}

/// With windows as well.
model::ModelConfig with_sinks() {
  model::ModelConfig config = testing::wide_sinks();
  auto& attention = std::get<model::GroupedQueryConfig>(config.attention);
  attention.sliding_window = 17;
  attention.full_layers = {false, true, false};
  return config;
}

TEST(ScheduleIndependenceOfModels, sinks_biases_of_experts_and_clamped_swiglu) {
  Model model(with_sinks(), WeightType::mxfp4);
  play(model);
}

TEST(ScheduleIndependenceOfModels, another_model_drafts) {
  Model model(testing::wide_llama(), WeightType::q8_0);
  Model draft(testing::wide_llama(), WeightType::q4_k);
  play(model, &draft);
}

}  // namespace
}  // namespace forge
