// Whole models in forge-cuda-bench: what their launches move, and what is said of cases that a
// device runs, or has no memory for. Models are tiny, the device simulated.
#include <gmock/gmock.h>

#include <algorithm>
#include <unordered_set>

#include "counting_device.h"
#include "cuda_models.h"
#include "forge/sim/sim_device.h"
#include "forge/sim/sim_kernels.h"
#include "model_count.h"

namespace forge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;
using quant::WeightType;
using Phase = ModelCase::Phase;

/// With rows of whole blocks.
model::ModelConfig tiny_config(WeightType weights) {
  const int size = std::max(64, static_cast<int>(quant::block_elements(weights)));
  model::ModelConfig config;
  config.family = "llama";
  config.vocabulary_size = 320;
  config.hidden_size = size;
  config.layers = 2;
  config.ffn_size = 2 * size;
  config.positions = 512;
  config.attention = model::GroupedQueryConfig{.heads = 4, .kv_heads = 2, .head_size = size / 4};
  config.attention_scale = 0.25F;
  config.rope.size = size / 4;
  return config;
}

ModelSizes tiny_sizes() { return {.batches = {1, 3}, .context = 32, .prompt = 70, .steps = 4}; }

template <class Test>
class WithTinyModel : public Test {
 protected:
  explicit WithTinyModel(WeightType weights)
      : model_("tiny", weights, tiny_config(weights), threads_) {}

  sim::DeviceDescription description_ = sim::find_device("h200").value();
  linear::ThreadPool threads_{1};
  BenchModel model_;
};

class TinyModel : public WithTinyModel<::testing::Test> {
 protected:
  TinyModel() : WithTinyModel(WeightType::bf16) {}
};

class TinyModelOf : public WithTinyModel<::testing::TestWithParam<WeightType>> {
 protected:
  TinyModelOf() : WithTinyModel(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(, TinyModelOf,
                         ::testing::Values(WeightType::bf16, WeightType::q8_0, WeightType::q4_k),
                         [](const auto& of) { return std::string(name_of(of.param)); });

// ---- What launches move -------------------------------------------------------------------------

/// Notes each byte of global memory that a launch touches, once.
class TouchedBytes : public simt::Observer {
 public:
  std::unordered_set<std::uintptr_t> read;
  std::unordered_set<std::uintptr_t> written;

  std::unique_ptr<simt::BlockObserver> begin_block(const simt::LaunchShape& /*shape*/,
                                                   long long /*block*/) override {
    return std::make_unique<Block>(*this);
  }
  void end_block(long long /*block*/, std::unique_ptr<simt::BlockObserver> /*observer*/) override {}

 private:
  struct Block : simt::BlockObserver {
    explicit Block(TouchedBytes& all) : touched(all) {}
    void access(const simt::Access& access) override {
      if (access.space != simt::Space::global) return;
      auto& bytes = access.kind == simt::AccessKind::read ? touched.read : touched.written;
      for (std::uint16_t i = 0; i < access.bytes; ++i) bytes.insert(access.address + i);
    }
    TouchedBytes& touched;
  };
};

/// Bytes that launches moved, each once a launch.
struct Moved {
  std::uint64_t weights = 0;    ///< matrices and norms
  std::uint64_t embedding = 0;  ///< rows of tokens; sequences may share one
  std::uint64_t kv_read = 0;
  std::uint64_t kv_written = 0;
  std::uint64_t all = 0;
  std::uint64_t by_formula = 0;  ///< sim::work_of
};

/// Runs the kernels of whatever is launched on it, and counts.
class TracingDevice {
 public:
  explicit TracingDevice(const sim::DeviceDescription& description)
      : device_({.description = description,
                 .run = [this](const gpu::KernelLaunch& launch, bool) { run(launch); },
                 .keeps_all = true}) {}

  CountingDevice& device() { return device_; }
  Moved take() { return std::exchange(moved_, {}); }

 private:
  void run(const gpu::KernelLaunch& launch) {
    const sim::KernelWork work = sim::work_of(launch);
    moved_.by_formula += work.bytes_read + work.bytes_written;
    TouchedBytes touched;
    const auto ran = machine_.run(sim::kernel_code(launch.kernel), launch.shape, launch.args.data(),
                                  {.observer = &touched});
    ASSERT_TRUE(ran) << to_string(ran.error());
    moved_.all += touched.read.size() + touched.written.size();
    const bool embeds = launch.kernel == gpu::KernelId::embed;
    (embeds ? moved_.embedding : moved_.weights) += count_of(touched.read, "weights");
    moved_.kv_read += count_of(touched.read, "KV pool");
    moved_.kv_written += count_of(touched.written, "KV pool");
  }

  /// Those in memory whose name begins like that.
  std::uint64_t count_of(const std::unordered_set<std::uintptr_t>& bytes,
                         std::string_view name) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(bytes, [&](std::uintptr_t byte) {
      return device_.name_at(reinterpret_cast<const void*>(byte)).starts_with(name);
    }));
  }

  simt::Machine machine_;
  Moved moved_;
  CountingDevice device_;
};

/// Of weights and KV, kernels move what the step needs and nothing else. Beside it is only what
/// they hand to one another, all of it in the formulas of the kernels.
void expect_needed_bytes(const Moved& moved, const StepNeeds& needs, Phase phase) {
  EXPECT_EQ(moved.weights, needs.weights + needs.norms);
  EXPECT_LE(moved.embedding, needs.embedding);
  EXPECT_EQ(moved.kv_read, needs.kv_read);
  EXPECT_EQ(moved.kv_written, needs.kv_written);
  const std::uint64_t counted = moved.all + needs.embedding - moved.embedding;
  if (phase == Phase::decode) {
    EXPECT_EQ(moved.by_formula, counted);
  } else {  // formulas count a block table for each row, which those of a sequence share
    EXPECT_GE(moved.by_formula, counted);
  }
  EXPECT_GT(moved.by_formula, needs.bytes());
}

TEST_P(TinyModelOf, has_weights_spread_as_trained_ones_are_and_runs_in_fast_numerics) {
  EXPECT_EQ(model_.weights(), GetParam());
  EXPECT_EQ(model_.on_gpu().numerics(), gpu::GpuNumerics::fast);
  const linear::StoredLinear& embedding = model_.on_gpu().stored().embedding;
  const auto size = static_cast<std::size_t>(embedding.inputs);
  std::vector<float> row(size);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < embedding.outputs; ++i) {
    stored_row(embedding, i, row.data());
    for (const float number : row) {
      sum += number;
      squares += double{number} * double{number};
    }
  }
  const double count = static_cast<double>(size) * embedding.outputs;
  const double deviation = std::sqrt(1.0 / static_cast<double>(size));
  EXPECT_NEAR(sum / count, 0.0, 0.03 * deviation);
  EXPECT_NEAR(std::sqrt(squares / count), deviation, 0.03 * deviation);
}

TEST_P(TinyModelOf, moves_the_bytes_that_its_steps_need_and_is_counted_so) {
  TracingDevice tracing(description_);
  const CaseGroup group = model_cases(tiny_sizes()).front();
  const FittingCases fitting = fitting_cases(tracing.device(), model_, group, tiny_sizes());
  ModelRun run(tracing.device(), model_, fitting.room, group.gpu, tiny_sizes());
  for (const ModelCount& count : count_model(description_, model_, tiny_sizes())) {
    SCOPED_TRACE(::testing::Message() << name_of(count.of.phase) << ", batch " << count.of.batch);
    const bool is_prefill = count.of.phase == Phase::prefill;
    run.begin(count.of);
    tracing.take();
    StepNeeds needs;
    std::uint64_t by_formula = 0;
    for (std::uint32_t i = 0; !run.is_done(); ++i) {
      run.step();
      const Moved moved = tracing.take();
      const StepNeeds of_step = needs_of(model_.on_gpu(), kModelKv, run.plan());
      expect_needed_bytes(moved, of_step, count.of.phase);
      if (!is_prefill && i != tiny_sizes().steps / 2) continue;
      needs += of_step;
      by_formula += moved.by_formula;
    }
    EXPECT_EQ(count.needs, needs);
    EXPECT_EQ(count.work.bytes_read + count.work.bytes_written, by_formula);
    // Few rows meet codes in dot products, which are no steps of tensor cores.
    const bool has_dots = GetParam() != WeightType::bf16 && !is_prefill;
    EXPECT_GE(count.work.matrix_flops + (has_dots ? count.work.flops : 0), needs.operations);
    EXPECT_GT(count.layer_launches, 0U);
    EXPECT_GT(count.launches, 2 * count.layer_launches);
    EXPECT_GT(count.predicted_us, light_us(needs, rates_of(description_)).value());
  }
}

/// Latents and experts, which rows choose evenly where none of them is computed. All matrices have
/// whole panels of outputs.
TEST(TinyExperts, of_one_sequence_move_the_bytes_that_its_steps_need_and_are_counted_so) {
  const sim::DeviceDescription description = sim::find_device("h200").value();
  model::ModelConfig config = tiny_config(WeightType::bf16);
  config.attention = model::LatentConfig{.heads = 2,
                                         .query_rank = 32,
                                         .kv_rank = 32,
                                         .nope_size = 16,
                                         .rope_size = 32,
                                         .value_size = 32};
  config.rope.size = 32;
  config.experts = model::ExpertsConfig{.experts = 32,
                                        .experts_per_token = 2,
                                        .expert_size = 32,
                                        .shared_size = 64,
                                        .dense_layers = {true, false}};
  linear::ThreadPool threads(1);
  const BenchModel model("tiny", WeightType::bf16, config, threads);
  ASSERT_EQ(model.on_gpu().numerics(), gpu::GpuNumerics::fast);
  const ModelSizes sizes{.batches = {1}, .context = 32, .prompt = 70, .steps = 4};
  TracingDevice tracing(description);
  const CaseGroup group = model_cases(sizes).front();
  const FittingCases fitting = fitting_cases(tracing.device(), model, group, sizes);
  ModelRun run(tracing.device(), model, fitting.room, group.gpu, sizes);
  const ModelCount count = count_model(description, model, sizes).front();
  ASSERT_EQ(count.of.phase, Phase::decode);
  run.begin(count.of);
  tracing.take();
  for (std::uint32_t i = 0; !run.is_done(); ++i) {
    run.step();
    const Moved moved = tracing.take();
    expect_needed_bytes(moved, needs_of(model.on_gpu(), kModelKv, run.plan()), Phase::decode);
    if (i != sizes.steps / 2) continue;
    EXPECT_EQ(count.work.bytes_read + count.work.bytes_written, moved.by_formula);
  }
}

TEST_F(TinyModel, counts_are_told_as_a_table_and_as_json) {
  const std::vector<ModelCount> counts = count_model(description_, model_, tiny_sizes());
  const std::string table = to_text(model_, description_, counts);
  EXPECT_THAT(table,
              HasSubstr("tiny BF16 on a described NVIDIA H200 SXM 141GB: counted and predicted"));
  EXPECT_THAT(table, HasSubstr("prefill     1     70"));
  const ModelCount& count = counts.front();
  const Json json = to_json(model_, count, rates_of(description_));
  EXPECT_EQ(json["bytes"], count.needs.bytes());
  EXPECT_EQ(json["bytes_counted"], count.work.bytes_read + count.work.bytes_written);
  EXPECT_EQ(json["operations_counted"], count.work.flops + count.work.matrix_flops);
  EXPECT_DOUBLE_EQ(json["predicted_share"].get<double>() * json["predicted_us"].get<double>(),
                   json["light_us"].get<double>());
  std::uint64_t launches = 0;
  double us = 0;
  for (const Json& kernel : json["kernels"]) {
    launches += kernel["launches"].get<std::uint64_t>();
    us += kernel["predicted_us"].get<double>();
    for (const char* const part : {"memory_us", "compute_us", "latency_us"}) {
      EXPECT_GE(kernel[part].get<double>(), 0.0);
      EXPECT_LE(kernel[part].get<double>(), kernel["predicted_us"].get<double>());
    }
  }
  EXPECT_EQ(launches, count.launches);
  EXPECT_GT(us, 0.0);
  EXPECT_LT(us, count.predicted_us);  // in which copies are, too
}

// ---- What is measured ---------------------------------------------------------------------------

std::vector<ModelTime> measured(gpu::Device& device, const BenchModel& model,
                                const ModelSizes& sizes) {
  std::vector<ModelTime> times;
  measure_model(device, model, sizes, [&](const ModelTime& time) { times.push_back(time); });
  return times;
}

/// "decode 3", and what was off.
std::string title(const ModelTime& time) {
  return std::string(name_of(time.of.phase)) + " " + std::to_string(time.of.batch) +
         (time.gpu.graphs ? "" : ", no graphs") + (time.gpu.overlap ? "" : ", no overlap") +
         (time.gpu.matrix_library ? "" : ", no library");
}

TEST_F(TinyModel, is_measured_in_all_cases) {
  sim::SimDevice device({.device = description_});
  std::vector<std::string> titles;
  for (const ModelTime& time : measured(device, model_, tiny_sizes())) {
    titles.push_back(title(time));
    EXPECT_THAT(time.not_run, IsEmpty());
    EXPECT_GT(time.host_us, 0.0);
    EXPECT_GT(time.step_us, 0.0);
    const Json json = to_json(model_, time, {.copy_gb_per_s = 1, .product_tflops = 1});
    EXPECT_EQ(json["model"], "tiny");
    EXPECT_EQ(json["weights"], "BF16");
    EXPECT_EQ(json["tokens"], time.of.phase == Phase::prefill ? 70 : 32);
    EXPECT_EQ(json["bytes"], time.needs.bytes());
    EXPECT_EQ(json["operations"], time.needs.operations);
    EXPECT_DOUBLE_EQ(json["share"].get<double>() * time.step_us, json["light_us"].get<double>());
    const Json unknown = to_json(model_, time, {.copy_gb_per_s = 1});
    EXPECT_TRUE(unknown["light_us"].is_null() && unknown["share"].is_null());
  }
  EXPECT_THAT(titles,
              ElementsAre("decode 1", "prefill 1", "decode 3", "decode 1, no graphs",
                          "decode 3, no graphs", "decode 1, no overlap", "decode 3, no overlap",
                          "prefill 1, no library", "decode 3, no library"));
}

TEST_F(TinyModel, has_each_launch_timed_that_is_not_captured) {
  sim::SimDevice device({.device = description_});
  for (const ModelTime& time : measured(device, model_, tiny_sizes())) {
    const Json json = to_json(model_, time, {});
    const bool is_prefill = time.of.phase == Phase::prefill;
    ASSERT_EQ(json.contains("kernels"), is_prefill || !time.gpu.graphs) << title(time);
    if (is_prefill || !json.contains("kernels")) continue;
    // Of each of two layers four products, and the head.
    EXPECT_EQ(json["kernels"]["project_narrow"]["launches"], 2 * 4 + 1) << json;
    EXPECT_EQ(json["kernels"]["prepare_heads"]["launches"], 2) << json;
    EXPECT_GT(json["kernels"]["project_narrow"]["us"], 0.0);
  }
}

TEST_P(TinyModelOf, is_measured_whatever_its_weights_are) {
  sim::SimDevice device({.device = description_});
  const ModelSizes sizes{.batches = {1}, .context = 20, .prompt = 24, .steps = 1};
  for (const ModelTime& time : measured(device, model_, sizes)) {
    EXPECT_GT(time.step_us, 0.0);
    EXPECT_EQ(to_json(model_, time, {})["weights"], name_of(GetParam()));
  }
}

TEST_F(TinyModel, of_which_a_step_finds_no_memory_is_not_run_and_says_so) {
  const ModelSizes sizes{.batches = {1, 4096}, .context = 32, .prompt = 40, .steps = 2};
  constexpr std::uint64_t kFree = std::uint64_t{64} << 20;
  sim::SimDevice device({.device = description_, .memory_bytes = kFree});
  std::vector<std::string> not_run;
  for (const ModelTime& time : measured(device, model_, sizes)) {
    const Json json = to_json(model_, time, {});
    EXPECT_EQ(json.contains("not_run"), time.of.batch == 4096) << json;
    EXPECT_EQ(json.contains("step_us"), time.of.batch == 1) << json;
    if (!time.not_run.empty()) not_run.push_back(time.not_run);
  }
  ASSERT_EQ(not_run.size(), 4U);
  EXPECT_THAT(not_run[0], ::testing::MatchesRegex("needs [0-9]+ bytes, 67108864 free"));

  sim::SimDevice full({.device = description_, .memory_bytes = 1});
  for (const ModelTime& time : measured(full, model_, sizes)) {
    EXPECT_THAT(time.not_run, HasSubstr(" bytes, 1 free"));
  }
}

}  // namespace
}  // namespace forge
