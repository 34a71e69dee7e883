// KV of 16 bits on all targets: whatever a model's attention is, what the CPU recorded with KV of a
// type a GPU, simulated or real, answers with KV of that type, logits bit for bit, and only so.
#include <gtest/gtest.h>

#include "gpu/replay_world.h"
#include "model/stored_weights.h"

namespace forge::testing {
namespace {

using numerics::KvType;

/// Every second layer sees all positions, the others a few; scores are capped.
model::ModelConfig with_windows_and_caps() {
  model::ModelConfig config = wide_llama();
  auto& attention = std::get<model::GroupedQueryConfig>(config.attention);
  attention.sliding_window = 11;
  for (int layer = 0; layer < config.layers; ++layer) {
    attention.full_layers.push_back(layer % 2 == 1);
  }
  attention.score_cap = 5;
  return config;
}

struct Attention {
  const char* name;
  model::ModelConfig (*config)();
};

/// Random weights, for both targets.
struct KvModel {
  explicit KvModel(const model::ModelConfig& of)
      : config(of),
        stored(weights.random(of, quant::WeightType::bf16)),
        on_cpu(of, pack(of, stored, threads, {linear::Numerics::canonical}).value()) {}

  gpu::GpuModel on_gpu() { return gpu::GpuModel::of(config, stored, threads).value(); }

  model::ModelConfig config;
  StoredWeights weights;
  linear::ThreadPool threads{1};
  model::StoredModel stored;
  model::Transformer on_cpu;
};

class KvReplay : public ::testing::TestWithParam<std::tuple<Attention, KvType, Replayer>> {
 protected:
  KvReplay() : model_(std::get<Attention>(GetParam()).config()) {}

  CpuRun recorded(const model::Transformer* draft, PreemptionPolicy preemption, KvType type) {
    return run_on_cpu(model_.on_cpu, draft, model_.threads, {preemption, 9, type});
  }

  void SetUp() override {
    if (const std::string why = missing(replayer()); !why.empty()) GTEST_SKIP() << why;
  }
  KvType type() const { return std::get<KvType>(GetParam()); }
  Replayer replayer() const { return std::get<Replayer>(GetParam()); }

  KvModel model_;
};

TEST_P(KvReplay, what_the_cpu_recorded_the_gpu_answers) {
  Events events;
  for (const PreemptionPolicy preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
    const CpuRun run = recorded(nullptr, preemption, type());
    events.add(run.events);
    expect_replayed(replayer(), run.trace, model_.on_gpu(), type());
    EXPECT_NE(run.trace, recorded(nullptr, preemption, KvType::f32).trace) << "nothing is rounded";
  }
  EXPECT_GT(events.chunks, 0);
  EXPECT_GT(events.prefix_hits, 0);
  EXPECT_GT(events.swaps_in, 0);
  EXPECT_GT(events.recomputes, 0);
  EXPECT_GT(events.drafts, 0);
}

/// Its KV is of another layout: latents for keys and values, or keys and values for latents.
TEST_P(KvReplay, the_draft_model_has_kv_of_the_type_as_well) {
  const bool has_latents = std::holds_alternative<model::LatentConfig>(model_.config.attention);
  KvModel draft(has_latents ? wide_llama() : wide_latent());
  const CpuRun run = recorded(&draft.on_cpu, PreemptionPolicy::swap, type());
  EXPECT_GT(run.events.drafts, 0);
  gpu::GpuModels models(model_.on_gpu());
  models.draft = draft.on_gpu();
  expect_replayed(replayer(), run.trace, models, type());
}

INSTANTIATE_TEST_SUITE_P(
    Of, KvReplay,
    ::testing::Combine(::testing::Values(Attention{"grouped_query", wide_llama},
                                         Attention{"windows_and_caps", with_windows_and_caps},
                                         Attention{"sinks", wide_sinks},
                                         Attention{"latents", wide_latent}),
                       ::testing::Values(KvType::bf16, KvType::f16),
                       ::testing::ValuesIn(kReplayers)),
    [](const auto& instance) {
      return std::string(name_of(std::get<Replayer>(instance.param))) + "_" +
             std::get<Attention>(instance.param).name + "_" +
             std::string(name_of(std::get<KvType>(instance.param)));
    });

}  // namespace
}  // namespace forge::testing
