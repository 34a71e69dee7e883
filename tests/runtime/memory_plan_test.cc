// The memory of a target, before it is taken and while a model is on its way to a device.
#include "forge/runtime/memory_plan.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "forge/checkpoint/checkpoint.h"
#include "forge/runtime/open.h"
#include "forge/sim/open_device.h"
#include "formats/scratch_folder.h"
#include "gpu_target.h"

namespace forge::runtime {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

TargetOptions on_sim() {
  TargetOptions options;
  options.kind = TargetKind::sim;
  options.source.path = FORGE_TALES;
  return options;
}

class GpuMemoryPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!sim::built_with_sim()) GTEST_SKIP() << "this build has no simulated GPU";
    model_ = LoadedModel::open(options_.source, options_.kind).value();
  }

  MemoryPlan plan(const TargetOptions& options) const {
    return memory_on_gpu(options, gpu_models(options, *model_).value());
  }

  TargetOptions options_ = on_sim();
  std::unique_ptr<LoadedModel> model_;
};

TEST(MemoryPlan, what_does_not_fit_is_named_with_the_bytes_needed_and_free) {
  const MemoryPlan plan{.host = {.weights = 2 * kMiB, .scratch = kMiB, .kv = 0},
                        .device = MemoryUse{.weights = 5 * kMiB, .scratch = kMiB, .kv = kMiB / 2}};
  EXPECT_TRUE(check_fits(plan, {.host = 3 * kMiB, .device = 13 * kMiB / 2}));
  EXPECT_EQ(check_fits(plan, {.host = 3 * kMiB, .device = 13 * kMiB / 2 - 1}).error(),
            "the run takes 6815744 bytes of the GPU's memory (6.5 MiB: 5.0 MiB of weights, 1.0 MiB "
            "of scratch, 512 KiB of KV cache), accepted: up to 6815743 (6.5 MiB), which are free "
            "(--num-blocks, --kv-memory, --num-host-blocks)");
  EXPECT_THAT(check_fits(plan, {.host = 3 * kMiB - 1, .device = 9 * kMiB}).error(),
              HasSubstr("the run takes 3145728 bytes of this machine's memory (3.0 MiB: 2.0 MiB of "
                        "weights"));
}

TEST_F(GpuMemoryPlan, is_what_the_target_takes_in_all) {
  options_.fit_blocks = false;
  options_.scheduler.cache.num_host_blocks = 3;
  options_.scheduler.prefix_cache = PrefixCacheKind::none;
  const auto target = Target::open(options_, *model_);
  ASSERT_TRUE(target) << target.error();
  const MemoryPlan expected = plan(options_);
  EXPECT_EQ(target->memory().host, expected.host);
  EXPECT_EQ(expected.device, std::nullopt) << "the device's memory is this machine's";
  const std::uint64_t of_block =
      kv_bytes_of_token(options_, *model_) * options_.scheduler.cache.block_size;
  EXPECT_EQ(expected.host.kv, of_block * (options_.scheduler.cache.num_blocks + 3));
  TargetOptions on_cuda = options_;
  on_cuda.kind = TargetKind::cuda;
  on_cuda.device.chunk_rows = 512;
  const MemoryPlan apart = plan(on_cuda);
  EXPECT_EQ(apart.device->all() + apart.host.all(), expected.host.all());
  EXPECT_EQ(apart.device->kv, of_block * options_.scheduler.cache.num_blocks);
}

TEST_F(GpuMemoryPlan, blocks_fill_what_the_rest_leaves) {
  const auto models = gpu_models(options_, *model_).value();
  const auto with = [&](std::uint32_t blocks) {
    TargetOptions options = options_;
    options.scheduler.cache.num_blocks = blocks;
    return plan(options).host.all();
  };
  const std::uint64_t least = with(1);
  for (const std::uint64_t budget : {least, least + 1, 20 * kMiB, 33 * kMiB + 7}) {
    const std::uint32_t blocks = blocks_beside(options_, models, budget, 1U << 22).value();
    EXPECT_LE(with(blocks), budget);
    EXPECT_GT(with(blocks + 1), budget);
  }
  EXPECT_EQ(blocks_beside(options_, models, 33 * kMiB, 17).value(), 17U);
  EXPECT_THAT(
      blocks_beside(options_, models, least - 1, 17).error(),
      HasSubstr("with one block of KV the model takes " + std::to_string(least) + " bytes ("));
  options_.device.gpu_memory = 1e-6;  // of what this machine has free: some KiB
  EXPECT_THAT(configure(options_, *model_).error(),
              HasSubstr("the part of the free memory that --gpu-memory gives it"));
}

TEST_F(GpuMemoryPlan, a_simulated_gpu_takes_no_more_than_a_full_batch_of_the_longest_texts) {
  ASSERT_TRUE(configure(options_, *model_));
  const CacheShape& cache = options_.scheduler.cache;
  const auto positions = static_cast<std::uint32_t>(model_->config().positions);
  EXPECT_EQ(cache.num_blocks, (positions + cache.block_size - 1) / cache.block_size *
                                  options_.scheduler.batch.max_batch_size);
}

TEST_F(GpuMemoryPlan, what_does_not_fit_is_refused_before_anything_is_taken) {
  options_.scheduler.cache.num_blocks = CacheShape::kNumBlocks.highest;
  options_.scheduler.cache.block_size = 256;
  options_.scheduler.prefix_cache = PrefixCacheKind::none;
  for (const TargetKind kind : {TargetKind::sim, TargetKind::cpu}) {
    options_.kind = kind;
    const auto model = LoadedModel::open(options_.source, kind).value();
    const auto target = Target::open(options_, *model);
    ASSERT_FALSE(target);
    EXPECT_THAT(target.error(), HasSubstr("bytes of this machine's memory ("));
    EXPECT_THAT(target.error(), HasSubstr("which are free"));
  }
}

TEST_F(GpuMemoryPlan, a_file_that_became_shorter_is_named_with_the_place) {
  const formats::testing::ScratchFolder folder;
  const std::string path = folder.file("tales");
  std::filesystem::copy(FORGE_TALES, path);
  const std::string file = path + "/model.safetensors";
  options_.source.path = path;
  const auto model = LoadedModel::open(options_.source, TargetKind::sim).value();
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  const auto target = Target::open(options_, *model);
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error(), HasSubstr("--model: " + file + ": tensor '"));
  EXPECT_THAT(target.error(), HasSubstr("' at byte "));
  EXPECT_THAT(target.error(), HasSubstr(": ends here, and had " + std::to_string(size) +
                                        " bytes when it was opened"));
}

TEST(LongestText, is_that_of_the_models_positions_on_each_target) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::sim}) {
    if (kind == TargetKind::sim && !sim::built_with_sim()) continue;
    TargetOptions options = on_sim();
    options.kind = kind;
    auto runtime = Runtime::open(options).value();
    const auto positions = static_cast<std::uint32_t>(runtime.config().positions);
    Request request{.prompt = {TokenId(5)}, .max_new_tokens = positions - 1};
    EXPECT_TRUE(runtime.engine().submit(request));
    request.max_new_tokens = positions;
    const auto refused = runtime.engine().submit(request);
    ASSERT_FALSE(refused);
    EXPECT_THAT(to_string(refused.error()),
                HasSubstr("prompt and max_new_tokens are " + std::to_string(positions + 1) +
                          " tokens together; accepted are up to " + std::to_string(positions)));
  }
}

}  // namespace
}  // namespace forge::runtime
