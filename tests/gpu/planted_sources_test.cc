// Mistakes in the source of a kernel, each in a copy of it (planted/*.exhibit), each caught where
// the kernel as it is passes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "forge/simt/traffic.h"
#include "gpu/float_panels.h"
#include "gpu/kernel_rig.h"
#include "gpu/simulated_memory.h"

namespace forge::lane_missing_from_shuffle {
simt::Entry planted_kernel();
}
namespace forge::swapped_stride {
simt::Entry planted_kernel();
}

namespace forge::gpu {
namespace {

using ::testing::HasSubstr;

simt::KernelCode planted(simt::Entry kernel) {
  return {.name = "planted", .plain = nullptr, .instrumented = kernel};
}

tl::expected<void, simt::KernelFault> run(const simt::KernelCode& code, const KernelLaunch& launch,
                                          simt::Observer& observer) {
  return simt::Machine().run(code, launch.shape, launch.args.data(), {.observer = &observer});
}

TEST(PlantedSources, ALaneThatMissesAShuffleIsNamed) {
  constexpr int kVocabulary = 90;  // 45 words: in the second round 13 of 32 lanes have one
  SimulatedMemory memory;
  const DigestLogitsArgs args{
      .counts = memory.array("counts", std::vector<PassCounts>{{.logit_rows = 1}}),
      .inputs = memory.array("inputs", std::vector<LogitInput>(1)),
      .logits = memory.array("logits", Random(1).reals(kVocabulary)),
      .digests = memory.array("digests", std::vector<std::uint64_t>(1)),
      .vocabulary = kVocabulary};
  const KernelLaunch launch = launch_of(args, args.shape(1));
  simt::Checker control(memory.map());
  EXPECT_TRUE(run(sim::kernel_code(KernelId::digest_logits), launch, control));

  simt::Checker checker(memory.map());
  const auto done = run(planted(lane_missing_from_shuffle::planted_kernel()), launch, checker);
  ASSERT_FALSE(done) << "nothing was reported";
  EXPECT_EQ(done.error().kind, simt::FaultKind::missing_lane);
  EXPECT_THAT(to_string(done.error()), HasSubstr("digest_logits.cuh"));
  // In the round of words 40 .. 47, lanes 5, 6 and 7 of each eight have none.
  EXPECT_EQ(done.error().threads, (std::vector<int>{5, 6, 7, 13, 14, 15, 21, 22, 23, 29, 30, 31}));
}

/// y = x W^T for three rows.
struct Product {
  static constexpr int kRows = 3;
  static constexpr int kInputs = 64;
  static constexpr int kOutputs = 32;

  Product() {
    Random random(1);
    const std::vector<float> weights = random.reals(kOutputs * kInputs);
    const FloatPanels panels(weights, kOutputs, kInputs);
    const std::vector<float> x = random.reals(kRows * kInputs);
    expected = panels.product_by_definition(x, kRows);
    args = {.row_count = memory.array("row_count", std::vector<std::uint32_t>{kRows}),
            .x = memory.array("x", x),
            .panels = memory.array("panels", panels.floats()),
            .y = memory.array("y", std::vector<float>(expected.size())),
            .inputs = kInputs,
            .outputs = kOutputs,
            .accumulate = false};
  }

  /// Sectors of each load of weights, which are those that the source says with `words[n] =`.
  double sectors_of_weights(const simt::KernelCode& code) {
    simt::TrafficCounter counter({.l1_bytes = 1 << 18, .l2_bytes = 1 << 24});
    EXPECT_TRUE(run(code, launch_of(args, args.shape(kRows)), counter));
    for (const simt::LineTraffic& line : counter.result().lines) {
      if (source_line(line.site).find("words[n] = ") != std::string::npos) {
        return line.sectors_per_request();
      }
    }
    ADD_FAILURE() << "no line loads weights";
    return 0;
  }
  static std::string source_line(const simt::Site& site) {
    const std::filesystem::path file(site.file);
    std::ifstream source(FORGE_KERNELS_FOLDER / file.filename());
    std::string line;
    for (int number = 0; number < site.line; ++number) std::getline(source, line);
    return line;
  }

  bool right() const { return std::equal(expected.begin(), expected.end(), args.y); }

  SimulatedMemory memory;
  std::vector<float> expected;
  ProjectArgs args;
};

TEST(PlantedSources, ASwappedStrideChangesTheBitsAndTheSectors) {
  Product control;
  EXPECT_EQ(control.sectors_of_weights(sim::kernel_code(KernelId::project)), 4.0);
  EXPECT_TRUE(control.right());

  Product product;
  EXPECT_EQ(product.sectors_of_weights(planted(swapped_stride::planted_kernel())), 32.0);
  EXPECT_FALSE(product.right());
}

}  // namespace
}  // namespace forge::gpu
