// Every kernel, on inputs that are made up, against the CPU and against its formula of work.
#include "kernel_inputs.h"

#include <gtest/gtest.h>

#include "forge/quant/weight_type.h"
#include "forge/sim/kernel_work.h"
#include "forge/sim/sim_device.h"
#include "forge/sim/sim_kernels.h"
#include "forge/simt/traffic.h"

namespace forge::apps {
namespace {

using gpu::KernelId;
using Sizes = KernelSizes;

/// `sizes`, or the next larger ones of which the kernel has no tail.
KernelSizes rounded_up(const KernelEntry& kernel, KernelSizes sizes) {
  for (const SizeMultiple& multiple : kernel.multiples) {
    int& size = sizes.*multiple.size;
    size = (size + multiple.of - 1) / multiple.of * multiple.of;
  }
  return sizes;
}

/// One launch of a kernel, on the simulated machine.
class Launched {
 public:
  Launched(KernelId kernel, const KernelSizes& about, std::uint64_t seed = 1)
      : entry_(kernel_entries()[static_cast<std::size_t>(kernel)]),
        device_({.device = sim::find_device("h200").value()}) {
    const KernelSizes sizes = rounded_up(entry_, about);
    const auto valid = validate(entry_, sizes);
    EXPECT_TRUE(valid) << valid.error();
    auto made = KernelCase::create(device_, entry_, sizes, seed);
    EXPECT_TRUE(made) << to_string(made.error());
    case_ = *std::move(made);
  }

  const gpu::KernelLaunch& launch() const { return case_->launch(); }

  simt::Traffic run(int host_threads = 1) {
    simt::TrafficCounter counter({.l1_bytes = 1 << 18, .l2_bytes = std::uint64_t{1} << 40});
    simt::Machine machine(host_threads);
    const auto ran = machine.run(sim::kernel_code(entry_.id), launch().shape, launch().args.data(),
                                 {.observer = &counter});
    EXPECT_TRUE(ran) << to_string(ran.error());
    return counter.result();
  }

  std::vector<KernelComparison> compare() { return case_->compare().value(); }

 private:
  const KernelEntry& entry_;
  sim::SimDevice device_;
  std::unique_ptr<KernelCase> case_;
};

// Shapes at which each kernel does something different: tails, several chunks, several tiles.

constexpr KernelSizes kSmallest{.seqs = 1,
                                .context = 1,
                                .rows = 1,
                                .heads = 1,
                                .kv_heads = 1,
                                .head_size = 2,
                                .latent_size = 1,
                                .rope_size = 2,
                                .block_size = 1,
                                .layers = 1,
                                .hidden = 1,
                                .outputs = 1,
                                .mlp = 1,
                                .experts = 1,
                                .experts_per_token = 1,
                                .vocabulary = 1,
                                .pairs = 1,
                                .writes = 1,
                                .temperature_percent = 0};

constexpr KernelSizes kTails{.seqs = 3,
                             .context = 257,
                             .rows = 9,
                             .heads = 6,
                             .kv_heads = 1,
                             .head_size = 80,
                             .latent_size = 70,
                             .rope_size = 6,
                             .block_size = 5,
                             .layers = 1,
                             .hidden = 259,
                             .outputs = 33,
                             .mlp = 130,
                             .experts = 33,
                             .experts_per_token = 8,
                             .vocabulary = 1001,
                             .pairs = 3,
                             .writes = 200,
                             .accumulate = 1,
                             .window = 200,
                             .rotary_size = 66,
                             .adjacent = 1,
                             .bias = 1,
                             .groups = 3,
                             .weights = 2,
                             .norms = 2,
                             .activation = 2,
                             .sinks = 1,
                             .shared_gate = 1};

constexpr KernelSizes kSeveral{.seqs = 2,
                               .context = 600,
                               .rows = 17,
                               .heads = 4,
                               .kv_heads = 4,
                               .head_size = 128,
                               .latent_size = 300,
                               .rope_size = 64,
                               .block_size = 32,
                               .layers = 2,
                               .hidden = 1024,
                               .outputs = 64,
                               .mlp = 512,
                               .experts = 5,
                               .experts_per_token = 3,
                               .vocabulary = 320,
                               .pairs = 2,
                               .writes = 129,
                               .temperature_percent = 100,
                               .window = 300,
                               .weights = 1,
                               .norms = 1,
                               .activation = 1,
                               .sinks = 1,
                               .cap = 3};

constexpr KernelSizes kShapes[] = {{}, kSmallest, kTails, kSeveral};

class EveryKernel : public ::testing::TestWithParam<KernelId> {};

TEST_P(EveryKernel, has_the_bits_of_the_cpu) {
  for (const KernelSizes& sizes : kShapes) {
    Launched launched(GetParam(), sizes);
    launched.run();
    const auto comparisons = launched.compare();
    ASSERT_FALSE(comparisons.empty());
    for (const KernelComparison& comparison : comparisons) {
      EXPECT_GT(comparison.values, 0u);
      EXPECT_EQ(comparison.different, 0u)
          << comparison.buffer << "[" << comparison.first_different << "], "
          << to_string(kernel_entries()[static_cast<std::size_t>(GetParam())], sizes);
    }
  }
}

TEST_P(EveryKernel, that_has_not_run_differs_from_the_cpu) {
  Launched launched(GetParam(), {});
  std::uint64_t different = 0;
  for (const KernelComparison& c : launched.compare()) different += c.different;
  EXPECT_GT(different, 0u);
}

TEST_P(EveryKernel, moves_the_bytes_of_its_formula) {
  for (const KernelSizes& sizes : kShapes) {
    SCOPED_TRACE(to_string(kernel_entries()[static_cast<std::size_t>(GetParam())], sizes));
    Launched launched(GetParam(), sizes);
    const sim::KernelWork work = sim::work_of(launched.launch());
    const simt::Traffic traffic = launched.run();
    EXPECT_EQ(work.bytes_read, traffic.once.read);
    EXPECT_EQ(work.bytes_written, traffic.once.written);
    EXPECT_EQ(work.block_bytes, traffic.once_a_block.total());
  }
}

/// The kernel has the bits of the CPU, and moves the bytes of its formula.
void expect_bits_and_bytes(KernelId kernel, const KernelSizes& sizes) {
  Launched launched(kernel, sizes);
  const sim::KernelWork work = sim::work_of(launched.launch());
  const simt::Traffic traffic = launched.run();
  for (const KernelComparison& comparison : launched.compare()) {
    EXPECT_EQ(comparison.different, 0U) << comparison.buffer;
  }
  EXPECT_EQ(work.bytes_read, traffic.once.read);
  EXPECT_EQ(work.bytes_written, traffic.once.written);
  EXPECT_EQ(work.block_bytes, traffic.once_a_block.total());
}

TEST(KernelsOverKv, have_the_bits_and_the_bytes_whatever_its_type) {
  using enum KernelId;
  for (const KernelId kernel :
       {copy_blocks, rotate_and_store, attend_decode, attend_split, attend_prompt, store_latent,
        attend_latent, attend_latent_split, prepare_heads, attend_spans, merge_spans, attend_wide,
        prepare_latents, attend_latent_spans}) {
    for (KernelSizes sizes : {KernelSizes{}, kTails, kSeveral}) {
      for (sizes.kv = 1; sizes.kv <= 2; ++sizes.kv) {
        SCOPED_TRACE(to_string(kernel_entries()[static_cast<std::size_t>(kernel)], sizes));
        expect_bits_and_bytes(kernel, sizes);
      }
    }
  }
}

/// Whose context is one span, which is merged, or several, each by a block of its own.
TEST(AttendSpans, has_the_bits_and_the_bytes_of_rows_that_decode) {
  for (const int context : {100, 256, 257, 600}) {
    for (KernelSizes sizes : {KernelSizes{}, kTails, kSeveral}) {
      sizes.context = context;
      sizes.rows = 1;
      SCOPED_TRACE(context);
      expect_bits_and_bytes(KernelId::attend_spans, sizes);
    }
  }
}

/// Tiles of few rows and of many, in several spans, of which attend_wide merges all.
TEST(AttentionInTiles, has_the_bits_and_the_bytes_of_many_rows) {
  for (const int head_size : {64, 144}) {
    for (const int window : {0, 70}) {
      const KernelSizes sizes{.seqs = 1,
                              .context = 540,
                              .rows = 150,
                              .heads = 3,
                              .kv_heads = 1,
                              .head_size = head_size,
                              .window = window,
                              .sinks = 1};
      SCOPED_TRACE(head_size);
      expect_bits_and_bytes(KernelId::attend_wide, sizes);
      expect_bits_and_bytes(KernelId::attend_spans, sizes);
    }
  }
}

/// Rows that decode and tiles of them, in one span and in several.
TEST(AttentionOverLatents, has_the_bits_and_the_bytes_of_few_heads_and_many) {
  for (const int rows : {1, 5}) {
    for (const int heads : {1, 16, 20, 40}) {
      for (const int context : {100, 540}) {
        const KernelSizes sizes{.seqs = 2, .context = context, .rows = rows, .heads = heads};
        SCOPED_TRACE(testing::Message() << rows << " rows, " << heads << " heads");
        expect_bits_and_bytes(KernelId::attend_latent_spans, sizes);
      }
    }
  }
}

/// Several tiles of an expert's rows, and of outputs.
TEST(ProductsOnTensorCores, have_the_bits_and_the_bytes_of_many_rows_of_an_expert) {
  const KernelSizes sizes{
      .rows = 300, .hidden = 72, .outputs = 133, .experts = 2, .experts_per_token = 1, .bias = 1};
  using enum KernelId;
  for (const KernelId kernel : {project_experts_narrow, project_experts_wide}) {
    SCOPED_TRACE(gpu::name(kernel));
    expect_bits_and_bytes(kernel, sizes);
  }
}

/// The same of codes, whose rows are whole groups.
TEST(ProductsOnTensorCores, have_the_bits_and_the_bytes_of_many_rows_of_an_expert_of_codes) {
  using enum KernelId;
  const KernelSizes sizes{
      .rows = 150, .hidden = 96, .outputs = 133, .experts = 2, .experts_per_token = 1, .bias = 1};
  for (const KernelId kernel : {project_experts_codes_narrow, project_experts_codes_wide}) {
    SCOPED_TRACE(gpu::name(kernel));
    expect_bits_and_bytes(kernel, sizes);
  }
}

/// Several tiles of rows, and of outputs, of each kernel.
TEST(ProductsOnTensorCores, have_the_bits_and_the_bytes_of_many_rows) {
  using enum KernelId;
  for (const KernelId kernel : {project_narrow, project_wide, finish_product}) {
    const KernelSizes sizes{.rows = 130, .hidden = 200, .outputs = 133, .bias = 1};
    SCOPED_TRACE(gpu::name(kernel));
    expect_bits_and_bytes(kernel, sizes);
  }
}

/// A tail of rows and of outputs for each kind of block of project_wide.
TEST(ProductsOnTensorCores, have_the_bits_and_the_bytes_of_every_block) {
  for (const auto& [rows, outputs] :
       {std::pair(20, 133), std::pair(20, 4136), std::pair(70, 133)}) {
    const KernelSizes sizes{.rows = rows, .hidden = 72, .outputs = outputs, .bias = 1};
    SCOPED_TRACE(testing::Message() << rows << " rows, " << outputs << " outputs");
    expect_bits_and_bytes(KernelId::project_wide, sizes);
  }
}

/// Products that leave candidates alone; picks that begin with them.
TEST(Candidates, have_the_bits_and_the_bytes) {
  using enum KernelId;
  for (const KernelId kernel : {project_narrow, project_wide, finish_product, sample}) {
    for (KernelSizes sizes : {KernelSizes{}, kSmallest, kTails, kSeveral}) {
      sizes.accumulate = 0;
      sizes.candidates = 1;
      for (sizes.temperature_percent = 0; sizes.temperature_percent <= 200;
           sizes.temperature_percent += 50) {
        SCOPED_TRACE(to_string(kernel_entries()[static_cast<std::size_t>(kernel)], sizes));
        expect_bits_and_bytes(kernel, sizes);
        if (kernel != sample) break;  // has no temperature
      }
    }
  }
}

TEST(KernelsWithWeights, have_the_bits_and_the_bytes_whatever_the_type) {
  using enum KernelId;
  for (const KernelId kernel :
       {project, project_codes_few, project_codes_narrow, project_codes_wide,
        project_experts_codes_narrow, project_experts_codes_wide, embed}) {
    for (const quant::WeightType type : quant::kWeightTypes) {
      if (type == quant::WeightType::i8) continue;  // its scales are elsewhere
      const KernelSizes sizes{.rows = 21,
                              .hidden = 768,
                              .outputs = 70,
                              .experts = 3,
                              .experts_per_token = 2,
                              .vocabulary = 100,
                              .weights = static_cast<int>(type)};
      SCOPED_TRACE(to_string(kernel_entries()[static_cast<std::size_t>(kernel)], sizes));
      ASSERT_TRUE(validate(kernel_entries()[static_cast<std::size_t>(kernel)], sizes));
      Launched launched(kernel, sizes);
      const sim::KernelWork work = sim::work_of(launched.launch());
      const simt::Traffic traffic = launched.run();
      for (const KernelComparison& comparison : launched.compare()) {
        EXPECT_EQ(comparison.different, 0U) << comparison.buffer;
      }
      const bool has_table = type == quant::WeightType::iq4_nl ||
                             type == quant::WeightType::iq4_xs || type == quant::WeightType::mxfp4;
      if (kernel == embed && has_table) continue;  // tokens share the table of a panel
      EXPECT_EQ(work.bytes_read, traffic.once.read);
      EXPECT_EQ(work.bytes_written, traffic.once.written);
      EXPECT_EQ(work.block_bytes, traffic.once_a_block.total());
    }
  }
}

TEST_P(EveryKernel, declares_the_shared_memory_that_occupancy_counts) {
  Launched launched(GetParam(), {});
  EXPECT_EQ(static_cast<std::size_t>(gpu::resources_of(launched.launch()).shared_bytes),
            launched.run().shared_bytes());
}

TEST_P(EveryKernel, has_the_same_traffic_whatever_the_number_of_host_threads) {
  const KernelSizes sizes = kShapes[2];
  const simt::Traffic one = Launched(GetParam(), sizes).run(1);
  const simt::Traffic four = Launched(GetParam(), sizes).run(4);
  ASSERT_EQ(one.lines.size(), four.lines.size());
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    EXPECT_EQ(one.lines[i].site, four.lines[i].site);
    EXPECT_EQ(one.lines[i].requests, four.lines[i].requests);
    EXPECT_EQ(one.lines[i].sectors, four.lines[i].sectors);
    EXPECT_EQ(one.lines[i].wavefronts, four.lines[i].wavefronts);
  }
  EXPECT_EQ(one.l2.read, four.l2.read);
  EXPECT_EQ(one.memory.read, four.memory.read);
  EXPECT_EQ(one.memory.written, four.memory.written);
}

std::vector<KernelId> all_kernels() {
  std::vector<KernelId> ids;
  for (const KernelEntry& entry : kernel_entries()) ids.push_back(entry.id);
  return ids;
}
std::string name_of(const ::testing::TestParamInfo<KernelId>& kernel) {
  return std::string(gpu::name(kernel.param));
}
INSTANTIATE_TEST_SUITE_P(kernels, EveryKernel, ::testing::ValuesIn(all_kernels()), name_of);

}  // namespace
}  // namespace forge::apps
