// What the barriers of the kernels are good for: each is left out in turn, and the checker reports
// the race, or the read of what is not there yet. A barrier that could go unnoticed would not be
// needed.
#include <gtest/gtest.h>

#include <set>

#include "forge/sim/sim_kernels.h"
#include "forge/simt/checker.h"
#include "forge/simt/traffic.h"
#include "gpu/candidates_of.h"
#include "gpu/fast_launches.h"
#include "gpu/kernel_lines.h"
#include "gpu/test_cases.h"
#include "gpu/test_seed.h"

namespace forge::gpu {
namespace {

using simt::FaultKind;
using simt::Site;

/// Every line of cuda/kernels that is a barrier.
std::set<std::string> barriers_of_sources() {
  std::set<std::string> barriers;
  for (const KernelLine& line : kernel_lines_with({"sync_block();", "sync_warp();"})) {
    barriers.insert(line.name());
  }
  return barriers;
}

/// A launch of each kernel that has a barrier, of a size at which all of them matter: several
/// segments, several rounds. Those of fast numerics are in fast_launches.h.
class PlantedBarriers : public ::testing::Test {
 protected:
  PlantedBarriers() { world_.fill(random_); }

  AttentionInput attention(std::uint32_t decode_rows) {
    std::byte* pool = memory_.array("kv_pool", world_.bytes());
    const std::uint32_t* tables = memory_.array("tables", world_.tables());
    const std::vector<RowInput> rows{{.position = 590}, {.position = 591}, {.position = 592}};
    return {
        .counts = memory_.array(
            "counts",
            std::vector<PassCounts>{{.rows = 3, .decode_rows = decode_rows, .prompt_tiles = 1}}),
        .rows = memory_.array("rows", rows),
        .qkv = memory_.array("qkv", random_.reals(3 * 4 * 64)),
        .out = memory_.array("out", std::vector<float>(3 * 2 * 64)),
        .kv = world_.layer(pool, tables),
        .scale = 0.125f};
  }
  KernelLaunch attend_decode() {
    const AttendDecodeArgs args{attention(1)};
    return launch_of(args, args.shape(1));
  }
  KernelLaunch attend_split() {
    float* partial = memory_.array("partial", std::vector<float>(2 * 3 * 66));
    const AttendSplitArgs args{attention(1), partial, 3};
    return launch_of(args, args.shape(1));
  }
  KernelLaunch attend_prompt() {
    const PromptTile* tiles = memory_.array("tiles", std::vector<PromptTile>{{0, 3}});
    const AttendPromptArgs args{attention(0), tiles};
    return launch_of(args, args.shape(1));
  }
  LatentAttentionInput latent_attention() {
    constexpr int kRowSize = 72;
    const std::vector<RowInput> rows{{.position = 299}};
    return {.counts = memory_.array("counts", std::vector<PassCounts>{{.rows = 1}}),
            .rows = memory_.array("rows", rows),
            .queries = memory_.array("queries", random_.reals(2 * kRowSize)),
            .out = memory_.array("out", std::vector<float>(2 * 64)),
            .latents = {.pool = memory_.array("latents", random_.reals(300 * kRowSize)),
                        .block_stride = 300 * kRowSize,
                        .tables = memory_.array("tables", std::vector<std::uint32_t>{0}),
                        .table_stride = 1,
                        .block_size = 300,
                        .latent_size = 64,
                        .rope_size = 8},
            .heads = 2,
            .scale = 0.125f};
  }
  KernelLaunch attend_latent() {
    const AttendLatentArgs args{latent_attention()};
    return launch_of(args, args.shape(1));
  }
  KernelLaunch attend_latent_split() {
    float* partial = memory_.array("partial", std::vector<float>(2 * 2 * 66));
    const AttendLatentSplitArgs args{latent_attention(), partial, 2};
    return launch_of(args, args.shape(1));
  }
  KernelLaunch project() {
    constexpr int kInputs = 5 * 256;
    const ProjectArgs args{.row_count = memory_.array("row_count", std::vector<std::uint32_t>{8}),
                           .x = memory_.array("x", random_.reals(8 * kInputs)),
                           .panels = memory_.array("panels", random_.reals(32 * kInputs)),
                           .y = memory_.array("y", std::vector<float>(8 * 32)),
                           .inputs = kInputs,
                           .outputs = 32,
                           .accumulate = false};
    simt::LaunchShape shape = args.shape(8);
    shape.threads = 64;  // two warps for five segments: three rounds
    return launch_of(args, shape);
  }
  KernelLaunch project_codes() {
    constexpr int kInputs = 5 * linear::codes::kGroup;
    constexpr auto kKind = linear::PanelKind::q5_1;
    const std::vector<std::byte> panels(linear::codes::panel_bytes(kKind, kInputs), std::byte{1});
    const ProjectArgs args{.row_count = memory_.array("row_count", std::vector<std::uint32_t>{8}),
                           .x = nullptr,
                           .panels = memory_.array("panels", panels),
                           .y = memory_.array("y", std::vector<float>(8 * 32)),
                           .inputs = kInputs,
                           .outputs = 32,
                           .accumulate = false,
                           .kind = kKind,
                           .coded = memory_.array("coded", std::vector<RowGroup>(8 * 5))};
    simt::LaunchShape shape = args.shape(8);
    shape.threads = 64;  // two warps for five groups: three rounds
    return launch_of(args, shape);
  }
  KernelLaunch choose_experts() {
    const ChooseExpertsArgs args{
        .counts = memory_.array("counts", std::vector<PassCounts>{{.rows = 1}}),
        .products = memory_.array("products", random_.reals(64)),
        .bias = nullptr,
        .choices = memory_.array("choices", std::vector<ExpertChoice>(4)),
        .experts = 64,
        .experts_per_token = 4,
        .groups = 8,
        .groups_per_token = 2,
        .group_best = 2,
        .sigmoid = false,
        .normalized = true,
        .routed_scale = 1};
    return launch_of(args, args.shape(1));
  }
  /// Of so many experts that a segment has more pairs than a warp has lanes.
  KernelLaunch plan_experts() {
    constexpr std::uint32_t kRows = 300;
    std::vector<ExpertChoice> choices;
    for (std::uint32_t i = 0; i < kRows; ++i) choices.push_back({i % 7, 1});
    const PlanExpertsArgs args{
        .counts = memory_.array("counts", std::vector<PassCounts>{{.rows = kRows}}),
        .choices = memory_.array("choices", choices),
        .plan = {.pairs = memory_.array("pairs", std::vector<std::uint32_t>(kRows)),
                 .tiles = memory_.array("tiles", std::vector<ExpertTile>(kRows)),
                 .tiles_count = memory_.array("tiles_count", std::vector<std::uint32_t>(1)),
                 .counts = memory_.array("pair_counts", std::vector<PassCounts>(1))},
        .experts = 1024,
        .experts_per_token = 1,
        .tile_rows = ProjectExpertsArgs::kTileRows};
    return launch_of(args, args.shape(kRows));
  }
  KernelLaunch process_logits() {
    const std::vector<sampling::Adjustment> said{{.token = 300, .bias = 1.0f}};
    const std::vector<ProcessInput> inputs{
        {.filter = {.temperature = 1.0f, .top_k = 20, .top_p = 0.9f},
         .adjustment_count = 1,
         .mask = 0}};
    const ProcessLogitsArgs args{
        .counts = memory_.array("counts", std::vector<PassCounts>{{.logit_rows = 1}}),
        .inputs = memory_.array("inputs", inputs),
        .adjustments = memory_.array("adjustments", said),
        .drafts = memory_.array("drafts", std::vector<std::uint32_t>(1)),
        .masks = memory_.array("masks", std::vector<std::uint32_t>(10, 0xaaaaaaaa)),
        .logits = memory_.array("logits", random_.reals(320)),
        .vocabulary = 320};
    return launch_of(args, args.shape(1));
  }
  KernelLaunch sample(bool by_candidates) {
    const std::vector<LogitInput> inputs{{.temperature = 1.0f}};
    const std::vector<float> logits = random_.reals(320);
    std::vector<sampling::BestToken> candidates;
    append_candidates(logits, candidates);
    const SampleArgs args{
        .counts = memory_.array("counts", std::vector<PassCounts>{{.logit_rows = 1}}),
        .inputs = memory_.array("inputs", inputs),
        .logits = memory_.array("logits", logits),
        .picks = memory_.array("picks", std::vector<std::uint32_t>(1)),
        .drafts = memory_.array("drafts", std::vector<std::uint32_t>(1)),
        .vocabulary = 320,
        .candidates = by_candidates ? memory_.array("candidates", candidates) : nullptr};
    return launch_of(args, args.shape(1));
  }

  /// Where threads meet.
  std::vector<Site> meetings(const KernelLaunch& launch) {
    simt::TrafficCounter counter({.l1_bytes = 1 << 18, .l2_bytes = 1 << 24});
    EXPECT_TRUE(run(launch, {.observer = &counter}));
    std::vector<Site> sites;
    for (const simt::LineMeetings& meeting : counter.result().meetings)
      sites.push_back(meeting.site);
    return sites;
  }

  tl::expected<void, simt::KernelFault> run(const KernelLaunch& launch,
                                            const simt::LaunchOptions& options) {
    return machine_.run(sim::kernel_code(launch.kernel), launch.shape, launch.args.data(), options);
  }

  Random random_{1};
  KvWorld world_{
      {.kv_heads = 1, .group_size = 2, .head_size = 64, .block_size = 16}, {600}, random_};
  SimulatedMemory memory_;
  FastLaunches fast_{memory_};
  simt::Machine machine_;
};

/// A race names both threads and both lines, and so does a touch of what another's copy is on its
/// way to. A read may also come so early that nobody has written yet: there is one thread then, and
/// one line.
void expect_named(const simt::KernelFault& fault) {
  SCOPED_TRACE(to_string(fault));
  if (fault.kind == FaultKind::uninitialised) {
    EXPECT_EQ(fault.threads.size(), 1u);
    EXPECT_EQ(fault.sites.size(), 1u);
  } else {
    EXPECT_TRUE(fault.kind == FaultKind::race || fault.kind == FaultKind::pending_copy);
    ASSERT_EQ(fault.threads.size(), 2u);
    ASSERT_EQ(fault.sites.size(), 2u);
    EXPECT_NE(fault.threads[0], fault.threads[1]);
  }
  for (const Site& site : fault.sites) EXPECT_NE(to_string(site).find(".cuh:"), std::string::npos);
  const bool named = fault.detail.find("of shared array '") != std::string::npos ||
                     fault.detail.find("of '") != std::string::npos;  // in global memory
  EXPECT_TRUE(named) << fault.detail;
}

TEST_F(PlantedBarriers, EachOneOfEachKernelIsMissed) {
  const std::set<std::string> barriers = barriers_of_sources();
  ASSERT_FALSE(barriers.empty());
  std::set<std::string> missed;
  for (const KernelLaunch& launch : {attend_decode(),
                                     attend_split(),
                                     attend_prompt(),
                                     attend_latent(),
                                     attend_latent_split(),
                                     project(),
                                     project_codes(),
                                     choose_experts(),
                                     plan_experts(),
                                     process_logits(),
                                     sample(false),
                                     sample(true),
                                     fast_.project_narrow().launch,
                                     fast_.project_wide().launch,
                                     fast_.project_wide_small().launch,
                                     fast_.project_wide_slim().launch,
                                     fast_.finish_product().launch,
                                     fast_.project_codes_few().launch,
                                     fast_.project_codes_narrow().launch,
                                     fast_.project_codes_wide().launch,
                                     fast_.project_experts_narrow().launch,
                                     fast_.project_experts_codes_narrow().launch,
                                     fast_.project_experts_codes_wide().launch,
                                     fast_.attend_spans().launch,
                                     fast_.attend_wide().launch,
                                     fast_.attend_latent_spans().launch,
                                     fast_.project_heads_wide_full().launch}) {
    for (const Site& barrier : meetings(launch)) {
      if (!barriers.contains(to_string(barrier))) continue;  // a shuffle or a reduction
      SCOPED_TRACE(std::string(name(launch.kernel)) + " without " + to_string(barrier));
      missed.insert(to_string(barrier));
      for (const auto seed : orders()) {
        TestCases::count();
        simt::Checker checker(memory_.map());
        const auto done = run(launch, {.seed = seed, .observer = &checker, .left_out = barrier});
        ASSERT_FALSE(done) << "nothing was reported";
        expect_named(done.error());
      }
    }
  }
  EXPECT_EQ(missed, barriers) << "each is reached";
}

}  // namespace
}  // namespace forge::gpu
