// Models whose products of many rows a library has: the same bits as without, and nothing left to a
// library that lies.
#include <gtest/gtest.h>

#include <set>

#include "forge/sim/sim_device.h"
#include "gpu/fast_models.h"
#include "gpu/fast_runs.h"
#include "gpu/test_library.h"

namespace forge::testing {
namespace {

using gpu::KernelId;
using quant::WeightType;

constexpr gpu::GpuOptions kWithLibrary{.matrix_library = true};

/// Of how many sizes of matrices products are admitted.
std::uint64_t sizes_of(const gpu::LibraryReport& report) {
  std::set<std::pair<int, int>> sizes;
  for (const auto& each : report.admitted) sizes.insert({each.shape.outputs, each.shape.inputs});
  return sizes.size();
}

/// 300 rows in pieces of 256 and 64, the last of which begins inside the first.
TEST(LibraryProducts, have_the_bits_of_our_own) {
  for (const auto& [name, type] :
       {std::pair("llama", WeightType::bf16), std::pair("gemma", WeightType::f16),
        std::pair("qwen_moe", WeightType::bf16), std::pair("latent_moe", WeightType::bf16)}) {
    SCOPED_TRACE(name);
    FastModel model(fast_shape(name).config, type);
    const Request request = request_of(model.config().vocabulary_size, 300, 0, 2);
    const auto kv = type == WeightType::f16 ? numerics::KvType::f16 : numerics::KvType::bf16;
    const Outputs own = run(model.on_gpu(), {.kv_type = kv, .scheduler = roomy(16)}, {request});
    TestLibrary library({Way::splits, Way::right});
    const Outputs outputs =
        run(model.on_gpu(),
            {.library = &library, .kv_type = kv, .gpu = kWithLibrary, .scheduler = roomy(16)},
            {request});
    EXPECT_EQ(outputs.of, own.of);
    // The trial has one of ours for both kinds of numbers and each size.
    const std::uint64_t tried = 2 * sizes_of(outputs.library);
    const std::uint64_t finished = outputs.launches(KernelId::finish_product);
    EXPECT_GT(finished, 0U);
    EXPECT_EQ(outputs.launches(KernelId::project_wide) + finished,
              own.launches(KernelId::project_wide) + tried);
    EXPECT_FALSE(outputs.library.admitted.empty());
    EXPECT_EQ(outputs.library.admitted.size(), outputs.library.refused.size());
  }
}

TEST(LibraryProducts, are_our_own_where_a_library_lies_or_is_missing) {
  FastModel model(fast_shape("llama").config, WeightType::bf16);
  const Request request = request_of(model.config().vocabulary_size, 200, 0, 2);
  const Outputs own = run(model.on_gpu(), {.scheduler = roomy(16)}, {request});
  EXPECT_EQ(own.library.missing, "");
  TestLibrary library({Way::splits, Way::one_bit});
  for (gpu::GpuOptions options : {kWithLibrary, gpu::GpuOptions{}}) {
    const Outputs outputs = run(
        model.on_gpu(), {.library = &library, .gpu = options, .scheduler = roomy(16)}, {request});
    EXPECT_EQ(outputs.of, own.of);
    EXPECT_EQ(outputs.launches(KernelId::finish_product), 0U);
    EXPECT_EQ(outputs.library.refused.empty(), !options.matrix_library);
  }
  const Outputs without =
      run(model.on_gpu(), {.gpu = kWithLibrary, .scheduler = roomy(16)}, {request});
  EXPECT_EQ(without.of, own.of);
  EXPECT_EQ(without.library.missing, "no vendor's library serves this device");
}

/// Rows that decode, captured in a graph, which covers more rows than there are.
TEST(LibraryProducts, are_captured_in_graphs) {
  FastModel model(fast_shape("llama").config, WeightType::bf16);
  const auto vocabulary = model.config().vocabulary_size;
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 132; ++i) requests.push_back(request_of(vocabulary, 1, i, 3));
  SchedulerConfig scheduler{.cache = {.num_blocks = 300, .block_size = 16},
                            .batch = {.max_batch_size = 140, .max_batch_tokens = 256},
                            .prefix_cache = PrefixCacheKind::none};
  TestLibrary library({Way::right});
  const Place place{
      .library = &library, .gpu = kWithLibrary, .scheduler = scheduler, .at_once = true};
  const Outputs outputs = run(model.on_gpu(), place, requests);
  EXPECT_GT(outputs.statistics.graph_steps, 0U);
  EXPECT_GT(outputs.launches(KernelId::finish_product), 0U);
  const Request& last = requests.back();
  EXPECT_EQ(outputs.of.back(), run(model.on_gpu(), {.scheduler = roomy(16)}, {last}).of.front());
}

/// Races between launches, and what nobody has written: with threads in another order.
TEST(LibraryProducts, are_checked) {
  FastModel model(fast_shape("llama").config, WeightType::bf16);
  const Request request = request_of(model.config().vocabulary_size, 130, 0, 2);
  TestLibrary library({Way::right});
  const Place place{
      .checked = true, .library = &library, .gpu = kWithLibrary, .scheduler = roomy(16)};
  const Outputs outputs = run(model.on_gpu(), place, {request});
  EXPECT_GT(outputs.launches(KernelId::finish_product), 0U);
  EXPECT_EQ(outputs.of, run(model.on_gpu(), {.scheduler = roomy(16)}, {request}).of);
}

/// What create() takes of memory is what was said, sums of the library included.
TEST(LibraryProducts, take_the_memory_that_was_planned) {
  FastModel model(fast_shape("llama").config, WeightType::bf16);
  TestLibrary library({Way::right});
  const SchedulerConfig scheduler = roomy(16);
  const executor::ExecutorOptions options{
      .cache = scheduler.cache, .batch = scheduler.batch, .kv_type = numerics::KvType::bf16};
  const auto bytes_with = [&](const gpu::GpuOptions& gpu) {
    return gpu::GpuExecutor::memory(model.on_gpu(), options, gpu).scratch.device;
  };
  const auto width = 2 * static_cast<std::uint64_t>(model.config().ffn_size);  // gates and ups
  EXPECT_EQ(bytes_with(kWithLibrary) - bytes_with({}), 512 * width * sizeof(float));

  sim::SimDevice device({.device = sim::find_device("h200").value(), .library = &library});
  const auto executor = gpu::GpuExecutor::create(device, model.on_gpu(), options, kWithLibrary);
  ASSERT_TRUE(executor);
  EXPECT_FALSE((*executor)->library().admitted.empty());
  // The pinned rooms of weights on their way, and the trial's matrices, have gone.
  gpu::GpuMemory memory = gpu::GpuExecutor::memory(model.on_gpu(), options, kWithLibrary);
  memory.weights.pinned = 0;
  EXPECT_EQ(device.statistics().bytes_allocated, memory.all().device + memory.all().pinned);
}

}  // namespace
}  // namespace forge::testing
