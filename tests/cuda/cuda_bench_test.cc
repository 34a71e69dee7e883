// The parts of forge-cuda-bench, on the simulated device: that every case can run, and what becomes
// of the measurements. The figures of a simulated device are not looked at.
#include <gmock/gmock.h>

#include <set>

#include "cuda_kernels.h"
#include "cuda_steps.h"
#include "forge/sim/sim_device.h"

namespace forge {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(KernelLaunchCases, are_valid_and_have_every_kernel) {
  std::set<gpu::KernelId> kernels;
  for (const KernelLaunchCase& launch : kernel_launch_cases()) {
    kernels.insert(launch.kernel->id);
    const auto valid = validate(*launch.kernel, launch.sizes);
    EXPECT_TRUE(valid) << launch.kernel->name() << ": " << valid.error();
  }
  EXPECT_EQ(kernels.size(), gpu::kKernelNames.size());
}

TEST(KernelFactors, are_measured_time_over_estimated_time_without_launches) {
  const KernelLaunchCase embed{apps::find_kernel("embed").value(), {}};
  const KernelLaunchCase sample{apps::find_kernel("sample").value(), {}};
  const auto estimated = [](double us) {
    return sim::KernelTime{.launch_us = 2, .total_us = 2 + us};
  };
  const std::vector<KernelMeasurement> measurements{
      {embed, 11, estimated(4)}, {embed, 31, estimated(16)}, {sample, 0.5, estimated(3)}};
  // (10 + 30) / (4 + 16); a kernel as fast as one that does nothing says nothing.
  EXPECT_THAT(kernel_factors(measurements, {.graph_launch_us = 1}),
              ElementsAre(Pair("embed", DoubleEq(2.0))));
}

TEST(MeasureSteps, runs_decode_steps_with_graphs_and_without) {
  for (const bool graphs : {false, true}) {
    sim::SimDevice device({.device = sim::find_device("h200").value()});
    const StepCase step{.batch = 3, .context = 20, .graphs = graphs};
    const StepTime time = measure_steps(device, step, 4);
    EXPECT_GT(time.step_us, 0.0);
    EXPECT_GT(time.host_us, 0.0);
    EXPECT_EQ(to_json(step, time)["graphs"], graphs);
  }
}

}  // namespace
}  // namespace forge
