// The same promise for fast numerics: what comes out of the tensor cores of the simulated GPU,
// whatever is scheduled together and however, is what the request has there alone
// (schedule_scenario.h). Threads run in a random order, with and without graphs, in slabs of few
// rows, and calls fail now and then. Which ways runs take, tests/gpu/fast_model_test.cc counts.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>

#include "failing_sim.h"
#include "gpu/fast_models.h"
#include "schedule_scenario.h"

namespace forge {
namespace {

model::ModelConfig in_scenario(const std::string& shape) {
  model::ModelConfig config = testing::fast_shape(shape).config;
  config.vocabulary_size = 320;
  config.layers = testing::kScenarioLayers;
  return config;
}

/// Norms around, windows, caps, a RoPE for each kind of layer, and KV heads of two queries.
model::ModelConfig dense() {
  model::ModelConfig config = in_scenario("gemma");
  std::get<model::GroupedQueryConfig>(config.attention).full_layers = {false, true, false};
  return config;
}

/// A dense layer, then experts from the best groups, and shared ones.
model::ModelConfig of_experts() {
  model::ModelConfig config = in_scenario("shared_moe");
  config.experts->dense_layers = {true, false, false};
  return config;
}

/// KV of f32, which fast numerics do not have, is of bf16.
std::unique_ptr<testing::FailingSim> target_of(executor::ExecutorOptions options,
                                               const sim::SimOptions& device,
                                               const gpu::GpuOptions& gpu,
                                               testing::FastModel& model) {
  if (options.kv_type == numerics::KvType::f32) options.kv_type = numerics::KvType::bf16;
  return std::make_unique<testing::FailingSim>(options, device, gpu,
                                               gpu::GpuModels(model.on_gpu()));
}

TEST(ScheduleIndependence, a_request_comes_out_of_tensor_cores_as_it_does_alone) {
  testing::FastModel of_layers(dense(), quant::WeightType::bf16);
  testing::FastModel with_experts(of_experts(), quant::WeightType::bf16);
  EXPECT_TRUE(rc::check("a request comes out of tensor cores as it does alone", [&] {
    testing::FastModel& model = testing::one_in(2) ? with_experts : of_layers;
    const sim::SimOptions device{.device = sim::find_device("h200").value()};
    sim::SimOptions shuffled = device;
    shuffled.schedule_seed = *rc::gen::arbitrary<std::uint64_t>();
    const gpu::GpuOptions gpu{.graphs = !testing::one_in(3),
                              .chunk_rows = testing::one_in(2) ? 512 : testing::draw(1, 20)};
    testing::play_scenario(
        [&](const auto& options) { return target_of(options, shuffled, gpu, model); },
        [&](const auto& options) { return target_of(options, device, {}, model); });
  }));
}

}  // namespace
}  // namespace forge
