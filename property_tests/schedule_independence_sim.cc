// The same promise on the simulated GPU, whose threads run in a random order, with and without
// graphs, and whose calls fail now and then: what comes out has the bits of the CPU's.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <optional>

#include "executor/seeded_gpu_model.h"
#include "failing_sim.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"
#include "schedule_scenario.h"

namespace forge {
namespace {

/// The first layers of the model draft, or a model of its own does: the same, or of other weights.
gpu::GpuModels models_with(std::optional<std::uint64_t> drafting_seed) {
  gpu::GpuModels models(testing::seeded_gpu_model(testing::kScenarioModel));
  if (drafting_seed) {
    reference::TinyConfig draft = testing::kScenarioModel;
    draft.seed = *drafting_seed;
    models.draft = testing::seeded_gpu_model(draft);
  }
  return models;
}

TEST(ScheduleIndependence, a_request_comes_out_of_the_simulated_gpu_as_alone_of_the_cpu) {
  testing::Ways ways;
  EXPECT_TRUE(rc::check("a request comes out of the simulated GPU as alone of the CPU", [&] {
    sim::SimOptions device{.device = sim::find_device("h200").value()};
    device.schedule_seed = *rc::gen::arbitrary<std::uint64_t>();
    device.host_threads = testing::one_in(2) ? 2 : 1;
    const gpu::GpuOptions gpu{.graphs = !testing::one_in(3)};
    const gpu::GpuModels models = models_with(
        testing::one_in(2) ? std::optional(testing::kScenarioModel.seed + testing::draw(0, 1))
                           : std::nullopt);
    ways.add(testing::play_scenario([&](const executor::ExecutorOptions& options) {
      return std::make_unique<testing::FailingSim>(options, device, gpu, models);
    }));
  }));
  // Without these the runs would say little; the rest is too rare for so few.
  EXPECT_GT(ways.chunks, 0U);
  EXPECT_GT(ways.hit_tokens, 0U);
  EXPECT_GT(ways.evictions, 0U);
  EXPECT_GT(ways.accepted_drafts, 0U);
}

}  // namespace
}  // namespace forge
