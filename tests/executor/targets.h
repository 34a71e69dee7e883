// The targets that a test of executors runs on: one body, an instance for each.
//
//   class MyTest : public testing::TargetTest {};
//   TEST_P(MyTest, story) { Driver driver(target(), options); ... }
//   FORGE_FOR_EACH_TARGET(MyTest);
//
//   cpu           the reference
//   sim           GpuExecutor on the simulated device, threads in order
//   sim_shuffled  threads in a random order, blocks on two host threads, no graphs
//   cuda          GpuExecutor on a GPU; skipped, and says why, where there is none
//
// What comes out must have the bits of the CPU's, whatever the target.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "forge/executor/drafter.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/model_executor.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/reference/tiny_config.h"
#include "forge/sim/sim_device.h"

namespace forge::testing {

using MakeTarget =
    std::function<std::unique_ptr<executor::ModelExecutor>(const executor::ExecutorOptions&)>;

enum class TargetKind : std::uint8_t { cpu, sim, sim_shuffled, cuda };

/// What drafts for the built-in model: its first layers, unless one of these says otherwise.
struct Drafting {
  std::optional<reference::TinyConfig> model;
  std::function<std::unique_ptr<executor::Drafter>()> drafter;
};

/// Of the built-in model in its usual shape.
MakeTarget cpu_target(const Drafting& drafting = {});
/// On a simulated device of its own.
MakeTarget sim_target(const sim::SimOptions& device, const gpu::GpuOptions& gpu = {},
                      const Drafting& drafting = {});
MakeTarget target_of(TargetKind kind, const Drafting& drafting = {});

/// Why there is no such target here; empty if there is.
std::string missing(TargetKind kind);

/// A simulated device without a schedule of its own.
sim::SimOptions plain_sim();
/// One whose threads run in an order by `seed`, and its blocks on two host threads.
sim::SimOptions shuffled_sim(std::uint64_t seed);

class TargetTest : public ::testing::TestWithParam<TargetKind> {
 protected:
  void SetUp() override {
    const std::string why = missing(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
  }
  static MakeTarget target(const Drafting& drafting = {}) {
    return target_of(GetParam(), drafting);
  }
};

std::string target_name(const ::testing::TestParamInfo<TargetKind>& info);

}  // namespace forge::testing

#define FORGE_FOR_EACH_TARGET(suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(                                                                   \
      targets, suite,                                                                         \
      ::testing::Values(::forge::testing::TargetKind::cpu, ::forge::testing::TargetKind::sim, \
                        ::forge::testing::TargetKind::sim_shuffled,                           \
                        ::forge::testing::TargetKind::cuda),                                  \
      ::forge::testing::target_name)

/// Of death tests, which fork: a process with threads of its own, or a GPU, cannot.
#define FORGE_FOR_EACH_TARGET_THAT_FORKS(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(                                                                    \
      targets, suite,                                                                          \
      ::testing::Values(::forge::testing::TargetKind::cpu, ::forge::testing::TargetKind::sim), \
      ::forge::testing::target_name)
