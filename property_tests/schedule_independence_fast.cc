// The same promise for fast numerics: what comes out of the tensor cores of the simulated GPU,
// whatever is scheduled together and however, is what the request has there alone
// (schedule_scenario.h). Threads run in a random order, with and without graphs, in slabs of few
// rows, and calls fail now and then. Which ways runs take, tests/gpu/fast_model_test.cc counts.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>

#include "failing_sim.h"
#include "gpu/fast_models.h"
#include "schedule_scenario.h"

namespace forge {
namespace {

/// Norms around, windows, caps, a RoPE for each kind of layer, and KV heads of two queries.
model::ModelConfig in_scenario() {
  model::ModelConfig config = testing::fast_shape("gemma").config;
  config.vocabulary_size = 320;
  config.layers = testing::kScenarioLayers;
  std::get<model::GroupedQueryConfig>(config.attention).full_layers = {false, true, false};
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
  testing::FastModel model(in_scenario(), quant::WeightType::bf16);
  EXPECT_TRUE(rc::check("a request comes out of tensor cores as it does alone", [&] {
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
