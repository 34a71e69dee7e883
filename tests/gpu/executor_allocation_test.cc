// A program of its own, because allocation_counter.cc replaces operator new.
#include <gtest/gtest.h>

#include "cpu/allocation_counter.h"
#include "executor/seeded_gpu_model.h"
#include "forge/core/check.h"
#include "forge/gpu/gpu_executor.h"
#include "gpu/null_device.h"

namespace forge {
namespace {

/// Decodes eight sequences in tables of 16 blocks, step after step, a block being appended and cut
/// off again now and then. Returns how much is allocated once everything has been seen.
std::size_t allocations_of_steady_steps(
    const executor::ExecutorOptions& options, const gpu::GpuOptions& gpu,
    const gpu::GpuModels& models = testing::seeded_gpu_model()) {
  testing::NullDevice device;
  const auto executor = gpu::GpuExecutor::create(device, models, options, gpu).value();
  StepPlan plan;
  StepResult result;
  for (std::uint32_t seq = 1; seq <= 8; ++seq) {
    Request request{.prompt = std::vector<TokenId>(17, TokenId(seq)), .max_new_tokens = 200};
    request.ignore_eos = true;
    executor->begin(SeqId(seq), request);
    const auto first = static_cast<std::uint32_t>(plan.appended_blocks.size());
    for (std::uint32_t i = 0; i < 16; ++i) plan.appended_blocks.emplace_back(first + i);
    plan.admitted.push_back({SeqId(seq), 0});
    plan.tables.push_back({SeqId(seq), 0, first, 16});
    plan.slices.push_back({SeqId(seq), 0, 17, 0, true});
  }
  std::size_t before = 0;
  for (int step = 0; step < 40; ++step) {
    if (step == 10) before = testing::allocation_count();
    const auto done = executor->execute(plan, result);
    FORGE_CHECK(done.has_value(), done.error().message);
    ++plan.step.value;
    plan.admitted.clear();
    plan.tables.clear();
    if (step % 2 == 0) plan.tables.push_back({SeqId(3), 15, 0, 1});  // its last block is another
    for (std::size_t i = 0; i < plan.slices.size(); ++i) {
      Slice& slice = plan.slices[i];
      slice.first += slice.count - slice.drafts + result.slices[i].token_count - 1;
      slice.count = 1 + options.drafts;
      slice.drafts = options.drafts;
    }
  }
  EXPECT_EQ(executor->statistics().steps, 40U);
  return testing::allocation_count() - before;
}

TEST(GpuExecutorAllocation, decoding_by_graphs_allocates_nothing_in_steady_state) {
  EXPECT_EQ(allocations_of_steady_steps({.digest_logits = true}, {.graphs = true}), 0U);
}

TEST(GpuExecutorAllocation, decoding_without_graphs_allocates_nothing_in_steady_state) {
  EXPECT_EQ(allocations_of_steady_steps({.digest_logits = true}, {.graphs = false}), 0U);
}

TEST(GpuExecutorAllocation, speculation_allocates_nothing_in_steady_state) {
  const gpu::GpuModel model = testing::seeded_gpu_model();
  EXPECT_EQ(allocations_of_steady_steps({.drafts = 3}, {}), 0U);
  EXPECT_EQ(allocations_of_steady_steps({.drafts = 3}, {}, {model, model}), 0U);
}

}  // namespace
}  // namespace forge
